"""What is wanted of a channel: little expected loss, little loss in the worst case, or an adversary who errs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.model.loss import Loss, LossLike

if TYPE_CHECKING:
    from dxopt.model.problem import Problem
    from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]


class Objective(ABC):
    """What is wanted of a channel.

    Attributes
    ----------
    name : str
        As a problem file names it.
    sign : float
        1 where less is better, -1 where more is.
    title : str
        What the value of a report is.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    sign: ClassVar[float] = 1.0

    @abstractmethod
    def value(self, problem: Problem, channel: Array) -> float:
        """What a channel `(n, m)` attains."""

    @property
    def max_loss(self) -> float:
        """The most that the expected loss may be."""
        return math.inf


@dataclass(frozen=True)
class ExpectedLoss(Objective):
    """min Σ_x π_x Σ_z K[x, z] l(x, z) (CABP13 §4.2, ECP14 §3.4)."""

    name: ClassVar[str] = "expected_loss"
    title: ClassVar[str] = "expected loss"

    def value(self, problem: Problem, channel: Array) -> float:
        return math.fsum((problem.costs * channel).ravel())


@dataclass(frozen=True)
class WorstLoss(Objective):
    """min max_x Σ_z K[x, z] l(x, z), which no prior enters (CABP13 §4.2, risk-averse users; HLM14 eq 13)."""

    name: ClassVar[str] = "worst_loss"
    title: ClassVar[str] = "worst loss"

    def value(self, problem: Problem, channel: Array) -> float:
        return max(math.fsum(row) for row in problem.losses * channel)


@dataclass(frozen=True, eq=False)
class AdversaryError(Objective):
    """max Σ_z min_g Σ_x π_x K[x, z] d(x, g) where the expected loss is at most Q (Shokri et al. 2012; Cha13).

    An adversary who knows the prior makes the best guess g after each report. The channel may be private as well.

    Parameters
    ----------
    max_loss : float
        Q.
    adversary_loss : str, array `(n, g)`, callable or Loss
        What a guess costs the adversary; see `Loss.of`. Guesses are the secrets, or the columns of a matrix.

    Raises
    ------
    SpecError
        If the budget is no finite number.
    """

    name: ClassVar[str] = "adversary_error"
    title: ClassVar[str] = "adversary's error"
    sign: ClassVar[float] = -1.0
    budget: float
    adversary_loss: LossLike | Loss

    def __init__(self, max_loss: float, adversary_loss: LossLike | Loss = "distance") -> None:
        try:
            budget = float(max_loss)
        except (TypeError, ValueError):
            raise SpecError("max_loss", f"{max_loss!r} is not a number", "give a finite number") from None
        if not math.isfinite(budget):
            raise SpecError("max_loss", f"is {budget:g}", "give a finite number")
        object.__setattr__(self, "budget", budget)
        object.__setattr__(self, "adversary_loss", adversary_loss)

    @property
    def max_loss(self) -> float:
        return self.budget

    def on(self, space: MetricSpace) -> AdversaryError:
        """The same with what guesses cost resolved and checked: finite numbers for all secrets."""
        loss = Loss.of(self.adversary_loss, space)
        if len(loss.matrix) != len(space):
            raise SpecError("adversary_loss", f"has {len(loss.matrix)} rows", f"there are {len(space)} points")
        if not np.isfinite(loss.matrix).all():
            raise SpecError("adversary_loss", "is infinite for some guess", "give finite losses")
        return AdversaryError(self.budget, loss)

    @property
    def guesses(self) -> Array:
        """d(x, g), `(n, g)`, once it is resolved."""
        if not isinstance(self.adversary_loss, Loss):
            raise SpecError("adversary_loss", "is not about a space yet", "make a Problem of it")
        return self.adversary_loss.matrix

    def value(self, problem: Problem, channel: Array) -> float:
        joint = problem.prior.probabilities[:, None] * channel
        return math.fsum((self.guesses.T @ joint).min(axis=0))


OBJECTIVES: dict[str, Any] = {one.name: one for one in (ExpectedLoss, WorstLoss, AdversaryError)}


def resolved(objective: str | Objective, space: MetricSpace) -> Objective:
    """The objective of a name, or one given, for a space; SpecError where there is none or it needs a budget."""
    if isinstance(objective, AdversaryError):
        return objective.on(space)
    if isinstance(objective, Objective):
        return objective
    if objective == AdversaryError.name:
        raise SpecError("objective", "adversary_error needs a budget", "give dx.AdversaryError(max_loss=...)")
    if objective not in OBJECTIVES:
        raise SpecError("objective", f"there is no {objective!r}", f"choose one of {', '.join(OBJECTIVES)}")
    return OBJECTIVES[objective]()
