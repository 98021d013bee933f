"""The units of a problem in claims.json, and on the axes of figures."""

from __future__ import annotations

from dxopt.model.problem import Problem
from dxopt.spaces.units import per
from dxopt.words.report import named_loss

_KEYS = ("distance", "loss", "value")


def content(problem: Problem) -> dict[str, str]:
    """Return the units of distances, losses and the value, "" where they are not known."""
    return dict(zip(_KEYS, (problem.space.unit, problem.loss.unit, problem.unit), strict=True))


def level_axis(problem: Problem) -> str:
    """The label of an axis of levels."""
    return f"ε {per(problem.space.unit)}"


def value_axis(problem: Problem) -> str:
    """The label of an axis of what the objective is about."""
    unit = problem.unit if problem.objective.sign < 0 else named_loss(problem)
    return f"{problem.objective.title} ({unit})" if unit else problem.objective.title
