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
