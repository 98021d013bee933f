"""What is given for points is given for these points: priors know their space, Series their labels."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dxopt as dx
from tests.material.spec_files import task_of

WEIGHTS = [1.0, 2, 3, 4]
SPELT = [[2.0, 1.0, 0.0, 3.0], ["2.0", "1", " 0 ", "3.00"], [Decimal("2.00"), 1, "0\u200b", np.float32(3)]]
TOWN = dx.geo.points([[45.7, 4.8], [45.8, 4.8], [45.7, 4.9], [45.8, 4.9]], labels="ABCD")


def test_a_prior_of_another_space_is_refused() -> None:
    lyon = dx.geo.bounding_grid(45.70, 4.78, 45.80, 4.92, shape=(2, 2))
    paris = dx.geo.bounding_grid(48.80, 2.25, 48.90, 2.39, shape=(2, 2))
    theirs = dx.Prior.from_weights(paris, WEIGHTS)
    with pytest.raises(dx.SpecError, match="is of another space: its point 0 is") as caught:
        dx.Problem(lyon, epsilon=1.0, prior=theirs)
    assert caught.value.field == "prior"
    ours = dx.Prior.from_weights(lyon, WEIGHTS)
    report = dx.solve(dx.Problem(lyon, epsilon=1.0, prior=ours))
    with pytest.raises(dx.SpecError, match="another space"):
        dx.evaluate.expected_loss(report.mechanism, theirs, "distance")
    with pytest.raises(dx.SpecError, match="another space"):
        dx.compare(report.problem, ["exponential"], priors={"theirs": theirs})
    with pytest.raises(dx.SpecError, match=r"its point 1 is '10', here it is '1'"):
        dx.Problem(dx.line(4), epsilon=1.0, prior=dx.Prior.from_weights(dx.line(4, step=10), WEIGHTS))


def test_a_prior_of_the_same_points_or_of_no_space_is_taken() -> None:
    assert TOWN.points is not None
    again = dx.geo.points(TOWN.points, labels="ABCD")
    projected = dx.geo.points(TOWN.points, project=True)
    prior = dx.Prior.from_weights(TOWN, WEIGHTS)
    for space in (TOWN, again, projected, dx.geo.points(TOWN.points, unit="m")):
        assert dx.Problem(space, epsilon=1.0, prior=prior).prior is prior
    wide = dx.grid((2, 2), spacing=3.0)
    assert dx.Problem(wide, epsilon=1.0, prior=dx.Prior.from_weights(dx.grid((2, 2)), WEIGHTS))
    assert dx.Problem(wide, epsilon=1.0, prior=dx.Prior(prior.probabilities))
    assert dx.Problem(wide, epsilon=1.0, prior=dx.Prior.uniform(TOWN))
    given = dx.MetricSpace.from_distances(TOWN.distances, labels="ABCD")
    assert dx.Problem(given, epsilon=1.0, prior=prior)
    with pytest.raises(dx.SpecError, match="another space"):
        dx.Problem(dx.MetricSpace.from_distances(TOWN.distances), epsilon=1.0, prior=prior)


def test_a_series_is_taken_by_label() -> None:
    series = pd.Series(WEIGHTS, index=list("ABCD"))
    expected = (np.array(WEIGHTS) / 10).tolist()
    for order in ("ABCD", "DCBA", "CADB"):
        assert dx.Prior.from_weights(TOWN, series[list(order)]).probabilities.tolist() == expected
    counted = pd.Series(WEIGHTS, index=[0.0, 1.0, 2.0, 3.0])[[3.0, 1.0, 0.0, 2.0]]
    assert dx.Prior.from_weights(dx.line(4), counted).probabilities.tolist() == expected


def test_a_series_is_taken_by_the_numbers_of_cells() -> None:
    cells = ["891f902e623ffff", "891f902e6b7ffff", "891f902e40bffff"]
    space = dx.geo.h3_cells(cells=cells)
    for kind in (int, str):
        seen = pd.Series([5, 3, 2], index=[kind(int(cell, 16)) for cell in reversed(cells)])
        assert dx.Prior.from_weights(space, seen).probabilities.tolist() == [0.2, 0.3, 0.5]


def test_a_numbering_of_rows_is_no_label() -> None:
    expected = (np.array(WEIGHTS) / 10).tolist()
    for index in (range(4), [0.0, 1.0, 2.0, 3.0]):
        series = pd.Series(WEIGHTS, index=index)
        assert dx.Prior.from_weights(TOWN, series).probabilities.tolist() == expected
    assert dx.Prior.from_weights(dx.line(4, step=5), pd.Series(WEIGHTS)).probabilities.tolist() == expected


@pytest.mark.parametrize(
    ("space", "index", "wrong"),
    [
        (TOWN, list("ABCX"), "has 'X', which is no label"),
        (TOWN, list("AABC"), "has the label 'A' twice"),
        (dx.line(4), [1, 2, 3, 4], "has '4', which is no label"),
        (TOWN, [7, 2, 9, 4], "has '7', which is no label"),
        (TOWN, [1, 0, 2, 3], "has '1', which is no label"),
    ],
)
def test_a_series_of_other_labels_is_refused(space: dx.MetricSpace, index: list[object], wrong: str) -> None:
    with pytest.raises(dx.SpecError, match=wrong) as caught:
        dx.Prior.from_weights(space, pd.Series(WEIGHTS, index=index))
    assert caught.value.field == "prior"
    assert ("dx.prior_from_frame" in str(caught.value)) == ("twice" not in wrong)


@pytest.mark.parametrize("spelt", SPELT, ids=["float", "text", "mixed"])
def test_labels_of_frames_and_files_are_found_by_their_identity(spelt: list[Any], tmp_path: Path) -> None:
    line = dx.line(4)
    expected = np.array([3.0, 2, 1, 4]) / 10
    series = pd.Series(WEIGHTS, index=pd.Index(spelt, dtype=None if spelt is SPELT[0] else object))
    assert np.allclose(dx.prior_from_frame(line, series).probabilities, expected)
    assert np.allclose(dx.prior_from_frame(line, series.iloc[:3], missing=4).probabilities, expected)
    matrix = dx.classic.exponential(line, epsilon=1.0).matrix
    order = [2, 1, 0, 3]
    frame = pd.DataFrame(matrix[np.ix_(order, order)], index=series.index, columns=series.index)
    found = dx.mechanism_from_frame(line, frame)
    assert found.reports.secrets and np.array_equal(found.matrix, matrix)
    rows = "".join(f'"{name}",{weight}\n' for name, weight in zip(spelt, WEIGHTS, strict=True))
    (tmp_path / "w.csv").write_text(f"place,w\n{rows}", encoding="utf-8")
    task = task_of(
        tmp_path,
        "space: {kind: line, size: 4}\nepsilon: 1\nprior: {kind: column, file: w.csv, column: w, label: place}\n",
    )
    assert np.allclose(task.problem.prior.probabilities, expected)
