"""Figures 1 and 5: databases and the graphs that queries induce on their answers, by going through every database."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dxopt.results.figures import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Edges = frozenset[frozenset[Any]]
Place = tuple[float, float]


def induced_edges(values: Iterable[Any], individuals: int, query: Callable[[Any], Hashable]) -> Edges:
    """Return the pairs of different answers that two databases give which differ in one record (§3.2).

    Parameters
    ----------
    values : iterable
        What a record may be.
    individuals : int
        How many records a database has.
    query : callable
        From a database, a tuple of records, to an answer.
    """
    values = tuple(values)
    found = set()
    for database in itertools.product(values, repeat=individuals):
        answer = query(database)
        for place, value in itertools.product(range(individuals), values):
            other = query((*database[:place], value, *database[place + 1 :]))
            if other != answer:
                found.add(frozenset((answer, other)))
    return frozenset(found)


def both_counts(database: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """How many records have the first property, and how many the second."""
    return sum(first for first, _ in database), sum(second for _, second in database)


def figure_1() -> Figure:
    """Return the Hamming graph of databases, and what a count, a sum and two counts make of it."""
    pairs = tuple(itertools.product((0, 1), repeat=2))
    bits = induced_edges((0, 1), 3, lambda database: database)
    count = induced_edges((0, 1), 5, sum)
    total = induced_edges(range(4), 3, sum)
    counts = induced_edges(pairs, 3, both_counts)
    with plots.style():
        figure = plots.blank(10.0, 7.0)
        panels = figure.subplots(2, 2, height_ratios=(2.2, 1)).ravel()
        grid = {pair: (float(pair[0]), float(pair[1])) for pair in itertools.product(range(4), repeat=2)}
        _draw(panels[0], "databases of 3 records in {0, 1}: differ in one record", bits, _cube(bits))
        _draw(panels[1], "(count(x, p₁), count(x, p₂)), 3 records (Fig. 5b)", counts, grid)
        _draw(panels[2], "count(x, p), 5 records", count, {n: (float(n), 0.0) for n in range(6)})
        _draw(
            panels[3], "sum, 3 records in {0, …, 3} (Fig. 5a, v = 3)", total, {n: (float(n), 0.0) for n in range(10)}
        )
        panels[0].set_xlabel("node: database (record 1, 2, 3)")
        panels[1].set_xlabel("node: number of records with p₁, with p₂")
        panels[2].set_xlabel("node: number of records with p")
        panels[3].set_xlabel("node: sum of the values")
        figure.suptitle("Adjacent databases, and the graphs that queries induce on answers (ECP14, Figs. 1 and 5)")
        line = panels[0].lines[0]
        figure.legend([line], ["adjacent: distance 1, so ε-indistinguishable"], loc="outside lower center")
    return figure


def _cube(edges: Edges) -> dict[tuple[int, ...], Place]:
    corners = {corner for edge in edges for corner in edge}
    return {c: (c[0] + 0.45 * c[2], c[1] + 0.35 * c[2]) for c in sorted(corners)}


def _draw(axes: Axes, title: str, edges: Edges, places: Mapping[Any, Place]) -> None:
    """Edges between nodes on one line that are not neighbours are drawn as arcs."""
    flat = len({height for _, height in places.values()}) == 1
    for edge in sorted(edges, key=lambda pair: sorted(map(places.__getitem__, pair))):
        start, end = sorted(places[node] for node in edge)
        along, up = _arc(start, end) if flat else ([start[0], end[0]], [start[1], end[1]])
        axes.plot(along, up, color=plots.COLOURS[0], linewidth=1.2, zorder=1)
    for node, (along, up) in places.items():
        name = "".join(map(str, node)) if isinstance(node, tuple) else str(node)
        axes.text(
            along, up, name, ha="center", va="center", fontsize=8, zorder=3,
            bbox={"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": "#444444"},
        )  # fmt: skip
    axes.set_title(f"{title}\n{len(places)} nodes, {len(edges)} edges")
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.12)
    axes.grid(False)
    axes.set(xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set_visible(False)


def _arc(start: Place, end: Place) -> tuple[list[float], list[float]]:
    reach = end[0] - start[0]
    height = 0.0 if reach == 1 else 0.45 * (reach - 0.6) * (1 if start[0] % 2 == 0 else -1)
    turns = [math.pi * step / 40 for step in range(41)]
    return [start[0] + reach * (1 - math.cos(t)) / 2 for t in turns], [height * math.sin(t) for t in turns]
