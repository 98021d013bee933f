"""frontier.json: what it says between levels or loss budgets, proven again from the results at these.

Between levels a < b of ε the least loss is at most the value at a, as privacy at a is privacy at b, and at least the
bound at b. Between budgets a < b the largest error is at least on the chord of the values: a mixture of both
mechanisms is as private, loses what they lose in the same shares, and leaves no less error to the adversary. It is at
most on the tangents: what a dual with the price p proves grows by p for each unit of budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from dxopt.verify.claims import AGREEMENT
from dxopt.verify.files import FRONTIER, read_json
from dxopt.verify.folder import as_number
from dxopt.verify.parts.agreeing import (
    agree,
    agree_number,
    agree_status,
    agree_told,
    finite,
    finite_list,
    require_parts,
)
from dxopt.verify.parts.reading import Part
from dxopt.verify.verdict import Broken

_ALIKE = Fraction(1, 10**9)


@dataclass(frozen=True)
class _Band:
    """How far apart what is possible and what is proven are between neighbours, and in all.

    Attributes
    ----------
    places : levels or budgets
    widths : the widest between each of them and the next one
    gaps : value against bound at each of them
    whole : the fall or the rise
    size : of the terms that these are differences of
    """

    places: list[Fraction]
    widths: list[Fraction]
    gaps: list[Fraction]
    whole: Fraction
    size: Fraction


def varied_by(folder: Path) -> str:
    """What the parts of a frontier differ in: ε, or the loss budget."""
    return "max_loss" if "budgets" in read_json(folder, FRONTIER) else "epsilon"


def check_frontier(folder: Path, parts: Sequence[Part]) -> str:
    """Values, bounds and prices are those of the parts, and what follows from them is as claimed."""
    content = read_json(folder, FRONTIER)
    by_budget = "budgets" in content
    key = "budgets" if by_budget else "epsilons"
    places = finite_list(content, key, FRONTIER)
    require_parts(FRONTIER, parts, len(places))
    if len(parts) < 2:
        raise Broken(f"{FRONTIER}: there is a single part")
    agree(FRONTIER, key, places, [part.max_loss if by_budget else part.epsilon for part in parts])
    if any(below >= above for below, above in pairwise(places)):
        raise Broken(f"{FRONTIER}: {key} do not increase")
    wanted = finite(content, "wanted", FRONTIER)
    if not 0 < wanted < 1:
        raise Broken(f"{FRONTIER}: wanted is {wanted:.17g}")
    asked: dict[str, Any] = {"from": places[0], "to": places[-1], "resolution": wanted}
    if by_budget:
        asked = {"kind": parts[0].summary.get("objective"), "max_loss": asked}
        agree(FRONTIER, "epsilon", as_number(content.get("epsilon"), FRONTIER), parts[0].epsilon)
    if (parts[0].summary.get("objective") == "adversary_error") is not by_budget:
        raise Broken(f"{FRONTIER}: no frontier of {parts[0].summary.get('objective')} is over {key}")
    agree_told(FRONTIER, content, folder, parts, "objective" if by_budget else "epsilon", asked)
    band = _by_budget(content, parts) if by_budget else _by_level(content, parts)
    _check_resolution(content, wanted, band, parts)
    return f"{len(parts)} {key}, resolution {content['resolution']:.3g}"


def _by_level(content: dict[str, Any], parts: Sequence[Part]) -> _Band:
    values = list(accumulate((part.value for part in parts), min))
    bounds = list(accumulate((part.bound for part in reversed(parts)), max))[::-1]
    _agree_each(content, values=values, bounds=bounds)
    possible, proven = list(map(Fraction, values)), list(map(Fraction, bounds))
    return _Band(
        places=[Fraction(part.epsilon) for part in parts],
        widths=[above - below for above, below in zip(possible, proven[1:], strict=False)],
        gaps=[above - below for above, below in zip(possible, proven, strict=True)],
        whole=possible[0] - proven[-1],
        size=max(map(abs, possible + proven)),
    )


def _by_budget(content: dict[str, Any], parts: Sequence[Part]) -> _Band:
    values, bounds, prices = ([getattr(part, name) for part in parts] for name in ("value", "bound", "price"))
    _agree_each(content, values=values, bounds=bounds, prices=prices)
    corners = [_Corner(*map(Fraction, (part.max_loss, part.value, part.bound, part.price))) for part in parts]
    width = corners[-1].budget - corners[0].budget
    band = _Band(
        places=[corner.budget for corner in corners],
        widths=[_furthest(first, second) for first, second in pairwise(corners)],
        gaps=[corner.bound - corner.value for corner in corners],
        whole=corners[-1].bound - corners[0].value,
        size=max(abs(corner.value) + abs(corner.bound) + corner.price * width for corner in corners),
    )
    _check_breakpoints(content, corners, band)
    return band


@dataclass(frozen=True)
class _Corner:
    budget: Fraction
    value: Fraction
    bound: Fraction
    price: Fraction

    def tangent(self, budget: Fraction) -> Fraction:
        return self.bound + self.price * (budget - self.budget)


def _chord(first: _Corner, second: _Corner, budget: Fraction) -> Fraction:
    share = (budget - first.budget) / (second.budget - first.budget)
    return first.value + share * (second.value - first.value)


def _furthest(first: _Corner, second: _Corner) -> Fraction:
    """The most that both tangents are above the chord: where they meet, or at an end."""
    places = [first.budget, second.budget]
    if turn := first.price - second.price:
        meet = (second.tangent(Fraction(0)) - first.tangent(Fraction(0))) / turn
        places += [meet] if first.budget < meet < second.budget else []
    return max(min(first.tangent(place), second.tangent(place)) - _chord(first, second, place) for place in places)


def _check_breakpoints(content: dict[str, Any], corners: Sequence[_Corner], band: _Band) -> None:
    """Those and only those between straight pieces that are further above a chord than the resolution."""
    claimed = finite_list(content, "breakpoints", FRONTIER)
    allowed = Fraction(finite(content, "wanted", FRONTIER)) * band.whole
    slack = AGREEMENT * band.size
    inside = [float(corner.budget) for corner in corners[1:-1]]
    if claimed != [budget for budget in inside if budget in claimed]:
        raise Broken(f"{FRONTIER}: breakpoints {claimed} are not among the budgets between the ends, in order")
    for place, budget in enumerate(inside, 1):
        before, here, after = corners[place - 1 : place + 2]
        straight = allowed - max(band.widths[place - 1 : place + 1])
        kinked = min(here.value - _chord(before, after, here.budget) - allowed, straight)
        if (kinked < -slack) if budget in claimed else (kinked > slack):
            raise Broken(f"{FRONTIER}: breakpoints: {budget:.17g} is {'no' if budget in claimed else 'one'} of them")


def _agree_each(content: dict[str, Any], **known: list[float]) -> None:
    for key, numbers in known.items():
        said = finite_list(content, key, FRONTIER)
        if len(said) != len(numbers):
            raise Broken(f"{FRONTIER}: there are {len(said)} {key} for {len(numbers)} parts")
        for place, pair in enumerate(zip(said, numbers, strict=True)):
            agree(FRONTIER, f"{key} {place}", *pair)


def _check_resolution(content: dict[str, Any], wanted: float, band: _Band, parts: Sequence[Part]) -> None:
    """The widest as a share of the whole, and whether the status is that of a run that ended so."""
    claimed = finite(content, "resolution", FRONTIER)
    known = max(max(band.widths) / band.whole, Fraction(0)) if band.whole > 0 else Fraction(0)
    size = max(known, Fraction(1)) * (1 + band.size / band.whole if band.whole > 0 else 1)
    agree_number(FRONTIER, "resolution", claimed, known, size)
    status, reached = content.get("status"), claimed <= wanted
    agree_status(FRONTIER, status)
    ended = reached or all(part.optimal for part in parts)
    wrong = reached and status != "optimal"
    wrong |= status == "optimal" and not (ended and (reached or not any(_left(band, wanted))))
    if wrong or (status == "feasible" and ended):
        raise Broken(f"{FRONTIER}: status is {status}, with a resolution of {claimed:.3g} of {wanted:.3g} asked for")


def _left(band: _Band, wanted: float) -> Iterator[bool]:
    """Whether more than gaps is left between each place and the next one, where these are not next to the same."""
    slack, scale = _ALIKE * band.size, max(map(abs, band.places))
    for place, width in enumerate(band.widths):
        apart = band.places[place + 1] - band.places[place]
        wide = width > Fraction(wanted) * band.whole + slack
        yield wide and width > sum(band.gaps[place : place + 2]) + slack and apart > 2 * _ALIKE * scale
