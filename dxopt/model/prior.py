"""Priors: how likely each secret is before a report is seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import PlausibilityWarning, SpecError, required
from dxopt.model.align_labels import in_order, require_same
from dxopt.model.moment_sets import Fitting, rows_of_marginals, rows_of_totals
from dxopt.model.observations import check_ins_near, check_ins_outside, frequencies, usable_check_ins
from dxopt.model.prior_sets import Ball, Box, Hull, frozen
from dxopt.model.smoothing import Smoothing
from dxopt.numerics.coerce import SHARE, SUM, as_list, as_number, as_numbers, as_weights, require_same_rows
from dxopt.spaces.positions import names_of
from dxopt.spaces.space import MetricSpace, required_space

if TYPE_CHECKING:
    from dxopt.model.private_counts import Ledger, PrivateCounts


@dataclass(frozen=True, eq=False)
class Prior:
    """A probability for each point of a space; `hull`, `ball` and `box` make sets of priors.

    Attributes
    ----------
    probabilities : (n,) array, read-only, sums to 1
    name : str
    space : MetricSpace or None
        Whose points they are, where that is known: a `Problem` about others refuses them.
    concerns : tuple of PlausibilityWarning
        What is seldom meant in the data that it was made from.
    counts : PrivateCounts or None
        The noisy counts of people's check-ins that it was made from, and at what level; None of other priors.

    Examples
    --------
    >>> import dxopt as dx
    >>> space = dx.line(3)
    >>> prior = dx.Prior([0.5, 0.25, 0.25], space=space)
    >>> print(prior.probabilities.tolist(), prior.name)
    [0.5, 0.25, 0.25] explicit
    """

    probabilities: NDArray[np.float64]
    name: str = "explicit"
    space: MetricSpace | None = field(default=None, repr=False, kw_only=True)
    concerns: tuple[PlausibilityWarning, ...] = field(default=(), repr=False, kw_only=True)
    counts: PrivateCounts | None = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        array = as_weights(self.probabilities, "prior", "give one probability per point")
        if abs(math.fsum(array) - 1) > SUM:
            fix = "give probabilities that sum to 1, or use dx.Prior.from_weights(space, weights)"
            raise SpecError("prior", f"sums to {math.fsum(array):.12g}", fix)
        array.flags.writeable = False
        object.__setattr__(self, "probabilities", array)

    def __len__(self) -> int:
        return len(self.probabilities)

    def __repr__(self) -> str:
        return f"<Prior {self.name} on {len(self)} points>"

    @classmethod
    def of(cls, prior: PriorLike, space: MetricSpace) -> Prior:
        """Return a Prior unchanged if it fits the space, or make one from "uniform" or n probabilities in order.

        Raises
        ------
        SpecError
            If it is anything else, has another number of entries, does not sum to 1 (up to 1e-9), or is about other
            points.

        Examples
        --------
        >>> import dxopt as dx
        >>> space = dx.line(4)
        >>> print(dx.Prior.of("uniform", space).probabilities.tolist())
        [0.25, 0.25, 0.25, 0.25]
        >>> print(dx.Prior.of([0.5, 0.5, 0, 0], space).name)
        explicit
        """
        required_space(space)
        if isinstance(prior, str):
            if prior != "uniform":
                fix = 'give "uniform", one probability per point, or one of dx.Prior.from_...'
                raise SpecError("prior", f"there is no {prior!r}", fix)
            return cls.uniform(space)
        fix = "give one probability per point, in their order"
        if not isinstance(prior, Prior):
            _refuse_labelled(prior)
            return cls(as_weights(prior, "prior", fix, len(space)))
        if len(prior) != len(space):
            raise SpecError("prior", f"has {len(prior)} entries for {len(space)} points", fix)
        # A uniform prior fits any points.
        if prior.space is not None and np.ptp(prior.probabilities) > 0:
            require_same(space, prior.space)
        return prior

    @classmethod
    def uniform(cls, space: MetricSpace) -> Prior:
        """Return the same probability everywhere.

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.Prior.uniform(dx.line(4)).probabilities.tolist())
        [0.25, 0.25, 0.25, 0.25]
        """
        required_space(space)
        return cls.from_weights(space, np.ones(len(space)), name="uniform")

    @classmethod
    def from_weights(
        cls,
        space: MetricSpace,
        weights: ArrayLike,
        *,
        name: str = "weights",
        smoothing: float | Smoothing | None = None,
    ) -> Prior:
        """Return probabilities proportional to `weights`, an array of n numbers of 0 or more.

        A pandas Series whose index has the labels of the points is taken by label.

        Parameters
        ----------
        smoothing : float or Smoothing, optional
            Pseudo-counts that each point gets, in the unit of the weights, or a kernel; see `dx.Smoothing`.

        Raises
        ------
        SpecError
            If a weight is negative or not finite, their number is not n, or all are 0.
        UnsupportedError
            If the space is too large for a kernel.

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.Prior.from_weights(dx.line(4), [3, 1, 0, 4]).probabilities.tolist())
        [0.375, 0.125, 0.0, 0.5]
        """
        required_space(space)
        ordered = in_order(space, weights)
        array = as_weights(ordered, "prior", "give one number per point", len(space), most=math.inf)
        if not array.any():
            raise SpecError("prior", "has weight 0 everywhere", "give at least one positive weight")
        if smoothing is not None:
            smooth = Smoothing.of(smoothing)
            array = smooth.smoothed(space, array)
            name = f"{name}, smoothed ({smooth.name})"
        # Dividing by the largest first keeps the sum from overflowing.
        array /= array.max()
        array /= math.fsum(array)
        return cls(array, name, space=space)

    @classmethod
    def from_samples(
        cls, space: MetricSpace, data: Iterable[Any], *, smoothing: float | Smoothing | None = None
    ) -> Prior:
        """Return the prior of the relative frequencies of observed points.

        Parameters
        ----------
        data : sequence
            Observations: coordinates like those of the space, or labels where it has none. Each must be a
            point of the space, up to rounding (1e-9 relative).
        smoothing : float or Smoothing, optional
            Pseudo-counts that each point gets, or a kernel; see `dx.Smoothing`.

        Raises
        ------
        SpecError
            If there are none, or one of them is no point of the space.

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.Prior.from_samples(dx.line(4), [1, 1, 2, 0]).probabilities.tolist())
        [0.25, 0.5, 0.25, 0.0]
        """
        required_space(space)
        observed: Any = data
        if not names_of(data):
            observed = as_list(data, "samples", "give a list of observations")
        if not len(observed):
            raise SpecError("samples", "are empty", "give at least one")
        return cls.from_weights(space, frequencies(space, observed), name="samples", smoothing=smoothing)

    @classmethod
    def from_check_ins(
        cls,
        space: MetricSpace,
        points: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        within: float | None = None,
        smoothing: float | Smoothing | None = None,
        unusable: Literal["refuse", "drop"] = "refuse",
    ) -> Prior:
        """Return the prior of the relative frequencies of check-ins, each counted for the nearest location.

        A prior is published with its mechanism, and counts follow from it exactly. Take check-ins that are public;
        for those of people who are to be protected there is `private`, which adds noise.

        Parameters
        ----------
        points : (m, 2) array of (latitude, longitude), or (m, k) array of coordinates of a space without positions
            Of equally near locations the first counts. On road networks distances are meant as the crow flies.
        weights : (m,) array, optional
            The weight of each; 1 by default.
        within : float, optional
            Leave out what is further than this from all locations; in the unit of the positions of the space, or of
            its coordinates. The name of the prior states how many are.
        smoothing : float or Smoothing, optional
            Pseudo-counts that each location gets, in the unit of the weights, or a kernel; see `dx.Smoothing`.
        unusable : {"refuse", "drop"}
            Treatment of check-ins without a coordinate or a weight, as of empty cells: an error, or they are left
            out, and the name of the prior states how many.

        Raises
        ------
        SpecError
            If these are no points or weights, none is left, or all that count are outside of the space, as
            `dx.geo.nearest` has it; or both are of pandas and their indexes differ.

        Examples
        --------
        >>> import dxopt as dx
        >>> places = dx.geo.points([[45.5, -73.6], [45.5, -73.5]], labels=["west", "east"])
        >>> seen = [[45.501, -73.599], [45.499, -73.601], [45.502, -73.502]]
        >>> print(dx.Prior.from_check_ins(places, seen).probabilities.round(3).tolist())
        [0.667, 0.333]
        >>> print(dx.Prior.from_check_ins(places, seen, smoothing=1).probabilities.round(3).tolist())
        [0.6, 0.4]
        """
        require_same_rows(points, weights, "weights")
        points, weights, empty, given = usable_check_ins(points, weights, unusable)
        found, counted, near = check_ins_near(space, points, weights, within)
        left_out = int(np.count_nonzero(~near))
        concerns = check_ins_outside(space, points, found, counted, near)
        lost = [f"{empty} of {given} without a usable position or weight"] if empty else []
        lost += [f"{left_out} of {len(near)} further than {within:g}"] if left_out else []
        name = f"check-ins ({', '.join(lost)} left out)" if lost else "check-ins"
        sums = np.bincount(found.index[near], weights=counted[near], minlength=len(space))
        return replace(cls.from_weights(space, sums, name=name, smoothing=smoothing), concerns=concerns)

    @classmethod
    def private(
        cls,
        space: MetricSpace,
        points: ArrayLike,
        persons: Any,
        *,
        epsilon: float | str,
        per_person: int,
        within: float | None = None,
        smoothing: float | Smoothing | None = None,
        unusable: Literal["refuse", "drop"] = "refuse",
        ledger: Ledger | None = None,
        release: str = "prior",
        rng: np.random.Generator | None = None,
    ) -> Prior:
        """Return the prior of people's check-ins, made private: with noise that hides whether anybody is among them.

        Each check-in counts for the nearest location, or for the one that its label names, as a diagnosis does;
        at most `per_person` of each person, chosen at random. The
        count of each location, also of one where nobody was, gets two-sided geometric noise (Ghosh, Roughgarden and
        Sundararajan 2009) of ratio e^{-ε/per_person}, drawn exactly. Counts below 0 become 0. The prior is at most
        e^ε times as likely with all check-ins of any one person as without them (docs/theory/proofs.md).
        Each call draws anew and costs ε again: keep the prior, or its `counts`.

        Parameters
        ----------
        points : (m, 2) array of (latitude, longitude), (m, k) array of coordinates, or (m,) sequence of labels
            Coordinates are as for `from_check_ins`; one list or column has labels of points, and those of a space
            without coordinates are labels. The space must not depend on them.
        persons : (m,) sequence
            The person whose check-in each is. Of pandas, it has the index of the points.
        epsilon : float or str
            Level per person, such as 1 or "ln(2)". It has nothing to do with the ε per distance of a mechanism.
        per_person : int
            Check-ins of a person that count; one that needs no look at the data, such as 10.
        within, smoothing
            As for `from_check_ins`; how many check-ins are left out is not told. Labels are within no distance.
        unusable : {"refuse", "drop"}
            Treatment of check-ins without a coordinate, label or person, as of empty cells: an error, or they are
            left out; how many are is not told. Whoever is named in one pays.
        ledger : Budgets, optional
            Each person in the data pays ε from it once. Its unit is "per person": a ledger per km is refused.
        release : str
            The name of the draw in the ledger.
        rng : numpy.random.Generator, optional
            For tests; from the operating system's randomness without it.

        Raises
        ------
        BudgetExceeded
            If somebody has not that much left. Nothing is drawn or charged.
        SpecError
            As for `from_check_ins`, also of points and persons; or if persons, level or ledger are none, or a label
            is that of no point.

        Examples
        --------
        >>> import dxopt as dx
        >>> import numpy as np
        >>> places = dx.geo.points([[45.5, -73.6], [45.5, -73.5]], labels=["west", "east"])
        >>> seen = [[45.501, -73.599]] * 60 + [[45.502, -73.502]] * 30
        >>> people = [f"p{number}" for number in range(90)]
        >>> with dx.Budgets.open("people.sqlite", create=True, unit="per person", default=1) as ledger:
        ...     prior = dx.Prior.private(
        ...         places, seen, people, epsilon=1, per_person=1, ledger=ledger, rng=np.random.default_rng(1)
        ...     )
        ...     print(prior.probabilities.round(2).tolist(), float(ledger.account("p7").left))
        [0.65, 0.35] 0.0
        >>> print(prior.name)
        check-ins with noise, epsilon 1 per person, 1 at most of each
        >>> words = dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=["flu", "cold"])
        >>> options = {"epsilon": 1, "per_person": 1, "rng": np.random.default_rng(1)}
        >>> print(dx.Prior.private(words, ["flu", "cold", "flu"], ["ann", "bob", "eve"], **options).counts.counts)
        [2 1]
        """
        from dxopt.model.private_counts import count_check_ins, with_noise

        required_space(space)
        cls.from_weights(space, np.ones(len(space)), smoothing=smoothing)  # refuses a smoothing before anybody pays
        limits = {"per_person": per_person, "within": within, "unusable": unusable}
        counted = count_check_ins(space, points, persons, **limits, rng=rng)
        paid = {"ledger": ledger, "release": release}
        counts = with_noise(space, counted, epsilon=epsilon, per_person=per_person, **paid, rng=rng)
        return cls.from_private_counts(space, counts, smoothing=smoothing)

    @classmethod
    def from_private_counts(
        cls, space: MetricSpace, counts: PrivateCounts, *, smoothing: float | Smoothing | None = None
    ) -> Prior:
        """Return the prior of counts that were drawn before, at no cost; see `private`.

        Raises
        ------
        SpecError
            If they are no such counts, or about other places.

        Examples
        --------
        >>> import dxopt as dx
        >>> import numpy as np
        >>> places, rng = dx.line(3), np.random.default_rng(1)
        >>> prior = dx.Prior.private(places, [[0], [2]], ["ann", "bob"], epsilon=2, per_person=1, rng=rng)
        >>> smooth = dx.Prior.from_private_counts(places, prior.counts, smoothing=1)
        >>> print(prior.counts.counts.tolist(), smooth.probabilities.round(2).tolist())
        [1, 0, 1] [0.4, 0.2, 0.4]
        """
        from dxopt.model.private_counts import PrivateCounts

        required_space(space)
        required("counts", counts, PrivateCounts, "give dx.PrivateCounts, such as prior.counts")
        if counts.labels != tuple(space.labels):
            raise SpecError("counts", "are about other places than the points of the space", "draw them for these")
        made = cls.from_weights(space, counts.weights, name=str(counts), smoothing=smoothing)
        return replace(made, counts=counts)

    @staticmethod
    def hull(priors: Sequence[Prior]) -> Hull:
        """Return all mixtures of some priors: an optimum over them holds for each, and for whatever mixture is true.

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
        if not isinstance(priors, Sequence) or not priors:
            raise SpecError("prior", "is a hull of no priors", "give a list of dx.Prior")
        for prior in priors:
            required("prior", prior, Prior, "give dx.Prior")
            if len(prior) != len(priors[0]):
                sizes = f"{len(priors[0])} and {len(prior)} points"
                raise SpecError("prior", f"is a hull of priors on {sizes}", "give priors on the same points")
        spaces = [prior.space for prior in priors if prior.space is not None]
        for space in spaces[1:]:
            require_same(spaces[0], space)
        members = frozen([prior.probabilities for prior in priors])
        return Hull(members, tuple(prior.name for prior in priors), spaces[0] if spaces else None)

    @staticmethod
    def ball(prior: Prior, *, total_variation: float) -> Ball:
        """Return all priors within a distance of one: `total_variation` of the probability may be anywhere else.

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
        required("prior", prior, Prior, "give a dx.Prior")
        radius = as_number(total_variation, "total_variation", *SHARE)
        return Ball(prior.probabilities, radius, f"total variation {radius:g} of {prior.name}", prior.space)

    @staticmethod
    def box(
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        *,
        around: Prior | None = None,
        ratio: float | None = None,
    ) -> Box:
        """Return all priors between bounds on each probability, or within a ratio of one: from π/ratio to π·ratio.

        Parameters
        ----------
        lower, upper : (n,) array, optional
            Of probabilities; by default 0 and 1.
        around : Prior, optional
            Instead of bounds; each probability may be up to `ratio` times as large, or as small.
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
        if around is None:
            if ratio is not None:
                raise SpecError("ratio", "is given without a prior", "give around=prior as well")
            given = [one for one in (lower, upper) if one is not None]
            known = [as_numbers(one, "prior", "give one bound per point") for one in given]
            if not known:
                raise SpecError("prior", "is a box without bounds", "give lower, upper, or around and ratio")
            shape = known[0].shape
            if len(shape) != 1 or known[-1].shape != shape:
                wrong = f"has bounds of shapes {[one.shape for one in known]}"
                raise SpecError("prior", wrong, "give one per point in each")
            # a bound that is given alone is both the first and the last
            least = np.zeros(shape) if lower is None else known[0]
            low, high = frozen([least, np.ones(shape) if upper is None else known[-1]])
            return Box(low, high, f"bounds on {len(low)} probabilities")
        if lower is not None or upper is not None:
            raise SpecError("prior", "has bounds and a prior around which they are", "give one of the two")
        required("prior", around, Prior, "give a dx.Prior")
        if ratio is None:
            raise SpecError("ratio", "is missing", "give a number above 1")
        most = as_number(ratio, "ratio", "give a number above 1", lambda number: 1 < number < math.inf)
        centre = around.probabilities
        low, high = frozen([centre / most, np.minimum(centre * most, 1.0)])
        return Box(low, high, f"within a ratio of {most:g} of {around.name}", around.space, centre)

    @staticmethod
    def fitting(
        space: MetricSpace,
        *,
        marginals: Sequence[ArrayLike | None] | None = None,
        totals: Sequence[tuple[ArrayLike, float, float]] = (),
        within: float = 1e-9,
    ) -> Fitting:
        """Return all priors that fit given marginals, totals of regions, or means.

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
        slack = as_number(within, "within", *SHARE)
        required_space(space)
        rows = [*rows_of_marginals(space, marginals), *rows_of_totals(space, totals)]
        if not rows:
            raise SpecError("prior", "fits nothing", "give marginals, totals, or both")
        forms = frozen([counts for counts, _, _ in rows])
        low, high = frozen([[low for _, low, _ in rows], [high for _, _, high in rows]])
        found = Fitting(forms, low, high, slack, space)
        _ = found.centre  # refuses here a set without members
        return found


def _refuse_labelled(given: Any) -> None:
    """Raise SpecError about probabilities with labels, whose order may not be that of the points."""
    series = "pandas.Series(probabilities)" if isinstance(given, Mapping) else "series"
    # pandas has an attribute `index`; lists and tuples have a method of that name
    if isinstance(given, Mapping) or (hasattr(given, "index") and not isinstance(given, Sequence)):
        match = f"use dx.prior_from_frame(space, {series}), which matches them with those of the points"
        raise SpecError("prior", f"is a {type(given).__name__}, which has labels of its own", match)


PriorLike = Prior | str | ArrayLike
"""A prior, "uniform", or one probability for each point."""
