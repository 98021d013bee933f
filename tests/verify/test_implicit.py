"""Results whose channel is not written down, proven again: untouched ones, and single numbers that are changed.

What is false after a change is decided by `judges.implicit`. Row prices and roots are no claims: any prove a bound.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.model.loss import Reports
from dxopt.proofs.duals import LineDual
from dxopt.results.folder import write_digests
from dxopt.verify import Outcome, verify
from dxopt.verify.bounds.line import rough_line_bound
from tests.judges.implicit import judged
from tests.judges.result import read_arrays, read_json
from tests.material.checks import change_array, change_claims
from tests.material.few import few

SEED = 20261122


def skewed(space: dx.MetricSpace) -> dx.Prior:
    return dx.Prior.from_weights(space, 1 + (11 * np.arange(len(space))) % 7)


def line(**changes: Any) -> dx.Problem:
    space = dx.MetricSpace.from_points([[0.0], [0.5], [2.0], [2.25], [4.0], [7.0]])
    return dx.Problem(space, epsilon=0.9, prior=skewed(space), loss="distance", name="line").but(**changes)


def falling() -> dx.Problem:
    space = dx.MetricSpace.from_points([[9.0], [5.0], [4.5], [1.0]])
    reports = Reports.at([[0.0], [4.0], [4.75], [8.0], [9.5]])
    return dx.Problem(space, epsilon=0.4, prior=skewed(space), loss="distance", reports=reports, name="falling")


def signed() -> dx.Problem:
    losses = np.abs(np.arange(6)[:, None] - 1.5 * np.arange(4)) - 1.25
    return line(loss=losses)


def on_grid(shape: tuple[int, ...] = (3, 4)) -> dx.Problem:
    space = dx.grid(shape, metric="manhattan", spacing=0.5)
    weights = np.multiply.outer(np.arange(1, shape[0] + 1), 1 + np.arange(shape[1]) % 3).ravel()
    return dx.Problem(space, epsilon=0.8, prior=dx.Prior.from_weights(space, weights), loss="distance", name="grid")


def records() -> dx.Problem:
    space = dx.product(dx.line(3), dx.torus((2, 2)), dx.MetricSpace.from_distances([[0, 1.5], [1.5, 0]]))
    return dx.Problem(space, epsilon=0.7, prior=dx.Prior.uniform(space), loss=space.distances, name="records")


def hamming() -> dx.Problem:
    space = dx.MetricSpace.from_points([[a, b, c] for a in range(2) for b in range(3) for c in range(2)], "hamming")
    return dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="distance", name="hamming")


def named() -> dx.Problem:
    answers = dx.MetricSpace.from_points([["flu", "yes"], ["flu", "no"], ["none", "no"]], "hamming")
    space = dx.product(answers, dx.line(3))
    return dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="distance", name="named")


KINDS: dict[str, Callable[[], dx.Problem]] = {
    "line": line,
    "line, binary": lambda: line(loss="binary"),
    "line, squared": lambda: line(loss="squared"),
    "falling": falling,
    "signed": signed,
    "grid": on_grid,
    "records": records,
    "hamming": hamming,
    "product with points of text": named,
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    base = tmp_path_factory.mktemp("implicit")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dxopt.solving.routes.limits.WRITTEN_CELLS", 4)
        yield {kind: dx.solve(make()).save(base / kind) for kind, make in KINDS.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_untouched_results_hold(results: dict[str, Path], kind: str) -> None:
    assert "matrix" not in read_arrays(results[kind], "mechanism")
    verdict = verify(results[kind])
    assert verdict.exit_code == 0, str(verdict)
    assert not judged(results[kind])


NUMBERS = ("weights", "level", "table", "matrix", "held", "epsilon")


def slots(folder: Path) -> list[tuple[str, str]]:
    """What is changed: arrays of mechanism.npz by their last names, the problem and the certificate."""
    found = [
        ("mechanism.npz", key)
        for key, array in read_arrays(folder, "mechanism").items()
        if key.rsplit("/", 1)[-1] in NUMBERS and array.size
    ]
    found += [("problem.npz", "prior"), ("problem.npz", "epsilon")]
    return found + [("claims.json", key) for key in ("epsilon", "value", "bound", "gap")]


def corrupt(folder: Path, name: str, key: str, rng: np.random.Generator) -> str:
    step = 10.0 ** rng.uniform(-6, -2) * (1 if rng.random() < 0.5 else -1)
    if name.endswith(".json"):
        content = read_json(folder, "claims")
        proof = content["certificate"]
        proof[key] += step * max(1.0, abs(proof[key]))
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
        where = ""
    else:
        array = read_arrays(folder, name.removesuffix(".npz"))[key].copy()
        index = tuple(rng.integers(array.shape)) if array.ndim else ()
        where = str([*map(int, index)])
        array[index] += (1 if step > 0 and array[index] == 0 else -1) if array.dtype.kind == "i" else step
        change_array(folder / name, key, lambda _: array)
    write_digests(folder)
    return f"{name}: {key}{where} {step:+.3g}"


@pytest.mark.parametrize("kind", few(KINDS))
def test_single_numbers(results: dict[str, Path], kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng([SEED, list(KINDS).index(kind)])
    folder = tmp_path / "out"
    rejected = 0
    for name, key in slots(results[kind]):
        shutil.copytree(results[kind], folder, dirs_exist_ok=True)
        where = corrupt(folder, name, key, rng)
        verdict = verify(folder)
        failing = {check.name: check.detail for check in verdict.checks if check.status is Outcome.FAILS}
        false = judged(folder)
        if false:
            rejected += 1
            assert false & set(failing), f"{where}: {sorted(false)} are false, but\n{verdict}"
        elif kind != "signed":
            assert not set(failing) - {"bound", "distances"}, f"{where}: nothing is false, but\n{verdict}"
    assert rejected > len(slots(results[kind])) / 2


@pytest.mark.parametrize(
    ("kind", "detail"),
    [("line", "6 points on a line"), ("grid", "12 points on 2 axes"), ("records", "24 points on 3 axes")],
)
def test_long_lines_and_axes_need_no_distances(results: dict[str, Path], kind: str, detail: str) -> None:
    assert verify(results[kind]).of("distances").detail == detail


@pytest.mark.parametrize("kind", ["line", "falling", "grid"])
def test_prices_that_prove_less_are_seen(results: dict[str, Path], kind: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(results[kind], tmp_path / "out"))
    key = "0/prices" if kind == "grid" else "prices"
    prices = read_arrays(folder, "dual")[key]
    for index in range(len(prices)):
        change_array(folder / "dual.npz", key, lambda _, p=index: prices + 0.01 * np.eye(len(prices))[p])
        write_digests(folder)
        assert {check.name for check in verify(folder).checks if check.status is Outcome.FAILS} == {"bound"}, index


def test_points_that_differ_are_named(results: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(results["line"], tmp_path / "out"))
    change_array(folder / "mechanism.npz", "space.points", lambda points: points + 1e-3 * np.eye(len(points))[:, :1])
    assert "before and after the remap" in verify(folder).of("rows").detail
    shutil.copytree(results["records"], folder, dirs_exist_ok=True)
    change_array(folder / "mechanism.npz", "2/space.distances", lambda distances: distances * 1.001)
    assert "points of factor 2 are not those" in verify(folder).of("privacy").detail


def test_counts_are_whole(results: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(results["records"], tmp_path / "out"))
    change_array(folder / "mechanism.npz", "space.factors", lambda factors: factors * 1.000001)
    write_digests(folder)
    assert verify(folder).exit_code != 0


def test_duals_of_long_lines_are_bounded_in_doubles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    space = dx.line(340, step=0.25)
    report = dx.solve(dx.Problem(space, epsilon=0.3, prior=skewed(space), loss="distance"))
    folder = report.save(tmp_path / "out")
    exact = verify(folder).of("bound")
    monkeypatch.setattr("dxopt.verify.implicit.claims._INTEGER_CELLS", 0)
    found = verify(folder).of("bound")
    assert (exact.status, found.status) == (Outcome.HOLDS, Outcome.HOLDS)
    assert "in doubles" in found.detail
    value = read_json(folder, "claims")["certificate"]["bound"]
    for part, status in ((1e-9, Outcome.FAILS), (-1e-9, Outcome.HOLDS)):
        change_claims(folder, bound=value * (1 + part))
        assert verify(folder).of("bound").status is status


def test_no_dual_in_doubles_proves_more_than_a_channel_attains() -> None:
    problem = line()
    rng = np.random.default_rng(SEED)
    report = dx.solve(problem)
    steps = [Fraction(0.9) * Fraction(step) for step in np.diff([0.0, 0.5, 2.0, 2.25, 4.0, 7.0]).tolist()]
    dual = report.dual
    losses = problem.losses
    assert isinstance(dual, LineDual)
    best = rough_line_bound(
        problem.prior.probabilities, lambda x: losses[x], dual.prices, dual.roots, steps, math.inf
    )
    value = Fraction(report.certificate.value)
    assert 0 <= value - best < value / 10**9
    for _ in range(40):
        prices = dual.prices * (1 + 10 ** rng.uniform(-9, 0) * rng.standard_normal(6))
        roots = rng.permutation(dual.roots) if rng.random() < 0.3 else dual.roots
        assert rough_line_bound(problem.prior.probabilities, lambda x: losses[x], prices, roots, steps, 0.0) <= value


def test_what_is_not_derived_is_left_open(results: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(results["grid"], tmp_path / "out"))
    arrays = read_arrays(folder, "mechanism")
    del arrays["held"]
    np.savez_compressed(folder / "mechanism.npz", **arrays)
    verdict = verify(folder)
    for name in ("rows", "privacy", "value"):
        assert verdict.of(name).status is Outcome.NOT_REPROVED
    assert verdict.of("bound").status is Outcome.HOLDS


def test_rests_that_tell_secrets_apart(results: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(results["line"], tmp_path / "out"))
    arrays = read_arrays(folder, "mechanism")
    weights = arrays["0/weights"].copy()
    weights[5] *= 0.5
    weights[4] += weights[5] * math.exp(-float(arrays["0/level"]) * 3.0) * (1 - 1e-6)
    change_array(folder / "mechanism.npz", "0/weights", lambda _: weights)
    change_array(folder / "mechanism.npz", "0/slack", lambda slack: 0 * slack)
    verdict = verify(folder)
    assert "privacy" in judged(folder)
    assert verdict.of("rows").status is Outcome.HOLDS
    assert "secrets 5 and 4 are told apart" in verdict.of("privacy").detail


def test_levels_and_shares_that_leave_no_room(results: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(results["line"], tmp_path / "line"))
    change_array(folder / "mechanism.npz", "0/level", lambda level: level - level + 0.9)
    assert "leaves no room for rounding" in verify(folder).of("privacy").detail
    folder = Path(shutil.copytree(results["hamming"], tmp_path / "hamming"))
    for held, failing in ((1e-18, {"rows", "privacy"}), (-1e-18, {"rows"})):
        change_array(folder / "mechanism.npz", "held", lambda _, h=held: np.array(h))
        found = {check.name for check in verify(folder).checks if check.status is Outcome.FAILS}
        assert failing <= found, held
