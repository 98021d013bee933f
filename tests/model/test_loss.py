"""Losses by name, matrix and function, over the secrets or over other reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.verify import verify


@pytest.fixture
def grid() -> dx.MetricSpace:
    return dx.grid((1, 3), spacing=2.0)


def test_named_losses(grid: dx.MetricSpace) -> None:
    assert np.array_equal(dx.Loss.of("distance", grid).matrix, grid.distances)
    assert dx.Loss.of("squared", grid).matrix[0].tolist() == [0, 4, 16]
    assert dx.Loss.of("binary", grid).matrix.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert dx.Loss.of("binary", grid).name == "binary"
    with pytest.raises(dx.SpecError, match="binary, distance, squared"):
        dx.Loss.of("cubic", grid)


def test_loss_by_distance_is_from_secret_to_report() -> None:
    space = dx.MetricSpace.from_distances([[0, 1], [3, 0]])
    assert dx.Loss.of("distance", space).matrix.tolist() == [[0, 1], [3, 0]]


def test_columns_of_asymmetric_distances_are_those_of_the_matrix() -> None:
    for space in (dx.MetricSpace.from_distances([[0, 1, 2], [3, 0, 1], [4, 5, 0]]), dx.line(4)):
        for name in ("distance", "squared", "binary"):
            loss = dx.Loss.of(name, space)
            assert loss.columns(np.arange(len(space))).tolist() == loss.matrix.tolist()


def test_matrices(grid: dx.MetricSpace) -> None:
    source = np.array([[0.0, 1.0], [2.0, -1.0], [np.inf, 4.0]])
    loss = dx.Loss.of(source, grid)
    source[0, 0] = 9.0
    assert loss.matrix.tolist() == [[0, 1], [2, -1], [np.inf, 4]]
    assert loss.reports.labels == ("0", "1")
    assert not loss.reports.secrets
    with pytest.raises(ValueError, match="read-only"):
        loss.matrix[0, 0] = 1.0
    square = dx.Loss.of(np.zeros((3, 3)), grid)
    assert square.reports.secrets
    assert square.reports.labels == grid.labels


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (np.zeros((2, 3)), r"shape \(2, 3\)"),
        (np.zeros(3), "shape"),
        (np.zeros((3, 0)), "shape"),
        ([[0, np.nan], [0, 0], [0, 0]], r"\[0, 1\] is nan"),
        ([[0, 0], [0, 0], [-np.inf, 0]], r"\[2, 0\] is -inf"),
        ([["a"], ["b"], ["c"]], "numbers"),
    ],
)
def test_bad_matrices(grid: dx.MetricSpace, loss: object, message: str) -> None:
    with pytest.raises(dx.SpecError, match=message):
        dx.Loss.of(loss, grid)  # pyright: ignore[reportArgumentType]


def test_functions_get_coordinates_or_labels(grid: dx.MetricSpace) -> None:
    loss = dx.Loss.of(lambda x, w: max(0.0, w[1] - x[1]), grid)
    assert loss.matrix.tolist() == [[0, 2, 4], [0, 0, 2], [0, 0, 0]]
    named = dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=["a", "bcd"])

    def longer(secret: str, report: str) -> float:
        return len(report) - len(secret)

    by_label = dx.Loss.of(longer, named)
    assert by_label.matrix.tolist() == [[0, 2], [-2, 0]]
    assert by_label.name == "longer"


def test_reports_elsewhere(grid: dx.MetricSpace) -> None:
    reports = dx.Reports.at([[0.0, 1.0], [0.0, 4.0]], labels=["mid", "end"])
    loss = dx.Loss.of("distance", grid, reports)
    assert loss.matrix.tolist() == [[1, 4], [1, 2], [3, 0]]
    assert loss.reports.labels == ("mid", "end")
    assert dx.Loss.of("squared", grid, reports).matrix[0].tolist() == [1, 16]
    by_function = dx.Loss.of(lambda x, w: abs(x[1] - w[1]), grid, reports)
    assert np.array_equal(by_function.matrix, loss.matrix)
    with pytest.raises(dx.SpecError, match="binary needs the secrets"):
        dx.Loss.of("binary", grid, reports)
    with pytest.raises(dx.SpecError, match="shape"):
        dx.Loss.of(np.zeros((3, 3)), grid, reports)
    nowhere = dx.Reports(("a", "b"))
    with pytest.raises(dx.SpecError, match="coordinates"):
        dx.Loss.of("distance", grid, nowhere)
    given = dx.MetricSpace.from_distances([[0, 1], [1, 0]])
    with pytest.raises(dx.SpecError, match="matrix"):
        dx.Loss.of("distance", given, reports)


def test_a_loss_is_kept_as_it_is(grid: dx.MetricSpace) -> None:
    loss = dx.Loss.of("binary", grid)
    assert dx.Loss.of(loss, grid) is loss


def test_binary_is_told_by_the_numbers_not_by_the_name() -> None:
    line = dx.line(4)

    def binary(x: np.ndarray, w: np.ndarray) -> float:
        return float(abs(x[0] - w[0]) > 1)

    assert dx.Loss.of("binary", line).is_binary
    assert dx.Loss.of(1 - np.eye(len(line)), line).is_binary
    assert not dx.Loss.of(binary, line).is_binary
    assert not dx.Loss.of("distance", line).is_binary


def test_a_function_with_the_name_of_a_loss_of_dxopt_is_another_loss(tmp_path: Path) -> None:
    def distance(secret: object, report: object) -> float:
        return 1.0 if secret[0] == report[0] else 3.0  # pyright: ignore[reportIndexIssue]

    report = dx.solve(dx.Problem(dx.line(3), epsilon=1.0, prior="uniform", loss=distance))
    assert report.problem.loss.name == "own distance"
    assert dx.load(report.save(tmp_path / "result")).certificate == report.certificate


@pytest.mark.parametrize("loss", [lambda secret, report: "much", lambda secret: 1.0, lambda secret, report: 1 / 0])
def test_a_function_that_gives_no_number(grid: dx.MetricSpace, loss: Callable[..., float]) -> None:
    with pytest.raises(dx.SpecError, match=r"^loss: "):
        dx.Loss.of(loss, grid)


@pytest.mark.parametrize("name", ["distance", "squared"])
def test_a_named_loss_of_another_space_is_a_matrix(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    town = dx.MetricSpace.from_points(rng.uniform(0, 10, (6, 2)), unit="km")
    hops = dx.MetricSpace.from_distances(np.ones((6, 6)) - np.eye(6), labels=town.labels)
    problem = dx.Problem(hops, epsilon=1.0, prior="uniform", loss=dx.Loss.of(name, town))
    assert not problem.loss.by_distance
    report = dx.solve(problem)
    assert report.value == pytest.approx(dx.solve(problem.but(loss=dx.Loss.of(name, town).matrix)).value, rel=1e-9)
    report.save(tmp_path / "result")
    assert verify(tmp_path / "result").exit_code == 0
    assert dx.load(tmp_path / "result").value == report.value

    # guesses of an adversary as well; the same distances again are no other space
    error = dx.AdversaryError(5.0, dx.Loss.of(name, town))
    assert dx.solve(problem.but(objective=error, epsilon=None)).value > 0
    assert town.points is not None
    again = dx.MetricSpace.from_points(town.points, unit="km")
    assert dx.Problem(again, epsilon=1.0, prior="uniform", loss=dx.Loss.of(name, town)).loss.by_distance


def test_reports_are_the_secrets_by_label() -> None:
    town = dx.line(3, step=2.0)
    loss = dx.Loss.of([[0, 1, 1], [1, 0, 1], [1, 1, 0]], town)
    plain = np.ones((3, 3)) - np.eye(3)
    same, other = (
        dx.Problem(dx.MetricSpace.from_distances(plain, labels=labels), epsilon=1.0, prior="uniform", loss=loss)
        for labels in (town.labels, "ABC")
    )
    assert same.reports.secrets
    assert same.reports.points is None
    assert not other.reports.secrets
    assert tuple(other.reports.labels) == tuple(town.labels)
