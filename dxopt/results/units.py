"""The units of a problem in report.json, and on the axes of figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dxopt.errors import SpecError
from dxopt.model.problem import Problem
from dxopt.results.files import REPORT
from dxopt.spaces.units import checked_unit, per
from dxopt.words.report import named_loss

_KEYS = ("distance", "loss", "value")


def content(problem: Problem) -> dict[str, str]:
    """What report.json holds: the units of distances, losses and the value, "" where they are not known."""
    return dict(zip(_KEYS, (problem.space.unit, problem.loss.unit, problem.unit), strict=True))


def units_of(summary: Mapping[str, Any]) -> dict[str, str]:
    """The inverse of `content`, from all of report.json; results of earlier versions have none.

    Raises
    ------
    SpecError
        If they are no short texts.
    """
    found = summary.get("units") or dict.fromkeys(_KEYS, "")
    if not isinstance(found, dict) or {*found} != {*_KEYS}:
        raise SpecError(REPORT, "units are not those of distances, losses and the value", "solve the problem again")
    return {key: checked_unit(found[key], f"unit of {key}") for key in _KEYS}


def level_axis(problem: Problem) -> str:
    """The label of an axis of levels."""
    return f"ε {per(problem.space.unit)}"


def value_axis(problem: Problem) -> str:
    """The label of an axis of what the objective is about."""
    unit = problem.unit if problem.objective.sign < 0 else named_loss(problem)
    return f"{problem.objective.title} ({unit})" if unit else problem.objective.title
