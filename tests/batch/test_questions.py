"""Problem files that ask for a smallest epsilon or a frontier: what becomes of them."""

from __future__ import annotations

import json
import math
import signal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt import batch
from dxopt.batch.jobs import problem_files
from dxopt.batch.outcome import summary
from dxopt.cli.application import app
from dxopt.runtime.stopping import Stop

PAIR = "space: {kind: line, size: 2}\n"
LEVEL = "epsilon: {max_loss: 0.2}\n"
FRONTIER = "epsilon: {from: 1/2, to: 2, resolution: 0.2}\n"
BUDGETS = "objective: {kind: adversary_error, max_loss: {from: 0.1, to: 1, resolution: 0.01}}\n"
EXACT = math.log(4)


def write(folder: Path, **texts: str) -> list[Path]:
    """Problem files by name."""
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(PAIR + text, encoding="utf-8")
    return [folder / f"{name}.yaml" for name in texts]


def read(file: Path) -> dict[str, Any]:
    """The content of a JSON file; infinity and the like are refused."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)


def test_the_smallest_epsilon_is_saved_with_its_report(tmp_path: Path) -> None:
    expected = f"evaluate: [worst_loss]\nexpect: {{value: {EXACT!r}, tolerance: 1e-5, source: ln 4}}\n"
    outcome = batch.run(write(tmp_path, a=LEVEL + expected), tmp_path / "out")
    (line,) = outcome.lines
    assert outcome.exit_code == 0
    assert (line.expected, line.status, line.private, line.method) == (
        "agrees",
        "optimal",
        True,
        "auto, smallest epsilon",
    )
    level, report = read(tmp_path / "out" / "a" / "level.json"), dx.load(tmp_path / "out" / "a")
    assert level["below"] < EXACT <= level["epsilon"] == report.problem.epsilon == line.epsilon
    assert level["resolution"] == line.resolution
    assert level["resolution"] <= 1.000001e-6
    assert (level["problem"], level["max_loss"], level["accuracy"], level["status"]) == ("a", 0.2, 1e-6, "optimal")
    assert report.certificate.value <= 0.2
    assert report.evaluation["worst_loss"] == pytest.approx(0.2, abs=1e-5)


def test_another_epsilon_than_expected_fails(tmp_path: Path) -> None:
    outcome = batch.run(write(tmp_path, a=LEVEL + "expect: {value: 0.2, source: nowhere}\n"), tmp_path / "out")
    assert outcome.lines[0].expected.startswith("off by 1.2e+00")
    assert outcome.errors[0].startswith("a: the epsilon 1.38629")
    assert outcome.exit_code == 1


def test_frontiers_are_saved_with_their_figure(tmp_path: Path) -> None:
    files = write(tmp_path, a=FRONTIER, b=BUDGETS)
    outcome = batch.run(files, tmp_path / "out")
    assert outcome.exit_code == 0
    for name in "ab":
        saved = {path.name for path in (tmp_path / "out" / name).iterdir()}
        figures = {"frontier.json", "frontier.svg", "frontier.png"}
        assert saved == {"digests.json", "input.json", "parts"} | figures
        with pytest.raises(dx.SpecError, match="is no result folder of a report"):
            dx.load(tmp_path / "out" / name)
    first, second = (read(tmp_path / "out" / name / "frontier.json") for name in "ab")
    assert (first["epsilons"][0], first["epsilons"][-1], first["objective"]) == (0.5, 2, "expected_loss")
    for epsilon, value, bound in zip(first["epsilons"], first["values"], first["bounds"], strict=True):
        assert value == pytest.approx(1 / (1 + math.exp(epsilon)), abs=1e-6)
        assert bound <= value
    assert first["resolution"] == outcome.lines[0].resolution
    assert first["resolution"] <= first["wanted"] == 0.2
    assert (second["budgets"][0], second["budgets"][-1]) == (0.1, 1)
    assert second["values"] == pytest.approx([min(budget, 0.5) for budget in second["budgets"]], abs=1e-6)
    assert second["breakpoints"] == pytest.approx([0.5], abs=1e-6)
    assert second["prices"][0] == pytest.approx(1, abs=1e-6)
    assert problem_files([tmp_path]) == files


def test_a_result_takes_the_place_of_another(tmp_path: Path) -> None:
    for text, files in ((LEVEL, 11), ("epsilon: 1\n", 9), (FRONTIER, 6), (LEVEL, 11)):
        outcome = batch.run(write(tmp_path, a=text), tmp_path / "out", force=True)
        assert outcome.exit_code == 0, outcome.errors
        assert len(list((tmp_path / "out" / "a").iterdir())) == files


def test_the_table_and_its_json(tmp_path: Path) -> None:
    files = write(tmp_path, a=LEVEL, b=FRONTIER, c="epsilon: 1\n" + BUDGETS.replace("0.1", "0.3"))
    outcome = batch.run(files, tmp_path / "out")
    head, first, second, third = summary(outcome.lines).splitlines()
    assert "resolution" in head
    assert "expected" not in head.split("objective")[1]
    assert first.split()[:5] == ["a", "2", "1.39", "auto,", "smallest"]
    assert second.split()[:9] == ["b", "2", "auto,", "frontier", "for", "epsilon", "0.5", "to", "2"]
    assert third.split()[:8] == ["c", "2", "1", "auto,", "frontier", "for", "max_loss", "0.3"]
    lines = json.loads(outcome.as_json())["problems"]
    assert [line["epsilon"] is None for line in lines] == [False, True, False]
    assert [line["value"] is None for line in lines] == [False, True, True]
    assert {line["delivered"] for line in lines} == {True}
    assert "resolution" not in summary(batch.run(write(tmp_path, d="epsilon: 1\n"), tmp_path / "out").lines)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("epsilon:\n  max_loss: 0.7\n", "3:13: epsilon.max_loss: is 0.7, but any level will do"),
        ("epsilon:\n  max_loss: -1\n", "3:13: epsilon.max_loss: is -1, below "),
        (BUDGETS.replace("0.1,", "-1,"), "2:53: objective.max_loss.from: is -1, below "),
    ],
)
def test_what_no_mechanism_does_is_bad_input(tmp_path: Path, text: str, position: str) -> None:
    outcome = batch.run(write(tmp_path, a=text, b="epsilon: 1\n"), tmp_path / "out")
    assert [line.status for line in outcome.lines] == ["bad input", "optimal"]
    assert outcome.lines[0].epsilon is None
    (reported,) = outcome.errors
    assert reported.startswith(f"{tmp_path / 'a.yaml'}:{position}")
    assert outcome.exit_code == 2


def call(*arguments: str | Path):
    """Run the command line in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_solve_prints_levels_and_frontiers(tmp_path: Path) -> None:
    files = write(tmp_path, a=LEVEL, b=FRONTIER, c=BUDGETS)
    done = call("solve", *files, "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "(asked 1.39)" in done.stdout
    assert "a: a loss of at most 0.2 is possible at ε 1.39 per unit of distance, not at 1.38; both" in done.stdout
    assert "b: expected loss at " in done.stdout
    assert "c: adversary's error at " in done.stdout


@pytest.mark.parametrize(("text", "field"), [(LEVEL, "epsilon"), (FRONTIER, "epsilon"), (BUDGETS, "objective")])
def test_they_are_not_compared(tmp_path: Path, text: str, field: str) -> None:
    (file,) = write(tmp_path, a=text)
    done = call("compare", file, "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{file}:2:1: {field}: asks for the ")
    assert done.stderr.endswith("which is not compared; use dxopt solve, or give one value\n")
    assert not (tmp_path / "out").exists()


def test_options_are_honoured(tmp_path: Path) -> None:
    (file,) = write(tmp_path, a=LEVEL)
    assert "there is no 'cray'" in call("solve", file, "-o", tmp_path / "out", "--solver", "cray").stderr
    done = call("solve", file, "-o", tmp_path / "out", "--tolerance", "5")
    assert (done.exit_code, done.stderr.startswith("tolerance: is 5")) == (2, True)
    assert call("solve", file, "-o", tmp_path / "out", "--tolerance", "1e-15").exit_code == 0
    city = "space: {kind: grid, shape: [9, 9]}\n" + LEVEL
    file.write_text(city, encoding="utf-8")
    done = call("batch", file, "-o", tmp_path / "out", "--time-limit", "0.01", "--solver", "highs", "--force")
    assert done.exit_code == 1
    assert "time limit" in done.stdout
    level = read(tmp_path / "out" / "a" / "level.json")
    assert level["status"] == "time limit"
    assert level["resolution"] is None or level["resolution"] > 1e-6


@pytest.mark.parametrize("text", [LEVEL, FRONTIER, BUDGETS])
@pytest.mark.parametrize("solves", [1, 2])
def test_ctrl_c_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, solves: int) -> None:
    from dxopt.studies import series as sweeping

    real, done = sweeping.solve, []

    def interrupted(problem: dx.Problem, **options: Any) -> dx.Report:
        with Stop():
            report = real(problem, **options)
            done.append(options["time_limit"])
            if len(done) == solves:
                signal.raise_signal(signal.SIGINT)
        return report

    monkeypatch.setattr(sweeping, "solve", interrupted)
    outcome = batch.run(write(tmp_path, a=text, b=text), tmp_path / "out")
    assert [line.status for line in outcome.lines] == ["interrupted", "not started"]
    assert outcome.exit_code == 1
    assert len(done) == solves + (solves == 1 and text != LEVEL)
    assert done[solves:] in ([], [1e-3])
    name = "level.json" if text == LEVEL else "frontier.json"
    assert read(tmp_path / "out" / "a" / name)["status"] == "interrupted"


def test_a_level_that_was_not_found_is_saved_as_far_as_it_is_proven(tmp_path: Path) -> None:
    pair = dx.line(2)
    problem = dx.Problem(pair, epsilon=1.0, prior=dx.Prior.uniform(pair), name="none")
    refuted = dx.solve(problem.at(0.5))
    level = dx.Level(problem, None, refuted, 0.2, 1e-6, refuted.status)
    level.save(tmp_path / "a")
    content = read(tmp_path / "a" / "level.json")
    assert (content["problem"], content["epsilon"], content["below"], content["resolution"]) == (
        "none",
        None,
        0.5,
        None,
    )
    assert {path.name for path in (tmp_path / "a").iterdir()} == {
        "level.json",
        "digests.json",
        "parts",
    }
    with pytest.raises(dx.SpecError, match="holds no problem file"):
        problem_files([tmp_path])
