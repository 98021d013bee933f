"""Random spaces of 1 to 8 points, of every kind that dxopt has, as calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from tests.fuzz.calls import Call, Edge, call

Draw = np.random.Generator
Family = Callable[[Draw, int], Call]
NORMS = ("euclidean", "manhattan", "chebyshev")
SHAPES = ((1, 1), (1, 2), (2, 1), (2, 2), (2, 2), (1, 3), (3, 2), (2, 3), (2, 4), (2, 2, 2), (1, 3, 2), (7, 1))


def step(draw: Draw) -> float:
    """A spacing: 1, a usual one, or one of any size."""
    kind = draw.random()
    if kind < 0.3:
        return 1.0
    return float(draw.uniform(0.05, 4)) if kind < 0.8 else float(10 ** draw.uniform(-6, 6))


def line(draw: Draw, size: int) -> Call:
    return call("dx.line", size, step=step(draw))


def grid(draw: Draw, size: int) -> Call:
    return call("dx.grid", _shape(draw), spacing=step(draw), metric=str(draw.choice(NORMS)))


def torus(draw: Draw, size: int) -> Call:
    shape = (size,) if draw.random() < 0.5 else _shape(draw)
    return call("dx.torus", shape, spacing=step(draw), metric=str(draw.choice(NORMS)))


def product(draw: Draw, size: int) -> Call:
    sizes = [(2, 2), (2, 2), (2, 3), (3, 2), (2, 4), (2, 2, 2), (1, 3), (4, 1)][int(draw.integers(8))]
    kinds = (line, uneven, lengths)
    factors = [kinds[int(draw.choice(3, p=[0.5, 0.2, 0.3]))](draw, one) for one in sizes]
    return call("dx.product", *factors)


def uneven(draw: Draw, size: int) -> Call:
    """Numbers on a line, sorted or not, now and then twice the same."""
    numbers = draw.normal(size=size) * step(draw)
    if draw.random() < 0.2:
        numbers = np.round(numbers, 1)
    return call("dx.MetricSpace.from_points", np.sort(numbers) if draw.random() < 0.7 else numbers)


def plane(draw: Draw, size: int) -> Call:
    """Points under a norm, in a plane or in space, some of them nearly the same."""
    points = draw.normal(size=(size, int(draw.integers(1, 4)))) * step(draw)
    if size > 1 and draw.random() < 0.15:
        points[1] = points[0] + (draw.random() < 0.5) * 10.0 ** draw.uniform(-15, -5)
    if draw.random() < 0.3:
        points = np.round(points)
    return call("dx.MetricSpace.from_points", points, str(draw.choice([*NORMS, "normalised_manhattan"])))


def globe(draw: Draw, size: int) -> Call:
    """Places on the Earth: in one town, or anywhere."""
    centre = np.array([draw.uniform(-90, 90), draw.uniform(-180, 180)])
    near = centre + draw.normal(size=(size, 2)) * 10.0 ** draw.uniform(-4, 1)
    points = np.stack([np.clip(near[:, 0], -90, 90), np.clip(near[:, 1], -360, 360)], axis=1)
    return call("dx.MetricSpace.from_points", points, "haversine")


def words(draw: Draw, size: int) -> Call:
    """Rows of letters under a metric that only compares them."""
    rows = tuple(tuple("abc"[int(k)] for k in row) for row in draw.integers(0, 3, size=(size, 3)))
    return call("dx.MetricSpace.from_points", rows, str(draw.choice(["hamming", "discrete"])))


def lengths(draw: Draw, size: int) -> Call:
    """Given distances, closed: symmetric or not, with infinite ones, zeros, one-way roads and many decades."""
    matrix = draw.random((size, size)) * 2 + 0.05
    kind = draw.random()
    if kind < 0.25:
        matrix = 10 ** draw.uniform(-12, 4, size=matrix.shape)
    elif kind < 0.45:
        matrix = draw.integers(0, 4, size=matrix.shape).astype(float)
    if draw.random() < 0.5:
        matrix = np.minimum(matrix, matrix.T)
    if draw.random() < 0.35:
        matrix[draw.random(matrix.shape) < draw.choice([0.3, 0.6, 1.0])] = math.inf
    if size > 1 and draw.random() < 0.2:
        matrix[0, 1] = draw.choice([0.0, 1e-300, 5e-324, 1e-15])
        matrix[1, 0] = draw.choice([matrix[0, 1], math.inf, 1.0])
    np.fill_diagonal(matrix, 0.0)
    return call("dx.MetricSpace.from_distances", matrix, close=True)


def tree(draw: Draw, size: int) -> Call:
    """A tree or a path with lengths, under shortest paths."""
    joined = [(int(draw.integers(node)), node) for node in range(1, size)]
    if draw.random() < 0.3:
        joined = list(pairwise(range(size)))
    return _graph(draw, joined) if joined else line(draw, 1)


def graph(draw: Draw, size: int) -> Call:
    """A tree with a few more edges; directed now and then, so that some distances are infinite."""
    joined = [(int(draw.integers(node)), node) for node in range(1, size)]
    joined += [(int(a), int(b)) for a, b in draw.integers(0, size, size=(3, 2)) if a != b]
    return _graph(draw, joined, directed=draw.random() < 0.3) if joined else line(draw, 1)


def databases(draw: Draw, size: int) -> Call:
    """A few databases under a metric or a notion of privacy."""
    universe = _universe(draw)
    if draw.random() < 0.5:
        metric = str(draw.choice(["hamming", "manhattan", "normalised_manhattan", "chebyshev"]))
        return call("space", metric, on=universe)
    notion = str(draw.choice(["bounded", "unbounded", "both", "free_lunch"]))
    return call("dx.neighbours", universe, notion)


def notions(draw: Draw, size: int) -> Call:
    """Graphs, streams and words under a notion of privacy."""
    graphs = call("dx.Universe.graphs", 3)
    streams = call("dx.Universe.streams", "ab", int(draw.integers(1, 4)))
    spelt = call("dx.Universe.words", "ab", 2, shortest=int(draw.integers(0, 3)))
    choices = [
        call("dx.neighbours", graphs, str(draw.choice(["edge", "node"]))),
        call("dx.neighbours", streams, str(draw.choice(["event", "user"]))),
        call("dx.neighbours", streams, "w_event", window=2),
        call("dx.neighbours", spelt, str(draw.choice(["substitution", "edit"]))),
        call("dx.neighbours", call("dx.Universe.databases", "abc", 1), "one_sided", sensitive=("a",)),
        call("dx.neighbours", call("dx.Universe.databases", "ab", 3), "group", size=2),
    ]
    return choices[int(draw.integers(len(choices)))]


def answers(draw: Draw, size: int) -> Call:
    """The answers to a query, under the metric that it induces or the numeric one."""
    universe = call("dx.Universe.databases", _values(draw), int(draw.integers(1, 4)))
    queries = [
        call("dx.queries.total", universe),
        call("dx.queries.average", universe),
        call("dx.queries.percentile", universe, float(draw.choice([0.0, 50.0, 100.0]))),
    ]
    query = queries[int(draw.integers(len(queries)))]
    if draw.random() < 0.3:
        return call("space", on=query)
    metric = str(draw.choice(["hamming", "manhattan", "chebyshev"]))
    return call("induced", call("space", metric, on=universe), on=query)


FAMILIES: dict[str, Family] = {
    "line": line,
    "grid": grid,
    "torus": torus,
    "product": product,
    "uneven line": uneven,
    "points": plane,
    "globe": globe,
    "words": words,
    "distances": lengths,
    "tree": tree,
    "graph": graph,
    "databases": databases,
    "notions": notions,
    "answers": answers,
}
FREQUENT = ("line", "product", "points", "distances")
"""Drawn twice as often as the others."""


def _shape(draw: Draw) -> tuple[int, ...]:
    return SHAPES[int(draw.integers(len(SHAPES)))]


def _values(draw: Draw) -> tuple[float, ...]:
    listed = [(0, 1), (0, 1, 5), (0.5, 2.0), (0, 1e-3), (1, 2)]
    return listed[int(draw.integers(len(listed)))]


def _universe(draw: Draw) -> Call:
    records, values = [(1, (0, 1, 5)), (2, (0, 1)), (3, (0, 1)), (1, (0, 1, 2, 3, 4, 7)), (1, (2.5, 4.0))][
        int(draw.integers(5))
    ]
    absent = records < 3 and draw.random() < 0.5
    return call("dx.Universe.databases", values, records, absent=bool(absent))


def _graph(draw: Draw, joined: list[tuple[int, int]], *, directed: bool = False) -> Call:
    known = {(a, b): step(draw) for a, b in joined}
    listed = [Edge(a, b, length) for (a, b), length in known.items()]
    how = {"create_using": call("nx.DiGraph")} if directed else {}
    return call("dx.MetricSpace.from_graph", call("nx.from_edgelist", listed, **how), weight="length")
