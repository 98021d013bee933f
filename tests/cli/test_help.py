"""The examples of `--help`: every command has one, and each runs as it stands there, after those before it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app

TOWN = """\
name: town
space: {kind: bounding_box, south: 45.70, west: 4.77, north: 45.76, east: 4.83, shape: [2, 2]}
epsilon: 1
compare: [exponential]
"""
CITY = """\
space: {kind: line, size: 3}
epsilon: 1
prior: {kind: private, file: drawn.json, check_ins: seen.csv, columns: [x], person: who, epsilon: 1, per_person: 1}
"""
FIRST = ("solve", "schema", "key")
"""The others need what these write."""
SLOW = ("warm-up",)
"""What this compiles is not compiled for an example."""


def examples() -> dict[str, str]:
    """The line of each command, from its `--help`."""
    found = {"": app.info.epilog or ""}
    for room in app.registered_groups:
        assert room.typer_instance is not None
        for command in room.typer_instance.registered_commands:
            assert command.name is not None
            found[command.name] = command.epilog or ""
    return found


def test_every_command_shows_one() -> None:
    for name, line in examples().items():
        assert line.startswith(f"Example: dxopt {name}".rstrip()), name
        shown = CliRunner().invoke(app, [name, "--help"] if name else ["--help"])
        assert shown.exit_code == 0
        assert line in " ".join(shown.stdout.split())


def test_they_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("problems").mkdir()
    for file in ("town.yaml", "problems/town.yaml"):
        Path(file).write_text(TOWN, encoding="utf-8")
    Path("people.csv").write_text("lat,lon\n45.71,4.78\n45.75,4.82\n", encoding="utf-8")
    Path("city.yaml").write_text(CITY, encoding="utf-8")
    Path("seen.csv").write_text("who,x\nann,1\nbob,2\n", encoding="utf-8")
    dx.Budgets.open("priors.sqlite", create=True, default=1).close()
    lines = examples()
    names = [*FIRST, *(name for name in lines if name not in (*FIRST, *SLOW))]
    for name in names:
        program, *arguments = shlex.split(lines[name].removeprefix("Example: ").partition(" > ")[0])
        assert program == "dxopt"
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, (name, done.output)
    for file in (
        "town.js",
        "map.svg",
        "public.csv",
        "people.key",
        "budget.sqlite",
        "drawn.json",
        "results/report.html",
    ):
        assert Path(file).stat().st_size > 0, file


def test_what_is_not_run_is_understood() -> None:
    for name in SLOW:
        _, *arguments = shlex.split(examples()[name].removeprefix("Example: "))
        command = typer.main.get_command(app)
        assert re.fullmatch(r"[\w-]+", arguments[0])
        assert command.make_context("dxopt", [*arguments], resilient_parsing=True)


@pytest.mark.parametrize("command", [["solve"], ["compare"], ["sweep", "--epsilon", "0.5,1"]])
def test_routes_and_refusals_are_told_where_asked(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "town.yaml").write_text(TOWN, encoding="utf-8")
    told = {}
    for more in ([], ["--verbose"], ["-v"]):
        arguments = [*command, str(tmp_path / "town.yaml"), "-o", str(tmp_path / "out"), *more]
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        told[len(more) and more[0]] = re.sub(r"seconds +\S+", "", done.stdout)
    assert "not tight" not in told[0]
    assert (
        told["--verbose"].count("not tight")
        == told["--verbose"].count("proof of privacy")
        == max(1, len(command) - 1)
    )
    assert told["-v"] == told["--verbose"]
    assert len(told[0].splitlines()) <= 20
