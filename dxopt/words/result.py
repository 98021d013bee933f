"""Promises and costs of a result, as numbers and in sentences: for `dx.explain`, for reports, and for pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dxopt.analysis.radii import several as radii_of_several
from dxopt.errors import one_line
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior
from dxopt.numerics.number_syntax import at_most, factor, level_text, three_digits
from dxopt.proofs.certify import LEAST_VALUE
from dxopt.runtime.display import Shown, as_html, as_html_table
from dxopt.spaces.geo.reach import across
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.units import per, with_unit
from dxopt.words.data_page import DataPage
from dxopt.words.phrases import (
    aligned,
    amount,
    amount_at_most,
    held_by,
    listed,
    replaced_text,
    share,
    singular_of,
    within,
)
from dxopt.words.privacy import (
    Promise,
    across_borders,
    between_places,
    exponential,
    level_sentence,
    privacy_sentence,
    proven_level,
    several_reports,
)

_CLOSE = 1e-5
"""Up to this gap, a value is the best possible without saying how close it is."""


_COSTS = ("value", "bound", "worst_loss", "radius", "all_within", "total_off")
"""Names of the costs of one ε beside those of others."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Explanation(Shown, Promise):
    """Promises and costs of a report, a mechanism or a problem: `str` has them in plain words.

    What is promised is that of `Promise`.

    Attributes
    ----------
    problem : str
        Its name.
    secrets : int
    values : int or None
        Number of published values that are told of together.
    all_within, total_off, total_off_prior : float or None
        The distance within which all of them are with a probability of at least 95 %, and the largest mean error of
        their total, whatever they are, and if they are drawn from the prior; None where unknown.
    one_way, endless : bool
        Whether distances have a direction, and whether some are infinite, across which nothing is hidden.
    title, kind, value_unit, loss_unit : str
        The objective, the loss by its name, and the units of `value` and of losses.
    value, bound : float or None
        The proven value, and a bound on every mechanism; None before a problem is solved.
    optimal : bool
    budget, expected_loss : float or None
        The largest expected loss allowed, and that under the prior where `value` is something else.
    worst_loss, worst_at : float and str, or None
        The largest expected loss of a secret, perhaps infinite, and which secret that is.
    radius, half : float or None
        The radii that hold 95 % of all reports about the truth, and half of them.
    worst_radius, radius_at : float and str, or None
        The largest of the radii that hold 95 % of the reports of a secret, and the secret.
    few : bool
        Whether the radii are of that one secret alone, as there are too many.
    rare, rare_chance : float or None
        An error and the probability of a larger one, whatever the secret: of values alone, and at most 0.1 %.
    most_off, most_off_chance : float or None
        The largest error that is possible, and its probability for the secret where that is largest.
    prior_zero : int
        The number of secrets of prior 0.
    prior_zero_mean, prior_zero_worst, prior_zero_at : float, float and str, or None
        Their mean and largest loss, and which one that is.
    outputs : int
    never, hardly, never_labels : int or None, int, tuple of str
        The number of outputs with a probability below 1e-6, of those above 0 among them, and the first labels.
    lowest, highest : pair of str, or None
        The end of a line of numbers that never comes out itself, and the nearest that does.
    places : bool
        Whether the secrets are places to which positions are moved.
    mean_way : float or None
        Where places stand for areas: how far a position is from its place in the mean over an area.
    where : dict
        Positions on the Earth, as text, of the secrets that are named by their labels.
    priors : str
        The set of priors; "" where there is none.
    next_best, next_excess : str and float, or None
        Of the private mechanisms that it was compared with the best one, and how much more that costs, relative;
        below 0 where it costs less.
    size : str
        Numbers of secrets and outputs of a problem that is not solved yet, and what a large solve comes to.
    choices : tuple of Explanation
        The same at other ε, where that was asked for.
    space : MetricSpace or None
        The space of the distances.

    Examples
    --------
    >>> import dxopt as dx
    >>> found = dx.explain(dx.solve(dx.Problem(dx.line(4), epsilon="ln(4)", prior="uniform")))
    >>> print(round(found.factor, 3), round(found.told_at(2.0).factor, 3), round(found.value, 3))
    4.0 16.0 0.356
    >>> print(found.content()["sentences"][0][1][:45])
    Seeing one report, nobody can change the odds
    """

    problem: str
    secrets: int
    one_way: bool
    endless: bool
    places: bool
    values: int | None = None
    all_within: float | None = None
    total_off: float | None = None
    total_off_prior: float | None = None
    mean_way: float | None = None
    title: str = "expected loss"
    kind: str = "distance"
    value_unit: str = ""
    value: float | None = None
    bound: float | None = None
    optimal: bool = False
    budget: float | None = None
    loss_unit: str = ""
    expected_loss: float | None = None
    worst_loss: float | None = None
    worst_at: str | None = None
    radius: float | None = None
    half: float | None = None
    worst_radius: float | None = None
    radius_at: str | None = None
    few: bool = False
    rare: float | None = None
    rare_chance: float | None = None
    most_off: float | None = None
    most_off_chance: float | None = None
    prior_zero: int = 0
    prior_zero_mean: float | None = None
    prior_zero_worst: float | None = None
    prior_zero_at: str | None = None
    never: int | None = None
    hardly: int = 0
    outputs: int = 0
    never_labels: tuple[str, ...] = ()
    lowest: tuple[str, str] | None = None
    highest: tuple[str, str] | None = None
    priors: str = ""
    next_best: str | None = None
    next_excess: float | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    size: str = ""
    choices: tuple[Explanation, ...] = ()
    space: MetricSpace | None = None

    def renamed(self, names: Mapping[str, str]) -> Explanation:
        """Return the same with secrets and reports called by `names`, which maps labels to names, as on a page."""

        def named(label: Any) -> Any:
            return tuple(map(named, label)) if isinstance(label, tuple) else names.get(label, label)

        places = {named(label): place for label, place in self.where.items()}
        labels = ("worst_at", "radius_at", "prior_zero_at", "never_labels", "lowest", "highest")
        return replace(self, where=places, **{label: named(getattr(self, label)) for label in labels})

    @property
    def factor(self) -> float | None:
        """Factor by which the odds of two positions or secrets `apart` change at most once a report is seen."""
        return None if self.epsilon is None else exponential(self.epsilon * self.between)

    @property
    def proven_levels(self) -> tuple[float, ...]:
        """Levels of the table, increasing: they are proven of its mechanisms, whose own may be lower."""
        return tuple(one.asked for one in self.choices if one.proven and one.asked is not None)

    @property
    def sentences(self) -> tuple[tuple[str, str], ...]:
        """Sentences, each with its topic, such as "privacy" and "worst off"."""
        return tuple(_sentences(self))

    @property
    def data_page(self) -> DataPage:
        """Three sentences for the page on which data are offered that were published by this mechanism."""
        radius = "" if self.worst_radius is None else f" {radius_sentence(self, self.worst_radius)}"
        accuracy = "How far reports are off is not known yet." if self.value is None else value_sentence(self)
        if self.epsilon is None or self.unproven:
            return DataPage(privacy_sentence(self), f"{accuracy}{radius}", "No number of reports is covered.")
        protected = f"{replaced_text(self.noun, proven_level(self))} {privacy_sentence(self)}"
        return DataPage(protected, f"{accuracy}{radius}", several_reports(self, advice=False))

    def told_at(self, distance: float) -> Explanation:
        """Return the same with factors given for positions, or secrets, that are `distance` apart."""
        places = None if self.space is None else across(self.space, distance)
        choices = tuple(one.told_at(distance) for one in self.choices)
        return replace(self, apart=distance, across=places, choices=choices)

    def told_of(self, values: int, mechanism: Mechanism, prior: Prior | None) -> Explanation:
        """Return the same with the errors of so many values together, each drawn by itself from a mechanism."""
        found = radii_of_several(mechanism, values, None if prior is None else prior.probabilities)
        return replace(self, values=values, **asdict(found))

    def content(self) -> dict[str, Any]:
        """Return the numbers and sentences by name, for JSON; what is infinite is None."""
        numbers = asdict(replace(self, space=None, choices=())) | {"factor": self.factor}
        del numbers["space"]
        numbers["choices"] = [
            {"epsilon": one.asked, "factor": exponential(one.asked * one.between)}
            | {name: getattr(one, name) for name in _COSTS}
            for one in self.choices
            if one.asked is not None
        ]
        return _for_json({**numbers, "sentences": self.sentences})

    def __str__(self) -> str:
        told = [one_line(f"{topic}: {text}") for topic, text in self.sentences]
        return "\n".join([one_line(self.problem), *told, *(aligned(table_of(self)) if self.choices else [])])

    def _summary(self) -> str:
        return f"{self.problem}: {self.sentences[0][1]}"

    def _repr_html_(self) -> str:
        return as_html(self.sentences) + (as_html_table(table_of(self)) if self.choices else "")


def _for_json(value: Any) -> Any:
    """Return a value for JSON, also nested: None for floats that are not finite, lists for tuples."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _for_json(one) for key, one in value.items()}
    return [_for_json(one) for one in value] if isinstance(value, tuple | list) else value


def _sentences(found: Explanation) -> Iterator[tuple[str, str]]:
    """Yield topics and what is to be said of each, most important first."""
    private = found.epsilon is not None
    yield "privacy", privacy_sentence(found)
    if private:
        if found.across is not None:
            yield "places", between_places(found, found.across)
        yield "level", level_sentence(found)
        yield "several reports", several_reports(found)
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
        yield found.title, value_sentence(found)
        # distances alone add up: from a position to its place, and on to the report
        known = found.cell is not None and found.mean_way is not None and math.isfinite(found.value)
        if known and found.title == "expected loss" and found.kind == "distance":
            yield "from positions", from_positions(found)
    if found.priors:
        yield "priors", f"The loss is for one prior of the set {found.priors}: the one under which it is largest."
    if found.next_best is not None and found.next_excess is not None:
        excess = found.next_excess
        more = "less" if excess < 0 else "more"
        apart = "as good" if abs(excess) < _CLOSE else f"{three_digits(100 * abs(excess))} % {more}"
        closest = "is best" if excess <= -_CLOSE else "comes closest"
        yield "compared", f"Of the others, {found.next_best} {closest}: {apart}."
    if found.worst_radius is not None:
        yield "radius", radius_sentence(found, found.worst_radius)
    if found.worst_loss is not None:
        lost = loss_clause(found, amount(found.worst_loss, found.loss_unit))
        who = _name_secret(found, found.worst_at)
        yield "worst off", f"{who[:1].upper()}{who[1:]} has the largest mean loss: a report {lost}."
    if found.most_off is not None:
        yield "largest error", largest_error(found, found.most_off)
    if found.all_within is not None:
        yield "several values", several_values(found, found.all_within)
    if found.prior_zero:
        yield "prior 0", prior_zero(found)
    if found.never:
        yield "never reported", never_reported(found, found.never)
    if found.size:
        yield "size", f"{found.size}."
    # without an extent of the places (`across`), what holds between positions is said in words alone
    if found.places and found.across is None and private:
        yield "positions", across_borders(found)
    if found.few:
        unknown = "" if found.worst_loss is not None else ", and who is worst off is not known"
        one = "one" if found.expected_loss is None else "the likeliest one"
        yield "left out", f"Too many {found.noun} to look at all of them: the radius is that of {one}{unknown}."


def value_sentence(found: Explanation) -> str:
    """Return the value of the objective, and that it is the best possible, or a bound on what is."""
    text = _value_clause(found, amount(found.value, found.value_unit))
    if found.value is None or found.bound is None:
        return f"{text}."
    if not found.optimal:
        if not found.bound:  # nothing below 0 is said of a loss
            return f"{text}."
        past = "above" if found.title == "adversary's error" else "below"
        return f"{text}; no mechanism with this privacy gets {past} {amount(found.bound, found.value_unit)}."
    apart, size = abs(found.value - found.bound), abs(found.value)
    close = ""
    if apart > _CLOSE * size:
        # a share of next to nothing says nothing
        share = f"{at_most(100 * apart / size)} %" if size >= LEAST_VALUE else amount_at_most(apart, found.value_unit)
        close = f", up to {share}"
    return f"{text}: proven to be the best possible{close}."


def _value_clause(found: Explanation, worth: str) -> str:
    """Return what a value of the objective, as the text `worth`, means for a report; without a full stop."""
    match found.title:
        case "worst loss":
            return f"Whatever the {singular_of(found.noun)}, a report {loss_clause(found, worth)}, or less"
        case "worst expected loss":
            return f"Under the worst of the priors, a report {loss_clause(found, worth)}"
        case "worst regret":
            return f"Under none of the priors a report costs more than {worth} above the optimum for that prior"
        case "adversary's error":
            text = f"An adversary who knows the prior errs by {worth} on average"
            if found.expected_loss is None:
                return text
            most = "" if found.budget is None else f" (at most {amount(found.budget, found.loss_unit)} was allowed)"
            return f"{text}, while reports cost {amount(found.expected_loss, found.loss_unit)} on average{most}"
    between = ", from centre to centre" if found.cell is not None and found.kind in ("distance", "squared") else ""
    return f"A report {loss_clause(found, worth)}{between}"


def loss_clause(found: Explanation, worth: str) -> str:
    """Return the predicate on a report with a mean loss `worth`: "is 0.84 km from the true place on average"."""
    if worth == three_digits(math.inf):
        return "costs infinitely much on average"
    match found.kind if found.title != "adversary's error" else "":
        case "distance":
            return f"is {worth} from {_truth_noun(found)} on average"
        case "squared":
            return f"has a squared distance of {worth} from {_truth_noun(found)} on average"
        case "binary":
            return f"does not name {_truth_noun(found)} with probability {worth}"
    return f"costs {worth} on average"


def _name_secret(found: Explanation, label: str | None) -> str:
    """Return words for the secret with a label, with its position where that is known: "place A at 45.5, -73.6"."""
    where = found.where.get(label or "", "")
    return f"{singular_of(found.noun)} {label}{f' at {where}' if where else ''}"


def _truth_noun(found: Explanation) -> str:
    """Return "the true place", or "the truth" where secrets have no noun of their own."""
    return "the truth" if found.noun == "secrets" else f"the true {singular_of(found.noun)}"


def from_positions(found: Explanation) -> str:
    """Return the loss of positions, which have the way to the centre of their cell on top of the value."""
    ways = found.mean_way or 0.0, found.cell or 0.0
    mean, most = (amount_at_most(way, found.unit) for way in ways)
    usual, furthest = (amount_at_most((found.value or 0.0) + way, found.value_unit) for way in ways)
    return (
        f"The way from a position to the centre of its place comes on top: {mean} on average where positions lie "
        f"evenly over their places, {most} at most. So a report is at most {usual} from the position on average "
        f"in the first case, {furthest} in any."
    )


def radius_sentence(found: Explanation, worst: float) -> str:
    """Return within what distance of the truth 95 % of reports lie, and half of them, on average and at worst."""
    truth, far = _truth_noun(found), within(worst, found.unit)
    if found.few:
        return f"For {_name_secret(found, found.radius_at)} alone, 95 % of reports lie {far} of {truth}."
    if found.radius is None:
        return held_by(singular_of(found.noun), far, truth)
    text = f"95 % of reports lie {within(found.radius, found.unit)} of {truth}"
    if found.half is not None:
        close = within(found.half, found.unit)
        text += f", half of them {close}" if found.half else f"; half of the reports name {truth}"
    if found.worst_radius == found.radius:
        return f"{text}; that holds for each of the {found.noun}."
    return f"{text}; for {_name_secret(found, found.radius_at)}, where this is worst, 95 % lie {far}."


def largest_error(found: Explanation, most_off: float) -> str:
    """Return how far off a single report may be, and how rare such errors are, whatever the secret."""
    most, chance = amount(most_off, found.unit), share(found.most_off_chance or 0.0)
    ever = f"whatever the {singular_of(found.noun)}"
    if not found.rare_chance or found.rare is None:
        return f"No report is more than {most} off; so far off are at most {chance}, {ever}."
    return (
        f"More than {amount(found.rare, found.unit)} off are at most {share(found.rare_chance)}, {ever}; {most} off, "
        f"the most that is possible, at most {chance}."
    )


def several_values(found: Explanation, all_within: float) -> str:
    """Return how far off several published values are together: each of them, and their total on average."""
    text = (
        f"{found.values:,} published {found.noun}, each drawn by itself, all lie {within(all_within, found.unit)} of "
        f"the true {found.noun} with probability at least 95 %."
    )
    if found.total_off is not None:
        usual = ""
        if found.total_off_prior is not None:
            mean = amount_at_most(found.total_off_prior, found.unit)
            usual = f"{mean} if the true {found.noun} are independent and follow the prior, and at most "
        most = amount_at_most(found.total_off, found.unit)
        text += f" On average their total is off by at most {usual}{most} whatever they are."
    return f"{text} Each of these {found.noun} that includes a person uses up ε of that person's budget."


def prior_zero(found: Explanation) -> str:
    """Return how many secrets have prior 0, and what they lose, as the mechanism was not made for them."""
    have = "has" if found.prior_zero == 1 else "have"
    who = f"{found.prior_zero:,} of {found.secrets:,} {found.noun}"
    text = f"{who} {have} prior 0: they are as private, but their loss was not part of what was minimised"
    if found.prior_zero_mean is None:
        return f"{text}."
    mean, most = (amount(loss, found.loss_unit) for loss in (found.prior_zero_mean, found.prior_zero_worst))
    return f"{text}; their mean loss is {mean}, the largest {most} for {_name_secret(found, found.prior_zero_at)}."


def never_reported(found: Explanation, count: int) -> str:
    """Return which outputs (`count` of them) never come out, and what the ends of a line are reported as instead."""
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


def table_of(found: Explanation) -> Sequence[Sequence[str]]:
    """Return the table of what each ε of `choices` costs, header first; the ε of the result itself has a "*"."""
    far, unit, lost = (f" ({one})" if one else "" for one in (found.unit, found.value_unit, found.loss_unit))
    apart = three_digits(found.apart)
    at = with_unit(apart, found.unit) if found.unit else f"distance {apart}"
    head = [f"ε {per(found.unit)}", f"factor at {at}", f"{found.title}{unit}"]
    head += ["no mechanism better than", f"largest mean loss{lost}", f"95 % within{far}"]
    several = [name for name in _OF_SEVERAL if any(getattr(one, name) is not None for one in found.choices)]
    head += [f"{_OF_SEVERAL[name].format(found.values)}{far}" for name in several]
    rows = []
    for choice in found.choices:
        asked = choice.asked or 0.0
        mark = " *" if found.asked is not None and math.isclose(asked, found.asked) else ""
        numbers = (choice.value, choice.bound, choice.worst_loss, choice.radius)
        told = ["" if number is None else three_digits(number) for number in numbers]
        at_once = [getattr(choice, name) for name in several]
        told += ["" if number is None else at_most(number) for number in at_once]
        # without the remark that `factor` adds to large ones
        rows.append([f"{level_text(asked)}{mark}", factor(asked * found.between).split(" ")[0], *told])
    return [head, *rows]
