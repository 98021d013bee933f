"""Realised privacy of a mechanism for pairs of beliefs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dxopt.analysis.channels import channel_of
from dxopt.errors import SpecError
from dxopt.model.beliefs.pairs import Pairs
from dxopt.model.mechanism import Mechanism
from dxopt.model.sampling import Sampler
from dxopt.numerics.mixtures import least_level
from dxopt.numerics.rounding import UNIT
from dxopt.runtime.shown import Shown

_SUM = 1e-9


@dataclass(frozen=True, repr=False)
class BeliefLevel(Shown):
    """The smallest ε at which a mechanism keeps pairs of beliefs together, and what needs it.

    Attributes
    ----------
    epsilon : float
        Rounded up: proven. Infinite where a report is possible under one belief of a pair alone.
    pair : int or None
        The pair that needs it; None where all beliefs expect the same reports.
    name : str
        What that pair is about.
    report : str
        The label of the report that shows it, or its number.
    expected : (float, float)
        How probable that report is under the first and under the second belief of the pair.

    Examples
    --------
    >>> import dxopt as dx
    >>> rain = dx.BeliefPairs([[0.8, 0.2]], [[0.4, 0.6]], names=["rain or not"])
    >>> found = dx.evaluate.belief_level([[0.7, 0.3], [0.3, 0.7]], rain)
    >>> print(found.name, round(found.epsilon, 3))
    rain or not 0.298
    """

    epsilon: float
    pair: int | None = None
    name: str = ""
    report: str = ""
    expected: tuple[float, float] = (0.0, 0.0)

    def __float__(self) -> float:
        return self.epsilon

    def __str__(self) -> str:
        if self.pair is None:
            return f"epsilon {self.epsilon:.6g}: no report tells any beliefs apart"
        one, other = self.expected
        return f"epsilon {self.epsilon:.6g}: report {self.report} has {one:.6g} and {other:.6g} for {self.name}"


def belief_level(mechanism: Sampler | ArrayLike, pairs: Pairs) -> BeliefLevel:
    """The smallest ε for which θK ≤ e^{εd} θ'K holds for all pairs in every report, rounded up, and its witness.

    Parameters
    ----------
    mechanism : Mechanism, IntegerTable or (n, m) array
        Of any kind, with or without a proof; its matrix is computed.
    pairs : BeliefPairs
        Over its n secrets; their own level does not matter.

    Raises
    ------
    SpecError
        If it is no channel, or the pairs are about other secrets.
    UnsupportedError
        If its matrix would be too large.

    Examples
    --------
    >>> import dxopt as dx
    >>> space = dx.line(3)
    >>> pairs = dx.BeliefPairs.of(space, [([0.8, 0.2, 0], [0, 0.2, 0.8])])
    >>> print(round(dx.evaluate.belief_level(dx.classic.geometric(space, epsilon=1.0), pairs).epsilon, 3))
    1.569
    """
    if not isinstance(pairs, Pairs):
        raise SpecError("pairs", f"are of type {type(pairs).__name__}", "give dx.BeliefPairs")
    rounded = 0.0
    if isinstance(mechanism, Sampler):
        if pairs.labels is not None and tuple(pairs.labels) != tuple(mechanism.space.labels):
            raise SpecError("pairs", "are about other secrets than the mechanism", "make them for its space")
        channel, labels = channel_of(mechanism), mechanism.reports.labels
        # doubles are within 2^-53 of the entries of a table, so that a ratio of mixtures is within twice that
        rounded = 0.0 if isinstance(mechanism, Mechanism) else 4 * UNIT
    else:
        channel = _channel(mechanism)
        labels = [str(report) for report in range(channel.shape[1])]
    if len(channel) != pairs.secrets:
        wrong = f"are about {pairs.secrets} secrets, the mechanism about {len(channel)}"
        raise SpecError("pairs", wrong, "make them for its space")
    epsilon, worst = least_level(pairs.first, pairs.second, pairs.distances, channel)
    epsilon = (epsilon + rounded / float(pairs.distances.min())) * (1 + rounded)
    if worst is None:
        return BeliefLevel(epsilon)
    pair, report = worst
    one, other = (float(side[pair] @ channel[:, report]) for side in (pairs.first, pairs.second))
    return BeliefLevel(epsilon, pair, pairs.names[pair], str(labels[report]), (one, other))


def _channel(given: ArrayLike) -> np.ndarray:
    """Rows of probabilities; SpecError where they are none."""
    try:
        array = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise SpecError("mechanism", f"is of type {type(given).__name__}", "give a mechanism or a matrix") from None
    if array.ndim != 2 or not array.size or not (np.isfinite(array) & (array >= 0)).all():
        raise SpecError("mechanism", "is no matrix of probabilities", "give a row for each secret")
    if (np.abs(array.sum(axis=1) - 1) > _SUM).any():
        raise SpecError(
            "mechanism", "has a row that does not sum to 1", "give a row of probabilities for each secret"
        )
    return array
