"""Sums over the records of databases that are too many to list, and the distances that changing records induce."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from dxopt.errors import SpecError, UnsupportedError
from dxopt.numerics.coerce import as_list, checked_count
from dxopt.spaces.distances import MATRIX_POINTS
from dxopt.spaces.queries.query import exact_number
from dxopt.spaces.space import MetricSpace, space_of_edges

MOST_STEPS = 20_000_000
"""The most pairs of a sum and what one record adds."""


def induced_sums(values: Sequence[Any], records: int, *, unit: str = "people") -> MetricSpace:
    """Return the answers of a sum over so many records, at the distances that changing records induces.

    As the path metric of `induced_graph`, for `total`, `count` and `counts` on databases of any number: two sums are
    joined where one record can be changed so that one becomes the other, which is where both are some sum of the
    other records and one value more. No database is listed.

    Parameters
    ----------
    values : sequence of numbers, or of tuples of as many numbers each
        What one record adds: its value, 0 or 1 for a count, or a tuple of these for several; 0 if it may be absent.
    records : int
        How many records there are.
    unit : str
        What distances count.

    Raises
    ------
    SpecError
        If values are not numbers, or tuples of one length.
    UnsupportedError
        If there are more than 20,000 sums, or too many ways from one to another.

    Examples
    --------
    >>> import dxopt as dx
    >>> sums = dx.queries.induced_sums([0, 1, 2, 3, 4, 5], 150)  # ECP14 §7.1
    >>> print(len(sums), sums.row(label="0")[[1, 5, 6, 750]].tolist())
    751 [1.0, 1.0, 2.0, 150.0]
    >>> pairs = dx.queries.induced_sums([(0, 0), (0, 1), (1, 0), (1, 1)], 3)
    >>> print(pairs.row(label="(0, 0)")[[1, 4, 5]].tolist())
    [1.0, 1.0, 1.0]
    """
    given = as_list(values, "values", "give what one record adds, such as [0, 1]")
    added = [tuple(map(exact_number, one if isinstance(one, tuple | list) else (one,))) for one in given]
    if not added or len({len(one) for one in added}) != 1:
        raise SpecError("values", "are none, or tuples of different lengths", "give as many numbers for each")
    count = checked_count("records", records)
    added = sorted(set(added))
    others = {(Fraction(0),) * len(added[0])}
    for _ in range(count - 1):
        others = _one_more(others, added)
    sums = sorted(_one_more(others, added))
    place = {one: index for index, one in enumerate(sums)}
    if len(others) * len(added) ** 2 > MOST_STEPS:
        wrong = f"make {len(others) * len(added) ** 2:,} ways from one sum to another"
        raise UnsupportedError("values", wrong, "take fewer values, or round them")
    reached = ([place[_plus(other, one)] for one in added] for other in others)
    edges = {tuple(sorted(pair)) for several in reached for pair in combinations(several, 2)}
    named = [[str(axis) if axis.denominator == 1 else repr(float(axis)) for axis in one] for one in sums]
    labels = [one[0] if len(one) == 1 else f"({', '.join(one)})" for one in named]
    ends = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
    return space_of_edges(labels, ends, np.ones(len(ends)), directed=False, unit=unit)


Sum = tuple[Fraction, ...]


def _plus(one: Sum, other: Sum) -> Sum:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _one_more(sums: set[Sum], added: Sequence[Sum]) -> set[Sum]:
    """Return the sums with one record more; UnsupportedError where they are too many."""
    found = {_plus(one, more) for one in sums for more in added}
    if len(found) > MATRIX_POINTS:
        wrong = f"make more than {MATRIX_POINTS:,} sums"
        raise UnsupportedError("records", wrong, "take fewer records or values, or round them")
    return found
