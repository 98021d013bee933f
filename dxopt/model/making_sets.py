"""Sets of priors, made from priors and bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.model.align_labels import require_same
from dxopt.model.moment_sets import Fitting
from dxopt.model.prior_sets import SUM, Ball, Box, Hull, frozen, require_bounds
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Row = tuple[Array, float, float]
"""The weight of each point, and the least and the largest total."""


class One(Protocol):
    """A prior, as sets are made of it."""

    @property
    def probabilities(self) -> Array:
        """π, `(n,)`."""
        ...

    @property
    def name(self) -> str:
        """The name."""
        ...

    @property
    def space(self) -> MetricSpace | None:
        """The space of the points, where that is known."""
        ...


def hull(priors: Sequence[One]) -> Hull:
    """Return all mixtures of some priors."""
    several = [_one(prior) for prior in priors] if isinstance(priors, Sequence) else []
    if not several:
        raise SpecError("prior", "is a hull of no priors", "give a list of dx.Prior")
    for prior in several[1:]:
        if len(prior.probabilities) != len(several[0].probabilities):
            sizes = f"{len(several[0].probabilities)} and {len(prior.probabilities)} points"
            raise SpecError("prior", f"is a hull of priors on {sizes}", "give priors on the same points")
    spaces = [prior.space for prior in several if prior.space is not None]
    for space in spaces[1:]:
        require_same(spaces[0], space)
    members = frozen([prior.probabilities for prior in several])
    return Hull(members, tuple(prior.name for prior in several), spaces[0] if spaces else None)


def ball(prior: One, *, total_variation: float) -> Ball:
    """Return all priors within a total variation of one."""
    centre = _one(prior)
    radius = _number("total_variation", total_variation)
    if not 0 < radius < 1:
        raise SpecError("total_variation", f"is {radius:g}", "give a number between 0 and 1")
    name = f"total variation {radius:g} of {centre.name}"
    return Ball(centre.probabilities, radius, name, centre.space)


def box(
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    *,
    around: One | None = None,
    ratio: float | None = None,
) -> Box:
    """Return all priors between bounds on each probability, or near one in ratio."""
    if around is not None:
        if lower is not None or upper is not None:
            raise SpecError("prior", "has bounds and a prior around which they are", "give one of the two")
        centre = _one(around)
        most = _number("ratio", ratio)
        if not 1 < most < math.inf:
            raise SpecError("ratio", f"is {most:g}", "give a number above 1")
        prior = centre.probabilities
        low, high = frozen([prior / most, np.minimum(prior * most, 1.0)])
        return Box(low, high, f"within a ratio of {most:g} of {centre.name}", centre.space, prior)
    if ratio is not None:
        raise SpecError("ratio", "is given without a prior", "give around=prior as well")
    low, high = _bounds(lower, upper)
    require_bounds(low, high)
    return Box(low, high, f"bounds on {len(low)} probabilities")


def fitting(
    space: MetricSpace,
    *,
    marginals: Sequence[ArrayLike | None] | None = None,
    totals: Sequence[tuple[ArrayLike, float, float]] = (),
    within: float = 1e-9,
) -> Fitting:
    """Return all priors that fit marginals, totals of regions, or means."""
    slack = _number("within", within)
    if not 0 < slack < 1:
        raise SpecError("within", f"is {slack:g}", "give a number between 0 and 1, such as 1e-9")
    rows = [*_marginal_rows(space, marginals), *_total_rows(space, totals)]
    if not rows:
        raise SpecError("prior", "fits nothing", "give marginals, totals, or both")
    forms = frozen([counts for counts, _, _ in rows])
    low, high = frozen([[low for _, low, _ in rows], [high for _, _, high in rows]])
    found = Fitting(forms, low, high, slack, space)
    found.require_members()
    return found


def _total_rows(space: MetricSpace, totals: Sequence[tuple[ArrayLike, float, float]]) -> list[Row]:
    rows: list[Row] = []
    for place, one in enumerate(totals):
        try:
            counts, low, high = one
            row = np.array(counts, dtype=float), float(low), float(high)
        except (TypeError, ValueError):
            wrong = f"number {place} is not an array and two numbers"
            raise SpecError("totals", wrong, "give (counts, low, high)") from None
        if row[0].shape != (len(space),) or not np.isfinite(row[0]).all():
            wrong = f"number {place} has counts of shape {row[0].shape} for {len(space)} points"
            raise SpecError("totals", wrong, "give a finite number for each point")
        if not -math.inf < row[1] <= row[2] < math.inf:
            raise SpecError("totals", f"number {place} is from {row[1]:g} to {row[2]:g}", "give low, then high")
        rows.append(row)
    return rows


def _marginal_rows(space: MetricSpace, marginals: Sequence[ArrayLike | None] | None) -> list[Row]:
    if marginals is None:
        return []
    shape = space.structure.shape
    if len(shape) != len(marginals) or math.prod(shape) != len(space):
        wrong = f"are {len(marginals)} for a space of {len(shape)} coordinates"
        raise SpecError("marginals", wrong, "give one for each coordinate of a grid or product, or None")
    places = np.array(np.unravel_index(np.arange(len(space)), shape))
    rows: list[Row] = []
    for axis, one in enumerate(marginals):
        if one is None:
            continue
        known = np.array(one, dtype=float)
        if known.shape != (shape[axis],) or not (known >= 0).all() or abs(math.fsum(known) - 1) > SUM:
            wrong = f"number {axis} is no distribution on {shape[axis]} values"
            raise SpecError("marginals", wrong, "give probabilities that sum to 1")
        rows += [((places[axis] == value).astype(float), share, share) for value, share in enumerate(known.tolist())]
    return rows


def _one(prior: One) -> One:
    if hasattr(prior, "probabilities") and hasattr(prior, "name"):
        return prior
    raise SpecError("prior", f"is of type {type(prior).__name__}, of which no set is made", "give a dx.Prior")


def _number(field: str, given: object) -> float:
    try:
        return float(given)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        raise SpecError(field, f"is {given!r}, not a number", "give a number") from None


def _bounds(lower: ArrayLike | None, upper: ArrayLike | None) -> Array:
    """Return both bounds as rows of one matrix."""
    try:
        known = [np.array(one, dtype=float) for one in (lower, upper) if one is not None]
    except (TypeError, ValueError):
        raise SpecError("prior", "has bounds that are not numbers", "give one number per point") from None
    if not known:
        raise SpecError("prior", "is a box without bounds", "give lower, upper, or around and ratio")
    shape = known[0].shape
    if len(shape) != 1 or any(one.shape != shape for one in known):
        raise SpecError("prior", f"has bounds of shapes {[one.shape for one in known]}", "give one per point in each")
    low = np.zeros(shape) if lower is None else known[0]
    high = np.ones(shape) if upper is None else known[-1]
    return frozen([low, high])
