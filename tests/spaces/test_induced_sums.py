"""Sums over records without a list of databases, beside the graph of all databases."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from problems.ecp14 import settings


@pytest.mark.parametrize(
    ("values", "records"),
    [([0, 1], 4), ([0, 1, 2, 3], 3), ([0, 2, 5], 3), ([-1, 0.1, 3], 3), ([7], 2), ([0, 5, 10], 1)],
)
def test_it_is_the_graph_of_all_databases(values: list[float], records: int) -> None:
    universe = dx.Universe.databases(values, records)
    query = dx.queries.total(universe)
    space = dx.queries.induced_sums(values, records)
    listed = query.induced(universe.space("hamming"))
    assert [float(label) for label in space.labels] == [float(answer) for answer in query.answers]
    assert space.distances == pytest.approx(listed.distances)
    assert space.unit == "people"


def test_several_counts() -> None:
    kinds = [(0, 0), (0, 1), (1, 0), (1, 1)]
    universe = dx.Universe.databases(kinds, 3)
    query = dx.queries.counts(universe, lambda one: one[0] == 1, lambda one: one[1] == 1)
    space = dx.queries.induced_sums(kinds, 3)
    assert list(space.labels) == [str(answer) for answer in query.answers]
    assert space.distances == pytest.approx(query.induced(universe.space("hamming")).distances)


def test_the_queries_of_the_paper() -> None:
    """ECP14 §7.1: 150 people of 0 to 5, and two counts of 30."""
    sums = dx.queries.induced_sums(range(6), 150)
    assert np.array_equal(sums.distances, settings.sum_query().distances)
    pairs = dx.queries.induced_sums([*itertools.product((0, 1), repeat=2)], 30)
    assert np.array_equal(pairs.distances, settings.two_counts().distances)
    assert dx.regularity.threshold(sums).low < 0.9682 < dx.regularity.threshold(sums).high + 1e-3


@pytest.mark.parametrize(
    ("values", "records", "field"),
    [
        ([], 3, "values"),
        ([0, (1, 2)], 3, "values"),
        (["a"], 3, "query"),
        ([0, 1], 0, "records"),
        ([0, 1], 2.5, "records"),
        ([0, 1, 10**4], 20_000, "records"),
        (7, 2, "values"),
    ],
)
def test_what_cannot_be_summed(values: Any, records: Any, field: str) -> None:
    with pytest.raises((dx.SpecError, dx.UnsupportedError)) as caught:
        dx.queries.induced_sums(values, records)
    assert caught.value.field == field
