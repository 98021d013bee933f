"""Which mechanism of a comparison refines which, and remaps that draw: shown, saved, read again and proven."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.results.folder import write_digests
from dxopt.studies import comparisons as ordering
from dxopt.verify import Outcome, verify
from tests.judges.figures import INSIDE
from tests.material.checks import change_array, rows_of

SPACE = dx.line(5)
PROBLEM = dx.Problem(SPACE, epsilon=0.7, loss="distance", objective="worst_loss", name="town")


@pytest.fixture(scope="module")
def report() -> dx.Report:
    found = dx.solve(PROBLEM)
    return replace(found, comparison=dx.compare(PROBLEM, ["geometric", "exponential"], reference=found))


@pytest.fixture
def folder(report: dx.Report, tmp_path: Path) -> Path:
    return report.save(tmp_path / "town")


def test_every_pair_is_as_the_mechanisms_alone(report: dx.Report) -> None:
    comparison = report.comparison
    assert comparison is not None
    made = {name: getattr(dx.classic, name)(SPACE, epsilon=0.7) for name in ("geometric", "exponential")}
    made["optimal"] = report.mechanism
    found = {(one.better, one.worse): one for one in comparison.refinements}
    assert len(found) == 6
    for (better, worse), one in found.items():
        alone = dx.evaluate.refines(made[better], made[worse])
        assert one.holds is alone.holds
        assert one.shortfall is not None
        assert one.shortfall == pytest.approx(0.0, abs=1e-8) if one.holds else one.shortfall <= alone.high
    # on a line the geometric mechanism makes the exponential one, and the optimum in the worst case (CABP13 §4.2)
    assert {pair for pair, one in found.items() if one.holds} == {
        ("geometric", "optimal"),
        ("geometric", "exponential"),
    }
    text = str(comparison)
    good = "after the best remaps it is at least as good for every prior and every loss"
    assert f"geometric refines optimal, exponential: {good}" in text
    bad = "for some prior and loss, perhaps not those asked for, it is worse"
    assert f"exponential does not refine optimal, geometric: {bad}" in text


def test_the_geometric_mechanism_with_a_remap_that_draws_is_optimal(report: dx.Report) -> None:
    assert report.comparison is not None
    rows = rows_of(report.comparison)
    geometric = rows["geometric"]
    assert geometric.value is not None
    assert geometric.remapped == pytest.approx(rows["optimal"].value, abs=1e-7)
    assert geometric.remapped_bound == pytest.approx(geometric.remapped, abs=1e-7)
    assert geometric.value > 1.05 * (rows["optimal"].value or 0)
    assert rows["exponential"].remapped is not None
    assert (rows["exponential"].remapped_excess or 0) > 0.05


def test_the_problem_of_the_paper() -> None:
    """problems/cabp13-risk-averse.yaml: +18.1 % as it is, the optimum with its remap."""
    file = Path(__file__).parents[2] / "problems" / "cabp13-risk-averse.yaml"
    rows = rows_of(dx.compare(dx.read(file), ["geometric"]))
    assert rows["geometric"].excess == pytest.approx(0.181, abs=5e-4)
    assert rows["geometric"].remapped == pytest.approx(0.9878542510121451, abs=1e-7)


def test_they_are_saved_read_and_proven_again(report: dx.Report, folder: Path) -> None:
    assert report.comparison is not None
    again = dx.load(folder).comparison
    assert again is not None
    assert again.refinements == report.comparison.refinements
    assert str(again) == str(report.comparison)
    verdict = verify(folder)
    assert verdict.exit_code == 0, str(verdict)
    for name, refined, others in (("geometric", 2, 0), ("exponential", 0, 2)):
        detail = verdict.of(f"comparison: what {name} refines").detail
        assert detail == f"refines {refined}, does not refine {others}, is left undecided beside 0"
    twice = dx.load(folder).save(folder.parent / "again")
    assert verify(twice).exit_code == 0


def changed(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    file = folder / INSIDE / "comparison.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")
    redigest(folder)


def redigest(folder: Path) -> None:
    write_digests(folder / INSIDE)
    write_digests(folder)


FORGED: list[tuple[str, Callable[[dict[str, Any]], None]]] = [
    ("what geometric refines", lambda found: _entry(found, "geometric").update(shortfall=-1e-11)),
    ("what optimal refines", lambda found: _entry(found, "optimal").update(shortfall=0.9)),
    ("what optimal refines", lambda found: _entry(found, "optimal").update(holds=True)),
    ("what geometric refines", lambda found: _entry(found, "geometric").update(holds=False)),
    ("what geometric refines", lambda found: _entry(found, "geometric").update(holds=None)),
    ("what geometric refines", lambda found: _entry(found, "geometric").update(worse="nobody")),
]


def _entry(found: dict[str, Any], better: str) -> dict[str, Any]:
    return next(one for one in found["refinements"] if one["better"] == better)


@pytest.mark.parametrize("number", range(len(FORGED)))
def test_false_claims_are_found(folder: Path, number: int) -> None:
    name, change = FORGED[number]
    changed(folder, change)
    assert verify(folder).of(f"comparison: {name}").status is Outcome.FAILS


@pytest.mark.parametrize("key", ["refined/3/remap", "refined/0/gains"])
def test_arrays_that_prove_less_are_found(folder: Path, key: str) -> None:
    file = folder / INSIDE / "comparison.npz"
    change_array(file, key, lambda array: np.where(np.arange(array.shape[-1]) == 1, 0.0, array))
    redigest(folder)
    assert verify(folder).exit_code == 1


@pytest.mark.parametrize("change", [lambda remap: remap[:, :2], lambda remap: remap * 1.1, lambda remap: -remap])
def test_what_is_no_remap_is_not_loaded(folder: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    change_array(folder / INSIDE / "comparison.npz", "1/remap/channel", change)
    with pytest.raises(dx.CertificateError, match="remap"):
        dx.load(folder)


def test_what_is_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "MOST_CELLS", 10)
    monkeypatch.setattr(ordering, "REMAP_CELLS", 10)
    found = dx.compare(PROBLEM, ["geometric"])
    assert found.refinements == ()
    assert rows_of(found)["geometric"].remapped is None
    assert "refine" not in str(found)


def test_undecided_pairs_are_named(report: dx.Report) -> None:
    assert report.comparison is not None
    some = tuple(replace(one, holds=None, shortfall=None) for one in report.comparison.refinements[:1])
    assert "whether optimal refines geometric is not decided" in str(replace(report.comparison, refinements=some))


def test_what_refines_what_on_a_grid() -> None:
    """Noise by coordinates: the geometric mechanism makes the Laplace mechanism that is snapped to the grid."""
    space = dx.grid((5, 5))
    names = ("geometric", "exponential", "laplace", "planar_laplace")
    found = ordering.find_refinements({name: getattr(dx.classic, name)(space, epsilon=0.8) for name in names})
    assert {(one.better, one.worse) for one in found if one.holds} == {("geometric", "laplace")}
    assert None not in {one.holds for one in found}
