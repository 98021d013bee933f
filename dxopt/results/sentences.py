"""What a result comes to, in plain words: the sentences of `dx.explain`, of reports, and of pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dxopt.numerics.digits import at_most, factor, floor_of, three_digits
from dxopt.results.amounts import amount
from dxopt.results.explained import Explained
from dxopt.results.positioned import between_places, border, by_distance, from_positions
from dxopt.results.valued import largest, never, together, within
from dxopt.spaces.units import per, with_unit

_FAR = 1e3
"""A distance that is so many times the least one is not told of."""
_CERTAIN = math.log(1e6)
"""From this exponent on, a factor leaves no doubt that is worth a figure."""
_CLOSE = 1e-5
"""Up to this gap, a value is told as the best possible without saying how close it is."""


def sentences(found: Explained) -> Iterator[tuple[str, str]]:
    """Topics and what is to be said of each, most important first."""
    yield "privacy", privacy(found)
    if found.across is not None and found.epsilon is not None:
        yield "places", between_places(found, found.across, found.epsilon)
    if found.epsilon is not None:
        yield "level", level(found)
        yield "several reports", several(found)
    if found.delta:
        yield "delta", delta(found.delta)
    if found.one_way and found.epsilon is not None:
        yield (
            "direction",
            (
                "Distances differ by direction: the odds of one secret against another rise by at most e^(ε·d), "
                "where d is the distance from the first to the second."
            ),
        )
    if found.endless and found.epsilon is not None:
        yield "not hidden", f"{found.noun.capitalize()} at infinite distance are not hidden from each other."
    if found.beliefs:
        yield "beliefs", found.beliefs
    if found.value is not None:
        yield found.title, value(found)
        if by_distance(found):
            yield "from positions", from_positions(found)
    if found.priors:
        yield (
            "priors",
            f"The loss is told for one prior of the set {found.priors}: the one under which it is largest.",
        )
    if found.next_best is not None and found.next_excess is not None:
        yield "compared", f"Of the others, {found.next_best} comes closest: {_excess(found.next_excess)}."
    if text := radius(found):
        yield "radius", text
    if found.worst_loss is not None:
        yield "worst off", worst(found)
    if found.most_off is not None:
        yield "largest error", largest(found)
    if found.all_within is not None:
        yield "several values", together(found)
    if found.prior_zero:
        yield "prior 0", unlikely(found)
    if found.never:
        yield "never reported", never(found)
    if found.places and found.across is None and found.epsilon is not None:
        yield "positions", border(found)
    if found.few:
        unknown = "" if found.worst_loss is not None else ", and who is worst off is not known"
        yield "left out", f"Too many {found.noun} to look at all of them: the radius is that of one{unknown}."


def distance(found: Explained) -> str:
    """What the factor is told of: "two positions within 1 km of each other", "two places 1 km apart"."""
    amount = three_digits(found.apart)
    if found.across is not None:
        return f"two positions within {with_unit(amount, found.unit)} of each other"
    if found.unit:
        return f"two {found.noun} {with_unit(amount, found.unit)} apart"
    return f"two {found.noun} at distance {amount}"


def privacy(found: Explained) -> str:
    """What somebody who sees a report can find out at most."""
    if found.unproven:
        return "Nothing is proven of its privacy: dx.certify proves what holds."
    if found.epsilon is None:
        promise = "for the pairs of beliefs below alone" if found.beliefs else "and none is claimed"
        return f"No privacy between single {found.noun} was asked for, {promise}."
    once = factor(found.epsilon * found.between)
    unless = " (apart from δ, see there)" if found.delta else ""
    text = f"Seeing one report, nobody can change the odds between {distance(found)} by more than a factor of {once}"
    return f"{text}{unless}."


def level(found: Explained) -> str:
    """ε as it was proven and asked for, and where odds double at most."""
    told = f"{proven_level(found)}."
    double = math.log(2) / found.epsilon if found.epsilon else math.inf
    if found.nearest is None or not found.nearest <= double <= _FAR * found.nearest:
        return told
    within = with_unit(three_digits(floor_of(double)), found.unit)
    between = "" if found.across is None else " between places"
    return f"{told} Within {'a distance of ' if not found.unit else ''}{within} the odds{between} at most double."


def proven_level(found: Explained) -> str:
    """ε as it was proven and asked for: "ε proven 1.39 per km (asked 1.39)"."""
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
    """What n reports of one person cost."""
    epsilon = found.epsilon or 0.0
    exponent = found.reports * epsilon * found.between
    also = " and n times δ" if found.delta else ""
    many = "1 report" if found.reports == 1 else f"{found.reports:,} reports"
    told = f"after {many} it is"
    if found.across is not None and found.reports > 1:
        near = with_unit(three_digits(found.apart), found.unit)
        told = (
            f"two histories of {found.reports:,} positions, each within {near} of the other's, are told apart by a "
            "factor of at most"
        )
    text = (
        f"n reports of one person cost n times ε{also}, and the factor is taken to the power n: {told} "
        f"{factor(exponent)}{_even(exponent)}. A person's own budget has to cover all of them."
    )
    if found.reports == 1 or not 0 < epsilon * found.between < _CERTAIN:
        return text
    each = f"{three_digits(floor_of(epsilon / found.reports))} {per(found.unit)}"
    return f"{text} For a factor of {factor(epsilon * found.between)} after all {found.reports:,}, take ε = {each}."


def _even(exponent: float) -> str:
    """What an even chance becomes at most, where a factor of e^exponent leaves any doubt."""
    rest = 100 / (1 + math.exp(min(exponent, _CERTAIN)))
    if exponent >= _CERTAIN:
        return ""
    if rest >= 1:
        return f" (an even chance becomes {at_most(100 - rest)} % at most)"
    digits = -math.floor(math.log10(rest))
    return f" (an even chance becomes {100 - math.floor(rest * 10**digits) / 10**digits:.{digits}f} % at most)"


def delta(share: float) -> str:
    """What δ relaxes."""
    return f"In all, a probability of δ = {at_most(share)} may fall outside of this promise, for each pair."


def value(found: Explained) -> str:
    """The value of the objective, and what none is better than."""
    worth = amount(found.value, found.value_unit)
    if found.value is None or found.bound is None:
        return f"{_is(found, worth)}."
    bound = amount(found.bound, found.value_unit)
    if not found.optimal:
        return f"{_is(found, worth)}; no mechanism with this privacy gets {_past(found, bound)}."
    gap = abs(found.value - found.bound) / max(abs(found.value), 1e-12)
    close = f", up to {at_most(100 * gap)} %" if gap > _CLOSE else ""
    return f"{_is(found, worth)}: proven to be the best possible{close}."


def _excess(share: float) -> str:
    return f"{three_digits(100 * share)} % more" if share >= _CLOSE else "as good"


def _past(found: Explained, bound: str) -> str:
    return f"above {bound}" if found.title == "adversary's error" else f"below {bound}"


def _is(found: Explained, worth: str) -> str:
    match found.title:
        case "worst loss":
            return f"Whatever the {found.noun.removesuffix('s')}, a report {loses(found, worth)}, or less"
        case "worst expected loss":
            return f"Under the worst of the priors, a report {loses(found, worth)}"
        case "worst regret":
            return f"Under none of the priors a report costs more than {worth} above the optimum for that prior"
        case "adversary's error":
            spent = "" if found.expected_loss is None else amount(found.expected_loss, found.loss_unit)
            most = "" if found.budget is None else f" (at most {amount(found.budget, found.loss_unit)} was allowed)"
            at = f", while reports cost {spent} on average{most}" if spent else ""
            return f"An adversary who knows the prior errs by {worth} on average{at}"
    between = ", from centre to centre" if found.cell is not None and found.kind in ("distance", "squared") else ""
    return f"A report {loses(found, worth)}{between}"


def loses(found: Explained, worth: str) -> str:
    """What a loss means: "is 0.84 km from the true place on average"."""
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


def _of(found: Explained, label: str | None) -> str:
    """One of the secrets: "place A"."""
    where = found.where.get(label or "", "")
    return f"{found.noun.removesuffix('s')} {label}{f' at {where}' if where else ''}"


def _truth(found: Explained) -> str:
    return "the truth" if found.noun == "secrets" else f"the true {found.noun.removesuffix('s')}"


def radius(found: Explained) -> str:
    """How far reports are from the truth, 95 % of them."""
    if found.worst_radius is None:
        return ""
    far = within(found.worst_radius, found.unit)
    if found.few:
        return f"For {_of(found, found.radius_at)}, 95 % of reports lie {far} of {_truth(found)}."
    if found.radius is None:
        return f"Whatever the {found.noun.removesuffix('s')}, 95 % of reports lie {far} of {_truth(found)}."
    text = f"95 % of reports lie {within(found.radius, found.unit)} of {_truth(found)}"
    if found.half is not None:
        close = within(found.half, found.unit)
        text += f", half of them {close}" if found.half else f"; half of the reports name {_truth(found)}"
    if found.worst_radius == found.radius:
        return f"{text}; that holds for each of the {found.noun}."
    return f"{text}; for {_of(found, found.radius_at)}, where this is worst, 95 % lie {far}."


def worst(found: Explained) -> str:
    """Who loses most."""
    worth = amount(found.worst_loss, found.loss_unit)
    whose = _of(found, found.worst_at)
    return f"{whose[:1].upper()}{whose[1:]} has the largest mean loss: a report {loses(found, worth)}."


def unlikely(found: Explained) -> str:
    """What secrets of prior 0 lose."""
    have = "has" if found.prior_zero == 1 else "have"
    text = (
        f"{found.prior_zero:,} of {found.secrets:,} {found.noun} {have} prior 0, and the mechanism owes them nothing"
    )
    if found.prior_zero_mean is None:
        return f"{text}."
    mean, most = (amount(loss, found.loss_unit) for loss in (found.prior_zero_mean, found.prior_zero_worst))
    return f"{text}: their mean loss is {mean}, the largest {most} for {_of(found, found.prior_zero_at)}."


_OF_SEVERAL = {"all_within": "all {:,} within", "total_off": "total off by at most"}
"""Columns about several published values together, where these were asked for."""


def table_of(found: Explained) -> Sequence[Sequence[str]]:
    """The table of what other ε cost, the names of its columns first; the level of the result itself has a mark."""
    unit = f" ({found.value_unit})" if found.value_unit else ""
    far = f" ({found.unit})" if found.unit else ""
    head = [f"ε {per(found.unit)}", f"factor at {_short(found)}", f"{found.title}{unit}", "no mechanism better than"]
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


def _short(found: Explained) -> str:
    """The distance of which the factor is told, for the head of a column."""
    return with_unit(three_digits(found.apart), found.unit) if found.unit else f"distance {three_digits(found.apart)}"
