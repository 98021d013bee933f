"""Sentences on a published file and its promises, from the data of its sidecar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dxopt.errors import SpecError
from dxopt.numerics.number_syntax import SUMS, factor, level_text
from dxopt.spaces.units import per, with_unit
from dxopt.verify.files import is_file
from dxopt.verify.published.sidecar import BY_REPORT, ENDING, SHARE, Paid, Sidecar, read_sidecar, sidecar_of
from dxopt.verify.verdict import Broken
from dxopt.words.data_page import DataPage
from dxopt.words.phrases import (
    counted,
    held_by,
    histories,
    level,
    listed,
    one_report,
    replaced_text,
    two_positions,
    two_secrets,
    within,
)

_COLUMNS = 12
"""Columns that are named at most."""
_PROTECTED = ("outside", "left out")
_COSTS = ("account", "persons", "budget", "kept", "key shows")
"""Topics whose sentences stand on a data page: in the paragraph on what is protected, and in that on repeated use."""


def sentences(said: Sidecar) -> tuple[tuple[str, str], ...]:
    """Return what the sidecar of a published file promises, as pairs of a topic and sentences on it."""
    return tuple(_sentences(said))


def _sentences(said: Sidecar) -> Iterator[tuple[str, str]]:
    """Yield topics and sentences on each; a sentence is left out where the release did nothing of the kind."""
    privacy, secret, unless = said.privacy, said.secret, _unless(said)
    yield (
        _near_noun(said),
        f"{_between_two(said)}; after n independent reports of one person it is that to the power n.",
    )
    unit = f" (in {privacy.unit})" if privacy.unit else ""
    yield (
        "one report",
        f"For two secrets at distance d{unit} every report is at most exp({level_text(privacy.epsilon, 10)} d) times "
        f"as likely for one as for the other{unless}.",
    )
    yield "several reports", "n independent reports of one person together cost n times as much: the levels add up."
    if person := said.draws.person or (said.budgets and said.budgets.person):
        yield (
            "persons",
            f"A person is a value of column {person!r}: who has several of them is as many persons, each with a "
            "budget and draws of its own, and the levels of all of them add up.",
        )
    if said.budgets is not None and said.budgets.account is not None:
        yield (
            "account",
            f"All rows were paid for from one account, {said.budgets.account!r}, whoever they are about: no person "
            "has a budget of their own, and the levels of all rows that a person is in add up.",
        )
    if said.draws.keyed:
        yield from _key_sentences(unless, paid=said.budgets is not None)
    if said.budgets is not None:
        yield "budget", _budget_text(said, said.budgets)
    if secret.kind != "label":
        yield "secrets", _between_secrets(said)
    if secret.outside == "drop":
        yield (
            "left out",
            f"Rows without a {secret.noun} in the space were left out: that a {said.rows.noun} is missing says so, "
            "which no level of privacy covers.",
        )
    elif secret.unusable == "drop":
        yield (
            "left out",
            f"Rows without a usable {secret.noun}, person or time were left out: that a {said.rows.noun} is missing "
            "says so, which no level of privacy covers.",
        )
    if secret.outside == "nearest" and (text := _outside_text(said)):
        yield "outside", text
    if said.budgets is not None and said.budgets.over_budget == "drop":
        one = "a person" if said.budgets.account is None else "the account"
        but = ""
        if secret.outside == "drop" or secret.unusable == "drop":
            but = (
                f", and on how many {said.rows.noun}s of {one} were left out before, as above: these were neither "
                "paid for nor counted"
            )
        first = "Of each person the" if said.budgets.account is None else "The"
        yield (
            "kept",
            f"{first} first {said.rows.noun}s were kept, in the order of the data, as many as the budget "
            f"pays for. Their number depends on how many {one} has and on the ledger{but}.",
        )
    yield (
        "order",
        f"Rows stand in the order of the data. What that order tells, as in data sorted by {secret.noun}, is not "
        "covered.",
    )
    if said.radius is not None:
        yield (
            "radii",
            f"Radii hold {_truth(secret.noun, _only_near(said))} with {100 * SHARE:.0f} %. Like all columns that "
            "were added they follow from the report, the table and the prior: they tell no more than the report.",
        )
    yield (
        "other columns",
        f"They were kept as they are; the guarantee is about the {secret.noun} alone, not about what they tell.",
    )


def _unless(said: Sidecar) -> str:
    """Return words for the probability with which a promise may not hold; "" where there is none."""
    return f", up to a probability of {level_text(said.privacy.delta, 6)}" if said.privacy.delta else ""


def _near_noun(said: Sidecar) -> str:
    """Return the plural noun of what the factor is between: positions, or else values, labels or places."""
    if said.privacy.near.between == "secrets" and said.secret.noun == "position":
        return "places"
    return f"{said.secret.noun}s"


def _is_exact(said: Sidecar) -> bool:
    """Return True if nothing but secrets themselves was taken for a secret."""
    return said.secret.within == 0 and said.secret.outside != "nearest"


def _between_two(said: Sidecar) -> str:
    """Return by which factor one report changes the odds between two near positions or secrets at most."""
    near, unit, noun = said.privacy.near, said.privacy.unit, _near_noun(said)
    if noun == "values" and not _is_exact(said):
        noun = "values of the space"
    two = two_positions(near.radius, unit) if noun == "positions" else two_secrets(noun, near.radius, unit)
    return one_report(said.privacy.epsilon * near.apart, two, _unless(said))


def _key_sentences(unless: str, *, paid: bool) -> Iterator[tuple[str, str]]:
    """Yield topics and sentences on draws with a key: what they promise, and what they give away."""
    yield (
        "key",
        "Draws have a key: the same person at the same secret gets the same report in all data of this release. "
        "Privacy is computational, and whoever has the key can undo it.",
    )
    yield (
        "key shows",
        "Two different reports of one person prove two different secrets, however close these are, and equal reports "
        "suggest the same one: whether a person's secret was the same again is not hidden, and no level covers it.",
    )
    yield (
        "histories",
        "Two histories of a person in which the same rows share a secret are told apart by a factor of at most "
        "exp(epsilon (d1 + ... + dk)), with the distances of the k distinct secrets"
        f"{unless and unless + ' for each'}: a secret that stays costs its level once, however often it is reported.",
    )
    if paid:
        yield (
            "refusals",
            "Budgets with a key count the distinct secrets of a person: what is spent, and who was refused, depends "
            "on true secrets, which no level covers.",
        )


def _budget_text(said: Sidecar, paid: Paid) -> str:
    """Return what each person's budget is, or the account's, and the factor for all the rows that it pays for.

    With a key it pays for different secrets instead, each of them once.
    """
    epsilon, near, unit = said.privacy.epsilon, said.privacy.near, per(said.privacy.unit)
    cost = level(epsilon, said.privacy.unit)
    whose = "its person" if paid.account is None else f"one account for all rows, {paid.account!r}"
    keyed = said.draws.keyed
    what = "different secret of a person was paid for once" if keyed else "row was paid for"
    text = f"Each {what}, with {cost},"
    if paid.default is None or paid.default_rows is None:
        return f"{text} from the budget that was set for {whose}.{_period_text(said, paid)}"
    text += (
        f" from the budget of {whose}: unless another was set, {_budget(paid.default)} {unit} in all, which pays "
        f"for {counted(paid.default_rows, _paid_noun(said, 'such rows'))}.{_period_text(said, paid)}"
    )
    if keyed:
        return text
    rows, whole = (factor(spent * near.apart) for spent in (paid.default_rows * epsilon, paid.default))
    more = "" if rows == whole else f"; the whole budget: at most {whole}"
    two = histories(f"such {_near_noun(said)}", near.radius, said.privacy.unit)
    return f"{text} Together they change the odds between {two} by a factor of at most {rows}{more}."


def _budget(epsilon: float) -> str:
    return f"epsilon {level_text(epsilon, 10, SUMS)}"


def _paid_noun(said: Sidecar, rows: str = "rows") -> str:
    """Return the plural noun of what a budget pays for: `rows`, or different secrets where draws have a key."""
    return "different secrets" if said.draws.keyed else rows


def _period_text(said: Sidecar, paid: Paid) -> str:
    """Return what may be spent in each period, beside the budget in all; "" without budgets by period."""
    found = paid.in_period
    if found is None:
        return ""
    unit = per(said.privacy.unit)
    rows = "" if found.rows is None else f", which pays for {counted(found.rows, _paid_noun(said))}"
    return (
        f" In each {found.period} ({found.zone}, by column {found.time!r}) at most {_budget(found.budget)} {unit}"
        f"{rows}."
    )


def _furthest_text(said: Sidecar) -> str:
    return with_unit(f"{said.secret.within:.6g}", said.secret.within_unit)


def _between_secrets(said: Sidecar) -> str:
    """Return between which places or values the guarantee holds, and what it means for others near them."""
    secret, near = said.secret, said.privacy.near
    exact = _is_exact(said)
    away = (
        "however far away that is" if secret.outside == "nearest" else f"which is up to {_furthest_text(said)} away"
    )
    if secret.noun == "value":
        among = f"The guarantee is between the {said.mechanism.secrets:,} values of the space"
        if exact:
            return f"{among}, and no other value was taken for one of them."
        return (
            f"{among}. Any other value is taken for the nearest of them, {away}: values with the same nearest one "
            "are not told apart at all, others as their nearest ones are, however close they are."
        )
    stands = "each for the one where it is" if exact else f"each for the nearest, {away}"
    counts = "; the factor between two positions counts that" if near.between == "positions" else ""
    return (
        f"The guarantee is between secrets, the places that positions stand for: {stands}. Positions with the same "
        "secret are not told apart at all, and two positions on either side of a border between secrets are told "
        f"apart as their secrets are, however close they are{counts}."
    )


def _outside_text(said: Sidecar) -> str:
    """Return which promises do not hold for rows far from every secret; "" where there are none of them."""
    secret = said.secret
    missing = []
    if said.radius is not None:
        missing.append(f"the radii hold about their secret, not about the {secret.noun} itself")
    if said.privacy.near.between == "positions":
        missing.append(f"the factor between {secret.noun}s does not hold")
    if secret.noun == "label" or not missing:
        return ""
    off = (
        f"further than {_furthest_text(said)} from every secret"
        if secret.within
        else "that are no secrets themselves"
    )
    return f"There may be {secret.noun}s {off}: for these {', and '.join(missing)}."


def only_near(noun: str, outside: str, within: float, unit: str) -> str:
    """Return words for the only positions or values that radii hold; "" where they hold all in the data.

    `outside` is the policy for those further than `within` from every secret.
    """
    if noun == "label" or outside != "nearest":
        return ""
    return f" within {with_unit(f'{within:.6g}', unit)} of a secret" if within else " among the secrets"


def _only_near(said: Sidecar) -> str:
    """Return words for the only positions or values that the radii of a file hold; "" where they hold all."""
    secret = said.secret
    return only_near(secret.noun, secret.outside, secret.within, secret.within_unit)


def _truth(noun: str, only: str) -> str:
    """Return words for what a radius holds: "the true value", or "a true value within 3 km of a secret"."""
    return f"a true {noun}{only}" if only else f"the true {noun}"


def generalization(
    noun: str, reports: int, *, radii: bool, only: str, epsilon: float, delta: float, unit: str
) -> str:
    """Return the sentence in every row of a published file, in which a position, value or label was replaced.

    `only` has words for the only positions that radii hold, "" if they hold all.
    """
    how = f"(dxopt, metric differential privacy, {level(epsilon, unit, delta)})"
    if noun != "position":
        return f"{noun.capitalize()} replaced at random by one of {reports:,} possible {noun}s {how}"
    held = f"; {_truth(noun, only)} is within the uncertainty with {100 * SHARE:.0f} %" if radii else ""
    return f"Coordinates moved at random{held} {how}"


def _how_far_off(said: Sidecar) -> str:
    """Return within what radius reports lie, by the sidecar, and which column has the radius of each of them."""
    radius, noun = said.radius, said.secret.noun
    if radius is None:
        return "How far reports are off is not stated."
    only = _only_near(said)
    far = "beyond any distance" if radius.worst is None else within(radius.worst, radius.unit)
    about = [name for name in radius.columns if name in BY_REPORT]
    each = "".join(
        f" Column {name!r} has for each report the radius that holds {_truth(noun, only)} with {100 * SHARE:.0f} %, "
        f"under the prior that the sidecar calls {said.prior.name!r}."
        for name in about
    )
    return f"{held_by(f'{noun}{only}', far, f'the true {noun}')}{each}"


def unpaid(paid: Paid | None) -> str | None:
    """Return how many rows were left out for want of budget; None without budgets, or where such data is refused."""
    if paid is None or paid.over_budget != "drop":
        return None
    of = "" if paid.account is not None else f" of {counted(paid.persons_left_out, 'persons')}"
    return f"{counted(paid.rows_left_out, 'rows')}{of}"


def pays_for(said: Sidecar) -> str:
    """Return how many rows, or different secrets, the budget of each person pays for; "" without budgets."""
    paid = said.budgets
    if paid is None:
        return ""
    noun = _paid_noun(said)
    whose = " of a person" if paid.account is None else ""
    told = [] if paid.default_rows is None else [f"{counted(paid.default_rows, noun)}{whose} in all"]
    if (limit := paid.in_period) is not None and limit.rows is not None:
        told.append(f"{counted(limit.rows, noun)} in each {limit.period}")
    return ", ".join(told)


def left_out(said: Sidecar) -> str:
    """Return how many rows were left out for which reason, but for want of budget; "" where none was."""
    rows = said.rows
    why = {"outside of the space": rows.outside, "unusable": rows.unusable}
    return ", ".join(f"{many:,} {reason}" for reason, many in why.items() if many) if rows.dropped else ""


@dataclass(frozen=True)
class PublishedFile:
    """Promises of a published file by its sidecar: topics, each with a sentence or two; none is proven."""

    file: Path
    said: Sidecar

    @property
    def sentences(self) -> tuple[tuple[str, str], ...]:
        """Topics, each with a sentence or two."""
        return sentences(self.said)

    @property
    def data_page(self) -> DataPage:
        """Three sentences for the page on which the file is offered."""
        said, told = self.said, dict(self.sentences)
        noun, privacy = f"{said.secret.noun}s", said.privacy
        done = replaced_text(noun, level(privacy.epsilon, privacy.unit, privacy.delta))
        protected = [done, f"{_between_two(said)}.", *(told[topic] for topic in _PROTECTED if topic in told)]
        if said.columns.kept:
            names = listed([*map(repr, said.columns.kept)], _COLUMNS)
            protected.append(f"Kept as they are, and not protected: {names}.")
        cost = "n independent reports of one person cost n times as much, and the factor is taken to the power n."
        costs = [cost, *(told[topic] for topic in _COSTS if topic in told)]
        return DataPage(" ".join(protected), _how_far_off(said), " ".join(costs))

    def content(self) -> dict[str, Any]:
        """Return the sentences, for JSON."""
        return {"file": str(self.file), "sentences": [list(pair) for pair in self.sentences]}

    def __str__(self) -> str:
        told = [f"{topic}: {text}" for topic, text in self.sentences]
        return "\n".join([str(self.file), *told, f"not proven here: dxopt verify {self.file} --result RESULT does"])


def is_published(path: Path) -> bool:
    """Return True if a file has a sidecar, or is one."""
    return is_file(path) and (path.name.endswith(ENDING) or is_file(sidecar_of(path)))


def published(path: Path) -> PublishedFile:
    """Return the promises of a file that `dx.apply` wrote, by its path or its sidecar's; SpecError if damaged."""
    beside = path if path.name.endswith(ENDING) else sidecar_of(path)
    try:
        return PublishedFile(path, read_sidecar(beside))
    except Broken as error:
        raise SpecError("sidecar", f"is none: {error}", "take the one that dxopt apply wrote") from None
