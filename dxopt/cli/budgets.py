"""Commands about privacy budgets: to look at a ledger, and to set what persons may spend."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dxopt.cli.shared import Json

if TYPE_CHECKING:
    from rich.table import Table

    from dxopt.release.budgets import Account, Budgets, Payment

commands = typer.Typer()

_MOST = 20
"""Persons that are shown; `--json` has all."""
_AMOUNT = (
    "Budget in all: 2, ln(4), 1/2, ln(4)/5, or N of these, such as 10x0.1 or 365xln(4)/5; or 10xresults/town for ten "
    "at the exact level of a result folder or table, whose unit the ledger takes. Makes the ledger."
)
_PERSON = "One person: whose budget is set, and whose payments are shown."
_UNIT = 'What levels are per: "per km", or "per person" for a space whose unit is people; said once for a ledger.'
_KEY = "File of the key of a ledger that stores persons as keyed hashes; `dxopt key` makes one."
_PER = "Budget of each person in each day, week (ISO 8601), month or year with --set, beside the budget in all."
_ZONE = "Time zone of the calendar with --per, such as Europe/Paris; times without an offset are of it."
_CLOSE = "End runs that were killed: what they paid stays paid, and the same command begins anew."


@commands.command("budget", epilog='Example: dxopt budget budget.sqlite --set "10x0.1" --unit "per km"')
def budget(
    ledger: Annotated[Path, typer.Argument(metavar="LEDGER", help="The file of the ledger.")],
    amount: Annotated[str | None, typer.Option("--set", metavar="AMOUNT", help=_AMOUNT)] = None,
    delta: Annotated[str | None, typer.Option(metavar="AMOUNT", help="Budget of δ in all, with --set.")] = None,
    person: Annotated[str | None, typer.Option(help=_PERSON)] = None,
    unit: Annotated[str | None, typer.Option(help=_UNIT)] = None,
    per: Annotated[str | None, typer.Option(metavar="PERIOD", help=_PER)] = None,
    zone: Annotated[str, typer.Option(help=_ZONE)] = "UTC",
    unset: Annotated[bool, typer.Option("--unset", help="Give the person the default budget again.")] = False,
    key_file: Annotated[Path | None, typer.Option(help=_KEY)] = None,
    close_runs: Annotated[bool, typer.Option("--close-runs", help=_CLOSE)] = False,
    check: Annotated[bool, typer.Option("--check", help="Add up the whole ledger again.")] = False,
    as_json: Json = False,
) -> None:
    """Look at the privacy budgets of persons or devices, and set them."""
    from dxopt.errors import SpecError
    from dxopt.numerics.exact_rational import amount_of
    from dxopt.release.budgets import Budgets
    from dxopt.release.keys import Key

    if unset and (person is None or amount is not None):
        raise SpecError("unset", "is of one person, and sets no amount", "give --person alone")
    if per is not None and (person is not None or amount is None):
        raise SpecError("per", "is a budget of every person", "give --set, and no --person")
    if delta is not None and amount is None:
        raise SpecError("delta", "is given without a budget", "give --set as well")
    # a bad amount is refused before the file of a ledger is made
    asked = None
    if amount is not None:
        epsilon, of_result, its_unit = _amount_in_ledger(amount)
        if its_unit is not None and unit not in (None, its_unit):
            raise SpecError("unit", f"is {unit!r}, and that of {amount} is {its_unit!r}", "leave it out")
        unit = its_unit or unit
        asked = epsilon, of_result if delta is None else amount_of(delta, "delta")
    with Budgets.open(
        ledger, create=amount is not None, unit=unit, key=None if key_file is None else Key.load(key_file)
    ) as budgets:
        if asked is not None and per is not None:
            budgets.set_per(per, asked[0], delta=asked[1], zone=zone)  # pyright: ignore[reportArgumentType]
        elif asked is not None:
            budgets.set(asked[0], person=person, delta=asked[1])
        if unset and person is not None:
            budgets.unset(person)
        closed = budgets.close_runs() if close_runs else 0
        if check:
            budgets.check()
        if as_json:
            _print_json(budgets, person)
        else:
            _print_tables(budgets, person)
            if closed:
                typer.echo(f"runs that were closed: {closed}")
            if check:
                said = "everybody has spent the sum of their payments, once for each tag, within their budget"
                typer.echo(f"checked: {said}")


def _amount_in_ledger(amount: str) -> tuple[Fraction, Fraction, str | None]:
    """Return ε, δ and the unit of an amount: of a number 0 and no unit, of a result or table those that it has."""
    from dxopt.errors import SpecError
    from dxopt.numerics.exact_rational import amount_of, times_of
    from dxopt.numerics.number_syntax import is_expression, is_plain, shortened
    from dxopt.release.budgets.affording import Level
    from dxopt.release.tables import IntegerTable
    from dxopt.results.folder import TABLE, holds_report
    from dxopt.results.reading import load

    count, each = times_of(amount, "budget")
    if is_plain(each) or is_expression(each):
        return amount_of(amount, "budget"), Fraction(0), None
    result = Path(each)
    if not result.exists():
        fix = "give 2, ln(4), 1/2, 10x0.1, or 10xRESULT with a result folder or table"
        raise SpecError("budget", f"is the text {shortened(each)}, and there is no such file", fix)
    if holds_report(result) and not (result / TABLE).exists():  # a table that is made of it has no larger level
        report = load(result)
        if not report.problem.private:
            raise SpecError("budget", f"{each} has no level, as no privacy was asked for", "give a number")
        level = Level.of(report.certificate, report.problem.space.unit)
    else:
        table = IntegerTable.load(result)
        level = Level.of(table, table.space.unit)
    return count * level.epsilon, count * level.delta, level.unit


def _print_tables(budgets: Budgets, person: str | None) -> None:
    """Print the ledger with its first accounts, or the account and payments of one person."""
    from rich.console import Console

    unit = budgets.unit or "no unit yet"
    account = None if person is None else budgets.account(person)
    totals = budgets.totals()
    default = _epsilon_and_delta(budgets.default, budgets.default_delta)
    each = (
        ""
        if (limit := budgets.per) is None
        else f"; per {limit.period} ({limit.zone}) " + _epsilon_and_delta(limit.epsilon, limit.delta)
    )
    typer.echo(
        f"{budgets.file}: {unit}; default budget {default}{each}; persons: {totals.persons:,}; "
        f"rows: {totals.rows_said}"
    )
    console = Console()
    if person is not None:
        typer.echo(account)
        payments = budgets.history(person)
        if payments:
            console.print(_payment_table(payments))
        _print_promise(any(one.keyed for one in payments))
        return
    accounts = budgets.accounts()
    if accounts:
        console.print(_account_table(accounts[:_MOST]))
    if len(accounts) > _MOST:
        typer.echo(f"and {len(accounts) - _MOST:,} more, who have more left; --person shows one, --json all")
    if totals.unfinished:
        typer.echo(
            f"runs that were not finished: {len(totals.unfinished)}; each goes on when its command is given again"
        )
    _print_promise(bool(totals.keyed))


def _print_promise(keyed: bool) -> None:
    """Print what draws with a key promise, where the ledger has some (`keyed`)."""
    from dxopt.release.budgets.accounts import KEYED

    if keyed:
        typer.echo(KEYED)


def _account_table(accounts: Sequence[Account]) -> Table:
    """Return a table of accounts; what is left is rounded down, and other amounts up."""
    from rich.markup import escape
    from rich.table import Table

    from dxopt.release.budgets.accounts import amount_text, printable

    table = Table("person", "spent", "left", "budget", box=None, pad_edge=False)
    for account in accounts:
        budget = _epsilon_and_delta(account.budget, account.budget_delta) + ("" if account.own else " (default)")
        table.add_row(
            escape(printable(account.person)),
            _epsilon_and_delta(account.spent, account.spent_delta),
            amount_text(account.left, up=False),
            budget,
        )
    return table


def _payment_table(payments: Sequence[Payment]) -> Table:
    """Return a table of the payments of one person."""
    from rich.markup import escape
    from rich.table import Table

    from dxopt.release.budgets.accounts import amount_text, printable

    periods = any(one.period for one in payments)
    when = ["period"] if periods else []
    table = Table("release", *when, "last paid (UTC)", "rows", "draws", "each", "in all", box=None, pad_edge=False)
    for one in payments:
        name = escape(printable(one.release)) + ("" if one.finished else " (not finished)")
        cost = _epsilon_and_delta(one.cost, one.cost_delta)
        time, draws = one.last[:16].replace("T", " "), escape(printable(one.draws))
        period = [escape(printable(one.period))] if periods else []
        table.add_row(name, *period, time, f"{one.rows:,}", draws, amount_text(one.level), cost)
    return table


def _epsilon_and_delta(amount: Fraction | None, delta: Fraction | None) -> str:
    """Write an amount of ε, and of δ unless that is 0, for people; "none" without a budget."""
    from dxopt.release.budgets.accounts import amount_text

    if amount is None:
        return "none"
    return amount_text(amount) + (f", delta {amount_text(delta)}" if delta else "")


# fields that JSON has as they are, and amounts
_ACCOUNT = (
    ("person", "own"),
    ("spent", "left", "budget", "spent_delta", "left_delta", "budget_delta"),
)
_PAYMENT = (
    ("release", "period", "first", "last", "rows", "finished", "keyed", "key"),
    ("level", "level_delta", "cost", "cost_delta"),
)


def _print_json(budgets: Budgets, person: str | None) -> None:
    """Print all accounts, or one with its payments, as JSON. Amounts are doubles, and exactly as text."""
    totals, limit = budgets.totals(), budgets.per
    per = {} if limit is None else _json_amounts(budget=limit.epsilon, budget_delta=limit.delta)
    content: dict[str, Any] = {
        "ledger": str(budgets.file),
        "unit": budgets.unit,
        "hashed": budgets.hashed,
        "default": _json_amounts(budget=budgets.default, budget_delta=budgets.default_delta),
        "per": None if limit is None else {"period": limit.period, "zone": limit.zone, **per},
        "rows": totals.rows,
        "rows_keyed": totals.keyed,
        "unfinished": list(totals.unfinished),
    }
    if person is None:
        content["persons"] = [_json_entry(account, *_ACCOUNT) for account in budgets.accounts()]
    else:
        payments = [_json_entry(one, *_PAYMENT) for one in budgets.history(person)]
        content |= {"person": _json_entry(budgets.account(person), *_ACCOUNT), "payments": payments}
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def _json_entry(one: Account | Payment, names: Sequence[str], amounts: Sequence[str]) -> dict[str, Any]:
    """Return fields of an account or a payment for JSON: `names` as they are, `amounts` as numbers and exactly."""
    return {name: getattr(one, name) for name in names} | _json_amounts(
        **{name: getattr(one, name) for name in amounts}
    )


def _json_amounts(**amounts: Fraction | None) -> dict[str, Any]:
    """Return amounts for JSON by name: as the nearest doubles, and under "exact" as text, which loses nothing."""
    near = {name: None if amount is None else float(amount) for name, amount in amounts.items()}
    return near | {"exact": {name: None if amount is None else str(amount) for name, amount in amounts.items()}}
