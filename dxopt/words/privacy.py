"""Sentences on what is promised: between which secrets, at which level, after one report and after several."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dxopt.numerics.number_syntax import at_most, factor, floor_of, level_text, three_digits
from dxopt.spaces.units import per, with_unit
from dxopt.words.phrases import amount_at_most, counted, histories, one_report, two_positions, two_secrets

_FAR = 1e3
"""A distance that is so many times the least one is left out."""
_LISTED = 6
"""More levels than these are told by the first and the last."""
_CERTAIN = math.log(1e6)
"""From this exponent on, a factor leaves no doubt that is worth a figure."""


@dataclass(frozen=True, kw_only=True)
class Promise:
    """Level of privacy of secrets, the distances it is told at, and the number of reports.

    Attributes
    ----------
    noun : str
        What secrets are called: places, values or secrets.
    unit : str
        Of distances; "" where it is not known.
    epsilon, delta : float or None, float
        Proven, or asked for where nothing is proven yet; None without privacy.
    asked : float or None
    proven, unproven : bool
        The second for a mechanism of whose privacy nothing is known.
    beliefs : str
        What is proven of pairs of beliefs; "" where there are none.
    apart : float
        The distance of a factor: the radius that was asked for, else 1, or a typical distance where 1 is none.
    across : float or None
        Largest distance of the places of two positions at `apart`, where places are cells on the Earth; else None.
    for_positions : bool
        Whether the level was asked for between positions.
    nearest : float or None
        How far the two secrets are apart that are closest, where that is known.
    cell : float or None
        Where places stand for areas: how far a position is from its place at most.
    reports : int
        Number of reports of one person that are told of together.
    """

    noun: str
    unit: str
    epsilon: float | None
    delta: float
    asked: float | None
    proven: bool
    unproven: bool = False
    beliefs: str = ""
    apart: float
    across: float | None = None
    for_positions: bool = False
    nearest: float | None
    cell: float | None = None
    reports: int = 10

    @property
    def between(self) -> float:
        """The distance between secrets at which factors are given: `across` where it is known, else `apart`."""
        return self.apart if self.across is None else self.across

    @property
    def proven_levels(self) -> tuple[float, ...]:
        """Levels that are proven of the same problem where the one asked for is not, increasing."""
        return ()


def exponential(exponent: float) -> float:
    """Return e^exponent; above an exponent of 700 e^700, as the result must be a finite double."""
    return math.exp(min(exponent, 700.0))


def pair(found: Promise) -> str:
    """Return words for the two secrets or positions that factors are about: "two places 1 km apart"."""
    if found.across is not None:
        return two_positions(found.apart, found.unit)
    return two_secrets(found.noun, found.apart, found.unit)


def privacy_sentence(found: Promise) -> str:
    """Return the sentence on what somebody who sees one report can find out at most."""
    if found.unproven:
        return "Nothing is proven of its privacy: dx.certify proves what holds."
    if found.epsilon is None:
        promise = "for the pairs of beliefs below alone" if found.beliefs else "and none is claimed"
        return f"No privacy between single {found.noun} was asked for, {promise}."
    unless = " (apart from δ, see there)" if found.delta else ""
    return f"{one_report(found.epsilon * found.between, pair(found), unless)}."


def level_sentence(found: Promise) -> str:
    """Return ε as it was proven and asked for, and the distance within which the odds at most double.

    That distance is left out where it is below that of the two closest secrets, or over 1,000 times that.
    """
    text = f"{proven_level(found)}."
    double = math.log(2) / found.epsilon if found.epsilon else math.inf
    if found.nearest is None or not found.nearest <= double <= _FAR * found.nearest:
        return text
    near = with_unit(three_digits(floor_of(double)), found.unit)
    between = "" if found.across is None else " between places"
    return f"{text} Within {'' if found.unit else 'a distance of '}{near} the odds{between} at most double."


def proven_level(found: Promise) -> str:
    """Return ε as it was proven and asked for: "ε proven 1.39 per km (asked 1.39)"."""
    where = per(found.unit)
    if found.epsilon is None or not found.proven:
        return f"ε asked {level_text(found.asked or 0.0)} {where}, {_proven_of_others(found.proven_levels)}"
    asked = "" if found.asked is None else f" (asked {level_text(found.asked)})"
    return f"ε proven {level_text(found.epsilon)} {where}{asked}"


def _proven_of_others(levels: tuple[float, ...]) -> str:
    """Return at which levels a problem is proven, where its own is not: "proven at 3 levels: 0.5, 1, 2"."""
    if not levels:
        return "nothing proven yet"
    some = ", ".join(map(level_text, levels))
    if len(levels) > _LISTED:
        some = f"from {level_text(levels[0])} to {level_text(levels[-1])}"
    return f"proven at {counted(len(levels), 'levels')}: {some}"


def several_reports(found: Promise, *, advice: bool = True) -> str:
    """Return what n reports of one person cost, and with `advice` the ε at which all n keep to the factor of one."""
    epsilon = found.epsilon or 0.0
    once, all_of_them = epsilon * found.between, found.reports * epsilon * found.between
    also = " and n times δ" if found.delta else ""
    told = f"after {counted(found.reports, 'reports')} it is"
    if found.across is not None and found.reports > 1:
        positions = f"{found.reports:,} positions"
        told = f"{histories(positions, found.apart, found.unit)} are told apart by a factor of at most"
    text = (
        f"n reports of one person cost n times ε{also}, and the factor is taken to the power n: {told} "
        f"{factor(all_of_them)}{_even_chance(all_of_them)}. A person's own budget has to cover all of them."
    )
    if found.reports == 1 or not 0 < once < _CERTAIN or not advice:
        return text
    each = f"{three_digits(floor_of(epsilon / found.reports))} {per(found.unit)}"
    return f"{text} For a factor of {factor(once)} after all {found.reports:,}, take ε = {each}."


def _even_chance(exponent: float) -> str:
    """Return what a probability of 50 % becomes at most by a factor of e^exponent; "" above a factor of 1e6."""
    if exponent >= _CERTAIN:
        return ""
    rest = 100 / (1 + math.exp(exponent))
    most = at_most(100 - rest)
    if rest < 1:  # 99.98 and not 100: as many nines as there are, rounded up behind them
        digits = -math.floor(math.log10(rest))
        most = f"{100 - math.floor(rest * 10**digits) / 10**digits:.{digits}f}"
    return f" (an even chance becomes {most} % at most)"


def between_places(found: Promise, across: float) -> str:
    """Return what is promised between the centres of cells, and why that is less between positions."""
    epsilon = found.epsilon or 0.0
    near, promised = with_unit(three_digits(found.apart), found.unit), factor(epsilon * found.apart)
    text = (
        f"Positions are first moved to the centre of their cell, and between two such places {near} apart the factor "
        f"is {promised}. Within one cell nothing can be told apart, but two positions {near} apart may lie in "
        f"different ones, whose centres are at most {amount_at_most(across, found.unit)} apart"
    )
    less = epsilon * found.apart / across
    if not found.for_positions and across > found.apart and less > 0:
        lower = f"{three_digits(floor_of(less))} {per(found.unit)}"
        text += f"; for a factor of {promised} between positions as well, take ε = {lower}"
    if found.cell is None:
        return f"{text}."
    return f"{text}. This holds inside the grid. Positions outside, moved to the nearest cell, have no promise."


def across_borders(found: Promise) -> str:
    """Return what is promised between positions where the extent of places is unknown: less across a border."""
    text = (
        "Positions are first moved to their place. Within one place nothing can be told apart; two positions on both"
    )
    if found.nearest is None:
        return f"{text} sides of a border are as far apart as their places."
    near = with_unit(three_digits(found.nearest), found.unit)
    return f"{text} sides of a border, however close, are as far apart as their places, {near} or more."
