"""Sets of priors, made from priors and bounds: what `dx.Prior` has besides single ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.model.fitting_sets import Fitting
from dxopt.model.matching import require_same
from dxopt.model.prior_sets import SUM, Ball, Box, Hull, frozen, require_bounds
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Row = tuple[Array, float, float]
"""What each point counts, and from where to where the total is."""


class One(Protocol):
    """A prior, as sets are made of it."""

    @property
    def probabilities(self) -> Array:
        """π, `(n,)`."""
        ...

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def space(self) -> MetricSpace | None:
        """Whose points they are, where that is known."""
        ...


class MakesSets:
    """Class methods of `Prior` that make sets of priors."""

    @staticmethod
    def hull(priors: Sequence[One]) -> Hull:
        """All mixtures of some priors: an optimum over them holds for each, and for whatever mixture is true.

        Parameters
        ----------
        priors : sequence of Prior
            One or more, about the same points.

        Raises
        ------
        SpecError
            If there is none, or they are about different points.

        Examples
        --------
        >>> import dxopt as dx
        >>> space = dx.line(3)
        >>> day, night = dx.Prior.from_weights(space, [1, 2, 1]), dx.Prior.from_weights(space, [4, 1, 1])
        >>> either = dx.Prior.hull([day, night])
        >>> problem = dx.Problem(space, epsilon=1.0, prior=either)
        >>> print(round(dx.solve(problem).certificate.value, 3))
        0.453
        """
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

    @staticmethod
    def ball(prior: One, *, total_variation: float) -> Ball:
        """All priors within a distance of one: `total_variation` of the probability may be anywhere else.

        Parameters
        ----------
        prior : Prior
        total_variation : float
            The largest ½ Σ_x |π(x) - prior(x)|; more than 0 and less than 1.

        Raises
        ------
        SpecError
            If that is no such number.

        Examples
        --------
        >>> import dxopt as dx
        >>> space = dx.line(3)
        >>> near = dx.Prior.ball(dx.Prior.uniform(space), total_variation=0.3)
        >>> print(near.name)
        total variation 0.3 of uniform
        >>> round(near.largest([0, 1, 2]), 2)
        1.6
        """
        centre = _one(prior)
        radius = _number("total_variation", total_variation)
        if not 0 < radius < 1:
            raise SpecError("total_variation", f"is {radius:g}", "give a number between 0 and 1")
        return Ball(centre.probabilities, radius, centre.name, centre.space)

    @staticmethod
    def box(
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        *,
        around: One | None = None,
        ratio: float | None = None,
    ) -> Box:
        """All priors between bounds on each probability, or near one in ratio: from prior/ratio to prior·ratio.

        Parameters
        ----------
        lower, upper : (n,) array, optional
            Of probabilities; by default 0 and 1.
        around : Prior, optional
            Instead of bounds; each probability may be `ratio` times as large, and as small.
        ratio : float, optional
            More than 1; e^r for a box of r in the logarithm.

        Raises
        ------
        SpecError
            If bounds cross or leave no prior, or both kinds are given.

        Examples
        --------
        >>> import dxopt as dx
        >>> bounds = dx.Prior.box([0.2, 0.2, 0.2], [0.6, 0.6, 0.6])
        >>> print(bounds.worst([0, 1, 2]).round(2).tolist())
        [0.2, 0.2, 0.6]
        """
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
        return Box(low, high)

    @staticmethod
    def fitting(
        space: MetricSpace,
        *,
        marginals: Sequence[ArrayLike | None] | None = None,
        totals: Sequence[tuple[ArrayLike, float, float]] = (),
        within: float = 1e-9,
    ) -> Fitting:
        """All priors that fit given marginals, totals of regions, or means.

        Parameters
        ----------
        space : MetricSpace
        marginals : sequence of arrays, optional
            Of a grid or another product: for each coordinate the probabilities of its values, or None.
        totals : sequence of (counts, low, high)
            `counts` `(n,)` is what each point counts: True or 1 in a region and 0 elsewhere, or any number, such as
            the value of a coordinate for its mean. The expected count is from `low` to `high`.
        within : float
            By how much a prior may miss each of them: a positive number.

        Raises
        ------
        SpecError
            If sizes differ, numbers are not finite, or no prior fits.

        Examples
        --------
        >>> import dxopt as dx
        >>> space = dx.line(3)
        >>> mean_of_half = dx.Prior.fitting(space, totals=[([0, 1, 2], 0.5, 0.5)])
        >>> print(mean_of_half.worst([0, 0, 1]).round(2).tolist())
        [0.75, 0.0, 0.25]
        """
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
    """Both bounds as rows of one matrix."""
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
