"""Check the losses, priors and channels that functions of analysis are given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.model.loss import Loss, LossLike
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior, PriorLike
from dxopt.model.sampling import Sampler, required_mechanism
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.geo.points import known
from dxopt.spaces.space import MetricSpace


def loss_of(mechanism: Mechanism, loss: LossLike | Loss) -> Loss:
    """Return a loss as one of the reports of the mechanism; SpecError where it is about another number of them."""
    required_mechanism(mechanism, Mechanism)
    resolved = Loss.of(loss, mechanism.space, mechanism.reports if isinstance(loss, str) else None)
    if len(resolved.reports) != len(mechanism.reports):
        raise SpecError("loss", f"has {len(resolved.reports)} columns", f"the mechanism has {len(mechanism.reports)}")
    return resolved


def matching(mechanism: Mechanism, prior: PriorLike) -> NDArray[np.float64]:
    """Return the probabilities of a prior, `(n,)`; SpecError where it is not about the secrets of the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(4), epsilon=1.0)
    >>> print(dx.evaluate.matching(mechanism, "uniform").tolist())
    [0.25, 0.25, 0.25, 0.25]
    """
    required_mechanism(mechanism, Mechanism)
    return Prior.of(prior, mechanism.space).probabilities


def joint(mechanism: Mechanism, prior: PriorLike) -> NDArray[np.float64]:
    """Return π_x K[x, z], `(n, m)`.

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


def channel_of(given: Sampler) -> NDArray[np.float64]:
    """Return the probabilities `(n, m)`, those of a table right to 2^-53 of each.

    Raises
    ------
    SpecError
        If it is neither a mechanism nor a table.
    """
    if isinstance(given, Mechanism):
        return given.matrix
    table: Any = given
    if not isinstance(given, Sampler) or not hasattr(table, "counts"):
        wrong = f"is of type {type(given).__name__}"
        raise SpecError("mechanism", wrong, "give a mechanism or a table of integers")
    # A quotient of integers is rounded once.
    return np.array([[count / table.total for count in row] for row in table.counts.tolist()])


def exact_rows(given: Sampler) -> list[Any]:
    """Return a key of each secret's row, equal for equal rows alone: such secrets are never told apart."""
    if isinstance(given, Mechanism):
        return [row.tobytes() for row in given.matrix]
    table: Any = given
    return [tuple(row) for row in table.counts.tolist()]


def require_same(mine: MetricSpace, theirs: MetricSpace, fix: str = "compose releases about the same secret") -> None:
    """Raise SpecError unless two spaces have the same points, by label, at the same distances."""
    require_same_secrets(mine, theirs, fix)
    if not _are_as_far(mine, theirs):
        raise SpecError("mechanisms", "are about secrets at different distances", "make them for the same space")


def require_same_secrets(mine: MetricSpace, theirs: MetricSpace, fix: str) -> None:
    """Raise SpecError unless two spaces have the same points, by label, at whatever distances."""
    if mine is theirs:
        return
    if len(mine) != len(theirs):
        wrong = f"are about {len(mine):,} and {len(theirs):,} secrets"
        raise SpecError("mechanisms", wrong, fix)
    for ours, other in zip(mine.labels, theirs.labels, strict=True):
        if ours != other:
            wrong = f"are about different secrets, such as {ours!r} and {other!r}"
            raise SpecError("mechanisms", wrong, fix)


def _are_as_far(mine: MetricSpace, theirs: MetricSpace) -> bool:
    return mine is theirs or np.array_equal(mine.distances, theirs.distances)


def in_levels(spaces: Sequence[MetricSpace], levels: Sequence[float], *, add: bool) -> tuple[MetricSpace, float]:
    """Return the space in which what is private for several metrics is so for one, and its level there.

    Parameters
    ----------
    spaces : sequence of k MetricSpace
        With the same points, by label; SpecError otherwise.
    levels : sequence of k floats
        ε_j for the distances d_j of each.
    add : bool
        For Σ ε_j d_j, as of independent releases; else for max ε_j d_j, as of one of them.

    Returns
    -------
    space : MetricSpace
        The first one where all have the same distances, else one with the distances Σ or max ε_j d_j, in levels.
    level : float
        Σ or max ε_j there, rounded up; 1 for distances in levels.
    """
    first, *others = spaces
    for other in others:
        require_same_secrets(first, other, "compose releases about the same secret")
    if all(_are_as_far(first, other) for other in others):
        return first, math.nextafter(math.fsum(levels), math.inf) if add else max(levels)
    combine = np.add if add else np.maximum
    apart = np.zeros((len(first), len(first)))
    for space, level in zip(spaces, levels, strict=True):
        # rounded up: a product and a sum are off by a unit each
        apart = combine(apart, level * space.distances) * (1 + 4 * UNIT)
    apart.flags.writeable = False
    where = next((found for space in spaces if (found := known(space)) is not None), None)
    return MetricSpace(first.labels, given=apart, positions=where, unit="levels"), 1.0
