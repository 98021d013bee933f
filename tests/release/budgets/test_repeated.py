"""Draws with a key in a ledger: what is kept of them, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import dxopt as dx
from tests.release.budgets.reader import overspent

KM = "per km"
KEY, OTHER = dx.Key(bytes(range(32))), dx.Key(bytes(32))


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
    assert (budgets.totals().rows, budgets.totals().keyed) == (5, 4)
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
    assert together.counts == (4,)  # one table in both


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
