"""What a person has paid for, as one (ε, δ)."""

from __future__ import annotations

from collections import Counter
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
    if not counts:
        raise SpecError("person", "has paid for nothing", "there is nothing to compose")
    return compose([tables[release] for release in counts], list(counts.values()), pairs=pairs)
