"""Lower bounds on the cost of any private channel, from multipliers of the privacy constraints, and of products.

Statement. Let K be a channel, so that K ≥ 0 and Σ_z K[x, z] = 1 in every secret x. Some ordered pairs (a, b) are
bound: those at finite distance, or with δ perhaps only the adjacent ones of them. For these and all reports z

    K[a, z] ≤ e^{εd(a, b)} K[b, z] + t(a, b, z)   with t ≥ 0, Σ_z t(a, b, z) ≤ δ, and t = 0 where δ = 0; or, times
    e^{-εd(a, b)}, K[b, z] ≥ e^{-εd(a, b)} K[a, z] - s(a, b, z)   with s ≥ 0, Σ_z s(a, b, z) ≤ δ e^{-εd(a, b)}.

For any multipliers λ(a, b, z) ≥ 0 and costs c[x, z],

    Σ c[x, z] K[x, z] ≥ Σ_x min_z r[x, z] - δ Σ_(a, b) e^{-εd(a, b)} max_z λ(a, b, z),
    r[x, z] = c[x, z] - Σ_a λ(a, x, z) + Σ_b λ(x, b, z) e^{-εd(x, b)}:

subtracting λ (K[b, z] - e^{-εd} K[a, z] + s) ≥ 0 for every triple leaves Σ r K - Σ λ s, rows of K sum to 1, and
Σ_z λ s is at most max_z λ times Σ_z s. The r are the reduced costs. Nothing else of a dual, such as its row prices,
is needed or read: every λ ≥ 0 proves a bound, and only how good it is depends on the λ.

All is computed in integers over a power of two, 2^bits, in which costs and multipliers are exact however small they
are. Every rounding makes the right-hand side smaller:

- costs that are no products of doubles are rounded down, and each r grows with its cost;
- λ e^{-εd} is rounded down where it is added to r, and up in what δ costs, Σ e^{-εd} max_z λ.

Products: what falls apart by coordinate, and what is off where prior and loss do so only nearly.

Statement. Let l_i be losses of the coordinates and m_i weights on their points, of total M_i, and K private for
distances that are at most d_i(a, b) along axis i, whatever the other coordinates are. Drawing the others from m_j
/ M_j and leaving out what is reported of them makes of K a channel of coordinate i that is private for d_i, as
its entries are means of sums of entries of K. If b_i is a lower bound on Σ m_i l_i K_i for all such channels,
then for the prior π and the loss l, with L_i(x) = max_z |l_i(x, z)|,

    Σ π l K ≥ Σ_i b_i Π_{j ≠ i} M_j - Σ_x |π(x) - Π_i m_i(x_i)| Σ_i L_i(x_i) - Σ_x π(x) max_z |l - Σ_i l_i|,

as Σ_z Σ_i l_i K is at most Σ_i L_i in size. The m_i are the sums of the prior along the other axes, each rounded
once. The last two sums are taken in doubles: a product of k weights is off by k·2^-53 of itself, and all else by
less than 10^-9 of what is summed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.exact import Exact, decay_bounds, total
from dxopt.verify.files import Arrays, indices, numbers
from dxopt.verify.privacy import Levels

Array = NDArray[np.float64]
NO_MULTIPLIERS = {key: np.zeros(0) for key in ("report", "first", "second", "multiplier")}
"""The arrays of a dual where all λ are 0, which proves Σ_x min_z c[x, z]."""
_UNIT = 2.0**-53
_COST_BITS = 256
_GUARD_BITS = 64
_FARTHEST = 710
"""e^-710 is about the least positive normal double."""


@dataclass(frozen=True)
class Costs:
    """Lower bounds on costs c `(n, m)`, as integers over 2^bits."""

    rows: list[list[int]]
    bits: int


def bits_for(*largest: float) -> int:
    """Return the bits at which the product of some numbers is about 2^256, so that roundings are negligible.

    Any number of bits gives a true bound; with fewer it is only less sharp.
    """
    return _COST_BITS - sum(int(np.frexp(number)[1]) for number in largest)


def weighted_costs(weights: Array, losses: Array) -> Costs:
    """Return c[x, z] = w(x) l(x, z) for weights w, a prior or any others, and losses l, all finite; exact."""
    weighed = Exact.of(weights)
    return costs_by_weights(weighed.rows[0], weighed.bits, losses)


def costs_by_weights(weights: Sequence[int], unit: int, losses: Array) -> Costs:
    """Return costs w(x) l(x, z), exact, given the weights as the integers w·2^unit."""
    paid = Exact.of(losses)
    exact = unit + paid.bits
    largest = float(Fraction(max(weights, default=0), 1 << unit))
    bits = max(exact, bits_for(largest, float(np.abs(losses).max(initial=0.0))))
    rows = [[weight * loss << bits - exact for loss in row] for weight, row in zip(weights, paid.rows, strict=True)]
    return Costs(rows, bits)


def bound_by_multipliers(
    costs: Costs, levels: Levels, delta: Fraction, dual: Arrays, impossible: NDArray[np.bool_] | None = None
) -> tuple[Fraction, str]:
    """Return the lower bound on Σ c K that the multipliers of a dual prove, and how: the first statement above.

    K is 0 in the mask `impossible` `(n, m)`, so that the least of r is that of the other reports.
    """
    n, m = len(costs.rows), len(costs.rows[0])
    # 1. The dual lists triples: λ(first, second, report) = multiplier. Triples that are not bound and multipliers
    #    that are not positive and finite are left out, which is the same as multipliers of 0. (An index out of range
    #    is refused even so: then the file is not what it says.)
    multiplier = numbers(dual, "multiplier", None)
    report, first, second = (
        indices(dual, key, size, len(multiplier)) for key, size in (("report", m), ("first", n), ("second", n))
    )
    good = np.isfinite(multiplier) & (multiplier > 0) & levels.bound[first, second]
    kept = (values[good].tolist() for values in (report, first, second, levels.which[first, second]))
    # 2. Multipliers and costs in a unit in which both are exact, and the least λ e^{-εd} nearly so. (Multipliers are
    #    one row of numbers, the only one.)
    exact = Exact.of(multiplier[good])
    farthest = min(levels.exponent(-1) if len(levels.distances) else Fraction(0), Fraction(_FARTHEST))
    bits = max(costs.bits, exact.bits + 2 * int(farthest) + _GUARD_BITS)
    [amounts] = exact.scaled(bits)
    # 3. Reduced costs: λ comes off r in b, and λ e^{-εd}, rounded down, is added to r in a. `kind` is the number of
    #    the distance among the distinct ones, and its exponent is εd, exact; `decay_bounds` gives
    #    integers below and above λ e^{-εd}. With δ, multipliers of each pair are summed by report, as a triple may
    #    be listed twice.
    reduced = [[cost << bits - costs.bits for cost in row] for row in costs.rows]
    by_pair: dict[tuple[int, int], dict[int, int]] = {}
    for z, a, b, kind, amount in zip(*kept, amounts, strict=True):
        reduced[b][z] -= amount
        below, _ = decay_bounds(amount, levels.exponent(kind))
        reduced[a][z] += below
        if delta:
            by_report = by_pair.setdefault((a, b), {})
            by_report[z] = by_report.get(z, 0) + amount
    # 4. What δ costs, Σ e^{-εd} max_z λ, rounded up: the second of the two integers.
    lost = sum(
        decay_bounds(max(by_report.values()), levels.exponent(levels.which[pair]))[1]
        for pair, by_report in by_pair.items()
    )
    # 5. A row of K is a distribution, so that it pays at least its least reduced cost.
    if impossible is not None:
        reduced = [list(compress(row, left)) for row, left in zip(reduced, (~impossible).tolist(), strict=True)]
    found = (sum(map(min, reduced)) - delta * lost) / Fraction(2) ** bits
    return found, f"weak duality, {int(np.count_nonzero(good)):,} multipliers"


def marginals(prior: Array, shape: Sequence[int]) -> list[Array]:
    """Return the m_i: for each axis the sums of the prior along all other axes, correctly rounded."""
    tensor = prior.reshape(shape)
    return [
        np.array(list(map(math.fsum, np.moveaxis(tensor, axis, 0).reshape(size, -1).tolist())))
        for axis, size in enumerate(shape)
    ]


def sum_above(found: float) -> Fraction:
    """Return an upper bound on a sum of numbers of 0 or more, given what doubles found."""
    return Fraction(found) * (1 + Fraction(1, 10**9))


def prior_missed(prior: Array, parts: Sequence[Array], largest: Sequence[Array]) -> Fraction:
    """Return an upper bound on Σ_x |π(x) - Π m_i(x_i)| Σ_i L_i(x_i), what is lost as the prior is no exact product.

    `parts` are the m_i, and `largest` the L_i.
    """
    product = reduce(lambda made, part: np.multiply.outer(made, part).reshape(-1), parts)
    sizes = outer_sum(largest)
    # The product in doubles is off by k·2^-53 of itself, and its difference from the prior by one rounding more.
    off = np.abs(prior - product) + (len(parts) + 1) * _UNIT * product
    return sum_above(float((off * sizes).sum()))


def outer_sum(parts: Sequence[Array]) -> Array:
    """Return Σ_i f_i(x_i) for all tuples x, the last coordinate fastest."""
    return reduce(lambda made, part: np.add.outer(made, part).reshape(-1), parts)


def combine_bounds(bounds: Sequence[Fraction], parts: Sequence[Array]) -> Fraction:
    """Return Σ_i b_i Π_{j ≠ i} M_j, the bound on a product by bounds b_i for its axes, M_j the sum of `parts[j]`."""
    masses = list(map(total, parts))
    found = Fraction(0)
    for axis, bound in enumerate(bounds):
        others = masses[:axis] + masses[axis + 1 :]
        found += bound * math.prod(others, start=Fraction(1))
    return found


def pairs_along(matrix: NDArray, shape: Sequence[int], axis: int) -> NDArray:
    """Return the entries of pairs that differ along one axis of s points alone, `(k, s, s)` for k other tuples."""
    before = math.prod(shape[:axis])
    size = shape[axis]
    after = math.prod(shape[axis + 1 :])
    pairs = matrix.reshape(before, size, after, before, size, after)
    return np.einsum("ipjiqj->ijpq", pairs).reshape(-1, size, size)


def summands(losses: Array, shape: Sequence[int]) -> tuple[list[Array], Array]:
    """Return losses l_i of the axes with Σ l_i near l, and a bound on max_z |l - Σ l_i| for each secret.

    l_i are the losses where all other coordinates are the first, less the first loss of all in all axes but one.
    """
    parts = [pairs_along(losses, shape, axis)[0] - (losses[0, 0] if axis else 0.0) for axis in range(len(shape))]
    # Σ l_i for all pairs of tuples: each axis makes of a matrix (s, s) one of (s·k, s·k).
    made = reduce(
        lambda sums, part: (sums[:, None, :, None] + part[None, :, None, :]).reshape(len(sums) * len(part), -1), parts
    )
    # Each of the k sums and of the differences rounds by at most 2^-53 of all sizes together.
    sizes = sum(float(np.abs(part).max()) for part in parts) + float(np.abs(losses).max())
    return parts, np.abs(losses - made).max(axis=1) + (len(parts) + 2) * _UNIT * sizes
