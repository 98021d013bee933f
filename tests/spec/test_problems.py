"""Problems that Python reads from problem files."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import dxopt as dx


def test_a_file_is_the_problem_that_dxopt_solves(tmp_path: Path) -> None:
    file = tmp_path / "town.yaml"
    file.write_text("space: {kind: line, size: 4}\nepsilon: ln(4)\nobjective: worst_loss\n", encoding="utf-8")
    for given in (file, str(file)):
        problem = dx.read(given)
        assert problem.name == "town"
        assert problem.epsilon == math.log(4)
        assert problem.objective.name == "worst_loss"
        assert dx.solve(problem).certificate.private


def test_one_of_a_family_is_named(tmp_path: Path) -> None:
    file = tmp_path / "town.yaml"
    file.write_text("space: {kind: line, size: 4}\nepsilon: [1, 2, 3, 4, 5, 6]\n", encoding="utf-8")
    assert dx.read(file, name="town [epsilon=2]").epsilon == 2
    some = "'town [epsilon=1]', 'town [epsilon=2]', 'town [epsilon=3]', 'town [epsilon=4]', 'town [epsilon=5]', ..."
    with pytest.raises(dx.SpecError) as refused:
        dx.read(file)
    assert str(refused.value) == f"name: is missing, and {file} has 6 problems; give one of {some}"
    with pytest.raises(dx.SpecError, match="name: there is no 'city'; give one of 'town"):
        dx.read(file, name="city")


def test_errors_have_their_position(tmp_path: Path) -> None:
    file = tmp_path / "town.yaml"
    file.write_text("space: {kind: line, size: 0}\nepsilon: 1\n", encoding="utf-8")
    with pytest.raises(dx.SpecError, match=r"town.yaml:1:27: space.size"):
        dx.read(file)
    with pytest.raises(dx.SpecError, match="file: does not exist; check the name"):
        dx.read(tmp_path / "none.yaml")


def test_rows_in_another_order_than_the_values_that_they_name(tmp_path: Path) -> None:
    """Sorted by weight, and so taken for other values; a column that names them finds them."""
    (tmp_path / "seen.csv").write_text("people,count\n9,2\n5,0\n1,1\n", encoding="utf-8")
    file = tmp_path / "town.yaml"
    text = "space: {kind: line, size: 3}\nepsilon: 1\nprior: {kind: column, file: seen.csv, column: people%s}\n"
    file.write_text(text % "", encoding="utf-8")
    (warning,) = dx.read(file).prior.concerns
    assert warning.kind == "rows_in_another_order"
    assert str(warning) == (
        "prior: the rows of seen.csv are not in the order of the points, which its column 'count' names; "
        "write label: count, unless they are meant to count for the points in turn"
    )
    file.write_text(text % ", label: count", encoding="utf-8")
    named = dx.read(file)
    assert named.prior.concerns == ()
    assert named.prior.probabilities.tolist() == [5 / 15, 1 / 15, 9 / 15]
    (tmp_path / "seen.csv").write_text("people,count\n5,0\n1,1\n9,2\n", encoding="utf-8")
    file.write_text(text % "", encoding="utf-8")
    assert dx.read(file).prior.concerns == ()
