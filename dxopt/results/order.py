"""Which mechanism of a comparison refines which: better or equal for every prior and loss."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Refined:
    """Whether the first of two mechanisms is at least as good as the second for every prior and loss.

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


def lines_of(refinements: Iterable[Refined]) -> list[str]:
    """Who refines whom and who does not, in up to three lines for each."""
    found = list(refinements)
    lines = []
    for better in dict.fromkeys(one.better for one in found):
        refined = [one for one in found if one.better == better and one.holds]
        worse = [one.worse for one in found if one.better == better and one.holds is False]
        unknown = [one.worse for one in found if one.better == better and one.holds is None]
        if refined:
            most = max(one.shortfall or 0.0 for one in refined)
            names = ", ".join(one.worse for one in refined)
            exact = f", up to {most:.1g} for losses from 0 to 1" if most else ""
            good = f"after the best remaps it is at least as good for every prior and every loss{exact}"
            lines.append(f"{better} refines {names}: {good}")
        if worse:
            where = "for some prior and loss, perhaps not those asked for, it is worse"
            lines.append(f"{better} does not refine {', '.join(worse)}: {where}")
        if unknown:
            lines.append(f"whether {better} refines {', '.join(unknown)} is not decided")
    if found and all(one.holds is False for one in found):
        where = "for some prior and loss, perhaps not those asked for"
        return [f"none of these refines another: of any two, each is the better one {where}"]
    return lines
