"""The graph-exponential mechanism for road networks and other graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.mechanisms.classic.calibration import CALIBRATED_BELOW, largest_private_rate
from dxopt.mechanisms.classic.contract import CLASSICS, Classic, proven
from dxopt.mechanisms.classic.exponential import exponents
from dxopt.mechanisms.noise.contract import checked_positive
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.numerics.written import Written
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
_SAFE = 0.5
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

    Parameters
    ----------
    rate : float, optional
        c, per unit of the distances; by default the largest that is private.
    """

    rate: float | None = None
    name: ClassVar[str] = "graph_exponential"
    instead: ClassVar[str] = "use exponential"

    def __post_init__(self) -> None:
        if self.rate is not None:
            checked_positive("rate", self.rate)

    def refuses(self, problem: Problem) -> str | None:
        """Return the reason why there is none, or None."""
        if problem.space.structure.kind not in ("graph", "tree"):
            return "needs the shortest ways of a graph or road network"
        return None if problem.reports.secrets else "needs the vertices themselves as reports"

    def channel(self, problem: Problem) -> Array:
        """The channel `(n, n)`, up to rounding.

        Raises
        ------
        SpecError
            If the rate that is given is above ε/2.
        """
        apart = exponents(problem)
        if self.rate is not None:
            share = self.rate / problem.epsilon
            if share > _SAFE:
                wrong = f"is {self.rate}, above ε/2 = {problem.epsilon / 2}"
                raise SpecError("rate", wrong, "give at most that, or none for the largest that is private")
        elif len(problem.space) < CALIBRATED_BELOW:
            share = largest_private_rate(lambda share: _at(apart, share), problem.space, problem.epsilon, _SAFE)
        else:
            share = _SAFE
        return _at(apart, share)

    def expected_seconds(self, problem: Problem) -> float:
        """About how long `channel` takes."""
        tried = self.rate is None and len(problem.space) < CALIBRATED_BELOW
        return super().expected_seconds(problem) + tried * _SECONDS * len(problem.space) ** 3

    @staticmethod
    def examples() -> list[Problem]:
        """A tree, streets around a block, and the same with one of them one-way."""
        import networkx as nx

        block = nx.cycle_graph(5)
        one_way = block.to_directed()
        one_way.remove_edge(1, 0)
        graphs = (nx.balanced_tree(2, 2), block, one_way)
        spaces = [MetricSpace.from_graph(graph) for graph in graphs]
        return [Problem(space, epsilon=0.9, prior=Prior.uniform(space), loss="distance") for space in spaces]


def _at(apart: Array, share: float) -> Array:
    """The channel of some ε·d_s `(n, n)` at a share of ε."""
    weights = np.exp(-share * apart)
    return weights / weights.sum(axis=1, keepdims=True)


def graph_exponential(space: MetricSpace, *, epsilon: Written, rate: float | None = None) -> Mechanism:
    """The graph-exponential mechanism, proven private (Takagi, Cao, Asano and Yoshikawa 2019).

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
    return proven(GraphExponential(rate), space, epsilon)
