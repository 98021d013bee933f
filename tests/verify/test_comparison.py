"""Comparisons and further measures in result folders, proven again: untouched ones hold, and no false claim does."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.results.folder import write_digests
from dxopt.results.measures import MEASURES, Beliefs, learned, of_records
from dxopt.verify import Outcome, Verdict, verify
from tests.judges.figures import comparison_deviations, measure_deviations
from tests.judges.result import judged, read_json
from tests.material.checks import change_array
from tests.material.corrupted import SEED, corrupt, slots_of

SPACE = dx.grid((2, 3))
PRIOR = dx.Prior.from_weights(SPACE, [3, 1, 4, 1, 5, 9])
OTHERS = {"uniform": dx.Prior.uniform(SPACE), "rest": dx.Prior.from_weights(SPACE, [2, 2, 1, 0, 1, 1])}
TURNS = 50


def _problem(**changes: Any) -> dx.Problem:
    return dx.Problem(SPACE, **{"epsilon": 0.8, "prior": PRIOR, "name": "points", **changes})


def _compared(problem: dx.Problem, methods: list[str], **options: Any) -> dx.Report:
    report = dx.solve(problem)
    return replace(report, comparison=dx.compare(problem, methods, reference=report, **options))


def _noise() -> dx.Report:
    methods = ["exponential", "geometric", "planar_laplace", "laplace", "randomised_response", "cloaking"]
    return _compared(_problem(), methods, priors=OTHERS)


def _regular() -> dx.Report:
    problem = _problem(loss="binary", epsilon=2.5, prior=OTHERS["uniform"])
    return _compared(problem, ["tight", "exponential"], priors={"rest": OTHERS["rest"]})


def _relaxed() -> dx.Report:
    return _compared(_problem(delta=0.05), ["exponential", "rate_distortion"], priors=OTHERS)


def _adversary() -> dx.Report:
    problem = _problem(objective=dx.AdversaryError(0.75, "binary"))
    return _compared(problem, ["exponential"], priors={"near": dx.Prior.from_weights(SPACE, [3, 1, 4, 1, 6, 9])})


def _worst() -> dx.Report:
    return _compared(_problem(objective="worst_loss"), ["exponential", "geometric", "randomised_response"])


def _measured() -> dx.Report:
    report = dx.solve(_problem())
    asked = (Beliefs("learns.within[0]", (0, 1, 4), False), Beliefs("learns.hiding[0]", (1, 1, 2, 3, 4, 3), True))
    evaluation = {
        name: MEASURES[name](report.mechanism, report.problem)
        for name in ("error_bound", "adversary_error", "min_capacity", "additive_capacity")
    }
    for beliefs in asked:
        evaluation |= learned(report.mechanism, report.problem, beliefs)
    return replace(report, evaluation=evaluation | of_records(report.mechanism, report.problem, 1000), beliefs=asked)


def _measured_relaxed() -> dx.Report:
    report = dx.solve(_problem(delta=0.05))
    return replace(
        report,
        evaluation={"error_bound": MEASURES["error_bound"](report.mechanism, report.problem)}
        | of_records(report.mechanism, report.problem, 7),
    )


KINDS: dict[str, Callable[[], dx.Report]] = {
    "noise": _noise,
    "regular": _regular,
    "relaxed": _relaxed,
    "adversary": _adversary,
    "worst": _worst,
    "measured": _measured,
    "measured, relaxed": _measured_relaxed,
}


def _judged(folder: Path) -> tuple[set[str], set[str]]:
    return judged(folder, comparison_deviations if (folder / "compared.npz").is_file() else measure_deviations)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("results")
    return {kind: make().save(base / kind) for kind, make in KINDS.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_untouched_ones_hold(results: dict[str, Path], kind: str, tmp_path: Path) -> None:
    again = dx.load(results[kind]).save(tmp_path / "again")
    for folder in (results[kind], again):
        assert not _judged(folder)[0]
        verdict = verify(folder)
        assert verdict.exit_code == 0, str(verdict)


@pytest.mark.parametrize("kind", KINDS)
def test_single_numbers(results: dict[str, Path], kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng([SEED, 7, list(KINDS).index(kind)])
    folder = tmp_path / "out"
    slots = [slot for slot in slots_of(results[kind]) if slot[0] in ("compared.npz", "claims.json")]
    rejected = 0
    for turn in rng.permutation(len(slots))[:TURNS].tolist():
        shutil.copytree(results[kind], folder, dirs_exist_ok=True)
        name, path = slots[turn]
        where = corrupt(folder, name, path, rng)
        false, doubtful = _judged(folder)
        verdict = verify(folder)
        failing = {check.name: check.detail for check in verdict.checks if check.status is Outcome.FAILS}
        rejected += bool(false)
        if false:
            assert false & set(failing), f"{where}: {sorted(false)} are false, but\n{verdict}"
            assert all(failing.values())
        elif not doubtful:
            assert not failing, f"{where}: nothing is false, but\n{verdict}"
    assert rejected > min(len(slots), TURNS) / 2


def _changed(folder: Path, path: Path, change: Callable[[dict[str, Any]], None]) -> Verdict:
    """What is found of a copy whose claims.json was changed."""
    copy = Path(shutil.copytree(folder, path / "out"))
    content = read_json(copy, "claims")
    change(content)
    (copy / "claims.json").write_text(json.dumps(content), encoding="utf-8")
    write_digests(copy)
    return verify(copy)


def test_errors_name_secrets(results: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(results["noise"], tmp_path / "out"))
    change_array(folder / "compared.npz", "1/matrix", lambda matrix: matrix + 1e-3 * (np.arange(6) == 2))
    write_digests(folder)
    check = verify(folder).of("comparison: exponential")
    assert check.status is Outcome.FAILS
    assert check.detail == "the row of secret (0, 0) sums to 1 +0.001"


def test_results_of_earlier_versions_are_left_open(results: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(results["noise"], tmp_path / "out"))
    (folder / "compared.npz").unlink()
    write_digests(folder)
    verdict = verify(folder)
    assert verdict.exit_code == 3
    assert verdict.of("comparison").status is Outcome.HOLDS
    assert "compared.npz" in verdict.of("comparison: exponential").detail
    report = dx.load(folder)
    assert report.comparison is not None
    assert report.comparison.evidence is None


def test_the_file_goes_with_the_comparison(results: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(results["noise"], tmp_path / "out"))
    (folder / "compared.npz").write_bytes(b"PK")
    write_digests(folder)
    assert verify(folder).of("comparison: cloaking").detail.startswith("compared.npz is damaged")
    with pytest.raises(dx.SpecError, match="damaged"):
        dx.load(folder)
    replace(dx.load(results["noise"]), comparison=None).save(folder)
    assert not (folder / "compared.npz").exists()


def test_channels_that_are_not_written_down_say_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("dxopt.results.evidence.WRITTEN_TRIPLES", 100)
    report = _compared(_problem(), ["exponential"])
    verdict = verify(dx.load(report.save(tmp_path / "out")).save(tmp_path / "again"))
    assert verdict.exit_code == 3
    assert verdict.of("comparison: exponential").detail == "n²·m is over 100"


@pytest.mark.parametrize(
    ("kind", "row", "key", "content", "detail"),
    [
        ("noise", 1, "private", False, "private is False"),
        ("noise", 1, "delta", 0.0, "delta of exponential is 0.0"),
        ("noise", 1, "remapped", None, "remapped_excess of exponential"),
        ("noise", 1, "under", {}, "evaluated under no other prior"),
        ("noise", 6, "private", True, "private is True"),
        ("noise", 6, "epsilon", 9.0, "are told apart by report"),
        ("noise", 6, "baseline", False, "private is False"),
        ("noise", 6, "value", None, "figures of cloaking"),
        ("relaxed", 1, "delta", None, "delta of exponential is None"),
        ("adversary", 2, "remapped", 0.5, "remapped"),
    ],
)
def test_flags_and_missing_figures(
    results: dict[str, Path], tmp_path: Path, kind: str, row: int, key: str, content: Any, detail: str
) -> None:
    def change(report: dict[str, Any]) -> None:
        report["comparison"]["rows"][row][key] = content

    verdict = _changed(results[kind], tmp_path, change)
    failing = [check.detail for check in verdict.checks if check.status is Outcome.FAILS]
    assert len(failing) == 1
    assert detail in failing[0]


def test_the_bound_of_a_comparison_is_that_of_the_certificate(results: dict[str, Path], tmp_path: Path) -> None:
    """One that is a little better, with all that follows from it, needs a dual of its own."""

    def change(content: dict[str, Any]) -> None:
        comparison = content["comparison"]
        comparison["bound"] *= 1 + 4e-13
        for row in comparison["rows"]:
            if row["value"] is not None:
                row["gap"] = abs(row["value"] - comparison["bound"]) / row["value"]

    verdict = _changed(results["noise"], tmp_path, change)
    assert verdict.of("comparison").status is Outcome.HOLDS
    assert "which is not the certificate's" in verdict.of("comparison: bound").detail


def _of(weights: Sequence[float], distances: Sequence[Sequence[float]], epsilon: float) -> dx.Problem:
    space = dx.MetricSpace.from_distances(distances)
    return dx.Problem(space, epsilon=epsilon, prior=dx.Prior.from_weights(space, weights), loss="binary")


PATH = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
CYCLE = [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]
AWAY = [[0, 1, math.inf], [1, 0, math.inf], [math.inf, math.inf, 0]]
TWINS = [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
STAR = [[0, 1, 1, 1, 1], [1, 0, 2, 2, 2], [1, 2, 0, 2, 2], [1, 2, 2, 0, 2], [1, 2, 2, 2, 0]]
PRIORS = {
    "regular": (_of([1, 1, 1, 1], CYCLE, 0.8), Outcome.HOLDS, "regular: every entry of μ is at least"),
    "unlikely and away": (_of([1, 1, 0], AWAY, 0.8), Outcome.HOLDS, "regular: every entry of μ is at least"),
    "alike": (_of([1, 1, 2], TWINS, 0.8), Outcome.HOLDS, "regular: every entry of μ is at least"),
    "negative": (_of([1, 1, 1, 1, 1], STAR, 0.4), Outcome.HOLDS, "not regular: μ is "),
    "unlike": (_of([1, 2, 2], TWINS, 0.8), Outcome.HOLDS, "not regular: 0 and 1 have the same distances"),
    "empty": (_of([1, 0, 1], PATH, 0.8), Outcome.HOLDS, "not regular: the probability of 1 is 0"),
    "steep": (_of([40, 2, 1], PATH, 0.8), Outcome.HOLDS, "not regular: 0 is more than e^(epsilon d) as likely"),
    "corner": (_of([4, 2, 1], PATH, math.log(2)), Outcome.HOLDS, "undecided: μ cannot be told from 0"),
}


@pytest.mark.parametrize("kind", PRIORS)
def test_verdicts(kind: str, tmp_path: Path) -> None:
    problem, outcome, expected = PRIORS[kind]
    saved = _compared(problem, []).save(tmp_path / "saved")
    text = read_json(saved, "claims")["comparison"]["verdict"]
    assert text.startswith(expected)
    assert verify(saved).of("comparison: verdict").status is outcome
    if kind == "corner":
        return
    opposite = "regular: every entry of μ is at least 0" if text.startswith("not") else "not regular: it is said"

    def change(content: dict[str, Any]) -> None:
        content["comparison"]["verdict"] = opposite

    assert _changed(saved, tmp_path, change).of("comparison: verdict").status is Outcome.FAILS


def test_beliefs_that_turn_impossible_are_infinite(tmp_path: Path) -> None:
    distances = [[0, math.inf, math.inf], [math.inf, 0, 1], [math.inf, 1, 0]]
    report = dx.solve(_of([1, 1, 1], distances, 1.0))
    beliefs = Beliefs("learns.within[0]", (0, 1, 2), False)
    evaluation = learned(report.mechanism, report.problem, beliefs) | {
        "adversary_error": MEASURES["adversary_error"](report.mechanism, report.problem)
    }
    saved = replace(report, evaluation=evaluation, beliefs=(beliefs,)).save(tmp_path / "saved")
    assert evaluation["learns.within[0]"] == math.inf
    verdict = verify(saved)
    assert verdict.exit_code == 0, str(verdict)

    def change(content: dict[str, Any]) -> None:
        content["evaluation"]["learns.within[0]"] = 2.0

    assert "is infinite" in _changed(saved, tmp_path, change).of("measure: learns.within[0]").detail


def test_measures_without_what_they_are_about_are_left_open(results: dict[str, Path], tmp_path: Path) -> None:
    verdict = _changed(results["measured"], tmp_path, lambda content: content.update(beliefs=[]))
    assert verdict.of("measure: learns.hiding[0], at most").status is Outcome.NOT_REPROVED
    assert verdict.exit_code == 3
