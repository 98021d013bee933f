"""The sentences of a sidecar, written here again from its numbers, which are proven apart."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from typing import Any

from dxopt.verify.published.promise import Between, Promise
from dxopt.verify.published.words import factor, singular, three_digits, with_unit
from dxopt.verify.verdict import Broken, Unproved

GENERALIZATIONS = "dataGeneralizations"
_SHARE = 0.95
_OUTSIDE = ("refuse", "nearest", "drop")
_ROWS = {f"{row}s, counted from 1": row for row in ("line", "row", "feature")}


@dataclass(frozen=True, eq=False)
class Sentences:
    """What the statement of a sidecar says, by its other entries.

    Attributes
    ----------
    said : dict
        The sidecar.
    promise : Promise
    """

    said: Mapping[str, Any]
    promise: Promise

    def check(self, texts: Iterable[Any]) -> str:
        """The statement is the one that follows, and so do texts of rows; Broken names the first other sentence."""
        found = self.said["privacy"]["statement"]
        if found not in (wanted := list(self._statements())):
            self._refuse(found, wanted[0])
        if not {*texts} <= {told := self._in_a_row()}:
            raise Broken(
                f"{GENERALIZATIONS} says in some row what does not follow from the sidecar, as would: {told}"
            )
        paid = "" if self.said["budgets"] is None else "; not proven again: what budgets are, and that they were paid"
        return f"the {len(found)} sentences of the sidecar follow from its numbers{paid}"

    def _refuse(self, found: Any, wanted: list[str]) -> None:
        listed = found if isinstance(found, list) else []
        pairs = enumerate(zip_longest(listed, wanted), 1)
        place, other = next((place, other) for place, (one, other) in pairs if one != other)
        version = self.said.get("version")
        if version != sys.modules["dxopt"].__version__:
            raise Unproved(f"the sidecar is of version {version!r}, the sentences of which are not known here")
        if other is None:
            raise Broken(f"sentence {place} of the sidecar says what does not follow from its numbers")
        raise Broken(f"sentence {place} of the sidecar is not what follows from its numbers: {other}")

    @property
    def row(self) -> str:
        """What a row of the file is called."""
        dropped = self.said["rows"]["dropped_are"]
        if dropped not in _ROWS:
            raise Broken(f"the sidecar says rows.dropped_are {dropped!r}, which is none of {', '.join(_ROWS)}")
        return _ROWS[dropped]

    @property
    def what(self) -> str:
        """What a row has there."""
        return self.promise.kind if self.promise.kind in ("value", "label") else "position"

    @property
    def delta(self) -> str:
        """Up to which probability the factors hold."""
        delta = self.promise.table.head["delta"]
        return f", up to a probability of {delta:.6g}" if delta else ""

    @property
    def far(self) -> str:
        """How far from its secret a position may be."""
        return f"{self.promise.within:.6g} {self.promise.unit}".rstrip()

    @property
    def unit(self) -> str:
        """Of distances."""
        return self.said["privacy"]["unit"]

    def _statements(self) -> Any:
        """The statement; a budget that was rounded may pay for one row more or less."""
        for budget in self._of_budget():
            yield [
                *self._of_reports(),
                *self._of_key(),
                *budget,
                *self._of_secrets(),
                *self._of_rows(),
            ]

    def _of_reports(self) -> list[str]:
        """Of one report, and of several."""
        epsilon, near = self.promise.table.head["epsilon"], self.promise.between
        within = f" (in {self.unit})" if self.unit else ""
        lines = [
            f"Each report alone: for two secrets at distance d{within} every report is at most exp({epsilon:.10g} d) "
            f"times as likely for one as for the other{self.delta}.",
            "n independent reports of one person together cost n times as much: the levels add up.",
        ]
        if near is None:
            return lines
        once = (
            f"Seeing one report, nobody can change the odds between two positions {self._near(near)} of each other "
            f"by more than a factor of {factor(epsilon * near.apart)}{self.delta}; after n independent reports of "
            "one person it is that to the power n."
        )
        return [once, *lines]

    def _near(self, near: Between) -> str:
        return f"within {with_unit(three_digits(near.radius), self.unit)}"

    def _of_key(self) -> list[str]:
        """What draws with a key promise."""
        if not self.said["draws"]["keyed"]:
            return []
        each = self.delta and f"{self.delta} for each"
        lines = [
            "Draws have a key: the same person at the same secret gets the same report in all data of this release. "
            "Privacy is computational, and whoever has the key can undo it.",
            "Two different reports of one person therefore prove two different secrets, however close these are, and "
            "equal reports suggest the same one: whether a person's secret was the same again is not hidden, and no "
            "level covers it.",
            "Two histories of a person in which the same rows share a secret are told apart by a factor of at most "
            f"exp(epsilon (d1 + ... + dk)), with the distances of the k distinct secrets{each}: a secret that stays "
            "costs its level once, however often it is reported.",
        ]
        paid = (
            "Budgets with a key count the distinct secrets of a person: what is spent, and who was refused, depends "
            "on true secrets, which no level covers."
        )
        return lines if self.said["budgets"] is None else [*lines, paid]

    def _of_budget(self) -> list[list[str]]:
        """What a person's budget is, in each way that fits the number, which may have been rounded."""
        budgets, epsilon, near = self.said["budgets"], self.promise.table.head["epsilon"], self.promise.between
        if budgets is None:
            return [[]]
        per = f"per {singular(self.unit) or 'unit'}"
        cost = f"epsilon {epsilon:.10g} {per}"
        default = budgets["default"]
        if default is None:
            return [[f"Each row was paid for, with {cost}, from the budget that was set for its person."]]
        about = (default, math.nextafter(default, math.inf), math.nextafter(default, -math.inf))
        found = []
        for rows in dict.fromkeys(Fraction(budget) // Fraction(epsilon) for budget in about):
            told = (
                f"Each row was paid for, with {cost}, from the budget of its person: unless another was set, epsilon "
                f"{default:.10g} {per} in all, which pays for {rows:,} such row{'' if rows == 1 else 's'}."
            )
            if near is None or self.said["draws"]["keyed"]:
                found.append([told])
                continue
            paid, most = (factor(float(level) * near.apart) for level in (rows * Fraction(epsilon), default))
            whole = "" if paid == most else f", and all that such a budget may ever pay for by at most {most}"
            found.append(
                [
                    f"{told} Together they change the odds between two histories of such positions, each "
                    f"{self._near(near)} of the other's, by a factor of at most {paid}{whole}."
                ]
            )
        return found

    def _of_secrets(self) -> list[str]:
        """Between what the guarantee is, and what becomes of the rest."""
        outside = self.said["secret"]["outside"]
        if outside not in _OUTSIDE:
            raise Broken(f"the sidecar says secret.outside {outside!r}, which is none of {', '.join(_OUTSIDE)}")
        near = self.promise.within == 0 and outside != "nearest"
        away = "however far away that is" if outside == "nearest" else f"which is up to {self.far} away"
        lines = []
        if self.what == "position":
            stands = "each for the one where it is" if near else f"each for the nearest, {away}"
            counts = "; the factor between two positions counts that" if self.promise.between is not None else ""
            lines = [
                f"The guarantee is between secrets, the places that positions stand for: {stands}. Positions with "
                "the same secret are not told apart at all, and two positions on either side of a border between "
                f"secrets are told apart as their secrets are, however close they are{counts}."
            ]
        if self.what == "value":
            among = f"The guarantee is between the {len(self.promise.table.rows):,} values of the space"
            lines = [
                f"{among}, and no other value was taken for one of them."
                if near
                else f"{among}. Any other value is taken for the nearest of them, {away}: values with the same "
                "nearest one are not told apart at all, others as their nearest ones are, however close they are."
            ]
        if outside == "drop":
            lines.append(
                f"Rows without a {self.what} in the space were left out: that a {self.row} is missing says so, which "
                "no level of privacy covers."
            )
        return [*lines, *self._of_outside()] if outside == "nearest" else lines

    def _of_outside(self) -> list[str]:
        """What does not hold for what is taken for a secret from outside; labels are refused."""
        what, within = self.what, self.promise.within
        off = f"further than {self.far} from every secret" if within else "that are no secrets themselves"
        told = []
        if self.said["radius"] is not None:
            told.append(f"the radii hold about their secret, not about the {what} itself")
        if self.promise.between is not None:
            told.append(f"the factor between {what}s does not hold")
        if what == "label" or not told:
            return []
        return [f"There may be {what}s {off}: for these {', and '.join(told)}."]

    def _of_rows(self) -> list[str]:
        """Which rows there are, and what else they have."""
        budgets, what = self.said["budgets"], self.what
        lines = []
        if budgets is not None and budgets["over_budget"] == "drop":
            but = ", but for those that were left out as they are outside." * (
                self.said["secret"]["outside"] == "drop"
            )
            lines.append(
                f"Of each person the first {self.row}s were kept, in the order of the data, as many as the budget "
                "pays for. How many that is follows from whose they are and from the ledger alone, not from any "
                f"{what}{but or '.'}"
            )
        lines.append(
            "Rows stand in the order of the data. What that order tells, as in data sorted by "
            f"{what}, is not covered."
        )
        if self.said["radius"] is not None:
            lines.append(
                "Radii and other columns that were added are functions of the report, the table and the prior: they "
                "tell no more than the report does."
            )
        lines.append(
            f"Other columns were kept as they are; the guarantee is about the {what} alone, not about what they tell."
        )
        full = GENERALIZATIONS in self.said["columns"]["made"]
        return [*lines, f"{GENERALIZATIONS} says the same in one line."] if full else lines

    def _in_a_row(self) -> str:
        """What stands in every row of what was done."""
        head, what = self.promise.table.head, self.what
        delta = f", delta {head['delta']:.6g}" if head["delta"] else ""
        per = f"per {singular(self.unit) or 'unit of distance'}"
        how = f"(dxopt, metric differential privacy, epsilon {head['epsilon']:.10g} {per}{delta})"
        if what != "position":
            many = len(head["reports"])
            return f"{what.capitalize()} replaced at random by one of {many:,} possible {what}s {how}"
        within = f"; the true position is within the uncertainty with {100 * _SHARE:.0f} %"
        return f"Coordinates moved at random{within if self.said['radius'] is not None else ''} {how}"
