"""Infinite losses and `max_loss`: the optimum without the reports that they forbid, judged by programs of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import dxopt as dx
from dxopt.proofs.certify import proven_privacy
from dxopt.proofs.repair import repair
from dxopt.verify.proving import verify
from dxopt.verify.verdict import Outcome
from tests.material.spec_files import task_of

GRID = dx.grid((3, 3))
HULL = dx.Prior.hull([dx.Prior.uniform(GRID), dx.Prior.from_weights(GRID, [1] * 5 + [0] * 4)])


def optimum(problem: dx.Problem, *, worst: bool = False) -> float | None:
    """Return the least loss by one program over all entries, those of infinite loss fixed at 0; or None."""
    n, m = problem.shape
    losses = np.asarray(problem.losses)
    finite = np.where(np.isinf(losses), 0.0, losses)
    rows = []
    for a, b in np.argwhere(np.isfinite(problem.budgets) & ~np.eye(n, dtype=bool)):
        for z in range(m):
            row = np.zeros(n * m + 1)
            row[a * m + z], row[b * m + z] = 1.0, -np.exp(problem.budgets[a, b])
            rows.append(row)
    for x in range(n if worst else 0):
        row = np.zeros(n * m + 1)
        row[x * m : (x + 1) * m], row[-1] = finite[x], -1.0
        rows.append(row)
    cost = np.append((problem.prior.probabilities[:, None] * finite).ravel(), 0.0)
    cost = np.append(np.zeros(n * m), 1.0) if worst else cost
    sums = np.hstack([np.kron(np.eye(n), np.ones(m)), np.zeros((n, 1))])
    bounds = [(0.0, 0.0 if np.isinf(loss) else 1.0) for loss in losses.ravel()] + [(None, None)]
    above = np.array(rows) if rows else None
    found = linprog(cost, above, None if above is None else np.zeros(len(rows)), sums, np.ones(n), bounds)
    return float(found.fun) if found.status == 0 else None


def random_case(seed: int) -> tuple[dx.MetricSpace, np.ndarray, list[float]]:
    """Return a space of one or more components, losses some of which are infinite, and a prior, some of it 0."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, rng.integers(1, 4))
    n = int(sizes.sum())
    distances = np.full((n, n), np.inf)
    for start, size in zip(np.cumsum(sizes) - sizes, sizes, strict=True):
        points = rng.uniform(0, 2, (size, 2))
        distances[start : start + size, start : start + size] = np.abs(points[:, None] - points).sum(axis=2)
    losses = rng.uniform(-1, 2, (n, int(rng.integers(1, 6))))
    losses[rng.uniform(size=losses.shape) < rng.choice([0.05, 0.2, 0.4])] = np.inf
    weights = rng.integers(0, 4, n)
    weights[rng.integers(n)] = 1
    return dx.MetricSpace.from_distances(distances), losses, (weights / weights.sum()).tolist()


SEEDS = [*range(60), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(60, 1000))]


@pytest.mark.parametrize("seed", SEEDS)
def test_optima_are_those_of_a_program_without_these_entries(seed: int) -> None:
    space, losses, prior = random_case(seed)
    worst = bool(seed % 2)
    asked: dict[str, Any] = {"epsilon": 1.0, "loss": losses, "objective": "worst_loss" if worst else "expected_loss"}
    try:
        problem = dx.Problem(space, prior=prior, **asked)
    except dx.SpecError as error:
        assert error.field == "loss"
        finite = np.isfinite(space.distances).astype(float)
        assert (finite @ np.isinf(losses) > 0).all(axis=1).any()
        return
    report = dx.solve(problem)
    assert report.status.value == "optimal"
    best = optimum(problem, worst=worst)
    assert best is not None
    assert report.certificate.value == pytest.approx(best, rel=1e-5, abs=1e-6)
    assert report.certificate.bound <= best + 1e-7
    assert not (report.mechanism.matrix[np.isinf(losses)] > 0).any()


KINDS: dict[str, dict[str, Any]] = {
    "expected": {},
    "worst": {"objective": "worst_loss"},
    "set": {"prior": HULL},
    "regret": {"prior": HULL, "objective": "regret"},
    "adversary": {"objective": dx.AdversaryError(1.2)},
    "squared": {"loss": "squared", "max_loss": 5.1},
    "beliefs": {"beliefs": dx.BeliefPairs([[0.5, 0.5, *[0] * 7]], [[*[0] * 7, 0.5, 0.5]], epsilon=1.0)},
}


@pytest.mark.parametrize("most", [1.5, 2.3])
@pytest.mark.parametrize("kind", list(KINDS))
def test_every_objective_keeps_to_the_limit_and_is_proven_again(kind: str, most: float, tmp_path: Path) -> None:
    asked = {"prior": "uniform", "epsilon": 1.0, "max_loss": most, **KINDS[kind]}
    report = dx.solve(dx.Problem(GRID, **asked))
    assert report.certificate.gap <= 1e-6 or report.certificate.value < 1e-9 or report.status.value == "optimal"
    assert not (report.mechanism.matrix > 0)[report.problem.losses > asked["max_loss"]].any()
    assert "possible reports" in {one.name for one in report.reductions}
    folder = report.save(tmp_path / "kept")
    assert dx.load(folder).certificate == report.certificate
    assert verify(folder).outcome is Outcome.HOLDS


def test_always_reporting_the_middle_is_found_where_all_else_is_too_far() -> None:
    loss = np.where(GRID.distances > 1.5, np.inf, GRID.distances)
    found = dx.solve(dx.Problem(GRID, epsilon=1.0, prior="uniform", loss=loss))
    assert found.status.value == "optimal" and (found.mechanism.matrix[:, 4] == 1).all()


@pytest.mark.parametrize("solver", ["clarabel", "highs", "columns"])
@pytest.mark.parametrize("spanner", [None, 1.2])
def test_solvers_and_spanners_agree(solver: str, spanner: float | None) -> None:
    problem = dx.Problem(dx.grid((4, 5)), epsilon=0.7, prior="uniform", max_loss=4.2)
    report = dx.solve(problem, solver=solver, spanner=spanner)
    best = dx.solve(problem).certificate.value
    assert report.certificate.value == pytest.approx(best, rel=0.1 if spanner else 1e-5)


REFUSED: dict[str, dict[str, Any]] = {
    "nothing left": {"max_loss": 1.0},
    "delta": {"max_loss": 2.3, "delta": 0.1},
    "no epsilon": {"max_loss": 2.3, "epsilon": None, "objective": dx.AdversaryError(1.0)},
    "no number": {"max_loss": "far"},
    "not a number": {"max_loss": float("nan")},
}


@pytest.mark.parametrize("kind", list(REFUSED))
def test_what_cannot_be_is_one_line_that_names_it(kind: str) -> None:
    with pytest.raises(dx.SpecError) as caught:
        dx.Problem(GRID, **{"epsilon": 1.0, "prior": "uniform", **REFUSED[kind]})
    assert caught.value.field == "max_loss" and caught.value.fix and "\n" not in str(caught.value)


@pytest.mark.parametrize("method", ["tight", "exponential", "planar_laplace", "randomised_response"])
def test_mechanisms_that_know_no_losses_are_refused_by_name_and_noted_in_comparisons(method: str) -> None:
    problem = dx.Problem(GRID, epsilon=1.0, prior="uniform", max_loss=2.3)
    with pytest.raises(dx.UnsupportedError):
        dx.solve(problem, method=method)
    row = next(row for row in dx.compare(problem, [method]).rows if row.name == method)
    assert row.value is None and row.note


def test_a_mechanism_of_ones_own_is_judged_by_the_limit() -> None:
    problem = dx.Problem(GRID, epsilon=1.0, prior="uniform", max_loss=2.3)
    even, middle = np.full((9, 9), 1 / 9), np.eye(9)[[4] * 9]
    rows = {row.name: row for row in dx.compare(problem, {"even": even, "middle": middle}).rows}
    assert rows["even"].value is None and rows["even"].note
    assert rows["middle"].value == pytest.approx(GRID.distances[4].mean())


@pytest.mark.parametrize("prior", ["uniform", [0.0, *[0.125] * 8]], ids=["every secret", "a secret of prior 0"])
def test_forged_results_do_not_hold(prior: Any, tmp_path: Path) -> None:
    folder = dx.solve(dx.Problem(GRID, epsilon=1.0, prior=prior, max_loss=2.3)).save(tmp_path / "forged")
    arrays = dict(np.load(folder / "problem.npz"))
    losses = arrays["losses"].copy()
    losses[0, 4] = np.inf  # the middle, which is reported
    np.savez(folder / "problem.npz", **{**arrays, "losses": losses})
    assert verify(folder).of("loss").status is Outcome.FAILS


def test_problem_files_have_the_limit(folder: Path) -> None:
    text = "space: {kind: grid, shape: [3, 3]}\nepsilon: 1\nmax_loss: 1.5\n"
    problem = task_of(folder, text).problem
    assert np.isinf(problem.losses).sum() == (GRID.distances > 1.5).sum()
    assert problem.at(2.0).losses.tolist() == problem.losses.tolist()


@pytest.mark.parametrize("budget", [0.0, 1e-300])
@pytest.mark.parametrize("spacing", [400.0, 746.0, 1000.0, 1e5])
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_no_mean_loss_is_too_little_where_doubles_cannot_tell(budget: float, spacing: float, epsilon: float) -> None:
    space = dx.MetricSpace.from_points([0.0, spacing, 2 * spacing])
    problem = dx.Problem(space, epsilon=epsilon, prior="uniform", objective=dx.AdversaryError(budget))
    with pytest.raises(dx.SpecError) as caught:
        dx.solve(problem)
    assert caught.value.field == "max_loss"


def test_values_next_to_zero_are_optimal() -> None:
    steep = dx.solve(dx.Problem(dx.line(5), epsilon=25, prior="uniform", loss="squared"))
    free = dx.solve(dx.Problem(dx.line(5), epsilon=None, prior="uniform", objective=dx.AdversaryError(0.0)))
    assert {steep.status.value, free.status.value} == {"optimal"}


def grouped(seed: int, delta: float) -> dx.Problem:
    """A random problem with δ of groups of secrets at infinite distance, with reports that each must not make."""
    rng = np.random.default_rng(seed)
    size, reports = (int(number) for number in rng.integers(3, 7, 2))
    group = np.arange(size) % int(rng.integers(1, 4))
    places = rng.uniform(0, 3, size=(size, 1))
    distances = np.where(group[:, None] == group, np.abs(places - places.T), np.inf)
    loss = rng.integers(0, 5, size=(size, reports)).astype(float)
    for which in range(group.max() + 1):
        forbidden = rng.permutation(reports)[: int(rng.integers(1, reports))]
        loss[np.ix_(group == which, forbidden)] = np.inf
    return dx.Problem(
        dx.MetricSpace.from_distances(distances),
        epsilon=float(rng.choice([0.01, 0.1, 1.0])),
        delta=delta,
        pairs=str(rng.choice(["all", "adjacent"])),
        prior=rng.dirichlet(np.ones(size)),
        loss=loss,
        reports=dx.Reports([*"abcdef"[:reports]]),
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("solver", ["auto", "clarabel", "highs"])
@pytest.mark.parametrize("delta", [0.7, 0.3, 0.2, 0.05])
def test_rounding_puts_no_delta_above_the_one_asked(solver: str, delta: float) -> None:
    for seed in range(20):
        problem = grouped(seed, delta)
        report = dx.solve(problem, solver=solver)
        assert report.status == "optimal"
        assert report.certificate.delta <= delta
        assert not report.mechanism.matrix[np.isinf(problem.losses)].any()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999, 1.001])
def test_repair_with_delta_makes_no_report_that_must_not_be_made(share: float) -> None:
    for seed in range(40):
        problem = grouped(seed, 0.05)
        assert problem.impossible is not None
        raw = np.random.default_rng(seed).random(problem.shape) * ~problem.impossible
        channel = repair(problem, share * raw / raw.sum(axis=1, keepdims=True))
        assert not channel[problem.impossible].any()
        assert proven_privacy(problem, channel).delta <= 0.05
