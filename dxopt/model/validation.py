"""Checks of the types of `problem` and `mechanism` arguments."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from dxopt.errors import SpecError, UnsupportedError, required
from dxopt.model.problem import Problem
from dxopt.model.sampling import Sampler
from dxopt.numerics.number_syntax import shortened


def required_problem(problem: Any, study: str = "") -> None:
    """Raise SpecError unless a problem is given; where the name of a file is, the error says how to read it.

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
    required("problem", problem, Problem, "give a dx.Problem")


def required_mechanism(mechanism: Any, kinds: Any = Sampler) -> None:
    """Raise SpecError unless a mechanism or a table is given; the error says how to make one of a matrix."""
    proven, plain = "dx.certify(matrix, space, epsilon)", "dx.Mechanism.from_matrix(space, matrix)"
    fix = f"give a mechanism: {proven} makes one with a proof of privacy, {plain} without"
    required("mechanism", mechanism, kinds, fix)
