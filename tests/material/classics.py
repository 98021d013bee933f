"""Problems that each classic mechanism and each baseline does not refuse, by name, for the tests of all of them."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np

from dxopt import MetricSpace, Prior, Problem, Reports, grid, line


def cloaking() -> list[Problem]:
    """A grid, a line, and points on the globe."""
    globe = MetricSpace.from_points([[45.5, 179.9], [45.6, -179.9], [45.7, 179.8]], "haversine")
    spaces = (grid((5, 4)), line(9), globe)
    return [Problem(space, epsilon=1.5, prior=Prior.uniform(space)) for space in spaces]


def exponential() -> list[Problem]:
    """A grid, an asymmetric space, and reports between the secrets."""
    numbers = line(4)
    one_way = MetricSpace.from_distances([[0, 1, 2], [2, 0, 1], [np.inf, 2, 0]], close=True)
    spaces = ((grid((2, 3)), None), (one_way, None), (numbers, Reports.at([[0.5], [2.5]])))
    return [Problem(s, epsilon=1.0, prior=Prior.uniform(s), loss="distance", reports=r) for s, r in spaces]


def geometric() -> list[Problem]:
    """A line of uneven steps, grids in three metrics, and a path of which only the distances are given."""
    uneven = MetricSpace.from_points([0.0, 3.0, 1.0, 1.5])
    grids = [grid((3, 2), metric=metric) for metric in ("euclidean", "manhattan", "chebyshev")]
    path = MetricSpace.from_distances(line(4).distances)
    return [Problem(s, epsilon=0.9, prior=Prior.uniform(s), loss="binary") for s in (uneven, *grids, path)]


def graph_exponential() -> list[Problem]:
    """A tree, streets around a block, and the same with one of them one-way."""
    block = nx.cycle_graph(5)
    one_way = block.to_directed()
    one_way.remove_edge(1, 0)
    graphs = (nx.balanced_tree(2, 2), block, one_way)
    spaces = [MetricSpace.from_graph(graph) for graph in graphs]
    return [Problem(space, epsilon=0.9, prior=Prior.uniform(space), loss="distance") for space in spaces]


def laplace() -> list[Problem]:
    """A line of uneven steps, a grid, scattered points, and reports between the secrets."""
    uneven = MetricSpace.from_points([0.0, 3.0, 1.0, 1.5])
    scattered = MetricSpace.from_points([[0.0, 0.3], [1.0, 2.0], [2.5, 0.0], [0.9, 1.1]], "manhattan")
    spaces = ((uneven, None), (grid((3, 2)), None), (scattered, None), (line(4), Reports.at([[0.5], [2.5]])))
    return [Problem(s, epsilon=0.9, prior=Prior.uniform(s), loss="distance", reports=r) for s, r in spaces]


def multivariate_laplace() -> list[Problem]:
    """A grid in space, scattered points of five coordinates of which two coincide, and reports between them."""
    cube = grid((2, 3, 2), spacing=2.0)
    scattered = np.random.default_rng(1).normal(size=(7, 5))
    scattered[6] = scattered[0]
    spaces = (
        (cube, None),
        (MetricSpace.from_points(scattered), None),
        (cube, Reports.at([[0, 1, 2], [2, 2, 2]])),
    )
    return [Problem(s, epsilon=0.8, prior=Prior.uniform(s), loss="distance", reports=r) for s, r in spaces]


def planar_laplace() -> list[Problem]:
    """Grids, scattered and collinear points, points on the globe, and reports between the secrets."""
    scattered = MetricSpace.from_points([[0.0, 0.0], [1.0, 0.3], [0.2, 2.0], [3.0, 1.0], [1.0, 0.3]])
    collinear = MetricSpace.from_points([[0.0, 0.0], [3.0, 3.0], [1.0, 1.0]])
    globe = MetricSpace.from_points([[45.5, 179.99], [45.51, -179.98], [45.52, 179.97]], "haversine")
    spaces = (grid((3, 4)), grid((1, 3), spacing=5.0), scattered, collinear, globe)
    between = Reports.at([[0.5, 0.5], [2.0, 0.0], [0.0, 9.0]])
    cases = [*((space, None) for space in spaces), (spaces[0], between)]
    return [Problem(s, epsilon=0.8, prior=Prior.uniform(s), loss="distance", reports=r) for s, r in cases]


def randomised_response() -> list[Problem]:
    """Categories, a grid, and a space that is neither symmetric nor bounded."""
    categories = MetricSpace.from_points(["tea", "coffee", "milk", "water"], "discrete")
    one_way = MetricSpace.from_distances([[0, 1, 2], [2, 0, 1], [np.inf, 2, 0]], close=True)
    spaces = (categories, grid((2, 3)), one_way)
    return [Problem(space, epsilon=1.2, prior=Prior.uniform(space), loss="binary") for space in spaces]


def rate_distortion() -> list[Problem]:
    """A loss that makes it private, and one that does not."""
    numbers = line(5)
    plane = grid((2, 3))
    return [
        Problem(numbers, epsilon=0.7, prior=Prior.from_weights(numbers, [1, 2, 3, 2, 2])),
        Problem(plane, epsilon=1.0, prior=Prior.uniform(plane), loss="squared"),
    ]


def staircase() -> list[Problem]:
    """A line, uneven steps, and sums where numbers up to five apart are at distance 1."""
    uneven = MetricSpace.from_points([0.0, 3.0, 1.0, 1.5])
    spaces = (line(4), uneven, _sums(12, 5))
    return [Problem(s, epsilon=0.9, prior=Prior.uniform(s), loss="binary") for s in spaces]


def truncated_exponential() -> list[Problem]:
    """A grid that is larger than the radius, an asymmetric space, and reports between the secrets."""
    plane = grid((2, 30), spacing=2.0)
    one_way = MetricSpace.from_distances([[0, 1, 2], [2, 0, 1], [np.inf, 2, 0]], close=True)
    spaces = ((plane, None), (one_way, None), (plane, Reports.at([[0.5, 0.5], [2.0, 70.0]])))
    return [Problem(s, epsilon=1.0, prior=Prior.uniform(s), loss="distance", reports=r) for s, r in spaces]


def _sums(size: int, widest: int) -> MetricSpace:
    """Answers of a sum query where one record counts for 0 to `widest`."""
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    return MetricSpace.from_distances(-(-apart // widest))


EXAMPLES: dict[str, Callable[[], list[Problem]]] = {
    "cloaking": cloaking,
    "exponential": exponential,
    "geometric": geometric,
    "graph_exponential": graph_exponential,
    "laplace": laplace,
    "multivariate_laplace": multivariate_laplace,
    "planar_laplace": planar_laplace,
    "randomised_response": randomised_response,
    "rate_distortion": rate_distortion,
    "staircase": staircase,
    "truncated_exponential": truncated_exponential,
}
