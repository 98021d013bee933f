"""How many rows persons can pay for, before any is charged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dxopt.errors import Option
from dxopt.release.budgets.accounts import Account
from dxopt.release.budgets.charging import Level, lacking, largest, refusal

_OTHER = ("keep the first rows of each person that the budget pays for: ", Option("over_budget", "drop"), ", or ")


def affordable(
    accounts: Sequence[Account], needed: Mapping[str, int], paid: Mapping[str, int], level: Level, *, drop: bool
) -> dict[str, int]:
    """How many of their rows persons can pay for.

    Parameters
    ----------
    accounts : sequence of Account
        Of the persons in `needed`, in that order.
    needed, paid : mapping of str to int
        How many rows each person has, and how many of these are paid for already.
    level : Level
    drop : bool
        Whether there may be more rows than can be paid for.

    Raises
    ------
    BudgetExceeded
        Without `drop`, where there are.
    """
    found: dict[str, int] = {}
    short: list[tuple[str, Account, int]] = []
    for (person, rows), account in zip(needed.items(), accounts, strict=True):
        found[person] = min(rows, paid[person] + _rows(account, level, rows))
        if found[person] < rows:
            short.append((person, account, rows - paid[person]))
    if short and not drop:
        most = largest(lacking(account, rows, level) for _, account, rows in short)
        raise refusal(*short[0], level, over=len(short), needed=most, other=_OTHER)
    return found


def _rows(account: Account, level: Level, most: int) -> int:
    """How many rows, up to a number, an account pays for."""
    if account.budget is None:
        return 0
    pairs = ((account.left, level.epsilon), (account.left_delta, level.delta))
    return min([most, *(left // each for left, each in pairs if each)])
