"""What report.json says off the prior and of other data is bound to the arrays: forgeries of each entry are found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.model.loss import Reports
from dxopt.results.folder import write_digests
from dxopt.verify import Outcome, verify
from tests.material.checks import change_array, there


def _grid() -> dx.Report:
    space = dx.grid((3, 3))
    prior = dx.Prior.from_weights(space, [0, 1, 2, 0, 5, 0, 1, 0, 0])
    report = dx.solve(dx.Problem(space, epsilon=1.2, prior=prior, name="grid"))
    tried = dx.evaluate.on(report, label=["(0, 0)", "(1, 1)", "(1, 1)"], weights=[1, 2, 0.5], name="new")
    return replace(report, held_out=(tried,))


def _one_row() -> dx.Report:
    report = _grid()
    return replace(report, held_out=(dx.evaluate.on(report, point=[[0.2, 0.1], [9, 9]], within=3.0, name="far"),))


def _infinite() -> dx.Report:
    space = dx.line(3)
    losses = [[0, 1, 2], [1, 0, 1], [np.inf, 1, 0]]
    problem = dx.Problem(space, epsilon=0.5, prior=dx.Prior.from_weights(space, [1, 1, 0]), loss=losses)
    report = dx.solve(problem)
    return replace(report, held_out=(dx.evaluate.on(report, index=[0, 2, 2], name="new"),))


KINDS: dict[str, Callable[[], dx.Report]] = {"grid": _grid, "one row": _one_row, "infinite": _infinite}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("off")
    return {kind: make().save(base / kind) for kind, make in KINDS.items()}


@pytest.fixture
def folder(results: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return Path(shutil.copytree(results[getattr(request, "param", "grid")], tmp_path / "out"))


def _summary(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def _forged(folder: Path, change: Callable[[dict[str, Any]], object]) -> int:
    content = _summary(folder)
    change(content)
    (folder / "report.json").write_text(json.dumps(content), encoding="utf-8")
    write_digests(folder)
    return verify(folder).exit_code


@pytest.mark.parametrize("kind", KINDS)
def test_honest_results_hold(results: dict[str, Path], kind: str, tmp_path: Path) -> None:
    verdict = verify(results[kind])
    assert verdict.of("off prior").status is Outcome.HOLDS
    assert verdict.exit_code == (3 if kind == "one row" else 0), str(verdict)
    assert verify(dx.load(results[kind]).save(tmp_path / "again")).exit_code == verdict.exit_code


OFF = ["worst_loss", "worst_at", "prior_zero", "prior_zero_mean", "prior_zero_worst", "prior_zero_at", "never"]


@pytest.mark.parametrize("folder", KINDS, indirect=True)
@pytest.mark.parametrize("key", [*OFF, "hardly", "not_reported"])
def test_every_entry_off_the_prior_is_bound(folder: Path, key: str) -> None:
    value = _summary(folder)["off_prior"][key]
    others: list[Any] = [None, 0, -1, "0", True, [], {}, 1e300]
    if isinstance(value, float):
        others += [value * (1 + 1e-9), value - 1e-9]
    if isinstance(value, int):
        others += [value + 1, float(value)]
    if isinstance(value, list):
        others += [value[1:], [*value, "x"]]
    for other in others:
        if type(other) is not type(value) or other != value:
            assert _forged(folder, lambda content, new=other: content["off_prior"].update({key: new})) == 1, other
    assert _forged(folder, lambda content: content["off_prior"].pop(key)) == 1


@pytest.mark.parametrize("folder", KINDS, indirect=True)
@pytest.mark.parametrize(
    "key", ["rows", "loss", "standard_error", "worst", "worst_at", "prior_zero", "outside", "positions"]
)
def test_every_entry_on_data_is_bound(folder: Path, key: str) -> None:
    value = _summary(folder)["held_out"][0][key]
    others: list[Any] = [None, 0, -1, "0", True, [], 1e300]
    if isinstance(value, float):
        others += [value * (1 + 1e-9) + 1e-9, value - 1e-9]
    if isinstance(value, int):
        others += [value + 1]
    for other in others:
        same = type(other) is type(value) and other == value
        if not same and not (key == "positions" and other is None) and (other, value) != (0, 0.0):
            code = _forged(folder, lambda content, new=other: content["held_out"][0].update({key: new}))
            # what is said of positions is never taken for proven
            assert code == (3 if key == "positions" else 1) or code == 1, other
    assert _forged(folder, lambda content: content["held_out"][0].pop(key)) == 1


@pytest.mark.parametrize("change", ["weights", "squares", "rows", "outside"])
def test_counts_are_bound_to_the_figures(folder: Path, change: str) -> None:
    change_array(folder / "held_out.npz", f"0/{change}", lambda array: array * 2 + 1)
    write_digests(folder)
    verdict = verify(folder)
    assert verdict.of("held out: new").status is Outcome.FAILS


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_squares_of_no_weights(folder: Path, factor: float) -> None:
    """Another standard error, made by squares that no weights have."""
    change_array(folder / "held_out.npz", "0/squares", lambda array: array * factor**2)
    _forged(folder, lambda content: content["held_out"][0].update(standard_error=_error(content) * factor))
    assert "squares" in verify(folder).of("held out: new").detail


def _error(content: dict[str, Any]) -> float:
    return content["held_out"][0]["standard_error"]


def test_data_without_a_file(folder: Path) -> None:
    (folder / "held_out.npz").unlink()
    write_digests(folder)
    assert verify(folder).of("held out: new").status is Outcome.FAILS


def test_data_added_without_a_digest(results: dict[str, Path], folder: Path) -> None:
    content = json.loads((folder / "digests.json").read_text(encoding="utf-8"))
    del content["sha256"]["held_out.npz"]
    (folder / "digests.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    assert verify(folder).of("digests").status is Outcome.FAILS


def test_mechanisms_that_are_not_written_down(tmp_path: Path) -> None:
    """Only what follows from structure is claimed, and is derived again; figures on data stay open."""
    line = dx.line(400)
    prior = dx.Prior.from_weights(line, [*range(1, 40), *[0] * 361])
    remapped = dx.solve(dx.Problem(line, epsilon=1, prior=prior, name="line"))
    grid = dx.grid((20, 22), metric="manhattan")
    product = dx.solve(dx.Problem(grid, epsilon=0.3, prior=dx.Prior.uniform(grid), name="product"))
    for report in (remapped, product):
        folder = report.save(tmp_path / report.problem.name)
        found = _summary(folder)["off_prior"]
        assert found["worst_loss"] is None and found["never"] == len(there(report.off_prior.never)) > 0
        assert verify(folder).exit_code == 0
        for key, other in (("never", found["never"] - 1), ("prior_zero", 1), ("hardly", 0), ("worst_loss", 1.0)):
            forged = Path(shutil.copytree(folder, tmp_path / f"{report.problem.name}-{key}"))
            assert _forged(forged, lambda content, k=key, v=other: content["off_prior"].update({k: v})) == 1
        tried = replace(report, held_out=(dx.evaluate.on(report, index=[0, 5, 7], name="new"),))
        verdict = verify(tried.save(tmp_path / f"{report.problem.name}-tried"))
        assert verdict.of("held out: new").status is Outcome.NOT_REPROVED
        assert verdict.exit_code == 3


def test_reports_elsewhere(tmp_path: Path) -> None:
    space = dx.line(4)
    reports = Reports.at([[0.5], [2.5], [9.0]])
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.from_weights(space, [1, 1, 0, 0]), reports=reports)
    verdict = verify(dx.solve(problem).save(tmp_path / "out"))
    assert verdict.exit_code == 0, str(verdict)


@pytest.mark.parametrize(
    "space",
    [
        dx.grid((2, 3), metric="manhattan"),
        dx.product(dx.line(2, step=1.5261493260164087), dx.line(3)),
        dx.product(dx.MetricSpace.from_points([0.0, 1.0, 4.0], labels=["a", "b, c", "d"]), dx.grid((1, 2))),
        dx.product(dx.line(2), dx.product(dx.line(2), dx.line(3, step=0.5))),
    ],
    ids=["grid", "uneven", "named", "nested"],
)
def test_secrets_of_products_have_their_names(tmp_path: Path, space: dx.MetricSpace) -> None:
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), name="product"))
    folder = report.save(tmp_path / "out")
    assert verify(folder).exit_code == 0, str(verify(folder))
    found = _summary(folder)["off_prior"]["worst_at"]
    losses = (report.problem.losses * report.mechanism.matrix).sum(axis=1)
    assert losses[space.labels.index(found)] == pytest.approx(losses.max())
    other = space.labels[int(losses.argmin())]
    assert _forged(folder, lambda content: content["off_prior"].update({"worst_at": other})) == 1
