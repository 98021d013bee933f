"""Promises and costs of a mechanism, as numbers with their units; `words.result` has the sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self


@dataclass(frozen=True)
class Choice:
    """Costs of one ε.

    Attributes
    ----------
    epsilon : float
    factor : float
        By which the odds between two positions or secrets `Explanation.apart` from each other change at most.
    value, bound : float
        What the objective is about, and what no mechanism at that ε is better than.
    worst_loss, radius, all_within, total_off : float or None
        As for `Explanation`.
    """

    epsilon: float
    factor: float
    value: float
    bound: float
    worst_loss: float | None
    radius: float | None
    all_within: float | None = None
    total_off: float | None = None


@dataclass(frozen=True, repr=False)
class Explained:
    """Promises and costs of a report, a mechanism or a problem.

    Attributes
    ----------
    problem : str
        Its name.
    secrets : int
    noun : str
        What secrets are called: places, values or secrets.
    unit : str
        Of distances; "" where it is not known.
    epsilon : float or None
        What is proven, or what is asked for where nothing is proven yet; None without privacy.
    asked : float or None
    proven : bool
    unproven : bool
        Whether it is a mechanism of whose privacy nothing is known.
    delta : float
        Likewise.
    apart : float
        The distance of which `factor` is told: the radius that was asked for, else 1, or a typical distance where 1
        is none.
    across : float or None
        How far apart the places of two positions may be that are so far apart, where places are cells on the Earth.
    factor : float or None
        By which the odds between two positions so far apart change at most once a report is seen; without cells,
        those between two secrets.
    for_positions : bool
        Whether the level was asked for between positions.
    reports : int
        So many reports of one person are told of beside one.
    values : int or None
        So many published values are told of together, where that was asked for.
    all_within : float or None
        The distance within which all of them are with a probability of at least 95 %, whatever they are.
    total_off, total_off_prior : float or None
        What the mean error of their total is at most, whatever they are, and if they are drawn from the prior; None
        where distances are no differences of numbers, and without a prior.
    one_way : bool
        Whether distances have a direction.
    endless : bool
        Whether there are infinite distances, across which nothing is hidden.
    title, kind, value_unit : str
        What `value` is: the objective, the loss by its name, and the unit.
    value, bound : float or None
        The proven value, and what no mechanism is better than; None before a problem is solved.
    optimal : bool
    budget : float or None
        The most that the expected loss may be, where the objective has such.
    loss_unit : str
    expected_loss : float or None
        Under the prior, where `value` is something else.
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
        How many secrets have prior 0.
    prior_zero_mean, prior_zero_worst, prior_zero_at : float, float and str, or None
        What they lose on average, and most, and which one that is.
    never : int or None
        How many outputs never come out, or with a probability below 1e-6; None where that is not known.
    hardly : int
        Those of the second kind among them.
    outputs : int
    never_labels : tuple of str
        The first of them.
    lowest, highest : pair of str, or None
        The end of a line of numbers that never comes out itself, and the nearest that does.
    nearest : float or None
        How far the two secrets are apart that are closest, where that is known.
    places : bool
        Whether the secrets are places to which positions are moved.
    cell, mean_way : float or None
        Where places stand for areas: how far a position is from its place at most, and the mean over an area.
    where : dict
        Positions on the Earth, as text, of the secrets that are named by their labels.
    beliefs, priors : str
        What is proven of pairs of beliefs; the set of priors. "" where there is none.
    next_best, next_excess : str and float, or None
        Of the private mechanisms that it was compared with the best one, and how much more that costs, relative.
    choices : tuple of Choice
        What other ε cost, where that was asked for.
    """

    problem: str
    secrets: int
    noun: str
    unit: str
    epsilon: float | None
    asked: float | None
    proven: bool
    delta: float
    apart: float
    factor: float | None
    one_way: bool
    endless: bool
    places: bool
    nearest: float | None
    across: float | None = None
    for_positions: bool = False
    unproven: bool = False
    reports: int = 10
    values: int | None = None
    all_within: float | None = None
    total_off: float | None = None
    total_off_prior: float | None = None
    cell: float | None = None
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
    beliefs: str = ""
    priors: str = ""
    next_best: str | None = None
    next_excess: float | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()

    @property
    def between(self) -> float:
        """The distance of secrets that factors are of: `across` where it is known, else `apart`."""
        return self.apart if self.across is None else self.across

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the same with other names of secrets and reports, by their labels."""

        def named(label: str | None) -> str | None:
            return None if label is None else names.get(label, label)

        def both(end: tuple[str, str] | None) -> tuple[str, str] | None:
            return None if end is None else (names.get(end[0], end[0]), names.get(end[1], end[1]))

        return replace(
            self,
            worst_at=named(self.worst_at),
            radius_at=named(self.radius_at),
            prior_zero_at=named(self.prior_zero_at),
            never_labels=tuple(names.get(label, label) for label in self.never_labels),
            lowest=both(self.lowest),
            highest=both(self.highest),
            where={names.get(label, label): place for label, place in self.where.items()},
        )
