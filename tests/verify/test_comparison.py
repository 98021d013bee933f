"""Comparisons and further measures in result folders, proven again: untouched ones hold, and no false claim does."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.results.folder import write_digests
from dxopt.results.measures import MEASURES, Beliefs, learned
from dxopt.verify import Outcome, Verdict, verify
from tests.judges.figures import INSIDE, comparison_deviations, measure_deviations
from tests.judges.result import judged, read_arrays, read_json
from tests.material.checks import change_array, change_claims
from tests.material.corrupted import SEED, corrupt, numbers, slots_of
from tests.material.few import few
from tests.material.forged_kinds import OTHERS, PRIOR, REPORTS, compared, problem

TURNS = 20
NOISE = ["exponential", "geometric", "planar_laplace", "laplace", "randomised_response", "cloaking"]
NEAR = {"near": dx.Prior.from_weights(problem().space, [3, 1, 4, 1, 6, 9])}
BINARY = {"loss": "binary", "epsilon": 2.5, "prior": OTHERS["uniform"]}
KINDS = {
    "noise": lambda: compared(problem(), NOISE, priors=OTHERS),
    "regular": lambda: compared(problem(**BINARY), ["tight", "exponential"], priors={"rest": OTHERS["rest"]}),
    "adversary": lambda: compared(problem(objective=dx.AdversaryError(0.75, "binary")), ["exponential"], priors=NEAR),
    "worst": lambda: compared(problem(objective="worst_loss"), ["exponential", "geometric", "randomised_response"]),
    **{kind: REPORTS[kind] for kind in ("relaxed", "measured", "measured, relaxed")},
}


def _judged(folder: Path) -> tuple[set[str], set[str]]:
    return judged(folder, comparison_deviations if (folder / INSIDE).is_dir() else measure_deviations)


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


def _slots(folder: Path) -> list[tuple[Path, str, tuple[Any, ...]]]:
    """The numbers that are claims, or witnesses of them: the folder, a file, and a path within it."""
    inside = folder / INSIDE
    if not inside.is_dir():
        return [(folder, *slot) for slot in slots_of(folder) if slot[0] == "claims.json"]
    found = [(inside, "comparison.json", path) for path in numbers(read_json(inside, "comparison"))]
    arrays = read_arrays(inside, "comparison")
    return found + [(inside, "comparison.npz", (key,)) for key, array in arrays.items() if array.dtype.kind == "f"]


@pytest.mark.parametrize("kind", few(KINDS, 1))
def test_single_numbers(results: dict[str, Path], kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng([SEED, 7, list(KINDS).index(kind)])
    folder = tmp_path / "out"
    slots = [slot for slot in _slots(results[kind]) if slot[2] != ("format",)]
    rejected = 0
    for turn in rng.permutation(len(slots))[:TURNS].tolist():
        shutil.copytree(results[kind], folder, dirs_exist_ok=True)
        where, name, path = slots[turn]
        what = corrupt(folder / where.relative_to(results[kind]), name, path, rng)
        write_digests(folder)
        false, doubtful = _judged(folder)
        verdict = verify(folder)
        failing = {check.name: check.detail for check in verdict.checks if check.status is Outcome.FAILS}
        rejected += bool(false)
        if false:
            assert false & set(failing), f"{what}: {sorted(false)} are false, but\n{verdict}"
            assert all(failing.values())
        elif not doubtful:
            assert not failing, f"{what}: nothing is false, but\n{verdict}"
    assert rejected > min(len(slots), TURNS) / 2


def _copy(folder: Path, path: Path) -> Path:
    return Path(shutil.copytree(folder, path / "out"))


def _changed(folder: Path, path: Path, change: Callable[[dict[str, Any]], None]) -> Verdict:
    """What is found of a copy whose comparison was changed, or its claims where there is none."""
    copy = _copy(folder, path)
    inside, name = (copy / INSIDE, "comparison") if (copy / INSIDE).is_dir() else (copy, "claims")
    content = read_json(inside, name)
    change(content)
    (inside / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    _redigest(copy)
    return verify(copy)


def _redigest(folder: Path) -> None:
    for file in sorted(folder.rglob("digests.json"), key=lambda path: -len(path.parts)):
        write_digests(file.parent)


def test_errors_name_secrets(results: dict[str, Path], tmp_path: Path) -> None:
    folder = _copy(results["noise"], tmp_path)
    change_array(folder / INSIDE / "comparison.npz", "6/matrix", lambda one: one + 1e-3 * (np.arange(6) == 2))
    _redigest(folder)
    check = verify(folder).of("comparison: cloaking")
    assert check.status is Outcome.FAILS
    assert "secret (0, 0) sums to 1 +0.001" in check.detail
    with pytest.raises(dx.CertificateError):
        dx.load(folder)


def test_a_comparison_that_is_damaged_is_no_crash(results: dict[str, Path], tmp_path: Path) -> None:
    folder = _copy(results["noise"], tmp_path)
    (folder / INSIDE / "comparison.npz").write_bytes(b"PK")
    _redigest(folder)
    assert verify(folder).of("comparison").status is Outcome.FAILS
    with pytest.raises(dx.SpecError, match="damaged"):
        dx.load(folder)
    replace(dx.load(results["noise"]), comparison=None).save(folder)
    assert not (folder / INSIDE).exists()


UNKNOWN = ("home", "77/matrix", "refined/77/gains", "0/remap/note", "0/matrix/0")


@pytest.mark.parametrize("key", UNKNOWN)
def test_arrays_that_no_row_has_are_refused(results: dict[str, Path], key: str, tmp_path: Path) -> None:
    folder = _copy(results["worst"], tmp_path)
    file = folder / INSIDE / "comparison.npz"
    np.savez(file, **read_arrays(folder / INSIDE, "comparison"), **{key: np.array("at home")})  # pyright: ignore[reportArgumentType]
    _redigest(folder)
    assert verify(folder).of("comparison").status is Outcome.FAILS
    with pytest.raises(dx.SpecError, match="damaged"):
        dx.load(folder)


def test_the_optimum_is_the_first_row(results: dict[str, Path], tmp_path: Path) -> None:
    def turn(content: dict[str, Any]) -> None:
        content["rows"] = content["rows"][::-1]

    assert _changed(results["noise"], tmp_path, turn).of("comparison").status is Outcome.FAILS
    with pytest.raises(dx.SpecError) as caught:
        dx.load(tmp_path / "out")
    assert caught.value.field == "comparison"


def test_a_report_that_is_not_the_best_is_explained_beside_the_best() -> None:
    space = dx.grid((2, 3))
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior="uniform"), method="exponential")
    compared = replace(report, comparison=dx.compare(report.problem, ["exponential", "randomised_response"]))
    found = compared.explanation
    assert found.next_best == "optimal"
    best = dx.solve(report.problem).value
    assert found.next_excess == pytest.approx(best / report.value - 1, rel=1e-4)
    assert found.next_excess is not None and found.next_excess < -0.1


@pytest.mark.parametrize("name", ["a\nprivacy: perfect", "a\r\u2028privacy holds", "a\x1b[2J\x85b"])
def test_a_name_is_no_line_of_its_own(name: str) -> None:
    problem = dx.Problem(dx.grid((2, 2)), epsilon=1.0, prior="uniform", name=name)
    plain = problem.but(name="a")
    for asked, wanted in zip(*(_told(one) for one in (problem, plain)), strict=True):
        assert len(asked.splitlines()) == len(wanted.splitlines())
        assert "\x1b" not in asked


def _told(problem: dx.Problem) -> list[str]:
    report, comparison = dx.solve(problem), dx.compare(problem, ["exponential"])
    return [str(report), report.details(), str(dx.explain(report)), str(comparison), str(dx.explain(problem))]


def test_what_refines_what_is_said_once(results: dict[str, Path], tmp_path: Path) -> None:
    def twice(content: dict[str, Any]) -> None:
        content["refinements"].append(content["refinements"][0])

    assert _changed(results["noise"], tmp_path, twice).of("comparison").status is Outcome.FAILS


def _row(content: dict[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in content["rows"] if row["name"] == name)


FORGED: list[tuple[str, str, Callable[[dict[str, Any]], None]]] = [
    ("noise", "exponential", lambda content: _row(content, "exponential").update(value=0.1)),
    ("noise", "exponential", lambda content: _row(content, "exponential").update(under={})),
    ("noise", "cloaking", lambda content: _row(content, "cloaking").update(value=0.0)),
    ("noise", "", lambda content: _row(content, "cloaking").update(private=True)),
    ("noise", "cloaking", lambda content: _row(content, "cloaking").update(part="own")),
    ("noise", "cloaking", lambda content: _row(content, "cloaking").update(part="000")),
    ("noise", "optimal for rest", lambda content: _row(content, "optimal for rest").update(prior="")),
    ("noise", "optimal for rest", lambda content: _row(content, "optimal for rest").update(prior="uniform")),
    ("noise", "", lambda content: _row(content, "exponential").update(prior="another")),
    ("noise", "", lambda content: _row(content, "exponential").update(name="geometric")),
    ("noise", "", lambda content: _row(content, "exponential").update(part="009")),
    ("noise", "", lambda content: _row(content, "exponential").update(epsilon=0.1)),
    ("noise", "", lambda content: content.update(valid=True)),
    ("regular", "verdict", lambda content: content["verdict"].update(status="not regular")),
]


@pytest.mark.parametrize("number", range(len(FORGED)))
def test_stronger_claims_are_refused(results: dict[str, Path], tmp_path: Path, number: int) -> None:
    kind, name, change = FORGED[number]
    verdict = _changed(results[kind], tmp_path, change)
    failing = {check.name for check in verdict.checks if check.status is Outcome.FAILS}
    assert failing & {"comparison", f"comparison: {name}"}, str(verdict)


REMAPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "weights": lambda found: np.eye(len(found))[0],
    "weights of infinity": lambda found: np.full_like(found, np.inf),
    "weights of nothing": np.zeros_like,
    "channel": lambda found: np.full(found.shape, 1 / len(found)),
    "channel, reversed": lambda found: np.eye(len(found))[::-1],
    "channel of 7": lambda found: np.full_like(found, 7.0),
}


@pytest.mark.parametrize("what", REMAPS)
@pytest.mark.parametrize("row", [0, 2])
def test_a_remap_is_the_best_by_its_weights(results: dict[str, Path], tmp_path: Path, what: str, row: int) -> None:
    folder = _copy(results["worst"], tmp_path)
    change_array(folder / INSIDE / "comparison.npz", f"{row}/remap/{re.split('[, ]', what)[0]}", REMAPS[what])
    _redigest(folder)
    name = read_json(folder / INSIDE, "comparison")["rows"][row]["name"]
    assert verify(folder).of(f"comparison: {name}").status is Outcome.FAILS
    with pytest.raises(dx.CertificateError):
        dx.load(folder)


def test_a_remap_that_draws_is_about_the_worst_loss(results: dict[str, Path], tmp_path: Path) -> None:
    folder = _copy(results["noise"], tmp_path)
    file = folder / INSIDE / "comparison.npz"
    drawn = {"1/remap/channel": np.eye(6), "1/remap/weights": np.ones(6)}
    np.savez(file, **read_arrays(folder / INSIDE, "comparison"), **drawn)
    _redigest(folder)
    assert verify(folder).exit_code == 1
    with pytest.raises(dx.CertificateError):
        dx.load(folder)


def test_figures_that_are_loaded_follow_from_the_parts(results: dict[str, Path], tmp_path: Path) -> None:
    known = dx.load(results["noise"]).comparison

    def change(content: dict[str, Any]) -> None:
        for row in content["rows"]:
            row.update(value=0.1) if "value" in row else None

    assert _changed(results["noise"], tmp_path, change).exit_code == 1
    assert dx.load(tmp_path / "out").comparison == known


WIDER = dx.Problem(dx.grid((2, 3), spacing=2.0), epsilon=0.8, prior=PRIOR.probabilities, name="points")
OTHERWISE: dict[str, Callable[[], dx.Report]] = {
    "another level": lambda: dx.solve(problem(epsilon=1.6), method="exponential"),
    "another prior": lambda: dx.solve(problem(prior=OTHERS["uniform"]), method="exponential"),
    "other losses": lambda: dx.solve(problem(loss="squared"), method="exponential"),
    "other distances": lambda: dx.solve(WIDER, method="exponential"),
    "another objective": lambda: dx.solve(problem(objective="worst_loss"), method="exponential"),
}


@pytest.mark.parametrize("what", OTHERWISE)
def test_parts_answer_the_problem(results: dict[str, Path], tmp_path: Path, what: str) -> None:
    """A mechanism that is less private, or another one's optimum, is no part, though all of it is proven."""
    folder = _copy(results["noise"], tmp_path)
    place = _row(read_json(folder / INSIDE, "comparison"), "exponential")["part"]
    shutil.rmtree(folder / INSIDE / "parts" / place)
    part = OTHERWISE[what]().save(folder / INSIDE / "parts" / place)
    assert verify(part).exit_code == 0
    _redigest(folder)
    check = verify(folder).of("comparison: exponential")
    assert check.status is Outcome.FAILS
    with pytest.raises(dx.CertificateError, match="comparison's exponential"):
        dx.load(folder)


def test_parts_are_about_the_same_set_of_priors(tmp_path: Path) -> None:
    members = [PRIOR, *OTHERS.values()]
    asked, other = (problem(prior=dx.Prior.hull(members[:count])) for count in (3, 2))
    own = asked.space.distances
    flat = np.full(own.shape, 1 / len(own))
    folder = dx.compare(asked, {"flat": flat}).save(tmp_path / "out")
    assert verify(folder).exit_code == 0, str(verify(folder))
    swapped = dx.compare(other, {"flat": flat}).save(tmp_path / "other")
    place = INSIDE / "parts" / "000"
    shutil.rmtree(folder / place)
    shutil.copytree(swapped / place, folder / place)
    _redigest(folder)
    assert verify(folder).of("comparison: flat").status is Outcome.FAILS
    with pytest.raises(dx.CertificateError, match="comparison's flat"):
        dx.load(folder)


@pytest.mark.parametrize("objective", ["expected_loss", "regret"])
def test_over_a_hull_of_priors(objective: str, tmp_path: Path) -> None:
    asked = problem(prior=dx.Prior.hull([PRIOR, OTHERS["uniform"]]), objective=objective)
    comparison = dx.compare(asked, ["exponential"], priors={"rest": OTHERS["rest"]})
    folder = comparison.save(tmp_path / "out")
    assert dx.load(folder).comparison == comparison
    assert verify(folder).exit_code == 0, str(verify(folder))


def test_a_part_that_nothing_names_is_refused(results: dict[str, Path], tmp_path: Path) -> None:
    folder = _copy(results["worst"], tmp_path)
    inside = folder / INSIDE / "parts"
    shutil.copytree(inside / "000", inside / f"{len(list(inside.iterdir())):03}")
    _redigest(folder)
    assert verify(folder).of("comparison").status is Outcome.FAILS


@pytest.mark.parametrize("what", ["matrix", "bound", "epsilon"])
def test_a_part_that_claims_more_is_no_part(results: dict[str, Path], tmp_path: Path, what: str) -> None:
    folder = _copy(results["noise"], tmp_path)
    part = folder / INSIDE / "parts" / "000"
    if what == "matrix":
        change_array(part / "mechanism.npz", "matrix", lambda one: one[::-1])
    else:
        proof = read_json(part, "claims")["certificate"]
        change_claims(part, **{what: 1.01 * proof["value"] if what == "bound" else 0.5 * proof["epsilon"]})
    _redigest(folder)
    assert verify(folder).of("comparison: exponential").status is Outcome.FAILS
    with pytest.raises(dx.CertificateError):
        dx.load(folder)


def test_a_baseline_is_no_part(results: dict[str, Path], tmp_path: Path) -> None:
    """One that is not private cannot be called so: no part has its channel."""
    folder = _copy(results["noise"], tmp_path)
    inside = folder / INSIDE
    content, arrays = read_json(inside, "comparison"), read_arrays(inside, "comparison")
    ((index, row),) = [(index, row) for index, row in enumerate(content["rows"]) if row["name"] == "cloaking"]
    row.update(part="000")
    change_array(inside / "parts" / "000" / "mechanism.npz", "matrix", lambda _: arrays[f"{index}/matrix"])
    (inside / "comparison.json").write_text(json.dumps(content), encoding="utf-8")
    _redigest(folder)
    assert verify(folder).of("comparison: cloaking").status is Outcome.FAILS
    with pytest.raises(dx.CertificateError):
        dx.load(folder)


def test_mechanisms_that_are_not_written_down_are_parts(tmp_path: Path) -> None:
    asked = dx.Problem(dx.line(6), epsilon=1.0, prior="uniform")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dxopt.solving.routes.limits.WRITTEN_CELLS", 4)
        comparison = dx.compare(asked, ["geometric"])
    folder = comparison.save(tmp_path / "out")
    assert dx.load(folder).comparison == comparison
    verdict = verify(folder)
    assert verdict.exit_code == 3
    assert verdict.of("comparison: geometric").status is Outcome.NOT_REPROVED


def _of(weights: Sequence[float], distances: Sequence[Sequence[float]], epsilon: float) -> dx.Problem:
    space = dx.MetricSpace.from_distances(distances)
    return dx.Problem(space, epsilon=epsilon, prior=dx.Prior.from_weights(space, weights), loss="binary")


PATH = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
CYCLE = [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]
AWAY = [[0, 1, math.inf], [1, 0, math.inf], [math.inf, math.inf, 0]]
TWINS = [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
STAR = [[0, 1, 1, 1, 1], [1, 0, 2, 2, 2], [1, 2, 0, 2, 2], [1, 2, 2, 0, 2], [1, 2, 2, 2, 0]]
PRIORS = {
    "regular": (_of([1, 1, 1, 1], CYCLE, 0.8), "regular"),
    "unlikely and away": (_of([1, 1, 0], AWAY, 0.8), "regular"),
    "alike": (_of([1, 1, 2], TWINS, 0.8), "regular"),
    "negative": (_of([1, 1, 1, 1, 1], STAR, 0.4), "not regular"),
    "unlike": (_of([1, 2, 2], TWINS, 0.8), "not regular"),
    "unlike in the last place": (_of([1, 1 - 2.0**-53, 1.25], TWINS, 0.8), "not regular"),
    "empty": (_of([1, 0, 1], PATH, 0.8), "not regular"),
    "steep": (_of([40, 2, 1], PATH, 0.8), "not regular"),
    "corner": (_of([4, 2, 1], PATH, math.log(2)), "undecided"),
}


def test_probabilities_differ_where_their_logarithms_do_not() -> None:
    """In "unlike in the last place", so that nothing but the comparison of twins tells them apart."""
    first, second, _ = PRIORS["unlike in the last place"][0].prior.probabilities
    assert first != second
    assert math.log(first) == math.log(second)


@pytest.mark.parametrize("kind", PRIORS)
def test_verdicts(kind: str, tmp_path: Path) -> None:
    asked, expected = PRIORS[kind]
    saved = compared(asked, []).save(tmp_path / "saved")
    found = read_json(saved / INSIDE, "comparison")["verdict"]
    assert found["status"] == expected
    assert verify(saved).of("comparison: verdict").status is Outcome.HOLDS
    if kind == "corner":
        return
    opposite = "regular" if expected == "not regular" else "not regular"

    def change(content: dict[str, Any]) -> None:
        content["verdict"]["status"] = opposite

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

    assert _changed(saved, tmp_path, change).of("measure: learns.within[0]").status is Outcome.FAILS


def test_measures_without_what_they_are_about_are_left_open(results: dict[str, Path], tmp_path: Path) -> None:
    verdict = _changed(results["measured"], tmp_path, lambda content: content.update(beliefs=[]))
    assert verdict.of("measure: learns.hiding[0], at most").status is Outcome.NOT_REPROVED
    assert verdict.exit_code == 3
