"""Exponential mechanisms: on any metric space, truncated at a radius, and along the edges of a graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.mechanisms.classic.base import CLASSICS, Classic, make_proven
from dxopt.mechanisms.classic.calibration import (
    CALIBRATED_BELOW,
    checked_rate,
    largest_private_rate,
    largest_rate,
    normalised,
)
from dxopt.model.loss import Loss, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.problem import Problem
from dxopt.numerics.coerce import POSITIVE, keep_number
from dxopt.numerics.number_syntax import Written
from dxopt.spaces.distances import path_closure
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Score = ArrayLike | Callable[[Any, Any], float]


@CLASSICS.register("exponential")
@dataclass(frozen=True, eq=False)
class Exponential(Classic):
    """K[x, z] ∝ e^{-εd(x, z)/2}, or e^{c s(x, z)} for a score s (McSherry and Talwar 2007; CABP13 §4).

    Private because the score is 1-Lipschitz and normalising at most doubles the exponent. Under asymmetric
    distances the score is the shortest-path closure of the smaller of d and its transpose. For other scores c is the
    least εd(x, x') / (2 max_z |s(x, z) - s(x', z)|).

    """

    scores: Array | None = None
    name: ClassVar[str] = "exponential"
    instead: ClassVar[str] = "use the secrets as reports"

    def refuses(self, problem: Problem) -> str | None:
        if self.scores is not None:
            return None if self.scores.shape == problem.shape else "needs a score for each secret and report"
        return refused_distances(problem)

    def channel(self, problem: Problem) -> Array:
        if self.scores is None:
            return exponential_rows(budgets_to_reports(problem))
        with np.errstate(over="ignore"):  # refused below between secrets; within a row it is e^{-∞}
            below = self.scores - self.scores.max(axis=1, keepdims=True)
            apart = np.array([np.abs(self.scores - row).max(axis=1) for row in self.scores])
        if not np.isfinite(apart).all():
            fix = "divide all scores by one number: the mechanism stays the same"
            raise SpecError("score", "differs between two secrets by more than a double holds", fix)
        # Normalising at most doubles the exponent, so half of the largest rate is private. Where nothing binds, as no
        # pair with different scores has a finite budget, it reports one of the best reports, all alike.
        rate = 0.5 * largest_rate(problem.budgets, apart)
        if rate == 0:
            raise SpecError("score", "differs between secrets at distance 0", "give these the same scores")
        return normalised(np.exp(rate * below) if math.isfinite(rate) else np.equal(below, 0).astype(float))


def refused_distances(problem: Problem) -> str | None:
    """Return the reason why a problem has no distances between secrets and reports; None where it has some."""
    if not problem.reports.secrets and (problem.reports.points is None or problem.space.metric is None):
        return "needs distances between secrets and reports"
    return None


def exponential_rows(exponents: Array) -> Array:
    """Return rows in proportion to e^{-exponent/2}, `(n, m)`."""
    # Less the least exponent, so that no row underflows.
    return normalised(np.exp(-0.5 * (exponents - exponents.min(axis=1, keepdims=True))))


def budgets_to_reports(problem: Problem) -> Array:
    """Return ε·d between secrets and reports `(n, m)`, d made symmetric where the reports are the secrets."""
    if not problem.reports.secrets:
        return problem.epsilon * problem.space.distances_to(problem.reports.points)  # pyright: ignore
    # The largest symmetric budgets that are at most the given ones and obey the triangle inequality.
    smaller = np.minimum(problem.budgets, problem.budgets.T)
    return smaller if np.array_equal(smaller, problem.budgets) else path_closure(smaller)


def exponential(
    space: MetricSpace, *, epsilon: Written, score: Score | None = None, reports: Reports | None = None
) -> Mechanism:
    """Make the exponential mechanism, proven private (McSherry and Talwar 2007; CABP13 §4).

    K[x, z] ∝ e^{c s(x, z)}, with the largest c for which 2c max_z |s(x, z) - s(x', z)| ≤ εd(x, x') for all pairs; by
    default s = -d and c = ε/2.

    Parameters
    ----------
    space : MetricSpace
        n secrets, any.
    epsilon : float
        Privacy level per unit of distance.
    score : (n, m) array, or function of (secret, report), optional
        How good a report is, finite; larger is better. A function gets coordinates, or labels where there are none.
    reports : Reports, optional
        The secrets by default; for an array of another width, columns numbered from 0.

    Raises
    ------
    SpecError
        If ε is not positive and finite, the scores have another shape, are not finite, or differ between secrets at
        distance 0; or, without scores, there is no distance between secrets and reports.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.exponential(dx.line(3), epsilon=1.0)
    >>> print(mechanism.row(label="0").round(3).tolist())
    [0.506, 0.307, 0.186]
    >>> print(round(mechanism.privacy.epsilon, 3))
    0.614
    """
    if score is None:
        return make_proven(Exponential(), space, epsilon, reports=reports)
    if isinstance(score, str):  # which `Loss.of` would take for the name of a loss
        raise SpecError("score", f"is {score!r}", "give an (n, m) array or a function of secret and report")
    try:
        scores = Loss.of(score, space, reports)
    except SpecError as error:
        raise error.at("score") from None
    if np.isinf(scores.matrix).any():
        raise SpecError("score", "has infinite entries", "give finite numbers")
    return make_proven(Exponential(scores.matrix), space, epsilon, reports=scores.reports, loss=-scores.matrix)


FAILURE = 0.001
"""Default share of reports that may lie beyond the radius."""


@CLASSICS.register("truncated_exponential")
@dataclass(frozen=True, eq=False)
class TruncatedExponential(Classic):
    """K[x, z] ∝ e^{-ε min(d(x, z), γ)/2} (Carvalho, Vasiloudis and Feyisetan 2021, TEM).

    There, a word is drawn among those within γ and one more, ⊥, whose score is that of all others together, and ⊥ is
    replaced by one of the others at random: each of them has the weight e^{-εγ/2}. Private because min(d, γ) obeys
    the triangle inequality, is at most d, and normalising at most doubles the exponent.
    """

    radius: float | None = None
    failure: float = FAILURE
    name: ClassVar[str] = "truncated_exponential"
    instead: ClassVar[str] = "use the secrets as reports"

    def __post_init__(self) -> None:
        if self.radius is not None:
            keep_number(self, "radius", *POSITIVE)
        keep_number(self, "failure", *POSITIVE)
        if self.failure >= 1:
            raise SpecError("failure", f"is {self.failure}", "give a probability below 1")

    def refuses(self, problem: Problem) -> str | None:
        return refused_distances(problem)

    def channel(self, problem: Problem) -> Array:
        radius = self.radius
        if radius is None:
            # The least radius γ beyond which no secret is reported with more than a probability β. With one report
            # within γ and m - 1 beyond, these have together the share s/(1 + s) with s = (m - 1) e^{-εγ/2}.
            others = len(problem.reports) - 1
            odds = (1 - self.failure) * others / self.failure
            radius = max(0.0, 2 / problem.epsilon * math.log(odds)) if others else 0.0
        return exponential_rows(np.minimum(budgets_to_reports(problem), problem.epsilon * radius))


def truncated_exponential(
    space: MetricSpace,
    *,
    epsilon: Written,
    radius: float | None = None,
    failure: float = FAILURE,
    reports: Reports | None = None,
) -> Mechanism:
    """Make the truncated exponential mechanism, proven private (Carvalho, Vasiloudis and Feyisetan 2021).

    K[x, z] ∝ e^{-ε min(d(x, z), γ)/2}: what is beyond γ shares one weight. It may be drawn by looking at the reports
    within γ alone, which is why it is used for large vocabularies; the exponential mechanism, where γ is infinite,
    has the smaller distances.

    Parameters
    ----------
    space : MetricSpace
        n secrets, any. Under asymmetric distances d is the shortest-path closure of the smaller of d and its
        transpose, as for `exponential`.
    epsilon : float
        Privacy level per unit of distance.
    radius : float, optional
        γ; by default (2/ε) ln((1 - β)(m - 1)/β) for m reports, with β the `failure`.
    failure : float
        The probability β with which a report may be further away than γ, where that is not given.
    reports : Reports, optional
        The secrets by default.

    Raises
    ------
    SpecError
        If ε or the radius is not positive and finite, `failure` is not between 0 and 1, or there is no distance
        between secrets and reports (UnsupportedError).

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.truncated_exponential(dx.line(5), epsilon=1.0, radius=2.0)
    >>> print(mechanism.row(label="0").round(3).tolist())
    [0.369, 0.224, 0.136, 0.136, 0.136]
    """
    return make_proven(TruncatedExponential(radius, failure), space, epsilon, reports=reports)


_SECONDS = 2e-8
"""For each triple of vertices, where the rate is looked for."""


@CLASSICS.register("graph_exponential")
@dataclass(frozen=True, eq=False)
class GraphExponential(Classic):
    """K[x, z] ∝ e^{-c d_s(x, z)} on the vertices of a graph, d_s the shortest way (Takagi, Cao et al. 2019, GEM).

    With c = ε/2, as there, it is private in any graph, as normalising at most doubles the exponent; up to 999
    vertices c is raised until the matrix is private at ε and no less. One-way streets: d_s is the way with all of
    them open both ways, at most the shorter of the two ways there are. That is what both directions of a pair bind;
    with the way from x to z itself, c = ε/2 need not be private.
    """

    rate: float | None = None
    name: ClassVar[str] = "graph_exponential"
    instead: ClassVar[str] = "use exponential"

    def __post_init__(self) -> None:
        if self.rate is not None:
            keep_number(self, "rate", *POSITIVE)

    def refuses(self, problem: Problem) -> str | None:
        if problem.space.structure.kind not in ("graph", "tree"):
            return "needs the shortest ways of a graph or road network"
        return None if problem.reports.secrets else "needs the vertices themselves as reports"

    def channel(self, problem: Problem) -> Array:
        apart = budgets_to_reports(problem)

        # The channel at the rate c = share·ε.
        def at(share: float) -> Array:
            return normalised(np.exp(-share * apart))

        if self.rate is not None:
            return at(checked_rate(self.rate, problem.epsilon / 2, "ε/2") / problem.epsilon)
        # For many vertices the rate of the paper, which is private in any graph; for few, the largest private one.
        if len(problem.space) >= CALIBRATED_BELOW:
            return at(0.5)
        return at(largest_private_rate(at, problem.space, problem.epsilon, 0.5))

    def expected_seconds(self, problem: Problem) -> float:
        tried = self.rate is None and len(problem.space) < CALIBRATED_BELOW
        return super().expected_seconds(problem) + tried * _SECONDS * len(problem.space) ** 3


def graph_exponential(space: MetricSpace, *, epsilon: Written, rate: float | None = None) -> Mechanism:
    """Make the graph-exponential mechanism, proven private (Takagi, Cao, Asano and Yoshikawa 2019).

    K[x, z] ∝ e^{-c d_s(x, z)} with d_s the length of the shortest way, one-way streets open both ways. It is
    geo-graph indistinguishable: private for the shortest ways of the space, one-way where that is.

    Parameters
    ----------
    space : MetricSpace
        A graph, a tree or a road network: `dx.geo.roads`, `dx.MetricSpace.from_graph`. Reports are its vertices.
    epsilon : float
        Privacy level per unit of distance.
    rate : float, optional
        c, at most ε/2, which is the mechanism of the paper. By default, up to 999 vertices, the largest rate at which
        the matrix is private at ε; beyond that ε/2.

    Raises
    ------
    SpecError
        If ε or the rate is out of range, or the space is no graph (UnsupportedError).

    Examples
    --------
    >>> import dxopt as dx
    >>> import networkx as nx
    >>> streets = dx.MetricSpace.from_graph(nx.cycle_graph(["A", "B", "C", "D"]))
    >>> mechanism = dx.classic.graph_exponential(streets, epsilon=1.0)
    >>> print(mechanism.row(label="A").round(3).tolist())
    [0.534, 0.197, 0.072, 0.197]
    """
    return make_proven(GraphExponential(rate), space, epsilon)
