"""The parts that an answer rests on, proven again, and what follows from them: levels, sweeps, frontiers, optima.

Between levels a < b of ε the least loss is at most the value at a, as privacy at a is privacy at b, and at least the
bound at b. Between budgets a < b the largest error is at least on the chord of the values: a mixture of both
mechanisms is as private, loses what they lose in the same shares, and leaves no less error to the adversary. It is at
most on the tangents: what a dual with the price p proves grows by p for each unit of budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.bounds.dual import bound
from dxopt.verify.claims import STATUSES, attained_value
from dxopt.verify.entries import NUMBER, NUMBER_OR_NULL, TEXT, require_types
from dxopt.verify.exact import at_most
from dxopt.verify.files import FRONTIER, LEVEL, PARTS, SWEEP, number, read_json, require_format
from dxopt.verify.folder import Result, as_number
from dxopt.verify.values import AGREEMENT
from dxopt.verify.verdict import Broken, Check, Outcome, Unproved

Checks = Callable[[Path], Iterable[Check]]
Tell = Callable[[str], object]
COMPARISON = "comparison"
"""The folder among the parts of a report that has its comparison."""
_SPACE = ("space.", "report", "secrets")


@dataclass(frozen=True)
class Part:
    """A part: all of its checks in one, its files, and the numbers of its proof."""

    check: Check
    result: Result

    @cached_property
    def max_loss(self) -> float:
        """The budget that was asked for, or infinity."""
        return number(self.result.problem, "max_loss") if "max_loss" in self.result.problem else math.inf

    @cached_property
    def value(self) -> Fraction:
        """The value, which is attained."""
        return Fraction(self.result.claimed("value"))

    @cached_property
    def bound(self) -> Fraction:
        """The bound on every private mechanism."""
        return Fraction(self.result.claimed("bound"))

    @cached_property
    def price(self) -> Fraction:
        """By how much the error grows at most with each unit of the loss budget; 0 where the dual has no price.

        Without `guesses` the bound is that of one guess, at every budget. Any price of 0 or more proves a bound, so
        that one that is negative or infinite counts as 0, as where the bound is proven.
        """
        price = number(self.result.dual, "price") if "guesses" in self.result.dual else 0.0
        return Fraction(max(price, 0.0)) if math.isfinite(price) else Fraction(0)

    @property
    def optimal(self) -> bool:
        """True if its gap is within its tolerance."""
        return self.result.claims["status"] == "optimal"

    def tangent(self, budget: Fraction) -> Fraction:
        """Return the upper bound on the adversary's error at any budget that this part's dual proves."""
        return self.bound + self.price * (budget - Fraction(self.max_loss))


def part_folders(folder: Path) -> list[Path]:
    """Return the parts in their order, without the comparison; Broken unless they are named 000, 001 and so on."""
    inside = folder / PARTS
    there = [path for path in inside.iterdir() if path.name != COMPARISON] if inside.is_dir() else []
    found = sorted(there, key=lambda path: (len(path.name), path.name))
    for index, path in enumerate(found):
        if path.name != f"{index:03}":
            raise Broken(f"there is {PARTS}/{path.name}, but no {PARTS}/{index:03}")
    return found


def read_parts(
    folder: Path, checks: Checks, varied: str, like: Result | None, tell: Tell
) -> tuple[list[Check], list[Part]]:
    """Prove every part again: return a check of each, and those that can be read at all, in their order.

    Parameters
    ----------
    folder : Path
    checks : callable
        Checks a result folder.
    varied : str
        "epsilon" or "max_loss", in which alone parts may differ. Empty where they are not compared here.
    like : Result or None
        The report that parts must be like; None compares them with the first of them.
    tell : callable
        Given a line of text for each part.
    """
    parts: list[Part] = []
    found: list[Check] = []
    folders = part_folders(folder)
    for count, path in enumerate(folders, 1):
        name = f"{PARTS}/{path.name}"
        tell(f"{name}, {count} of {len(folders)}")
        check = one_check(name, list(checks(path)))
        wrong = ""
        try:
            result = Result.read(path)
            like = like or result
            if varied and (where := differing_entry(result, like, varied=varied)):
                wrong = f"it is about another problem: another {where}"
        except Broken as error:
            wrong = str(error)
        else:
            parts.append(Part(check, result))
        found.append(Check(name, Outcome.FAILS, wrong) if wrong and check.status is not Outcome.FAILS else check)
    return found, parts


def require_all(checks: Sequence[Check]) -> None:
    """Unproved unless all parts hold, as what rests on them is proven no further than they are."""
    left = [check.name for check in checks if check.status is not Outcome.HOLDS]
    if left:
        raise Unproved(f"it agrees with its parts, but these do not hold or are not re-proved: {', '.join(left)}")


def one_check(name: str, checks: Sequence[Check]) -> Check:
    """Return all checks of a part as one: the worst outcome, with all that have it."""
    for wanted in (Outcome.FAILS, Outcome.NOT_REPROVED):
        some = [f"{check.name}: {check.detail}" for check in checks if check.status is wanted]
        if some:
            return Check(name, wanted, "; ".join(some))
    return Check(name, Outcome.HOLDS, f"{len(checks)} claims")


def differing_entry(result: Result, other: Result, *, varied: str = "", names: Sequence[str] = ()) -> str | None:
    """Return the first entry in which two problems differ, None if there is none.

    Not compared are the array `varied`, and the entries `names` of claims.json.
    """
    for key in sorted({*result.named, *other.named} - {"within", *names}):
        if result.named.get(key) != other.named.get(key):
            return key
    posed = sorted({*result.problem, *other.problem} - {"distances", "losses", "prior_set.proof", varied})
    spaces = sorted(key for key in {*result.mechanism} & {*other.mechanism} if key.startswith(_SPACE))
    compared = [(key, result.problem.get(key), other.problem.get(key)) for key in posed]
    compared += [(key, result.mechanism[key], other.mechanism[key]) for key in spaces]
    if result.written and other.written:
        compared.append(("distances", result.distances, other.distances))
        compared.append(("loss", result.all_losses, other.all_losses))
    return next((key for key, mine, theirs in compared if not _same(mine, theirs)), None)


def _same(mine: NDArray[Any] | None, theirs: NDArray[Any] | None) -> bool:
    if mine is None or theirs is None:
        return mine is theirs
    return mine.dtype.kind == theirs.dtype.kind and np.array_equal(mine, theirs)


def under_prior(result: Result, prior: NDArray[np.float64], name: str) -> Result:
    """Return a result with another prior; where there was a set of them, the objective is then the expected loss."""
    named = {**result.named, "prior": name}
    if result.objective in ("worst_expected_loss", "regret"):
        named["objective"] = "expected_loss"
    problem = {key: array for key, array in result.problem.items() if not key.startswith("prior_set")}
    return replace(result, named=named, problem={**problem, "prior": prior})


def check_optima(result: Result | None, parts: Sequence[Part]) -> str:
    """Check that each part is the problem under one prior of the set, and proves its optimum in problem.npz.

    A regret is measured against these optima.
    """
    if result is None or result.priors is None or not result.priors.regret:
        raise Broken(f"there are {PARTS}, but nothing rests on them")
    members = result.problem["prior_set.members"]
    if len(parts) != len(members):
        raise Broken(f"there are {len(parts)} {PARTS} for {len(members)} priors")
    names = [str(name) for name in result.problem["prior_set.names"].tolist()]
    each = zip(parts, members, names, result.priors.lowest, result.priors.highest, strict=True)
    for part, member, name, low, high in each:
        if not part.result.written or not result.written:
            raise Broken(f"{part.check.name}: its channel is not written down")
        if where := differing_entry(part.result, under_prior(result, member, name), names=["name"]):
            raise Broken(f"{part.check.name}: it is about another problem: another {where}")
        if (part.bound, part.value) != (low, high):
            raise Broken(f"{part.check.name}: its optimum is not the one in problem.npz")
    return f"{len(parts)} optima, each proven as a part"


def _require_equal(name: str, key: str, claimed: object, known: object) -> None:
    """Broken unless an entry of a file is the known one."""
    if claimed != known:
        raise Broken(f"{name}: {key} is {_text(claimed)}, not {_text(known)}")


def _text(content: object) -> str:
    """Return a claim as text, doubles with all their digits."""
    return f"{content:.17g}" if isinstance(content, float) else repr(content)


def _require_close(name: str, key: str, claimed: float, known: Fraction, size: Fraction) -> None:
    """Broken unless a number is the known one up to 1e-12 of a size."""
    if abs(Fraction(claimed) - known) > AGREEMENT * size:
        raise Broken(f"{name}: {key} is {claimed:.17g}, not {float(known):.17g}")


def _read_answer(folder: Path, name: str, keys: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    """Read level.json, sweep.json or frontier.json: these entries and no others, and a known status."""
    content = read_json(folder, name)
    require_format(name, content)
    require_types(name, content, {"format": (int,), "problem": TEXT, "status": TEXT, **keys})
    if content["status"] not in STATUSES:
        raise Broken(f"{name}: status is {content['status']!r}")
    return content


def _finite_number(content: Mapping[str, Any], key: str, name: str) -> float:
    """Return a finite number of a JSON file."""
    found = as_number(content[key], f"{name}: {key}")
    if not math.isfinite(found):
        raise Broken(f"{name}: {key} is infinite")
    return found


def _finite_list(content: Mapping[str, Any], key: str, name: str) -> list[float]:
    """Return finite numbers of a JSON file."""
    return [_finite_number({key: entry}, key, f"{name}, entry {index}") for index, entry in enumerate(content[key])]


def _require_parts(name: str, parts: Sequence[Part], least: int, count: int) -> None:
    """Broken unless there are as many parts as `count` levels or budgets, and at least `least`."""
    if not least <= len(parts) == count:
        raise Broken(f"{name}: it is about {count} points, but there are {len(parts)} {PARTS}")


_LIST = (list,)
_LEVEL = {
    **dict.fromkeys(("max_loss", "accuracy", "below"), NUMBER),
    **dict.fromkeys(("epsilon", "resolution"), NUMBER_OR_NULL),
}
_FALLING = ("expected_loss", "worst_loss", "worst_expected_loss")
_ROUNDING = Fraction(1, 10**9)


def check_level(folder: Path, report: Result | None, parts: Sequence[Part]) -> str:
    """Check that the loss is possible at `epsilon`, by the report, and not at `below`, by the part's dual."""
    content = _read_answer(folder, LEVEL, _LEVEL)
    # 1. The file agrees with the report, if a level was found, and the part, if one was refuted.
    most, accuracy, below = (_finite_number(content, key, LEVEL) for key in ("max_loss", "accuracy", "below"))
    epsilon = as_number(content["epsilon"], f"{LEVEL}: epsilon")
    for some in (report, *(part.result for part in parts)):
        if some is not None and some.objective not in _FALLING:
            raise Broken(f"{LEVEL}: {some.objective} is no loss that falls as epsilon grows")
    _require_equal(LEVEL, "epsilon", epsilon, math.inf if report is None else report.epsilon)
    # 2. The ends, and how many parts there are to be: one for the lower end, unless that is 0.
    _check_ends(content, epsilon, below, accuracy)
    if len(parts) != (below > 0):
        raise Broken(f"{LEVEL}: below is {below:.17g}, but there are {len(parts)} {PARTS}")
    # 3. At epsilon the loss of the report is small enough; at below no private channel has one, by the dual of the
    #    part.
    if report is not None:
        loss = attained_value(report).high
        if loss > Fraction(most):
            raise Broken(f"{LEVEL}: at epsilon {epsilon:.17g} the loss is {float(loss):.17g}, over {most:.17g}")
    for part in parts:
        _require_equal(LEVEL, "below", below, part.result.epsilon)
        proven, _ = bound(part.result.asked, part.result.dual)
        if proven <= Fraction(most):
            raise Broken(f"{LEVEL}: at {below:.17g} no loss over {float(proven):.17g} is proven, but {most:.17g}")
    possible = f"{most:.10g} is possible at {float(epsilon)!r}" if report is not None else "no level was found"
    return f"{possible}; impossible at {below:.10g}" if parts else possible


def _check_ends(content: dict[str, Any], epsilon: float, below: float, accuracy: float) -> None:
    """Check that `below` < `epsilon`, their ratio, and that the status is optimal where they are as near as asked."""
    if not 0 <= below < epsilon or not 0 < accuracy < 1:
        raise Broken(f"{LEVEL}: below is {below:.17g}, epsilon {epsilon:.17g}, accuracy {accuracy:.17g}")
    status = content["status"]
    if below == 0 or math.isinf(epsilon):
        _require_equal(LEVEL, "resolution", content["resolution"], None)
        if status == "optimal":
            raise Broken(f"{LEVEL}: status is optimal, but one end is missing")
        return
    ratio = Fraction(epsilon) / Fraction(below)
    claimed = _finite_number(content, "resolution", LEVEL)
    _require_close(LEVEL, "resolution", claimed, ratio - 1, max(ratio - 1, Fraction(1)))
    # The search ends where ln(epsilon / below) ≤ accuracy, computed in doubles: both outcomes get room for that.
    reach = Fraction(accuracy) * (1 + Fraction(1, 10**6))
    slack = (reach * _ROUNDING + AGREEMENT) * (1 if status == "optimal" else -1)
    near = at_most(ratio.numerator, max(reach + slack, Fraction(0)), ratio.denominator)
    if near != (status == "optimal"):
        raise Broken(f"{LEVEL}: status is {status}, with ends {claimed:.3g} apart and an accuracy of {accuracy:.3g}")


def check_sweep(folder: Path, parts: Sequence[Part]) -> str:
    """Check that the levels are those of the parts, in order the first of those asked for, and the status."""
    content = _read_answer(folder, SWEEP, dict.fromkeys(("asked", "epsilons"), _LIST))
    asked, levels = (_finite_list(content, key, SWEEP) for key in ("asked", "epsilons"))
    if not asked or min(asked) <= 0 or any(below >= above for below, above in pairwise(asked)):
        raise Broken(f"{SWEEP}: asked is {asked}, which are no increasing levels")
    _require_equal(SWEEP, "epsilons", levels, asked[: len(levels)])
    _require_parts(SWEEP, parts, 1, len(levels))
    _require_equal(SWEEP, "epsilons", levels, [part.result.epsilon for part in parts])
    whole = len(parts) == len(asked) and all(part.optimal for part in parts)
    status = content["status"]
    if (status == "optimal" and not whole) or (status == "feasible" and len(parts) < len(asked)):
        raise Broken(f"{SWEEP}: status is {status}, with {len(parts)} of {len(asked)} levels, not all optimal")
    return f"{len(parts)} of {len(asked)} levels"


@dataclass(frozen=True)
class _Band:
    """The band between values and bounds of a frontier, in which the optimum lies at every level or budget.

    Attributes
    ----------
    points : list of Fraction
        Levels or budgets.
    widths : list of Fraction
        The widest place of the band between each point and the next one.
    gaps : list of Fraction
        How far value and bound are apart at each point.
    whole : Fraction
        How far the values fall or rise from the first to the last.
    size : Fraction
        The size of the terms that these are differences of, for roundings.
    """

    points: list[Fraction]
    widths: list[Fraction]
    gaps: list[Fraction]
    whole: Fraction
    size: Fraction


def varied_by(folder: Path) -> str:
    """Return what the parts of a frontier differ in: ε, or the loss budget."""
    return "max_loss" if "budgets" in read_json(folder, FRONTIER) else "epsilon"


def check_frontier(folder: Path, parts: Sequence[Part]) -> str:
    """Check that values, bounds and prices are those of the parts, and what follows from them."""
    by_budget = varied_by(folder) == "max_loss"
    key = "budgets" if by_budget else "epsilons"
    lists = (key, "values", "bounds", *(("prices", "breakpoints") if by_budget else ()))
    kinds = {"objective": TEXT, "wanted": NUMBER, "resolution": NUMBER, **dict.fromkeys(lists, _LIST)}
    content = _read_answer(folder, FRONTIER, kinds)
    # 1. Levels or budgets are those of the parts, in increasing order.
    points = _finite_list(content, key, FRONTIER)
    _require_parts(FRONTIER, parts, 2, len(points))
    _require_equal(FRONTIER, key, points, [part.max_loss if by_budget else part.result.epsilon for part in parts])
    if any(below >= above for below, above in pairwise(points)):
        raise Broken(f"{FRONTIER}: {key} do not increase")
    # 2. The objective fits.
    wanted = _finite_number(content, "wanted", FRONTIER)
    if not 0 < wanted < 1:
        raise Broken(f"{FRONTIER}: wanted is {wanted:.17g}")
    objective = parts[0].result.objective
    _require_equal(FRONTIER, "objective", content["objective"], objective)
    if (objective == "adversary_error") is not by_budget:
        raise Broken(f"{FRONTIER}: no frontier of {objective} is over {key}")
    # 3. Values, bounds and prices, the band between them, and what is claimed of its width.
    exact = list(map(Fraction, points))
    band = _by_budget(content, parts, exact) if by_budget else _by_level(content, parts, exact)
    if by_budget:
        _check_breakpoints(content, parts, band, Fraction(wanted) * band.whole)
    _check_resolution(content, wanted, band, parts)
    return f"{len(parts)} {key}, resolution {content['resolution']:.3g}"


def _by_level(content: dict[str, Any], parts: Sequence[Part], levels: list[Fraction]) -> _Band:
    """Return the band of losses over levels: values carried on to larger levels, bounds to smaller ones."""
    values = list(accumulate((part.value for part in parts), min))
    bounds = list(accumulate((part.bound for part in reversed(parts)), max))[::-1]
    for key, known in (("values", values), ("bounds", bounds)):
        _require_equal(FRONTIER, key, _finite_list(content, key, FRONTIER), list(map(float, known)))
    return _Band(
        points=levels,
        widths=[above - below for above, below in zip(values, bounds[1:], strict=False)],
        gaps=[above - below for above, below in zip(values, bounds, strict=True)],
        whole=values[0] - bounds[-1],
        size=max(map(abs, values + bounds)),
    )


def _by_budget(content: dict[str, Any], parts: Sequence[Part], budgets: list[Fraction]) -> _Band:
    """Return the band of errors over budgets: tangents above, chords below."""
    values, bounds, prices = ([getattr(part, name) for part in parts] for name in ("value", "bound", "price"))
    for key, known in (("values", values), ("bounds", bounds), ("prices", prices)):
        _require_equal(FRONTIER, key, _finite_list(content, key, FRONTIER), list(map(float, known)))
    width = budgets[-1] - budgets[0]
    return _Band(
        points=budgets,
        widths=[_widest_above_chord(first, second) for first, second in pairwise(parts)],
        gaps=[above - below for above, below in zip(bounds, values, strict=True)],
        whole=bounds[-1] - values[0],
        size=max(abs(part.value) + abs(part.bound) + part.price * width for part in parts),
    )


def _on_chord(first: Part, second: Part, budget: Fraction) -> Fraction:
    """Return the error of a mixture of two mechanisms, at a budget between theirs."""
    start, end = Fraction(first.max_loss), Fraction(second.max_loss)
    return first.value + (budget - start) / (end - start) * (second.value - first.value)


def _widest_above_chord(first: Part, second: Part) -> Fraction:
    """Return the most by which the lesser tangent is above the chord between two budgets."""
    # The least of two lines less a third is concave: it is largest where the two meet, or at an end.
    start, end = budgets = [Fraction(first.max_loss), Fraction(second.max_loss)]
    if turn := first.price - second.price:
        meet = (second.tangent(Fraction(0)) - first.tangent(Fraction(0))) / turn
        budgets += [meet] if start < meet < end else []
    return max(min(first.tangent(at), second.tangent(at)) - _on_chord(first, second, at) for at in budgets)


def _check_breakpoints(content: dict[str, Any], parts: Sequence[Part], band: _Band, allowed: Fraction) -> None:
    """Check that breakpoints are the budgets between straight pieces at which errors are well above a chord.

    A height over the chord counts from `allowed` on: the resolution that was asked for, times the whole range.
    """
    claimed = _finite_list(content, "breakpoints", FRONTIER)
    slack = AGREEMENT * band.size
    inside = [float(budget) for budget in band.points[1:-1]]
    if claimed != [budget for budget in inside if budget in claimed]:
        raise Broken(f"{FRONTIER}: breakpoints {claimed} are not among the budgets between the ends, in order")
    for index, budget in enumerate(inside, 1):
        before, here, after = parts[index - 1 : index + 2]
        # A breakpoint is more than `allowed` above the chord of its neighbours, and the band is no wider than that on
        # both sides; this is by how much both hold, at the lesser one.
        straight = allowed - max(band.widths[index - 1 : index + 1])
        kinked = min(here.value - _on_chord(before, after, band.points[index]) - allowed, straight)
        if (kinked < -slack) if budget in claimed else (kinked > slack):
            raise Broken(f"{FRONTIER}: breakpoints: {budget:.17g} is {'no' if budget in claimed else 'one'} of them")


def _check_resolution(content: dict[str, Any], wanted: float, band: _Band, parts: Sequence[Part]) -> None:
    """Check the resolution, the widest place of the band as a share of the whole, and that the status fits it."""
    # 1. The resolution, which counts as 0 where nothing falls or rises.
    claimed = _finite_number(content, "resolution", FRONTIER)
    if not 0 <= claimed <= 1:
        raise Broken(f"{FRONTIER}: resolution is {claimed:.17g}, no share")
    known = max(max(band.widths) / band.whole, Fraction(0)) if band.whole > 0 else Fraction(0)
    size = max(known, Fraction(1)) * (1 + band.size / band.whole if band.whole > 0 else 1)
    _require_close(FRONTIER, "resolution", claimed, known, size)
    # 2. A run is optimal if it reached the resolution that was asked for, or if all its parts are optimal and no
    #    point between them could make the band narrower; it is feasible if it ended, but with a part that is not
    #    optimal.
    status = content["status"]
    reached = claimed <= wanted
    ended = reached or all(part.optimal for part in parts)
    wrong = reached and status != "optimal"
    wrong |= status == "optimal" and not (ended and (reached or not any(_improvable(band, wanted))))
    if wrong or (status == "feasible" and ended):
        raise Broken(f"{FRONTIER}: status is {status}, with a resolution of {claimed:.3g} of {wanted:.3g} asked for")


def _improvable(band: _Band, wanted: float) -> Iterator[bool]:
    """Yield whether the band is too wide between each point and the next, by more than their gaps, with room between.

    Gaps of both ends stay whatever is solved in between, and points that are nearly the same have nothing in between.
    """
    slack = _ROUNDING * band.size
    scale = max(map(abs, band.points))
    for index, width in enumerate(band.widths):
        distance = band.points[index + 1] - band.points[index]
        wide = width > Fraction(wanted) * band.whole + slack
        yield wide and width > sum(band.gaps[index : index + 2]) + slack and distance > 2 * _ROUNDING * scale
