"""A ledger on disk: what is charged, what is refused, what is remembered."""

from __future__ import annotations

import math
import pickle
import random
import threading
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

import dxopt as dx
from tests.release.budgets.reader import overspent

KM = "per km"
TENTH = Fraction(0.1)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "budget.sqlite"


def opened(ledger: Path, default: float | str | None = "10x0.1", **options: object) -> dx.Budgets:
    return dx.Budgets.open(ledger, create=True, unit=KM, default=default, **options)  # pyright: ignore[reportArgumentType]


def test_several_pay_for_one_draw_or_nobody_does(ledger: Path) -> None:
    with opened(ledger) as budgets:
        budgets.set(0.3, person="carl")
        budgets.pay_each(["anna", "bob", "carl"], 0.2, unit=KM, release="prior")
        assert budgets.left(["anna", "bob"]) == [10 * TENTH - Fraction(0.2)] * 2
        with pytest.raises(dx.BudgetExceeded) as refused:
            budgets.pay_each(["anna", "carl"], 0.2, unit=KM, release="prior")
        assert refused.value.person == "carl"
        assert budgets.account("anna").spent == Fraction(0.2)
        with pytest.raises(dx.SpecError) as wrong:
            budgets.pay_each(["anna"], 0.2, unit="per person", release="prior")
        assert wrong.value.field == "unit"
        assert [(one.release, one.rows) for one in budgets.history("anna")] == [("prior", 1)]
        budgets.check()
    assert overspent(ledger) == []


def test_several_pay_within_a_period(ledger: Path) -> None:
    with opened(ledger) as budgets:
        budgets.set_per("day", 0.3)
        budgets.pay_each(["anna", "bob"], 0.2, unit=KM, release="prior", time="2026-01-31")
        with pytest.raises(dx.BudgetExceeded):
            budgets.pay_each(["bob"], 0.2, unit=KM, release="prior", time="2026-01-31")
        budgets.pay_each(["bob"], 0.2, unit=KM, release="prior", time="2026-02-01")
        assert budgets.account("bob").spent == 2 * Fraction(0.2)
        budgets.check()


def test_each_row_costs_its_level_exactly(ledger: Path) -> None:
    with opened(ledger) as budgets:
        run = budgets.begin("march")
        assert budgets.charge(run, 0, ["anna", "bob", "anna"], 0.1, unit=KM).tolist() == [True] * 3
        assert budgets.left(["anna", "bob", "carl"]) == [8 * TENTH, 9 * TENTH, 10 * TENTH]
        assert budgets.account("anna").spent == 2 * TENTH
        budgets.check()
    assert overspent(ledger) == []


def test_sums_never_drift(ledger: Path) -> None:
    levels = [random.Random(5).choice([0.1, 0.3, math.log(4), 1e-12, Fraction(1, 3)]) for _ in range(200)]
    with opened(ledger, 10**6) as budgets:
        for level in levels:
            budgets.pay("anna", level, unit=KM, release="many")
        assert budgets.account("anna").spent == sum(Fraction(level) for level in levels)
        budgets.check()


def test_a_budget_is_spent_to_the_last_digit_and_no_further(ledger: Path) -> None:
    with opened(ledger) as budgets:
        for _ in range(10):
            budgets.pay("anna", 0.1, unit=KM, release="server")
        for level in (0.1, 5e-324):
            wrong = f"^budget: the person has 0 left of 1 per km, but {level:.3g} is asked; release nothing"
            with pytest.raises(dx.BudgetExceeded, match=wrong):
                budgets.pay("anna", level, unit=KM, release="server")
    with dx.Budgets.open(ledger) as budgets:
        assert budgets.left(["anna"]) == [0]


def test_the_smallest_lack_is_seen_in_the_error(ledger: Path) -> None:
    with opened(ledger, 1.0) as budgets:
        run = budgets.begin("ten")
        with pytest.raises(dx.BudgetExceeded) as caught:
            budgets.charge(run, 0, ["anna"] * 10, 0.1, unit=KM)
        assert (
            "has 1 left of 1 per km, but a little more is asked for 10 rows; release nothing, or set 1.001 or more"
            in str(caught.value)
        )
        assert (caught.value.person, caught.value.asked, caught.value.left) == ("anna", 10 * TENTH, 1)
        # what the error says to set is enough
        budgets.set(float(str(caught.value).split(" set ")[1].split()[0]))
        budgets.charge(run, 0, ["anna"] * 10, 0.1, unit=KM)


def test_all_rows_are_charged_or_none(ledger: Path) -> None:
    with opened(ledger, 1) as budgets:
        budgets.set("1/10", person="bob")
        run = budgets.begin("r")
        with pytest.raises(dx.BudgetExceeded) as caught:
            budgets.charge(run, 0, ["anna", "bob", "carl", "bob"], 0.1, unit=KM)
        assert caught.value.person == "bob"
        assert budgets.totals() == type(budgets.totals())(1, 0, Fraction(0), ("r",))
        with pytest.raises(dx.BudgetExceeded) as caught:
            budgets.charge(run, 0, ["anna", "dora", "bob"] * 11, 0.1, unit=KM, tags=[b"1", None, b"2"] * 11)
        assert caught.value.person == "dora"  # the first in the order of the rows
        budgets.check()


def test_a_run_goes_on_without_paying_twice(ledger: Path) -> None:
    with opened(ledger) as budgets:
        first = budgets.begin("march")
        budgets.charge(first, 0, ["anna", "bob"], 0.1, unit=KM)
    with dx.Budgets.open(ledger) as budgets:
        again = budgets.begin("march")
        assert budgets.charge(again, 0, ["anna", "bob", "bob"], 0.1, unit=KM).tolist() == [False, False, True]
        assert budgets.left(["anna", "bob"]) == [9 * TENTH, 8 * TENTH]
        # the process before, where it is still alive, may publish nothing
        for use in (lambda: budgets.finish(first), lambda: budgets.charge(first, 9, ["anna"], 0.1, unit=KM)):
            with pytest.raises(dx.SpecError, match="run: is another process's now"):
                use()
        assert not budgets.finished(again)
        budgets.finish(again)
        budgets.finish(again)
        assert budgets.finished(again)
        with pytest.raises(dx.SpecError, match="run: is finished"):
            budgets.charge(again, 3, ["anna"], 0.1, unit=KM)
        # the next run of the name pays anew
        assert budgets.charge(budgets.begin("march"), 0, ["anna"], 0.1, unit=KM).all()
        budgets.check()


def test_a_run_that_goes_on_with_other_rows_is_refused(ledger: Path) -> None:
    with opened(ledger) as budgets:
        run = budgets.begin("r")
        budgets.charge(run, 5, ["anna"], 0.1, unit=KM)
        for persons, level, tags in ((["bob"], 0.1, None), (["anna"], 0.05, None), (["anna"], 0.1, [b"home"])):
            with pytest.raises(dx.SpecError) as caught:
                budgets.charge(run, 5, persons, level, unit=KM, tags=tags)
            assert caught.value.field == "row"
        assert budgets.close_runs("other") == 0
        assert budgets.close_runs() == 1
        assert budgets.totals().unfinished == ()
        with pytest.raises(dx.SpecError, match="was closed"):
            budgets.finish(run)
        assert budgets.account("anna").spent == TENTH
        budgets.check()


def test_a_tag_costs_once(ledger: Path) -> None:
    with opened(ledger) as budgets:
        run = budgets.begin("keyed")
        tags = [b"home", b"home", b"work", None, None]
        persons = ["anna"] * 5
        assert budgets.charge(run, 0, persons, 0.1, unit=KM, tags=tags).tolist() == [True, False, True, True, True]
        budgets.finish(run)
        run = budgets.begin("keyed")
        assert budgets.charge(run, 0, persons, 0.1, unit=KM, tags=tags).tolist() == [False] * 3 + [True] * 2
        assert not budgets.pay("anna", 0.1, unit=KM, release="server", tag=b"work")
        assert budgets.pay("bob", 0.1, unit=KM, release="server", tag=b"work")  # another person
        assert budgets.pay("anna", 0.2, unit=KM, release="server", tag=b"work")  # another mechanism
        assert budgets.account("anna").spent == 6 * TENTH + Fraction(0.2)
        # refused tags are not paid for
        with pytest.raises(dx.BudgetExceeded):
            budgets.charge(run, 9, ["bob"] * 11, 0.1, unit=KM, tags=[bytes([at]) for at in range(11)])
        assert budgets.pay("bob", 0.1, unit=KM, release="server", tag=b"\0")
        with pytest.raises(dx.SpecError, match="tags: are 1 for 2 rows"):
            budgets.charge(run, 9, ["bob"] * 2, 0.1, unit=KM, tags=[None])
        budgets.check()


def test_deltas_add_up_as_well(ledger: Path) -> None:
    with opened(ledger, 10) as budgets:
        with pytest.raises(dx.BudgetExceeded, match=r"has delta 0 left of 0, but 1e-06 is asked"):
            budgets.pay("anna", 0.1, delta=1e-6, unit=KM, release="r")
        budgets.set(10, person="anna", delta="2x1e-6")
        budgets.pay("anna", 0.1, delta=1e-6, unit=KM, release="r")
        budgets.pay("anna", 0.1, delta=1e-6, unit=KM, release="r")
        with pytest.raises(dx.BudgetExceeded, match="set delta 3"):
            budgets.pay("anna", 0.1, delta=1e-6, unit=KM, release="r")
        assert budgets.account("anna").left_delta == 0
        assert [payment.cost_delta for payment in budgets.history("anna")] == [2 * Fraction(1e-6)]
        with pytest.raises(dx.SpecError, match="delta: is 1e-06, but person 'anna' has spent 2e-06"):
            budgets.set(10, person="anna", delta=1e-6)
        budgets.check()


def test_budgets_are_set_raised_and_lowered(ledger: Path) -> None:
    with opened(ledger, None) as budgets:
        with pytest.raises(dx.BudgetExceeded, match="the person has no budget in all; set one, or a default"):
            budgets.pay("anna", 0.1, unit=KM, release="r")
        assert budgets.account("anna").budget is None and budgets.left(["anna"]) == [0]
        budgets.set("ln(4)")
        budgets.pay("anna", 1, unit=KM, release="r")
        assert budgets.default == Fraction(math.log(4))
        with pytest.raises(dx.SpecError, match=r"budget: is 0.5, but person 'anna' has spent 1; set 1.0 or more"):
            budgets.set(0.5)
        budgets.set(3, person="anna")
        budgets.set(0.5)  # she has her own now
        budgets.set(2, person="anna")
        with pytest.raises(dx.SpecError, match=r"budget: is 0.9, but person 'anna' has spent 1; set 1.0 or more"):
            budgets.set(0.9, person="anna")
        with pytest.raises(dx.SpecError, match="has spent 1"):
            budgets.unset("anna")
        budgets.set(1)
        budgets.unset("anna")
        budgets.unset("nobody")
        assert budgets.account("anna").budget == 1 and not budgets.account("anna").own
        budgets.check()
    with opened(ledger, 7) as budgets:
        assert budgets.default == 1  # what is set is kept


def test_history_and_totals(ledger: Path) -> None:
    with opened(ledger, 100) as budgets:
        run = budgets.begin("a1b2", release="bikes in march")
        budgets.charge(run, 0, ["anna", "bob", "anna"], 0.5, unit=KM)
        assert [payment.finished for payment in budgets.history("anna")] == [False]
        budgets.charge(run, 3, ["anna"], 0.5, unit=KM)
        budgets.finish(run)
        budgets.pay("anna", 0.25, unit=KM, release="server")
        march, server = budgets.history("anna")
        assert (march.release, march.rows, march.cost, march.finished) == ("bikes in march", 3, Fraction(3, 2), True)
        assert (server.release, server.cost) == ("server", Fraction(1, 4))
        assert march.first <= march.last <= server.first and march.first.endswith("Z")
        assert budgets.history("nobody") == []
        assert [account.person for account in budgets.accounts()] == ["anna", "bob"]  # the least left first
        totals = budgets.totals()
        assert (totals.persons, totals.rows, totals.spent, totals.unfinished) == (2, 5, Fraction(7, 4), ())


def test_persons_may_be_stored_as_hashes_alone(ledger: Path) -> None:
    key = dx.Key(bytes(range(32)))
    with opened(ledger, key=key) as budgets:
        budgets.pay("Anna Müller", 0.1, unit=KM, release="r")
        assert budgets.account("Anna Müller").spent == TENTH and budgets.hashed
        assert len(budgets.accounts()[0].person) == 64
    content = ledger.read_bytes()
    assert "Müller".encode() not in content and bytes(range(32)) not in content
    with dx.Budgets.open(ledger, key=key) as budgets:
        assert len(budgets.history("Anna Müller")) == 1
    with pytest.raises(dx.SpecError, match="key: is missing"):
        dx.Budgets.open(ledger)
    with pytest.raises(dx.SpecError, match="key: is not that of"):
        dx.Budgets.open(ledger, key=dx.Key(bytes(32)))
    with pytest.raises(dx.SpecError, match=r"key: is of type bytes; give a dx.Key"):
        dx.Budgets.open(ledger, key=b"secret")  # pyright: ignore[reportArgumentType]


def test_a_key_for_a_ledger_without_hashes_is_refused(ledger: Path) -> None:
    opened(ledger).close()
    with pytest.raises(dx.SpecError, match=r"key: is given, but .* stores persons as they are"):
        dx.Budgets.open(ledger, key=dx.Key(bytes(32)))


def test_threads_of_one_object_stay_correct(ledger: Path) -> None:
    answers: Counter[str] = Counter()
    with opened(ledger) as budgets:

        def ask() -> None:
            for _ in range(5):
                try:
                    budgets.pay("anna", 0.1, unit=KM, release="server")
                    answers["paid"] += 1
                except dx.BudgetExceeded:
                    answers["refused"] += 1

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        budgets.check()
    assert answers == {"paid": 10, "refused": 10}


def test_a_purse_is_one_person(ledger: Path) -> None:
    with opened(ledger) as budgets:
        purse = budgets.purse("anna", unit=KM, release="trace")
        purse.pay(0.1)
        assert purse.left == budgets.left(["anna"])[0] == 9 * TENTH


def test_errors_travel_between_processes() -> None:
    error = dx.BudgetExceeded("anna", Fraction(1, 3), Fraction(1, 4), "is short", "wait")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.person, again.asked, again.left) == (str(error), "anna", error.asked, error.left)


def test_releases_about_one_secret_together(ledger: Path) -> None:
    table = dx.integer_table(dx.classic.geometric(dx.line(4), epsilon=0.1))
    other = dx.integer_table(dx.classic.exponential(dx.line(4), epsilon=0.3))
    with opened(ledger, 100) as budgets:
        for release, one, count in (("march", table, 6), ("april", table, 4), ("may", other, 1)):
            for _ in range(count):
                budgets.pay("anna", one.epsilon, unit=KM, release=release)
        together = budgets.composed("anna", {"march": table, "april": table, "may": other, "june": other})
        assert together.delta(0.5).delta == pytest.approx(
            dx.compose([table, other], [10, 1]).delta(0.5).delta, rel=1e-2
        )
        assert together.epsilon(0.01).epsilon < budgets.account("anna").spent
        near = budgets.composed("anna", {"march": table, "april": table, "may": other}, pairs="adjacent")
        assert near.delta(0.5).delta < together.delta(0.5).delta / 2
        with pytest.raises(dx.SpecError, match="tables: lack the one of release 'april'"):
            budgets.composed("anna", {"march": table, "may": other})
        with pytest.raises(
            dx.SpecError, match=r"tables: have one at \S+ for release 'may', which was paid for at \S+;"
        ):
            budgets.composed("anna", {"march": table, "april": table, "may": table})
        with pytest.raises(dx.SpecError, match="person: has paid for nothing"):
            budgets.composed("bob", {})
