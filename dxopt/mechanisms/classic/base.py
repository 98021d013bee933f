"""Base class of mechanisms in closed form, and the tables of their names."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import UnsupportedError
from dxopt.model.loss import LossLike, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.model.reports import required_reports
from dxopt.numerics.number_syntax import Written
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import certify
from dxopt.runtime.registry import Registry
from dxopt.spaces.space import MetricSpace, required_space

_SECONDS = 5e-8
"""For each entry of a channel, where nothing else is known."""


class Baseline(Protocol):
    """A mechanism that need not be private at any ε, to show in a comparison what privacy costs."""

    name: ClassVar[str]

    def refuses(self, problem: Problem) -> str | None:
        """Return the reason why a problem has no such mechanism; None where it has one."""
        ...

    def channel(self, problem: Problem) -> NDArray[np.float64]:
        """Return the channel `(n, m)`, whose rows sum to 1; there is nothing to repair and no proof."""
        ...


class Classic(Baseline, Protocol):
    """A mechanism that needs no solver, whose channel is private up to rounding.

    It depends on the space, ε, δ and the reports, not on prior and loss. It is named as a method of `dx.solve`;
    `instead` is what to do where it is refused, besides solving the problem.
    """

    instead: ClassVar[str]

    def implicit(self, problem: Problem) -> Mechanism | None:
        """Return the mechanism without a matrix, proven private as it is made; None where it is to be a matrix."""
        return None

    def expected_seconds(self, problem: Problem) -> float:
        """Estimate how long `channel` takes for a problem that is not refused, on an idle core."""
        return _SECONDS * problem.variables


_HERE = "dxopt.mechanisms.classic"
CLASSICS: Registry[type[Classic]] = Registry(
    "method",
    {
        "exponential": f"{_HERE}.exponential",
        "geometric": f"{_HERE}.geometric",
        "graph_exponential": f"{_HERE}.exponential",
        "laplace": f"{_HERE}.laplace",
        "multivariate_laplace": f"{_HERE}.multivariate_laplace",
        "planar_laplace": f"{_HERE}.planar_laplace",
        "randomised_response": f"{_HERE}.response",
        "staircase": f"{_HERE}.laplace",
        "truncated_exponential": f"{_HERE}.exponential",
    },
)
BASELINES: Registry[type[Baseline]] = Registry(
    "method",
    {"cloaking": f"{_HERE}.baselines", "rate_distortion": f"{_HERE}.baselines"},
)


def titled(name: str) -> str:
    """Return the name that reports show for the mechanism of a method, such as "geometric mechanism"."""
    return f"{name.replace('_', ' ')} mechanism"


def make_proven(
    classic: Classic,
    space: MetricSpace,
    epsilon: Written,
    *,
    delta: float = 0.0,
    reports: Reports | None = None,
    loss: LossLike | None = None,
) -> Mechanism:
    """Make a mechanism, repair it, and prove it private for ε·d, up to δ.

    The loss is what the repair keeps small; by default it counts all wrong reports alike. SpecError where ε or δ is
    out of range, or the mechanism does not exist for the space (UnsupportedError).
    """
    if loss is None:
        required_space(space)
        if reports is not None:
            required_reports(reports)
        # Of reports other than the secrets none is right: the repair may change all alike.
        loss = "binary" if reports is None else np.zeros((len(space), len(reports)))
    problem = Problem(space, epsilon=epsilon, prior=Prior.uniform(space), loss=loss, reports=reports, delta=delta)
    if refused := classic.refuses(problem):
        raise UnsupportedError("space", f"{classic.name} {refused}", f"{classic.instead}, or dx.solve")
    if (implicit := classic.implicit(problem)) is not None:
        return implicit
    return certify(problem, Candidate(classic.channel(problem), name=titled(classic.name))).mechanism
