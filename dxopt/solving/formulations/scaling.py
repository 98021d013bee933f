"""The unit of the costs of a program: about its optimum, so that solvers see numbers near 1."""

from __future__ import annotations

SMALLEST_SHARE = 1e-40
"""Of the largest cost: with a much smaller unit, costs or their powers would overflow."""


def unit(optimum: float, largest: float) -> float:
    """Return the number that costs are divided by.

    Parameters
    ----------
    optimum : float
        About the optimum, 0 or more.
    largest : float
        The largest size of a cost.

    Returns
    -------
    float
        The optimum, unless it is next to nothing beside the largest cost; that one where the optimum is 0; 1 where
        both are.
    """
    if not optimum:
        return float(largest) or 1.0
    return float(max(optimum, SMALLEST_SHARE * largest))
