"""Sidecar of an output: a record of what was done, without keys and without secrets."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Sequence
from fractions import Fraction

from dxopt.release.applying.column_mapping import Layout
from dxopt.release.applying.plan import Plan
from dxopt.release.applying.row_checks import Tally
from dxopt.spaces.geo.reach import across
from dxopt.spaces.spread import spread_of
from dxopt.verify.published.sidecar import (
    FORMAT,
    SHARE,
    Columns,
    Draws,
    Mechanism,
    Near,
    Noun,
    Output,
    Paid,
    PaidInPeriod,
    PriorOfRadii,
    Privacy,
    Radius,
    RowCounts,
    Secret,
    Sidecar,
)

_LARGEST = 700.0
"""Exponent whose power a double still has; larger ones count as this, as JSON has no infinity."""


def sidecar(
    plan: Plan,
    layout: Layout,
    tally: Tally,
    noun: Noun,
    *,
    output: Output | None,
    command: Sequence[str] | None,
    run: tuple[str, ...] | None = None,
) -> Sidecar:
    """Return the record of what was done, which is written beside an output.

    `output` is None for a frame; `run` says which run of the ledger paid for it, None without a ledger.
    """
    table, space, snapper = plan.table, plan.table.space, plan.snapper
    metric = "given distances" if space.metric is None else space.metric.name
    prior = hashlib.sha256(plan.prior.probabilities.astype("<f8").tobytes()).hexdigest()
    return Sidecar(
        format=FORMAT,
        version=sys.modules["dxopt"].__version__,
        command=None if command is None else tuple(command),
        mechanism=Mechanism(table.name, len(space), len(table.reports), table.bits, table.digest),
        privacy=Privacy(table.epsilon, table.delta, table.pairs, metric, space.unit, _near(plan)),
        prior=PriorOfRadii(plan.prior.name, prior),
        secret=Secret(
            columns=tuple(plan.where.names),
            kind=plan.where.kind,
            within=snapper.within,
            within_unit=snapper.unit,
            within_from_space=snapper.derived,
            outside=plan.outside,
            unusable="drop" if "drop" in (plan.outside, plan.unusable) else "refuse",
        ),
        radius=_radius(plan, layout),
        rows=RowCounts(
            given=tally.rows,
            out=tally.rows - len(tally.dropped) - tally.unpaid_rows,
            outside=None if plan.outside == "nearest" else tally.outside,
            unusable=tally.bad,
            dropped=tuple(tally.dropped),
            noun=noun,
        ),
        columns=Columns(tuple(layout.made), tuple(layout.kept), tuple(layout.left_out)),
        draws=_draws(plan),
        budgets=_paid(plan, tally, run),
        output=output,
    )


def _near(plan: Plan) -> Near:
    """Return the factor e^{εd} for two positions or secrets within the radius asked for, or a round one.

    d is the distance that the secrets of two positions on the Earth may have, where that is known, else the radius.
    """
    space = plan.table.space
    radius = spread_of(space).telling if plan.radius is None else plan.radius
    far = across(space, radius, plan.snapper.within) if plan.where.kind == "earth" else None
    apart = radius if far is None else far
    factor = math.exp(min(plan.table.epsilon * apart, _LARGEST))
    return Near("secrets" if far is None else "positions", radius, apart, factor)


def _radius(plan: Plan, layout: Layout) -> Radius | None:
    """Return which columns of the output have radii, and the worst one; None if there are no radii."""
    if plan.radii is None:
        return None
    named = tuple(name for name in layout.made if "ncertainty" in name)
    # JSON has no infinity
    worst = plan.radii.worst if math.isfinite(plan.radii.worst) else None
    return Radius(SHARE, named, plan.radii.unit, worst)


def _draws(plan: Plan) -> Draws:
    persons = plan.persons
    if persons is None or persons.key is None:
        return Draws(keyed=False, key=None, release=None, person=None)
    return Draws(keyed=True, key=persons.key.fingerprint, release=persons.release, person=persons.column)


def _paid(plan: Plan, tally: Tally, run: tuple[str, ...] | None) -> Paid | None:
    """Return the budget that rows were paid from, and how many were not, but not whose; None without a ledger."""
    persons = plan.persons
    if persons is None or persons.ledger is None:
        return None
    default, limit = persons.ledger.default, persons.limit
    in_period = None
    if limit is not None and persons.time is not None:
        rows = _rows_for(plan, limit.epsilon)
        in_period = PaidInPeriod(persons.time, limit.period, limit.zone, float(limit.epsilon), rows)
    return Paid(
        person=persons.column,
        account=persons.account,
        over_budget=plan.over_budget,
        default=None if default is None else float(default),
        default_rows=None if default is None else _rows_for(plan, default),
        in_period=in_period,
        rows_left_out=tally.unpaid_rows,
        persons_left_out=tally.unpaid_persons,
        run=run,
    )


def _rows_for(plan: Plan, budget: Fraction) -> int | None:
    """Return the number of rows that a budget pays for; None where they cost nothing."""
    return budget // Fraction(plan.table.epsilon) if plan.table.epsilon else None
