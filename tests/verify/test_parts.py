"""Levels, frontiers and sweeps proven again from their folders, and what is false in them or in their parts."""

from __future__ import annotations

import json
import re
import shutil
import signal
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.batch import jobs
from dxopt.cli.application import app
from dxopt.results.folder import write_digests
from dxopt.results.page.entries import read as read_entries
from dxopt.runtime.stopping import Status
from dxopt.solving.routes import limits
from dxopt.verify import Outcome, Verdicts, verify, verify_all
from dxopt.verify.folder import Result
from dxopt.verify.parts import _Band, _check_breakpoints, differing_entry
from dxopt.verify.verdict import Broken
from tests.judges.parts import judged_with_parts, question_of
from tests.material.checks import change_claims
from tests.material.parted import KINDS, change, failing, points, redigest


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("results")
    return {kind: make().save(base / kind) for kind, make in KINDS.items()}


@pytest.fixture
def folder(results: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return Path(shutil.copytree(results[getattr(request, "param", "frontier")], tmp_path / "out"))


@pytest.mark.parametrize("kind", KINDS)
def test_untouched_results_hold(results: dict[str, Path], kind: str) -> None:
    verdict = verify(results[kind])
    parts = sorted(path.name for path in (results[kind] / "parts").iterdir())
    assert judged_with_parts(results[kind]) == (set(), set())
    assert (verdict.outcome, verdict.exit_code) == (Outcome.HOLDS, 0), str(verdict)
    for name in parts:
        assert verdict.of(f"parts/{name}").detail.endswith("claims")
        assert verify(results[kind] / "parts" / name).outcome is Outcome.HOLDS
        assert dx.load(results[kind] / "parts" / name).certificate.private
    assert verdict.of(f"{question_of(results[kind])}.json").status is Outcome.HOLDS
    assert len(parts) == (1 if "level" in kind else 3 if kind == "sweep" else len(parts))


def test_of_a_search_that_was_stopped(tmp_path: Path) -> None:
    level = dx.smallest_epsilon(points(), 0.5, accuracy=1e-4)
    status = Status.INTERRUPTED
    for stopped in (
        replace(level, report=None, status=status),
        replace(level, refuted=None, status=status),
        replace(level, report=None, refuted=None, status=status),
    ):
        verdict = verify(stopped.save(tmp_path / "a"))
        assert verdict.outcome is Outcome.HOLDS, str(verdict)
        change(tmp_path / "a" / "level.json", status="optimal")
        assert "one end is missing" in failing(verify(tmp_path / "a"))["level.json"]
    sweep = KINDS["sweep"]()
    for found in (
        *(replace(KINDS[kind](), wanted=1e-9) for kind in ("frontier", "budgets")),
        replace(sweep, reports=sweep.reports[:1]),
    ):
        ends = found.reports if len(found.reports) == 1 else (found.reports[0], found.reports[-1])
        verdict = verify(replace(found, reports=ends, status=status).save(tmp_path / "b"))
        assert verdict.outcome is Outcome.HOLDS, str(verdict)


def test_parts_that_are_missing_added_or_moved(folder: Path) -> None:
    last = sorted((folder / "parts").iterdir())[-1]
    shutil.copytree(last, folder / "parts" / "extra")
    assert "without a digest: parts/extra/digests.json" in failing(verify(folder))["digests"]
    redigest(folder)
    assert "there is parts/extra, but no parts/" in failing(verify(folder))["frontier.json"]
    shutil.rmtree(folder / "parts" / "extra")
    redigest(folder)
    assert verify(folder).outcome is Outcome.HOLDS
    (folder / "parts" / "000").rename(folder / "first")
    (folder / "parts" / "001").rename(folder / "parts" / "000")
    (folder / "first").rename(folder / "parts" / "001")
    assert "parts/000/digests.json" in failing(verify(folder))["digests"]
    redigest(folder)
    assert "epsilons is " in failing(verify(folder))["frontier.json"]
    shutil.rmtree(last)
    assert f"missing: parts/{last.name}/digests.json" in failing(verify(folder))["digests"]
    redigest(folder)
    assert "parts" in failing(verify(folder))["frontier.json"]
    shutil.rmtree(folder / "parts")
    assert "missing: parts/000/digests.json" in failing(verify(folder))["digests"]
    write_digests(folder)
    assert "but there are 0 parts" in failing(verify(folder))["frontier.json"]


@pytest.mark.parametrize("name", ["level.json", "frontier.json", "sweep.json"])
def test_what_has_no_digest_is_noticed(folder: Path, name: str) -> None:
    if not (folder / name).exists():
        (folder / name).write_text("{}", encoding="utf-8")
    digests = json.loads((folder / "digests.json").read_text(encoding="utf-8"))
    digests["sha256"].pop(name, None)
    (folder / "digests.json").write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")
    assert name in failing(verify(folder))["digests"]


@pytest.mark.parametrize("name", ["parts/../digests.json", "parts/000/claims.json", "../out/level.json", "parts"])
def test_digests_are_of_no_other_files(folder: Path, name: str) -> None:
    digests = json.loads((folder / "digests.json").read_text(encoding="utf-8"))
    digests["sha256"][name] = "0" * 64
    (folder / "digests.json").write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")
    assert failing(verify(folder))["digests"] == f"missing: {name}"


def test_parts_of_another_problem(folder: Path) -> None:
    other = points(prior=dx.Prior.from_weights(dx.grid((2, 3)), range(2, 8)))
    where = folder / "parts" / "001"
    dx.solve(other.at(dx.load(where).problem.epsilon)).save(where)
    redigest(folder)
    assert verify(where).outcome is Outcome.HOLDS
    assert failing(verify(folder))["parts/001"] == "it is about another problem: another prior"


def test_a_part_is_a_report(results: dict[str, Path], folder: Path) -> None:
    shutil.rmtree(folder / "parts" / "001")
    shutil.copytree(results["level"], folder / "parts" / "001")
    redigest(folder)
    assert "it is no report" in failing(verify(folder))["parts/001"]


@pytest.mark.parametrize("folder", ["level"], indirect=True)
def test_losses_that_are_not_proven_at_the_ends(folder: Path) -> None:
    content = json.loads((folder / "level.json").read_text(encoding="utf-8"))
    loss, bound = (dx.load(saved).certificate for saved in (folder, folder / "parts" / "000"))
    change(folder / "level.json", max_loss=loss.value - 1e-6)
    assert "the loss is" in failing(verify(folder))["level.json"]
    change(folder / "level.json", max_loss=bound.bound + 1e-6)
    assert "is proven, but" in failing(verify(folder))["level.json"]
    change(folder / "level.json", max_loss=content["max_loss"], accuracy=np.log1p(content["resolution"]) * (1 - 2e-6))
    assert "status is optimal" in failing(verify(folder))["level.json"]
    change(folder / "level.json", accuracy=np.log1p(content["resolution"]) * (1 + 1e-8))
    assert "level.json" not in failing(verify(folder))
    change(folder / "level.json", status="feasible")
    assert "status is feasible" in failing(verify(folder))["level.json"]


@pytest.mark.parametrize("folder", ["frontier", "budgets"], indirect=True)
@pytest.mark.parametrize("status", ["feasible", "interrupted", "time limit", "done"])
def test_a_frontier_that_reached_its_resolution_is_optimal(folder: Path, status: str) -> None:
    change(folder / "frontier.json", status=status)
    assert f"status is {status}" in failing(verify(folder))["frontier.json"].replace("'", "")


def test_unknown_entries_are_refused(folder: Path) -> None:
    change(folder / "frontier.json", promise="none is better")
    assert "promise is unknown" in failing(verify(folder))["frontier.json"]


def test_a_frontier_that_is_too_wide_is_not_optimal(folder: Path) -> None:
    change(folder / "frontier.json", wanted=1e-6, status="optimal")
    assert "status is optimal, with a resolution" in failing(verify(folder))["frontier.json"]


def test_what_is_not_written_down_is_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WRITTEN_CELLS", 0)
    space = dx.grid((6, 7), metric="manhattan")
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
    verdict = verify(dx.sweep(problem, [0.5, 1.0]).save(tmp_path / "out"))
    assert verdict.outcome is Outcome.NOT_REPROVED, str(verdict)
    assert "not written down" in verdict.of("parts/001").detail
    assert "parts/000, parts/001" in verdict.of("sweep.json").detail


def test_parts_are_replaced_and_not_searched(tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = tmp_path / "a.yaml"
    run = CliRunner().invoke
    counts = []
    for resolution in (0.1, 0.4):
        asked = f"{{from: 0.5, to: 2, resolution: {resolution}}}"
        file.write_text(f"space: {{kind: line, size: 2}}\nepsilon: {asked}\n", encoding="utf-8")
        assert run(app, ["solve", str(file), "-o", str(out), "--force"]).exit_code == 0
        counts.append(len(list((out / "a" / "parts").iterdir())))
        assert verify(out / "a").outcome is Outcome.HOLDS
        assert [path.name for path in out.iterdir()] == ["a"]
    assert counts[0] > counts[1] + 3
    (out / "a" / "parts" / "000" / "mine.yaml").write_text("name: none\n", encoding="utf-8")
    assert jobs.problem_files([tmp_path]) == [file]
    assert [entry.name for entry in read_entries(out)] == ["a"]
    file.write_text("space: {kind: line, size: 2}\nepsilon: 1\n", encoding="utf-8")
    assert run(app, ["solve", str(file), "-o", str(out), "--force"]).exit_code == 0
    assert not (out / "a" / "parts").exists()
    assert verify(out / "a").outcome is Outcome.HOLDS


def test_a_save_that_breaks_off_leaves_the_earlier_result(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    written: list[Path] = []

    def breaks_off(part: Path) -> None:
        written.append(part)
        if len(written) == 2:
            raise KeyboardInterrupt
        write_digests(part)

    monkeypatch.setattr("dxopt.results.folder.write_digests", breaks_off)
    with pytest.raises(KeyboardInterrupt):
        KINDS["frontier"]().save(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert [path.name for path in folder.parent.iterdir()] == ["out"]
    assert verify(folder).outcome is Outcome.HOLDS


def test_a_folder_of_results(results: dict[str, Path], tmp_path: Path) -> None:
    for name in ("level", "frontier"):
        shutil.copytree(results[name], tmp_path / "all" / "inner" / name)
    shutil.copytree(results["level"], tmp_path / "all" / ".hidden")
    reported: list[str] = []
    verdict = verify_all(tmp_path / "all", tell=reported.append)
    assert isinstance(verdict, Verdicts)
    assert [Path(one.folder).name for one in verdict.results] == ["frontier", "level"]
    assert (verdict.outcome, verdict.exit_code) == (Outcome.HOLDS, 0)
    assert str(verdict).splitlines()[-1] == f"{tmp_path / 'all'}: 2 results: holds 2"
    count = len(list((results["frontier"] / "parts").iterdir()))
    assert reported[:2] == ["inner/frontier, 1 of 2", f"inner/frontier: parts/000, 1 of {count}"]
    change_claims(tmp_path / "all" / "inner" / "level", value=0.4)
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "all")])
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[0].endswith("/frontier: holds, " + lines[0].rpartition(", ")[2])
    assert any(line.startswith("  value") and "fails" in line for line in lines)
    assert lines[-1].endswith("2 results: holds 1, fails 1")
    content = json.loads(CliRunner().invoke(app, ["verify", str(tmp_path / "all"), "--json"]).stdout)
    assert content["outcome"] == "fails"
    assert [one["outcome"] for one in content["results"]] == ["holds", "fails"]
    (tmp_path / "none").mkdir()
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "none")])
    assert (done.exit_code, "holds no result" in done.stderr) == (2, True)


def test_progress_and_ctrl_c(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dxopt.runtime import progress
    from dxopt.verify import proving

    run = CliRunner().invoke
    assert run(app, ["verify", str(folder)]).stderr == ""
    now = iter(range(0, 10**6, 3))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(now)))
    assert re.search(r"out: parts/00\d, \d of \d", run(app, ["verify", str(folder)]).stderr)
    monkeypatch.setattr(proving, "check_frontier", lambda *given: signal.raise_signal(signal.SIGINT))
    done = run(app, ["verify", str(folder)])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == "interrupted"


def test_what_one_problem_lacks_differs(results: dict[str, Path]) -> None:
    whole = Result.read(next((results["sweep"] / "parts").iterdir()))
    more = replace(whole, problem={**whole.problem, "prior_set.masses": np.ones(1)})
    assert differing_entry(whole, whole) is None
    assert differing_entry(whole, more) == differing_entry(more, whole) == "prior_set.masses"


@pytest.mark.parametrize(
    ("widths", "kinked"),
    [((0.05, 0.05), True), ((0.05, 0.3), False), ((0.3, 0.05), False), ((0.3, 0.3), False)],
)
def test_breakpoints_have_straight_pieces_on_both_sides(widths: tuple[float, float], kinked: bool) -> None:
    budgets = [Fraction(0), Fraction(1), Fraction(2)]
    values = [Fraction(0), Fraction(3, 2), Fraction(2)]
    parts: list[Any] = [SimpleNamespace(max_loss=at, value=value) for at, value in zip(budgets, values, strict=True)]
    band = _Band(budgets, list(map(Fraction, widths)), [Fraction(0)] * 3, Fraction(2), Fraction(2))
    for claimed in ([], [1.0]):
        if bool(claimed) == kinked:
            _check_breakpoints({"breakpoints": claimed}, parts, band, Fraction(1, 10))
        else:
            with pytest.raises(Broken, match="breakpoints: 1 is"):
                _check_breakpoints({"breakpoints": claimed}, parts, band, Fraction(1, 10))
