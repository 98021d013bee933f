"""frontier.json: what it claims between levels or loss budgets, proven again from the results at these.

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

from dxopt.verify.files import FRONTIER, read_json
from dxopt.verify.parts.reading import (
    Part,
    agree,
    agree_number,
    finite,
    finite_list,
    read_answer,
    require_parts,
)
from dxopt.verify.values import AGREEMENT
from dxopt.verify.verdict import Broken

_ALIKE = Fraction(1, 10**9)


@dataclass(frozen=True)
class _Band:
    """How far apart what is possible and what is proven are between neighbours, and in all.

    Attributes
    ----------
    points : list of Fraction
        Levels or budgets.
    widths : list of Fraction
        The widest between each of them and the next one.
    gaps : list of Fraction
        Value against bound at each of them.
    whole : Fraction
        How far the values fall or rise from the first to the last.
    size : Fraction
        Of the terms that these are differences of.
    """

    points: list[Fraction]
    widths: list[Fraction]
    gaps: list[Fraction]
    whole: Fraction
    size: Fraction


def varied_by(folder: Path) -> str:
    """What the parts of a frontier differ in: ε, or the loss budget."""
    return "max_loss" if "budgets" in read_json(folder, FRONTIER) else "epsilon"


def check_frontier(folder: Path, parts: Sequence[Part]) -> str:
    """Values, bounds and prices are those of the parts, and what follows from them is as claimed."""
    by_budget = varied_by(folder) == "max_loss"
    key = "budgets" if by_budget else "epsilons"
    further = ("prices", "breakpoints") if by_budget else ()
    asked = ("objective", "wanted", "resolution")
    content = read_answer(folder, FRONTIER, *asked, key, "values", "bounds", *further)
    # 1. Levels or budgets are those of the parts, in increasing order.
    points = finite_list(content, key, FRONTIER)
    require_parts(FRONTIER, parts, len(points))
    if len(parts) < 2:
        raise Broken(f"{FRONTIER}: there is a single part")
    agree(FRONTIER, key, points, [part.max_loss if by_budget else part.epsilon for part in parts])
    if any(below >= above for below, above in pairwise(points)):
        raise Broken(f"{FRONTIER}: {key} do not increase")
    # 2. The objective fits.
    wanted = finite(content, "wanted", FRONTIER)
    if not 0 < wanted < 1:
        raise Broken(f"{FRONTIER}: wanted is {wanted:.17g}")
    objective = parts[0].named.get("objective")
    agree(FRONTIER, "objective", content["objective"], objective)
    if (objective == "adversary_error") is not by_budget:
        raise Broken(f"{FRONTIER}: no frontier of {objective} is over {key}")
    # 3. Values, bounds and prices, the band between them, and what is claimed of its width.
    band = _by_budget(content, parts) if by_budget else _by_level(content, parts)
    _check_resolution(content, wanted, band, parts)
    return f"{len(parts)} {key}, resolution {content['resolution']:.3g}"


def _by_level(content: dict[str, Any], parts: Sequence[Part]) -> _Band:
    """The band of losses over levels: values carried on to larger levels, bounds to smaller ones."""
    values = list(accumulate((part.value for part in parts), min))
    bounds = list(accumulate((part.bound for part in reversed(parts)), max))[::-1]
    _agree_each(content, values=values, bounds=bounds)
    possible = list(map(Fraction, values))
    proven = list(map(Fraction, bounds))
    return _Band(
        points=[Fraction(part.epsilon) for part in parts],
        widths=[above - below for above, below in zip(possible, proven[1:], strict=False)],
        gaps=[above - below for above, below in zip(possible, proven, strict=True)],
        whole=possible[0] - proven[-1],
        size=max(map(abs, possible + proven)),
    )


def _by_budget(content: dict[str, Any], parts: Sequence[Part]) -> _Band:
    """The band of errors over budgets: tangents above, chords below."""
    values, bounds, prices = ([getattr(part, name) for part in parts] for name in ("value", "bound", "price"))
    _agree_each(content, values=values, bounds=bounds, prices=prices)
    corners = [_Corner(*map(Fraction, (part.max_loss, part.value, part.bound, part.price))) for part in parts]
    width = corners[-1].budget - corners[0].budget
    band = _Band(
        points=[corner.budget for corner in corners],
        widths=[_furthest(first, second) for first, second in pairwise(corners)],
        gaps=[corner.bound - corner.value for corner in corners],
        whole=corners[-1].bound - corners[0].value,
        size=max(abs(corner.value) + abs(corner.bound) + corner.price * width for corner in corners),
    )
    _check_breakpoints(content, corners, band)
    return band


@dataclass(frozen=True)
class _Corner:
    """What a part proves at its budget: the value is attained, and no error is above the tangent of slope `price`."""

    budget: Fraction
    value: Fraction
    bound: Fraction
    price: Fraction

    def tangent(self, budget: Fraction) -> Fraction:
        """An upper bound on the error at any budget."""
        return self.bound + self.price * (budget - self.budget)


def _chord(first: _Corner, second: _Corner, budget: Fraction) -> Fraction:
    """The error of a mixture of two mechanisms, at a budget between theirs."""
    share = (budget - first.budget) / (second.budget - first.budget)
    return first.value + share * (second.value - first.value)


def _furthest(first: _Corner, second: _Corner) -> Fraction:
    """The most that both tangents are above the chord: where they meet, or at an end."""
    # The least of two lines less a third is concave: it is largest where the two meet, or at an end.
    budgets = [first.budget, second.budget]
    if turn := first.price - second.price:
        meet = (second.tangent(Fraction(0)) - first.tangent(Fraction(0))) / turn
        budgets += [meet] if first.budget < meet < second.budget else []
    return max(min(first.tangent(at), second.tangent(at)) - _chord(first, second, at) for at in budgets)


def _check_breakpoints(content: dict[str, Any], corners: Sequence[_Corner], band: _Band) -> None:
    """Those and only those between straight pieces that are further above a chord than the resolution."""
    claimed = finite_list(content, "breakpoints", FRONTIER)
    allowed = Fraction(finite(content, "wanted", FRONTIER)) * band.whole
    slack = AGREEMENT * band.size
    inside = [float(corner.budget) for corner in corners[1:-1]]
    if claimed != [budget for budget in inside if budget in claimed]:
        raise Broken(f"{FRONTIER}: breakpoints {claimed} are not among the budgets between the ends, in order")
    for index, budget in enumerate(inside, 1):
        before, here, after = corners[index - 1 : index + 2]
        # A breakpoint is more than `allowed` above the chord of its neighbours, and the band is no wider than that on
        # both sides; this is by how much both hold, at the lesser one.
        straight = allowed - max(band.widths[index - 1 : index + 1])
        kinked = min(here.value - _chord(before, after, here.budget) - allowed, straight)
        if (kinked < -slack) if budget in claimed else (kinked > slack):
            raise Broken(f"{FRONTIER}: breakpoints: {budget:.17g} is {'no' if budget in claimed else 'one'} of them")


def _agree_each(content: dict[str, Any], **known: list[float]) -> None:
    """Broken unless lists of the file are the known ones, number by number."""
    for key, numbers in known.items():
        claimed = finite_list(content, key, FRONTIER)
        if len(claimed) != len(numbers):
            raise Broken(f"{FRONTIER}: there are {len(claimed)} {key} for {len(numbers)} parts")
        for index, (claim, number) in enumerate(zip(claimed, numbers, strict=True)):
            agree(FRONTIER, f"{key} {index}", claim, number)


def _check_resolution(content: dict[str, Any], wanted: float, band: _Band, parts: Sequence[Part]) -> None:
    """The widest as a share of the whole, and whether the status is that of a run that ended so."""
    # 1. The resolution, which counts as 0 where nothing falls or rises.
    claimed = finite(content, "resolution", FRONTIER)
    known = max(max(band.widths) / band.whole, Fraction(0)) if band.whole > 0 else Fraction(0)
    size = max(known, Fraction(1)) * (1 + band.size / band.whole if band.whole > 0 else 1)
    agree_number(FRONTIER, "resolution", claimed, known, size)
    # 2. A run is optimal if it reached the resolution that was asked for, or if all its parts are optimal and no
    #    point between them could make the band narrower; it is feasible if it ended, but with a part that is not
    #    optimal.
    status = content.get("status")
    reached = claimed <= wanted
    ended = reached or all(part.optimal for part in parts)
    wrong = reached and status != "optimal"
    wrong |= status == "optimal" and not (ended and (reached or not any(_improvable(band, wanted))))
    if wrong or (status == "feasible" and ended):
        raise Broken(f"{FRONTIER}: status is {status}, with a resolution of {claimed:.3g} of {wanted:.3g} asked for")


def _improvable(band: _Band, wanted: float) -> Iterator[bool]:
    """Whether the band is too wide between each point and the next, by more than their gaps, with room between.

    Gaps of both ends stay whatever is solved in between, and points that are nearly the same have nothing in between.
    """
    slack = _ALIKE * band.size
    scale = max(map(abs, band.points))
    for index, width in enumerate(band.widths):
        distance = band.points[index + 1] - band.points[index]
        wide = width > Fraction(wanted) * band.whole + slack
        yield wide and width > sum(band.gaps[index : index + 2]) + slack and distance > 2 * _ALIKE * scale
