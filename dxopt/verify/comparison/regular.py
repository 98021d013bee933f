"""Whether a prior is regular (ECP14, Def 4): π = Φμ for some μ ≥ 0, where Φ[x, y] = e^{-εd(x, y)}.

Statement. Points are put in the coarsest classes in which all have the same probability and the same numbers of
points of each class at each distance, from them and to them. Averaging over classes commutes with Φ, so that there is
a solution μ ≥ 0 exactly where there is one that is constant on classes: Ar = 1 with A[i, j] = Σ_y Φ[x_i, y] π_j / π_i
over y in class j, and μ = rπ. For any Y with ‖I - YA‖ < 1 in the norm of largest row sums, A is invertible, and r is
within |Y(1 - As)| + rows ‖Y(1 - As)‖ / (1 - ‖rows‖) of any s, where rows are the row sums of |I - YA|.

A sum of k products in any order is off by less than (k + 2)·2^-53 of the sum of their sizes to first order, of which
twice is counted; A is within (k + 16)·2^-52 of its doubles relative, which counts that of e^{-εd}, enclosed by
rationals, of the sum and of the two scalings; factors below e^-700 count as 0 within 1e-290 of all entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.exact import BITS, at_most, exp_bounds
from dxopt.verify.folder import Result
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]
_ROOM = 2.0**-52
_TINY = 1e-290
_MOST_SECRETS = 600
_SAFE = 700
_SPREAD = 1e9


@dataclass(frozen=True)
class Weights:
    """μ, between two bounds for each secret, `(n,)`."""

    low: Array
    high: Array


def check_verdict(result: Result, status: object) -> str:
    """Prove the verdict on the prior again.

    Raises
    ------
    Broken
        If it is proven to be wrong.
    Unproved
        If it is not decided.
    """
    if status == "undecided":
        return "it claims nothing"
    if status not in ("regular", "not regular"):
        raise Broken(f"comparison.json: the verdict is {status!r}")
    if not result.private:
        raise Broken("comparison.json: there is a verdict, but no privacy was asked for")
    # What is true: a reason that is decided exactly, or else the sign of μ, enclosed by doubles.
    found = next(_exactly_irregular(result), None)
    if found is None:
        weights = _weights(result)
        if weights is None:
            raise Unproved("μ is not enclosed closely enough")
        x = int(weights.high.argmin())
        if weights.high[x] < 0:
            found = f"μ is {weights.high[x]:.3g} or less at {result.secret(x)}"
        elif (weights.low < 0).any():
            raise Unproved("μ is not enclosed closely enough")
    known = "regular" if found is None else "not regular"
    if status != known:
        raise Broken(
            f"comparison.json: the verdict is {status}, but the prior is {known}: {found or 'μ is positive'}"
        )
    return found or "every entry of μ is 0 or more"


def _exactly_irregular(result: Result) -> Iterator[str]:
    """Why no μ ≥ 0 solves it, decided exactly."""
    prior = result.prior
    distances = result.distances
    # 1. Some μ_w > 0 makes π_y > 0; a secret at finite distance to y is at finite distance to w, so that it is likely
    #    as well.
    for x in np.flatnonzero(prior == 0).tolist():
        near = np.flatnonzero(np.isfinite(distances[x]) & (prior > 0))
        if len(near):
            yield f"{result.secret(x)} has probability 0, but not {result.secret(int(near[0]))}, which is near"
    # 2. Secrets with the same distances have the same row in Φ. Adding 0 makes -0 a 0, as rows are compared by bytes.
    seen: dict[bytes, int] = {}
    for x, row in enumerate(distances):
        twin = seen.setdefault((row + 0.0).tobytes(), x)
        if prior[twin] != prior[x]:
            yield f"{result.secret(twin)} and {result.secret(x)} differ in probability alone"
    # 3. Rows of Φ are alike up to a factor, and so are the probabilities that they make.
    yield from _unlike(result)


def _unlike(result: Result) -> Iterator[str]:
    """A pair with π_a > t π_b, where t is the largest Φ[a, y] / Φ[b, y], e^{ε max (d(b, y) - d(a, y))}."""
    prior = result.prior
    distances = result.distances
    level = Fraction(result.epsilon)
    # The pair is chosen in doubles, as the one that exceeds e^{εd} most, and decided exactly.
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.log(prior)[:, None] - np.log(prior)[None] - result.epsilon * distances.T
    excess[np.isnan(excess)] = -np.inf
    a, b = np.unravel_index(int(excess.argmax()), excess.shape)
    reached = np.flatnonzero(np.isfinite(distances[a]))
    if excess[a, b] <= 0 or not np.isfinite(distances[b, reached]).all():
        return
    longer = max(Fraction(float(distances[b, y])) - Fraction(float(distances[a, y])) for y in reached.tolist())
    more, less = (Fraction(float(prior[x])) for x in (a, b))
    scale = more.denominator * less.denominator
    if longer >= 0 and not at_most(int(more * scale), level * longer, int(less * scale)):
        yield f"{result.secret(int(a))} is more than e^(epsilon d) as likely as {result.secret(int(b))}"


def _weights(result: Result) -> Weights | None:
    """μ, constant on classes, enclosed; None where the system is singular or nearly so."""
    # 1. Secrets of probability 0 are far from all others here: μ is 0 there, and they are left out.
    support = np.flatnonzero(result.prior > 0)
    if len(support) > _MOST_SECRETS:
        raise Unproved(f"there are more than {_MOST_SECRETS} secrets")
    inside = result.distances[np.ix_(support, support)]
    # 2. One equation and one unknown for each class; `first` is a member of each, `weight` its probability.
    classes = _classes(inside, result.prior[support])
    first, sizes = np.unique(classes, return_index=True, return_counts=True)[1:]
    weight = result.prior[support][first]
    if weight.max() > _SPREAD * weight.min():
        return None
    # 3. A[i, j] = Σ_y Φ[x_i, y] π_j / π_i over y in class j: columns sorted by class are summed class by class.
    order = np.argsort(classes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    factors = _factors(inside[np.ix_(first, order)], Fraction(result.epsilon))
    system = np.add.reduceat(factors, starts, axis=1) * (weight[None] / weight[:, None])
    solved = _enclosed(system, (int(sizes.max()) + 16) * _ROOM)
    if solved is None:
        return None
    # 4. μ = rπ, rounded outwards, the same for all members of a class.
    low, high = np.zeros(result.size), np.zeros(result.size)
    for bounds, ratios, outwards in ((low, solved[0], -np.inf), (high, solved[1], np.inf)):
        bounds[support] = np.nextafter(ratios * weight, outwards)[classes]
    return Weights(low, high)


def _factors(distances: Array, level: Fraction) -> Array:
    """e^{-εd} within 2^-52 relative, 0 where d is infinite or the factor below e^-700."""
    distinct, which = np.unique(distances, return_inverse=True)
    found = []
    for distance in distinct.tolist():
        exponent = level * Fraction(distance) if np.isfinite(distance) else None
        large = exponent is None or exponent > _SAFE
        found.append(0.0 if large else float(Fraction(1 << BITS, exp_bounds(exponent or Fraction(0))[1])))
    return np.array(found)[which.reshape(distances.shape)]


def _enclosed(system: Array, relative: float) -> tuple[Array, Array] | None:
    """Bounds on the solution of Ar = 1 for all A within so much of a system `(k, k)`.

    None where no such A is proven to be invertible. Doubles throughout: Y is any approximate inverse, s any
    approximate solution, and all that is off is counted in bounds that are widened by the roundings of computing
    them.
    """
    size = len(system)
    if not np.isfinite(system).all():
        return None
    try:
        inverse = np.linalg.inv(system)
    except np.linalg.LinAlgError:
        return None
    # A sum of k products is off by `grow` of the sum of their sizes, with every constant generously rounded up.
    grow = 2 * (size + 10) * 2.0**-53
    unit = np.eye(size)
    radius = system * relative + _TINY
    with np.errstate(over="ignore", invalid="ignore"):
        # 1. Row sums of |I - YA|: what the double computation gives, what A may differ from the system, and
        #    roundings. Below 1, which ½ leaves room for, A is invertible.
        off = np.abs(unit - inverse @ system) + 2 * grow * unit
        off += (np.abs(inverse) @ (radius + 2 * grow * system)) * (1 + 4 * grow) + _TINY
        rows = off.sum(axis=1) * (1 + 4 * grow)
        if not rows.max() < 0.5:
            return None
        # 2. s, refined twice: any s would do, and a good one gives narrow bounds.
        solution = inverse @ np.ones(size)
        for _ in range(2):
            solution = solution + inverse @ (1.0 - system @ solution)
        # 3. |1 - As| at most, and |Y(1 - As)| from it.
        left = np.abs(1.0 - system @ solution) + 2 * grow
        left += (radius + 2 * grow * system) @ np.abs(solution) * (1 + 4 * grow)
        moved = (np.abs(inverse) @ left) * (1 + 4 * grow)
        # 4. |r - s| ≤ |Y(1 - As)| + rows ‖Y(1 - As)‖ / (1 - ‖rows‖).
        error = (moved + rows * moved.max() / (1 - rows.max())) * (1 + 8 * grow) + _TINY
    return np.nextafter(solution - error, -np.inf), np.nextafter(solution + error, np.inf)


def _classes(distances: Array, prior: Array) -> NDArray[np.int64]:
    """The class `(s,)` of each point, numbered from 0: the coarsest classes of the statement above."""
    levels, kinds = np.unique(distances, return_inverse=True)
    kinds = kinds.reshape(distances.shape)
    # Points differ by probability at first, then by which classes they see at which distances, from them and to
    # them, until that makes no more classes. A pair (class, distance) is one integer; sorting counts them.
    classes = np.unique(prior, return_inverse=True)[1]
    while True:
        views = [np.sort(classes[None] * len(levels) + view, axis=1) for view in (kinds, kinds.T)]
        keys = np.concatenate([classes[:, None], *views], axis=1)
        refined = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        if refined.max() == classes.max():
            return refined
        classes = refined
