"""All priors that fit given totals: of regions, of marginals, or of any numbers that points have.

The largest expected loss over them is a linear program. By its dual, any numbers y prove an upper bound on it:
Σ_x π_x r_x ≤ Σ_i max(y_i low_i, y_i high_i) + max_x (r_x - Σ_i y_i A_ix), where the sum of a prior is one row more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, optional
from dxopt.model.prior_sets import PriorSet
from dxopt.numerics.coerce import as_distributions, as_list, as_number, as_numbers
from dxopt.numerics.prior_polytope import Mixtures
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Row = tuple[Array, float, float]
"""The weight of each point, and the least and the largest total."""
_INSIDE = 0.5
"""Members are found within this share of the slack, so that rounding does not lead out of it."""
_FINEST = 1e-10
"""Feasibility tolerances of HiGHS: the smallest that it takes."""
_AS_GOOD = 1e-9
"""The saved `proof` is taken if its bound is no larger than a new one by more than this part of it."""


@dataclass(frozen=True, eq=False, repr=False)
class Fitting(PriorSet):
    """All π ≥ 0 with low - within ≤ A π ≤ high + within, and whose sum is 1 up to `within`.

    The rows of A, `forms` `(q, n)`, are what each point counts in each total. A set that is read from a file has two
    fields more, so that a saved proof holds again: `proof`, the y `(q + 1,)` by which the value of the saved answer
    was proven, taken unless others prove less; and `around`, the saved centre.
    """

    forms: Array
    low: Array
    high: Array
    within: float
    space: MetricSpace | None = None
    proof: Array | None = None
    around: Array | None = None
    kind: ClassVar[str] = "fitting"

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return f"fitting {len(self.low)} totals"

    @property
    def sides(self) -> tuple[Array, Array, Array]:
        """A with a last row for the sum of a prior; and the lower and upper bounds, with slack, rounded outwards."""
        forms = np.vstack([self.forms, np.ones(len(self))])
        low, high = np.append(self.low, 1.0) - self.within, np.append(self.high, 1.0) + self.within
        return forms, np.nextafter(low, -np.inf), np.nextafter(high, np.inf)

    def __len__(self) -> int:
        return self.forms.shape[1]

    @property
    def reach(self) -> NDArray[np.bool_]:
        """Mask of the secrets that may be positive: those that no total of at most 0 counts with positive weight."""
        empty = (self.high <= 0) & (self.forms.min(axis=1) >= 0)
        return np.asarray(~(self.forms[empty] > 0).any(axis=0))

    @cached_property
    def centre(self) -> Array:
        """The prior whose least probability in `reach` is largest.

        The linear program has one more variable, which is at most every probability in `reach`, and is maximised.
        """
        if self.around is not None:
            return self.around
        size = len(self)
        reached = self.reach.astype(float)
        found = self._program(np.append(np.zeros(size), 1.0), np.column_stack([-np.eye(size), reached]))
        if found is None:
            raise SpecError("prior", "no prior fits the totals", "widen them, or raise within")
        return self._member(found[0][:size])

    @cached_property
    def mixtures(self) -> Mixtures:
        """The centre alone: the corners of the set are too many, so that solvers and proofs name a few priors."""
        return Mixtures.hull(self.centre[None, :])

    def members(self) -> Array:
        """Return priors of the set `(k, n)` to begin a search with: the centre, and the largest in each total."""
        return np.array([self.centre, *(self.worst(form) for form in self.forms)])

    def arrays(self) -> dict[str, Any]:
        return {"forms": self.forms, "low": self.low, "high": self.high, "within": self.within}

    def worst(self, losses: Any) -> Array:
        found = self._program(
            np.where(self.reach, as_numbers(losses, "losses", "give a number for each secret"), 0.0)
        )
        return self.centre if found is None else self._member(found[0])

    def largest(self, losses: Any) -> float:
        known = np.where(self.reach, as_numbers(losses, "losses", "give a number for each secret"), 0.0)
        return self.ceiling(known, self.multipliers(known))

    def multipliers(self, losses: Array) -> Array:
        """Return y `(q + 1,)` for which `ceiling` is about least; zeros, which prove less, if the solver fails."""
        found = self._program(np.where(self.reach, losses, 0.0))
        mine = np.zeros(len(self.low) + 1) if found is None else found[1]
        if self.proof is None:
            return mine
        least = self.ceiling(losses, mine)
        return self.proof if self.ceiling(losses, self.proof) <= least + _AS_GOOD * abs(least) else mine

    def ceiling(self, losses: Array, multipliers: Array) -> float:
        """Return the upper bound on the expected loss over the set that any y prove (the formula above)."""
        forms, low, high = self.sides
        left = np.where(self.reach, losses - multipliers @ forms, -np.inf)
        raised = multipliers.copy()
        raised[-1] += left.max()
        return math.fsum(np.maximum(raised * low, raised * high))

    def has(self, member: Array) -> bool:
        """Decide exactly whether a prior `(n,)` is one of the set."""
        if not (np.isfinite(member) & (member >= 0)).all() or (member[~self.reach] > 0).any():
            return False
        exact = [Fraction(float(one)) for one in member]
        forms, _, _ = self.sides
        for form, low, high in zip(forms.tolist(), [*self.low, 1.0], [*self.high, 1.0], strict=True):
            total = sum((Fraction(one) * share for one, share in zip(form, exact, strict=True) if one), Fraction(0))
            missed = max(Fraction(float(low)) - total, total - Fraction(float(high)))
            if missed > Fraction(self.within):
                return False
        return True

    def _member(self, found: Array) -> Array:
        """Turn a solution of the program into a prior: no negative entries, none outside `reach`, and sum 1."""
        kept = np.where(self.reach, np.maximum(found, 0.0), 0.0)
        return kept / math.fsum(kept)

    def _program(self, gains: Array, below: Array | None = None) -> tuple[Array, Array] | None:
        """Find where Σ gains·π is largest over the set, by HiGHS: the solution and the multipliers y, or None.

        Gains beyond those of the n secrets are of further, free variables. Rows of `below` are over all variables:
        their products with the solution are to be at most 0.
        """
        linprog = optional("scipy.optimize").linprog
        size = len(self)
        slack = _INSIDE * self.within
        more = len(gains) - size
        forms = np.column_stack([self.forms, np.zeros((len(self.low), more))])
        rows = np.vstack([forms, -forms] + ([] if below is None else [below]))
        sides = np.concatenate([self.high + slack, -(self.low - slack), np.zeros(0 if below is None else len(below))])
        scale = float(np.abs(gains).max()) or 1.0  # the tolerances are absolute
        ranges = [(0.0, None if one else 0.0) for one in self.reach] + [(None, None)] * more
        total = np.append(np.ones(size), np.zeros(more))[None, :]
        options = {"primal_feasibility_tolerance": _FINEST, "dual_feasibility_tolerance": _FINEST}
        found = linprog(-gains / scale, rows, sides, total, [1.0], ranges, method="highs", options=options)
        if found.x is None:
            return None
        # one y for each total, from its upper and its lower bound; linprog minimised the negative, divided by `scale`
        up, down = np.split(found.ineqlin.marginals[: 2 * len(self.low)], 2)
        return found.x, -scale * np.append(up - down, found.eqlin.marginals)


def unpack_fitting(prior: Array, arrays: Mapping[str, Any]) -> Fitting:
    """Make a saved set again from `prior`, its centre, and `Fitting.arrays`; SpecError if these do not fit."""
    size = len(prior)
    forms, low, high = (np.array(arrays[key], dtype=float) for key in ("forms", "low", "high"))
    within = float(arrays["within"])
    proof = np.array(arrays["proof"], dtype=float) if "proof" in arrays else None
    shapes = low.ndim == 1 and low.shape == high.shape and forms.shape == (len(low), size)
    shapes = shapes and (proof is None or proof.shape == (len(low) + 1,))
    finite = all(np.isfinite(one).all() for one in (forms, low, high, proof) if one is not None)
    if not (shapes and finite and 0 < within < 1):
        raise SpecError("prior", "has totals that do not fit the points", "solve the problem again")
    return Fitting(forms, low, high, within, proof=proof, around=prior)


def rows_of_totals(space: MetricSpace, totals: Sequence[tuple[ArrayLike, float, float]]) -> list[Row]:
    """Return the totals that a user gave as rows of a `Fitting`; SpecError about one that is no such total."""
    rows: list[Row] = []
    for place, one in enumerate(as_list(totals, "totals", "give a list of (counts, low, high)")):
        try:
            counts, low, high = one
            row = as_numbers(counts, "totals", ""), as_number(low, "totals"), as_number(high, "totals")
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


def rows_of_marginals(space: MetricSpace, marginals: Sequence[ArrayLike | None] | None) -> list[Row]:
    """Return a row for each value of each coordinate whose marginal is given: its total is the given probability."""
    if marginals is None:
        return []
    shape = space.structure.shape
    marginals = as_list(marginals, "marginals", "give one for each coordinate")
    if len(shape) != len(marginals) or math.prod(shape) != len(space):
        wrong = f"are {len(marginals)} for a space of {len(shape)} coordinates"
        fix = "give one for each coordinate of a grid or product, ~ (in Python None) where it may be any"
        raise SpecError("marginals", wrong, fix)
    places = np.array(np.unravel_index(np.arange(len(space)), shape))
    rows: list[Row] = []
    for axis, one in enumerate(marginals):
        if one is None:
            continue
        fix = f"give {shape[axis]} probabilities for coordinate {axis}"
        known = as_distributions(one, "marginals", fix, shape[axis])
        rows += [((places[axis] == value).astype(float), share, share) for value, share in enumerate(known.tolist())]
    return rows
