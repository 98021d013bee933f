"""Commas that YAML takes for the end of an entry: decimal ones in braces, and lists without brackets."""

from __future__ import annotations

from pathlib import Path

import pytest

from dxopt.spec import SpecFileError, load

LINE = "{kind: line, size: 6, unit: km}"


def refused(folder: Path, text: str) -> SpecFileError:
    file = folder / "town.yaml"
    file.write_text(f"name: town\n{text}\n", encoding="utf-8")
    with pytest.raises(SpecFileError) as caught:
        load(file)
    return caught.value


@pytest.mark.parametrize(
    ("text", "field", "column", "number"),
    [
        (f"space: {LINE}\nprivacy: {{level: ln(4), radius: 1,0}}", "privacy.radius", 33, "1.0"),
        (f"space: {LINE}\nprivacy: {{radius: 1,05, level: 1}}", "privacy.radius", 19, "1.05"),
        (f"epsilon: {{from: 0,5, to: 2, step: 0,5}}\nspace: {LINE}", "epsilon.from", 17, "0.5"),
        (f"space: {LINE}\nepsilon: 1\nexpect: {{value: 1,8}}", "expect.value", 17, "1.8"),
        ("epsilon: 1\nspace: {kind: line, size: 5, step: 0,5}", "space.step", 36, "0.5"),
        ("epsilon: 1\nspace: {kind: line, size: 1,000}", "space.size", 27, "1000"),
        ("epsilon: 1\nspace: {kind: bounding_box, south: -45,4, west: 7}", "space.south", 36, "-45.4"),
    ],
)
def test_a_decimal_comma_in_braces_is_refused_at_its_field(
    tmp_path: Path, text: str, field: str, column: int, number: str
) -> None:
    error = refused(tmp_path, text)
    assert (error.field, error.column) == (field, column)
    assert f" {number} " in error.fix or f" {number}," in error.fix


@pytest.mark.parametrize(
    ("number", "wrong"), [("{value: 0,005}", "[0, 005]"), ("{value: 1,000}", "[1, 000]"), ("{value: 0,005}", "0005,")]
)
def test_no_fix_is_a_number_that_is_refused(tmp_path: Path, number: str, wrong: str) -> None:
    error = refused(tmp_path, f"space: {LINE}\nprior: uniform\nepsilon: 1\nexpect: {number}")
    assert error.field == "expect.value"
    assert wrong not in error.fix


def test_a_number_with_a_sign_is_no_decimal_place(tmp_path: Path) -> None:
    error = refused(tmp_path, f"space: {LINE}\nprior: uniform\nepsilon: 1\nexpect: {{value: 1, -5}}")
    assert error.field == "expect.-5"


def test_a_list_that_may_be_one_number_is_told_of_where_it_is_refused(tmp_path: Path) -> None:
    joined, apart = (refused(tmp_path, f"space: {LINE}\nepsilon: {text}") for text in ("[0,5]", "[0, 5]"))
    assert joined.field == apart.field == "epsilon[0]"
    assert "0.5" in joined.fix and "0.5" not in apart.fix
    (tmp_path / "town.yaml").write_text(f"space: {LINE}\nprior: uniform\nepsilon: [0.5, 1,5]\n")
    assert len(load(tmp_path / "town.yaml")) == 3


@pytest.mark.parametrize(
    ("space", "field", "listed"),
    [
        ("{kind: grid, shape: 5x5}", "space.shape", "[5, 5]"),
        ("{kind: grid, shape: 3 × 4 X 5}", "space.shape", "[3, 4, 5]"),
        ("{kind: grid, shape: 5, 5}", "space.shape", "[5, 5]"),
        ("{kind: points, file: a.csv, columns: lat, lon}", "space.columns", "[lat, lon]"),
        ("{kind: points, columns: x, y, z, file: a.csv}", "space.columns", "[x, y, z]"),
        ("{kind: points, file: a.csv, columns: max x}", "space.columns", "[max x]"),
        ("\n  kind: points\n  file: a.csv\n  columns: lat, lon", "space.columns", "[lat, lon]"),
    ],
)
def test_a_list_without_brackets_is_shown_with_them(tmp_path: Path, space: str, field: str, listed: str) -> None:
    error = refused(tmp_path, f"epsilon: 1\nspace: {space}")
    assert error.field == field
    assert listed in error.fix


def test_what_is_no_comma_between_numbers_is_told_as_it_was(tmp_path: Path) -> None:
    assert refused(tmp_path, "epsilon: 1\nspace: {kind: line, size: 5, 7: 2}").field == "space.7"
    assert refused(tmp_path, "epsilon: 1\nspace: {kind: line, size: 5, stepp}").field == "space.stepp"
    assert refused(tmp_path, "epsilon: 1\nspace: {5, kind: line, size: 5}").field == "space.5"
