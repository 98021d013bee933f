"""Levels of each place: the largest metric below them, in exact arithmetic, and what is made on it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dxopt as dx
from dxopt.verify import verify


def _spaces(rng: np.random.Generator) -> list[dx.MetricSpace]:
    ring = nx.cycle_graph(7)
    nx.set_edge_attributes(ring, {edge: float(rng.uniform(0.1, 3)) for edge in ring.edges}, "w")
    one_way = rng.uniform(0.5, 2, (6, 6))
    np.fill_diagonal(one_way, 0)
    return [
        dx.MetricSpace.from_points(rng.uniform(0, 10, (8, 2)), unit="km"),
        dx.line(6, step=0.1),
        dx.geo.points(rng.uniform(45, 45.1, (7, 2)) * [1, -1]),
        dx.MetricSpace.from_graph(ring, "w"),
        dx.MetricSpace.from_distances(one_way, close=True),
        dx.MetricSpace.from_distances([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]]),
    ]


def _exact(space: dx.MetricSpace, levels: np.ndarray) -> list[list[Fraction | None]]:
    """Shortest paths along steps min(ε(x), ε(x')) d(x, x'), as fractions; None is infinite."""
    size = len(space)
    found: list[list[Fraction | None]] = [
        [
            None if np.isinf(space.distances[i, j])
            else Fraction(min(levels[i], levels[j])) * Fraction(float(space.distances[i, j]))
            for j in range(size)
        ]
        for i in range(size)
    ]  # fmt: skip
    for via in range(size):
        for i in range(size):
            for j in range(size):
                first, second, now = found[i][via], found[via][j], found[i][j]
                if first is not None and second is not None and (now is None or first + second < now):
                    found[i][j] = first + second
    return found


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_metric_below_the_levels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for space in _spaces(rng):
        levels = 10 ** rng.uniform(-2, 2, len(space))
        found = dx.elastic(space, levels)
        assert tuple(found.labels) == tuple(space.labels)
        for i, row in enumerate(_exact(space, levels)):
            for j, exact in enumerate(row):
                if exact is None:
                    assert np.isinf(found.distances[i, j])
                    continue
                assert Fraction(float(found.distances[i, j])) <= exact
                assert float(found.distances[i, j]) == pytest.approx(float(exact), rel=1e-13)


def test_equal_levels_are_one_level() -> None:
    town = dx.MetricSpace.from_points(np.random.default_rng(1).uniform(0, 5, (9, 2)), unit="km")
    prior = dx.Prior.from_weights(town, range(1, 10))
    plain = dx.solve(dx.Problem(town, epsilon=0.7, prior=prior))
    same = dx.solve(
        dx.Problem(
            dx.elastic(town, [0.7] * 9), epsilon=1.0, prior=prior.probabilities, loss=dx.Loss.of("distance", town)
        )
    )
    assert same.value == pytest.approx(plain.value, rel=1e-6)
    assert same.problem.unit == "km"


def test_mechanisms_keep_each_level(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    town = dx.geo.points(rng.uniform(45, 45.1, (10, 2)) * [1, -1])
    levels = rng.uniform(0.2, 2, 10)
    careful = dx.elastic(town, levels)
    problem = dx.Problem(careful, epsilon=1.0, prior="uniform", loss=dx.Loss.of("distance", town))
    report = dx.solve(problem)
    for matrix in (report.mechanism.matrix, dx.classic.exponential(careful, epsilon=1.0).matrix):
        ratios = (np.log(matrix)[:, None, :] - np.log(matrix)[None, :, :]).max(axis=2)
        assert (ratios <= np.minimum.outer(levels, levels) * town.distances + 1e-12).all()
    with pytest.raises((dx.SpecError, dx.UnsupportedError)):
        dx.classic.planar_laplace(careful, epsilon=1.0)

    # files: proven again, with places on the Earth to apply it to
    report.save(tmp_path / "result")
    assert verify(tmp_path / "result").exit_code == 0
    again = dx.load(tmp_path / "result")
    assert again.value == report.value
    assert town.points is not None
    rows = pd.DataFrame({"lat": town.points[:, 0] + 1e-4, "lon": town.points[:, 1]})
    drawn = dx.apply(again, rows, lat="lat", lon="lon", within=1)
    assert set(drawn.to_numpy()[:, 2]) <= set(town.labels)


@pytest.mark.parametrize(
    ("levels", "field"),
    [([1, 2], "levels"), ([1, 0, 1], "levels"), ([1, -1, 1], "levels"), ([1, np.inf, 1], "levels"), ("x", "levels")],
)
def test_levels_that_are_none(levels: object, field: str) -> None:
    with pytest.raises(dx.SpecError) as caught:
        dx.elastic(dx.line(3), levels)  # pyright: ignore[reportArgumentType]
    assert caught.value.field == field


@pytest.mark.parametrize("seed", range(4))
def test_as_many_people_are_within_each_radius(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for space in _spaces(rng)[:-1]:
        people = rng.integers(0, 50, len(space)).astype(float)
        amount = float(rng.uniform(0.1, 1) * people.sum())
        levels = dx.density_levels(space, people, amount, "ln(4)")
        for x, level in enumerate(levels):
            radius = np.log(4) / level
            near = space.distances[x] <= radius * (1 + 1e-12)
            closer = space.distances[x] < radius * (1 - 1e-12)
            assert people[near].sum() >= amount * (1 - 1e-12)
            others = space.distances[x][space.distances[x] > 0]
            assert people[closer].sum() < amount or radius == pytest.approx(others.min())


def test_more_people_than_there_are() -> None:
    for people, amount, field in (([1, 2, 3], 7, "people"), ([1, 2, 3], 0, "people"), ([1, -2, 3], 1, "weights")):
        with pytest.raises(dx.SpecError) as caught:
            dx.density_levels(dx.line(3), people, amount, 1.0)
        assert caught.value.field == field
