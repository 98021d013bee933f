"""What studies and solving ask for first: that they are given a problem."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.problem import Problem
from dxopt.numerics.written import shortened


def required_problem(problem: Any, study: str = "") -> None:
    """SpecError unless a problem is given; where the name of a file is, the error says how to read it.

    A study of many solves takes none with pairs of beliefs: UnsupportedError names it.
    """
    if isinstance(problem, Problem):
        if study and problem.beliefs is not None:
            raise UnsupportedError("beliefs", f"do not go with a {study}", "solve the problem at one level at a time")
        return
    if isinstance(problem, str | PurePath):
        name = str(problem)
        wrong = f"is the name of a file, {shortened(name)}"
        raise SpecError("problem", wrong, f"read it with dx.read({shortened(name)}), or run `dxopt solve` on it")
    raise SpecError("problem", f"is of type {type(problem).__name__}", "give a dx.Problem")
