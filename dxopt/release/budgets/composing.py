"""What a person has paid for, as one (ε, δ)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dxopt.errors import SpecError
from dxopt.release.budgets.accounts import Payment, shown

if TYPE_CHECKING:
    from dxopt.analysis.composition import Composition
    from dxopt.release.tables.table import IntegerTable


def composed(payments: Sequence[Payment], tables: Mapping[str, IntegerTable], pairs: str) -> Composition:
    """The releases of payments together; see `Budgets.composed`."""
    from dxopt.analysis.composition import compose

    counts: Counter[str] = Counter()
    keyed: dict[str, Counter[str | None]] = defaultdict(Counter)
    for payment in payments:
        table = tables.get(payment.release)
        if table is None:
            raise SpecError("tables", f"lack the one of release {payment.release!r}", "give one for each release")
        if (Fraction(table.epsilon), Fraction(table.delta)) != (payment.level, payment.level_delta):
            wrong = (
                f"have one at {shown(Fraction(table.epsilon))} for release {payment.release!r}, which was paid for at"
            )
            raise SpecError("tables", f"{wrong} {shown(payment.level)}", "give the table that was drawn from")
        counts[payment.release] += payment.rows
        if payment.keyed:
            keyed[payment.release][payment.key] += payment.rows
    if not counts:
        raise SpecError("person", "has paid for nothing", "there is nothing to compose")
    for release, rows in keyed.items():
        _require_one_secret(release, rows)
    return compose([tables[release] for release in counts], list(counts.values()), pairs=pairs)


def _require_one_secret(release: str, keyed: Counter[str | None]) -> None:
    """SpecError where a person has paid for two draws with one key, which are about two secrets, or may have.

    Parameters
    ----------
    keyed : Counter
        How many rows of the release were drawn with each key; None stands for a key that was not given.
    """
    surely = max((rows for key, rows in keyed.items() if key is not None), default=0)
    perhaps = surely + keyed[None]
    if perhaps > 1:
        has = "has" if surely > 1 else "may have"
        wrong = f"{has} paid for {max(surely, 2)} secrets in release {release!r}, which was drawn with a key"
        raise SpecError("person", wrong, "take the sum of levels, account(person).spent: what is composed is of one")
