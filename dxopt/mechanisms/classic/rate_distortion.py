"""The channel of least mutual information at its loss, as a baseline."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.inference import rate_distortion
from dxopt.mechanisms.classic.contract import BASELINES
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.spaces.lattices import grid, line

_LOWERED = 1e-9
"""The slope is lowered by this part against rounding, so that the channel is ε·d-private where it is in theory."""


@BASELINES.register("rate_distortion")
class RateDistortionChannel:
    """The channel of least mutual information at its expected loss, for the slope ε/2 (Blahut 1972).

    With the distance as loss it is ε·d-private, an exponential mechanism whose reports are weighted for the prior;
    other losses bound nothing.

    Examples
    --------
    >>> import dxopt as dx
    >>> problem = dx.Problem(dx.line(3), epsilon=1.0, prior=[0.5, 0.3, 0.2])
    >>> comparison = dx.compare(problem, ["rate_distortion"])
    >>> print([row.name for row in comparison.rows])
    ['optimal', 'rate_distortion']
    """

    name: ClassVar[str] = "rate_distortion"

    def refuses(self, problem: Problem) -> str | None:
        """Return the reason why there is none, or None."""
        return None if np.isfinite(problem.losses).all() else "needs finite losses"

    def channel(self, problem: Problem) -> NDArray[np.float64]:
        """The channel `(n, m)`."""
        slope = 0.5 * problem.epsilon * (1 - _LOWERED)
        found = rate_distortion(problem.space, problem.prior, problem.loss, slope=slope)
        return found.mechanism.matrix

    @staticmethod
    def examples() -> list[Problem]:
        """A loss that makes it private, and one that does not."""
        numbers = line(5)
        plane = grid((2, 3))
        return [
            Problem(numbers, epsilon=0.7, prior=Prior.from_weights(numbers, [1, 2, 3, 2, 2])),
            Problem(plane, epsilon=1.0, prior=Prior.uniform(plane), loss="squared"),
        ]
