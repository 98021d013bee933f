"""What a benchmark is made of: instances, candidates, and the answers that the objective scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

import dxopt as dx
from dxopt.proofs.duals import Dual
from dxopt.runtime.registry import Registry

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Role = Literal["dxopt", "route", "peer", "classic"]

SMOKE, SMALL, FULL, TARGETS, SCALE, SCALE_LARGE = GROUPS = (
    "smoke", "small", "full", "targets", "scale", "scale-large",
)  # fmt: skip
LIMIT = 600.0
TOLERANCE = 1e-6

Question = TypeVar("Question", dx.MetricSpace, dx.Problem)


@dataclass(frozen=True, kw_only=True)
class Instance(ABC, Generic[Question]):
    """A question, of a family of questions that differ in size alone.

    Attributes
    ----------
    about : str
        The setting in a few words.
    family : str
        Times are plotted and fitted against the number of points within a family.
    build : callable
        The question of a given size, or SpecError; building it is not timed.
    size : int
    small : int
        The size of the warm-up.
    warm : int or None
        The size of the warm-up where small questions do not load all that large ones need.
    groups : tuple of str
        When it runs: some of `GROUPS`.
    limit : float
        Seconds that an answer may take, unless the command line says otherwise; a run has what it said.
    missing : callable
        Why it cannot be asked here, such as a file that was not given; or None.
    """

    about: str
    family: str
    build: Callable[[int], Question]
    size: int
    small: int
    warm: int | None = None
    groups: tuple[str, ...] = (FULL,)
    limit: float = LIMIT
    missing: Callable[[], str | None] = lambda: None

    @staticmethod
    @abstractmethod
    def space(question: Question) -> dx.MetricSpace:
        """Return the subject of a question."""

    @abstractmethod
    def level(self, question: Question) -> float:
        """Return the privacy level per unit of distance that it asks for."""


@dataclass(frozen=True, kw_only=True)
class TightInstance(Instance[dx.MetricSpace]):
    """Asks for the tight-constraints mechanism of a space.

    Attributes
    ----------
    epsilon : float
        Privacy level per unit of distance.
    value : float
        Its binary utility under the uniform prior, known from elsewhere.
    """

    epsilon: float
    value: float

    @staticmethod
    def space(question: dx.MetricSpace) -> dx.MetricSpace:
        return question

    def level(self, question: dx.MetricSpace) -> float:
        return self.epsilon


@dataclass(frozen=True, kw_only=True)
class DrawsInstance(TightInstance):
    """Asks for reports drawn from it: `draws` for each of the secrets; the mechanism itself is not timed.

    Attributes
    ----------
    secrets : callable
        The secrets `(k,)`, given the number of points.
    draws : int
    """

    secrets: Callable[[int], Places]
    draws: int


@dataclass(frozen=True, kw_only=True)
class OptimalInstance(Instance[dx.Problem]):
    """Asks for a private mechanism of least expected loss.

    Attributes
    ----------
    tolerance : float
        On the relative gap between the value and a proven bound.
    """

    tolerance: float = TOLERANCE

    @staticmethod
    def space(question: dx.Problem) -> dx.MetricSpace:
        return question.space

    def level(self, question: dx.Problem) -> float:
        return question.epsilon


@dataclass(frozen=True, eq=False)
class Weights:
    """The channel K[x, z] = e^{-εd(x, z)} w_z by its weights `(n,)`."""

    values: Array


@dataclass(frozen=True, eq=False)
class Matrix:
    """The channel itself, `(n, m)`; with multipliers that bound the optimum, where the solver has any."""

    values: Array
    dual: Dual | None = None


@dataclass(frozen=True, eq=False)
class Draws:
    """Reports `(k, draws)` drawn from a mechanism for the secrets `(k,)`."""

    mechanism: dx.Mechanism
    secrets: Places
    reports: Places


class NoAnswer(Exception):
    """Raised by a candidate whose solver gave up; the message says how."""


class Candidate(ABC, Generic[Question]):
    """A tool, and how it answers an instance.

    Attributes
    ----------
    kinds : tuple of type
        The kinds of instance that it is asked.
    role : str
        dxopt: what others are compared with. route: another way that dxopt has. peer: a tool that competes with it.
        classic: a mechanism in closed form, which need not be optimal.
    stops : bool
        Whether it ends by itself at the limit of an instance, with the best that it has by then.
    rounds : int or None
        How many rounds its last work took, where it works in rounds.
    """

    kinds: ClassVar[tuple[type[Instance[Any]], ...]]
    role: ClassVar[Role] = "peer"
    stops: ClassVar[bool] = False
    rounds: int | None = None

    @abstractmethod
    def refuses(self, instance: Instance[Question], question: Question) -> str | None:
        """Why it cannot answer, or None."""

    @abstractmethod
    def prepare(self, instance: Instance[Question], question: Question) -> Callable[[], Any]:
        """Return the work to be timed: a function that gives a Report, a Mechanism or one of the answers above.

        What happens before it is returned is not timed.
        """


INSTANCES: Registry[Instance[Any]] = Registry("instance")
CANDIDATES: Registry[type[Candidate[Any]]] = Registry("candidate")


def answers(candidate: str, instance: str) -> bool:
    """Whether a candidate is asked an instance at all."""
    return type(INSTANCES.get(instance)) in CANDIDATES.get(candidate).kinds
