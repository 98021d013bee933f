"""Sizes that decide between routes. Routes read them here by name, so that one change is seen everywhere."""

from __future__ import annotations

import numpy as np

from dxopt.errors import UnsupportedError
from dxopt.model.problem import PROBLEM_CELLS, Problem
from dxopt.spaces.lattices import coordinates_of_line

COLUMNS = "columns"
GENERAL = ("clarabel", "highs")
"""General linear-programming solvers, in the order in which they are tried."""

COLUMNS_FROM = 400
"""Variables from which column generation is faster than a general solver (20 points with themselves as reports)."""
SPANNER_FROM = 450
"""Ordered pairs of a spanner from which column generation is faster on it: its time hardly depends on them."""
ROWS_TO = 15_000
"""Inequalities, without those that follow from others, up to which a general solver is faster all the same."""
STEEPEST = 10.0
"""The largest budget of a pair for `ROWS_TO` to count; beyond, general solvers are less accurate."""
GUESSES_FROM = 5_000
"""Variables from which column generation is faster for an adversary's error."""
WINS_TO = 4
"""Secrets in which a guess of an adversary wins something, on average, up to which general solvers come first."""
GENERAL_TO = 20_000
"""Variables up to which general solvers follow where column generation leaves a gap."""
GENERAL_LIMIT = 1_000_000
"""Variables that a general solver is given at most."""
COLUMNS_LIMIT = PROBLEM_CELLS
"""Variables that column generation is given at most, if they fit into memory."""
BELIEFS_LIMIT = 20_000_000
"""Entries of the rows of pairs of beliefs, in all reports, that a general solver is given at most."""
WRITTEN_CELLS = 100_000
"""Entries up to which channels of lines and products are written down, and proven entry by entry."""
OPTIMAL_TO = 20_000_000
"""Variables up to which a solve is to reach its tolerance; beyond, any private mechanism is an answer, and one that
needs no matrix has none."""


def is_line(problem: Problem) -> bool:
    """Tell whether the secrets lie on a line."""
    return coordinates_of_line(problem.space) is not None


def is_written(problem: Problem) -> bool:
    """Tell whether a matrix is made where a mechanism could do without."""
    return problem.variables <= (WRITTEN_CELLS if is_line(problem) else OPTIMAL_TO)


def require_few(variables: int, limit: int) -> None:
    """Raise UnsupportedError where a program would have more variables than its solver is given."""
    if variables > limit:
        wrong = f"optimal needs {variables:,} variables, over the limit of {limit:,}"
        raise UnsupportedError("method", wrong, "take fewer points, or use method: tight")


def require_few_beliefs(problem: Problem) -> None:
    """Raise UnsupportedError where pairs of beliefs have more entries in all reports than a solver is given."""
    pairs = problem.beliefs
    if pairs is None:
        return
    entries = int(np.count_nonzero(pairs.first) + np.count_nonzero(pairs.second)) * problem.shape[1]
    if entries > BELIEFS_LIMIT:
        wrong = f"have {entries:,} entries in all reports, over the limit of {BELIEFS_LIMIT:,}"
        raise UnsupportedError("beliefs", wrong, "give fewer pairs, secrets or reports")
