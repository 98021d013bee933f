"""Problems that Python reads from problem files."""

from __future__ import annotations

import math
import re
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
    with pytest.raises(dx.SpecError, match=r"file: there is no file .*; check the name"):
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


@pytest.mark.parametrize(
    ("cell", "wrong"),
    [
        (
            "21",
            "seen.csv line 5 is no point of the space: it is beyond the ends, 0 and 20; remove it, or take a space",
        ),
        (
            "-1",
            "seen.csv line 5 is no point of the space: it is beyond the ends, 0 and 20; remove it, or take a space",
        ),
        ("4.5", "seen.csv line 5 is no point of the space; remove or round it"),
        ("1_0", "seen.csv line 5, column 'count' is not a number; give a finite number"),
    ],
)
def test_samples_that_are_no_point_are_told_by_their_line(tmp_path: Path, cell: str, wrong: str) -> None:
    (tmp_path / "seen.csv").write_text(f"count\n3\n\n3\n{cell}\n-7\n", encoding="utf-8")
    file = tmp_path / "town.yaml"
    text = "space: {kind: line, size: 21}\nepsilon: 1\nprior: {kind: samples, file: seen.csv, columns: [count]}\n"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(dx.SpecError) as refused:
        dx.read(file)
    assert re.match(rf".*town.yaml:3:\d+: prior.columns(\[0\])?: {re.escape(wrong)}", str(refused.value))


def test_labels_of_samples_that_are_none_are_told_by_their_line(tmp_path: Path) -> None:
    (tmp_path / "seen.csv").write_text("place\nwest\nnorth\n", encoding="utf-8")
    file = tmp_path / "town.yaml"
    prior = "{kind: samples, file: seen.csv, columns: [place]}"
    text = f"space: {{kind: graph, edges: [[west, east]]}}\nepsilon: 1\nprior: {prior}\n"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(dx.SpecError, match=r"seen.csv line 3 is none of the points; use labels"):
        dx.read(file)


@pytest.mark.parametrize("prior", ["kind: column, column: w, label: who", "kind: samples, columns: [who]"])
def test_labels_with_decimal_commas_are_read_as_is_said(tmp_path: Path, prior: str) -> None:
    (tmp_path / "seen.csv").write_text(
        'who;w\nmill;5,0\n7,0;1,5\n"1,2";2\n' if "label" in prior else "who;w\n7,0;1\n"
    )
    text = "space: {kind: graph, edges: [[mill, '7'], [mill, '1,2']]}\nepsilon: 1\n"
    file = tmp_path / "town.yaml"
    file.write_text(f"{text}prior: {{{prior}, file: seen.csv}}\n", encoding="utf-8")
    with pytest.raises(dx.SpecError, match=r"prior.(label|columns\[0\]): seen.csv line \d, .*decimal"):
        dx.read(file)
    file.write_text(f"{text}prior: {{{prior}, file: seen.csv, decimal: ','}}\n", encoding="utf-8")
    found = dx.read(file)
    assert found.prior.probabilities[found.space.index("7")] == (1.5 / 8.5 if "label" in prior else 1)


def test_raw_observations_as_a_column_are_told_of_samples(tmp_path: Path) -> None:
    (tmp_path / "seen.csv").write_text("count\n" + "1\n" * 5, encoding="utf-8")
    file = tmp_path / "town.yaml"
    text = "space: {kind: line, size: 3}\nepsilon: 1\nprior: {kind: column, file: seen.csv, column: count}\n"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(dx.SpecError, match=r"prior.column: seen.csv has 5 rows for 3 points; .* by kind: samples"):
        dx.read(file)
    file.write_text(
        text.replace("kind: column", "kind: samples").replace("column: count", "columns: [count]"), "utf-8"
    )
    assert dx.read(file).prior.probabilities.tolist() == [0, 1, 0]
