"""Sets of priors under the key `prior`, as a problem file describes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dxopt.model.prior import Prior as Beliefs
from dxopt.model.prior_sets import PriorSet
from dxopt.spec import fields as f
from dxopt.spec import priors as p
from dxopt.spec import quantities as q
from dxopt.spec.locations import Secrets, point_named
from dxopt.spec.quantities import bad
from dxopt.spec.source import Source


class HullPriors(f.Section):
    """All mixtures of some priors."""

    kind: Literal["hull"] = Field(description="All mixtures of some priors.")
    priors: Annotated[list[p.Prior], Field(min_length=1)] = Field(description="The priors, each as under `prior`.")


class BallPriors(f.Section):
    """All priors near one in total variation."""

    kind: Literal["ball"] = Field(description="All priors within a total variation of one.")
    around: p.Prior = Field(description="The prior in the middle, as under `prior`.")
    total_variation: q.Fraction = Field(description="How much of its probability may be anywhere else.")


class BoxPriors(f.Section):
    """All priors between bounds on each probability."""

    kind: Literal["box"] = Field(description="All priors between bounds on each probability.")
    lower: list[q.NonNegative] | None = Field(None, description="One lower bound per point; 0 by default.")
    upper: list[q.NonNegative] | None = Field(None, description="One upper bound per point; 1 by default.")
    around: p.Prior | None = Field(None, description="Instead of bounds: the prior in the middle, with a ratio.")
    ratio: q.Positive | None = Field(
        None, description="How many times as large, or as small, each probability may be; above 1."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        bounds = self.lower is not None or self.upper is not None
        if bounds and self.around is not None:
            raise bad("is given beside bounds", "keep one of the two", "around")
        if not bounds and self.around is None:
            raise bad("has no bounds", "add lower, upper, or around and ratio")
        if (self.around is None) is not (self.ratio is None):
            raise bad("goes with around", "give both around and ratio, or neither", "ratio")
        return self


class Total(f.Section):
    """The probability of a region, from one number to another."""

    points: Annotated[list[f.Named], Field(min_length=1)] = Field(description="The points of the region.")
    low: q.NonNegative = Field(0.0, description="The least probability of the region.")
    high: q.NonNegative = Field(1.0, description="The largest probability of the region.")


class FittingPriors(f.Section):
    """All priors that fit marginals and totals."""

    kind: Literal["fitting"] = Field(description="All priors that fit marginals, and totals of regions.")
    marginals: list[list[q.NonNegative]] | None = Field(
        None, description="For each coordinate of a grid or product the probabilities of its values."
    )
    totals: list[Total] = Field([], description="Regions, with the least and the largest probability of each.")
    within: q.Fraction = Field(1e-9, description="By how much a prior may miss each of them.")


PriorSection = HullPriors | BallPriors | BoxPriors | FittingPriors
Believed = Annotated[p.Single | PriorSection, f.Kinds()]
"""One prior, or a set of them."""


def depends_on_level(asked: Believed) -> bool:
    """Return whether there is a corner prior in it, which is another one at another epsilon."""
    match asked:
        case HullPriors():
            return any(isinstance(prior, p.CornerPrior) for prior in asked.priors)
        case BallPriors() | BoxPriors():
            return isinstance(asked.around, p.CornerPrior)
    return isinstance(asked, p.CornerPrior)


def build_believed(
    source: Source, asked: Believed, secrets: Secrets, epsilons: Sequence[float | None]
) -> list[Beliefs] | list[PriorSet]:
    """Build the prior of the key `prior`, or the set of them, for each of several levels."""
    if not isinstance(asked, PriorSection):
        return p.build_priors(source, asked, secrets, epsilons, "prior")
    if depends_on_level(asked):
        return [_set(source, asked, secrets, epsilon) for epsilon in epsilons]
    return [_set(source, asked, secrets, epsilons[0])] * len(epsilons)


def _set(source: Source, asked: PriorSection, secrets: Secrets, epsilon: float | None) -> PriorSet:
    def one(prior: p.Prior, *where: str | int) -> Beliefs:
        return p.build_priors(source, prior, secrets, [epsilon], "prior", *where)[0]

    with source.within("prior"):
        match asked:
            case HullPriors():
                return Beliefs.hull([one(prior, "priors", place) for place, prior in enumerate(asked.priors)])
            case BallPriors():
                return Beliefs.ball(one(asked.around, "around"), total_variation=asked.total_variation)
            case BoxPriors() if asked.around is not None:
                return Beliefs.box(around=one(asked.around, "around"), ratio=asked.ratio)
            case BoxPriors():
                _require_each(source, asked, len(secrets.space))
                return Beliefs.box(asked.lower, asked.upper)
            case FittingPriors():
                return _fitting(source, asked, secrets)


def _require_each(source: Source, asked: BoxPriors, size: int) -> None:
    for name in ("lower", "upper"):
        bounds = getattr(asked, name)
        if bounds is not None and len(bounds) != size:
            some = f"{len(bounds)} number{'' if len(bounds) == 1 else 's'}"
            wrong = f"has {some} for {size:,} points"
            raise source.error(("prior", name), wrong, "give one for each, in their order")


def _fitting(source: Source, asked: FittingPriors, secrets: Secrets) -> PriorSet:
    totals = []
    for place, total in enumerate(asked.totals):
        with source.within("prior", "totals", place):
            counts = np.zeros(len(secrets.space))
            counts[[point_named(secrets.space, name) for name in total.points]] = 1.0
            totals.append((counts, total.low, total.high))
    return Beliefs.fitting(secrets.space, marginals=asked.marginals, totals=totals, within=asked.within)
