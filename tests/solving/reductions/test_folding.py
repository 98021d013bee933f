"""Programs folded along automorphisms: the same optimum, and a dual that proves it."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx
from dxopt.runtime.stopping import Status
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram, WorstLossProgram
from dxopt.solving.formulations.extensions import WithDelta
from dxopt.solving.programs.program import ChannelProgram, LinearProgram, Rows, Solution
from dxopt.solving.reductions.folding import entry_orbits
from dxopt.solving.routes import delta_rounds as relaxed
from dxopt.solving.solvers.base import SOLVERS, Settings
from tests.material.checks import assert_private
from tests.material.optima import optimum

SPACES = {
    "grid": dx.grid((3, 3)),
    "oblong": dx.grid((2, 4), metric="manhattan"),
    "line": dx.line(6),
    "complete": dx.MetricSpace.from_distances(1.0 - np.eye(5)),
    "one-way": dx.MetricSpace.from_distances((np.arange(5) - np.arange(5)[:, None]) % 5.0),
    "islands": dx.MetricSpace.from_distances(np.where(np.kron(np.eye(2), np.ones((3, 3))), 1 - np.eye(6), np.inf)),
}


def posed(space: dx.MetricSpace, delta: float = 0.05) -> dx.Problem:
    loss = "distance" if np.isfinite(space.distances).all() else "binary"
    return dx.Problem(space, epsilon=0.8, prior=dx.Prior.uniform(space), loss=loss, delta=delta)


@pytest.mark.parametrize("name", SPACES)
def test_the_folded_program_has_the_optimum_and_the_dual_of_the_whole(name: str) -> None:
    problem = posed(SPACES[name])
    base = ExpectedLossProgram()
    symmetry = entry_orbits(base.apply(problem).smaller)
    assert symmetry is not None
    bound = np.isfinite(problem.budgets) & ~np.eye(len(problem.budgets), dtype=bool)
    first, second = np.nonzero(bound)
    entries = symmetry.closed(np.stack([first, second, first], axis=1)[:7])
    compiled = WithDelta(base, entries).apply(problem)
    whole = LinearProgram.of(compiled.smaller, Rows.everywhere(compiled.smaller))
    folding = symmetry.folding(entries)
    small = folding.apply(whole)
    assert len(small.cost) < 0.75 * len(whole.cost)
    assert small.rows < whole.rows
    found, known = (SOLVERS.get("highs")().solve(one, Settings(1e-9)) for one in (small, whole))
    lifted = folding.lift(found)
    assert known.primal is not None and lifted.primal is not None
    assert whole.cost @ lifted.primal == pytest.approx(whole.cost @ known.primal, abs=1e-8)
    assert np.abs(whole.equalities @ lifted.primal - whole.totals).max() <= 1e-8
    assert (whole.inequalities @ lifted.primal - whole.floors).min() >= -1e-8
    assert lifted.equality_dual is not None and lifted.inequality_dual is not None
    reduced = whole.cost - whole.equalities.T @ lifted.equality_dual - whole.inequalities.T @ lifted.inequality_dual
    assert reduced.min() >= -1e-7
    assert whole.totals @ lifted.equality_dual + whole.floors @ lifted.inequality_dual == pytest.approx(
        whole.cost @ known.primal, abs=1e-7
    )


def test_entries_are_closed_under_the_group() -> None:
    problem = posed(dx.grid((3, 3)))
    symmetry = entry_orbits(ExpectedLossProgram().apply(problem).smaller)
    assert symmetry is not None
    closed = symmetry.closed(np.array([[0, 1, 0]]))
    corners = {(0, 1, 0), (0, 3, 0), (2, 1, 2), (2, 5, 2), (6, 3, 6), (6, 7, 6), (8, 5, 8), (8, 7, 8)}
    assert {tuple(entry) for entry in closed.tolist()} == corners


def test_what_is_not_folded() -> None:
    space = dx.grid((3, 3))
    skewed = dx.Problem(space, epsilon=1.0, prior=dx.Prior.from_weights(space, np.arange(1, 10)), delta=0.1)
    assert entry_orbits(ExpectedLossProgram().apply(skewed).smaller) is None
    assert entry_orbits(WorstLossProgram().apply(skewed.but(objective="worst_loss")).smaller) is None
    assert entry_orbits(ChannelProgram(np.zeros((1, 1)), np.zeros((1, 1)))) is None


def test_nothing_found_stays_nothing() -> None:
    problem = posed(dx.line(4))
    symmetry = entry_orbits(ExpectedLossProgram().apply(problem).smaller)
    assert symmetry is not None
    folding = symmetry.folding(symmetry.closed(np.array([[0, 1, 0]])))
    lifted = folding.lift(Solution(Status.FAILED))
    assert (lifted.primal, lifted.equality_dual, lifted.inequality_dual) == (None, None, None)


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("delta", [1e-4, 0.02, 0.3])
@pytest.mark.parametrize("name", SPACES)
def test_the_optimum_with_delta(name: str, delta: float, pairs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaxed, "_FEW_ENTRIES", 0)
    problem = posed(SPACES[name], delta).but(pairs=pairs)
    report = dx.solve(problem)
    value = optimum(problem)
    assert report.certificate.gap <= 1e-6
    assert report.certificate.value == pytest.approx(value, abs=1e-7)
    assert report.certificate.bound <= value + 1e-9
    assert_private(report)
