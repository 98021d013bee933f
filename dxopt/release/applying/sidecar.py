"""What was done, for whoever gets the output: written beside it, without keys and without secrets."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dxopt.release.applying.between import Between, of_budget
from dxopt.release.applying.layout import GENERALIZATIONS, Layout
from dxopt.release.applying.persons import per
from dxopt.release.applying.plan import Plan
from dxopt.release.applying.radii import SHARE, shown
from dxopt.release.applying.tally import Tally
from dxopt.spaces.geo.reach import ELLIPSOID

FORMAT = 1
"""The version of sidecars."""
ENDING = ".dxopt.json"


def sidecar_of(output: Path) -> Path:
    """The sidecar of an output."""
    return output.with_name(output.name + ENDING)


def content(
    plan: Plan,
    layout: Layout,
    tally: Tally,
    noun: str,
    *,
    output: dict[str, Any] | None,
    command: Sequence[str] | None,
) -> dict[str, Any]:
    """What a sidecar holds; docs/guides/applying.md explains every field."""
    table = plan.table
    prior = plan.prior
    space = table.space
    between = Between.of(plan)
    return {
        "format": FORMAT,
        "version": sys.modules["dxopt"].__version__,
        **({} if command is None else {"command": list(command)}),
        "mechanism": {
            "name": table.name,
            "secrets": len(space),
            "reports": len(table.reports),
            "bits": table.bits,
            "table_sha256": table.digest,
        },
        "privacy": {
            "epsilon": table.epsilon,
            "delta": table.delta,
            "pairs": table.pairs,
            "metric": "given distances" if space.metric is None else space.metric.name,
            "unit": space.unit,
            **({} if between is None else {"positions": asdict(between)}),
            "statement": _statement(plan, noun, between),
        },
        "prior": {
            "name": prior.name,
            "sha256": hashlib.sha256(prior.probabilities.astype("<f8").tobytes()).hexdigest(),
        },
        "secret": {
            "columns": list(plan.where.names),
            "kind": plan.where.kind,
            "within": plan.snapper.within,
            "within_unit": plan.snapper.unit,
            "within_from_space": plan.snapper.derived,
            "outside": plan.options.outside,
        },
        "radius": _radius(plan, layout),
        "rows": {
            "in": tally.rows,
            "out": tally.rows - len(tally.dropped) - tally.unpaid_rows,
            "outside": tally.outside,
            "unusable": tally.bad,
            "dropped": tally.dropped,
            "dropped_are": f"{noun}s, counted from 1",
        },
        "columns": {"made": list(layout.made), "left_out": list(layout.left_out)},
        "draws": _draws(plan),
        "budgets": _budgets(plan, tally),
        "output": output,
    }


def _budgets(plan: Plan, tally: Tally) -> dict[str, Any] | None:
    """What rows were paid from, and how many were not, without saying whose."""
    persons = plan.persons
    if persons is None or persons.ledger is None:
        return None
    left_out = {"rows": tally.unpaid_rows, "persons": tally.unpaid_persons}
    paid: dict[str, Any] = {
        "person": persons.column,
        "unit": per(plan.table),
        "over_budget": plan.options.over_budget,
    }
    paid["default"] = None if persons.ledger.default is None else float(persons.ledger.default)
    return paid | {"left_out": left_out}


def _draws(plan: Plan) -> dict[str, Any]:
    """Where the random bits are from; of a key its fingerprint alone."""
    persons = plan.persons
    if persons is None or persons.key is None:
        return {"keyed": False, "source": "operating system"}
    named = {"key": persons.key.fingerprint, "release": persons.release, "person": persons.column}
    return {"keyed": True, "source": "HMAC-SHA256 of key, release, person and secret", **named}


def _radius(plan: Plan, layout: Layout) -> dict[str, Any] | None:
    """What the radii in the output mean."""
    if plan.radii is None:
        return None
    named = [name for name in layout.made if "ncertainty" in name]
    earth = plan.where.kind == "earth"
    sphere = f", times {ELLIPSOID} for WGS 84, rounded up to whole metres" if earth else ""
    measured = f"great-circle distance{sphere}" if earth else "distance of the space"
    given = f"smallest r with P[distance(secret, report) <= r | report] >= {SHARE} under the prior, plus within"
    worst = f"smallest r with P[distance(secret, report) <= r | secret] >= {SHARE} for every secret, plus within"
    return {
        "share": SHARE,
        "columns": named,
        "unit": plan.radii.unit,
        "definition": f"{given} ({measured})",
        "worst_definition": f"{worst} ({measured})",
        "worst": shown(plan.radii.worst),
    }


def _of_key(delta: str, *, paid: bool) -> list[str]:
    """What draws with a key promise, and what they show."""
    told = [
        "Draws have a key: the same person at the same secret gets the same report in all data of this release. "
        "Privacy is computational, and whoever has the key can undo it.",
        "Two different reports of one person therefore prove two different secrets, however close these are, and "
        "equal reports suggest the same one: whether a person's secret was the same again is not hidden, and no "
        "level covers it.",
        "Two histories of a person in which the same rows share a secret are told apart by a factor of at most "
        "exp(epsilon (d1 + ... + dk)), with the distances of the k distinct secrets"
        f"{delta and delta + ' for each'}: a secret that stays costs its level once, however often it is reported.",
    ]
    if not paid:
        return told
    return [
        *told,
        "Budgets with a key count the distinct secrets of a person: what is spent, and who was refused, depends on "
        "true secrets, which no level covers.",
    ]


def _of_values(plan: Plan, far: str) -> str:
    """Between which values the guarantee is."""
    among = f"The guarantee is between the {len(plan.table.space):,} values of the space"
    if plan.options.outside == "nearest":
        taken = "Any other value is taken for the nearest of them, however far away that is"
    elif plan.snapper.within == 0:
        return f"{among}, and no other value was taken for one of them."
    else:
        taken = f"Any other value is taken for the nearest of them, which is up to {far} away"
    return (
        f"{among}. {taken}: values with the same nearest one are not told apart at all, others as their nearest ones "
        "are, however close they are."
    )


def _of_positions(plan: Plan, far: str, between: Between | None) -> str:
    """Between which places the guarantee is, and what it says of positions."""
    counted = "" if between is None else "; the factor between two positions counts that"
    if plan.options.outside == "nearest":
        stands = "each for the nearest, however far away that is"
    elif plan.snapper.within == 0:
        stands = "each for the one where it is"
    else:
        stands = f"each for the nearest, which is up to {far} away"
    return (
        f"The guarantee is between secrets, the places that positions stand for: {stands}. Positions with the same "
        "secret are not told apart at all, and two positions on either side of a border between secrets are told "
        f"apart as their secrets are, however close they are{counted}."
    )


def _of_outside(plan: Plan, far: str, between: Between | None) -> list[str]:
    """What does not hold for positions and values that are taken for a secret from outside."""
    what = plan.where.noun
    if what == "label" or (plan.radii is None and between is None):
        # another label is refused under this policy, too
        return []
    off = "that are no secrets themselves" if plan.snapper.within == 0 else f"further than {far} from every secret"
    told = [] if plan.radii is None else [f"the radii hold about their secret, not about the {what} itself"]
    told += [] if between is None else [f"the factor between {what}s does not hold"]
    return [f"There may be {what}s {off}: for these {', and '.join(told)}."]


def _statement(plan: Plan, noun: str, between: Between | None) -> list[str]:
    """What is promised, and what is not, in plain words; `verify.published.sentences` writes the same anew."""
    snapper = plan.snapper
    what = plan.where.noun
    unit = plan.table.space.unit
    far = f"{snapper.within:.6g} {snapper.unit}".rstrip()
    delta = f", up to a probability of {plan.table.delta:.6g}" if plan.table.delta else ""
    lines = [
        *([] if between is None else [between.told(plan)]),
        f"Each report alone: for two secrets at distance d{f' (in {unit})' if unit else ''} every report is at most "
        f"exp({plan.table.epsilon:.10g} d) times as likely for one as for the other{delta}.",
        "n independent reports of one person together cost n times as much: the levels add up.",
    ]
    if plan.persons is not None and plan.persons.key is not None:
        lines.extend(_of_key(delta, paid=plan.persons.ledger is not None))
    lines.extend(of_budget(plan, between))
    match plan.where.noun:
        case "position":
            lines.append(_of_positions(plan, far, between))
        case "value":
            lines.append(_of_values(plan, far))
    match plan.options.outside:
        case "drop":
            lines.append(
                f"Rows without a {what} in the space were left out: that a {noun} is missing says so, which no "
                "level of privacy covers."
            )
        case "nearest":
            lines.extend(_of_outside(plan, far, between))
    if plan.options.over_budget == "drop":
        lines.append(
            f"Of each person the first {noun}s were kept, in the order of the data, as many as the budget pays for. "
            f"How many that is follows from whose they are and from the ledger alone, not from any {what}"
            + (", but for those that were left out as they are outside." if plan.options.outside == "drop" else ".")
        )
    lines.append(
        f"Rows stand in the order of the data. What that order tells, as in data sorted by {what}, is not covered."
    )
    if plan.radii is not None:
        lines.append(
            "Radii and other columns that were added are functions of the report, the table and the prior: they tell "
            "no more than the report does."
        )
    kept = f"Other columns were kept as they are; the guarantee is about the {what} alone, not about what they tell."
    return [*lines, kept] if plan.options.lean else [*lines, kept, f"{GENERALIZATIONS} says the same in one line."]
