"""A case: all that one problem of the fuzz is made of, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dxopt as dx
from tests.fuzz.calls import Call, call, code

Rows = tuple[tuple[float, ...], ...]
Losses = str | Rows


@dataclass(frozen=True)
class Adversary:
    """The objective of an adversary's error within a loss budget."""

    max_loss: float
    adversary_loss: Losses = "distance"


@dataclass(frozen=True)
class Case:
    """One problem and how it is solved.

    Attributes
    ----------
    family : str
        The kind of space.
    space : Call
    weights : tuple of float, or None
        The prior is proportional to them; None leaves it out, as the worst loss may.
    epsilon : float or None
    loss : str, or the rows of a matrix
    points : rows of a matrix, or None
        Where reports may be, instead of the secrets.
    objective : str or Adversary
    delta, pairs, method, solver, tolerance, spanner
        As `dx.Problem` and `dx.solve` take them.
    """

    family: str
    space: Call
    weights: tuple[float, ...] | None
    epsilon: float | None
    loss: Losses = "distance"
    points: Rows | None = None
    objective: str | Adversary = "expected_loss"
    delta: float = 0.0
    pairs: str = "all"
    method: str = "auto"
    solver: str = "auto"
    tolerance: float = 1e-6
    spanner: float | None = None

    @property
    def question(self) -> str:
        """The objective in a word, with what relaxes it."""
        name = "adversary_error" if isinstance(self.objective, Adversary) else self.objective
        return name + (" delta" if self.delta else "") + ("" if self.epsilon else " free")

    def problem(self) -> dx.Problem:
        """Make the problem; raises what dxopt raises."""
        space = self.space.make()
        prior = None if self.weights is None else dx.Prior.from_weights(space, np.array(self.weights))
        return dx.Problem(
            space,
            epsilon=self.epsilon,
            prior=prior,
            loss=_losses(self.loss),
            reports=None if self.points is None else dx.Reports.at(np.array(self.points)),
            objective=self.objective
            if isinstance(self.objective, str)
            else dx.AdversaryError(self.objective.max_loss, _losses(self.objective.adversary_loss)),
            delta=self.delta,
            pairs=self.pairs,
        )

    def solve(self, problem: dx.Problem) -> dx.Report:
        """Solve it in the way of the case."""
        return dx.solve(
            problem, method=self.method, solver=self.solver, tolerance=self.tolerance, spanner=self.spanner
        )

    def lines(self) -> list[str]:
        """Python code that makes the problem and solves it; arguments that are the default are left out."""
        asked: dict[str, Any] = {
            "epsilon": self.epsilon,
            "prior": None if self.weights is None else _Name("prior"),
            "loss": self.loss,
            "reports": None if self.points is None else call("dx.Reports.at", self.points),
            "objective": self.objective,
        }
        if isinstance(self.objective, Adversary):
            asked["objective"] = call("dx.AdversaryError", self.objective.max_loss, self.objective.adversary_loss)
        asked |= {"delta": self.delta, "pairs": self.pairs}
        usual = {"loss": "distance", "reports": None, "objective": "expected_loss", "delta": 0.0, "pairs": "all"}
        given = [f"{key}={_code(value)}" for key, value in asked.items() if key not in usual or value != usual[key]]
        ways = {"method": "auto", "solver": "auto", "tolerance": 1e-6, "spanner": None}
        how = [f"{key}={getattr(self, key)!r}" for key, value in ways.items() if getattr(self, key) != value]
        made = [f"space = {self.space}"]
        if self.weights is not None:
            made.append(f"prior = dx.Prior.from_weights(space, {code(self.weights)})")
        return [
            *made,
            f"problem = dx.Problem(space, {', '.join(given)})",
            f"report = dx.solve({', '.join(['problem', *how])})",
        ]


class _Name(str):
    """A name in code."""


def _code(value: Any) -> str:
    return str(value) if isinstance(value, _Name) else code(value)


def _losses(loss: Losses) -> str | np.ndarray:
    return loss if isinstance(loss, str) else np.array(loss, dtype=float)
