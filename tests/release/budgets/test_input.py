"""What charges and budgets take, and the one line for what they do not."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dxopt as dx

KM = "per km"
TENTH = Fraction(0.1)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "budget.sqlite"


def opened(ledger: Path, default: float | str = "10x0.1") -> dx.Budgets:
    return dx.Budgets.open(ledger, create=True, unit=KM, default=default)


def test_persons_come_as_arrays_and_columns(ledger: Path) -> None:
    column = pd.Series(["anna", "bob", "bob"], index=[7, 8, 9])
    with opened(ledger, "2x0.1") as budgets:
        run = budgets.begin("r")
        assert budgets.charge(run, 0, [], 0.1, unit=KM).shape == (0,)
        budgets.charge(run, 0, np.array(["anna", "bob"]), 0.1, unit=KM)  # pyright: ignore[reportArgumentType]
        with pytest.raises(dx.BudgetExceeded) as found:
            budgets.charge(run, 2, column, 0.1, unit=KM)  # pyright: ignore[reportArgumentType]
        assert found.value.person == "bob"
        assert {account.person for account in budgets.accounts()} == {"anna", "bob"}


@pytest.mark.parametrize(
    ("budget", "exact"),
    [
        ("0.1", TENTH),
        ("10x0.1", 10 * TENTH),
        ("3 x ln(4)", 3 * Fraction(math.log(4))),
        ("365xln(4)/5", 365 * Fraction(math.log(4) / 5)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_amounts_as_they_are_written(ledger: Path, budget: str, exact: Fraction) -> None:
    with opened(ledger, budget) as budgets:
        assert budgets.default == exact


BAD = {
    "budget: is the text 'much'": lambda budgets: budgets.set("much"),
    "budget: is -1": lambda budgets: budgets.set(-1),
    "budget: is inf": lambda budgets: budgets.set(math.inf),
    "budget: is -0.5": lambda budgets: budgets.set("-1/2"),
    "budget: counts too many releases": lambda budgets: budgets.set("9" * 30 + "x1"),
    "delta: is nan": lambda budgets: budgets.set(1, delta="nan"),
    "level: has more than 4,000 digits": lambda budgets: budgets.pay(
        "a", Fraction(1, 10**5000), unit=KM, release="r"
    ),
    "level: is True": lambda budgets: budgets.pay("a", True, unit=KM, release="r"),
    "unit: is 'per m', but the ledger is in 'per km'": lambda budgets: budgets.pay("a", 1, unit="per m", release="r"),
    "unit: is ''": lambda budgets: budgets.pay("a", 1, unit="", release="r"),
    "persons: number 0 is nobody": lambda budgets: budgets.pay("", 1, unit=KM, release="r"),
    "persons: is of type list": lambda budgets: budgets.left(["a", [3]]),
    "persons: are one value": lambda budgets: budgets.left("anna"),
    "persons: has half of a surrogate pair": lambda budgets: budgets.left(["\udc80"]),
    "first: is -1": lambda budgets: budgets.charge(budgets.begin("r"), -1, ["a"], 1, unit=KM),
    "unit: has half": lambda budgets: budgets.pay("a", 1, unit="\udc80", release="r"),
    "release: has half": lambda budgets: budgets.pay("a", 1, unit=KM, release="\udc80"),
    "tags: are not all bytes": lambda budgets: budgets.pay("a", 1, unit=KM, release="r", tag="home"),
    "run: is ' '": lambda budgets: budgets.begin(" "),
    "release: is of type NoneType": lambda budgets: budgets.pay("a", 1, unit=KM, release=None),
    "run: .* never begun": lambda budgets: budgets.charge("x", 0, ["a"], 1, unit=KM),
}


@pytest.mark.parametrize("message", list(BAD))
def test_bad_input_is_one_line(ledger: Path, message: str) -> None:
    with opened(ledger) as budgets:
        with pytest.raises(dx.SpecError, match=message) as caught:
            BAD[message](budgets)
        assert "\n" not in str(caught.value) and not isinstance(caught.value, dx.BudgetExceeded)
        assert budgets.totals().rows == 0
