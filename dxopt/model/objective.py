"""Objectives: expected loss, loss in the worst case or over a set of priors, and the error of an adversary."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, UnsupportedError, required_choice
from dxopt.model.loss import Loss, LossLike
from dxopt.model.prior import Prior
from dxopt.model.prior_sets import Everyone, Hull, PriorSet
from dxopt.numerics.coerce import keep_number
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]


class Valued(Protocol):
    """The parts of a problem that an objective needs to value a channel; `Problem` itself imports this module."""

    @property
    def prior(self) -> Prior: ...

    @property
    def losses(self) -> Array: ...

    @cached_property
    def costs(self) -> Array: ...


class Objective(ABC):
    """Base class of objectives, by which channels are better or worse.

    - `name` is written in problem files, and `title` before the value in a report.
    - `sign` is 1 if a smaller value is better, and -1 if a larger one is.
    - `max_loss` is the largest expected loss that a channel may have; infinite if that is not limited.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    sign: ClassVar[float] = 1.0
    max_loss: float = math.inf

    @abstractmethod
    def value(self, problem: Valued, channel: Array) -> float:
        """Return the value of a channel `(n, m)`: what `title` names."""

    def unit(self, loss: Loss) -> str:
        """Return the unit of the value, given the loss of the problem; "" where it is not known."""
        return loss.unit

    def among(self, size: int) -> PriorSet | None:
        """Return the set of priors on so many points over which the worst counts; None if one prior alone counts."""
        return None

    def anew(self) -> Objective:
        """Return the same objective for another problem: without results, such as optima, of the problem before."""
        return self


@dataclass(frozen=True)
class ExpectedLoss(Objective):
    """Objective min Σ_x π_x Σ_z K[x, z] l(x, z) (CABP13 §4.2, ECP14 §3.4)."""

    name: ClassVar[str] = "expected_loss"
    title: ClassVar[str] = "expected loss"

    def value(self, problem: Valued, channel: Array) -> float:
        return math.fsum((problem.costs * channel).ravel())


@dataclass(frozen=True)
class WorstLoss(Objective):
    """Objective min max_x Σ_z K[x, z] l(x, z) without a prior (CABP13 §4.2, risk-averse users; HLM14 eq 13)."""

    name: ClassVar[str] = "worst_loss"
    title: ClassVar[str] = "worst loss"

    def value(self, problem: Valued, channel: Array) -> float:
        return max(math.fsum(row) for row in _paid(problem.losses, channel))

    def among(self, size: int) -> PriorSet:
        return Everyone(size)


@dataclass(frozen=True, eq=False)
class WorstExpectedLoss(Objective):
    """min max_π Σ_x π_x Σ_z K[x, z] l(x, z) over a set of priors: what `expected_loss` means where that is given.

    Attributes
    ----------
    priors : PriorSet
    """

    name: ClassVar[str] = "worst_expected_loss"
    title: ClassVar[str] = "worst expected loss"
    priors: PriorSet

    def value(self, problem: Valued, channel: Array) -> float:
        return self.priors.largest(losses_of(problem, channel, self.priors.reach))

    def among(self, size: int) -> PriorSet:
        return self.priors


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

    Examples
    --------
    >>> import dxopt as dx
    >>> wanted = dx.AdversaryError(max_loss=0.5)
    >>> problem = dx.Problem(dx.line(3), epsilon=1.0, prior=[0.5, 0.25, 0.25], objective=wanted)
    >>> report = dx.solve(problem)
    >>> print(round(report.certificate.value, 3), report.certificate.private)
    0.5 True
    """

    name: ClassVar[str] = "adversary_error"
    title: ClassVar[str] = "adversary's error"
    sign: ClassVar[float] = -1.0
    max_loss: float = field()
    adversary_loss: LossLike | Loss = "distance"

    def __post_init__(self) -> None:
        keep_number(self, "max_loss", "give a finite number", math.isfinite)

    def on(self, space: MetricSpace) -> AdversaryError:
        """Return the same objective on a space, with the costs of guesses as a matrix of finite numbers."""
        loss = Loss.of(self.adversary_loss, space).on(space)
        if len(loss.matrix) != len(space):
            raise SpecError("adversary_loss", f"has {len(loss.matrix)} rows", f"there are {len(space)} points")
        if not np.isfinite(loss.matrix).all():
            raise SpecError("adversary_loss", "is infinite for some guess", "give finite losses")
        return AdversaryError(self.max_loss, loss)

    @property
    def guesses(self) -> Array:
        """Costs d(x, g), `(n, g)`, of an objective that `on` has returned."""
        if not isinstance(self.adversary_loss, Loss):
            raise SpecError("adversary_loss", "is not about a space yet", "make a Problem of it")
        return self.adversary_loss.matrix

    def unit(self, loss: Loss) -> str:
        return self.adversary_loss.unit if isinstance(self.adversary_loss, Loss) else ""

    def value(self, problem: Valued, channel: Array) -> float:
        # The best guess after report z is the column of the least expected cost, Σ_x π_x K[x, z] d(x, g).
        joint = problem.prior.probabilities[:, None] * channel
        return math.fsum((self.guesses.T @ joint).min(axis=0))


@dataclass(frozen=True, eq=False)
class WorstRegret(Objective):
    """Objective min max_π (Σ_x π_x Σ_z K[x, z] l(x, z) - the optimum for π) over the hull of some priors.

    The difference is convex in π, so that one of these priors is the worst.

    Attributes
    ----------
    priors : Hull
    lowest, highest : (k,) array or None
        Proven bounds on the optimum for each of them; None before they are known. Regrets are against `lowest`, so
        that they are never too small.
    reports : tuple
        The answers that prove these bounds, one for each; empty if they are not at hand: then they are solved again.
    """

    name: ClassVar[str] = "regret"
    title: ClassVar[str] = "worst regret"
    priors: Hull
    lowest: Array | None = None
    highest: Array | None = None
    reports: tuple[Any, ...] = ()

    def value(self, problem: Valued, channel: Array) -> float:
        if self.lowest is None:
            raise SpecError("objective", "regret is against optima that are not known yet", "use dx.solve")
        losses = losses_of(problem, channel, self.priors.reach)
        known = zip(self.priors.members, self.lowest, strict=True)
        return max(math.fsum([*(member * losses), -low]) for member, low in known)

    def among(self, size: int) -> PriorSet:
        return self.priors

    def anew(self) -> Objective:
        return WorstRegret(self.priors)


def losses_of(problem: Valued, channel: Array, reach: NDArray[np.bool_]) -> Array:
    """Return the expected loss of a channel for each secret `(n,)`; 0 outside `reach`, where it may be infinite."""
    paid = _paid(np.where(reach[:, None], problem.losses, 0.0), channel)
    return np.array([math.fsum(row) for row in paid])


def _paid(losses: Array, channel: Array) -> Array:
    """Return K[x, z] l(x, z); 0 for a report that is never made, whatever it costs."""
    return np.where(channel > 0, losses, 0.0) * channel


_ALL = (ExpectedLoss, WorstLoss, AdversaryError, WorstExpectedLoss, WorstRegret)
OBJECTIVES: dict[str, Any] = {one.name: one for one in _ALL}
_BY_NAME = (ExpectedLoss.name, WorstLoss.name, AdversaryError.name, WorstRegret.name)


def resolved(objective: str | Objective, space: MetricSpace, priors: PriorSet | None = None) -> Objective:
    """Return the objective that a problem has, from its name or from one made for another problem.

    With a set of priors it is the one over that set; without, one over a set becomes the expected loss.

    Raises
    ------
    SpecError
        If the name is unknown, there is no budget, or the objective does not go with a set.
    """
    if not isinstance(objective, Objective):
        required_choice("objective", objective, (*_BY_NAME, WorstExpectedLoss.name))
    if priors is not None:
        return _over(objective, priors)
    if isinstance(objective, WorstExpectedLoss | WorstRegret):
        return ExpectedLoss()
    if isinstance(objective, AdversaryError):
        return objective.on(space)
    if isinstance(objective, Objective):
        return objective
    if objective == AdversaryError.name:
        raise SpecError("objective", "adversary_error needs a budget", "give dx.AdversaryError(max_loss=...)")
    if objective in (WorstExpectedLoss.name, WorstRegret.name):
        raise SpecError("objective", f"{objective} needs a set of priors", "give prior=dx.Prior.hull([...])")
    return OBJECTIVES[objective]()


def _over(objective: str | Objective, priors: PriorSet) -> Objective:
    """Return the worst regret or the worst expected loss over a set of priors; SpecError about other objectives."""
    name = objective if isinstance(objective, str) else objective.name
    if name == WorstRegret.name:
        if not isinstance(priors, Hull):
            wrong = f"is {priors.name}, whose worst regret is at one of very many corners"
            raise UnsupportedError("prior", wrong, "give a hull of the priors that matter")
        # its optima, if they are known, are those of these priors
        known = isinstance(objective, WorstRegret) and objective.priors is priors
        return objective if known else WorstRegret(priors)  # pyright: ignore[reportReturnType]
    if name not in (ExpectedLoss.name, WorstExpectedLoss.name):
        fix = "give one prior, or ask for expected_loss or regret"
        raise SpecError("objective", f"{name} does not go with a set of priors", fix)
    return WorstExpectedLoss(priors)
