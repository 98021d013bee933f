"""Problem files that have no end, or ask for something that has none: one line that says where, and at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dxopt.batch import run
from dxopt.spec import SpecFileError, load
from dxopt.spec import source as reader
from tests.material.endless import endless, pipe
from tests.material.spec_files import refusal, small

LINE = "{kind: line, size: 3}"
COLUMNS = "columns: [x]"


@pytest.mark.parametrize("damage", [endless, pipe])
def test_the_problem_file_is_no_plain_file(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    damage(tmp_path / "odd.yaml")
    with pytest.raises(SpecFileError, match=r"odd.yaml:1:1: file: .* cannot be read \(it is no plain file\)"):
        load(tmp_path / "odd.yaml")


@pytest.mark.parametrize("damage", [endless, pipe])
@pytest.mark.parametrize(
    ("text", "field"),
    [
        (small(f"{{kind: points, file: odd, {COLUMNS}}}"), "space.file"),
        (small("{kind: distances, file: odd}"), "space.file"),
        (small("{kind: graph, file: odd}"), "space.file"),
        (small("{kind: roads, file: odd}"), "space.file"),
        (small(LINE, f"prior: {{kind: check_ins, file: odd, {COLUMNS}}}"), "prior.file"),
        (small(LINE, f"prior: {{kind: samples, file: odd, {COLUMNS}}}"), "prior.file"),
        (small(LINE, "prior: {kind: column, file: odd, column: x}"), "prior.file"),
        (small(LINE, "loss: {kind: matrix, file: odd}"), "loss.file"),
    ],
)
def test_a_data_file_is_no_plain_file(tmp_path: Path, text: str, field: str, damage: Callable[[Path], None]) -> None:
    damage(tmp_path / "odd")
    error = refusal(tmp_path, text)
    assert (error.field, "no plain file" in error.wrong) == (field, True)
    outcome = run([tmp_path / "problem.yaml"], tmp_path / "out")
    assert (outcome.exit_code, outcome.errors) == (2, [str(error)])


@pytest.mark.parametrize(
    ("text", "field", "wrong"),
    [
        ("name: " + "x" * 2_000_000 + "\n" + small(LINE), "file", "more than 2,000,000"),
        (f"space: {LINE}\nepsilon: [{'1,' * 10_001}]\n", "epsilon", "has 10001 entries"),
        (
            f"space: {LINE}\nepsilon: {{from: 0.1, to: 1, resolution: 1e-300}}\n",
            "epsilon.resolution",
            "is the number 1e-300",
        ),
        (
            small(LINE, "objective: {kind: adversary_error, max_loss: {from: 0, to: 1, resolution: 1e-300}}"),
            "objective.max_loss.resolution",
            "is the number 1e-300",
        ),
        (small(f"{{kind: points, file: {'a' * 5000}, {COLUMNS}}}"), "space.file", "is the text 'aaa"),
        (small(f"{{kind: points, file: {'a' * 900}, {COLUMNS}}}"), "space.file", "File name too long"),
        (f"name: {'n' * 300}\n" + small(LINE), "name", "is the text 'nnn"),
        (small("{kind: databases, values: [0], records: 1000000000, metric: hamming}"), "space.records", "1,000,000"),
        (
            small("{kind: databases, values: [0, 1], records: 999, metric: hamming}"),
            "space.values",
            "has over 10^12 secrets",
        ),
        (small("{kind: graphs, nodes: 1000000000, neighbours: edge}"), "space.nodes", "499,999,999,500,000,000"),
        (small("{kind: words, alphabet: [a, b], longest: 1000000000, neighbours: edit}"), "space.longest", "1,000,"),
        (small("{kind: streams, values: [a], times: 1000000000, neighbours: event}"), "space.times", "1,000,000,000"),
    ],
)
def test_what_has_no_end_is_refused_where_it_is(tmp_path: Path, text: str, field: str, wrong: str) -> None:
    error = refusal(tmp_path, text)
    assert error.field.rstrip("0123456789[]") == field
    assert wrong in error.wrong
    outcome = run([tmp_path / "problem.yaml"], tmp_path / "out")
    assert (outcome.exit_code, outcome.errors) == (2, [str(error)])
    assert not list((tmp_path / "out").glob("*.crash.txt"))


@pytest.mark.parametrize(
    "text", [f"space: {LINE}\nepsilon: [{'1,' * 501}]\n", "".join(f"k{i}: 1\n" for i in range(501))]
)
def test_a_file_of_many_values(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reader.MAX_VALUES <= 50_000  # more than 4 seconds of parsing
    monkeypatch.setattr(reader, "MAX_VALUES", 500)
    assert "brings the file to more than 500 values" in refusal(tmp_path, text).wrong


def test_a_line_of_a_table_without_end(tmp_path: Path) -> None:
    with (tmp_path / "long.csv").open("wb") as stream:
        stream.truncate(30_000_000)
    error = refusal(tmp_path, small("{kind: distances, file: long.csv}"))
    assert "has more than 4,000,000 letters" in error.wrong
    with (tmp_path / "long.csv").open("wb") as stream:
        stream.truncate(1 << 40)
    assert "bytes, more than 400,000,000" in refusal(tmp_path, small("{kind: distances, file: long.csv}")).wrong


def test_a_header_of_many_columns(tmp_path: Path) -> None:
    names = ",".join(f"c{column}" for column in range(99_000))
    (tmp_path / "wide.csv").write_text(f"{names},c7\n", encoding="utf-8")
    assert "two columns 'c7'" in refusal(tmp_path, small(f"{{kind: points, file: wide.csv, {COLUMNS}}}")).wrong


def test_a_long_name_of_a_file_is_cut_to_that_of_a_folder(tmp_path: Path) -> None:
    file = tmp_path / f"{'ü' * 120}.yaml"
    file.write_text(small(LINE), encoding="utf-8")
    outcome = run([file], tmp_path / "out")
    assert (outcome.exit_code, [line.folder for line in outcome.lines]) == (0, ["ü" * 110])
