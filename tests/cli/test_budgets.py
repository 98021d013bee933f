"""`dxopt budget`: to look, to set, and to be told what is wrong."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app

KM = "per km"


def call(*arguments: str | Path):
    """Run the command line in this process."""
    return CliRunner().invoke(app, ["budget", *map(str, arguments)])


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger with a finished run, and one that was killed."""
    file = tmp_path / "budget.sqlite"
    with dx.Budgets.open(file, create=True, unit=KM, default="10x0.1") as budgets:
        budgets.set(2, person="bob", delta=1e-6)
        run = budgets.begin("7f3a", release="march")
        budgets.charge(run, 0, ["anna", "bob", "anna"], 0.1, unit=KM)
        budgets.finish(run)
        budgets.charge(budgets.begin("april"), 0, ["bob"], 0.1, delta=1e-6, unit=KM)
    return file


def test_the_help_has_an_example() -> None:
    assert "Example: dxopt budget" in " ".join(call("--help").stdout.split())


def test_a_ledger_is_made_and_budgets_are_set(tmp_path: Path) -> None:
    file = tmp_path / "budget.sqlite"
    done = call(file, "--set", "10x0.1", "--unit", KM)
    assert done.exit_code == 0
    assert "per km; default budget 1; persons: 0; rows: 0" in done.stdout
    assert call(file, "--set", "ln(4)", "--person", "anna", "--delta", "1e-6").exit_code == 0
    with dx.Budgets.open(file) as budgets:
        assert (budgets.unit, budgets.default) == (KM, 10 * Fraction(0.1))
        assert budgets.account("anna").budget_delta == Fraction(1e-6)
    assert call(file, "--person", "anna", "--unset").exit_code == 0
    with dx.Budgets.open(file) as budgets:
        assert budgets.account("anna").budget == budgets.default


def test_the_table_has_those_with_the_least_left_first(ledger: Path) -> None:
    lines = call(ledger).stdout.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["person", "anna", "bob"]
    assert lines[2].split() == ["anna", "0.2", "0.8", "1", "(default)"]
    assert lines[3].split() == ["bob", "0.2,", "delta", "1e-06", "1.8", "2,", "delta", "1e-06"]
    assert lines[4].startswith("runs that were not finished: 1;")


def test_many_persons_are_not_all_shown(ledger: Path) -> None:
    with dx.Budgets.open(ledger) as budgets:
        budgets.charge(budgets.begin("many"), 0, [f"person {at}" for at in range(30)], 0.1, unit=KM)
    done = call(ledger)
    shown = [line for line in done.stdout.splitlines() if re.match(r"person \d", line)]
    assert len(shown) == 19 and "and 12 more, who have more left" in done.stdout


def test_one_person_with_payments(ledger: Path) -> None:
    lines = call(ledger, "--person", "bob").stdout.splitlines()
    assert lines[1] == "bob: spent 0.2, delta 1e-06, 1.8 left of 2"
    assert lines[3].startswith("march") and lines[4].startswith("april (not finished)")


def test_json_is_exact(ledger: Path) -> None:
    content = json.loads(call(ledger, "--json").stdout)
    assert (content["unit"], content["rows"], content["unfinished"]) == (KM, 4, ["april"])
    anna = content["persons"][0]
    assert anna["left"] == 0.8 and Fraction(anna["exact"]["left"]) == 8 * Fraction(0.1)
    content = json.loads(call(ledger, "--json", "--person", "bob").stdout)
    assert [(one["release"], one["rows"], one["cost"]) for one in content["payments"]] == [
        ("march", 1, 0.1),
        ("april", 1, 0.1),
    ]


def test_it_says_what_a_key_shows(ledger: Path) -> None:
    assert "With a key" not in call(ledger).stdout
    key = dx.Key(bytes(32))
    with dx.Budgets.open(ledger) as budgets:
        budgets.pay("anna", 0.1, unit=KM, release="home", tag=b"1", key=key)
    for done in (call(ledger), call(ledger, "--person", "anna")):
        assert "rows: 5 (1 drawn with a key)" in done.stdout
        assert "covers only histories that have equal secrets in the same rows" in done.stdout
    assert f"key {key.fingerprint}" in call(ledger, "--person", "anna").stdout
    assert "With a key" not in call(ledger, "--person", "bob").stdout
    content = json.loads(call(ledger, "--json", "--person", "anna").stdout)
    assert content["rows_keyed"] == 1
    assert [(one["keyed"], one["key"]) for one in content["payments"]] == [(False, None), (True, key.fingerprint)]


def test_runs_are_closed_and_the_ledger_is_checked(ledger: Path) -> None:
    done = call(ledger, "--close-runs", "--check")
    assert done.exit_code == 0
    assert "runs that were closed: 1" in done.stdout and "checked: everybody has spent" in done.stdout
    assert "not finished" not in done.stdout


def test_names_cannot_write_to_the_terminal(ledger: Path) -> None:
    evil = "\x1b[31m[b]eve"
    with dx.Budgets.open(ledger) as budgets:
        budgets.pay(evil, 0.1, unit=KM, release=evil)
    for done in (call(ledger), call(ledger, "--person", evil)):
        assert "\x1b" not in done.stdout and "[31m[b]eve" in done.stdout


def test_a_ledger_of_hashes_needs_its_key(tmp_path: Path) -> None:
    key = dx.Key.new().save(tmp_path / "key")
    assert call(tmp_path / "b.sqlite", "--set", "1", "--unit", KM, "--key-file", key).exit_code == 0
    assert call(tmp_path / "b.sqlite", "--person", "anna", "--key-file", key).exit_code == 0
    assert "key: is missing" in call(tmp_path / "b.sqlite").stderr


BAD = {
    "ledger: .* is not there; make it: dxopt budget LEDGER --set AMOUNT --unit UNIT": ["none.sqlite"],
    "budget: is the text 'much'": ["none.sqlite", "--set", "much"],
    "budget: is -1": ["none.sqlite", "--set", "-1"],
    "delta: is the text 'x'": ["none.sqlite", "--set", "1", "--delta", "x"],
    "budget: is 0.1, but person 'anna' has spent 0.2": ["budget.sqlite", "--set", "0.1"],
    "unit: is 'per m', but the ledger is in 'per km'": ["budget.sqlite", "--unit", "per m"],
    "delta: is given without a budget": ["budget.sqlite", "--delta", "1e-6"],
    "unset: is of one person": ["budget.sqlite", "--unset"],
    "key: .* cannot be read: No such file": ["budget.sqlite", "--key-file", "none"],
    "persons: number 0 ": ["budget.sqlite", "--person", ""],
}


@pytest.mark.parametrize("message", list(BAD))
def test_bad_input_is_one_line_and_makes_no_file(ledger: Path, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ledger.parent)
    done = call(*BAD[message])
    assert done.exit_code == 2
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert re.match(message, done.stderr), done.stderr
    assert [file.name for file in ledger.parent.iterdir()] == ["budget.sqlite"]


@pytest.mark.parametrize("epsilon", ["ln(4)", 0.6192867, 0.1])
def test_the_level_of_a_result_pays_for_as_many_reports(epsilon: float | str, tmp_path: Path) -> None:
    """Also as it is printed: what is rounded is rounded up."""
    report = dx.solve(dx.Problem(dx.line(5, unit="beds"), epsilon=epsilon, prior="uniform"))
    folder = report.save(tmp_path / "results" / "beds")
    table = report.make_table()
    exact = Fraction(table.epsilon)
    printed = re.search(r"ε proven (\S+) per bed \(asked (\S+)\)", str(report))
    assert printed is not None
    for number, amount in enumerate((folder, table.save(tmp_path / "beds.dxt"), *printed.groups())):
        file = tmp_path / f"{number}.sqlite"
        assert call(file, "--set", f"3x{amount}", "--unit", "per bed").exit_code == 0
        with dx.Budgets.open(file) as budgets:
            assert budgets.default is not None and budgets.default // exact >= 3
            assert number > 1 or budgets.default == 3 * exact
    assert call(tmp_path / "day.sqlite", "--set", folder).exit_code == 0
    assert call(tmp_path / "day.sqlite", "--set", f"2x{folder}", "--per", "day").exit_code == 0
    with dx.Budgets.open(tmp_path / "day.sqlite") as budgets:
        assert budgets.unit == "per bed" and budgets.default == exact
        assert budgets.per is not None and budgets.per.epsilon == 2 * exact


def test_the_delta_and_the_unit_of_a_result_are_taken(tmp_path: Path) -> None:
    problem = dx.Problem(dx.line(3, unit="beds"), epsilon=0.5, delta=1e-3, prior="uniform")
    folder = dx.solve(problem).save(tmp_path / "beds")
    table = dx.load(folder).make_table()
    assert call(tmp_path / "b.sqlite", "--set", f"4x{folder}").exit_code == 0
    assert call(tmp_path / "c.sqlite", "--set", f"4x{folder}", "--delta", "0.5").exit_code == 0
    for file, delta in (("b", 4 * Fraction(table.delta)), ("c", Fraction(0.5))):
        with dx.Budgets.open(tmp_path / f"{file}.sqlite") as budgets:
            assert (budgets.default_delta, budgets.unit) == (delta, "per bed")
    refused = call(tmp_path / "d.sqlite", "--set", f"4x{folder}", "--unit", KM)
    assert refused.exit_code == 2 and refused.stderr.startswith("unit: ")
    assert not (tmp_path / "d.sqlite").exists()
