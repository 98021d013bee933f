"""Draws with a key in a ledger: what is kept of them, what is refused, and ledgers that did not keep it."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

import dxopt as dx
from tests.release.budgets.reader import overspent

KM = "per km"
KEY, OTHER = dx.Key(bytes(range(32))), dx.Key(bytes(32))
OLD_PAYMENTS = """
BEGIN;
ALTER TABLE payments RENAME TO later;
CREATE TABLE payments (
    person INTEGER NOT NULL REFERENCES persons, run INTEGER NOT NULL REFERENCES runs,
    level INTEGER NOT NULL REFERENCES levels, rows INTEGER NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL,
    PRIMARY KEY (person, run, level)) WITHOUT ROWID;
INSERT INTO payments SELECT person, run, level, sum(rows), min(first), max(last) FROM later GROUP BY 1, 2, 3;
DROP TABLE later;
PRAGMA user_version = 1;
COMMIT;
"""
"""Makes a ledger of format 2 one of format 1, as the first dxopt wrote them."""


@pytest.fixture
def table() -> dx.IntegerTable:
    return dx.integer_table(dx.classic.geometric(dx.line(3), epsilon=0.5))


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "budget.sqlite"


@pytest.fixture
def budgets(ledger: Path):
    with dx.Budgets.open(ledger, create=True, unit=KM, default=100) as opened:
        yield opened


def old(ledger: Path) -> Path:
    """A ledger of format 1: ann has three draws with a key, bob one with and one without, eve two without."""
    with dx.Budgets.open(ledger, create=True, unit=KM, default=9) as budgets:
        run = budgets.begin("r")
        persons = ["ann", "ann", "ann", "bob", "bob", "eve", "eve"]
        budgets.charge(run, 0, persons, 0.5, unit=KM, tags=[b"1", b"2", b"3", b"1", None, None, None], key=KEY)
        budgets.finish(run)
    db = sqlite3.connect(ledger, isolation_level=None)
    db.executescript(OLD_PAYMENTS)
    db.close()
    return ledger


def version(ledger: Path) -> int:
    db = sqlite3.connect(ledger)
    found = db.execute("PRAGMA user_version").fetchone()[0]
    db.close()
    return found


def test_each_payment_says_how_it_was_drawn(budgets: dx.Budgets, ledger: Path) -> None:
    run = budgets.begin("r")
    tags = [b"home", b"home", b"work", None]
    assert budgets.charge(run, 0, ["ann"] * 4, 0.5, unit=KM, tags=tags, key=KEY).tolist() == [True, False, True, True]
    budgets.pay("ann", 0.5, unit=KM, release="s", tag=b"unnamed")
    budgets.pay("ann", 0.5, unit=KM, release="s", tag=b"other", key=OTHER)
    found = {(one.release, one.keyed, one.key): one.rows for one in budgets.history("ann")}
    assert found == {
        ("r", True, KEY.fingerprint): 2,
        ("r", False, None): 1,
        ("s", True, None): 1,
        ("s", True, OTHER.fingerprint): 1,
    }
    assert (budgets.totals().rows, budgets.totals().keyed, budgets.totals().unrecorded) == (5, 4, 0)
    budgets.check()
    assert overspent(ledger) == []
    content = ledger.read_bytes()
    assert bytes(range(32)) not in content and bytes(range(32)).hex().encode() not in content


def test_a_key_goes_with_tags(budgets: dx.Budgets) -> None:
    run = budgets.begin("r")
    with pytest.raises(dx.SpecError, match=r"^key: is given without tags; give the tags"):
        budgets.charge(run, 0, ["ann"], 0.5, unit=KM, key=KEY)
    with pytest.raises(dx.SpecError, match=r"^key: is given without tags"):
        budgets.pay("ann", 0.5, unit=KM, release="r", key=KEY)
    with pytest.raises(dx.SpecError, match=r"^key: is of type str; give a dx.Key"):
        budgets.charge(run, 0, ["ann"], 0.5, unit=KM, tags=[b"1"], key="00" * 32)  # pyright: ignore[reportArgumentType]
    assert budgets.account("ann").spent == 0


def test_draws_with_a_key_are_not_refunded(budgets: dx.Budgets) -> None:
    run = budgets.begin("r")
    budgets.charge(run, 0, ["ann"] * 3, 0.5, unit=KM, tags=[b"1", None, None], key=KEY)
    budgets.give_up(run, refund=True)
    assert budgets.account("ann").spent == Fraction(1, 2)
    assert not budgets.pay("ann", 0.5, unit=KM, release="r", tag=b"1", key=KEY)
    budgets.check()


def test_one_payment_under_each_key_and_release_is_about_one_secret(
    budgets: dx.Budgets, table: dx.IntegerTable
) -> None:
    for release, tag, key in (("May", b"1", KEY), ("June", b"2", KEY), ("June", b"3", OTHER), ("June", None, None)):
        budgets.pay("ann", table.epsilon, unit=KM, release=release, tag=tag, key=key)
    together = budgets.composed("ann", {"May": table, "June": table})
    assert together.counts == (1, 3)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ([KEY, KEY], "has paid for 2 secrets in release 'May'"),
        ([KEY, OTHER, KEY, KEY], "has paid for 3 secrets in release 'May'"),
        ([KEY, None], "may have paid for 2 secrets in release 'May'"),
        ([None, None], "may have paid for 2 secrets in release 'May'"),
    ],
)
def test_two_payments_under_one_key_are_about_two_secrets(
    budgets: dx.Budgets, table: dx.IntegerTable, keys: list[dx.Key | None], words: str
) -> None:
    for number, key in enumerate(keys):
        budgets.pay("ann", table.epsilon, unit=KM, release="May", tag=bytes([number]), key=key)
    with pytest.raises(dx.SpecError, match=f"^person: {words}, which was drawn with a key; take the sum of levels"):
        budgets.composed("ann", {"May": table})


def test_a_ledger_of_format_1_is_read_as_it_is(ledger: Path) -> None:
    before = old(ledger).read_bytes()
    with dx.Budgets.open(ledger) as budgets:
        assert [(one.rows, one.keyed, one.key) for one in budgets.history("ann")] == [(3, None, None)]
        assert [(one.rows, one.keyed) for one in budgets.history("bob")] == [(2, None)]
        assert [(one.rows, one.keyed) for one in budgets.history("eve")] == [(2, False)]
        assert (budgets.totals().rows, budgets.totals().keyed, budgets.totals().unrecorded) == (7, 0, 5)
        budgets.check()
    assert ledger.read_bytes() == before


def test_a_ledger_of_format_1_says_what_it_cannot_know(ledger: Path, table: dx.IntegerTable) -> None:
    with dx.Budgets.open(old(ledger)) as budgets:
        with pytest.raises(dx.SpecError, match=r"^person: may have paid for 2 secrets in release 'r'"):
            budgets.composed("bob", {"r": table})
        assert budgets.composed("eve", {"r": table}).counts == (2,)


def test_a_ledger_of_format_1_becomes_one_of_format_2_when_it_is_written(ledger: Path) -> None:
    old(ledger)
    with dx.Budgets.open(ledger) as one, dx.Budgets.open(ledger) as other:
        with pytest.raises(dx.BudgetExceeded):
            one.pay("ann", 10, unit=KM, release="r")
        assert version(ledger) == 1
        assert not one.pay("ann", 0.5, unit=KM, release="r", tag=b"2", key=KEY)
        assert version(ledger) == 2
        assert one.pay("eve", 0.5, unit=KM, release="s", tag=b"4", key=KEY)
        # who opened it before reads and writes it all the same
        assert [(one.rows, one.keyed) for one in other.history("ann")] == [(3, None)]
        other.check()
        assert other.pay("ann", 0.5, unit=KM, release="s", tag=b"4", key=KEY)
        assert [(one.rows, one.key) for one in other.history("ann")] == [(3, None), (1, KEY.fingerprint)]
        for budgets in (one, other):
            assert budgets.account("ann").spent == 2
            assert (budgets.totals().keyed, budgets.totals().unrecorded) == (2, 5)
            budgets.check()
    assert overspent(ledger) == []


def test_a_ledger_that_was_made_one_of_format_2_is_like_any_other(ledger: Path, tmp_path: Path) -> None:
    with dx.Budgets.open(old(ledger)) as budgets:
        budgets.set(10)
    dx.Budgets.open(tmp_path / "new.sqlite", create=True, unit=KM).close()
    assert columns(ledger) == columns(tmp_path / "new.sqlite")


def columns(ledger: Path) -> dict[str, list[tuple[object, ...]]]:
    """The columns of each table, with types and places in its key."""
    db = sqlite3.connect(ledger)
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: db.execute(f"PRAGMA table_info({name})").fetchall() for name in names}
    db.close()
    return found
