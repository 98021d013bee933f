"""Tight-constraints mechanisms: answers of queries, databases, locations; and draws from the largest."""

from __future__ import annotations

from itertools import product
from math import exp

import numpy as np

import dxopt as dx
from benchmarks.contract import FULL, INSTANCES, SMOKE, DrawsInstance, TightInstance

EARLY = (SMOKE, FULL)


def two_counts(most: int) -> dx.MetricSpace:
    """Two counts of 0 to `most` of the same people: one person changes both by one."""
    return dx.grid((most + 1, most + 1), metric="chebyshev")


def sums(most: int) -> dx.MetricSpace:
    """Return sums of 0 to `most` where one person contributes up to 5."""
    answers = np.arange(most + 1)
    return dx.MetricSpace.from_distances(np.ceil(np.abs(answers[:, None] - answers) / 5))


def line_value(size: int, epsilon: float) -> float:
    """Mean weight of the truncated geometric mechanism, p = e^{-ε}: 1/(1+p) at the ends, (1-p)/(1+p) inside."""
    ratio = np.exp(-epsilon)
    return float((2 + (size - 2) * (1 - ratio)) / (1 + ratio) / size)


def streets(side: int) -> dx.MetricSpace:
    """Return a square of crossings without loops: each is joined to the one before it in its row or in its column."""
    import networkx as nx

    size, rng = side**2, np.random.default_rng(side)
    crossing = np.arange(1, size)
    along = (rng.random(size - 1) < 0.5) & (crossing % side > 0) | (crossing < side)
    before = crossing - np.where(along, 1, side)
    graph = nx.Graph()
    graph.add_nodes_from(range(size))
    lengths = 0.5 + rng.random(size - 1)
    graph.add_weighted_edges_from(zip(crossing.tolist(), before.tolist(), lengths.tolist(), strict=True))
    return dx.MetricSpace.from_graph(graph, weight="weight")


def streets_value(side: int, epsilon: float) -> float:
    """Mean of the weights 1 - Σ p/(1+p) over the streets of each crossing, p = e^{-εl}."""
    rng = np.random.default_rng(side)
    rng.random(side**2 - 1)
    ratio = np.exp(-epsilon * (0.5 + rng.random(side**2 - 1)))
    return float(1 - 2 * (ratio / (1 + ratio)).sum() / side**2)


def tables(records: int) -> dx.MetricSpace:
    """All tables of so many records with 4 values each, under the Hamming distance."""
    return dx.MetricSpace.from_points(list(product(range(4), repeat=records)), "hamming")


def square(side: int) -> dx.MetricSpace:
    """Return a Euclidean grid with as many points on each side."""
    return dx.grid((side, side))


def joined(side: int) -> dx.MetricSpace:
    """Return the same with opposite sides joined."""
    return dx.torus((side, side))


def joined_value(side: int, epsilon: float) -> float:
    """1 / Σ_z e^{-εd(x, z)}, the same for every x (ECP14, Prop 9)."""
    around = np.minimum(np.arange(side), side - np.arange(side))
    return float(1 / np.exp(-epsilon * np.hypot(around[:, None], around)).sum())


for _name, _instance in {
    "tight-two-counts-30": TightInstance(
        about="two counts, 0 to 30",
        family="tight-two-counts",
        build=two_counts,
        size=30,
        small=5,
        epsilon=1.2,
        value=0.18996305,
        groups=EARLY,
    ),
    "tight-sums-750": TightInstance(
        about="sum query, 150 people up to 5",
        family="tight-sums",
        build=sums,
        size=750,
        small=20,
        epsilon=1.0,
        value=0.14832275,
        groups=EARLY,
    ),
    "tight-line-1000000": TightInstance(
        about="counting query, a million answers",
        family="tight-line",
        build=dx.line,
        size=1_000_000,
        small=100,
        warm=100_000,
        epsilon=1.0,
        value=line_value(1_000_000, epsilon=1.0),
        groups=EARLY,
    ),
    "tight-streets-1000": TightInstance(
        about="a million crossings, streets without loops",
        family="tight-streets",
        build=streets,
        size=1000,
        small=5,
        warm=320,
        epsilon=2.0,
        value=streets_value(1000, epsilon=2.0),
    ),
    "tight-tables-5": TightInstance(
        about="5 records of 4 values",
        family="tight-tables",
        build=tables,
        size=5,
        small=2,
        epsilon=0.8,
        value=(exp(0.8) / (3 + exp(0.8))) ** 5,
    ),
    "tight-torus-60": TightInstance(
        about="Euclidean torus, 60 x 60",
        family="tight-torus",
        build=joined,
        size=60,
        small=8,
        epsilon=0.8,
        value=joined_value(60, epsilon=0.8),
    ),
    **{
        f"tight-grid-{side}": TightInstance(
            about=f"Euclidean grid, {side} x {side}",
            family="tight-grid",
            build=square,
            size=side,
            small=4,
            epsilon=0.8,
            value=value,
            groups=EARLY if side == 10 else (FULL,),
        )
        for side, value in {10: 0.155222055, 100: 0.1052122, 1000: 0.10053531}.items()
    },
    "draws-one-secret": DrawsInstance(
        about="a million draws for one of a million locations",
        family="draws-one-secret",
        build=square,
        size=1000,
        small=8,
        epsilon=0.8,
        value=0.10053531,
        secrets=lambda points: np.array([points // 2]),
        draws=1_000_000,
    ),
    "draws-every-secret": DrawsInstance(
        about="one draw for each of a million locations",
        family="draws-every-secret",
        build=square,
        size=1000,
        small=8,
        epsilon=0.8,
        value=0.10053531,
        secrets=np.arange,
        draws=1,
    ),
}.items():
    INSTANCES.register(_name)(_instance)
