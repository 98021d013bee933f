"""Many files: one that fails never stops the others."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

import dxopt as dx
from dxopt import batch
from dxopt.batch import answering
from dxopt.batch.jobs import Job, jobs_of, problem_files
from dxopt.batch.outcome import summary
from dxopt.batch.overrides import Overrides
from dxopt.errors import SpecError
from dxopt.spec import family

GOOD = "space: {kind: line, size: 4}\nepsilon: 1.0\n"


def write(folder: Path, **texts: str) -> None:
    """Problem files by name."""
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_bad_and_good_files_side_by_side(tmp_path: Path) -> None:
    write(tmp_path, a=GOOD, b="space: 7\nepsilon: 1\n", c=GOOD, d="")
    outcome = batch.run([tmp_path], tmp_path / "out")
    assert [line.status for line in outcome.lines] == ["optimal", "bad input", "optimal", "bad input"]
    assert len(outcome.errors) == 2
    assert outcome.exit_code == 2
    assert [line.folder for line in outcome.lines] == ["a", "", "c", ""]
    assert dx.load(tmp_path / "out" / "c").certificate.private


def test_a_fault_of_ours_is_reported_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a=GOOD, b=GOOD)
    real = answering.solve

    def sometimes(problem, **options):
        if problem.name == "a":
            raise ZeroDivisionError("one\ntwo")
        return real(problem, **options)

    monkeypatch.setattr(answering, "solve", sometimes)
    outcome = batch.run([tmp_path], tmp_path / "out")
    assert [line.status for line in outcome.lines] == ["crashed", "optimal"]
    assert "\n" not in outcome.errors[0]
    assert "ZeroDivisionError" in (tmp_path / "out" / "a.crash.txt").read_text(encoding="utf-8")
    assert not outcome.bad_input


def test_folders_are_told_apart_and_there_on_every_system(tmp_path: Path) -> None:
    names = {"a": "Town: a|b", "b": "town-a-B", "c": "aux.2", "d": "Stra\u00dfe", "e": "STRASSE", "f": "summary.MD"}
    write(tmp_path, **{file: f"name: '{name}'\n{GOOD}" for file, name in names.items()})
    found = [job.folder.name for job, _ in jobs_of([tmp_path], tmp_path / "out", Overrides()) if isinstance(job, Job)]
    assert found == ["Town-a-b", "town-a-B-2", "problem-aux.2", "Stra\u00dfe", "STRASSE-2", "summary.MD-2"]


def test_a_value_that_is_not_the_expected_one_fails(tmp_path: Path) -> None:
    write(tmp_path, a=GOOD + "expect: {value: 0.123, source: nowhere}\n")
    outcome = batch.run([tmp_path], tmp_path / "out")
    assert outcome.lines[0].status == "optimal"
    assert outcome.lines[0].expected.startswith("off by")
    assert not outcome.bad_input


def test_families_and_equal_names_get_their_own_folders(tmp_path: Path) -> None:
    family = "name: same\nspace: {kind: line, size: 3}\nepsilon: {from: 0.5, to: 1.5, step: 0.5}\n"
    write(tmp_path, a=family, b="name: same\n" + GOOD, c="name: same\n" + GOOD)
    outcome = batch.run([tmp_path], tmp_path / "out")
    names = [line.folder for line in outcome.lines]
    assert len(set(names)) == 5
    assert names[-2:] == ["same", "same-2"]
    assert [line.epsilon for line in outcome.lines[:3]] == [0.5, 1.0, 1.5]


def test_measures_asked_for_are_in_the_report(tmp_path: Path) -> None:
    names = "expected_loss, worst_loss, utility, min_entropy_leakage, adversary_error"
    write(tmp_path, a=GOOD + f"evaluate: [{names}]\n")
    batch.run([tmp_path], tmp_path / "out")
    report = dx.load(tmp_path / "out" / "a")
    assert set(report.evaluation) == set(names.split(", "))
    assert report.evaluation["expected_loss"] == pytest.approx(report.certificate.value, rel=1e-12)
    assert report.evaluation["adversary_error"] <= report.certificate.value + 1e-12


def test_the_smallest_delta_is_about_the_pairs_that_are_bound(tmp_path: Path) -> None:
    relaxed = GOOD + "delta: 0.05\npairs: adjacent\nevaluate: [smallest_delta]\n"
    write(tmp_path, a=relaxed, b=GOOD + "method: exponential\nevaluate: [smallest_delta]\n")
    batch.run([tmp_path], tmp_path / "out")
    report = dx.load(tmp_path / "out" / "a")
    assert report.evaluation["smallest_delta"] == pytest.approx(report.certificate.delta, abs=1e-12)
    assert dx.evaluate.smallest_delta(report.mechanism, 1.0) > 0.06
    assert dx.load(tmp_path / "out" / "b").evaluation["smallest_delta"] <= 1e-13


def test_the_bound_on_the_error_of_any_mechanism(tmp_path: Path) -> None:
    write(tmp_path, a=GOOD + "objective: worst_loss\ndelta: 0.1\nevaluate: [error_bound]\n")
    one_way = "{kind: databases, values: [0, 1], records: 2, neighbours: one_sided, sensitive: [1]}"
    write(tmp_path, b=f"space: {one_way}\nepsilon: 1.0\nloss: binary\nevaluate: [worst_loss, error_bound]\n")
    outcome = batch.run([tmp_path], tmp_path / "out")
    report = dx.load(tmp_path / "out" / "a")
    known = dx.sanitisation.error_bounds(report.problem.space, epsilon=report.problem.epsilon, delta=0.1).best
    assert report.evaluation["error_bound"] == known > 0
    assert known <= report.certificate.value
    assert outcome.errors == [
        f"{tmp_path / 'b.yaml'}:4:24: evaluate[1]: error_bound needs symmetric distances; leave it out"
    ]


def test_result_folders_are_not_searched_for_problems(tmp_path: Path) -> None:
    write(tmp_path, a=GOOD)
    batch.run([tmp_path], tmp_path / "out")
    assert [path.name for path in problem_files([tmp_path])] == ["a.yaml"]


def test_a_folder_without_problems_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="holds no problem file"):
        problem_files([tmp_path])


def test_a_budget_that_cannot_be_met_is_bad_input(tmp_path: Path) -> None:
    error = "objective:\n  kind: adversary_error\n  max_loss: 0.01\n"
    write(tmp_path, a=GOOD + error, b=GOOD, c=error + "method: exponential\ncompare: []\n" + GOOD)
    outcome = batch.run([tmp_path], tmp_path / "out")
    assert [line.status for line in outcome.lines] == ["bad input", "optimal", "bad input"]
    assert outcome.exit_code == 2
    reported, over = outcome.errors
    assert reported.startswith(f"{tmp_path / 'a.yaml'}:5:13: objective.max_loss: is 0.01, below ")
    assert reported.endswith("; raise it")
    assert over.startswith(f"{tmp_path / 'c.yaml'}:4:9: method: exponential has an expected loss of ")
    assert "above the budget of 0.01" in over
    assert "\n" not in reported + over


def test_lines_say_what_is_wanted_in_strict_json(tmp_path: Path) -> None:
    space = "space: {kind: line, size: 4}\n"
    error = "objective: {kind: adversary_error, max_loss: 0.4}\ncompare: [exponential]\n"
    write(tmp_path, a=space + error, b=GOOD + "objective: worst_loss\ndelta: 0.05\n", c=GOOD, d="space: 7\n")
    outcome = batch.run([tmp_path], tmp_path / "out")

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    first, second, third, bad = json.loads(outcome.as_json(), parse_constant=refuse)["problems"]
    assert (first["objective"], first["epsilon"], first["private"]) == ("adversary's error", None, False)
    assert first["comparison"]["epsilon"] is None
    assert (second["objective"], second["epsilon"], second["delta"]) == ("worst loss", 1.0, 0.05)
    assert (third["objective"], third["epsilon"], third["delta"]) == ("expected loss", 1.0, 0.0)
    assert (bad["objective"], bad["epsilon"], bad["status"]) == ("", None, "bad input")
    head, *lines = summary(outcome.lines).splitlines()
    assert head.split()[:6] == ["problem", "n", "ε", "method", "objective", "value"]
    assert lines[0].split()[:5] == ["a", "4", "auto", "adversary's", "error"]
    assert "not asked" in lines[0]
    assert lines[1].split()[:7] == ["b", "4", "1,", "δ", "0.05", "auto", "worst"]
    assert lines[2].split()[:4] == ["c", "4", "1", "auto"]


def test_the_bytes_of_a_file_name_need_not_be_text(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / os.fsdecode(b"a\xe9.yaml")).write_text(GOOD, encoding="utf-8")
    (folder / os.fsdecode(b"b\xff.yaml")).write_text("", encoding="utf-8")
    outcome = batch.run_apart([folder], tmp_path / "out")
    assert [(line.problem, line.status) for line in outcome.lines] == [("a\\xe9", "optimal"), ("b\\xff", "bad input")]
    summarised = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert [line["problem"] for line in summarised["problems"]] == ["a\\xe9", "b\\xff"]
    assert dx.load(tmp_path / "out" / "a-xe9").problem.name == "a\\xe9"


def test_a_file_is_read_once_for_its_names_its_digest_and_all_its_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a="space: {kind: line, size: 3}\nepsilon: [1, 2]\n", b=GOOD)
    read: list[str] = []
    real = family.read

    def counted(path: Path):
        read.append(path.name)
        return real(path)

    monkeypatch.setattr(family, "read", counted)
    outcome = batch.run([tmp_path], tmp_path / "out")
    assert [line.status for line in outcome.lines] == ["optimal"] * 3
    assert read == ["a.yaml", "b.yaml"]


def test_names_and_errors_are_no_html_in_the_summary(tmp_path: Path) -> None:
    name = "a <!-- open | & <b> `tick`"
    write(tmp_path, a=f"name: '{name}'\n" + GOOD, b="space: '`` <!-- '\nepsilon: 1\n", c=GOOD)
    outcome = batch.run([tmp_path], tmp_path / "out")
    outcome.save(tmp_path / "out")
    text = (tmp_path / "out" / "summary.md").read_text(encoding="utf-8")
    table, _, errors = text.partition("## Errors")
    assert "<" not in table
    assert r"| a &lt;!-- open \| &amp; &lt;b&gt; `tick` |" in table
    # The error is code from its first tick to its last: no run of ticks within it is as long as the fence.
    (error,) = (line for line in errors.splitlines() if "<!--" in line)
    assert error.startswith("- ``` ")
    assert error.endswith(" ```")
    assert "```" not in error[5:-4]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_making_of_a_problem(
    sign: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    went_on = []

    def build(*given: object) -> None:
        signal.raise_signal(sign)
        went_on.append(given)

    monkeypatch.setattr("dxopt.spec.build.build_space", build)
    files = [tmp_path / "one.yaml", tmp_path / "two.yaml"]
    for file in files:
        file.write_text("space: {kind: line, size: 3}\nepsilon: 1\n", encoding="utf-8")
    outcome = batch.run(files, tmp_path / "results")
    assert not went_on and [line.status for line in outcome.lines] == ["not started"] * 2
    assert not outcome.bad_input
