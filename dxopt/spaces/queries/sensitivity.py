"""Sensitivity of queries: the distance of answers against that of secrets (CABP13 §4)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.partition import Partition
from dxopt.spaces.chains import EQUAL, TightChains
from dxopt.spaces.queries.query import Query, require_size, required_query
from dxopt.spaces.space import MetricSpace

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Sensitivity of a query (CABP13 Defs 4, 5).

    Attributes
    ----------
    delta : float
        The smallest Δ with d_Y(f x, f x') ≤ Δ d_X(x, x') everywhere; infinite where there is none.
    widest : tuple
        Two secrets where it is attained.
    apart : tuple or None
        Two answers that no tight chain of Δ-expansive steps joins; None where the query is uniformly Δ-sensitive,
        so that H is d_Y-private if and only if H∘f is Δ·d_X-private (Thm 6).
    nearest : (k, k) array
        The least distance between secrets with two answers.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases([0, 5], 2)
    >>> query = dx.queries.total(people)
    >>> found = dx.queries.sensitivity(query, people.space(), query.space())
    >>> print(found.delta, found.widest, found.apart)
    5.0 ((0, 0), (0, 5)) None
    """

    delta: float
    widest: tuple[Hashable, Hashable]
    apart: tuple[Any, Any] | None
    nearest: NDArray[np.float64] = field(repr=False)
    _answers: tuple[Any, ...] = field(repr=False)
    _chains: TightChains = field(repr=False)

    @property
    def uniform(self) -> bool:
        """True if the query is uniformly Δ-sensitive."""
        return self.apart is None

    def chain(self, first: Any, last: Any) -> Sequence[Any]:
        """List the answers on a tight chain of Δ-expansive steps between two; empty where there is none."""
        ends = self._answers.index(first), self._answers.index(last)
        return [self._answers[index] for index in self._chains.chain(*ends)]


def sensitivity(query: Query, secrets: MetricSpace, answers: MetricSpace) -> Sensitivity:
    """Find the sensitivity of a query with respect to d_X on secrets and d_Y on answers, and whether it is uniform.

    Raises
    ------
    SpecError
        If the spaces are not about as many secrets and answers as the query.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases([0, 5], 2)
    >>> query = dx.queries.average(people)
    >>> print(dx.queries.sensitivity(query, people.space(), query.space()).delta)
    2.5
    """
    required_query(query)
    require_size(answers, len(query.answers), "answers")
    nearest = query.nearest(secrets)
    apart = answers.distances
    # Δ is the largest slope: answers apart over the least distance between secrets that have them
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(apart > 0, apart / nearest, 0.0)
    slopes[np.isnan(slopes)] = 0.0  # both are infinite, so any Δ suits
    first, second = divmod(int(slopes.argmax()), len(slopes))
    delta = float(slopes[first, second])
    # a step is Δ-expansive if its slope is Δ; chains of such steps make the query uniformly sensitive
    with np.errstate(invalid="ignore"):
        expansive = np.abs(apart - delta * nearest) <= EQUAL * apart
    chains = TightChains.of(apart, expansive)
    broken = None if chains.everywhere else tuple(query.answers[index] for index in chains.missing[0])
    # the first two secrets with these answers that are as near as any
    ones, others = (Partition(query.index).members(answer) for answer in (first, second))
    x, other = divmod(int(secrets.block(ones, others).argmin()), len(others))
    widest = query.universe.secrets[ones[x]], query.universe.secrets[others[other]]
    return Sensitivity(delta, widest, broken, nearest, query.answers, chains)  # pyright: ignore[reportArgumentType]


def induced_graph(query: Query, secrets: MetricSpace) -> nx.Graph:
    """Join answers where two secrets at distance 1 have them (CABP13 §4.2); the path metric is d_Y for f.

    Directed where the distances between secrets are not symmetric.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases([0, 1, 2], 2)
    >>> print(sorted(dx.queries.induced_graph(dx.queries.total(people), people.space()).edges)[:4])
    [(0.0, 1.0), (0.0, 2.0), (1.0, 2.0), (1.0, 3.0)]
    """
    import networkx as nx

    required_query(query)
    nearest = query.nearest(secrets)
    graph = nx.Graph() if secrets.symmetric else nx.DiGraph()
    graph.add_nodes_from(query.answers)
    for first, second in np.argwhere(np.abs(nearest - 1.0) <= EQUAL):
        graph.add_edge(query.answers[first], query.answers[second])
    return graph
