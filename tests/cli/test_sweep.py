"""Sweeps on the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.runtime.stopping import Status
from dxopt.solving.routes.choice import COMPARABLE
from dxopt.spec import load, read_levels
from dxopt.studies import series as sweeping
from dxopt.studies.questions import AtLevels

SPACE = "name: town\nspace: {kind: line, size: 4}\n"
GRID = "name: town\nspace: {kind: grid, shape: [3, 3]}\n"


def call(*arguments: str | Path):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def sweep(folder: Path, text: str, *arguments: str, levels: str = "0.5,1"):
    (folder / "town.yaml").write_text(text, encoding="utf-8")
    return call("sweep", folder / "town.yaml", "--epsilon", levels, "-o", folder / "out", *arguments)


def lines(done: Any) -> list[dict[str, Any]]:
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["problems"]


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("0.1:0.5:0.2", (0.1, 0.3, 0.5)),
        ("0.1:0.45:0.2", (0.1, 0.3)),
        ("1/2:2:1/2", (0.5, 1.0, 1.5, 2.0)),
        ("0.1, 0.5 ,ln(4)", (0.1, 0.5, 1.3862943611198906)),
        ("2", (2.0,)),
        ("1e-6,.5,+1", (1e-6, 0.5, 1.0)),
        ("1:10000:1", tuple(map(float, range(1, 10001)))),
    ],
)
def test_levels_as_they_are_written(text: str, levels: tuple[float, ...]) -> None:
    assert read_levels(text) == levels


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0:1:0.1", "epsilon.from: is 0; give a number above 0"),
        ("1:2:0", "epsilon.step: is 0; give a number above 0"),
        ("2:1:0.1", "epsilon.to: is 1, below from: 2; give the larger end"),
        ("1:10001:1", "epsilon.step: makes more than 10,000 values; give a larger step"),
        (",".join(map(str, range(1, 10002))), "epsilon: makes more than 10,000 values; give fewer"),
        ("1:2", "epsilon: is '1:2'; give levels as FROM:TO:STEP, or as A,B,C"),
        ("a", "epsilon: is the text 'a'; give a number, plain or written ln(a), log2(a), sqrt(a), a/b or ln(a)/b"),
        ("1:2:x", "epsilon: is the text 'x'; give a number"),
        ("1,,2", "epsilon: is the text ''; give a number"),
        ("", "epsilon: is the text ''; give a number"),
        ("nan", "epsilon: is nan, which is not a finite number"),
        ("1,inf", "epsilon: is inf, which is not a finite number"),
        ("1e400", "epsilon: is inf, which is not a finite number"),
        ("-1", "epsilon: is -1; give a number above 0"),
        ("ln(1/2)", "epsilon: is the text 'ln(1/2)'; give a number"),
        ("1/0", "epsilon: 1/0 divides by 0; give another divisor"),
        ("0.5,1/2", "epsilons: has 0.5 twice; keep one"),
    ],
)
def test_bad_levels_are_one_line(tmp_path: Path, text: str, expected: str) -> None:
    done = sweep(tmp_path, SPACE + "epsilon: 1\n", levels=text)
    assert done.exit_code == 2
    assert done.stderr.startswith(expected)
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_table_and_the_folder(tmp_path: Path) -> None:
    done = sweep(
        tmp_path, SPACE + "epsilon: 9\nevaluate: [worst_loss]\n", "--method", "exponential", levels="0.5:1:0.25"
    )
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("town: expected loss at 3 levels (optimal)\n")
    assert "exponential" in done.stdout
    assert "geometric" not in done.stdout
    assert done.stdout.endswith(f"results in {tmp_path / 'out'}/\n")
    found = dx.EpsilonSweep.load(tmp_path / "out" / "town-sweep")
    assert found.epsilons.tolist() == [0.5, 0.75, 1.0]
    assert set(found.reports[0].evaluation) == {"worst_loss"}
    assert [text in done.stdout for text in (f"{value:.7f}" for value in found.values["exponential"])] == [True] * 3


def test_json(tmp_path: Path) -> None:
    done = sweep(tmp_path, SPACE + "epsilon: 9\n", "--method", "exponential", "--method", "cloaking", "--json")
    (line,) = lines(done)
    found = dx.EpsilonSweep.load(tmp_path / "out" / "town-sweep")
    assert line["sweep"] == found.figures
    assert len(found.figures) == 6
    assert (line["epsilon"], line["value"], line["gap"]) == (None, None, found.gap)
    assert (line["method"], line["status"], line["folder"]) == (
        "auto, sweep of epsilon 0.5 to 1",
        "optimal",
        "town-sweep",
    )


@pytest.mark.parametrize(
    ("text", "methods"),
    [
        ("compare: [geometric]\n", {"optimal", "geometric"}),
        ("method: [auto, exponential]\ncompare: [geometric]\n", {"optimal", "exponential", "geometric"}),
        ("method: [optimal, tight]\n", {"optimal", "tight"}),
        ("", set(COMPARABLE)),
        ("method: exponential\n", set(COMPARABLE)),
    ],
)
def test_the_mechanisms_of_a_file(tmp_path: Path, text: str, methods: set[str]) -> None:
    lines(sweep(tmp_path, SPACE + "epsilon: 9\n" + text, "--json"))
    found = dx.EpsilonSweep.load(tmp_path / "out" / "town-sweep").reports[1].comparison
    assert found is not None
    assert {row.name for row in found.rows} == methods


@pytest.mark.parametrize(
    "text",
    [
        "epsilon: [1, 2]\nexpect: [{value: 7, source: nowhere}, {value: 7, source: nowhere}]\n",
        "epsilon: {from: 1, to: 2, step: 0.5}\n",
        "epsilon: {from: 1, to: 2, resolution: 0.1}\n",
        "epsilon: {max_loss: 0.5}\nexpect: {value: 7, source: nowhere}\n",
        "privacy: {level: 1, radius: 2}\nexpect: {value: 7, source: nowhere}\n",
        "",
        "epsilon: {max_loss: 0.5}\ncompare: [tight]\n",
        "epsilon: often\n",
        "epsilon:\ndelta: 0.1\nevaluate: [smallest_delta]\n",
        "objective: {kind: adversary_error, max_loss: 1}\n",
    ],
)
def test_the_levels_of_the_file_do_not_matter(tmp_path: Path, text: str) -> None:
    (line,) = lines(sweep(tmp_path, SPACE + text, "--method", "optimal", "--json"))
    assert (line["problem"], line["expected"], line["delivered"]) == ("town", "", True)
    found = dx.EpsilonSweep.load(tmp_path / "out" / "town-sweep")
    assert found.epsilons.tolist() == [0.5, 1.0]
    assert found.reports[0].tolerance == 1e-6
    (task,) = load(tmp_path / "town.yaml", AtLevels((0.5,)))
    assert task.expect is None


def test_priors_are_a_family_and_levels_and_methods_are_not(tmp_path: Path) -> None:
    priors = "prior: [uniform, {kind: explicit, values: [0.1, 0.2, 0.3, 0.4]}]\n"
    text = "epsilon: [1, 2]\nmethod: [optimal, exponential]\n" + priors
    done = lines(sweep(tmp_path, SPACE + text, "--json"))
    assert [line["problem"] for line in done] == ["town [prior=uniform]", "town [prior=explicit]"]
    first, second = (dx.EpsilonSweep.load(tmp_path / "out" / line["folder"]) for line in done)
    assert first.methods == second.methods == ("optimal", "exponential")
    assert first.values["optimal"][0] != second.values["optimal"][0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("epsilon: 1\nspanner: 1.5\n", "4:10: spanner: does not go with a sweep of epsilon 0.5 to 1; leave it out"),
        ("epsilon: 1\nprior: {kind: corner, point: '0'}\n", "4:1: prior: does not go with a sweep"),
        ("epsilon: 1\npriors: {flat: uniform}\n", "4:1: priors: does not go with a sweep"),
        (
            "epsilon: 1\nobjective: {kind: adversary_error, max_loss: {from: 1, to: 2, resolution: 0.1}}\n",
            "4:1: objective: does not go with a sweep of epsilon 0.5 to 1; give one max_loss",
        ),
    ],
)
def test_what_does_not_go_with_a_sweep(tmp_path: Path, text: str, expected: str) -> None:
    done = sweep(tmp_path, SPACE + text)
    assert done.exit_code == 2
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out" / "town-sweep").exists()


def test_one_level(tmp_path: Path) -> None:
    done = sweep(tmp_path, SPACE, "--method", "optimal", levels="1")
    assert done.stdout.startswith("town: expected loss at 1 level (optimal)\n")


def test_unknown_methods_and_missing_options(tmp_path: Path) -> None:
    done = sweep(tmp_path, SPACE + "epsilon: 1\n", "--method", "laplas")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("methods: there is no 'laplas'; choose one of optimal, ")
    assert call("sweep", tmp_path / "town.yaml").exit_code == 2


def test_an_interrupt_keeps_the_levels_that_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(problem: dx.Problem, **options: Any) -> dx.Report:
        report = dx.solve(problem, **options)
        return replace(report, status=Status.INTERRUPTED) if problem.epsilon == 1.0 else report

    monkeypatch.setattr(sweeping, "solve", solve)
    (tmp_path / "z.yaml").write_text(SPACE.replace("town", "later") + "epsilon: 1\n", encoding="utf-8")
    done = sweep(tmp_path, SPACE + "epsilon: 1\n", str(tmp_path / "z.yaml"), levels="0.5,1,2")
    assert done.exit_code == 1
    assert "town: expected loss at 2 of 3 levels (interrupted)" in done.stdout
    assert "later: not started, as the run was interrupted" in done.stderr
    content = json.loads((tmp_path / "out" / "town-sweep" / "sweep.json").read_text(encoding="utf-8"))
    assert (content["asked"], content["epsilons"], content["status"]) == ([0.5, 1.0, 2.0], [0.5, 1.0], "interrupted")


def test_not_certified_gives_1(tmp_path: Path) -> None:
    done = sweep(tmp_path, GRID + "epsilon: 1\n", "--tolerance", "1e-15", "--method", "optimal")
    assert done.exit_code == 1
    assert "at 2 levels (feasible)" in done.stdout
