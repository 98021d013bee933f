"""Upper bounds on what any private mechanism can reveal: binary utility and min-entropy leakage.

All bounds rest on one fact: if μ ≥ 0 and μΦᵀ ≥ π, no private mechanism has a binary utility above Σμ. Such a μ is
found approximately and then raised, entry by entry, until the inequality holds with every rounding counted.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.regularity.verdicts import verdict
from dxopt.analysis.regularity.weights import CLASSED_POINTS, Quotient, growth
from dxopt.errors import SolveError, UnsupportedError
from dxopt.model.prior import Prior, PriorLike
from dxopt.model.privacy import checked_level
from dxopt.numerics.coerce import checked_count
from dxopt.numerics.number_syntax import Written
from dxopt.numerics.rounding import UNIT, factor_below
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]


def utility_bound(prior: PriorLike, space: MetricSpace, epsilon: Written) -> float:
    """Return Σμ for a regular prior π = μΦᵀ: no private mechanism has a larger binary utility (ECP14, Thm 2).

    Attained where the tight-constraints mechanism exists. The number returned lies above the exact one by rounding
    only, and is a bound also where regularity is undecided.

    Parameters
    ----------
    prior : Prior on n points
    space : MetricSpace of n points
    epsilon : float
        Privacy level per unit of distance.

    Returns
    -------
    float
        A probability: of guessing the secret.

    Raises
    ------
    UnsupportedError
        If the prior is not regular, or Φ is singular to working precision; `binary_utility_bound` holds for every
        prior.
    SpecError
        If the sizes differ or ε is not a positive finite number.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(round(dx.regularity.utility_bound("uniform", dx.line(4), 1.0), 3))
    0.597
    """
    epsilon = checked_level(epsilon)
    found = verdict(prior, space, epsilon)
    if found.status == "not regular" or found.mu is None:
        raise UnsupportedError("prior", f"is not proven regular ({found})", "use binary_utility_bound")
    if len(space) > CLASSED_POINTS and found.status == "regular" and found.error is not None:
        return min(1.0, math.fsum(found.mu + found.error) * (1 + 4 * UNIT))
    return min(1.0, _raised(np.maximum(found.mu, 0.0), Prior.of(prior, space).probabilities, space, epsilon))


def binary_utility_bound(prior: PriorLike, space: MetricSpace, epsilon: Written) -> float:
    """Return min {Σμ : μΦᵀ ≥ π, μ ≥ 0}: no private mechanism has a larger binary utility, whatever the prior.

    For a regular prior this is at most the bound of ECP14, Thm 2, whose proof needs only μΦᵀ ≥ π. By linear
    programming on the classes of points that are alike; any feasible μ gives a bound, so the solver is not trusted.
    Parameters as for `utility_bound`.

    Raises
    ------
    SolveError
        If the solver returned no numbers.
    SpecError
        If the sizes differ or ε is not a positive finite number.

    Examples
    --------
    >>> import dxopt as dx
    >>> line = dx.line(3)
    >>> print(round(dx.regularity.binary_utility_bound([0.8, 0.1, 0.1], line, 1.0), 3))
    0.8
    """
    from scipy.optimize import linprog

    epsilon = checked_level(epsilon)
    probabilities = Prior.of(prior, space).probabilities
    # The linear program on classes, with the largest prior scaled to 1; points of prior 0 have no μ. An εd that
    # overflows leaves e^{-εd} = 0.
    quotient = Quotient.of(space.distances, probabilities)
    with np.errstate(over="ignore"):
        system = quotient.sums(np.exp(-epsilon * quotient.lengths))
    scale = quotient.prior.max()
    sizes, least = quotient.sizes.astype(float), quotient.prior / scale
    found = linprog(sizes, A_ub=-system, b_ub=-least, bounds=(0, None), method="highs")
    if found.x is None:
        raise SolveError(f"the linear program of the utility bound failed: {found.message}")
    mu = quotient.spread(np.maximum(np.asarray(found.x, dtype=float), 0.0) * scale, len(space))
    # Made feasible with every rounding counted. μ = π is feasible as well, so that 1 is always a bound.
    return min(1.0, _raised(mu, probabilities, space, epsilon))


def leakage_bound(prior: PriorLike | None, space: MetricSpace, epsilon: Written) -> float:
    """Return the most that any private mechanism leaks, as min-entropy leakage in bits.

    For a regular prior π = μΦᵀ it is log2(Σμ / max π) (ECP14, Prop 5), for any other the same with the least Σμ of
    μΦᵀ ≥ π. With None in place of a prior it is that of the uniform prior, which bounds the leakage under every prior
    (ECP14, Cor 2): no channel leaks more under another. Parameters as for `utility_bound`.

    Raises
    ------
    SpecError
        If the sizes differ or ε is not a positive finite number.

    Examples
    --------
    >>> import dxopt as dx
    >>> line = dx.line(4)
    >>> print(round(dx.regularity.leakage_bound("uniform", line, 1.0), 3))
    1.255
    """
    chosen = Prior.uniform(space) if prior is None else Prior.of(prior, space)
    most = float(chosen.probabilities.max())
    try:
        utility = utility_bound(chosen, space, epsilon)
    except UnsupportedError:
        utility = binary_utility_bound(chosen, space, epsilon)
    ratio = utility / most
    # nothing leaks more than the min-entropy of the prior
    return min(math.log2(ratio * (1 + 4 * UNIT)) * (1 + 8 * UNIT), -math.log2(most))


def database_leakage_bound(values: int, individuals: int, epsilon: Written) -> float:
    """Return u log2(|V| e^ε / (|V| - 1 + e^ε)) bits: the most that ε lets leak of a database (ECP14, Thm 3).

    Holds for every prior on the databases V^u under ε times the Hamming distance.

    Parameters
    ----------
    values : int
        |V|, the number of values of a record.
    individuals : int
        u, the number of records.
    epsilon : float
        Privacy level per record.

    Raises
    ------
    SpecError
        If a number is not positive, or a count is not an integer.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(round(dx.regularity.database_leakage_bound(values=2, individuals=10, epsilon=1.0), 2), "of 10 bits")
    5.48 of 10 bits
    """
    epsilon = checked_level(epsilon)
    values, individuals = checked_count("values", values), checked_count("individuals", individuals)
    nats = math.log(values) - math.log1p((values - 1) * math.exp(-epsilon))
    return individuals * (nats / math.log(2)) * (1 + 16 * UNIT) + individuals * 64 * UNIT


def _raised(mu: Array, probabilities: Array, space: MetricSpace, epsilon: float) -> float:
    """Raise μ until Σ_y e^{-εd(x, y)} μ_y ≥ π_x is proven for every x, and return its sum, rounded up: a bound."""
    # Raising μ_x by what x is short of raises the left side by as much at least, as the diagonal of Φ is 1. Underflow
    # takes less than 1e-300.
    below = factor_below(epsilon, space.distances) @ mu
    short = probabilities - below * (1 - growth(len(mu))) + 1e-300
    raised = np.where(short > 0, (mu + short) * (1 + 4 * UNIT), mu)
    return math.fsum(raised) * (1 + 2 * UNIT)
