"""Rows of a comparison of mechanisms: their figures, as numbers and in plain words. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from dxopt.numerics.number_syntax import at_most, digits_up, level_text, three_digits
from dxopt.results.figures.tables import cell, privacy_cell
from dxopt.spaces.units import with_unit


@dataclass(frozen=True)
class Refined:
    """Verdict whether the first of two mechanisms is at least as good as the second for every prior and loss.

    Attributes
    ----------
    better, worse : str
        Names of rows.
    holds : bool or None
        Whether it refines the other, up to 1e-8; None where that is not decided.
    shortfall : float or None
        For no prior and gain from 0 to 1 is it worse by more than that, if it refines the other; for some it is worse
        by at least that, if not. Both proven, by what decides soonest: `dx.evaluate.refines` has closer bounds.
    """

    better: str
    worse: str
    holds: bool | None = None
    shortfall: float | None = None


def describe_refinements(refinements: Iterable[Refined]) -> list[str]:
    """Describe which mechanisms refine which, in up to three lines for each; one line where none refines any."""
    found = list(refinements)
    where = "for some prior and loss, perhaps not those asked for"
    if found and all(one.holds is False for one in found):
        return [f"none of these refines another: of any two, each is the better one {where}"]
    lines = []
    for better in dict.fromkeys(one.better for one in found):
        asked = [one for one in found if one.better == better]
        refined, worse, unknown = (
            ", ".join(one.worse for one in asked if one.holds is holds) for holds in (True, False, None)
        )
        if refined:
            most = max(one.shortfall or 0.0 for one in asked if one.holds)
            exact = f", up to {digits_up(most, 1):.1g} for losses from 0 to 1" if most else ""
            good = f"after the best remaps it is at least as good for every prior and every loss{exact}"
            lines.append(f"{better} refines {refined}: {good}")
        if worse:
            lines.append(f"{better} does not refine {worse}: {where}, it is worse")
        if unknown:
            lines.append(f"whether {better} refines {unknown} is not decided")
    return lines


_ALIKE = 1e-6
"""Up to this relative difference a mechanism is told to lose as much as another."""
_SMALL = 1e-4
"""Relative differences below this are only told to be below 0.01 %."""
PROVEN = 1e-3
"""Above this gap the best mechanism that was found is not called the optimal one."""
_LEAST_GAP = 1e-5
"""Smaller gaps are told as this one."""
FIGURES: tuple[str, ...] = (
    *("epsilon", "method", "value", "bound", "gap", "excess", "remapped", "remapped_excess"),
    *("leakage", "private", "realised", "reason"),
)
"""The columns of tables of mechanisms."""
LARGE = 10.0
"""Above this relative difference percentages say little: the least loss is near 0, or another one is far off."""


@dataclass(frozen=True)
class Compared:
    """One mechanism of a comparison; the figures are None where it does not exist, and the note states why.

    Attributes
    ----------
    name : str
    value, remapped : float or None
        The value of the objective, and that once each report is replaced by the best one: at random for the worst
        loss, by a table for the expected loss; None for other objectives, and where that was too large.
    gap : float or None
        |value - bound| / max(|value|, 1e-12): how much better some private mechanism might be.
    private : bool
        Proven for the problem's ε and δ; False for a baseline that is not, and where no privacy is asked for.
    epsilon, delta : float or None
        The realised level, at most the one asked for if `private`; None where none is asked for or realised.
    leakage : float or None
        Min-entropy leakage in bits.
    note : str
        How it was found, or why it is missing.
    excess, remapped_excess : float or None
        How far value and remapped lie above the value of the first row, relative to that: of the best mechanism at
        the ε asked for, also where `epsilon` is lower.
    under : dict
        The value under each of the other priors, by name.
    baseline : bool
        Whether it is no private mechanism: `epsilon` is then measured.
    remapped_bound : float or None
        For a remap at random: none has less, proven.
    """

    name: str
    value: float | None = None
    remapped: float | None = None
    gap: float | None = None
    private: bool = False
    epsilon: float | None = None
    leakage: float | None = None
    note: str = ""
    delta: float | None = None
    excess: float | None = None
    remapped_excess: float | None = None
    under: Mapping[str, float] = field(default_factory=dict)
    baseline: bool = False
    remapped_bound: float | None = None

    @property
    def unproven(self) -> bool:
        """True for a baseline that is not private at the level asked for."""
        return self.baseline and not self.private

    @property
    def reason(self) -> str:
        """Reason why it does not exist; "" where it does."""
        return self.note if self.value is None else ""

    def figures(self, epsilon: float | None, bound: float | None, gap: float | None) -> dict[str, Any]:
        """Return the line of a table, by `FIGURES`, at the level `epsilon` asked for, with the gap to `bound`.

        The row's own ε is under `realised`. `gap` is an argument as it goes with `bound`: a sweep gives the bound of
        the optimum at its level, while the row's own `gap` is to the sharpest bound of a comparison.
        """
        level = {"epsilon": epsilon, "method": self.name, "bound": bound, "gap": gap, "realised": self.epsilon}
        return {name: level[name] if name in level else getattr(self, name) for name in FIGURES}


def describe_losses(rows: Sequence[tuple[str, float | None, float | None]], unit: str) -> list[str]:
    """Describe how much more than the first row each of the other rows loses, in a sentence for each.

    Each row is (name, expected loss, excess over the first row relative to it). Rows without a finite loss are left
    out; empty where the first has none.
    """
    first, best, _ = rows[0] if rows else ("", None, None)
    if best is None:
        return []
    told = []
    for name, value, excess in rows[1:]:
        if value is None or excess is None or not math.isfinite(value):
            continue
        loses = f"{name} loses {with_unit(three_digits(value), unit)} on average"
        alike = abs(excess) < _ALIKE
        told.append(
            f"{loses}, "
            + (f"as much as {first}" if alike else f"{_difference_text(value, best, excess)} than {first}")
        )
    return told


def _difference_text(value: float, best: float, excess: float) -> str:
    """Return how much more or less a value is than the best one: "0.12 more (+13 %)", without absurd percentages."""
    more = "more" if value > best else "less"
    if abs(excess) < _SMALL:
        return f"less than 0.01 % {more}"
    apart = f"{three_digits(abs(value - best))} {more}"
    return apart if excess > LARGE else f"{apart} ({100 * excess:+.3g} %)"


def excess_cell(excess: float | None) -> str:
    """Return a relative difference as a cell of a table, blank where there is none."""
    if excess is None or excess <= LARGE:
        return cell(excess, "+z.1%")
    return f"over +{LARGE:.0%}"


@dataclass(frozen=True)
class Regularity:
    """The verdict on the regularity of a prior, with its reason in one line."""

    status: Literal["regular", "not regular", "undecided"]
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.status}: {self.reason}"


def describe_levels(rows: Sequence[Compared], epsilon: float | None) -> list[str]:
    """Name the rows after the first that are more private than was asked: excesses do not count to their levels."""
    if epsilon is None:
        return []
    asked = level_text(epsilon)
    lower = [
        f"{row.name} ({level})"
        for row in rows[1:]
        if row.private and row.epsilon is not None and (level := level_text(row.epsilon)) != asked
    ]
    if not lower:
        return []
    counted = f"percentages count to the best mechanism at ε = {asked}; a lower ε is proven of {', '.join(lower)}"
    return [f"{counted}: compare at that one for the distance from the best there"]


def describe_verdict(verdict: Regularity) -> str:
    """Tell whether the prior is regular, which makes the tight-constraints mechanism optimal (ECP14, Thm 4)."""
    reason = verdict.reason
    if verdict.status == "undecided":
        return f"whether the prior is regular is not decided, it may lie on the border of the regular ones: {reason}"
    follows = "is the best where it exists" if verdict.status == "regular" else "need not be the best"
    return f"the prior is {verdict.status}, so the tight-constraints mechanism {follows}: {reason}"


def describe_gap(gap: float | None) -> str:
    """Describe how much better than the best mechanism found another one might be; "" where no gap is known."""
    if gap is None:
        return ""
    if gap > PROVEN:
        return f"; there may be one better than the best found by up to {at_most(100 * gap)} %"
    return f"; the optimal one is within {at_most(100 * max(gap, _LEAST_GAP))} % of it"


def table_row(row: Compared, digits: str) -> list[str]:
    """Return a mechanism as a line of the table of `Comparison`, numbers in the format `digits`."""
    return [
        row.name,
        cell(row.value, digits),
        excess_cell(row.excess),
        cell(row.remapped, digits),
        excess_cell(row.remapped_excess),
        privacy_text(row),
        cell(row.leakage, ".4f"),
    ]


def privacy_text(row: Compared) -> str:
    """Return the cell on a mechanism's privacy: proven, or for a baseline that is not private the ε measured."""
    level = privacy_cell(row.epsilon, row.delta)
    if row.private:
        return f"proven, {level}"
    return f"not private: ε {level or '∞'}" if row.baseline else "not asked"
