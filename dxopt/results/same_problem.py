"""Where two problems differ, so that what is proven for one is not proven for the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dxopt.model.objective import AdversaryError
from dxopt.model.problem import PROBLEM_CELLS, Problem
from dxopt.results.beliefs import pack_beliefs
from dxopt.spaces.archive import are_same


def difference(problem: Problem, other: Problem) -> str | None:
    """Return where two problems differ in what is asked; None where they do not.

    Distances and losses of more than 50 million entries are compared by the structure of the space and the name of
    the loss.
    """
    if other is problem:
        return None
    return next((name for name, differs in _PARTS.items() if differs(problem, other)), None)


def _level(mine: Problem, other: Problem) -> bool:
    return (mine.epsilon, mine.delta, mine.pairs) != (other.epsilon, other.delta, other.pairs)


def _size(mine: Problem, other: Problem) -> bool:
    return mine.shape != other.shape


def _distances(mine: Problem, other: Problem) -> bool:
    if are_same(mine.space, other.space):
        return False
    return len(mine.space) ** 2 > PROBLEM_CELLS or not np.array_equal(mine.space.distances, other.space.distances)


def _prior(mine: Problem, other: Problem) -> bool:
    return not np.array_equal(mine.prior.probabilities, other.prior.probabilities)


def _losses(mine: Problem, other: Problem) -> bool:
    if mine.loss is other.loss:
        return False
    named = mine.loss.by_distance and other.loss.by_distance
    if named and mine.reports.secrets and other.reports.secrets and are_same(mine.space, other.space):
        return mine.loss.name != other.loss.name
    if mine.variables > PROBLEM_CELLS:
        return (mine.loss.name, mine.loss.by_distance) != (other.loss.name, other.loss.by_distance)
    return not np.array_equal(mine.losses, other.losses)


def _objective(mine: Problem, other: Problem) -> bool:
    return _differ(_aims(mine), _aims(other))


def _beliefs(mine: Problem, other: Problem) -> bool:
    return _differ(pack_beliefs(mine.beliefs), pack_beliefs(other.beliefs))


def _aims(problem: Problem) -> dict[str, Any]:
    """What the objective is, as numbers and names."""
    found: dict[str, Any] = {"name": problem.objective.name}
    if problem.priors is not None:
        found |= {"kind": problem.priors.kind, **problem.priors.arrays()}
    if isinstance(problem.objective, AdversaryError):
        found |= {"max_loss": problem.objective.max_loss, "guesses": problem.objective.guesses}
    return found


def _differ(mine: dict[str, Any], other: dict[str, Any]) -> bool:
    return mine.keys() != other.keys() or not all(np.array_equal(mine[key], other[key]) for key in mine)


_PARTS: dict[str, Callable[[Problem, Problem], bool]] = {
    "another level of privacy": _level,
    "more or fewer secrets or reports": _size,
    "other distances": _distances,
    "another prior": _prior,
    "other losses": _losses,
    "another objective": _objective,
    "other beliefs": _beliefs,
}
"""The differences, as a message names them."""
