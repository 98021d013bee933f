"""The table of scale: what came of each run stands in it, as it was, with what runs it again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import benchmarks.run as running
import dxopt as dx
from benchmarks.candidates import highspy_ipx
from benchmarks.contract import CANDIDATES, INSTANCES, Matrix, NoAnswer, OptimalInstance
from benchmarks.instances.cities import GOWALLA, PLACE
from benchmarks.objective import score
from benchmarks.once import Outcome, once
from benchmarks.page import BEGIN, END, HEADER, publish
from benchmarks.results import Run, cells, read
from benchmarks.run import _line, apart
from benchmarks.usage import held, spare
from dxopt.errors import SpecError
from dxopt.solving.programs.program import ChannelProgram, LinearProgram, Rows
from dxopt.solving.solvers.base import Settings
from dxopt.solving.solvers.highs import Highs
from tests.material.files import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
MARKED = f"# Before\n\n{BEGIN}\nold\n{END}\n\nAfter.\n"


def asked(name: str, **changes: Any) -> OptimalInstance:
    instance = INSTANCES.get(name)
    assert isinstance(instance, OptimalInstance)
    return replace(instance, **changes)


def ran(candidate: str, outcome: Outcome, instance: str = "skewed-37-60", **more: Any) -> Run:
    role = CANDIDATES.get(candidate).role
    return Run(
        instance, "skewed-37", candidate, role, 1, outcome, **{"limit": 9.0, "tolerance": 1e-6, "load": 2.5, **more}
    )


def rows(text: str) -> dict[str, dict[str, str]]:
    """The rows of the tables of a page, by candidate and points."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    found = [dict(zip(map(str, HEADER), line, strict=True)) for line in lines if len(line) == len(HEADER)]
    return {f"{row['candidate']} {row['n']}": row for row in found if row["n"] not in ("n", "---")}


PROVEN = Outcome(
    60, 0.5, seconds=1.5, spent=1.5, cpu=2.0, memory=300.0, private="proven", value=1.0, gap=2e-7, rounds=12
)
OUTCOMES = {
    "dxopt": (PROVEN, "proven"),
    "clarabel": (replace(PROVEN, private="repaired (violated by 1e-12)", rounds=None), "proven after repair"),
    "clarabel-lazy": (
        replace(PROVEN, seconds=None, spent=9.0, failure="gap 2.0e-03 of 1e-06", gap=2e-3, late=True),
        "private, gap too large",
    ),
    "highspy": (
        Outcome(60, 0.5, failure="no answer within 9 s", late=True, spent=9.0, memory=800.0),
        "none in the limit",
    ),
    "highspy-hipo": (Outcome(60, 0.5, refused="is not installed"), "refused: is not installed"),
    "cvxpy": (Outcome(skipped="gave up already on skewed-37-25"), "not asked: gave up already on skewed-37-25"),
    "qif": (Outcome(60, 0.5, failure="leakage (3 | 4)", spent=2.0), "FAILED: leakage (3 / 4), after 2 s"),
}


def test_a_page_says_of_each_run_what_came_of_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(MARKED, encoding="utf-8")
    runs = [ran(candidate, outcome) for candidate, (outcome, _) in OUTCOMES.items()]
    assert publish(runs, page) == [page]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Before\n\n")
    assert text.endswith("\n\nAfter.\n")
    assert "old" not in text
    found = rows(text)
    assert {name: row["result"] for name, row in found.items()} == {
        f"{candidate} 60": words for candidate, (_, words) in OUTCOMES.items()
    }
    ours = found["dxopt 60"]
    assert list(ours.values())[:9] == ["60", "0.5", "dxopt", "1.5", "2", "300", "12", "2.0e-07", "1e-06"]
    assert ours["load"] == "2.5"
    assert ours["arguments"] == "`--instance skewed-37-60 --candidate dxopt --limit 9`"
    assert found["clarabel-lazy 60"]["seconds"] == found["highspy 60"]["seconds"] == "> 9"
    assert found["cvxpy 60"]["ε"] == "0.5"
    publish(runs[:1], page)
    assert list(rows(page.read_text(encoding="utf-8"))) == ["dxopt 60"]


def test_a_page_has_one_plot_of_all_families_with_two_sizes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(MARKED, encoding="utf-8")
    larger = replace(PROVEN, points=120, seconds=4.0, spent=4.0)
    late = replace(OUTCOMES["highspy"][0], points=120)
    runs = [ran("dxopt", PROVEN), ran("dxopt", larger, "skewed-37-120"), ran("highspy", late, "skewed-37-120")]
    assert [file.name for file in publish(runs, page)] == ["page.md", "page.svg", "page.png"]
    assert "](page.png)" in page.read_text(encoding="utf-8")
    assert (tmp_path / "page.png").stat().st_size > 10_000


def test_crossings_of_a_city_stand_beside_those_of_rome(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(MARKED, encoding="utf-8")
    of_city = replace(PROVEN, points=1_000, value=191.4, bound=190.2)
    runs = [
        replace(ran(candidate, replace(of_city, value=value), "streets-1000"), family="streets")
        for candidate, value in (("dxopt", 191.4), ("plain-exponential", 1101.2), ("classic-exponential", 1018.8))
    ]
    assert {file.name for file in publish(runs, page)} == {"page.md", "page-rome.svg", "page-rome.png"}
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| 1,000 ")]
    cells_of = [cell.strip() for cell in lines[0].strip("|").split("|")]
    assert cells_of == ["1,000", "1,214", "1,101", "1,078", "1,019", "275", "191", "190"]
    assert (tmp_path / "page-rome.png").stat().st_size > 10_000


def test_a_page_without_markers_is_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for text in ("# Before\n", f"{BEGIN}\n", f"{END}\n{BEGIN}\n"):
        page.write_text(text, encoding="utf-8")
        with pytest.raises(SpecError, match=r"^page: "):
            publish([ran("dxopt", PROVEN)], page)
        assert page.read_text(encoding="utf-8") == text


def test_the_published_page_can_be_run_again() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert BEGIN in text
    assert END in text
    for named in re.findall(r"`--instance (\S+) --candidate (\S+)", text):
        assert named[0] in INSTANCES
        assert named[1] in CANDIDATES
    for group in re.findall(r"--group (\S+)", text):
        assert any(group in INSTANCES.get(name).groups for name in INSTANCES)
    for candidate in re.findall(r"--candidate ([\w-]+)", text):
        assert candidate in CANDIDATES


def test_the_groups_of_scale_and_the_gaps_that_they_ask_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small, large = (
        {name for name in INSTANCES if group in INSTANCES.get(name).groups} for group in ("scale", "scale-large")
    )
    assert not small & large
    assert {"skewed-37-250", "gowalla-250", "gowalla-place-30-250", "euclidean-15", "l1-15"} <= small
    assert large >= {
        "skewed-37-500", "gowalla-500", "gowalla-1000", "gowalla-2000", "gowalla-9701", "gowalla-place-30-500",
        "gowalla-place-30-km-500", "euclidean-32", "l1-64", "euclidean-100", "euclidean-heavy-100",
    }  # fmt: skip
    goals = {name: asked(name).tolerance for name in small | large}
    streets = {name for name in goals if name.startswith("streets") and int(name.rpartition("-")[2]) >= 250}
    assert streets >= {"streets-2000", "streets-5000", "streets-few-1000", "streets-skewed-250"}
    assert {name for name, goal in goals.items() if goal == 1e-2} == {
        "gowalla-9701", "euclidean-100", "euclidean-heavy-100", *streets,
    }  # fmt: skip
    assert goals["euclidean-32"] == goals["skewed-37-120"] == 1e-6
    assert goals["l1-64"] == goals["gowalla-250"] == goals["gowalla-place-30-500"] == goals["skewed-0-250"] == 1e-4
    file = tmp_path / "places.csv"
    places = [f"37.{700 + k},-122.{400 + (7 * k) % 90},{100 - k}" for k in range(70)]
    file.write_text("\n".join(["lat,lon,checkins", *places]))
    monkeypatch.setenv(GOWALLA, str(file))
    problem = asked("gowalla-place-30-km-250").build(70)
    assert problem.prior.probabilities[PLACE] == pytest.approx(0.37)
    assert problem.prior.probabilities[0] / problem.prior.probabilities[69] == pytest.approx(100 / 31)
    assert problem.epsilon == pytest.approx(np.log(4))
    assert asked("gowalla-place-30-250").build(70).epsilon == pytest.approx(2 * np.log(4))


def test_dxopt_is_told_the_limit_and_its_best_by_then_is_kept() -> None:
    instance = asked("euclidean-10", size=10, limit=0.02)
    outcome = once(instance, CANDIDATES.get("dxopt")())
    assert outcome.late
    assert outcome.seconds is None
    assert outcome.spent is not None
    assert (outcome.points, outcome.epsilon, outcome.private) == (100, 0.5, "proven")
    assert outcome.gap is not None
    assert outcome.gap > instance.tolerance
    assert outcome.failure == f"gap {outcome.gap:.1e} of 1e-06"


def test_rounds_are_told_where_there_are_any() -> None:
    instance = asked("skewed-37-25")
    assert (once(instance, CANDIDATES.get("dxopt-columns")()).rounds or 0) > 3
    assert (once(instance, CANDIDATES.get("clarabel-lazy")()).rounds or 0) >= 1
    assert once(instance, CANDIDATES.get("clarabel")()).rounds is None


def test_a_private_answer_with_a_wide_gap_keeps_its_gap() -> None:
    instance = asked("euclidean-3")
    question = instance.build(3)
    lazy = dx.solve(question, method="exponential").mechanism
    found = score(instance, question, Matrix(lazy.matrix), known=dx.solve(question).certificate.bound)
    assert found.failure == f"gap {found.gap:.1e} of 1e-06"
    assert (found.gap or 0) > 0.01
    assert found.private == "proven"


GREEDY = """
import subprocess, sys, time
helper = subprocess.Popen([sys.executable, "-c", "x = b'1' * 200_000_000; import time; time.sleep(60)"])
print("started", flush=True)
time.sleep(60)
"""


def test_who_holds_too_much_memory_is_ended_with_helpers_counted() -> None:
    with subprocess.Popen([sys.executable, "-c", GREEDY], stdout=subprocess.PIPE, text=True) as process:
        assert _line(process, 30.0, 1e6)[0] == "started\n"
        line, why, peak = _line(process, 30.0, 150.0)
    assert line == ""
    assert why == ", as it held more than the 0.1 GB that were left"
    assert peak > 150.0
    assert held(process.pid) == 0.0
    assert spare() > 100.0


def test_a_run_apart_has_its_limit_and_says_the_level() -> None:
    late = apart("euclidean-10", "clarabel", 0.3)
    assert late.late
    assert (late.points, late.epsilon, late.spent) == (100, 0.5, 0.3)
    assert (late.memory or 0.0) > 10.0


def test_files_of_before_are_read_without_what_they_lack(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    line = {"started": "1", **ran("dxopt", PROVEN).flat()}
    old = {
        name: value for name, value in line.items() if name not in ("limit", "tolerance", "load", "epsilon", "rounds")
    }
    file.write_text(json.dumps(old))
    (before,) = cells(read(file))
    assert (before.seconds, before.limit, before.load, before.last.rounds) == (1.5, None, None, None)
    file.write_text(json.dumps(line))
    (now,) = cells(read(file))
    assert (now.limit, now.tolerance, now.load, now.last.rounds, now.last.epsilon) == (9.0, 1e-6, 2.5, 12, 0.5)


def solvers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What `solver` is when HiGHS runs, from now on."""
    import highspy

    used, run = [], highspy.Highs.run

    def running(highs: Any) -> Any:
        used.append(highs.getOptionValue("solver")[1])
        return run(highs)

    monkeypatch.setattr(highspy.Highs, "run", running)
    return used


def knows(name: str) -> bool:
    """Whether this HiGHS has such a solver, all its parts installed or not."""
    import highspy

    highs: Any = highspy.Highs()
    highs.silent()
    return highs.setOptionValue("solver", name) == highspy.HighsStatus.kOk


def test_highs_is_asked_ipx_whatever_is_installed_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    used = solvers(monkeypatch)
    instance = asked("euclidean-3")
    assert once(instance, CANDIDATES.get("highspy")()).failure is None
    apart = 1 - np.eye(2)
    program = ChannelProgram(0.5 * apart, apart)
    assert Highs().solve(LinearProgram.of(program, Rows.everywhere(program)), Settings()).primal is not None
    assert len(used) > 1
    assert set(used) == {"ipx" if knows("ipx") else "ipm"}


def test_hipo_is_refused_without_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    instance, hipo = asked("euclidean-3"), CANDIDATES.get("highspy-hipo")
    monkeypatch.setattr(highspy_ipx, "find_spec", lambda name: None)
    assert once(instance, hipo()).refused == "highspy-extras is not installed"
    monkeypatch.setattr(highspy_ipx, "find_spec", find_spec)
    if find_spec("highspy_extras") is not None and knows("hipo"):
        used = solvers(monkeypatch)
        assert once(instance, hipo()).failure is None
        assert set(used) == {"hipo"}
    else:
        with pytest.raises(NoAnswer, match="this HiGHS has no hipo"):
            hipo().prepare(instance, instance.build(3))()


def test_who_takes_too_long_before_or_after_the_answer_is_ended_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "AROUND", 0.05)
    outcome = apart("euclidean-5", "dxopt", 60.0)
    assert not outcome.late
    assert outcome.failure == "its process ended with -9 while it warmed up, as it took too long"
