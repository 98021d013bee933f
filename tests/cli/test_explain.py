"""The command explain: folders, problem files, levels, JSON, and what is wrong."""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.numerics.number_syntax import at_most
from dxopt.solving import sizes
from dxopt.solving.routes import expected
from dxopt.studies import sweeps
from dxopt.words.privacy import proven_level
from dxopt.words.published import published

FILE = """name: counts
space: {kind: line, size: 5, unit: people}
epsilon: ln(2)
prior: uniform
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "counts.yaml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_results_and_files(file: Path, tmp_path: Path) -> None:
    folder = dx.solve(dx.read(file)).save(tmp_path / "out")
    done = CliRunner().invoke(app, ["explain", str(folder), str(file), "--epsilon", "0.5,1"])
    assert done.exit_code == 0
    assert done.stdout.count("two values 1 person apart by more than a factor of 2") == 2
    assert done.stdout.count("ε per person  factor at 1 person") == 2
    assert "ε proven 0.694 per person (asked 0.694)" in done.stdout


def test_the_levels_of_a_sweep_are_told_as_proven(file: Path, tmp_path: Path) -> None:
    problem = dx.read(file)
    assert dx.explain(problem).proven_levels == ()
    folder = dx.sweep(problem, [0.1, 0.5, 1]).save(tmp_path / "sweep")
    told = dx.explain(dx.EpsilonSweep.load(folder))
    assert told.proven_levels == dx.explain(problem, epsilons=[0.1, 0.5, 1]).proven_levels == (0.1, 0.5, 1.0)
    done = CliRunner().invoke(app, ["explain", str(folder), "--json"])
    (printed,) = json.loads(done.stdout)["results"]
    level = dict(printed["sentences"])["level"]
    assert level == dict(told.sentences)["level"]
    assert not level.startswith(proven_level(replace(told, choices=())))
    assert "0.1, 0.5, 1." in level
    assert "from 0.1 to 0.9" in proven_level(dx.explain(problem, epsilons=[level / 10 for level in range(1, 10)]))


def test_a_file_with_several_problems(tmp_path: Path) -> None:
    path = tmp_path / "several.yaml"
    levels = FILE.replace("epsilon: ln(2)", "epsilon: [1, ln(2)]")
    path.write_text(f"{levels}method: [optimal, geometric]\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["explain", str(path)])
    assert done.exit_code == 0
    assert done.stdout.count("apart by more than a factor of 2.72.") == 2
    assert done.stdout.count("apart by more than a factor of 2.\n") == 2
    done = CliRunner().invoke(app, ["explain", str(path), "--epsilon", "0.5,2"])
    assert done.exit_code == 0
    assert done.stdout.count("ε per person") == 1


def test_a_file_that_searches_for_its_level(tmp_path: Path) -> None:
    path = tmp_path / "searching.yaml"
    path.write_text(FILE.replace("epsilon: ln(2)", "epsilon: {max_loss: 0.9}"), encoding="utf-8")
    done = CliRunner().invoke(app, ["explain", str(path)])
    assert done.exit_code == 2
    assert re.fullmatch(r"epsilon: is searched for by .*, and not known before; solve the file and .*\n", done.stderr)
    done = CliRunner().invoke(app, ["explain", str(path), "--epsilon", "0.5,1"])
    assert done.exit_code == 0
    assert "ε asked 0.5 per person" in done.stdout


def test_a_table_about_several_values(file: Path) -> None:
    done = CliRunner().invoke(app, ["explain", str(file), "--epsilon", "0.5,1", "--values", "12"])
    assert done.exit_code == 0
    head, first, second = (re.split(r"  +", line.strip()) for line in done.stdout.splitlines()[-3:])
    assert head[-2:] == ["all 12 within (people)", "total off by at most (people)"]
    for row, epsilon in ((first, 0.5), (second, 1.0)):
        told = dx.explain(dx.solve(dx.read(file).at(epsilon)), values=12)
        assert told.all_within is not None and told.total_off is not None
        assert row[-2:] == [at_most(told.all_within), at_most(told.total_off)]


def test_ctrl_c_keeps_the_levels_that_are_done(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = sweeps.compare

    def stopped_after_one(*args: Any, **options: Any) -> dx.Comparison:
        os.kill(os.getpid(), signal.SIGINT)
        return compared(*args, **options)

    monkeypatch.setattr(sweeps, "compare", stopped_after_one)
    done = CliRunner().invoke(app, ["explain", str(file), "--epsilon", "0.5,1,2"])
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-2].startswith("ε per person")
    assert "KeyboardInterrupt (partial" not in done.stderr


def test_json(file: Path, tmp_path: Path) -> None:
    folder = dx.solve(dx.read(file)).save(tmp_path / "out")
    done = CliRunner().invoke(app, ["explain", str(folder), "--json"])
    (found,) = json.loads(done.stdout)["results"]
    assert (found["unit"], found["value_unit"], found["secrets"]) == ("people", "people", 5)
    assert found["factor"] == pytest.approx(2)
    assert [topic for topic, _ in found["sentences"]][:2] == ["privacy", "level"]


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["explain", str(tmp_path)])
    assert done.exit_code == 2
    assert done.stderr.startswith("result: ") and len(done.stderr.splitlines()) == 1


def test_everything_is_printed_on_demand(file: Path, tmp_path: Path) -> None:
    short, long = (
        CliRunner().invoke(app, ["solve", str(file), "-o", str(tmp_path / name), *more]).stdout
        for name, more in (("short", []), ("long", ["--verbose"]))
    )
    assert "proof of privacy" in long and "proof of privacy" not in short
    assert len(short.splitlines()) <= 14


def test_a_data_page_has_three_paragraphs_of_the_same_numbers(tmp_path: Path) -> None:
    apart = [[abs(x - z) for z in range(6)] for x in range(6)]
    space = dx.MetricSpace.from_distances(apart, labels=["a", "b", "c", "d", "e", "<b>"], unit="people")
    report = dx.solve(dx.Problem(space, epsilon="ln(2)", prior="uniform", name="ward <1>"))
    folder = report.save(tmp_path / "results" / "ward")
    data = tmp_path / "data.csv"
    data.write_text("label\na\nb\n", encoding="utf-8")
    public = dx.apply(report, data, tmp_path / "public.csv", columns=dx.Columns(label="label")).output
    told = dict(dx.explain(report).sentences)
    for path in (folder, public):
        done = CliRunner().invoke(app, ["explain", str(path), "--data-page", "markdown"])
        assert done.exit_code == 0
        assert [text.partition(".** ")[0].strip("*") for text in done.stdout.strip().split("\n\n")] == [
            "What is protected",
            "How far off",
            "Repeated use",
        ]
        as_html = CliRunner().invoke(app, ["explain", str(path), "--data-page", "html"])
        assert as_html.exit_code == 0
        assert as_html.stdout.count("<p>") == as_html.stdout.count("</p>") == 3
        assert "<b>" not in as_html.stdout
    page = dx.explain(report).data_page
    assert told["privacy"] in page.protected
    assert told["expected loss"] in page.accuracy
    assert told["several reports"].startswith(page.repeated)
    assert CliRunner().invoke(app, ["explain", str(folder), "--data-page", "pdf"]).exit_code == 2


@pytest.mark.parametrize("option", ["--distance", "--reports", "--values", "--epsilon"])
def test_a_published_file_names_the_options_that_it_takes(option: str, tmp_path: Path) -> None:
    data, public = tmp_path / "data.csv", tmp_path / "public.csv"
    data.write_text("beds\n1\n", encoding="utf-8")
    dx.apply(dx.classic.geometric(dx.line(5), epsilon=0.5), data, public, column="beds")
    done = CliRunner().invoke(app, ["explain", str(public), "--data-page", "markdown", option, "5"])
    assert done.exit_code == 2 and done.stdout == ""
    assert done.stderr.startswith(f"{option.strip('-')}: ") and "--data-page and --json" in done.stderr


def test_the_size_of_a_problem_is_told_before_it_is_solved(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large one explain and solve say the same; of a mechanism by name, for which nothing is searched, less."""
    assert "size: 5 secrets, 5 outputs.\n" in CliRunner().invoke(app, ["explain", str(file)]).stdout
    town, named = tmp_path / "town.yaml", tmp_path / "named.yaml"
    points = (
        "space: {kind: points, file: points.csv, columns: [x, y], metric: euclidean}\nepsilon: 1\nprior: uniform\n"
    )
    (tmp_path / "points.csv").write_text("x,y\n0,0\n1,0\n0,2\n", encoding="utf-8")
    town.write_text(f"name: town\n{points}", encoding="utf-8")
    named.write_text(f"name: named\n{points}method: exponential\n", encoding="utf-8")
    monkeypatch.setattr(sizes, "LARGE", 0.0)
    monkeypatch.setattr(expected, "LARGE", 0.0)
    monkeypatch.chdir(tmp_path)
    told = dict(dx.explain(dx.read(town)).sentences)["size"]
    assert re.match(r"3 secrets, 3 outputs, 6 pairs: about .* GB of memory, .* MB on disk, a table .* a stop", told)
    assert f"size: {told}" in CliRunner().invoke(app, ["explain", str(town)]).stdout
    assert "size: 3 secrets, 3 outputs.\n" in CliRunner().invoke(app, ["explain", str(named)]).stdout
    announced = [CliRunner().invoke(app, ["solve", str(one)]).stderr for one in (town, named)]
    assert f"town: {told}" in announced[0].replace("\n", ".\n") and "pairs" not in announced[1]


def test_a_data_page_of_a_published_file_has_what_was_asked_for(tmp_path: Path) -> None:
    """The radius and factor asked for, how far off, what was kept, and the budgets: those of the sidecar."""
    beds = dx.line(21, unit="beds")
    report = dx.solve(dx.Problem(beds, epsilon=dx.geo.level("ln(4)", 5), prior="uniform"))
    data, ledger = tmp_path / "data.csv", tmp_path / "ledger.sqlite"
    data.write_text("ward,day,beds\na,2026-01-01,3\na,2026-01-02,4\n", encoding="utf-8")
    table = report.make_table()
    with dx.Budgets.open(ledger, create=True, unit="per bed", default=7 * Fraction(table.epsilon)) as budgets:
        budgets.set_per("month", 3 * Fraction(table.epsilon))
        done = dx.apply(
            report, data, tmp_path / "public.csv", column="beds", within=0, person="ward", time="day", ledger=budgets
        )
    near, radius = done.record.privacy.near, done.record.radius
    assert (near.between, near.radius, near.apart) == ("secrets", 5, 5) and near.factor == pytest.approx(4)
    assert "pays for: 7 rows of a person in all, 3 rows in each month" in str(done)
    page = published(done.output).data_page
    assert "two values 5 beds apart by more than a factor of 4." in page.protected
    assert "'ward', 'day'" in page.protected
    assert radius is not None and f"within {radius.worst:g} beds of" in page.accuracy
    assert "'uncertainty'" in page.accuracy
    assert "pays for 7 such rows" in page.repeated and "In each month" in page.repeated
