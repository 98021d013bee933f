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
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.bounds.dual import bound
from dxopt.verify.claims import STATUSES, attained
from dxopt.verify.exact import at_most
from dxopt.verify.files import FRONTIER, LEVEL, PARTS, SWEEP, number, read_json, require_format
from dxopt.verify.folder import Result, as_number
from dxopt.verify.values import AGREEMENT
from dxopt.verify.verdict import Broken, Check, Outcome, Unproved

Checks = Callable[[Path], Iterable[Check]]
Tell = Callable[[str], object]
COMPARISON = "comparison"
"""The folder among the parts of a report that has its comparison."""
_LIKE = ("space.", "report", "secrets")


@dataclass(frozen=True)
class Part:
    """The claims of a part, and what was found of them.

    Attributes
    ----------
    name : str
        parts/000 and so on.
    check : Check
        All of its checks in one.
    claims, named : mapping
        Its claims.json, and what was asked by name.
    epsilon, max_loss : float
        What was asked for; infinite where nothing was.
    value, bound : float
        Of its certificate.
    price : float
        Of its dual: what a unit of loss is worth at most in error; 0 where there is none.
    """

    name: str
    check: Check
    claims: Mapping[str, Any]
    named: Mapping[str, Any]
    epsilon: float
    max_loss: float
    value: float
    bound: float
    price: float

    @property
    def optimal(self) -> bool:
        """True if its gap is within its tolerance."""
        return self.claims.get("status") == "optimal"


def part_folders(folder: Path) -> list[Path]:
    """The parts in their order, without the comparison; Broken unless their names count them."""
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
    """Prove every part again; those that can be read at all, in their order.

    Parameters
    ----------
    folder : Path
    checks : callable
        Of a result folder.
    varied : str
        "epsilon" or "max_loss": where parts differ.
    like : Result or None
        What they are parts of, if it is a report itself; else they are to be as the first one.
    tell : callable
        Given a line of text for each.
    """
    found: list[Check] = []
    parts: list[Part] = []
    folders = part_folders(folder)
    for count, path in enumerate(folders, 1):
        name = f"{PARTS}/{path.name}"
        tell(f"{name}, {count} of {len(folders)}")
        check = in_one(name, list(checks(path)))
        try:
            result = Result.read(path)
            like = like or result
            if check.status is not Outcome.FAILS and (where := unlike(result, like, varied)):
                check = Check(name, Outcome.FAILS, f"it is about another problem: another {where}")
            parts.append(_part(name, check, result))
        except Broken as error:
            if check.status is not Outcome.FAILS:
                check = Check(name, Outcome.FAILS, str(error))
        found.append(check)
    return found, parts


def require_all(checks: Sequence[Check]) -> None:
    """Unproved unless all parts hold."""
    left = [check.name for check in checks if check.status is not Outcome.HOLDS]
    if left:
        raise Unproved(f"it agrees with its parts, but these do not hold or are not re-proved: {', '.join(left)}")


def in_one(name: str, checks: Sequence[Check]) -> Check:
    """All checks of a part as one: the worst outcome, with all that have it."""
    for wanted in (Outcome.FAILS, Outcome.NOT_REPROVED):
        some = [f"{check.name}: {check.detail}" for check in checks if check.status is wanted]
        if some:
            return Check(name, wanted, "; ".join(some))
    return Check(name, Outcome.HOLDS, f"{len(checks)} claims")


def _part(name: str, check: Check, result: Result) -> Part:
    price = number(result.dual, "price") if "guesses" in result.dual else 0.0
    return Part(
        name,
        check,
        result.claims,
        result.named,
        epsilon=result.epsilon,
        max_loss=number(result.problem, "max_loss") if "max_loss" in result.problem else np.inf,
        value=result.claimed("value"),
        bound=result.claimed("bound"),
        price=max(price, 0.0) if np.isfinite(price) else 0.0,
    )


def unlike(result: Result, other: Result, varied: str) -> str | None:
    """Return the entry in which two problems differ, apart from the varied one; None where they are the same."""
    for key in sorted({*result.named, *other.named} - {"within"}):
        if result.named.get(key) != other.named.get(key):
            return key
    arrays = [(key, result.problem, other.problem) for key in ("prior", "delta", "epsilon", "max_loss")]
    arrays.append(("adversary_loss", result.problem, other.problem))
    arrays += [
        (key, result.mechanism, other.mechanism)
        for key in sorted({*result.mechanism} & {*other.mechanism})
        if key.startswith(_LIKE)
    ]
    for key, mine, theirs in arrays:
        if key != varied and not _same(mine.get(key), theirs.get(key)):
            return key
    if result.written and other.written:
        if not _same(result.distances, other.distances):
            return "distances"
        if not _same(result.all_losses, other.all_losses):
            return "loss"
    return None


def _same(mine: NDArray[Any] | None, theirs: NDArray[Any] | None) -> bool:
    if mine is None or theirs is None:
        return mine is theirs
    return mine.dtype.kind == theirs.dtype.kind and np.array_equal(mine, theirs)


def agree(name: str, key: str, claimed: object, known: object) -> None:
    """Broken unless an entry of a file is the known one; a number is no truth value."""
    if claimed != known or isinstance(claimed, bool) != isinstance(known, bool):
        raise Broken(f"{name}: {key} is {_text(claimed)}, not {_text(known)}")


def _text(content: object) -> str:
    return f"{content:.17g}" if isinstance(content, float) else repr(content)


def agree_number(name: str, key: str, claimed: float, known: Fraction, size: Fraction) -> None:
    """Broken unless a number is the known one up to 1e-12 of a size."""
    if not math.isfinite(claimed) or abs(Fraction(claimed) - known) > AGREEMENT * size:
        raise Broken(f"{name}: {key} is {claimed:.17g}, not {float(known):.17g}")


def read_answer(folder: Path, name: str, *keys: str) -> dict[str, Any]:
    """The JSON file of an answer by parts, with these entries and no others, and a status that a run can end with."""
    content = read_json(folder, name)
    require_format(name, content)
    if {*content} != {"format", "problem", "status", *keys}:
        raise Broken(f"{name}: {', '.join(sorted({*content} ^ {'format', 'problem', 'status', *keys}))} is unknown")
    if content["status"] not in STATUSES:
        raise Broken(f"{name}: status is {content['status']!r}")
    return content


def require_parts(name: str, parts: Sequence[Part], count: int) -> None:
    """Broken unless there are as many parts as levels or budgets, and one at least."""
    if not parts or len(parts) != count:
        raise Broken(f"{name}: it is about {count} points, but there are {len(parts)} {PARTS}")


def finite(content: Mapping[str, Any], key: str, name: str) -> float:
    """A finite number of a JSON file."""
    found = as_number(content.get(key), f"{name}: {key}")
    if not math.isfinite(found):
        raise Broken(f"{name}: {key} is missing or infinite")
    return found


def finite_list(content: Mapping[str, Any], key: str, name: str) -> list[float]:
    """Finite numbers of a JSON file."""
    found = content.get(key)
    if not isinstance(found, list):
        raise Broken(f"{name}: {key} is no list")
    return [finite({key: entry}, key, f"{name}, entry {index}") for index, entry in enumerate(found)]


_OWN = ("objective", "prior", "name")


def check_optima(folder: Path, result: Result) -> str:
    """That each part is about the same problem under one member, and proves what problem.npz says of its optimum."""
    if result.priors is None or not result.priors.regret:
        raise Broken(f"there are {PARTS}, but nothing rests on them")
    [part] = result.priors.parts
    if part.members is None:
        raise Broken("problem.npz: the regret is not about a hull of priors")
    folders = part_folders(folder)
    if len(folders) != part.rows:
        raise Broken(f"there are {len(folders)} {PARTS} for {part.rows} priors")
    names = [str(name) for name in result.problem["prior_set.names"].tolist()]
    each = zip(folders, part.members, names, result.priors.lowest, result.priors.highest, strict=True)
    for path, member, name, low, high in each:
        found = Result.read(path)
        if found.objective != "expected_loss" or found.named.get("prior") != name:
            raise Broken(f"{PARTS}/{path.name}: it is not about the expected loss under {name}")
        if not found.written or not result.written:
            raise Broken(f"{PARTS}/{path.name}: its channel is not written down")
        named = {**result.named, **{key: found.named.get(key) for key in _OWN}}
        where = unlike(found, replace(result, named=named, problem={**result.problem, "prior": member}), "")
        if where:
            raise Broken(f"{PARTS}/{path.name}: it is about another problem: another {where}")
        if found.claimed("bound") != low or found.claimed("value") != high:
            raise Broken(f"{PARTS}/{path.name}: its optimum is not the one in problem.npz")
    return f"{len(folders)} optima, each proven as a part"


_FALLING = ("expected_loss", "worst_loss", "worst_expected_loss")
_ROUNDING = Fraction(1, 10**9)


def check_level(folder: Path, report: Result | None, parts: Sequence[Part]) -> str:
    """At `epsilon` the loss is possible, as the report shows, and at `below` it is not, as the part's dual proves."""
    content = read_answer(folder, LEVEL, "max_loss", "accuracy", "epsilon", "below", "resolution")
    # 1. The file agrees with the report, if a level was found, and the part, if one was refuted.
    most, accuracy, below = (finite(content, key, LEVEL) for key in ("max_loss", "accuracy", "below"))
    epsilon = as_number(content["epsilon"], f"{LEVEL}: epsilon")
    for some in (report, *parts):
        if some is not None and some.named.get("objective") not in _FALLING:
            raise Broken(f"{LEVEL}: {some.named.get('objective')} is no loss that falls as epsilon grows")
    agree(LEVEL, "epsilon", epsilon, math.inf if report is None else report.epsilon)
    # 2. The ends, and how many parts there are to be: one for the lower end, unless that is 0.
    _check_ends(content, epsilon, below, accuracy)
    if len(parts) != (below > 0):
        raise Broken(f"{LEVEL}: below is {below:.17g}, but there are {len(parts)} {PARTS}")
    # 3. At epsilon the loss of the report is small enough; at below no private channel has one, by the dual of the
    #    part.
    if report is not None:
        loss = attained(report).high
        if loss > Fraction(most):
            raise Broken(f"{LEVEL}: at epsilon {epsilon:.17g} the loss is {float(loss):.17g}, over {most:.17g}")
    if parts:
        agree(LEVEL, "below", below, parts[0].epsilon)
        refuting = Result.read(folder / parts[0].name)
        proven, _ = bound(refuting.asked, refuting.dual)
        if proven <= Fraction(most):
            raise Broken(f"{LEVEL}: at {below:.17g} no loss over {float(proven):.17g} is proven, but {most:.17g}")
    possible = f"{most:.10g} is possible at {epsilon:.10g}" if report is not None else "no level was found"
    return f"{possible}; impossible at {below:.10g}" if parts else possible


def _check_ends(content: dict[str, Any], epsilon: float, below: float, accuracy: float) -> None:
    """The order of the ends, how far they are apart, and whether that is as near as was asked for."""
    if not 0 <= below < epsilon or not 0 < accuracy < 1:
        raise Broken(f"{LEVEL}: below is {below:.17g}, epsilon {epsilon:.17g}, accuracy {accuracy:.17g}")
    status = content["status"]
    if below == 0 or math.isinf(epsilon):
        agree(LEVEL, "resolution", content.get("resolution"), None)
        if status == "optimal":
            raise Broken(f"{LEVEL}: status is optimal, but one end is missing")
        return
    ratio = Fraction(epsilon) / Fraction(below)
    claimed = finite(content, "resolution", LEVEL)
    agree_number(LEVEL, "resolution", claimed, ratio - 1, max(ratio - 1, Fraction(1)))
    # The search ends where ln(epsilon / below) ≤ accuracy, computed in doubles: both outcomes get room for that.
    reach = Fraction(accuracy) * (1 + Fraction(1, 10**6))
    slack = (reach * _ROUNDING + AGREEMENT) * (1 if status == "optimal" else -1)
    near = at_most(ratio.numerator, max(reach + slack, Fraction(0)), ratio.denominator)
    if near != (status == "optimal"):
        raise Broken(f"{LEVEL}: status is {status}, with ends {claimed:.3g} apart and an accuracy of {accuracy:.3g}")


def check_sweep(folder: Path, parts: Sequence[Part]) -> str:
    """The levels are those of the parts, the first of those asked for."""
    content = read_answer(folder, SWEEP, "asked", "epsilons")
    asked, levels = (finite_list(content, key, SWEEP) for key in ("asked", "epsilons"))
    if not asked or min(asked) <= 0 or any(below >= above for below, above in pairwise(asked)):
        raise Broken(f"{SWEEP}: asked is {asked}, which are no increasing levels")
    agree(SWEEP, "epsilons", levels, asked[: len(levels)])
    require_parts(SWEEP, parts, len(levels))
    agree(SWEEP, "epsilons", levels, [part.epsilon for part in parts])
    whole = len(parts) == len(asked) and all(part.optimal for part in parts)
    status = content["status"]
    if (status == "optimal" and not whole) or (status == "feasible" and len(parts) < len(asked)):
        raise Broken(
            f"{SWEEP}: status is {status}, with {len(parts)} of {len(asked)} levels, not all of them optimal"
        )
    return f"{len(parts)} of {len(asked)} levels"


_ALIKE = Fraction(1, 10**9)


@dataclass(frozen=True)
class _Band:
    """Widths of the band between values and bounds, between neighbours and in all.

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
    """Return what the parts of a frontier differ in: ε, or the loss budget."""
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
    """A part's proof at its budget: the value is attained, and no error is above the tangent of slope `price`."""

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
        for index, (claim, known_number) in enumerate(zip(claimed, numbers, strict=True)):
            agree(FRONTIER, f"{key} {index}", claim, known_number)


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
    """Yield whether the band is too wide between each point and the next, by more than their gaps, with room between.

    Gaps of both ends stay whatever is solved in between, and points that are nearly the same have nothing in between.
    """
    slack = _ALIKE * band.size
    scale = max(map(abs, band.points))
    for index, width in enumerate(band.widths):
        distance = band.points[index + 1] - band.points[index]
        wide = width > Fraction(wanted) * band.whole + slack
        yield wide and width > sum(band.gaps[index : index + 2]) + slack and distance > 2 * _ALIKE * scale
