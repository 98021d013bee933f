"""Plausibility warnings on the command line: lines on standard error, a list in JSON, and `--strict`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from tests.material.few import few

LOW = "name: low\nspace: {kind: line, size: 4}\nepsilon: 0.001\n"
CONSTANT = "name: constant\nspace: {kind: line, size: 5}\nepsilon: 0.2\n"
CONSTANT += "prior: {kind: explicit, values: [0.01, 0.01, 0.96, 0.01, 0.01]}\n"
HONEST = "name: honest\nspace: {kind: line, size: 4}\nepsilon: 1\n"


def call(*arguments: str | Path):
    """Run the command line in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for text in (LOW, CONSTANT, HONEST):
        name = text.split()[1]
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


COMMANDS = {"solve": [], "compare": [], "batch": [], "sweep": ["--epsilon", "0.001,0.002"]}


@pytest.mark.parametrize("command", few(COMMANDS, 1))
def test_each_command_warns_on_standard_error(folder: Path, command: str) -> None:
    done = call(command, folder / "low.yaml", "-o", folder / "out", *COMMANDS[command])
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert len(lines) == 1
    assert "epsilon: is 0.001, which times the diameter 3 of the space is 0.003" in lines[0]
    assert "PlausibilityWarning" not in done.output
    silent = call(
        command, folder / "honest.yaml", "-o", folder / "out", *(["--epsilon", "1"] if command == "sweep" else [])
    )
    assert silent.exit_code == 0 and "warning" not in silent.output


def test_strict_refuses_before_solving_what_the_problem_shows(folder: Path) -> None:
    for command in ("solve", "compare", "batch"):
        done = call(command, folder / "low.yaml", "-o", folder / "out", "--strict")
        assert done.exit_code == 2
        assert done.stderr.count("level per metre") == 1
        assert not (folder / "out" / "low").exists()
    assert call("solve", folder / "honest.yaml", "-o", folder / "out", "--strict").exit_code == 0
    levels = ["--epsilon", "0.5,1"]
    assert call("sweep", folder / "low.yaml", "-o", folder / "out", "--strict", *levels).exit_code == 0


def test_strict_keeps_the_result_where_only_the_answer_shows_it(folder: Path) -> None:
    done = call("solve", folder / "constant.yaml", "-o", folder / "out", "--strict")
    assert done.exit_code == 2
    assert "mechanism: ignores the secret" in done.stderr
    assert dx.load(folder / "out" / "constant").certificate.private
    assert call("solve", folder / "constant.yaml", "-o", folder / "out").exit_code == 0


def test_a_strict_batch_goes_on_and_resumes_as_asked(folder: Path) -> None:
    files = [folder / f"{name}.yaml" for name in ("low", "constant", "honest")]
    done = call("batch", *files, "-o", folder / "out", "--strict", "--json")
    assert done.exit_code == 2
    summary = json.loads(done.stdout)
    kinds = {line["problem"]: [one["kind"] for one in line["warnings"]] for line in summary["problems"]}
    assert kinds == {"low": ["level_too_low"], "constant": ["mechanism_constant"], "honest": []}
    assert {line["problem"] for line in summary["problems"] if line["folder"]} == {"constant", "honest"}
    assert len(summary["errors"]) == 2
    again = call("batch", *files, "-o", folder / "out", "--resume", "--json")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["errors"] == []
    assert [line["problem"] for line in json.loads(again.stdout)["problems"] if line["warnings"]] == [
        "low",
        "constant",
    ]
    text = (folder / "out" / "summary.md").read_text(encoding="utf-8")
    assert "## Warnings" in text and "ignores the secret" in text
    assert call("batch", *files, "-o", folder / "out", "--resume", "--strict").exit_code == 2


def test_files_with_columns_of_degrees(folder: Path) -> None:
    rows = "".join(f"P{i},{45.7 + i / 97},{4.8 + i / 89},{i + 1}\n" for i in range(6))
    (folder / "places.csv").write_text(f"name,lat,lon,people\n{rows}", encoding="utf-8")
    plane = "{kind: points, file: places.csv, columns: [lat, lon]}"
    (folder / "plane.yaml").write_text(f"space: {plane}\nepsilon: 40\n", encoding="utf-8")
    done = call("solve", folder / "plane.yaml", "-o", folder / "out")
    assert done.exit_code == 0
    assert "space: has columns 'lat' and 'lon' under the metric euclidean" in done.stderr
    globe = "{kind: points, file: places.csv, columns: [lat, lon], metric: haversine}"
    swapped = globe.replace("[lat, lon]", "[lon, lat]")
    seen = "prior: {kind: check_ins, file: places.csv, columns: [lon, lat]}"
    for text, where in (
        (f"space: {swapped}\nepsilon: 1\n", "1:41: space.columns: are 'lon' and 'lat', in this order"),
        (f"space: {globe}\n{seen}\nepsilon: 1\n", "2:44: prior.columns: are 'lon' and 'lat', in this order"),
    ):
        (folder / "turned.yaml").write_text(text, encoding="utf-8")
        done = call("solve", folder / "turned.yaml", "-o", folder / "out")
        assert done.exit_code == 2
        assert f"turned.yaml:{where}" in done.stderr


def test_the_page_shows_them_and_what_was_recorded(folder: Path) -> None:
    rows = "".join(f"{45.75},{4.85 + i / 1000}\n" for i in range(8)) + "45.75,5.5\n45.75,5.6\n"
    (folder / "seen.csv").write_text(f"lat,lon\n{rows}", encoding="utf-8")
    box = "{kind: bounding_box, south: 45.7, west: 4.78, north: 45.8, east: 4.92, shape: [2, 2]}"
    prior = "{kind: check_ins, file: seen.csv, columns: [lat, lon]}"
    (folder / "city.yaml").write_text(f"space: {box}\nepsilon: 0.001\nprior: {prior}\n", encoding="utf-8")
    assert call("solve", folder / "city.yaml", "-o", folder / "out").exit_code == 0
    assert call("report", folder / "out" / "city").exit_code == 0
    page = (folder / "out" / "city" / "report.html").read_text(encoding="utf-8")
    assert page.count("Warning: epsilon: is 0.001") == 1
    assert "20% of the check-ins are outside" in page and "(recorded when it was solved)" in page


def test_a_record_with_a_warning_in_parts_is_not_taken(folder: Path) -> None:
    batch = ("batch", folder / "constant.yaml", "-o", folder / "out", "--resume", "--json")
    assert call(*batch).exit_code == 0
    record = folder / "out" / "constant" / "input.json"
    content = json.loads(record.read_text(encoding="utf-8"))
    for bad in ([{"kind": "x"}], [7], 7, None):
        content["line"]["warnings"] = bad
        record.write_text(json.dumps(content), encoding="utf-8")
        done = call(*batch)
        assert done.exit_code == 0
        assert json.loads(done.stdout)["problems"][0]["warnings"][0]["kind"] == "mechanism_constant"
