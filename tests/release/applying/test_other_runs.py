"""Which runs go on with which: all that decides the draws names a run, and one run at a time has an output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dxopt as dx
from dxopt.release.applying import csv_files, formats
from tests.material.people import WithLedger, town

pytest.importorskip("pandas")

KEY, OTHER = dx.Key(bytes(range(32))), dx.Key(bytes(32))
DRAWS: dict[str, dict[str, Any]] = {
    "no key": {},
    "key": {"key": KEY, "release": "autumn"},
    "other key": {"key": OTHER, "release": "autumn"},
    "other release": {"key": KEY, "release": "winter"},
    "nearest": {"outside": "nearest"},
}
ROWS_PAID = 4


class TestOtherRuns(WithLedger):
    """A run that is stopped after a chunk was paid."""

    @pytest.fixture
    def stopped(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
        """Runs are stopped when they write their second chunk."""
        monkeypatch.setattr(formats, "ROWS", ROWS_PAID // 2)
        self.ledger.set(100 * self.level)
        written, calls = csv_files.CsvSink.write, list[int]()

        def stops(*arguments: Any) -> None:
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt
            written(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(csv_files.CsvSink, "write", stops)
            yield patch

    @pytest.mark.parametrize("then", DRAWS)
    @pytest.mark.parametrize("first", DRAWS)
    def test_draws_of_another_kind_are_another_run_and_are_paid_for(
        self, first: str, then: str, stopped: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(KeyboardInterrupt):
            self.apply(**DRAWS[first])
        assert sum(self.spent().values()) == ROWS_PAID
        stopped.undo()
        self.apply(**DRAWS[then])
        assert sum(self.spent().values()) == (20 if first == then else 20 + ROWS_PAID)
        self.ledger.check()

    @pytest.mark.parametrize("draws", DRAWS)
    def test_another_output_is_paid_for_unless_a_key_gives_the_same_reports(
        self, draws: str, stopped: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(KeyboardInterrupt):
            self.apply(**DRAWS[draws])
        stopped.undo()
        (folder := self.output.with_name("elsewhere")).mkdir()
        elsewhere = dx.Output(folder / self.output.name)
        asked: dict[str, Any] = {"lat": "lat", "lon": "lon", "person": "person", "ledger": self.ledger}
        dx.apply(town(), self.data, elsewhere, **asked, **DRAWS[draws])
        assert sum(self.spent().values()) == (20 if "key" in DRAWS[draws] else 20 + ROWS_PAID)

    def test_of_two_at_once_one_publishes_and_the_other_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The second comes while the first writes: it fails before it takes over the run of the first."""
        self.ledger.set(100 * self.level)
        written, found = csv_files.CsvSink.write, list[str]()

        def run() -> None:
            with (
                dx.Budgets.open(self.data.with_name("ledger.sqlite")) as ledger,
                pytest.raises(dx.SpecError) as caught,
            ):
                self.apply(ledger=ledger)
            found.append(caught.value.field)

        def meets_another(*arguments: Any) -> None:
            monkeypatch.setattr(csv_files.CsvSink, "write", written)
            run()
            written(*arguments)

        monkeypatch.setattr(csv_files.CsvSink, "write", meets_another)
        self.apply()
        assert found == ["output"]
        assert len(self.output.read_text(encoding="utf-8").splitlines()) == 21
        assert sum(self.spent().values()) == 20
        self.ledger.check()
