"""What is seldom meant is warned of, once and by its kind; its honest neighbours are silent."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dxopt as dx
from dxopt.model.plausibility import LEAST_BUDGET, MOST_BUDGET, of_problem
from tests.material.files import ROOT

LEVEL = math.log(4)
LYON = np.random.default_rng(3).normal([45.75, 4.85], [0.02, 0.03], (40, 2))
FRAME = pd.DataFrame(LYON, columns=["lat", "lon"])
CELLS = dx.geo.bounding_grid(45.70, 4.78, 45.80, 4.92, spacing=2)


def kinds(space: dx.MetricSpace, epsilon: float = LEVEL, **more: Any) -> list[str]:
    """The kinds of warnings of a problem about a space."""
    asked = {"epsilon": epsilon, "prior": dx.Prior.uniform(space), "loss": "binary", **more}
    return [warning.kind for warning in of_problem(dx.Problem(space, **asked))]


def announced(call: Callable[[], Any]) -> list[Any]:
    """The plausibility warnings that a call gives in Python."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    return [one for one in seen if issubclass(one.category, dx.PlausibilityWarning)]


def test_a_warning_is_one_line_and_survives_pickling() -> None:
    warning = dx.PlausibilityWarning("level_too_low", "epsilon", "is 0.1", "give more")
    assert str(warning) == "epsilon: is 0.1; give more"
    assert issubclass(dx.PlausibilityWarning, UserWarning)
    again = pickle.loads(pickle.dumps(warning))
    assert again.content() == {"kind": "level_too_low", "field": "epsilon", "seen": "is 0.1", "fix": "give more"}


# the level


@pytest.mark.parametrize(
    "space",
    [
        dx.line(11, step=0.5),
        dx.grid((4, 3), spacing=2.0, metric="manhattan"),
        dx.torus((5, 5)),
        dx.product(dx.line(3), dx.line(4, step=2.0)),
        dx.MetricSpace.from_points([[0.0, 0], [1, 5], [3, 2]]),
        dx.MetricSpace.from_points([[0.0], [1], [5]]),
        dx.MetricSpace.from_distances([[0, 1, np.inf], [2, 0, np.inf], [np.inf, np.inf, 0]]),
        dx.MetricSpace.from_graph(nx.cycle_graph(7)),
        dx.MetricSpace.from_graph(nx.star_graph(4)),
        dx.geo.points(LYON),
    ],
    ids=repr,
)
def test_the_level_is_compared_with_diameter_and_neighbours(space: dx.MetricSpace) -> None:
    distances = np.where(np.isfinite(space.distances), space.distances, -1.0)
    diameter = float(distances.max())
    apart = space.distances + np.diag(np.full(len(space), np.inf))
    nearest = apart.min(axis=1)
    typical = float(np.median(nearest[np.isfinite(nearest)]))
    assert kinds(space, 0.99 * LEAST_BUDGET / diameter) == ["level_too_low"]
    assert kinds(space, 1.01 * LEAST_BUDGET / diameter) == []
    assert kinds(space, 0.99 * MOST_BUDGET / typical) == []
    assert kinds(space, 1.01 * MOST_BUDGET / typical) == ["level_too_high"]


def test_delta_and_no_level_at_all_are_no_small_level() -> None:
    space = dx.line(3)
    assert kinds(space, 0.001) == ["level_too_low"]
    assert kinds(space, 0.001, delta=0.2) == []
    assert kinds(space, None, objective=dx.AdversaryError(max_loss=1.0)) == []  # pyright: ignore[reportArgumentType]


def test_an_honest_line_of_counts_is_silent_however_long() -> None:
    assert kinds(dx.line(1001), 1.0) == []
    assert kinds(dx.line(300_000), 0.5) == []


def test_units_of_a_city() -> None:
    metres = dx.geo.points(LYON, unit="m")
    assert kinds(metres, LEVEL) == ["level_too_high"]
    assert kinds(metres, LEVEL / 1000) == kinds(dx.geo.points(LYON), LEVEL) == []
    assert kinds(dx.geo.points(LYON), LEVEL / 1000) == ["level_too_low"]
    assert kinds(dx.grid((5, 5), spacing=500.0)) == ["level_too_high"]


def cells(spacing: float, **more: Any) -> dx.MetricSpace:
    return dx.geo.bounding_grid(45.70, 4.78, 45.80, 4.92, spacing=spacing, **more)


def test_a_radius_in_another_unit() -> None:
    assert kinds(CELLS, dx.geo.level("ln(4)", 500)) == ["radius_too_large"]
    assert kinds(dx.line(11), dx.geo.level("ln(4)", 20.1)) == ["radius_too_large"]
    assert kinds(dx.line(11), dx.geo.level("ln(4)", 19.9)) == []
    assert kinds(cells(2000, unit="m"), dx.geo.level("ln(4)", 2500)) == []
    assert kinds(dx.line(11), LEVEL / 20.1) == ["level_too_low"] * (LEVEL / 20.1 * 10 < LEAST_BUDGET)


def test_positions_that_were_forgotten() -> None:
    level = dx.geo.level("ln(4)", 0.5)
    (warning,) = of_problem(dx.Problem(cells(1.2), epsilon=level, prior="uniform"))
    assert (warning.kind, warning.field) == ("positions_forgotten", "radius")
    side = float(np.median(np.where(cells(1.2).distances > 0, cells(1.2).distances, np.inf).min(axis=1)))
    told = float(warning.seen.split("a factor of ")[1].split(",")[0])
    assert told == pytest.approx(4 ** (side / 0.5), rel=0.01)
    assert warning.seen.endswith("not 4")
    assert kinds(cells(0.9), level) == []
    assert kinds(cells(1.2), dx.geo.level("ln(4)", 0.5, space=cells(1.2))) == []
    assert kinds(cells(1.2), float(level)) == []
    assert kinds(dx.geo.points([[45.7, 4.8], [45.7, 4.82]]), dx.geo.level("ln(4)", 0.5)) == []


def test_cells_as_long_as_the_radius() -> None:
    fine, coarse = cells(1.98), cells(2.2)
    assert kinds(fine, dx.geo.level("ln(4)", 2.0, space=fine)) == ["cells_below_radius"]
    assert kinds(coarse, dx.geo.level("ln(4)", 2.0, space=coarse)) == []
    small = cells(1.2)
    assert kinds(small, dx.geo.level("ln(4)", 2.0, space=small)) == []
    assert kinds(fine, dx.geo.level("ln(4)", 2.0)) == []


# the space


def test_degenerate_spaces() -> None:
    one_cell = dx.geo.bounding_grid(45.70, 4.78, 45.80, 4.92, spacing=500)
    together = dx.MetricSpace.from_points(np.ones((4, 2)))
    apart = dx.MetricSpace.from_distances(np.where(np.eye(3) > 0, 0.0, np.inf))
    for space in (one_cell, together, apart):
        assert kinds(space) == ["space_degenerate"]
    assert kinds(dx.MetricSpace.from_points([[1.0, 1], [1, 1], [1, 2]])) == []
    alone = dx.MetricSpace.from_distances([[0.0]])
    for space, spaced in ((one_cell, True), (dx.line(1), True), (alone, False)):
        (warning,) = of_problem(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)))
        assert ("spacing" in warning.fix) is spaced
        assert warning.fix.endswith("give more points")


def test_labels_that_are_alike() -> None:
    with pytest.raises(dx.SpecError, match=r"^labels: "):
        dx.geo.points(LYON, labels=["A", "A", *range(38)])
    assert kinds(dx.geo.points(LYON, labels=range(40))) == []


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "normalised_manhattan", "chebyshev"])
def test_degrees_by_name_under_a_plane_metric(metric: str) -> None:
    rounded = FRAME.round(1)
    for names in (["lat", "lon"], ["pickup_latitude", "pickup_longitude"], ["LNG", "Lat"]):
        space = dx.MetricSpace.from_points(rounded.set_axis(names, axis=1), metric)
        assert "degrees_in_a_plane" in kinds(space, 10.0)
    for names in (["x", "y"], ["lat", "size"], ["plate", "along"]):
        space = dx.MetricSpace.from_points(rounded.set_axis(names, axis=1), metric)
        assert "degrees_in_a_plane" not in kinds(space, 10.0)


def test_degrees_by_their_numbers() -> None:
    for places in (LYON, LYON[:, ::-1], LYON * [1, -15]):
        assert kinds(dx.MetricSpace.from_points(places), 20.0) == ["degrees_in_a_plane"]


@pytest.mark.parametrize(
    "points",
    [
        LYON[:4],  # few
        LYON - LYON.mean(axis=0),  # around 0
        LYON.round(2),  # few digits
        LYON * 1000,  # metres of a map
        np.random.default_rng(1).uniform(0, 10, (50, 2)),
        np.random.default_rng(1).normal(0, 1, (50, 2)),
        np.column_stack([LYON, LYON[:, 0]]),
    ],
)
def test_coordinates_of_a_plane_are_no_degrees(points: Any) -> None:
    assert "degrees_in_a_plane" not in kinds(dx.MetricSpace.from_points(points), 1.0)


def test_places_on_the_earth_are_no_plane() -> None:
    assert kinds(dx.MetricSpace.from_points(FRAME, "haversine")) == []
    assert kinds(dx.geo.points(LYON, project=True)) == []
    assert kinds(dx.grid((50, 50), spacing=0.01), 100.0) == []


# the prior


def test_check_ins_outside_are_counted() -> None:
    rng = np.random.default_rng(4)
    inside = rng.normal([45.75, 4.85], [0.015, 0.02], (900, 2))
    far = rng.normal([45.75, 5.5], 0.01, (100, 2))
    assert kinds(CELLS, prior=dx.Prior.from_check_ins(CELLS, inside)) == []
    few = dx.Prior.from_check_ins(CELLS, np.concatenate([inside, far[:40]]))
    assert kinds(CELLS, prior=few) == []
    many = dx.Prior.from_check_ins(CELLS, np.concatenate([inside, far]))
    assert kinds(CELLS, prior=many) == ["check_ins_outside"]
    assert str(many.concerns[0]).startswith("prior: 10% of the check-ins are outside of the space, up to 4")
    light = dx.Prior.from_check_ins(CELLS, np.concatenate([inside, far]), [1.0] * 900 + [0.1] * 100)
    assert kinds(CELLS, prior=light) == []
    asked = dx.Prior.from_check_ins(CELLS, np.concatenate([inside, far]), within=2)
    assert kinds(CELLS, prior=asked) == []
    most = dx.Prior.from_check_ins(CELLS, np.concatenate([inside[:50], far]), within=2)
    assert kinds(CELLS, prior=most) == ["check_ins_outside"]


def test_check_ins_that_are_all_outside_are_an_error() -> None:
    seen = np.random.default_rng(4).normal([45.75, 4.85], [0.015, 0.02], (50, 2))
    for space, places in ((CELLS, seen[:, ::-1]), (dx.geo.points(LYON[:, ::-1]), seen)):
        with pytest.raises(dx.SpecError, match=r"all of them.*fit with their coordinates swapped") as caught:
            dx.Prior.from_check_ins(space, places)
        assert caught.value.field == "points"
    with pytest.raises(dx.SpecError, match="all of them") as caught:
        dx.Prior.from_check_ins(CELLS, seen + np.array([3.0, -2.5]))
    assert "swapped" not in str(caught.value)


def test_a_prior_on_one_point() -> None:
    line = dx.line(5)
    alone = dx.Prior.from_samples(line, [3, 3, 3])
    assert kinds(line, prior=alone) == ["prior_on_one_point"]
    assert kinds(line, prior=dx.Prior.from_samples(line, [3, 3, 2])) == []
    assert kinds(line, prior=alone, objective="worst_loss") == []
    assert kinds(dx.line(1), prior=dx.Prior.uniform(dx.line(1))) == ["space_degenerate"]


# the answer


def test_a_constant_mechanism() -> None:
    line = dx.line(5)
    sure = dx.Prior.from_weights(line, [1, 1, 90, 1, 1])
    report = dx.solve(dx.Problem(line, epsilon=0.2, prior=sure))
    assert [warning.kind for warning in report.warnings] == ["mechanism_constant"]
    assert "'2'" in str(report.warnings[0])
    assert not dx.solve(dx.Problem(line, epsilon=3.0, prior=sure)).warnings
    large = dx.Problem(dx.line(300), epsilon=0.02, prior=dx.Prior.from_weights(dx.line(300), [1] * 299 + [1e6]))
    assert [warning.kind for warning in dx.solve(large).warnings] == ["mechanism_constant"]


def test_what_the_problem_explains_is_not_said_twice() -> None:
    line = dx.line(5)
    for problem in (
        dx.Problem(line, epsilon=0.001, prior=dx.Prior.uniform(line)),
        dx.Problem(line, epsilon=1.0, prior=dx.Prior.from_samples(line, [3])),
    ):
        assert len(dx.solve(problem).warnings) == 1


# where warnings are shown


def low(epsilon: float = 0.001) -> dx.Problem:
    return dx.Problem(dx.line(4), epsilon=epsilon, prior=dx.Prior.from_weights(dx.line(4), [1, 2, 3, 4]))


@pytest.mark.parametrize(
    "call",
    [
        "dx.solve(low())",
        "dx.solve(problem=low())",
        'dx.compare(low(), ["exponential", "geometric"])',
        'dx.sweep(low(1.0), [0.001, 0.002], ["exponential"])',
        "dx.frontier(low(1.0), 0.001, 0.002, resolution=0.5)",
    ],
)
def test_each_question_announces_once_at_the_line_that_asks(call: str) -> None:
    (seen,) = announced(lambda: exec(compile(call, "asker.py", "exec"), {"dx": dx, "low": low}))
    assert seen.message.kind == "level_too_low"
    assert seen.filename == "asker.py"
    constant = "line = dx.line(5)\nprior = dx.Prior.from_weights(line, [1, 1, 90, 1, 1])\n"
    (later,) = announced(
        lambda: exec(
            compile(f"{constant}dx.solve(dx.Problem(line, epsilon=0.2, prior=prior))", "asker.py", "exec"), {"dx": dx}
        )
    )
    assert (later.message.kind, later.filename, later.lineno) == ("mechanism_constant", "asker.py", 3)


def test_a_comparison_warns_of_its_other_priors() -> None:
    line = dx.line(4)
    alone = dx.Prior.from_samples(line, [2])
    (seen,) = announced(lambda: dx.compare(low(1.0), ["exponential"], priors={"alone": alone}))
    assert seen.message.kind == "prior_on_one_point"


def test_levels_that_are_asked_for_are_meant() -> None:
    assert announced(lambda: dx.sweep(low(), [0.5, 1.0])) == []
    assert announced(lambda: dx.sweep(low(1.0), [0.001, 1.0])) == []  # one level of two
    sweep = dx.sweep(low(1.0), [0.001, 0.002])
    assert "warning: epsilon: is 0.001" in str(sweep)


def test_as_errors_they_come_before_anything_is_solved() -> None:
    told: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", dx.PlausibilityWarning)
        with pytest.raises(dx.PlausibilityWarning, match="level per metre"):
            dx.solve(low(), progress=told.append)
        assert told == []
        dx.solve(low(1.0))


def test_reports_show_them_and_files_do_not_decide(tmp_path: Any) -> None:
    report = dx.solve(low())
    assert str(report).startswith("warning  ")
    assert "level per metre" in report._repr_html_()
    folder = report.save(tmp_path / "one")
    text = (folder / "notes.json").read_text(encoding="utf-8")
    assert '"kind": "level_too_low"' in text
    (folder / "notes.json").write_text(text.replace("level_too_low", "made_up"), encoding="utf-8")
    assert [warning.kind for warning in dx.load(folder).warnings] == ["level_too_low"]
    honest = dx.solve(low(1.0))
    assert not honest.warnings and "warning" not in str(honest)


def test_every_kind_is_explained() -> None:
    text = (ROOT / "docs" / "guides" / "plausibility.md").read_text(encoding="utf-8")
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "dxopt" / "model").glob("*.py"))
    found = {part.split('"')[1] for part in code.split("PlausibilityWarning(")[1:] if part.startswith('"')}
    assert len(found) == 10
    assert all(f"| `{kind}` |" in text for kind in found)
