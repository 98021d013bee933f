"""Rows of no persons, all of which are paid from one account of a ledger."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.release.applying import formats
from dxopt.verify.published.sidecar import read_sidecar, sidecar_of
from dxopt.verify.verdict import Broken
from dxopt.words.published import published, sentences
from tests.material.people import counts

LEVEL = Fraction(counts().epsilon)
DAYS = pd.DataFrame({"date": [f"2025-{month:02}-03" for month in (1, 1, 2, 3, 3)], "visitors": [3, 0, 6, 2, 2]})
COLUMN: dict[str, Any] = {"column": "visitors", "within": 0}


@pytest.fixture
def ledger(tmp_path: Path):
    with dx.Budgets.open(tmp_path / "l.sqlite", create=True, unit="per unit", default=20 * LEVEL) as opened:
        yield opened


def spent(ledger: dx.Budgets) -> dict[str, Fraction]:
    return {account.person: account.spent for account in ledger.accounts()}


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("per", ["year", "month"])
def test_all_rows_pay_from_the_account_and_in_their_periods(
    form: str, per: Any, ledger: dx.Budgets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "ROWS", 2)
    ledger.set_per(per, 5 * LEVEL)
    data, output = tmp_path / f"days.{form}", tmp_path / f"public.{form}"
    asked: dict[str, Any] = {**COLUMN, "account": " everybody ", "ledger": ledger, "time": "date", "per": per}
    if form == "frame":
        dx.apply(counts(), DAYS, dx.Output(sidecar=sidecar_of(output)), **asked)
    else:
        DAYS.to_csv(data, index=False) if form == "csv" else DAYS.to_parquet(data)
        dx.apply(counts(), data, output, **asked)
    assert spent(ledger) == {"everybody": 5 * LEVEL}
    rows = {"year": {"2025": 5}, "month": {"2025-01": 2, "2025-02": 1, "2025-03": 2}}[per]
    assert {one.period: one.rows for one in ledger.history("everybody")} == rows
    paid = read_sidecar(sidecar_of(output)).budgets
    assert paid is not None and paid.in_period is not None
    assert (paid.person, paid.account, paid.in_period.rows) == (None, "everybody", 5)
    told = published(sidecar_of(output))
    assert dict(told.sentences)["account"] in told.data_page.repeated
    ledger.check()
    honest = json.loads(sidecar_of(output).read_text(encoding="utf-8"))
    for field, value in (
        ("zone", "zz"),
        ("zone", ""),
        ("zone", "Mars/Olympus"),
        ("time", "nosuch"),
        ("budget", -1.0),
    ):
        forged = json.loads(json.dumps(honest))
        forged["budgets"]["in_period"][field] = value
        sidecar_of(output).write_text(json.dumps(forged), encoding="utf-8")
        with pytest.raises(Broken):
            read_sidecar(sidecar_of(output))


def test_rows_beyond_the_account_are_refused_or_left_out(ledger: dx.Budgets, tmp_path: Path) -> None:
    ledger.set(3 * LEVEL)
    asked: dict[str, Any] = {**COLUMN, "account": "everybody", "ledger": ledger}
    with pytest.raises(dx.BudgetExceeded) as refused:
        dx.apply(counts(), DAYS, **asked)
    assert refused.value.person == "everybody"
    assert spent(ledger) == {}
    record = tmp_path / "said.json"
    found = dx.apply(counts(), DAYS, dx.Output(sidecar=record), over_budget="drop", **asked)
    assert list(found["date"]) == list(DAYS["date"][:3])
    paid = read_sidecar(record).budgets
    assert paid is not None and (paid.rows_left_out, paid.persons_left_out) == (2, 1)


def test_a_run_that_was_stopped_is_that_of_its_account(
    ledger: dx.Budgets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "days.csv"
    DAYS.to_csv(data, index=False)

    def stopped(*given: Any) -> None:
        raise KeyboardInterrupt

    for account, paid in (("a", {"a": 5}), ("b", {"a": 5, "b": 5}), ("a", {"a": 5, "b": 5})):
        with monkeypatch.context() as patch:
            patch.setattr(dx.Budgets, "finish", stopped)
            with pytest.raises(KeyboardInterrupt):
                dx.apply(counts(), data, tmp_path / "out.csv", account=account, ledger=ledger, **COLUMN)
        assert spent(ledger) == {name: rows * LEVEL for name, rows in paid.items()}


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "beside persons": ({"account": "everybody", "person": "date"}, "account"),
    "with a key": ({"account": "everybody", "key": dx.Key(bytes(32)), "release": "May"}, "account"),
    "empty": ({"account": " "}, "account"),
    "no text": ({"account": 7}, "account"),
    "none": ({}, "person"),
    "without a ledger": ({"account": "everybody", "ledger": None}, "account"),
}


@pytest.mark.parametrize("name", BAD)
def test_accounts_that_are_none(name: str, ledger: dx.Budgets) -> None:
    given, field = BAD[name]
    with pytest.raises(dx.SpecError) as refused:
        dx.apply(counts(), DAYS, **{**COLUMN, "ledger": ledger, **given})
    assert refused.value.field == field
    if name == "none":
        assert refused.value.options == {"account"}
    assert spent(ledger) == {}


@pytest.fixture
def public(ledger: dx.Budgets, tmp_path: Path) -> Path:
    DAYS.to_csv(tmp_path / "days.csv", index=False)
    counts().save(tmp_path / "table.dxt")
    ledger.set_per("year", 5 * LEVEL)
    given = ["days.csv", "-o", "public.csv", "--column", "visitors", "--within", "0", "--time", "date"]
    files = [str(tmp_path / one) if one.endswith(".csv") else one for one in given]
    paid = ["--account", "everybody", "--ledger", str(ledger.file)]
    done = CliRunner().invoke(app, ["apply", str(tmp_path / "table.dxt"), *files, *paid])
    assert done.exit_code == 0, done.output
    return tmp_path / "public.csv"


def test_the_file_is_proven_and_says_what_all_rows_pay_from(public: Path) -> None:
    done = CliRunner().invoke(app, ["verify", str(public), "--result", str(public.with_name("table.dxt")), "--json"])
    assert done.exit_code == 0
    told = dict(sentences(read_sidecar(sidecar_of(public))))
    assert "persons" not in told
    assert "one account" in told["account"] and "'everybody'" in told["account"]
    assert "'everybody'" in told["budget"] and "person" not in told["budget"]
    page = CliRunner().invoke(app, ["explain", str(public), "--data-page", "markdown"])
    assert "'everybody'" in page.stdout and "column 'everybody'" not in page.stdout
    shown = CliRunner().invoke(app, ["budget", str(public.with_name("l.sqlite")), "--person", "everybody", "--json"])
    assert math.isclose(json.loads(shown.stdout)["person"]["spent"], 5 * LEVEL)


@pytest.mark.parametrize(
    "change",
    [
        {"account": None},
        {"account": " "},
        {"person": "date"},
        {"person": "date", "account": ""},
        {"rows_left_out": 2, "persons_left_out": 2, "over_budget": "drop"},
    ],
)
def test_accounts_in_a_sidecar_that_cannot_be(change: dict[str, Any], public: Path) -> None:
    beside = sidecar_of(public)
    said = json.loads(beside.read_text(encoding="utf-8"))
    said["budgets"] |= change
    beside.write_text(json.dumps(said), encoding="utf-8")
    with pytest.raises(Broken):
        read_sidecar(beside)
