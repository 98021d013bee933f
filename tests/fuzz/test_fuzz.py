"""A short run of the fuzz: no finds; cases follow from their numbers alone; counts add up."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import dxopt as dx
from tests.fuzz.__main__ import main
from tests.fuzz.case import Case
from tests.fuzz.families import case_of
from tests.fuzz.spaces import FAMILIES
from tests.fuzz.trying import Extras, outcome_of

SECONDS = "15"


def test_a_short_run_finds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    assert main(["--seed", "17", "--count", "250", "--seconds", SECONDS, "--inside", "--log", str(log)]) == 0
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [entry["what"] for entry in entries] == ["run", "counts"]
    assert sum(entries[-1]["cases"].values()) > 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("also: ")


def test_cases_follow_from_their_numbers() -> None:
    assert [case_of(3, number) for number in range(40)] == [case_of(3, number) for number in range(40)]
    assert case_of(3, 5) != case_of(4, 5)


def test_every_kind_is_drawn() -> None:
    cases = [case_of(1, number) for number in range(700)]
    assert {case.family for case in cases} == set(FAMILIES)
    assert {case.question for case in cases} >= {
        "expected_loss",
        "worst_loss",
        "adversary_error",
        "adversary_error free",
        "expected_loss delta",
        "worst_loss delta",
    }
    assert {case.solver for case in cases} == {"auto", "clarabel", "highs", "columns"}
    assert min(case.epsilon for case in cases if case.epsilon) < 1e-7
    assert max(case.epsilon for case in cases if case.epsilon) > 1e3


def test_a_fault_is_found_minimised_and_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A solver that raises where δ is positive."""
    solve = Case.solve

    def broken(case: Case, problem: dx.Problem) -> dx.Report:
        if problem.delta:
            raise ZeroDivisionError("planted")
        return solve(case, problem)

    monkeypatch.setattr(Case, "solve", broken)
    log = tmp_path / "log"
    assert main(["--seed", "17", "--count", "25", "--seconds", SECONDS, "--inside", "--log", str(log)]) == 1
    printed = capsys.readouterr().out
    assert re.search(r"# 17:\d+: exception: .*ZeroDivisionError: planted", printed)
    assert re.search(r"problem = dx.Problem\(space, .*delta=", printed)
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    found = [entry for entry in entries if entry["what"] == "find"]
    assert found and all(entry["kind"] == "exception" for entry in found)
    case = found[0]["case"]
    assert main(["--only", case, "--whole"]) == 1


def test_refusals_are_no_finds_but_for_sound_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(case for case in (case_of(2, number) for number in range(50)) if case.method == "auto")

    def refusing(case: Case, problem: dx.Problem) -> dx.Report:
        raise dx.SpecError("space", "is wrong", "mend it")

    monkeypatch.setattr(Case, "solve", refusing)
    assert [find.kind for find in outcome_of(case, Extras()).finds] == ["refused"]


def test_counts_of_several_runs_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = {"cases": {"line/optimal": 3, "tree/find": 1}, "questions": {"expected_loss": 4}, "kinds": {"slow": 1}}
    more = {**counts, "checked": {}, "slowest": 2.0, "seconds": 1.0}
    for name in ("first", "second"):
        lines = [{"what": "run"}, {"what": "counts", **more}, {"what": "counts", **more}]
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert main(["--add", str(tmp_path / "first"), str(tmp_path / "second")]) == 0
    assert capsys.readouterr().out.startswith("8 cases in 2 s")
