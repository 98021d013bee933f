"""Sentences on the promises and costs of a result: for `dx.explain`, for reports, and for pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dxopt.numerics.number_syntax import at_most, factor, floor_of, three_digits
from dxopt.spaces.units import per, with_unit
from dxopt.words.explained import Explained
from dxopt.words.phrases import (
    amount,
    amount_at_most,
    counted,
    histories,
    listed,
    one_report,
    share,
    singular_of,
    two_positions,
    within,
)

_FAR = 1e3
"""A distance that is so many times the least one is left out."""
_CERTAIN = math.log(1e6)
"""From this exponent on, a factor leaves no doubt that is worth a figure."""
_CLOSE = 1e-5
"""Up to this gap, a value is the best possible without saying how close it is."""


def sentences(found: Explained) -> Iterator[tuple[str, str]]:
    """Yield topics and what is to be said of each, most important first."""
    private = found.epsilon is not None
    yield "privacy", privacy(found)
    if private:
        if found.across is not None:
            yield "places", between_places(found, found.across)
        yield "level", level(found)
        yield "several reports", several(found)
    if found.delta:
        most = at_most(found.delta)
        yield "delta", f"In all, a probability of δ = {most} may fall outside of this promise, for each pair."
    if found.one_way and private:
        yield (
            "direction",
            "Distances differ by direction: the odds of one secret against another rise by at most e^(ε·d), where d "
            "is the distance from the first to the second.",
        )
    if found.endless and private:
        yield "not hidden", f"{found.noun.capitalize()} at infinite distance are not hidden from each other."
    if found.beliefs:
        yield "beliefs", found.beliefs
    if found.value is not None:
        yield found.title, value(found)
        if _by_distance(found):
            yield "from positions", from_positions(found)
    if found.priors:
        yield "priors", f"The loss is for one prior of the set {found.priors}: the one under which it is largest."
    if found.next_best is not None and found.next_excess is not None:
        close = found.next_excess < _CLOSE
        more = "as good" if close else f"{three_digits(100 * found.next_excess)} % more"
        yield "compared", f"Of the others, {found.next_best} comes closest: {more}."
    if found.worst_radius is not None:
        yield "radius", radius(found, found.worst_radius)
    if found.worst_loss is not None:
        lost = loses(found, amount(found.worst_loss, found.loss_unit))
        who = _named(found, found.worst_at)
        yield "worst off", f"{who[:1].upper()}{who[1:]} has the largest mean loss: a report {lost}."
    if found.most_off is not None:
        yield "largest error", largest_error(found, found.most_off)
    if found.all_within is not None:
        yield "several values", together(found, found.all_within)
    if found.prior_zero:
        yield "prior 0", unlikely(found)
    if found.never:
        yield "never reported", never(found, found.never)
    if found.places and found.across is None and private:
        yield "positions", border(found)
    if found.few:
        unknown = "" if found.worst_loss is not None else ", and who is worst off is not known"
        yield "left out", f"Too many {found.noun} to look at all of them: the radius is that of one{unknown}."


def pair(found: Explained) -> str:
    """Return the two secrets or positions that the factor is about."""
    if found.across is not None:
        return two_positions(found.apart, found.unit)
    apart = three_digits(found.apart)
    if found.unit:
        return f"two {found.noun} {with_unit(apart, found.unit)} apart"
    return f"two {found.noun} at distance {apart}"


def privacy(found: Explained) -> str:
    """Return what somebody who sees a report can find out at most."""
    if found.unproven:
        return "Nothing is proven of its privacy: dx.certify proves what holds."
    if found.epsilon is None:
        promise = "for the pairs of beliefs below alone" if found.beliefs else "and none is claimed"
        return f"No privacy between single {found.noun} was asked for, {promise}."
    unless = " (apart from δ, see there)" if found.delta else ""
    return f"{one_report(found.epsilon * found.between, pair(found), unless)}."


def level(found: Explained) -> str:
    """Return ε as it was proven and asked for, and where odds double at most."""
    text = f"{proven_level(found)}."
    double = math.log(2) / found.epsilon if found.epsilon else math.inf
    if found.nearest is None or not found.nearest <= double <= _FAR * found.nearest:
        return text
    near = with_unit(three_digits(floor_of(double)), found.unit)
    between = "" if found.across is None else " between places"
    return f"{text} Within {'' if found.unit else 'a distance of '}{near} the odds{between} at most double."


def proven_level(found: Explained) -> str:
    """Return ε as it was proven and asked for: "ε proven 1.39 per km (asked 1.39)"."""
    where = per(found.unit)
    if found.epsilon is None or not found.proven:
        return f"ε asked {three_digits(found.asked or 0.0)} {where}, nothing proven yet"
    if found.asked is None:
        return f"ε proven {at_most(found.epsilon)} {where}"
    # what was asked for is written as it was given, also where it was proven
    alike = at_most(found.epsilon) == at_most(found.asked)
    proven = three_digits(found.asked) if alike else at_most(found.epsilon)
    return f"ε proven {proven} {where} (asked {three_digits(found.asked)})"


def several(found: Explained) -> str:
    """Return what n reports of one person cost."""
    epsilon = found.epsilon or 0.0
    once, all_of_them = epsilon * found.between, found.reports * epsilon * found.between
    also = " and n times δ" if found.delta else ""
    told = f"after {counted(found.reports, 'reports')} it is"
    if found.across is not None and found.reports > 1:
        positions = f"{found.reports:,} positions"
        told = f"{histories(positions, found.apart, found.unit)} are told apart by a factor of at most"
    text = (
        f"n reports of one person cost n times ε{also}, and the factor is taken to the power n: {told} "
        f"{factor(all_of_them)}{_even(all_of_them)}. A person's own budget has to cover all of them."
    )
    if found.reports == 1 or not 0 < once < _CERTAIN:
        return text
    each = f"{three_digits(floor_of(epsilon / found.reports))} {per(found.unit)}"
    return f"{text} For a factor of {factor(once)} after all {found.reports:,}, take ε = {each}."


def _even(exponent: float) -> str:
    """Return what an even chance becomes at most, where a factor of e^exponent leaves any doubt."""
    if exponent >= _CERTAIN:
        return ""
    rest = 100 / (1 + math.exp(exponent))
    most = at_most(100 - rest)
    if rest < 1:
        digits = -math.floor(math.log10(rest))
        most = f"{100 - math.floor(rest * 10**digits) / 10**digits:.{digits}f}"
    return f" (an even chance becomes {most} % at most)"


def between_places(found: Explained, across: float) -> str:
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


def border(found: Explained) -> str:
    """Return what the promise means for positions where it is not known how far they are from their places."""
    text = (
        "Positions are first moved to their place. Within one place nothing can be told apart; two positions on both"
    )
    if found.nearest is None:
        return f"{text} sides of a border are as far apart as their places."
    near = with_unit(three_digits(found.nearest), found.unit)
    return f"{text} sides of a border, however close, are as far apart as their places, {near} or more."


def value(found: Explained) -> str:
    """Return the value of the objective, and what none is better than."""
    text = _is(found, amount(found.value, found.value_unit))
    if found.value is None or found.bound is None:
        return f"{text}."
    if not found.optimal:
        past = "above" if found.title == "adversary's error" else "below"
        return f"{text}; no mechanism with this privacy gets {past} {amount(found.bound, found.value_unit)}."
    gap = abs(found.value - found.bound) / max(abs(found.value), 1e-12)
    close = f", up to {at_most(100 * gap)} %" if gap > _CLOSE else ""
    return f"{text}: proven to be the best possible{close}."


def _is(found: Explained, worth: str) -> str:
    match found.title:
        case "worst loss":
            return f"Whatever the {singular_of(found.noun)}, a report {loses(found, worth)}, or less"
        case "worst expected loss":
            return f"Under the worst of the priors, a report {loses(found, worth)}"
        case "worst regret":
            return f"Under none of the priors a report costs more than {worth} above the optimum for that prior"
        case "adversary's error":
            text = f"An adversary who knows the prior errs by {worth} on average"
            if found.expected_loss is None:
                return text
            most = "" if found.budget is None else f" (at most {amount(found.budget, found.loss_unit)} was allowed)"
            return f"{text}, while reports cost {amount(found.expected_loss, found.loss_unit)} on average{most}"
    between = ", from centre to centre" if found.cell is not None and found.kind in ("distance", "squared") else ""
    return f"A report {loses(found, worth)}{between}"


def loses(found: Explained, worth: str) -> str:
    """Return what a loss means: "is 0.84 km from the true place on average"."""
    if worth == three_digits(math.inf):
        return "costs infinitely much on average"
    match found.kind if found.title != "adversary's error" else "":
        case "distance":
            return f"is {worth} from {_truth(found)} on average"
        case "squared":
            return f"has a squared distance of {worth} from {_truth(found)} on average"
        case "binary":
            return f"does not name {_truth(found)} with probability {worth}"
    return f"costs {worth} on average"


def _named(found: Explained, label: str | None) -> str:
    """Return one of the secrets: "place A"."""
    where = found.where.get(label or "", "")
    return f"{singular_of(found.noun)} {label}{f' at {where}' if where else ''}"


def _truth(found: Explained) -> str:
    return "the truth" if found.noun == "secrets" else f"the true {singular_of(found.noun)}"


def _by_distance(found: Explained) -> bool:
    """Return True if the value is a mean distance between the centres of cells."""
    known = found.cell is not None and found.mean_way is not None and math.isfinite(found.value or 0.0)
    return known and found.title == "expected loss" and found.kind == "distance"


def from_positions(found: Explained) -> str:
    """Return what positions lose, whose way to the centre of their cell is not in the value."""
    ways = found.mean_way or 0.0, found.cell or 0.0
    mean, most = (amount_at_most(way, found.unit) for way in ways)
    usual, furthest = (amount_at_most((found.value or 0.0) + way, found.value_unit) for way in ways)
    return (
        f"The way from a position to the centre of its place comes on top: {mean} on average where positions lie "
        f"evenly over their places, {most} at most. So a report is at most {usual} from the position on average "
        f"in the first case, {furthest} in any."
    )


def radius(found: Explained, worst: float) -> str:
    """Return how far reports are from the truth, 95 % of them."""
    truth, far = _truth(found), within(worst, found.unit)
    if found.few:
        return f"For {_named(found, found.radius_at)}, 95 % of reports lie {far} of {truth}."
    if found.radius is None:
        return f"Whatever the {singular_of(found.noun)}, 95 % of reports lie {far} of {truth}."
    text = f"95 % of reports lie {within(found.radius, found.unit)} of {truth}"
    if found.half is not None:
        close = within(found.half, found.unit)
        text += f", half of them {close}" if found.half else f"; half of the reports name {truth}"
    if found.worst_radius == found.radius:
        return f"{text}; that holds for each of the {found.noun}."
    return f"{text}; for {_named(found, found.radius_at)}, where this is worst, 95 % lie {far}."


def largest_error(found: Explained, most_off: float) -> str:
    """Return how far off a single report may be."""
    most, chance = amount(most_off, found.unit), share(found.most_off_chance or 0.0)
    ever = f"whatever the {singular_of(found.noun)}"
    if not found.rare_chance or found.rare is None:
        return f"No report is more than {most} off; so far off are at most {chance}, {ever}."
    return (
        f"More than {amount(found.rare, found.unit)} off are at most {share(found.rare_chance)}, {ever}; {most} off, "
        f"the most that is possible, at most {chance}."
    )


def together(found: Explained, all_within: float) -> str:
    """Return how far off several published values are, all of them and their total."""
    text = (
        f"{found.values:,} published {found.noun}, each drawn by itself, all lie {within(all_within, found.unit)} of "
        f"the true {found.noun} with at least 95 %."
    )
    if found.total_off is not None:
        usual = ""
        if found.total_off_prior is not None:
            mean = amount_at_most(found.total_off_prior, found.unit)
            usual = f"{mean} if they are as likely as the prior says, each by itself, and at most "
        most = amount_at_most(found.total_off, found.unit)
        text += f" On average their total is off by at most {usual}{most} whatever they are."
    return f"{text} A person costs ε once for each of these {found.noun} that counts that person."


def unlikely(found: Explained) -> str:
    """Return what secrets of prior 0 lose."""
    have = "has" if found.prior_zero == 1 else "have"
    text = (
        f"{found.prior_zero:,} of {found.secrets:,} {found.noun} {have} prior 0, and the mechanism owes them nothing"
    )
    if found.prior_zero_mean is None:
        return f"{text}."
    mean, most = (amount(loss, found.loss_unit) for loss in (found.prior_zero_mean, found.prior_zero_worst))
    return f"{text}: their mean loss is {mean}, the largest {most} for {_named(found, found.prior_zero_at)}."


def never(found: Explained, count: int) -> str:
    """Return which outputs never come out, and what that means for the ends of a line."""
    named = listed(found.never_labels, len(found.never_labels), total=count)
    hardly = f", {found.hardly:,} of them with a probability below one in a million" if found.hardly else ""
    practically = "practically " if found.hardly else ""
    ends = [
        f"{end[0]} is {practically}always reported as {end[1]} or {which}"
        for end, which in ((found.lowest, "more"), (found.highest, "less"))
        if end is not None
    ]
    so = f" So {', and '.join(ends)}." if ends else ""
    comes = "comes" if count == 1 else "come"
    return f"{count:,} of {found.outputs:,} outputs {practically}never {comes} out{hardly}: {named}.{so}"


_OF_SEVERAL = {"all_within": "all {:,} within", "total_off": "total off by at most"}
"""Columns about several published values together, where these were asked for."""


def table_of(found: Explained) -> Sequence[Sequence[str]]:
    """Return the table of what other ε cost, the names of its columns first; the level of the result has a mark."""
    unit = f" ({found.value_unit})" if found.value_unit else ""
    far = f" ({found.unit})" if found.unit else ""
    apart = three_digits(found.apart)
    at = with_unit(apart, found.unit) if found.unit else f"distance {apart}"
    head = [f"ε {per(found.unit)}", f"factor at {at}", f"{found.title}{unit}", "no mechanism better than"]
    head += [
        f"largest mean loss ({found.loss_unit})" if found.loss_unit else "largest mean loss",
        f"95 % within{far}",
    ]
    several = [name for name in _OF_SEVERAL if any(getattr(one, name) is not None for one in found.choices)]
    head += [f"{_OF_SEVERAL[name].format(found.values)}{far}" for name in several]
    rows = []
    for choice in found.choices:
        mark = " *" if found.asked is not None and math.isclose(choice.epsilon, found.asked) else ""
        numbers = (choice.value, choice.bound, choice.worst_loss, choice.radius)
        told = ["" if number is None else three_digits(number) for number in numbers]
        at_once = [getattr(choice, name) for name in several]
        told += ["" if number is None else at_most(number) for number in at_once]
        rows.append(
            [f"{three_digits(choice.epsilon)}{mark}", factor(choice.epsilon * found.between).split(" ")[0], *told]
        )
    return [head, *rows]
