"""Mechanisms on data that their prior was not made of, against sums written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.analysis.radii import Distances, smallest
from tests.material.checks import there

SEED = 20261122


@pytest.fixture
def mechanism() -> dx.Mechanism:
    return dx.Mechanism.from_matrix(dx.line(3), [[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])


def test_by_hand(mechanism: dx.Mechanism) -> None:
    prior = dx.Prior.from_weights(mechanism.space, [1, 1, 0])
    found = dx.evaluate.on(mechanism, [0, 0, 2, 1], prior=prior)
    losses = [0.5, 0.5, 0.25, 0.5]
    assert found.loss == pytest.approx(np.mean(losses))
    assert found.standard_error == pytest.approx(np.std(losses, ddof=1) / 2)
    assert (found.worst, found.worst_at) == (0.5, "0")
    assert (found.prior_zero, found.outside, found.positions) == (0.25, 0.0, None)
    assert found.data.weights.tolist() == [2, 1, 1]
    assert "0.438 ± 0.062 over 4 rows" in str(found)


def test_weights_and_counts(mechanism: dx.Mechanism) -> None:
    """A row that stands for three is as three rows; a weight of three is one datum that counts as much."""
    thrice = dx.evaluate.on(mechanism, [0, 0, 0, 2])
    counted = dx.evaluate.on(mechanism, [0, 2], counts=[3, 1])
    assert (counted.loss, counted.standard_error, counted.data.rows) == (thrice.loss, thrice.standard_error, 4)
    weighed = dx.evaluate.on(mechanism, [0, 2], weights=[3, 1])
    assert weighed.loss == thrice.loss
    off = np.array([0.5, 0.25]) - weighed.loss
    assert weighed.standard_error == pytest.approx(math.sqrt(2 * (np.array([9, 1]) * off**2).sum()) / 4)
    assert dx.evaluate.on(mechanism, [0, 2], weights=[0, 1]).data.rows == 1
    assert dx.evaluate.on(mechanism, [1]).standard_error is None


def test_the_standard_error_is_that_of_the_mean() -> None:
    """Over many samples the means spread as each of them says."""
    space = dx.line(8)
    mechanism = dx.classic.exponential(space, epsilon=1.0)
    rng = np.random.default_rng(SEED)
    found = [dx.evaluate.on(mechanism, index=rng.integers(0, 8, 50), loss="squared") for _ in range(400)]
    spread = np.std([one.loss for one in found])
    assert np.mean([there(one.standard_error) for one in found]) == pytest.approx(spread, rel=0.1)


def test_positions_on_a_line(mechanism: dx.Mechanism) -> None:
    found = dx.evaluate.on(mechanism, point=[0.4, 1.75, 9.0], within=1.0)
    assert found.data.weights.tolist() == [1, 0, 1]
    assert found.outside == pytest.approx(1 / 3)
    assert found.loss == pytest.approx((0.5 + 0.25) / 2)
    own = [0.5 * 0.4 + 0.5 * 0.6, 0.25 * 0.75 + 0.75 * 0.25]
    assert found.positions is not None
    assert found.positions.loss == pytest.approx(np.mean(own))
    assert found.positions.standard_error == pytest.approx(np.std(own, ddof=1) / math.sqrt(2))
    assert found.positions.worst == pytest.approx(max(own))
    assert found.positions.moved == pytest.approx((0.4 + 0.25) / 2)
    radius = there(found.positions.radius)
    assert 0.75 <= radius == pytest.approx(0.75, rel=1e-3)
    assert "95 % within 0.75" in str(found)
    squared = dx.evaluate.on(mechanism, point=[0.4], loss="squared").positions
    assert squared is not None
    assert squared.loss == pytest.approx(0.5 * 0.16 + 0.5 * 0.36)
    assert dx.evaluate.on(mechanism, point=[0.4], loss="binary").positions is None


@pytest.mark.parametrize("project", [False, True])
def test_positions_on_the_earth(project: bool) -> None:
    places = [[45.50, -73.57], [45.52, -73.55], [45.53, -73.60]]
    space = dx.geo.points(places, project=project)
    mechanism = dx.classic.exponential(space, epsilon=1.0)
    new = np.random.default_rng(SEED).normal([45.52, -73.57], 0.01, (30, 2))
    weights = np.arange(1.0, 31.0)
    found, weighted = dx.evaluate.on(mechanism, new), dx.evaluate.on(mechanism, new, weights)
    globe = dx.geo.points([*places, *new.tolist()])
    apart = globe.distances[3:, :3]
    at = apart.argmin(axis=1)
    assert found.positions is not None
    assert found.positions.loss == pytest.approx((mechanism.matrix[at] * apart).sum() / 30, rel=1e-9)
    assert found.positions.moved == pytest.approx(apart.min(axis=1).mean(), rel=1e-9)
    assert found.loss == pytest.approx((mechanism.matrix[at] * space.distances[at]).sum() / 30, rel=1e-9)
    for one, each in ((found, np.ones(30)), (weighted, weights)):
        assert one.positions is not None
        radius = one.positions.radius
        assert radius is not None
        joint = mechanism.matrix[at] * each[:, None] / each.sum()
        assert joint[apart <= radius].sum() >= 0.95
        assert joint[apart < radius / 1.0011].sum() < 0.95


def test_distances_in_classes() -> None:
    rng = np.random.default_rng(SEED)
    apart, weights = np.exp(rng.normal(0.0, 30.0, 5_000)), rng.random(5_000)
    apart[:100] = 0.0
    found = Distances()
    for block in range(0, 5_000, 1_000):
        found.add(apart[block : block + 1_000], weights[block : block + 1_000])
    for share in (0.001, 0.3, 0.95, 1.0):
        exact = smallest(apart, weights, share)
        assert exact <= found.smallest(share) <= 1.0011 * exact
    found.add(np.array([np.inf]), np.array([weights.sum()]))
    assert found.smallest(0.95) == math.inf


def test_roads_have_no_loss_between_positions() -> None:
    import networkx as nx

    graph = nx.MultiDiGraph(crs="epsg:4326")
    for node, (lat, lon) in enumerate([(45.50, -73.57), (45.51, -73.57), (45.51, -73.56)]):
        graph.add_node(node, y=lat, x=lon)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        graph.add_edge(a, b, length=1000.0)
        graph.add_edge(b, a, length=1000.0)
    space = dx.geo.roads(graph)
    found = dx.evaluate.on(dx.classic.exponential(space, epsilon=1.0), [[45.5001, -73.5701]])
    assert found.data.weights.tolist() == [1, 0, 0]
    assert found.positions is None


def test_a_report_brings_loss_and_prior() -> None:
    space = dx.line(5)
    prior = dx.Prior.from_weights(space, [0, 1, 2, 1, 0])
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=prior, loss="squared"))
    found = dx.evaluate.on(report, label=["0", "1", "4"])
    assert found.prior_zero == pytest.approx(2 / 3)
    assert found.loss == pytest.approx(there(report.off_prior.losses)[[0, 1, 4]].mean())


@pytest.mark.full
def test_a_million_secrets() -> None:
    space = dx.grid((1000, 1000), metric="manhattan")
    report = dx.solve(dx.Problem(space, epsilon=0.1, prior=dx.Prior.uniform(space)))
    some = np.arange(0, 1_000_000, 400)
    found = dx.evaluate.on(report, index=some)
    assert found.loss == pytest.approx(there(report.off_prior.losses)[some].mean(), rel=1e-12)
    with pytest.raises(dx.UnsupportedError, match="over the limit"):
        dx.evaluate.on(report, index=some, loss="squared")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "^data: "),
        ({"data": [1], "label": [1]}, "^data: "),
        ({"data": []}, "^data: "),
        ({"data": [3.5]}, "number 0 is none of the points; .* coordinates as point="),
        ({"data": ["z"]}, "number 0 is none of the points"),
        ({"label": ["z"]}, "number 0 is none of the points"),
        ({"index": [3]}, "out of range"),
        ({"data": [1], "within": 1.0}, "^within: "),
        ({"data": [1], "weights": [1, 2]}, "^weights: "),
        ({"data": [1], "weights": [-1]}, "^weights: "),
        ({"data": [1], "weights": ["a"]}, "^weights: "),
        ({"data": [1], "weights": [0]}, "^data: "),
        ({"data": [1], "counts": [0.5]}, "^counts: "),
        ({"point": [[0.0, 1.0]]}, "have shape .* rows of 1 coordinates"),
        ({"point": ["a"]}, "give rows of 1 coordinates"),
        ({"point": [np.nan]}, "not finite"),
        ({"point": [50.0], "within": 1.0}, "^data: "),
        ({"point": [1.0], "within": -1.0}, "^within: "),
        ({"data": [1], "loss": [[0, 1]]}, "^loss: "),
        ({"data": [1], "prior": "other"}, "^prior: "),
    ],
)
def test_bad_data(mechanism: dx.Mechanism, given: dict[str, Any], message: str) -> None:
    if given.get("prior") == "other":
        given = given | {"prior": dx.Prior.uniform(dx.line(4))}
    with pytest.raises(dx.SpecError, match=message):
        dx.evaluate.on(mechanism, **given)


def test_data_about_another_place_are_refused() -> None:
    city = dx.geo.points([[45.5, -73.6], [45.5, -73.5], [45.55, -73.55]])
    mechanism = dx.classic.exponential(city, epsilon=1.0)
    with pytest.raises(dx.SpecError, match=r"^data: "):
        dx.evaluate.on(mechanism, [[-73.6, 45.5], [-73.5, 45.5]])
    with pytest.raises(dx.SpecError, match=r"^data: "):
        dx.evaluate.on(mechanism, [[48.8, 2.3], [45.5, -73.6]], weights=[1, 0])
    assert dx.evaluate.on(mechanism, [[48.8, 2.3], [45.5, -73.6]]).data.rows == 2
    with pytest.raises(dx.SpecError, match=r"^data: "):
        dx.evaluate.on(mechanism, [[48.8, 2.3]], weights=[0])


def test_only_mechanisms_and_reports() -> None:
    with pytest.raises(dx.SpecError, match=r"^subject: "):
        dx.evaluate.on([[1.0]], [0])  # pyright: ignore[reportArgumentType]


def test_pairs_that_may_be_labels_or_coordinates_are_refused() -> None:
    grid = dx.classic.exponential(dx.grid((3, 3), spacing=2.0), epsilon=1.0)
    pairs = [(0, 1), (2, 2)]
    with pytest.raises(dx.SpecError, match="may be labels or coordinates; write label="):
        dx.evaluate.on(grid, pairs)
    assert dx.evaluate.on(grid, label=pairs).data.weights.nonzero()[0].tolist() == [1, 8]
    assert dx.evaluate.on(grid, point=pairs).data.weights.nonzero()[0].tolist() == [0, 4]
    same = dx.classic.exponential(dx.grid((3, 3)), epsilon=1.0)
    assert dx.evaluate.on(same, pairs).data.weights.nonzero()[0].tolist() == [1, 8]


def test_spaces_without_a_metric_take_labels() -> None:
    space = dx.product(dx.line(3), dx.line(3))
    mechanism = dx.classic.exponential(space, epsilon=1.0)
    with pytest.raises(dx.SpecError, match="are coordinates, and the space has no metric"):
        dx.evaluate.on(mechanism, point=[[1.0, 1.0]])
    assert dx.evaluate.on(mechanism, label=[(1, 1)]).worst_at == "(1, 1)"
    given = dx.MetricSpace.from_distances([[0, 1], [1, 0]])
    with pytest.raises(dx.SpecError, match="of which the space has none"):
        dx.evaluate.on(dx.classic.exponential(given, epsilon=1.0), [[1.0, 1.0]])
