"""What the level of a table comes to between two positions, and what a person's budget does: in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from dxopt.numerics.digits import factor, three_digits
from dxopt.release.applying.persons import per
from dxopt.release.applying.plan import Plan
from dxopt.spaces.geo.reach import across
from dxopt.spaces.spread import spread_of
from dxopt.spaces.units import with_unit

_LARGEST = 700.0
"""Exponents of numbers that doubles have."""


@dataclass(frozen=True)
class Between:
    """Two positions within a distance of each other.

    Attributes
    ----------
    radius : float
        Within which the level was asked for, else a usual distance; in the unit of distances.
    apart : float
        How far apart the secrets are at most that they stand for.
    factor : float
        By which one report changes the odds between them at most.
    """

    radius: float
    apart: float
    factor: float

    @classmethod
    def of(cls, plan: Plan) -> Self | None:
        """Two positions on the Earth that are not outside; None for other data, and other distances."""
        space = plan.table.space
        if plan.where.kind != "earth":
            return None
        radius = spread_of(space).telling if plan.radius is None else plan.radius
        apart = across(space, radius, plan.snapper.within)
        return None if apart is None else cls(radius, apart, _factor(plan.table.epsilon * apart))

    def told(self, plan: Plan) -> str:
        """The factor in a sentence."""
        unless = f", up to a probability of {plan.table.delta:.6g}" if plan.table.delta else ""
        once = factor(plan.table.epsilon * self.apart)
        return (
            f"Seeing one report, nobody can change the odds between {self.named(plan)} by more than a factor of "
            f"{once}{unless}; after n independent reports of one person it is that to the power n."
        )

    def named(self, plan: Plan) -> str:
        """The two positions in words."""
        return f"two positions {self.near(plan)} of each other"

    def near(self, plan: Plan) -> str:
        """Within the radius, in words."""
        return f"within {with_unit(three_digits(self.radius), plan.table.space.unit)}"


def of_budget(plan: Plan, between: Between | None) -> list[str]:
    """What a person's budget is, and what all that it pays for tells of one place; nothing without a ledger."""
    persons, table = plan.persons, plan.table
    if persons is None or persons.ledger is None:
        return []
    cost = f"epsilon {table.epsilon:.10g} {per(table)}"
    if (budget := persons.ledger.default) is None:
        return [f"Each row was paid for, with {cost}, from the budget that was set for its person."]
    rows = budget // Fraction(table.epsilon)
    told = (
        f"Each row was paid for, with {cost}, from the budget of its person: unless another was set, "
        f"epsilon {float(budget):.10g} {per(table)} in all, which pays for {rows:,} such "
        f"row{'' if rows == 1 else 's'}."
    )
    if between is None or persons.key is not None:
        return [told]
    paid, most = (factor(float(level) * between.apart) for level in (rows * Fraction(table.epsilon), budget))
    whole = "" if paid == most else f", and all that such a budget may ever pay for by at most {most}"
    return [
        f"{told} Together they change the odds between two histories of such positions, each {between.near(plan)} of "
        f"the other's, by a factor of at most {paid}{whole}."
    ]


def _factor(exponent: float) -> float:
    return math.exp(min(exponent, _LARGEST))
