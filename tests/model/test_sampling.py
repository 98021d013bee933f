"""Draws for a secret that is named, and what is returned of reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.release.tables import IntegerTable, integer_table
from dxopt.spaces.naming import NoSuchPoint

IDS = dx.MetricSpace.from_points([[0, 0], [1, 0], [2, 0], [3, 0], [4, 4]], labels=[3, 7, 1, 0, 9])
FIVES = dx.line(31, step=5)


def certain(space: dx.MetricSpace) -> dx.Mechanism:
    """Every secret as it is."""
    return dx.Mechanism.from_matrix(space, np.eye(len(space)))


@pytest.fixture(scope="module", params=["mechanism", "table"])
def ids(request: pytest.FixtureRequest) -> dx.Mechanism | IntegerTable:
    # as good as certain
    sharp = dx.classic.exponential(IDS, epsilon=80.0)
    return sharp if request.param == "mechanism" else integer_table(sharp)


def test_the_secret_is_the_one_that_is_named(ids: dx.Mechanism | IntegerTable) -> None:
    assert ids.sample(label=3, size=2).tolist() == [0, 0]
    assert ids.sample(index=3, size=2).tolist() == [3, 3]
    assert ids.sample(point=(3, 0), size=2).tolist() == [3, 3]
    assert ids.sample(7, 2).tolist() == [1, 1]
    assert ids.sample("3", 2).tolist() == [0, 0]
    assert ids.sample(label=[3, 9], size=2).tolist() == [[0, 0], [4, 4]]
    assert ids.sample(3, 2).tolist() == [0, 0]
    with pytest.raises(NoSuchPoint):
        ids.sample(2)
    assert certain(FIVES).sample(10).tolist() == [2]
    assert certain(FIVES).sample(label=10, returns="point").tolist() == [[10.0]]


def test_a_tuple_is_one_point_of_a_grid() -> None:
    mechanism = certain(dx.grid((4, 4)))
    assert mechanism.sample((2, 3), returns="label").tolist() == ["(2, 3)"]
    assert mechanism.sample(index=[2, 3]).tolist() == [[2], [3]]
    assert mechanism.row((2, 3)).argmax() == 11


def test_rows_are_of_the_secret_that_is_named() -> None:
    mechanism = certain(IDS)
    for given, meant in (({"label": 3}, 0), ({"index": 3}, 3), ({"point": (3, 0)}, 3)):
        assert mechanism.row(**given).argmax() == meant
    assert mechanism.row(3).argmax() == 0
    with pytest.raises(dx.SpecError, match=r"^secret: "):
        mechanism.row(label=[3, 7])


def test_reports_are_returned_as_asked(ids: dx.Mechanism | IntegerTable) -> None:
    assert ids.sample(label=[3, 9], size=2, returns="index").tolist() == [[0, 0], [4, 4]]
    assert ids.sample(label=[3, 9], size=2, returns="label").tolist() == [["3", "3"], ["9", "9"]]
    assert ids.sample(label=[3, 9], size=1, returns="point").tolist() == [[[0.0, 0.0]], [[4.0, 4.0]]]
    assert ids.sample(label=9, size=0, returns="label").shape == (0,)
    assert ids.sample(label=9, size=0, returns="point").shape == (0, 2)


@pytest.mark.parametrize("returns", ["labels", "", 3])
def test_what_is_returned_is_one_of_three(ids: dx.Mechanism | IntegerTable, returns: Any) -> None:
    with pytest.raises(dx.SpecError, match=r"^returns: "):
        ids.sample(label=3, returns=returns)


def test_reports_without_coordinates_have_none_to_return() -> None:
    space = dx.MetricSpace.from_distances(1.0 - np.eye(3))
    with pytest.raises(dx.SpecError, match=r"^returns: "):
        certain(space).sample(0, returns="point")


def test_probabilities_of_tables_are_of_what_is_named() -> None:
    table = integer_table(dx.classic.exponential(IDS, epsilon=80.0))
    assert table.probability("3", "3") > 0.9
    assert table.probability(7, 9) < 0.1
    assert table.probability(3, 0, by="label") < 0.1 < table.probability(3, 3, by="index")
    with pytest.raises(dx.SpecError, match=r"^by: "):
        table.probability(3, 3, by="name")  # pyright: ignore[reportArgumentType]
    for secret, report, field in ((2, "3", "secret"), ("3", 2, "report")):
        with pytest.raises(NoSuchPoint) as refused:
            table.probability(secret, report)
        assert refused.value.field == field


def test_whatever_draws_within_goes_by_index() -> None:
    # factors and bases whose labels are numbers other than the indices
    ring = dx.MetricSpace.from_points([0.0, 5.0, 9.0, 14.0])
    pair = dx.product(ring, ring)
    report = dx.solve(dx.Problem(pair, epsilon=60.0, prior=dx.Prior.uniform(pair)))
    assert report.mechanism.sample((5, 14), returns="label").tolist() == ["(5, 14)"]
    corners = dx.regularity.corner_priors(ring, 1.0)
    assert [corner.probabilities.argmax() for corner in corners] == [0, 1, 2, 3]
    assert dx.regularity.corner_prior(ring, 1.0, label=5).probabilities.argmax() == 1
    with pytest.raises(NoSuchPoint):
        dx.regularity.corner_prior(ring, 1.0, 1)
