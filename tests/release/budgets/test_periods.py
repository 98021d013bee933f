"""Budgets by period: what belongs to which day, and that nobody spends more in a period, or in all."""

from __future__ import annotations

import csv
import json
import random
import sqlite3
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.release.budgets.periods import PERIODS, PerPeriod
from tests.release.budgets.reader import overspent

pd = pytest.importorskip("pandas")
KM = "per km"
PARIS = "Europe/Paris"


def opened(ledger: Path, default: float | str = 3, day: float = 1, zone: str = PARIS) -> dx.Budgets:
    budgets = dx.Budgets.open(ledger, create=True, unit=KM, default=default)
    budgets.set_per("day", day, zone=zone)
    return budgets


@pytest.mark.parametrize(
    ("period", "zone", "time", "name"),
    [
        ("day", "UTC", "2026-01-31", "2026-01-31"),
        ("day", PARIS, "2026-01-31T23:30:00Z", "2026-02-01"),
        ("day", PARIS, "2026-01-31 23:30", "2026-01-31"),
        ("day", "America/New_York", "2026-01-31T03:00:00+00:00", "2026-01-30"),
        ("day", PARIS, "2028-02-29T22:59:59Z", "2028-02-29"),
        ("day", PARIS, "2028-02-28T23:00:00Z", "2028-02-29"),
        ("day", PARIS, "2026-10-25T00:30:00Z", "2026-10-25"),  # 02:30, and again an hour later: clocks are set back
        ("day", PARIS, "2026-10-25T01:30:00Z", "2026-10-25"),
        ("day", PARIS, "2026-10-24T22:00:00Z", "2026-10-25"),  # that day has 25 hours
        ("day", PARIS, "2026-10-25T22:59:59Z", "2026-10-25"),
        ("day", "Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29"),  # 30 December was left out there
        ("day", "Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31"),
        ("week", "UTC", "2026-01-01", "2026-W01"),
        ("week", "UTC", "2027-01-03", "2026-W53"),
        ("week", "UTC", "2024-12-30", "2025-W01"),
        ("month", "UTC", "2026-02-28T23:59:59.999999Z", "2026-02"),
        ("month", PARIS, "2026-02-28T23:59:59.999999Z", "2026-03"),
        ("year", PARIS, "2026-12-31T23:00:00Z", "2027"),
        ("year", "UTC", "0005-12-31", "0005"),
        ("day", PARIS, datetime(2026, 1, 31, 23, 30, tzinfo=UTC), "2026-02-01"),
        ("day", PARIS, datetime(2026, 1, 31, 23, 30, tzinfo=timezone(timedelta(hours=1))), "2026-01-31"),
        ("day", PARIS, datetime(2026, 1, 31, 23, 30), "2026-01-31"),
        ("day", PARIS, date(2026, 1, 31), "2026-01-31"),
        ("day", PARIS, np.datetime64("2026-01-31T23:30"), "2026-01-31"),
        ("day", PARIS, np.datetime64("2026-01-31T23:59:59.999999999"), "2026-01-31"),
        ("day", PARIS, pd.Timestamp("2026-01-31T23:30", tz="UTC"), "2026-02-01"),
        ("day", PARIS, pd.Timestamp("2026-01-31T23:59:59.999999999"), "2026-01-31"),
    ],
)
def test_each_time_has_its_period_in_the_zone_of_the_ledger(period: Any, zone: str, time: Any, name: str) -> None:
    assert PerPeriod(period, zone, Fraction(1)).name(time) == name


@pytest.mark.parametrize(
    "time",
    [
        None,
        float("nan"),
        pd.NaT,
        np.datetime64("NaT"),
        "",
        "31/01/2026",
        "yesterday",
        1769900000,
        "2026-02-30",
        "2026-13",
        "2026-W05",
        "45.7012345",
        b"Anna at home",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00+02:00",
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
        pd.Timestamp("9999-12-31T23:00:00Z"),
        np.datetime64("20000-01-01"),
    ],
)
def test_what_is_no_time_is_refused(time: Any) -> None:
    shown = time.decode() if isinstance(time, bytes) else str(time)
    for zone in (PARIS, "Asia/Tokyo"):
        with pytest.raises(dx.SpecError) as caught:
            PerPeriod("day", zone, Fraction(1)).name(time)
        assert caught.value.field == "time"
        assert len(shown) < 4 or shown not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("per", {"period": "hour"}),
        ("zone", {"zone": "Europe/Nowhere"}),
        ("zone", {"zone": "../zoneinfo"}),
        ("zone", {"zone": 3}),
        ("budget", {"budget": -1}),
        ("delta", {"delta": float("nan")}),
    ],
)
def test_a_budget_by_period_that_is_none_is_refused(tmp_path: Path, field: str, arguments: dict[str, Any]) -> None:
    with dx.Budgets.open(tmp_path / "b.sqlite", create=True, unit=KM) as budgets:
        with pytest.raises(dx.SpecError) as caught:
            budgets.set_per(**{"period": "day", "budget": 1, **arguments})
        assert caught.value.field == field
        assert budgets.per is None


def test_nobody_spends_more_in_a_day_or_in_all(tmp_path: Path) -> None:
    ledger = tmp_path / "b.sqlite"
    with opened(ledger) as budgets:
        run = budgets.begin("march")
        times = ["2026-03-01", "2026-03-01T12:00", "2026-03-02"]
        assert budgets.charge(run, 0, ["ann"] * 3, 0.5, unit=KM, times=times).all()
        assert [budgets.account_in("ann", time).left for time in ("2026-03-01", "2026-03-02", "2026-03-03")] == [
            0,
            Fraction(1, 2),
            1,
        ]

        # 1. the day is full, and the whole charge is refused: ann has 1.5 left in all
        for persons, days in ((["ann"], ["2026-03-01"]), (["bob", "ann"], ["2026-03-01", "2026-03-01 23:59:59"])):
            with pytest.raises(dx.BudgetExceeded) as caught:
                budgets.charge(run, 3, persons, 0.5, unit=KM, times=days)
            assert (caught.value.person, caught.value.left, caught.value.asked) == ("ann", 0, 0.5)
        assert budgets.account("bob").spent == 0

        # 2. then all is spent, before other days are
        budgets.charge(run, 3, ["ann"] * 3, 0.5, unit=KM, times=["2026-03-02", "2026-03-03", "2026-03-03"])
        with pytest.raises(dx.BudgetExceeded) as caught:
            budgets.charge(run, 6, ["ann"], 0.5, unit=KM, times=["2026-03-04"])
        assert caught.value.left == 0
        assert [(one.period, one.rows) for one in budgets.history("ann")] == [
            ("2026-03-01", 2),
            ("2026-03-02", 2),
            ("2026-03-03", 2),
        ]
        budgets.check()

        # 3. what is given back is given back to its day
        again = budgets.begin("april")
        budgets.charge(again, 0, ["bob"] * 2, 0.5, unit=KM, times=["2026-03-01"] * 2)
        budgets.give_up(again, refund=True)
        assert budgets.account_in("bob", "2026-03-01").spent == 0
        budgets.finish(run)
        budgets.check()
    assert overspent(ledger) == []


def test_a_run_that_was_killed_pays_in_no_other_period(tmp_path: Path) -> None:
    with opened(tmp_path / "b.sqlite") as budgets:
        run = ""
        for again in range(2):
            run = budgets.begin("march")
            paid = budgets.charge(run, 0, ["ann", "bob"], 0.5, unit=KM, times=["2026-03-01", "2026-03-02"])
            assert paid.tolist() == [not again] * 2
        with pytest.raises(dx.SpecError) as caught:
            budgets.charge(run, 0, ["ann", "bob"], 0.5, unit=KM, times=["2026-03-01", "2026-03-03"])
        assert caught.value.field == "row"


def test_single_draws_are_of_now(tmp_path: Path) -> None:
    with opened(tmp_path / "b.sqlite") as budgets:
        purse = budgets.purse("ann", unit=KM, release="rides")
        purse.pay(0.75)
        assert budgets.account_in("ann").spent == Fraction(3, 4)
        assert budgets.history("ann")[0].period in {
            f"{datetime.now(ZoneInfo(PARIS)) - timedelta(days=days):%Y-%m-%d}" for days in (0, 1)
        }
        with pytest.raises(dx.BudgetExceeded):
            budgets.pay("ann", 0.5, unit=KM, release="rides")
        assert budgets.pay("ann", 0.5, unit=KM, release="rides", time="2026-01-01")


def test_a_draw_with_a_key_is_paid_once_in_its_first_period(tmp_path: Path) -> None:
    with opened(tmp_path / "b.sqlite") as budgets:
        run, key = budgets.begin("march"), dx.Key(bytes(32))
        times, tags = ["2026-03-01", "2026-03-02", "2026-03-02"], [b"home", b"home", b"work"]
        assert budgets.charge(run, 0, ["ann"] * 3, 1, unit=KM, tags=tags, key=key, times=times).tolist() == [
            True,
            False,
            True,
        ]
        assert [budgets.account_in("ann", day).left for day in ("2026-03-01", "2026-03-02")] == [0, 0]
        budgets.finish(run)
        budgets.check()


def test_times_go_with_a_budget_by_period(tmp_path: Path) -> None:
    with dx.Budgets.open(tmp_path / "plain.sqlite", create=True, unit=KM, default=3) as budgets:
        run = budgets.begin("march")
        with pytest.raises(dx.SpecError) as caught:
            budgets.charge(run, 0, ["ann"], 1, unit=KM, times=["2026-03-01"])
        assert caught.value.field == "times"
        with pytest.raises(dx.SpecError):
            budgets.account_in("ann")
        budgets.charge(run, 0, ["ann"], 1, unit=KM)
        # nobody knows in which period that was
        with pytest.raises(dx.SpecError) as caught:
            budgets.set_per("day", 1)
        assert caught.value.field == "per"
    with opened(tmp_path / "b.sqlite") as budgets:
        run = budgets.begin("march")
        for times in (None, ["2026-03-01"] * 2):
            with pytest.raises(dx.SpecError) as caught:
                budgets.charge(run, 0, ["ann"], 1, unit=KM, times=times)
            assert caught.value.field == "times"


def test_a_budget_by_period_is_changed_only_where_all_stays_within_it(tmp_path: Path) -> None:
    with opened(tmp_path / "b.sqlite") as budgets:
        budgets.pay("ann", 0.75, unit=KM, release="rides", time="2026-03-01")
        budgets.set_per("day", 0.75, zone=PARIS)
        for period, budget, zone, field in (
            ("day", 0.5, PARIS, "budget"),
            ("week", 5, PARIS, "per"),
            ("day", 5, "UTC", "per"),
        ):
            with pytest.raises(dx.SpecError) as caught:
                budgets.set_per(period, budget, zone=zone)  # pyright: ignore[reportArgumentType]
            assert caught.value.field == field
        assert budgets.per == PerPeriod("day", PARIS, Fraction(3, 4))


def test_an_altered_period_is_found(tmp_path: Path) -> None:
    ledger = tmp_path / "b.sqlite"
    with opened(ledger) as budgets:
        for day in ("2026-03-01", "2026-03-02"):
            budgets.pay("ann", 0.75, unit=KM, release=day, time=day)
    with sqlite3.connect(ledger) as db:
        db.execute("UPDATE payments SET period = '2026-03-01'")
    with dx.Budgets.open(ledger) as budgets, pytest.raises(dx.SpecError) as caught:
        budgets.check()
    assert caught.value.field == "ledger"


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM settings WHERE name = 'zone'",
        "DELETE FROM settings WHERE name = 'period'",
        "DELETE FROM settings WHERE name LIKE 'period%'",
        "UPDATE settings SET value = 'hour' WHERE name = 'period'",
        "UPDATE settings SET value = 'Mars/Olympus' WHERE name = 'zone'",
        "UPDATE settings SET value = '0.5' WHERE name = 'period_epsilon'",
        "UPDATE settings SET value = x'00' WHERE name = 'zone'",
    ],
)
def test_an_altered_budget_by_period_never_counts_as_none(tmp_path: Path, change: str) -> None:
    ledger = tmp_path / "b.sqlite"
    with opened(ledger) as budgets:
        budgets.pay("ann", 0.75, unit=KM, release="rides", time="2026-03-01")
    with sqlite3.connect(ledger) as db:
        db.execute(change)
    with dx.Budgets.open(ledger) as budgets:
        for ask in (
            lambda: budgets.per,
            lambda: budgets.pay("ann", 0.5, unit=KM, release="rides", time="2026-03-01"),
            lambda: budgets.pay("ann", 0.5, unit=KM, release="rides"),
            budgets.check,
        ):
            with pytest.raises(dx.SpecError) as caught:
                ask()
            assert caught.value.field == "ledger"


def rows_of(seed: int, rows: int, persons: int) -> list[dict[str, Any]]:
    """Rows of persons within some days, as text with offsets and without."""
    chosen = random.Random(seed)
    made = []
    for _ in range(rows):
        moment = datetime(2026, 3, 27, tzinfo=UTC) + timedelta(minutes=chosen.randrange(5 * 24 * 60))
        if chosen.random() < 0.3:
            moment = moment.astimezone(timezone(timedelta(hours=chosen.randrange(-5, 6))))
        made.append(
            {"person": f"p{chosen.randrange(persons)}", "beds": chosen.randrange(8), "when": moment.isoformat()}
        )
    return made


def spent_by_day(rows: list[dict[str, Any]]) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """Count the rows of each person on each day in Paris, and in all."""
    days: Counter[tuple[str, str]] = Counter()
    for row in rows:
        days[row["person"], f"{datetime.fromisoformat(row['when']).astimezone(ZoneInfo(PARIS)):%Y-%m-%d}"] += 1
    whole: Counter[str] = Counter()
    for (person, _), count in days.items():
        whole[person] += count
    return days, whole


@pytest.mark.parametrize("kind", ["csv", "parquet", "geojson", "pandas", "polars"])
def test_what_is_published_is_within_the_budgets(tmp_path: Path, kind: str) -> None:
    rows = rows_of(3, 120, 6)
    table = dx.integer_table(dx.classic.geometric(dx.line(8), epsilon=0.25))
    with dx.Budgets.open(tmp_path / "b.sqlite", create=True, unit="per unit", default="9x0.25") as budgets:
        budgets.set_per("day", "3x0.25", zone=PARIS)
        named: dict[str, Any] = {
            "column": "beds",
            "person": "person",
            "time": "when",
            "ledger": budgets,
            "per": "day",
        }
        frame = pd.DataFrame(rows)
        data: Any = tmp_path / f"data.{kind}"
        match kind:
            case "csv":
                frame.to_csv(data, index=False)
            case "parquet":
                pytest.importorskip("pyarrow")
                frame.assign(when=pd.to_datetime(frame["when"], utc=True)).to_parquet(data, index=False)
            case "geojson":
                features = [{"type": "Feature", "properties": row, "geometry": None} for row in rows]
                data.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
            case "pandas":
                data = frame.assign(when=pd.to_datetime(frame["when"], utc=True).dt.tz_convert("America/New_York"))
            case "polars":
                data = pytest.importorskip("polars").DataFrame(rows)
        file = kind in ("csv", "parquet", "geojson")

        # 1. refused, and nothing is paid or written
        with pytest.raises(dx.BudgetExceeded):
            dx.apply(table, data, *([tmp_path / f"out.{kind}"] if file else []), **named)
        assert budgets.totals().rows == 0
        assert not (tmp_path / f"out.{kind}").exists()

        # 2. or cut to the first rows of each person and day
        done = dx.apply(table, data, *([tmp_path / f"out.{kind}"] if file else []), over_budget="drop", **named)
        budgets.check()
        match kind:
            case "csv":
                kept = list(csv.DictReader((tmp_path / "out.csv").open(encoding="utf-8")))
            case "parquet":
                kept = pd.read_parquet(tmp_path / "out.parquet").to_dict("records")
            case "geojson":
                text = (tmp_path / "out.geojson").read_text(encoding="utf-8")
                kept = [feature["properties"] for feature in json.loads(text)["features"]]
            case _:
                kept = list(done.to_dict("records") if kind == "pandas" else done.to_dicts())
        for row in kept:
            when: Any = row["when"]
            row["when"] = when if isinstance(when, str) else when.isoformat()
        days, whole = spent_by_day(kept)
        assert max(days.values()) == 3
        assert max(whole.values()) == 9
        there, _ = spent_by_day(rows)
        for person, count in whole.items():
            assert count == min(9, sum(min(3, many) for (who, _), many in there.items() if who == person))
            assert budgets.account(person).spent == count * Fraction(1, 4)
        if file:
            said = done.record.budgets.in_period
            assert (said.time, said.period, said.zone, said.budget, said.rows) == ("when", "day", PARIS, 0.75, 3)


def test_other_times_are_refused_before_anything_is_paid(tmp_path: Path) -> None:
    frame = pd.DataFrame({"person": ["ann", "bob"], "beds": [1, 2], "when": ["2026-03-01", "tomorrow"]})
    mechanism = dx.classic.geometric(dx.line(8), epsilon=0.25)
    with dx.Budgets.open(tmp_path / "b.sqlite", create=True, unit="per unit", default=2) as budgets:
        budgets.set_per("day", 1)
        asked: dict[str, Any] = {"column": "beds", "person": "person", "ledger": budgets}
        for more, field in (
            ({"time": "when"}, "time"),
            ({"time": "hour"}, "time"),
            ({}, "time"),
            ({"time": "when", "per": "week"}, "per"),
            ({"time": "when", "per": "hour"}, "per"),
        ):
            with pytest.raises(dx.SpecError) as caught:
                dx.apply(mechanism, frame, **{**asked, **more})
            assert caught.value.field == field
        assert budgets.totals().rows == 0
    with dx.Budgets.open(tmp_path / "plain.sqlite", create=True, unit="per unit", default=2) as budgets:
        for more, field in (({"time": "when"}, "time"), ({"time": "when", "per": "day"}, "per")):
            with pytest.raises(dx.SpecError) as caught:
                dx.apply(mechanism, frame, **{**asked, "ledger": budgets, **more})
            assert caught.value.field == field


@pytest.mark.parametrize("name", ["{who} {day}", "{day}/{who}", "{who}_{week}"])
def test_a_person_and_day_as_one_name_is_refused(tmp_path: Path, name: str) -> None:
    days = [date(2026, 3, 1) + timedelta(days=k) for k in range(6)]
    names = [name.format(who=who, day=day, week=f"{day:%G-W%V}") for who in ("ann", "bob") for day in days]
    mechanism = dx.classic.geometric(dx.line(8), epsilon=0.25)
    with dx.Budgets.open(tmp_path / "b.sqlite", create=True, unit="per unit", default=20) as budgets:
        asked: dict[str, Any] = {"column": "beds", "person": "person", "ledger": budgets}
        if "week" not in name:
            with pytest.raises(dx.SpecError) as caught:
                dx.apply(mechanism, pd.DataFrame({"person": names, "beds": 1}), **asked)
            assert caught.value.field == "person"
            assert budgets.totals().rows == 0
        # dates that belong to persons are no days
        born = [f"{who} {day}" for who, day in zip(["ann", "bob", "carl"], days, strict=False)]
        assert len(dx.apply(mechanism, pd.DataFrame({"person": born, "beds": 1}), **asked)) == 3


def test_every_kind_of_period_keeps_its_own_budget(tmp_path: Path) -> None:
    for period in PERIODS:
        with dx.Budgets.open(tmp_path / f"{period}.sqlite", create=True, unit=KM, default=100) as budgets:
            budgets.set_per(period, 1)  # pyright: ignore[reportArgumentType]
            paid = Counter[str]()
            for day in (date(2026, 12, 20) + timedelta(days=k) for k in range(30)):
                try:
                    budgets.pay("ann", 1, unit=KM, release="rides", time=day)
                except dx.BudgetExceeded:
                    continue
                paid[budgets.history("ann")[-1].period] += 1
            assert set(paid.values()) == {1}
            assert len(paid) == {"day": 30, "week": 6, "month": 2, "year": 2}[period]


def test_what_persons_can_afford_is_less_of_both_budgets(tmp_path: Path) -> None:
    with opened(tmp_path / "b.sqlite", default=1.75) as budgets:
        asked: dict[str, Any] = {"unit": KM, "drop": True}
        for expected, day in ((2, "2026-03-01"), (1, "2026-03-02"), (0, "2026-03-03")):
            assert budgets.affordable({"ann": 5}, 0.5, time=day, **asked) == {"ann": expected}
            for _ in range(expected):
                budgets.pay("ann", 0.5, unit=KM, release="rides", time=day)
        assert budgets.affordable({"bob": 5}, 0.5, **asked) == {"bob": 2}  # of now
        for rows, person in ((3, "bob"), (1, "ann")):
            with pytest.raises(dx.BudgetExceeded) as caught:
                budgets.affordable({person: rows}, 0.5, unit=KM, time="2026-03-03")
            assert caught.value.person == person


def test_on_the_command_line(tmp_path: Path) -> None:
    ledger = str(tmp_path / "b.sqlite")

    def call(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["budget", ledger, *arguments])

    assert call("--set", "9x0.25", "--unit", "per unit").exit_code == 0
    assert call("--set", "3x0.25", "--per", "day", "--zone", PARIS).exit_code == 0
    for wrong in (
        ("--per", "day"),
        ("--set", "1", "--per", "hour"),
        ("--set", "1", "--per", "day", "--person", "ann"),
        ("--set", "1", "--per", "day", "--zone", "Mars"),
    ):
        assert call(*wrong).exit_code == 2
    data = tmp_path / "data.csv"
    data.write_text("person,beds,when\nann,1,2026-03-01\nann,2,2026-03-02\n", encoding="utf-8")
    folder = dx.solve(dx.Problem(dx.line(8), epsilon=0.25, prior="uniform"), method="geometric").save(tmp_path / "r")
    command = ["apply", folder, data, "-o", tmp_path / "o.csv", "--column", "beds", "--person", "person"]
    command += ["--ledger", ledger, "--per", "day", "--time", "when"]
    done = CliRunner().invoke(app, [str(argument) for argument in command])
    assert done.exit_code == 0, done.output
    found = json.loads(call("--person", "ann", "--json").stdout)
    assert (found["per"]["period"], found["per"]["zone"], found["per"]["budget"]) == ("day", PARIS, 0.75)
    assert [payment["period"] for payment in found["payments"]] == ["2026-03-01", "2026-03-02"]
    assert call("--check").exit_code == 0
