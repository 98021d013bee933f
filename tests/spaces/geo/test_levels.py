"""Levels within a radius: kept for random positions, no lower than need be, remembered, saved, verified, released."""

from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.verify import verify
from tests.material.checks import change_claims

SIDES = (45.71, 4.78, 45.80, 4.91)


def lyon(**how: object) -> dx.MetricSpace:
    options = {"spacing": 2.0, **how}
    return dx.geo.bounding_grid(*SIDES, **options)  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def town() -> dx.Report:
    space = lyon()
    epsilon = dx.geo.level("ln(4)", 0.5, space=space)
    return dx.solve(dx.Problem(space, epsilon=epsilon, prior="uniform", name="lyon"), tolerance=1e-2)


def pairs(count: int, apart: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions in the box, and others up to so many km away from them, on both sides of any border."""
    rng = np.random.default_rng(7)
    places = rng.uniform(SIDES[:2], SIDES[2:], (count, 2))
    angle, far = rng.uniform(0, 2 * np.pi, count), apart * (1 - 1e-9) * rng.uniform(0, 1, count) ** 0.1
    degree = 2 * np.pi * 6371.0088 / 360
    steps = np.column_stack([np.cos(angle) * far, np.sin(angle) * far / np.cos(np.radians(places[:, 0]))]) / degree
    others = places + steps
    inside = ((others >= SIDES[:2]) & (others <= SIDES[2:])).all(axis=1)
    return places[inside], others[inside]


def test_random_positions_are_within_the_factor(town: dx.Report) -> None:
    space, matrix = town.problem.space, town.mechanism.matrix
    places, others = pairs(20_000, 0.5)
    first, second = (dx.geo.nearest(space, rows) for rows in (places, others))
    factors = (matrix[first] / matrix[second]).max(axis=1, initial=0.0, where=matrix[second] > 0)
    assert 3.0 < factors.max() <= 4 * (1 + 1e-9)


@pytest.mark.parametrize("how", [{}, {"metric": "geodesic"}, {"project": True}, {"unit": "m", "spacing": 2000.0}])
@pytest.mark.parametrize("radius", [0.3, 1.0, 2.5])
def test_cells_of_positions_are_within_what_the_level_allows(how: dict[str, object], radius: float) -> None:
    space = lyon(**how)
    longer = 1000 if "unit" in how else 1
    epsilon = dx.geo.level(1.0, radius * longer, space=space)
    # half a per cent less, as a geodesic may be longer than a great circle
    places, others = pairs(5_000, radius * 0.995)
    apart = space.distances[dx.geo.nearest(space, places), dx.geo.nearest(space, others)].max()
    h = max(dx.geo.points([centre, corner]).distances[0, 1] for centre, corner in _corners(space))
    assert apart * epsilon <= 1 + 1e-9
    assert 1 / epsilon <= (radius + 2.2 * h) * longer


def _corners(space: dx.MetricSpace) -> list[tuple[np.ndarray, np.ndarray]]:
    where = dx.geo.positions(space)
    assert where.outlines is not None
    return [(where.degrees[k], corner) for k in range(0, len(space), 5) for corner in where.outlines[k]]


def test_few_cells_and_cells_far_apart_have_a_finite_level() -> None:
    one = lyon(spacing=None, shape=(1, 1))
    far = dx.geo.h3_cells(cells=["872baa444ffffff", "872baa46affffff", "8708866e4ffffff"])
    for space in (one, far):
        assert 0 < dx.geo.level(1.0, 0.1, space=space) < 10


def test_a_level_is_a_number_that_remembers() -> None:
    epsilon = dx.geo.level("ln(4)", 0.5, space=lyon())
    for same in (copy.deepcopy(epsilon), pickle.loads(pickle.dumps(epsilon))):
        assert (same, same.level, same.radius, same.positions) == (epsilon, math.log(4), 0.5, True)
    assert dx.geo.level(2, 4) == 0.5 and not dx.geo.level(2, 4).positions and type(2 * epsilon) is float
    problem = dx.Problem(lyon(), epsilon=epsilon, prior="uniform")
    assert type(problem.epsilon) is float and problem.but(name="other").within is epsilon
    assert problem.at(1.0).within is None


def test_a_level_for_positions_needs_their_cells() -> None:
    places = dx.geo.points([[45.7, 4.8], [45.8, 4.9]])
    with pytest.raises(dx.SpecError, match="no cells"):
        dx.geo.level(1.0, 1.0, space=places)
    with pytest.raises(dx.SpecError, match="another space"):
        dx.Problem(lyon(spacing=4.0), epsilon=dx.geo.level(1.0, 1.0, space=lyon()), prior="uniform")


def test_explanations_tell_of_positions_first(town: dx.Report) -> None:
    told = dx.explain(town).sentences
    assert told[0][1] == (
        "Seeing one report, nobody can change the odds between two positions within 0.5 km of each other by more "
        "than a factor of 4."
    )
    assert told[1][0] == "places" and "take ε" not in told[1][1] and "no promise" in told[1][1]
    assert dx.explain(town).factor == pytest.approx(4.0, rel=1e-6)
    assert (dx.explain(town, distance=3).factor or 0) > 4
    assert "two positions within 0.5 km of each other by a factor of 4 at most" in str(town)


def test_it_is_saved_and_verified(town: dx.Report, tmp_path: Path) -> None:
    folder = town.save(tmp_path / "town")
    within = dx.load(folder).problem.within
    assert within is not None and (within.radius, within.positions) == (0.5, True)
    checks = {check.name: check for check in verify(folder).checks}
    assert "between positions within 0.5" in checks["within"].detail
    # a larger radius, or a smaller level, is more than was proven
    honest = {"level": within.level, "radius": within.radius, "positions": within.positions}
    for key, value in (("radius", 3.0), ("level", 1.0), ("positions", 1), ("radius", -1.0), ("level", "ln(4)")):
        change_claims(folder, within={**honest, key: value})
        with pytest.raises(dx.SpecError):
            dx.load(folder)
        assert {check.name: check for check in verify(folder).checks}["within"].status == "fails"
    change_claims(folder, within=None)
    assert dx.load(folder).problem.within is None


def test_a_problem_file_asks_for_positions(tmp_path: Path) -> None:
    file = tmp_path / "town.yaml"
    sides = ", ".join(f"{key}: {side}" for key, side in zip(("south", "west", "north", "east"), SIDES, strict=True))
    text = f"space: {{kind: bounding_box, {sides}, spacing: 2}}\nprivacy: {{level: ln(4), radius: 0.5, for: WHAT}}\n"
    found = []
    for what in ("positions", "places"):
        file.write_text(text.replace("WHAT", what), encoding="utf-8")
        found.append(dx.read(file))
    assert found[0].epsilon == dx.geo.level("ln(4)", 0.5, space=lyon())
    assert found[1].epsilon == math.log(4) / 0.5
    assert [one.within.positions for one in found if one.within is not None] == [True, False]


def test_a_sidecar_states_the_factor_and_the_budget(town: dx.Report, tmp_path: Path) -> None:
    folder, data = town.save(tmp_path / "town"), tmp_path / "people.csv"
    data.write_text("person,lat,lon\nann,45.75,4.85\nbob,46.5,4.85\n", encoding="utf-8")
    where: dict[str, Any] = {"lat": "lat", "lon": "lon", "outside": "nearest"}
    default = f"3x{town.table.epsilon!r}"  # pyright: ignore[reportAttributeAccessIssue]
    with dx.Budgets.open(tmp_path / "b.sqlite", create=True, unit="per km", default=default) as budgets:
        done = dx.apply(folder, data, tmp_path / "out.csv", person="person", ledger=budgets, **where)
    privacy = done.said["privacy"]
    assert privacy["near"]["radius"] == 0.5 and privacy["near"]["factor"] == pytest.approx(4, rel=1e-6)
    assert done.said["budgets"]["default_rows"] == 3
    told = dict(done.sentences)
    assert "within 0.5 km" in told["positions"] and "factor of 4;" in told["positions"]
    assert "at most 64." in told["budget"] and "does not hold" in told["outside"]
    plain = dx.apply(town, data, tmp_path / "plain.csv", **where).said
    assert plain["privacy"]["near"] == privacy["near"] and plain["budgets"] is None
    wide = dx.apply(town.table, data, tmp_path / "wide.csv", lat="lat", lon="lon", within=100.0).said
    assert wide["privacy"]["near"]["factor"] > 4


def test_several_reports_are_told_as_histories_of_positions() -> None:
    """The ε that is told for each of five keeps the factor of one, as it is the level by five at most."""
    city = dx.geo.bounding_grid(45.71, 4.78, 45.80, 4.91, spacing=1)
    whole, each = (dx.geo.level(level, 0.5, space=city) for level in ("ln(4)", math.log(4) / 5))
    text = dict(dx.explain(dx.Problem(city, epsilon=whole, prior="uniform"), reports=5).sentences)["several reports"]
    assert (
        "two histories of 5 positions, each within 0.5 km of the other's, are told apart by a factor of at most "
        "1,024 (an even chance becomes 99.91 % at most)."
    ) in text
    assert "For a factor of 4 after all 5, take ε = 0.195 per km." in text
    assert 0.195 <= each < 0.196
