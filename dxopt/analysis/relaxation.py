"""Compute the least ε of a mechanism for a δ, and the least δ for an ε, proven (HLM14 Def 1)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.model.levels import checked_delta
from dxopt.model.mechanism import Mechanism
from dxopt.model.required import required_mechanism
from dxopt.numerics.excess import bound_pairs, least_delta, least_epsilon
from dxopt.numerics.written import Written, number_of


def smallest_delta(mechanism: Mechanism, epsilon: Written, *, pairs: str = "all") -> float:
    """The smallest δ for which the mechanism is (εd, δ)-private: proven, as it is rounded up (HLM14 Def 1).

    max over pairs of Σ_z max(0, K[x, z] - e^{εd(x, x')} K[x', z]), which the worst set of reports attains. Rounding
    adds about 1e-14, and budgets over 700 count as 700.

    Parameters
    ----------
    mechanism : Mechanism
        Of n secrets and m reports; it takes n²·m operations.
    epsilon : float
        Per unit of distance, 0 or more; at 0 it is the largest distance of two rows in total variation.
    pairs : {"all", "adjacent"}
        Which ordered pairs of secrets are bound, as for `dx.Problem`.

    Raises
    ------
    SpecError
        If ε is negative or infinite, or pairs are of no such kind.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> print(round(dx.evaluate.smallest_delta(mechanism, 0.5), 3))
    0.462
    """
    required_mechanism(mechanism, Mechanism)
    epsilon = number_of(epsilon, "epsilon") if isinstance(epsilon, str) else epsilon
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise SpecError("epsilon", f"is {epsilon:g}", "give a finite number of 0 or more")
    distances = mechanism.space.distances
    return least_delta(mechanism.matrix, distances, epsilon, bound_pairs(distances, pairs))


def smallest_epsilon(mechanism: Mechanism, delta: float = 0.0, *, pairs: str = "all") -> float:
    """The smallest ε for which the mechanism is (εd, δ)-private: proven, as it is rounded up (HLM14 Def 1).

    Infinite where there is none, and where only budgets over 700 would do.

    Parameters
    ----------
    mechanism : Mechanism
        Of n secrets and m reports; it takes a few times n²·m operations.
    delta : float
        From 0 to below 1.
    pairs : {"all", "adjacent"}
        Which ordered pairs of secrets are bound, as for `dx.Problem`.

    Raises
    ------
    SpecError
        If δ is out of range, or pairs are of no such kind.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.Mechanism.from_matrix(dx.line(2), [[0.75, 0.25], [0.25, 0.75]])
    >>> print(round(dx.evaluate.smallest_epsilon(mechanism), 4))
    1.0986
    """
    required_mechanism(mechanism, Mechanism)
    distances = mechanism.space.distances
    return least_epsilon(mechanism.matrix, distances, checked_delta(delta), bound_pairs(distances, pairs))


def privacy_profile(mechanism: Mechanism, epsilons: ArrayLike, *, pairs: str = "all") -> NDArray[np.float64]:
    """`smallest_delta` at each of k values ε, `(k,)`: the whole trade between ε and δ.

    Parameters
    ----------
    mechanism : Mechanism
    epsilons : (k,) array
        Per unit of distance, 0 or more.
    pairs : {"all", "adjacent"}
        As for `smallest_delta`.

    Raises
    ------
    SpecError
        As for `smallest_delta`.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> print(dx.evaluate.privacy_profile(mechanism, [0, 0.5, 1]).round(3).tolist())
    [0.632, 0.462, 0.0]
    """
    return np.array([smallest_delta(mechanism, float(one), pairs=pairs) for one in np.asarray(epsilons).ravel()])
