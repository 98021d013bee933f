"""Comparisons on the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.runtime.stopping import Status
from dxopt.solving.routes.choice import COMPARABLE

GRID = "name: town\nspace: {kind: grid, shape: [3, 3]}\nepsilon: 0.9\n"


def call(*arguments: str | Path):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_compare_prints_every_mechanism(tmp_path: Path) -> None:
    (tmp_path / "town.yaml").write_text(GRID, encoding="utf-8")
    done = call("compare", tmp_path / "town.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    missing = ("staircase", "graph_exponential", "multivariate_laplace")
    existing = [name for name in COMPARABLE if name not in missing]
    assert [line.split()[0] for line in lines[3 : 3 + len(existing)]] == existing
    assert all(any(line.startswith((f"{name}: needs", f"{name}: is for")) for line in lines) for name in missing)
    assert any(line.startswith("optimal: linear program") for line in lines)
    assert "weak duality" not in done.stdout


def test_compare_takes_the_mechanisms_of_the_file_and_solves_for_the_bound(tmp_path: Path) -> None:
    text = GRID + "method: exponential\ncompare: [geometric]\n"
    (tmp_path / "town.yaml").write_text(text, encoding="utf-8")
    done = call("compare", tmp_path / "town.yaml", "-o", tmp_path / "out", "--json")
    assert done.exit_code == 0
    (line,) = json.loads(done.stdout)["problems"]
    best, geometric = line["comparison"]["rows"]
    assert (best["name"], geometric["name"]) == ("optimal", "geometric")
    assert best["value"] < line["value"]
    assert best["gap"] <= 1e-6
    assert line["comparison"]["bound"] <= best["value"] < geometric["value"]


def test_solve_prints_and_saves_the_comparison(tmp_path: Path) -> None:
    (tmp_path / "town.yaml").write_text(GRID + "compare: [tight]\n", encoding="utf-8")
    done = call("solve", tmp_path / "town.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 0
    assert "status     optimal" in done.stdout
    assert "with optimal remap" in done.stdout
    comparison = dx.load(tmp_path / "out" / "town").comparison
    assert comparison is not None
    assert [row.name for row in comparison.rows] == ["optimal", "tight"]
    saved = json.loads((tmp_path / "out" / "town" / "input.json").read_text(encoding="utf-8"))["line"]["comparison"]
    assert saved == json.loads(json.dumps(comparison.content()))


def test_without_compare_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "town.yaml").write_text(GRID, encoding="utf-8")
    done = call("solve", tmp_path / "town.yaml", "-o", tmp_path / "out")
    assert "with optimal remap" not in done.stdout
    assert dx.load(tmp_path / "out" / "town").comparison is None


def test_not_certified_gives_1_and_bad_input_2(tmp_path: Path) -> None:
    (tmp_path / "town.yaml").write_text(GRID, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(GRID + "compare: [laplas]\n", encoding="utf-8")
    done = call("compare", tmp_path / "town.yaml", "-o", tmp_path / "out", "--tolerance", "1e-15")
    assert done.exit_code == 1
    assert "feasible" in done.stdout
    done = call("compare", tmp_path / "bad.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{tmp_path / 'bad.yaml'}:4:11: compare[0]: there is no 'laplas'; choose one of")


def test_an_interrupt_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dxopt.studies import comparisons as comparing

    def stopped(problem: dx.Problem, *, method: str, **options: object) -> dx.Report:
        report = dx.solve(problem, method=method)
        return replace(report, status=Status.INTERRUPTED) if method == "geometric" else report

    monkeypatch.setattr(comparing, "solve", stopped)
    for name in ("a", "b"):
        text = GRID.replace("town", name) + "compare: [exponential, geometric, tight]\n"
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    done = call("compare", tmp_path / "a.yaml", tmp_path / "b.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 1
    comparison = dx.load(tmp_path / "out" / "a-compare").comparison
    assert comparison is not None
    assert [row.value is None for row in comparison.rows] == [False, False, False, True]
    assert comparison.rows[-1].note == "not started, as the run was interrupted"
    assert "b: not started" in done.stderr
    assert call("compare", tmp_path / "a.yaml", "-o", tmp_path / "out").exit_code == 1
