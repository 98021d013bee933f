"""Decide whether a prior is regular: proven, disproven, or undecided within the error of the arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.regularity.weights import CLASSED_POINTS, UNDERFLOW, Quotient, growth, weights
from dxopt.errors import SpecError
from dxopt.model.factors import product_of, product_parts
from dxopt.model.prior import Prior, PriorLike
from dxopt.model.privacy import checked_level
from dxopt.numerics.number_syntax import Written, digits_down, digits_up
from dxopt.numerics.rounding import UNIT, factor_above, factor_below
from dxopt.runtime.display import Shown
from dxopt.spaces.kernels.systems import system
from dxopt.spaces.products import sides
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Status = Literal["regular", "not regular", "undecided"]
_SMALL = 1e-6
"""Above this error, relative to the largest weight, a vector that separates the prior is looked for as well."""
_LP_SECONDS = 20.0
_LIFTS = 3


class Decided(Shown):
    """A status with its reason; as a truth value, True where it is the one `sought`, an error where undecided."""

    sought: ClassVar[str]
    status: Any
    reason: str

    def __bool__(self) -> bool:
        if self.status == "undecided":
            raise SpecError("verdict", f"is {self}", "look at its status")
        return self.status == self.sought

    def __str__(self) -> str:
        return f"{self.status}: {self.reason}"


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(Decided):
    """Verdict on a prior at one ε.

    Attributes
    ----------
    status : "regular", "not regular" or "undecided"
        The first two are proven for the doubles of the prior and the real products of the doubles ε and d.
    mu : (n,) array or None
        Approximately the μ with π = μΦᵀ (ECP14, Def 4) that is constant on points that neither the distances nor the
        prior tell apart; None where Φ could not be inverted or the prior was refused before.
    gamma : (n,) array or None
        The weights of the corner priors in it, γ_x = μ_x Σ_x' e^{-εd(x', x)} / Σπ (ECP14, Prop 3).
    error : (n,) array or None
        A proven bound on the error of each entry of `mu`.
    reason : str
        One line.

    Examples
    --------
    >>> import dxopt as dx
    >>> verdict = dx.regularity.verdict("uniform", dx.line(3), 1.0)
    >>> print(verdict.status, verdict.mu.round(3).tolist())
    regular [0.244, 0.154, 0.244]
    """

    sought: ClassVar[str] = "regular"
    status: Status
    mu: Array | None
    gamma: Array | None
    error: Array | None
    reason: str


def verdict(prior: PriorLike, space: MetricSpace, epsilon: Written) -> Verdict:
    """Decide whether π = μΦᵀ for some μ ≥ 0 (ECP14, Def 4), soundly.

    Φ is taken as the interval matrix around the real e^{-εd}, the prior as its exact doubles (its scale does not
    matter). First, up to 2,000 points, the necessary conditions (equal probabilities where the distances are equal,
    full support, ECP14 Prop 1; Prop 2 follows from it); then μ with a proven error, by the structure of the space
    where it has one (`weights`); where Φ cannot be inverted, a search by linear programming for a vector v with
    vΦ ≥ 0 and v·π < 0, which is then checked with every rounding counted.

    Parameters
    ----------
    prior : Prior on n points
    space : MetricSpace of n points
        Extended, pseudo- and quasi-metrics included.
    epsilon : float
        Privacy level per unit of distance.

    Returns
    -------
    Verdict
        "undecided" where μ has an entry that cannot be distinguished from 0 (all corner priors but those of tiny
        spaces), or Φ is singular to working precision and nothing speaks against regularity. What is undecided so,
        and is a product up to rounding, is decided by its factors: it is regular exactly where these are, and the
        verdict is on their product.

    Raises
    ------
    SpecError
        If the sizes differ or ε is not a positive finite number.

    Examples
    --------
    >>> import dxopt as dx
    >>> line = dx.line(3)
    >>> for prior in ("uniform", [0.8, 0.1, 0.1]):
    ...     print(dx.regularity.verdict(prior, line, 1.0).status)
    regular
    not regular
    """
    epsilon = checked_level(epsilon)
    probabilities = Prior.of(prior, space).probabilities
    if len(space) <= CLASSED_POINTS:
        never = why_never_regular(space, probabilities) or _broken_ratio(space, probabilities, epsilon)
        if never:
            return Verdict("not regular", None, None, None, never)
    found = _verdict_by_weights(space, probabilities, epsilon)
    factors = sides(space)
    if found.status != "undecided" or len(factors) < 2:
        return found
    parts = product_parts(probabilities, tuple(map(len, factors)))
    return found if parts is None else _verdict_by_factors(factors, parts, epsilon) or found


def _verdict_by_factors(factors: Sequence[MetricSpace], parts: Sequence[Array], epsilon: float) -> Verdict | None:
    """Return the verdict on a product prior from those on its factors; None where one is undecided."""
    # each different factor is decided once
    known = {(id(factor), part.tobytes()): (factor, part) for factor, part in zip(factors, parts, strict=True)}
    verdicts = {key: verdict(part / part.sum(), factor, epsilon) for key, (factor, part) in known.items()}
    found = [verdicts[id(factor), part.tobytes()] for factor, part in zip(factors, parts, strict=True)]
    if (worst := next((one for one in found if one.status == "not regular"), None)) is not None:
        return Verdict("not regular", None, None, None, f"a factor of the prior is not: {worst.reason}")
    if any(one.status == "undecided" for one in found):
        return None
    mu, gamma, most = (
        product_of([of(one) for one in found])
        for of in (lambda one: one.mu, lambda one: one.gamma, lambda one: np.abs(one.mu) + one.error)
    )
    error = (most - np.abs(mu)) * (1 + 4 * UNIT) + 4 * len(found) * UNIT * most
    for array in (mu, gamma, error):
        array.flags.writeable = False
    return Verdict("regular", mu, gamma, error, f"each of its {len(found)} factors is regular")


def why_never_regular(space: MetricSpace, probabilities: Array) -> str | None:
    """Return the reason why no ε makes the prior regular, by exact comparisons; None where none was found."""
    distances = space.distances
    labels = space.labels
    # π = μΦᵀ is positive at every point within finite distance of one where it is.
    empty = np.flatnonzero(probabilities == 0)
    full = np.flatnonzero(probabilities > 0)
    reached = np.argwhere(np.isfinite(distances[np.ix_(empty, full)]))
    if len(reached):
        nothing = int(empty[reached[0, 0]])
        other = int(full[reached[0, 1]])
        return f"the probability of {labels[nothing]} is 0, but that of {labels[other]} within finite distance is not"
    # Points with the same distances have the same row of Φ, and so the same probability; -0.0 counts as 0.0.
    first: dict[bytes, int] = {}
    for point, row in enumerate(distances):
        twin = first.setdefault((row + 0.0).tobytes(), point)
        if probabilities[twin] != probabilities[point]:
            return f"{labels[twin]} and {labels[point]} have the same distances but different probabilities"
    return None


def _broken_ratio(space: MetricSpace, probabilities: Array, epsilon: float) -> str | None:
    """Return why the prior is not regular if some pair has π_x > e^{εd(x', x)} π_x' (ECP14 Prop 1), proven.

    None otherwise.
    """
    distances = space.distances
    labels = space.labels
    # The pair that breaks it by most, in doubles; 0/0 breaks nothing.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = np.log(probabilities)
        excess = logs[None, :] - logs[:, None] - epsilon * distances
    excess[np.isnan(excess)] = -np.inf
    small, large = divmod(int(excess.argmax()), len(excess))
    if not excess[small, large] > 0:
        return None
    # The proof: Φ[small, y] ≥ c Φ[large, y] for every y gives π_small ≥ c π_large. The least quotient, rounded down,
    # is such a c; in exact arithmetic the triangle inequality makes it e^{-εd}.
    above = factor_above(epsilon, distances[large])
    counted = above > 0
    least = float((factor_below(epsilon, distances[small])[counted] / above[counted]).min()) * (1 - 4 * UNIT)
    if not probabilities[small] < least * probabilities[large] * (1 - 4 * UNIT):
        return None
    return f"{labels[large]} is more than e^(epsilon d) as likely as {labels[small]}, against ECP14 Prop 1"


def _verdict_by_weights(space: MetricSpace, probabilities: Array, epsilon: float) -> Verdict:
    """Return the verdict from the signs of μ, or from a vector that separates π from the regular priors.

    The vector is only looked for where μ is unknown, or known too roughly for its signs to decide.
    """
    found = weights(space, epsilon, probabilities)
    mu = found.values
    error = found.error
    uncertain = mu is None or error is None or (not found.decided and error.max() > _SMALL * np.abs(mu).max())
    separated = False
    if uncertain and len(space) <= CLASSED_POINTS:
        separated = separates(*Quotient.of(space.distances, probabilities).between(epsilon, epsilon))
    if mu is None or error is None:
        reason = "a vector v with vΦ ≥ 0 and v·π < 0 was found" if separated else "Φ is singular to working precision"
        return Verdict("not regular" if separated else "undecided", None, None, None, reason)
    status: Status = "regular" if found.proven else "not regular" if separated or len(found.negative) else "undecided"
    # Σ_x' e^{-εd(x', x)} for every x, by structure where the matrix is large; an εd that overflows adds 0
    with np.errstate(over="ignore"):
        if len(space) <= CLASSED_POINTS:
            sums = np.exp(-epsilon * space.distances).sum(axis=0)
        else:
            sums, _ = system(space, epsilon).apply(np.ones(len(mu)))
    gamma = mu * sums / math.fsum(probabilities)
    for array in (mu, gamma, error):
        array.flags.writeable = False
    return Verdict(status, mu, gamma, error, _reason(space, status, mu, error))


def status_of_signs(values: Array, errors: Array) -> Status:
    """Return "regular" if all values are surely ≥ 0, "not regular" if one is surely < 0, else "undecided"."""
    if (values - errors >= 0).all():
        return "regular"
    return "not regular" if (values + errors < 0).any() else "undecided"


def _reason(space: MetricSpace, status: Status, mu: Array, error: Array) -> str:
    """Return the reason of a status in one line, whose printed numbers are rounded so that it stays true."""
    if status == "regular":
        return f"every entry of μ is at least {digits_down(max(0.0, float((mu - error).min())), 3):g}"
    if status == "not regular":
        worst = int((mu + error).argmin())
        shown = float(f"{mu[worst]:.6g}")
        within = digits_up(abs(shown - float(mu[worst])) + 2 * float(error[worst]), 2)
        return f"μ is {shown:g} at {space.labels[worst]}, within {within:.1e}"
    unsure = np.flatnonzero((mu - error < 0) & (mu + error >= 0))
    return f"μ cannot be told from 0 at {space.labels[unsure[0]]} and {len(unsure) - 1} other points"


def separates(low: Array, high: Array) -> bool:
    """Find and prove a vector v with vA ≥ 0 for every A within the bounds and Σv < 0 (Farkas).

    Then no r ≥ 0 has Ar = 1: the prior is not regular. False says nothing. The systems here are scaled so that the
    prior is 1 everywhere and every A has a diagonal of 1 or more.
    """
    from scipy.optimize import linprog

    if not np.isfinite(high).all():
        return False
    # A candidate for the middle of the bounds; the box makes the program bounded.
    middle = 0.5 * low + 0.5 * high
    ones, zeros, options = np.ones(len(middle)), np.zeros(len(middle)), {"time_limit": _LP_SECONDS}
    found = linprog(ones, A_ub=-middle.T, b_ub=zeros, bounds=(-1, 1), method="highs", options=options)
    if found.x is None:
        return False
    # Rounding may leave some product just below 0. As the diagonal of A is 1 or more, adding s to every entry adds at
    # least s to every product; few such steps lead to a vector that is proven, if its sum stays negative.
    vector = np.asarray(found.x, dtype=float)
    for _ in range(_LIFTS):
        short = float(_products_below(vector, low, high).min())
        if short >= 0:
            return math.fsum(vector) < 0
        vector = vector - 2 * short
    return False


def _products_below(vector: Array, low: Array, high: Array) -> Array:
    """Bound the entries of vA from below for every A within the bounds."""
    gained = np.maximum(vector, 0.0) @ low
    lost = np.maximum(-vector, 0.0) @ high
    return gained - lost - growth(len(vector)) * (gained + lost) - UNDERFLOW
