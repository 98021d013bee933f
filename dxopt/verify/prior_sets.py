"""Sets of priors, as problem.npz describes them: the largest loss over a set, and what weights of a dual prove.

A set is all sums of parts. Each part has a mass, and is made of rows: single secrets, or members (distributions). It
holds all weights of 0 or more on its rows that sum to its mass, none above the cap of its row.

- `everyone`: one part of mass 1, of all secrets, without caps.
- `hull`: one part of mass 1, of the members.
- `ball` of radius r about π: r anywhere, and 1 - r with caps π.
- `box`: the lower bounds l as they are, and what they leave of 1 with caps u - l.
- `fitting`: all π ≥ 0 with low ≤ A π ≤ high up to a slack, where the last row of A is the sum, which is 1. Weights
  are of members that a dual names, each looked at; the largest loss is bounded by numbers y that problem.npz names.

Masses and caps are the doubles that these formulas give; all else is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.exact import weighted_sum
from dxopt.verify.files import Arrays, number, numbers
from dxopt.verify.verdict import Broken

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Totals:
    """The set `fitting`: `low` ≤ Aπ ≤ `high`, with `forms` A `(q, n)`; `multipliers` y bound the largest loss.

    With r the losses of secrets, Σ_x π_x r_x ≤ Σ_i max(y_i low_i, y_i high_i) + max_x (r_x - Σ_i y_i A_ix) Σ_x π_x;
    the last term is added to the y of the last row, the sum of π.
    """

    forms: Array
    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    multipliers: Array
    slack: Fraction

    @property
    def reach(self) -> NDArray[np.bool_]:
        """Secrets that may have mass: 0 in every row without negative entries whose upper end is 0, up to slack."""
        empty = np.array([high <= self.slack for high in self.high]) & (self.forms.min(axis=1) >= 0)
        return np.asarray(~(self.forms[empty] > 0).any(axis=0))

    def largest(self, losses: Sequence[Fraction]) -> Fraction:
        """Bound the largest loss from above, by the numbers y."""
        numbers = [Fraction(one) for one in self.multipliers.tolist()]
        columns = self.forms.T.tolist()
        left = [losses[x] - weighted_sum(columns[x], numbers) for x in np.flatnonzero(self.reach).tolist()]
        numbers[-1] += max(left)
        sides = zip(numbers, self.low, self.high, strict=True)
        return sum((max(y * low, y * high) for y, low, high in sides), Fraction(0))

    def require_members(self, members: Array) -> None:
        """Broken unless all rows of `members` are priors of the set."""
        if not (np.isfinite(members) & (members >= 0)).all() or (members[:, ~self.reach] > 0).any():
            raise Broken("dual.npz: a member of the set of priors is no distribution of it")
        for place, member in enumerate(members):
            shares = [Fraction(one) for one in member.tolist()]
            for form, low, high in zip(self.forms.tolist(), self.low, self.high, strict=True):
                total = weighted_sum(form, shares)
                if not low <= total <= high:
                    raise Broken(f"dual.npz: member {place} does not fit a total: {float(total):.17g}")


KINDS = ("hull", "ball", "box", "fitting")
_SUM = 1e-9
_CLOSE = 1e-12


@dataclass(frozen=True)
class Part:
    """One part: its mass, and the secrets of its rows with their caps; of a hull those that its members have."""

    mass: Fraction
    secrets: NDArray[np.int64]
    caps: Array | None = None
    members: Array | None = None

    def worth(self, losses: Sequence[Fraction]) -> list[Fraction]:
        """Return the loss of each row, given that of each secret."""
        if self.members is None:
            return [losses[x] for x in self.secrets.tolist()]
        return [weighted_sum(member, losses) for member in self.members.tolist()]

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return len(self.secrets) if self.members is None else len(self.members)

    def worst(self, worth: Sequence[Fraction]) -> dict[int, Fraction]:
        """Return the weights of rows that lose most: the worst rows first, each up to its cap."""
        left = self.mass
        found = {}
        for row in sorted(range(len(worth)), key=lambda row: worth[row], reverse=True):
            found[row] = left if self.caps is None else min(left, Fraction(self.caps[row]))
            left -= found[row]
            if not left:
                break
        return found

    def largest(self, losses: Sequence[Fraction]) -> Fraction:
        """Return the largest loss of any weights on the rows that this part allows."""
        worth = self.worth(losses)
        return sum((weight * worth[row] for row, weight in self.worst(worth).items()), Fraction(0))


@dataclass(frozen=True)
class Priors:
    """A set of priors on so many secrets: of parts, or those that fit totals."""

    size: int
    parts: tuple[Part, ...]
    totals: Totals | None = None
    lowest: tuple[Fraction, ...] = ()
    highest: tuple[Fraction, ...] = ()

    @property
    def regret(self) -> bool:
        """True if losses count against the optimum for each member, known to be from `lowest` to `highest`."""
        return bool(self.lowest)

    def mixtures(self, members: Array) -> Priors:
        """Return the mixtures of some priors that a dual names; Broken unless all fit the totals of the set."""
        if self.totals is None:
            raise Broken("dual.npz: the set of priors has no other members")
        self.totals.require_members(members)
        return Priors(self.size, (Part(Fraction(1), np.flatnonzero(members.max(axis=0) > 0), members=members),))

    @property
    def reach(self) -> NDArray[np.bool_]:
        """The secrets that some prior of the set has."""
        if self.totals is not None:
            return self.totals.reach
        found = np.zeros(self.size, dtype=bool)
        for part in self.parts:
            found[part.secrets] = True
        return found

    def largest(self, losses: Sequence[Fraction]) -> Fraction:
        """Return the largest expected loss, given what each secret loses."""
        if self.totals is not None:
            return self.totals.largest(losses)
        if self.regret:
            # convex in the prior, so that one of the members is the worst
            [members] = self.parts
            return max(lost - low for lost, low in zip(members.worth(losses), self.lowest, strict=True))
        return sum((part.largest(losses) for part in self.parts), Fraction(0))

    def worst_weights(self, losses: Array) -> Array:
        """Return weights of the prior that loses most if secrets lose this, in place of those of a dual."""
        found = []
        for part in self.parts:
            own = np.zeros(part.rows)
            for row, weight in part.worst(part.worth(list(map(Fraction, losses.tolist())))).items():
                own[row] = float(weight)
            found.append(own)
        return np.concatenate(found)

    def prior_of_weights(self, weights: Array) -> tuple[list[int], int, Fraction, Fraction]:
        """Return the prior that weights of a dual give, each cut off at its cap, and what makes it one of the set.

        Returns
        -------
        prior : list of n integers
            The probabilities times 2^bits.
        bits : int
        divisor : Fraction
            Divided by it, no part has more than its mass. Without caps any sum will do: it may be less than 1.
        short : Fraction
            The mass that is still missing after this division.
        """
        if len(weights) != sum(part.rows for part in self.parts):
            raise Broken(f"dual.npz: {len(weights)} weights do not fit the set of priors")
        kept = np.where(np.isfinite(weights), np.maximum(weights, 0.0), 0.0)
        ends = np.cumsum([part.rows for part in self.parts])[:-1]

        # 1. the prior, over a power of two, as all numbers are doubles
        exact = [Fraction(0)] * self.size
        sums = []
        for part, own in zip(self.parts, np.split(kept, ends), strict=True):
            each = list(map(Fraction, (own if part.caps is None else np.minimum(own, part.caps)).tolist()))
            sums.append(sum(each, Fraction(0)))
            for place, x in enumerate(part.secrets.tolist()):
                exact[x] += each[place] if part.members is None else weighted_sum(part.members[:, x].tolist(), each)
        bits = max(share.denominator for share in exact).bit_length() - 1
        prior = [share.numerator * ((1 << bits) // share.denominator) for share in exact]

        # 2. what keeps it to the masses
        divisor = max(total / part.mass for total, part in zip(sums, self.parts, strict=True))
        if any(part.caps is not None for part in self.parts):
            divisor = max(divisor, Fraction(1))
        if not divisor:
            raise Broken("dual.npz: all weights are 0")
        masses = sum((part.mass for part in self.parts), Fraction(0))
        return prior, bits, divisor, max(masses - sum(sums) / divisor, Fraction(0))


def everyone(size: int) -> Priors:
    """Return the set of all priors on so many secrets."""
    return Priors(size, (Part(Fraction(1), np.arange(size)),))


def read_priors(problem: Arrays, prior: Array) -> Priors:
    """Return the set in problem.npz, whose centre is `prior`; Broken where there is none."""
    kind = str(problem.get("prior_set", ""))
    if kind not in KINDS:
        raise Broken(f"problem.npz: there is no set of priors of kind {kind!r}")
    size = len(prior)
    if kind == "hull":
        return _hull(problem, prior)
    if kind == "fitting":
        return Priors(size, (), _totals(problem, size))
    if kind == "ball":
        radius = number(problem, "prior_set.radius")
        if not 0 < radius < 1:
            raise Broken(f"problem.npz: the set of priors has a radius of {radius:g}")
        return _set_of_parts(size, [(radius, np.full(size, np.inf)), (1 - radius, prior)])
    lower, upper = (numbers(problem, f"prior_set.{end}", size) for end in ("lower", "upper"))
    good = (lower >= 0) & (lower <= upper) & (upper <= 1)
    if not good.all() or math.fsum(lower) > 1 + _SUM or math.fsum(upper) < 1 - _SUM:
        raise Broken("problem.npz: no prior is between the bounds")
    if ((prior < lower - _CLOSE) | (prior > upper + _CLOSE)).any():
        raise Broken("problem.npz: the prior is not between the bounds")
    least = math.fsum(lower)
    room = upper - lower
    return _set_of_parts(size, [(least, lower), (min(max(1 - least, 0.0), math.fsum(room)), room)])


def read_regret(problem: Arrays, prior: Array) -> Priors:
    """Return the hull in problem.npz, with bounds on the optimum for each of its members, which regret is against."""
    found = read_priors(problem, prior)
    if len(found.parts) != 1 or found.parts[0].members is None:
        raise Broken("problem.npz: the regret is not about a hull of priors")
    count = found.parts[0].rows
    lowest, highest = (numbers(problem, f"prior_set.{end}", count) for end in ("lowest", "highest"))
    if not (np.isfinite(lowest) & np.isfinite(highest)).all():
        raise Broken("problem.npz: an optimum that the regret is against is no number")
    exact = [tuple(map(Fraction, side.tolist())) for side in (lowest, highest)]
    return Priors(found.size, found.parts, None, exact[0], exact[1])


def _hull(problem: Arrays, prior: Array) -> Priors:
    """Read the members of a hull; Broken unless they are distributions whose mean is the prior."""
    members = numbers(problem, "prior_set.members", problem["prior_set.names"].size, len(prior))
    if not len(members) or not (np.isfinite(members) & (members >= 0)).all():
        raise Broken("problem.npz: a member of the set of priors is no distribution")
    if any(abs(math.fsum(row) - 1) > _SUM for row in members):
        raise Broken("problem.npz: a member of the set of priors does not sum to 1")
    if np.abs(members.mean(axis=0) - prior).max() > _CLOSE:
        raise Broken("problem.npz: the prior is not the mean of the members")
    reached = np.flatnonzero(members.max(axis=0) > 0)
    return Priors(len(prior), (Part(Fraction(1), reached, members=members),))


def _totals(problem: Arrays, size: int) -> Totals:
    """Read a set that fits totals, and add the row of the sum, which is 1 up to the same slack."""
    low = numbers(problem, "prior_set.low", None)
    high = numbers(problem, "prior_set.high", len(low))
    forms = numbers(problem, "prior_set.forms", len(low), size)
    within = number(problem, "prior_set.within")
    multipliers = numbers(problem, "prior_set.proof", len(low) + 1)
    if not all(np.isfinite(one).all() for one in (low, high, forms, multipliers)) or not 0 < within < 1:
        raise Broken("problem.npz: the totals of the set of priors are no numbers")
    slack = Fraction(within)
    ends = [[Fraction(one) for one in [*side.tolist(), 1.0]] for side in (low, high)]
    return Totals(
        np.vstack([forms, np.ones(size)]),
        tuple(one - slack for one in ends[0]),
        tuple(one + slack for one in ends[1]),
        multipliers,
        slack,
    )


def _set_of_parts(size: int, parts: list[tuple[float, Array]]) -> Priors:
    """Return the set of parts, each given by a mass and caps for all secrets; mass 0 and caps of 0 are left out."""
    found = []
    for mass, caps in parts:
        secrets = np.flatnonzero(caps > 0)
        if mass > 0:
            own = caps[secrets]
            found.append(Part(Fraction(mass), secrets, own if np.isfinite(own).all() else None))
    return Priors(size, tuple(found))
