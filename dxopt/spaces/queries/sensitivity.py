"""How far an answer moves with the secret (CABP13 §4)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dxopt.partition import Partition
from dxopt.spaces.chains import EQUAL, TightChains
from dxopt.spaces.queries.query import Query, require
from dxopt.spaces.space import MetricSpace

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """How far answers move with the secret (CABP13 Defs 4, 5).

    Attributes
    ----------
    delta : float
        The smallest Δ with d_Y(f x, f x') ≤ Δ d_X(x, x') everywhere; infinite where there is none.
    widest : tuple
        Two secrets where it is attained.
    apart : tuple or None
        Two answers that no tight chain of Δ-expansive steps joins; None where the query is uniformly Δ-sensitive,
        so that H is d_Y-private if and only if H∘f is Δ·d_X-private (Thm 6).
    """

    delta: float
    widest: tuple[Hashable, Hashable]
    apart: tuple[Any, Any] | None
    _answers: tuple[Any, ...] = field(repr=False)
    _chains: TightChains = field(repr=False)

    @property
    def uniform(self) -> bool:
        """Whether the query is uniformly Δ-sensitive."""
        return self.apart is None

    def chain(self, first: Any, last: Any) -> Sequence[Any]:
        """The answers on a shortest chain of Δ-expansive steps between two; empty where there is none."""
        ends = self._answers.index(first), self._answers.index(last)
        return [self._answers[place] for place in self._chains.chain(*ends)]


def sensitivity(query: Query, secrets: MetricSpace, answers: MetricSpace) -> Sensitivity:
    """The sensitivity of a query with respect to d_X and d_Y, and whether it is uniform.

    Parameters
    ----------
    query : Query
    secrets : MetricSpace
        d_X on its universe.
    answers : MetricSpace
        d_Y on its answers, such as `query.space()`.

    Raises
    ------
    SpecError
        If the spaces are not about as many secrets and answers as the query.
    """
    require(secrets, len(query.index), "secrets")
    require(answers, len(query.answers), "answers")
    groups = Partition(query.index)
    nearest = groups.least(secrets.distances)
    apart = answers.distances
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(apart > 0, apart / nearest, 0.0)
    slopes[np.isnan(slopes)] = 0.0  # both are infinite, so any Δ suits
    first, second = np.unravel_index(int(slopes.argmax()), slopes.shape)
    delta = float(slopes[first, second])
    starts, ends = groups.closest(secrets.distances)
    x, other = (query.universe.secrets[places[first, second]] for places in (starts, ends))
    with np.errstate(invalid="ignore"):
        expansive = np.abs(apart - delta * nearest) <= EQUAL * apart
    chains = TightChains.of(apart, expansive)
    broken = None if chains.everywhere else tuple(query.answers[place] for place in chains.missing[0])
    return Sensitivity(delta, (x, other), broken, query.answers, chains)  # pyright: ignore[reportArgumentType]


def induced_graph(query: Query, secrets: MetricSpace) -> nx.Graph:
    """Answers are joined where two secrets at distance 1 have them (CABP13 §4.2); its path metric is d_Y for f.

    Directed where the distances between secrets are not symmetric.
    """
    import networkx as nx

    nearest = Partition(query.index).least(secrets.distances)
    np.fill_diagonal(nearest, 0.0)
    graph = nx.Graph() if secrets.symmetric else nx.DiGraph()
    graph.add_nodes_from(query.answers)
    for first, second in np.argwhere(np.abs(nearest - 1.0) <= EQUAL):
        graph.add_edge(query.answers[first], query.answers[second])
    return graph
