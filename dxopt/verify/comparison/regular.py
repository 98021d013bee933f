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

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
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
_NUMBER = r"(-?[0-9.]{1,32}(?:e[+-]?[0-9]{1,3})?)"
_REGULAR = re.compile(rf"regular: every entry of μ is at least {_NUMBER}")
_NEGATIVE = re.compile(rf"not regular: μ is {_NUMBER} at (.*), within {_NUMBER}", re.DOTALL)


@dataclass(frozen=True)
class Weights:
    """μ, between two bounds for each secret, `(n,)`."""

    low: Array
    high: Array


def check_verdict(result: Result, claimed: object) -> str:
    """Prove the verdict on the prior again, and the numbers in it.

    Raises
    ------
    Broken
        If it is proven to be wrong.
    Unproved
        If it is not decided.
    """
    text = str(claimed)
    status = text.partition(":")[0]
    if status == "undecided":
        return "it claims nothing"
    if status not in ("regular", "not regular"):
        raise Broken(f"claims.json: the verdict is {text!r}")
    if not result.private:
        raise Broken("claims.json: there is a verdict, but no privacy was asked for")
    # What is true: a reason that is decided exactly, or else the sign of μ, enclosed by doubles.
    reason = next(_exactly_irregular(result), None)
    weights = None if reason else _weights(result)
    if reason is None and weights is not None and (weights.high < 0).any():
        reason = f"μ is negative at {result.secret(int(weights.high.argmin()))}"
    regular = reason is None and weights is not None and bool((weights.low >= 0).all())
    # The claim, and then its numbers.
    if reason is not None and status == "regular":
        raise Broken(f"claims.json: the prior is not regular, as {reason}")
    if regular and status == "not regular":
        raise Broken("claims.json: the prior is regular")
    if found := _REGULAR.fullmatch(text):
        return _check_least(result, found[1], weights, regular)
    if found := _NEGATIVE.fullmatch(text):
        if weights is not None:
            _check_entry(result, found[1], found[2], found[3], weights)
    elif status == "regular":
        raise Broken(f"claims.json: the verdict is {text!r}")
    if reason is None:
        raise Unproved(text)
    return f"not regular: {reason}"


def _check_least(result: Result, claimed: str, weights: Weights | None, regular: bool) -> str:
    """Whether every entry of μ is at least a number."""
    least = Fraction(Decimal(claimed))
    if weights is not None:
        x = int(weights.high.argmin())
        if Fraction(float(weights.high[x])) < least:
            raise Broken(f"claims.json: μ is {weights.high[x]:.17g} at {result.secret(x)}, less than {claimed}")
    if weights is None or not regular or Fraction(float(weights.low.min())) < least:
        raise Unproved("μ is not enclosed closely enough")
    return f"regular: every entry of μ is at least {claimed}"


def _check_entry(result: Result, claimed: str, label: str, within: str, weights: Weights) -> None:
    """Whether μ at a secret is a number, up to another; Broken where it is not."""
    value = Fraction(Decimal(claimed))
    off = Fraction(Decimal(within))
    named = [x for x in range(result.size) if result.secret(x) == label]
    if not named:
        raise Broken(f"claims.json: the verdict is about {label}, which is no secret")
    low, high = (Fraction(float(bounds[named[0]])) for bounds in (weights.low, weights.high))
    if high < value - off or low > value + off:
        raise Broken(f"claims.json: μ is {float(low):.17g} at {label}, not {claimed} within {within}")


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
