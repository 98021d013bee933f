"""What solvers return, and numbers next to zero."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.numerics.number_syntax import at_most
from dxopt.verify import verify

SPACE = dx.line(4)
PROBLEM = dx.Problem(SPACE, epsilon=1.0, prior=[0.1, 0.2, 0.3, 0.4])


def returned_by_a_solver(below: float, off: float, seed: int = 0) -> np.ndarray:
    """A private matrix with entries of `-below` in place of small ones, and rows off by `off`."""
    rng = np.random.default_rng(seed)
    matrix = np.array(dx.solve(PROBLEM).mechanism.matrix)
    moved = np.where(
        matrix < 1e-12, -below * rng.random(matrix.shape), matrix + below * rng.normal(size=matrix.shape)
    )
    return moved / moved.sum(axis=1, keepdims=True) * (1 + off * rng.uniform(-1, 1, (len(moved), 1)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("below", "off"), [(1e-12, 0.0), (1e-9, 1e-8), (1e-8, 4.4e-9), (1e-7, 1e-8)])
def test_matrices_of_solvers_are_repaired_and_proven(below: float, off: float, seed: int) -> None:
    raw = returned_by_a_solver(below, off, seed)
    mechanism = dx.certify(raw, SPACE, 1.0, repair=True)
    assert mechanism.privacy is not None and mechanism.privacy.epsilon <= 1.0
    assert mechanism.matrix.min() >= 0 and math.isclose(mechanism.matrix.sum(), 4.0, rel_tol=1e-15)
    assert np.abs(mechanism.matrix - raw).max() <= 1e-6
    row = next(row for row in dx.compare(PROBLEM, {"mine": raw}).rows if row.name == "mine")
    assert row.private and row.value == pytest.approx(dx.solve(PROBLEM).certificate.value, abs=1e-5)
    sweep = dx.sweep(PROBLEM, epsilons=[1.0], methods={"mine": raw})
    assert "mine" in str(sweep)


@pytest.mark.parametrize(("below", "off"), [(1e-4, 0.0), (0.0, 1e-3)])
def test_what_is_further_off_is_refused(below: float, off: float) -> None:
    raw = returned_by_a_solver(below, off)
    with pytest.raises(dx.SpecError) as caught:
        dx.certify(raw, SPACE, 1.0, repair=True)
    assert caught.value.field == "matrix"


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("solver", ["CLARABEL", "SCS", "OSQP", "HIGHS"])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("size", [3, 5, 9])
def test_what_cvxpy_returns_is_compared_as_it_is_certified(
    size: int, epsilon: float, power: int, solver: str
) -> None:
    cp = pytest.importorskip("cvxpy")
    space = dx.line(size)
    problem = dx.Problem(space, epsilon=epsilon, prior="uniform", loss=space.distances**power)
    asked = cp.Variable((size, size), nonneg=True)
    above, below = asked[:-1], asked[1:]
    bounds = [cp.sum(asked, axis=1) == 1, above <= math.exp(epsilon) * below, below <= math.exp(epsilon) * above]
    cp.Problem(cp.Minimize(cp.sum(cp.multiply(problem.losses, asked)) / size), bounds).solve(solver=solver)
    raw = np.asarray(asked.value)
    row = dx.compare(problem, {"mine": raw}).rows[1]
    try:
        certified = dx.certify(raw, space, epsilon, repair=True)
    except dx.SpecError as error:
        assert row.value is None and error.wrong in row.note
        return
    moved = float(np.abs(certified.matrix - raw).max())
    assert row.private and row.value == pytest.approx(dx.evaluate.expected_loss(certified, "uniform", problem.loss))
    assert (at_most(moved) in row.note) == (moved > 1e-9) == bool(row.note)


def test_nothing_is_changed_unasked() -> None:
    with pytest.raises(dx.SpecError):
        dx.certify(returned_by_a_solver(1e-12, 0.0), SPACE, 1.0)


@pytest.mark.parametrize("epsilon", [10.0, 25.0, 40.0, 100.0, 700.0])
@pytest.mark.parametrize("loss", ["distance", "squared", "binary"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_values_next_to_zero_are_optimal(epsilon: float, loss: str, scale: float, tmp_path: Path) -> None:
    space = dx.line(5, step=scale)
    report = dx.solve(dx.Problem(space, epsilon=epsilon / scale, prior=[0.2] * 5, loss=loss))
    assert report.status == "optimal"
    assert verify(report.save(tmp_path / "out")).exit_code == 0


NEAR_ZERO = {
    "adversary": {"epsilon": math.inf, "objective": dx.AdversaryError(0.0)},
    "distance": {"epsilon": 800.0},
    "squared": {"epsilon": 800.0, "loss": "squared"},
    "worst": {"epsilon": 800.0, "objective": "worst_loss"},
}


@pytest.mark.parametrize("space", [dx.line(3), SPACE, dx.line(7), dx.grid((3, 3))], ids=len)
@pytest.mark.parametrize("asked", NEAR_ZERO)
def test_values_next_to_zero_are_told_as_close_as_they_are(asked: str, space: dx.MetricSpace) -> None:
    report = dx.solve(dx.Problem(space, prior="uniform", **NEAR_ZERO[asked]))
    assert report.status == "optimal"
    apart = abs(report.certificate.value - report.certificate.bound)
    told = next(sentence for _, sentence in report.explanation.sentences if "best possible" in sentence)
    assert re.findall(r"possible, up to (\S+)\.$", told) == [at_most(apart)] * (apart > 0)
    far = report.certificate.gap > report.tolerance
    assert all(("by rounding" in line) == far for line in str(report).splitlines() if line.startswith("status"))
    assert ("by rounding" in str(report.details())) == far


@pytest.mark.parametrize("epsilon", [0.3, 5.0, 40.0, 300.0, 1e5])
@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_bounds_do_not_exceed_their_caps(size: int, epsilon: float) -> None:
    space = dx.line(size)
    rng = np.random.default_rng(size)
    for prior in ("uniform", np.eye(size)[0], *(rng.dirichlet(np.ones(size)) for _ in range(4))):
        assert dx.regularity.binary_utility_bound(prior, space, epsilon) <= 1.0
        for mechanism in (
            dx.Mechanism.from_matrix(space, np.eye(size)),
            dx.classic.geometric(space, epsilon=epsilon),
        ):
            assert dx.evaluate.smallest_delta(mechanism, 0.5) <= 1.0
            assert dx.evaluate.utility(mechanism, prior) <= dx.evaluate.utility(mechanism, prior, np.eye(size)) <= 1.0
            assert dx.evaluate.usefulness(mechanism, size).max() <= 1.0
            assert dx.evaluate.usefulness_curve(mechanism, [0, 1, size], prior=prior).max() <= 1.0
    if epsilon > 1:
        assert dx.regularity.utility_bound("uniform", space, epsilon) <= 1.0
        assert dx.regularity.leakage_bound("uniform", space, epsilon) <= -math.log2(1 / size)


def test_a_delta_that_promises_nothing_is_none() -> None:
    delta = dx.evaluate.smallest_delta(dx.Mechanism.from_matrix(SPACE, np.eye(4)), 0.5)
    assert delta == 1.0
    with pytest.raises(dx.SpecError) as caught:
        dx.Problem(SPACE, epsilon=0.5, delta=delta, prior="uniform")
    assert caught.value.field == "delta"


def test_what_is_post_processed_keeps_the_level_it_is_proven_for() -> None:
    for mechanism in (dx.classic.geometric(SPACE, epsilon=1.0), dx.solve(PROBLEM).mechanism):
        remapped = mechanism.remap([0, 0, 2, 3])
        mixed = mechanism.compose(np.full((4, 4), 0.25) * 0.5 + 0.5 * np.eye(4))
        for made in (remapped, mixed):
            assert made.privacy is not None
            assert made.privacy.epsilon <= 1 + 1e-12
            assert dx.evaluate.smallest_epsilon(made) <= made.privacy.epsilon
    assert dx.Mechanism.from_matrix(SPACE, np.eye(4)).remap([0, 0, 2, 3]).privacy is None


@pytest.mark.parametrize(
    ("matrix", "fault"),
    [
        ([[1 + 1e-7 + 2e-4, -1e-7], [0.5, 0.5]], "row 0"),
        ([[1 + 1e-10, -1.3e-10], [1.5, 0.5]], "row 1"),
        ([[0.5, 0.5], [0.4, 0.4]], "row 1"),
        ([[1 + 1e-7, -1e-7], [1.1, -0.1]], r"entry \[1, 1\]"),
    ],
)
def test_the_fault_is_named_that_a_repair_does_not_admit(matrix: list[list[float]], fault: str) -> None:
    with pytest.raises(dx.SpecError, match=f"^matrix: {fault} "):
        dx.certify(matrix, dx.line(2), 1.0, repair=True)


@pytest.mark.parametrize("epsilon", [351, 700, 1000])
def test_entries_too_small_for_a_proof_are_named(epsilon: float) -> None:
    space = dx.line(3)
    matrix = np.exp(-350 * space.distances)
    matrix /= matrix.sum(axis=1, keepdims=True)
    with pytest.raises(dx.SpecError, match=r"entries of 9\.86e-305, too small"):
        dx.certify(matrix, space, epsilon)
    assert dx.certify(matrix, space, epsilon, repair=True).privacy
