"""Draws that a person gets again, and budgets that rows are paid from."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.release.applying import csv_files, formats
from tests.judges.table_file import Reader, keyed
from tests.material.files import ROOT
from tests.material.people import WithLedger, people, town

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

KEY = dx.Key(bytes(range(32)))
COLUMNS: dict[str, Any] = {"lat": "lat", "lon": "lon"}
ASKED: dict[str, Any] = {**COLUMNS, "person": "person", "release": "autumn"}


def test_a_key_gives_the_same_reports_again_in_every_format(tmp_path: Path) -> None:
    frame = pd.DataFrame(people())
    first = dx.apply(town(), frame, key=KEY, **ASKED)
    assert list(first["report"]) == list(dx.apply(town(), frame, key=KEY, **ASKED)["report"])
    assert list(first["report"]) == list(dx.apply(town(), pl.DataFrame(people()), key=KEY, **ASKED)["report"])
    for ending, write, read in (("csv", "to_csv", pd.read_csv), ("parquet", "to_parquet", pd.read_parquet)):
        getattr(frame, write)(tmp_path / f"a.{ending}", index=False)
        done = dx.apply(town(), tmp_path / f"a.{ending}", tmp_path / f"b.{ending}", key=KEY, **ASKED)
        assert list(read(tmp_path / f"b.{ending}")["report"]) == list(first["report"])
        text = done.sidecar.read_text(encoding="utf-8")
        assert bytes(range(32)).hex() not in text
        assert json.loads(text)["draws"] == {
            "keyed": True,
            "key": KEY.fingerprint,
            "release": "autumn",
            "person": "person",
        }
        assert "key" in dict(done.sentences)


def test_keyed_reports_are_those_of_the_published_rule() -> None:
    frame = pd.DataFrame(people())
    reader = Reader(town().encoded())
    centres = np.asarray(town().space.points)
    found = dx.apply(town(), frame, key=KEY, **ASKED)
    for person, lat, lon, report in zip(frame["person"], frame["lat"], frame["lon"], found["report"], strict=True):
        # cells are near enough to squares
        nearest = np.hypot(centres[:, 0] - lat, (centres[:, 1] - lon) * np.cos(np.radians(lat))).argmin()
        secret = town().space.labels[int(nearest)]
        number = keyed(bytes(range(32)), town().digest, person, secret, "autumn", reader.width)
        assert report == reader.report(secret, number)


@pytest.mark.parametrize("change", [{"key": dx.Key(bytes(32))}, {"release": "winter"}, {"person": "time"}])
def test_another_key_release_or_person_draws_anew(change: dict[str, Any]) -> None:
    frame = pd.DataFrame(people())
    first = dx.apply(town(), frame, key=KEY, **ASKED)
    other = dx.apply(town(), frame, **{"key": KEY, **ASKED, **change})
    assert (first["report"] != other["report"]).mean() > 0.5


def test_persons_are_the_same_whether_numbers_are_whole_or_not(tmp_path: Path) -> None:
    frame = pd.DataFrame(people()).assign(person=range(40))
    first = dx.apply(town(), frame, key=KEY, **ASKED)
    floats = dx.apply(town(), frame.astype({"person": float}), key=KEY, **ASKED)
    assert list(first["report"]) == list(floats["report"])
    frame.to_csv(tmp_path / "a.csv", index=False)
    dx.apply(town(), tmp_path / "a.csv", tmp_path / "b.csv", key=KEY, **ASKED)
    assert list(pd.read_csv(tmp_path / "b.csv")["report"]) == list(first["report"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"key": KEY, "release": "a"}, "person: is not named"),
        ({"key": KEY, "person": "person"}, "release: is no name"),
        ({"key": "abc", "person": "person", "release": "a"}, "key: is of type str; give a dx.Key"),
        ({"person": "person"}, "neither a key nor a ledger; name the ledger that rows are paid from"),
        ({"release": "a"}, "release: is named, but there is neither"),
        ({"key": KEY, "person": "who", "release": "a"}, "person: there is no column 'who'"),
        ({"ledger": 3, "person": "person"}, "ledger: is of type int; give a dx.Budgets$"),
        (
            {"ledger": "people.sqlite", "person": "person"},
            r"ledger: is of type str; give a dx.Budgets, such as .*open\(",
        ),
    ],
)
def test_what_does_not_go_together(options: dict[str, Any], words: str) -> None:
    with pytest.raises(dx.SpecError, match=words):
        dx.apply(town(), pd.DataFrame(people()), **COLUMNS, **options)


@pytest.mark.parametrize("nobody", [None, "", np.nan, pd.NA])
def test_rows_of_nobody_are_refused(nobody: object) -> None:
    frame = pd.DataFrame(people()).astype({"person": object})
    frame.loc[[4, 8], "person"] = nobody
    for outside in ("refuse", "drop"):
        with pytest.raises(dx.SpecError, match=r"person: 2 of 40 rows \(rows 5, 9\) name nobody"):
            dx.apply(town(), frame, key=KEY, outside=outside, **ASKED)  # pyright: ignore[reportArgumentType]


class TestBudgets(WithLedger):
    """Rows are paid for before they are drawn, none twice."""

    def test_each_row_costs_its_level(self) -> None:
        self.apply()
        assert self.spent() == Counter(self.frame["person"])
        assert self.ledger.unit == "per km"
        self.ledger.check()

    def test_a_frame_is_paid_for_as_a_whole(self) -> None:
        dx.apply(town(), self.frame, **COLUMNS, person="person", ledger=self.ledger)
        assert self.spent() == Counter(self.frame["person"])
        with pytest.raises(
            dx.BudgetExceeded,
            match=r"budget: 2 persons .* the first has 0 left of 2.410336 per km, but 2.42 is asked for 3 rows",
        ):
            dx.apply(town(), self.frame, **COLUMNS, person="person", ledger=self.ledger)
        assert self.spent() == Counter(self.frame["person"])

    def test_nothing_is_paid_where_somebody_has_too_little(self) -> None:
        self.ledger.set(self.level, person="bob")
        with pytest.raises(
            dx.BudgetExceeded,
            match=r"the person has 0.803 left of 0.8034452 per km, but 1.61 is .* 2 rows; .*='drop', .* set 1.607",
        ):
            self.apply()
        assert not any(self.spent().values())
        assert {path.name for path in self.data.parent.iterdir()} >= {"people.csv"}
        assert not self.output.exists()

    def test_rows_that_are_left_out_cost_nothing(self) -> None:
        self.frame.loc[0, "lat"] = 50.0
        self.frame.to_csv(self.data, index=False)
        self.apply(outside="drop")
        assert self.spent()["ann"] == 2

    def test_a_run_that_is_stopped_goes_on_and_pays_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(formats, "ROWS", 4)
        written = csv_files.CsvSink.write
        calls: list[int] = []

        def stops(*arguments: Any) -> None:
            calls.append(1)
            if len(calls) == 3:
                raise KeyboardInterrupt
            written(*arguments)

        monkeypatch.setattr(csv_files.CsvSink, "write", stops)
        with pytest.raises(KeyboardInterrupt):
            self.apply()
        assert sum(self.spent().values()) == 12
        assert not self.output.exists()
        [part] = self.output.parent.glob(".out.csv.*.part")
        assert part.read_bytes() == b""
        self.apply()
        assert self.spent() == Counter(self.frame["person"])
        assert not part.exists()
        assert len(self.output.read_text().splitlines()) == 21
        # a finished run is not gone on with
        with pytest.raises(dx.BudgetExceeded, match="the first has 0 left of"):
            self.apply()

    def test_the_same_again_after_the_end_is_paid_for_again(self) -> None:
        self.ledger.set(100 * self.level)
        self.apply()
        self.apply()
        assert self.spent() == Counter([*self.frame["person"]] * 2)

    def test_a_run_that_is_killed_goes_on_and_pays_once(self) -> None:
        program = """
import os, signal, sys
import dxopt as dx
from dxopt.release.applying import csv_files, formats
from dxopt.release.budgets import Budgets

formats.ROWS = 4
table = dx.IntegerTable.load("town.dxt")

def kills(line, share):
    if line.startswith("drawing, 12 "):
        os.kill(os.getpid(), signal.SIGKILL)

dx.apply(
    table, "people.csv", "out.csv", lat="lat", lon="lon", person="person", ledger=Budgets.open("ledger.sqlite"),
    progress=kills,
)
"""
        town().save(self.data.with_name("town.dxt"))
        folder = self.data.parent
        done = subprocess.run([sys.executable, "-c", program], cwd=folder, env={"PYTHONPATH": str(ROOT)}, check=False)
        assert done.returncode == -signal.SIGKILL
        assert sum(self.spent().values()) == 12
        assert not self.output.exists()
        dx.apply(
            town(), self.data, dx.Output(self.output, force=True), **COLUMNS, person="person", ledger=self.ledger
        )
        assert self.spent() == Counter(self.frame["person"])
        assert len(self.output.read_text().splitlines()) == 21

    def test_a_run_that_is_killed_when_all_is_paid_is_published_and_pays_no_more(self) -> None:
        program = """
import os, signal
import dxopt as dx

finish = dx.Budgets.finish

def finish_and_die(budgets, run):
    finish(budgets, run)
    os.kill(os.getpid(), signal.SIGKILL)

dx.Budgets.finish = finish_and_die
dx.apply(
    dx.IntegerTable.load("town.dxt"), "people.csv", "out.csv", lat="lat", lon="lon", person="person",
    ledger=dx.Budgets.open("ledger.sqlite"),
)
"""
        town().save(self.data.with_name("town.dxt"))
        folder = self.data.parent
        done = subprocess.run([sys.executable, "-c", program], cwd=folder, env={"PYTHONPATH": str(ROOT)}, check=False)
        assert done.returncode == -signal.SIGKILL
        assert not self.output.exists()
        [hidden] = self.output.parent.glob(f".out.csv.{12 * '?'}.part")
        written = hidden.read_bytes()
        found = dx.apply(town(), self.data, self.output, **COLUMNS, person="person", ledger=self.ledger)
        assert self.output.read_bytes() == written
        assert self.spent() == Counter(self.frame["person"])
        assert (found.said["rows"]["out"], hidden.exists()) == (20, False)
        # once it is published, the same again is a new run
        self.ledger.set(100 * self.level)
        dx.apply(
            town(), self.data, dx.Output(self.output, force=True), **COLUMNS, person="person", ledger=self.ledger
        )
        assert self.spent() == Counter([*self.frame["person"]] * 2)

    def test_a_repeated_draw_is_paid_for_once(self) -> None:
        frame = pd.DataFrame({"person": ["ann"] * 5, "lat": [45.7] * 4 + [45.73], "lon": [4.8] * 5})
        frame.to_csv(self.data, index=False)
        for _ in range(3):
            self.apply(key=KEY, release="autumn")
        assert self.spent()["ann"] == 2
        with pytest.raises(dx.BudgetExceeded, match="budget: the person has"):
            self.apply(key=KEY, release="winter")
        assert self.spent()["ann"] == 2
        assert [(one.rows, one.key) for one in self.ledger.history("ann")] == [(2, KEY.fingerprint)]
        with pytest.raises(dx.SpecError, match="person: has paid for 2 secrets in release 'autumn'"):
            self.ledger.composed("ann", {"autumn": town()})
