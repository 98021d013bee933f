"""Frontiers: loss against ε, and the adversary's error against the loss budget, closed in by one search."""

from __future__ import annotations

import math

import numpy as np

from dxopt.errors import SpecError
from dxopt.model.objective import AdversaryError
from dxopt.model.privacy import checked_level
from dxopt.model.problem import Problem, required_problem
from dxopt.numerics.coerce import SHARE, as_number
from dxopt.numerics.number_syntax import Written
from dxopt.results.announcing import announcing
from dxopt.results.frontier import BudgetFrontier, Frontier, with_budget
from dxopt.runtime.stopping import Status
from dxopt.solving.options import Progress
from dxopt.studies.series import (
    answering,
    refine_range,
    require_above,
    require_falling,
    running,
    widest_interval,
)

_NEXT_TO = 1e-9
"""Levels nearer to each other than this, relative, are not separated any further."""


@announcing(level=False)
def frontier(
    problem: Problem,
    low: Written,
    high: Written,
    *,
    resolution: float = 0.01,
    solver: str = "auto",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    progress: Progress | bool | None = None,
    partial: bool = False,
    cluster: str | None = None,
    device: str | None = None,
) -> Frontier:
    """Find the least loss against ε from `low` to `high`, to a proven resolution.

    The least loss falls as ε grows: between levels a < b it is at most the value at a and at least the bound at b.
    Where these are furthest apart, the next level is laid, halfway on a logarithmic scale, until they are nowhere
    further apart than `resolution` times the whole fall from the value at `low` to the bound at `high`. That takes
    1 / resolution levels and some more; each starts from the answer at its neighbour.

    Parameters
    ----------
    problem : Problem
        Its expected loss or worst loss counts; δ and pairs are kept, its own ε does not matter.
    low, high : float
        Levels.
    resolution : float
        A share of the whole fall, between 0 and 1.
    solver, tolerance
        As for `dx.solve`, at each level.
    time_limit : float, optional
        Seconds for all. At the limit, and at Ctrl-C, what was solved is returned with the resolution that it has.
    progress, partial, cluster, device
        As for `dx.solve`, for all solves.

    Raises
    ------
    SpecError
        If a parameter is out of range, or the objective has a loss budget of its own (see `dx.budget_frontier`).

    Examples
    --------
    >>> import dxopt as dx
    >>> problem = dx.Problem(dx.line(4), epsilon=1.0, prior="uniform")
    >>> frontier = dx.frontier(problem, 0.5, 2.0, resolution=0.5)
    >>> print([round(float(end), 2) for end in frontier.between(0.75)])
    [0.52, 0.8]
    """
    required_problem(problem, "frontier")
    if isinstance(problem.objective, AdversaryError):
        raise SpecError("objective", "has a loss budget of its own", "use dx.budget_frontier, or another objective")
    require_falling(problem)
    least = checked_level(low, "low")
    most = checked_level(high, "high")
    require_above(least, most)
    resolution = as_number(resolution, "resolution", *SHARE)
    with running(progress, time_limit, partial, cluster, device) as (tell, stop):
        solved = answering(solver, tell, stop)
        first = solved(problem.at(least), tolerance, None)
        ends = (first, solved(problem.at(most), tolerance, first))
        found = Frontier(problem, ends, resolution, Status.FEASIBLE)
        found = refine_range(found, _next_level, solved, tolerance, stop)
    return stop.delivered(found)


def _next_level(found: Frontier) -> tuple[int, Problem] | None:
    """Return the index of the level after which to lay another, and the problem at that; None where none helps.

    It halves, on a logarithmic scale, the interval where value and bound are furthest apart.
    """
    values = found.values
    bounds = found.bounds
    levels = found.epsilons
    # Between two levels the least loss is at most the value at the first and at least the bound at the second.
    widths = values[:-1] - bounds[1:]
    # A level between cannot narrow an interval below the gaps of the answers at its ends, which stem from the solver.
    gaps = (values - bounds)[:-1] + (values - bounds)[1:]
    helps = (
        (widths > found.wanted * (values[0] - bounds[-1]))
        & (widths > gaps)
        & (levels[1:] > levels[:-1] * (1 + _NEXT_TO))
    )
    index = widest_interval(widths, helps)
    return None if index is None else (index, found.problem.at(math.sqrt(levels[index] * levels[index + 1])))


@announcing()
def budget_frontier(
    problem: Problem,
    low: float,
    high: float,
    *,
    resolution: float = 1e-3,
    solver: str = "auto",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    progress: Progress | bool | None = None,
    partial: bool = False,
    cluster: str | None = None,
    device: str | None = None,
) -> BudgetFrontier:
    """Find the adversary's largest error against the loss budget from `low` to `high`, to a proven resolution.

    The largest error is concave in the budget, and piecewise linear: mixtures of two mechanisms prove the chord
    between them, and the price of loss proves a tangent at every budget. Where two tangents meet furthest above the
    chord, the next budget is laid: on the frontier if that is one of its corners, and with a new tangent otherwise.

    Parameters
    ----------
    problem : Problem
        With the objective `AdversaryError`, whose own budget does not matter; private or not.
    low, high : float
        Loss budgets.
    resolution : float
        A share of the whole rise bounds[-1] - values[0], between 0 and 1.
    solver, tolerance
        As for `dx.solve`, at each budget.
    time_limit : float, optional
        Seconds for all. At the limit, and at Ctrl-C, what was solved is returned with the resolution that it has.
    progress, partial, cluster, device
        As for `dx.solve`, for all solves.

    Raises
    ------
    SpecError
        If a parameter is out of range, the objective is another one, or no mechanism is within the budget `low`.

    Examples
    --------
    >>> import dxopt as dx
    >>> wanted = dx.AdversaryError(max_loss=0.6)
    >>> problem = dx.Problem(dx.line(3), epsilon=1.0, prior=[0.5, 0.25, 0.25], loss="squared", objective=wanted)
    >>> frontier = dx.budget_frontier(problem, 0.55, 0.7, resolution=0.02)
    >>> print(frontier.budgets.round(2).tolist(), frontier.values.round(3).tolist())
    [0.55, 0.7] [0.506, 0.689]
    """
    required_problem(problem, "frontier")
    if not isinstance(problem.objective, AdversaryError):
        raise SpecError("objective", f"is {problem.objective.name}, which has no loss budget", "use dx.frontier")
    least = with_budget(problem, low)
    most = with_budget(problem, high)
    require_above(least.objective.max_loss, most.objective.max_loss)
    resolution = as_number(resolution, "resolution", *SHARE)
    with running(progress, time_limit, partial, cluster, device) as (tell, stop):
        solved = answering(solver, tell, stop)
        ends = (solved(least, tolerance, None), solved(most, tolerance, None))
        found = BudgetFrontier(problem, ends, resolution, Status.FEASIBLE)
        found = refine_range(found, _next_budget, solved, tolerance, stop)
    return stop.delivered(found)


def _next_budget(found: BudgetFrontier) -> tuple[int, Problem] | None:
    """Return the index of the budget after which to lay another, and the problem with it; None where none helps."""
    inside, above = found.widest()
    budgets = found.budgets
    gaps = found.bounds - found.values
    rise = found.bounds[-1] - found.values[0]
    scale = max(float(np.abs(budgets).max()), math.ulp(1.0))
    # A budget helps where the tangents are further above the chord than was asked for, by more than the gaps of the
    # answers at both ends, which no further budget closes, and where there is room for one.
    helps = (above > found.wanted * rise) & (above > gaps[:-1] + gaps[1:]) & (np.diff(budgets) > _NEXT_TO * scale)
    index = widest_interval(above, helps)
    return None if index is None else (index, with_budget(found.problem, float(inside[index])))
