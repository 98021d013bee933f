"""Rows that persons cannot pay for: refused without a trace, or left out."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from dxopt.numerics.number_syntax import factor
from dxopt.release.applying import csv_files, formats
from dxopt.verify.published.sidecar import read_sidecar
from dxopt.words.published import sentences
from tests.material.people import WithLedger, counts, town

pd = pytest.importorskip("pandas")

KEY = dx.Key(bytes(range(32)))
COLUMNS: dict[str, Any] = {"lat": "lat", "lon": "lon"}


class TestOverBudget(WithLedger):
    """A file in which some have more rows than their budgets pay for."""

    @pytest.mark.parametrize("form", ["csv", "frame"])
    def test_the_first_rows_that_can_be_paid_for_are_kept(
        self, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(formats, "ROWS", 2)
        self.ledger.set(2 * self.level)
        self.ledger.set(0, person="p3")
        if form == "csv":
            done = self.apply(over_budget="drop")
            found, said = pd.read_csv(self.output), done.said
            assert "left out for want of budget: 2 rows of 2 persons" in str(done)
        else:
            asked: dict[str, Any] = {"person": "person", "ledger": self.ledger, "over_budget": "drop"}
            found = dx.apply(town(), self.frame, dx.Output(sidecar=tmp_path / "said.json"), **COLUMNS, **asked)
            said = json.loads((tmp_path / "said.json").read_text(encoding="utf-8"))
        # the third row of ann and that of p3 are left out
        assert list(found["row"]) == list(self.frame["row"].drop([4, 8]))
        assert said["rows"]["out"] == 18 == len(found)
        assert (said["budgets"]["rows_left_out"], said["budgets"]["persons_left_out"]) == (2, 2)
        assert self.spent() == Counter(found["person"]) | {"p3": 0}
        self.ledger.check()

    def stop_at(self, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Begin a run that leaves rows out, and stop it where it writes a chunk."""
        written = csv_files.CsvSink.write
        calls: list[int] = []

        def stopped(*arguments: Any) -> None:
            calls.append(1)
            if len(calls) == chunk:
                raise KeyboardInterrupt
            written(*arguments)

        with monkeypatch.context() as patched:
            patched.setattr(csv_files.CsvSink, "write", stopped)
            with pytest.raises(KeyboardInterrupt):
                self.apply(over_budget="drop")

    def test_a_stopped_run_that_leaves_rows_out_goes_on_with_the_same_ones(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(formats, "ROWS", 2)
        self.ledger.set(2 * self.level)
        self.stop_at(3, monkeypatch)
        self.apply(over_budget="drop")
        assert list(pd.read_csv(self.output)["row"]) == list(self.frame["row"].drop(4))
        assert self.spent()["ann"] == 2
        self.ledger.check()

    @pytest.mark.parametrize("after", [1, 2, 3])
    @pytest.mark.parametrize("rows", [0, 1, 2, 3])
    def test_a_stopped_run_goes_on_when_there_is_more_left(
        self, rows: int, after: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever has more left then has more rows kept, and pays once for each that is."""
        monkeypatch.setattr(formats, "ROWS", 2)
        self.ledger.set(rows * self.level, person="ann")
        self.stop_at(after, monkeypatch)
        paid = self.spent()
        self.ledger.set(2 * self.level, person="ann") if rows < 2 else self.ledger.set(self.level, person="p7")
        self.apply(over_budget="drop")
        found = pd.read_csv(self.output)
        assert len(paid) and self.spent() == Counter(found["person"])
        left_out = {0: [4], 1: [4], 2: [4], 3: []}[rows]
        assert list(found["row"]) == list(self.frame["row"].drop(left_out))
        assert self.ledger.totals().unfinished == ()
        self.ledger.check()

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"over_budget": "some"}, "over_budget: is 'some'; choose one of refuse, drop"),
            ({"over_budget": "drop", "ledger": None, "person": None}, "over_budget: .* there is no ledger"),
            ({"over_budget": "drop", "key": KEY, "release": "a"}, "over_budget: is 'drop' with a key"),
        ],
    )
    def test_what_no_ledger_can_do(self, options: dict[str, Any], words: str) -> None:
        with pytest.raises(dx.SpecError, match=words):
            self.apply(**options)

    def test_an_output_without_rows_is_refused(self) -> None:
        self.ledger.set(0)
        with pytest.raises(
            dx.BudgetExceeded, match=r"17 persons have too little left; .* for 3 rows; set larger budgets"
        ):
            self.apply(over_budget="drop")

    def test_another_unit_is_refused_before_anything_is_begun(self, tmp_path: Path) -> None:
        with dx.Budgets.open(tmp_path / "other.sqlite", create=True, default=9, unit="per m") as other:
            with pytest.raises(dx.SpecError, match=r"unit: is 'per km', but the ledger is in 'per m'; .*--unit"):
                self.apply(ledger=other)
            assert not other.totals().unfinished
        assert not [*self.output.parent.glob(".out.csv.*part")]

    @pytest.mark.parametrize("key", [None, KEY])
    def test_a_refusal_on_the_way_leaves_neither_a_run_nor_a_file(
        self, key: dx.Key | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(formats, "ROWS", 2)
        self.ledger.set(2 * self.level)
        # another process spends what was there when all was checked
        monkeypatch.setattr(type(self.ledger), "affordable", lambda ledger, needed, *_, **__: dict(needed))
        monkeypatch.setattr(type(self.ledger), "_require_affordable", lambda *_: None)
        with pytest.raises(dx.BudgetExceeded) as found:
            self.apply(key=key, release="autumn" if key else None)
        assert found.value.person == "ann"
        assert not self.ledger.totals().unfinished
        assert not [*self.output.parent.glob(".out.csv.*part")]
        # keyed draws stay paid, as they are the same the next time
        assert sum(self.spent().values()) == (4 if key else 0)
        self.ledger.check()


def test_counts_are_values_of_their_unit(tmp_path: Path) -> None:
    table = dx.integer_table(dx.classic.geometric(dx.line(7, unit="people"), epsilon=0.7))
    frame = pd.DataFrame({"district": ["a", "b"], "cases": [3, 6]})
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=1, unit="per person") as ledger:
        found = dx.apply(
            table,
            frame,
            dx.Output(sidecar=tmp_path / "said.json"),
            column="cases",
            within=0,
            person="district",
            ledger=ledger,
        )
    assert "epsilon 0.7 per person" in found["dataGeneralizations"][0]
    text = (tmp_path / "said.json").read_text(encoding="utf-8")
    said = json.loads(text)
    assert (said["privacy"]["unit"], said["command"]) == ("people", None)
    assert "position" not in str(sentences(read_sidecar(tmp_path / "said.json")))
    with pytest.raises(
        dx.SpecError, match=r"of the secrets, which are the whole numbers from 0 to 6; mend them, take a line"
    ) as caught:
        dx.apply(table, frame.assign(cases=[3, 9]), column="cases", within=0)
    assert "9" not in str(caught.value) and "away" not in str(caught.value)


def test_the_sidecar_says_what_rows_and_budgets_come_to_between_positions(tmp_path: Path) -> None:
    """With 3.5 times the level three rows are paid for; the rest may be paid for elsewhere."""
    level = town().epsilon
    frame = pd.DataFrame({"who": ["ann"] * 3, "lat": [45.7] * 3, "lon": [4.8] * 3})
    with dx.Budgets.open(tmp_path / "l.sqlite", create=True, default=3.5 * level, unit="per km") as ledger:
        dx.apply(
            town(),
            frame,
            dx.Output(sidecar=tmp_path / "said.json"),
            lat="lat",
            lon="lon",
            person="who",
            ledger=ledger,
        )
    said = read_sidecar(tmp_path / "said.json")
    assert said.budgets is not None and said.privacy.near.between == "positions"
    assert (said.budgets.default, said.budgets.default_rows) == (3.5 * level, 3)
    told = dict(sentences(said))["budget"]
    assert factor(3 * level * said.privacy.near.apart) in told
    assert factor(3.5 * level * said.privacy.near.apart) in told


@pytest.mark.parametrize("form", ["csv", "frame"])
def test_draws_with_a_key_are_counted_before_anything_is_paid(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several chunks the last refuses; with the budget that is advised the same call goes through."""
    monkeypatch.setattr(formats, "ROWS", 2)
    places = pd.DataFrame({"person": ["ann", "bob"] * 3 + ["cem"] * 5, "beds": [1, 2, 1, 2, 3, 2, *range(5)]})
    data: Any = places if form == "frame" else tmp_path / "data.csv"
    if form == "csv":
        places.to_csv(data, index=False)
    table = counts()
    cost = Fraction(table.epsilon)
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=3 * cost) as ledger:

        def apply() -> Any:
            output = None if form == "frame" else dx.Output(tmp_path / "out.csv", force=True)
            return dx.apply(
                table, data, output, column="beds", within=0.5, person="person", key=KEY, release="r", ledger=ledger
            )

        with pytest.raises(dx.BudgetExceeded) as refused:
            apply()
        assert refused.value.asked == 5 * cost
        assert refused.value.options == frozenset()
        assert [ledger.account(person).spent for person in ("ann", "bob", "cem")] == [0, 0, 0]
        assert not ledger.totals().unfinished
        ledger.set(5 * cost, person="cem")
        for _ in range(2):
            apply()
            assert [ledger.account(person).spent / cost for person in ("ann", "bob", "cem")] == [2, 1, 5]
        ledger.check()


def test_rows_are_left_out_for_three_reasons_each_with_its_number(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("ward,beds\na,3\na,99\na,\na,98\nb,4\na,5\n", encoding="utf-8")
    beds = dx.integer_table(dx.classic.geometric(dx.line(11, unit="beds"), epsilon=0.5))
    options: dict[str, Any] = {"person": "ward", "over_budget": "drop", "within": 0, "unusable": "drop"}
    reasons: dict[Any, str] = {"drop": "2 outside of the space, 1 unusable", "nearest": "1 unusable"}
    for outside, told in reasons.items():
        with dx.Budgets.open(tmp_path / f"{outside}.sqlite", create=True, default="1x0.5") as ledger:
            file = tmp_path / f"{outside}.csv"
            done = dx.apply(beds, data, file, column="beds", outside=outside, ledger=ledger, **options)
        lines = str(done).splitlines()
        assert any(line.startswith(f"left out: {told} (lines ") for line in lines)
        assert f"left out for want of budget: {1 if outside == 'drop' else 3} row" in str(done)
        assert "the budget pays for: 1 row of a person in all" in lines
        assert ("outside of the space, taken for the nearest secret: 2" in lines) is (outside == "nearest")
