"""The privacy-constraints matrix and its corners."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.model.prior import Prior
from dxopt.model.privacy import checked_level
from dxopt.numerics.number_syntax import Written
from dxopt.spaces.space import MetricSpace, required_space


def phi(space: MetricSpace, epsilon: float) -> NDArray[np.float64]:
    """Return the privacy-constraints matrix Φ[x, x'] = e^{-εd(x, x')}, `(n, n)` (ECP14, Def 3).

    A report's probabilities v obey v_x' ≥ Φ[x, x'] v_x. Where d is asymmetric, the corners are its columns and the
    regular priors are the π = μΦᵀ with μ ≥ 0.

    Parameters
    ----------
    space : MetricSpace
    epsilon : float
        Privacy level per unit of distance.

    Raises
    ------
    SpecError
        If ε is not a positive finite number.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.regularity.phi(dx.line(3), 1.0).round(3).tolist())
    [[1.0, 0.368, 0.135], [0.368, 1.0, 0.368], [0.135, 0.368, 1.0]]
    """
    required_space(space)
    epsilon = checked_level(epsilon)
    with np.errstate(over="ignore"):  # an εd that overflows leaves e^{-εd} = 0
        return np.exp(-epsilon * space.distances)


def corner_prior(
    space: MetricSpace, epsilon: Written, point: Any = None, *, label: Any = None, index: Any = None
) -> Prior:
    """Return the regular prior most biased to one point: proportional to e^{-εd(·, point)} (ECP14, Def 5).

    Parameters
    ----------
    space, epsilon
        As for `phi`.
    point : int, label, or tuple of coordinates
        As for `MetricSpace.index`, where that can be one point only.
    label, index
        The point by one of these instead.

    Raises
    ------
    SpecError
        If there is no such point, several have that label, or ε is not a positive finite number.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.regularity.corner_prior(dx.line(3), 1.0, label="0").probabilities.round(3).tolist())
    [0.665, 0.245, 0.09]
    """
    required_space(space)
    corner = space.index(point, label=label, index=index)
    with np.errstate(over="ignore"):  # an εd that overflows leaves e^{-εd} = 0
        weights = np.exp(-checked_level(epsilon) * space.block(np.arange(len(space)), [corner])[:, 0])
    return Prior.from_weights(space, weights, name=f"corner at {space.labels[corner]}")


def corner_priors(space: MetricSpace, epsilon: Written) -> tuple[Prior, ...]:
    """Return the n corner priors, in the order of the points; the regular priors are their mixtures (ECP14, Prop 3).

    Raises
    ------
    SpecError
        If ε is not a positive finite number.

    Examples
    --------
    >>> import dxopt as dx
    >>> for prior in dx.regularity.corner_priors(dx.line(2), 1.0):
    ...     print(prior.probabilities.round(3).tolist())
    [0.731, 0.269]
    [0.269, 0.731]
    """
    required_space(space)
    return tuple(corner_prior(space, epsilon, index=point) for point in range(len(space)))
