"""The loss and the prior of a mechanism: a column for each of its reports, a number for each of its secrets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.model.loss import Loss, LossLike
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior, PriorLike
from dxopt.model.required import required_mechanism


def loss_of(mechanism: Mechanism, loss: LossLike | Loss) -> Loss:
    """The loss of each report of the mechanism; SpecError where their numbers differ."""
    required_mechanism(mechanism)
    resolved = Loss.of(loss, mechanism.space, mechanism.reports if isinstance(loss, str) else None)
    if len(resolved.reports) != len(mechanism.reports):
        raise SpecError("loss", f"has {len(resolved.reports)} columns", f"the mechanism has {len(mechanism.reports)}")
    return resolved


def matching(mechanism: Mechanism, prior: PriorLike) -> NDArray[np.float64]:
    """The probabilities of a prior, `(n,)`; SpecError where it is not about the secrets of the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(4), epsilon=1.0)
    >>> print(dx.evaluate.matching(mechanism, "uniform").tolist())
    [0.25, 0.25, 0.25, 0.25]
    """
    required_mechanism(mechanism)
    return Prior.of(prior, mechanism.space).probabilities


def joint(mechanism: Mechanism, prior: PriorLike) -> NDArray[np.float64]:
    """π_x K[x, z], `(n, m)`.

    Raises
    ------
    SpecError
        If the prior does not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(2), epsilon=1.0)
    >>> print(dx.evaluate.joint(mechanism, [0.8, 0.2]).round(3).tolist())
    [[0.585, 0.215], [0.054, 0.146]]
    """
    return matching(mechanism, prior)[:, None] * mechanism.matrix
