"""The region of regular priors: its corners, who is in it, and its volume with a proven error."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import NDArray

from dxopt.analysis.regularity.corner import corner_priors
from dxopt.analysis.regularity.verdicts import Verdict, verdict
from dxopt.analysis.regularity.weights import CLASSED_POINTS, Enclosure, growth
from dxopt.errors import UnsupportedError
from dxopt.model.prior import PriorLike
from dxopt.model.privacy import checked_level
from dxopt.numerics.number_syntax import Written, level_text
from dxopt.numerics.rounding import UNIT, factor_above, factor_below
from dxopt.runtime.display import Shown
from dxopt.spaces.space import MetricSpace, required_space

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Region(Shown):
    """The regular priors at one ε: the mixtures of the corner priors (ECP14, Prop 3).

    Attributes
    ----------
    space : MetricSpace
        Of n secrets.
    epsilon : float
    corners : (n, n) array
        The corner prior of each secret, in a row.
    volume : float
        The share of all priors that are regular, |det| of the corners: 0 where they lie in a plane.
    low, high : float
        Proven: the volume is between them.

    Examples
    --------
    >>> import dxopt as dx
    >>> region = dx.regularity.region(dx.line(3), 1.0)
    >>> print(round(region.volume, 4), region.high - region.low < 1e-12, region.contains("uniform").status)
    0.1906 True regular
    """

    space: MetricSpace
    epsilon: float
    corners: Array = field(repr=False)
    volume: float
    low: float
    high: float

    def contains(self, prior: PriorLike) -> Verdict:
        """Decide whether a prior is in it: see `verdict`."""
        return verdict(prior, self.space, self.epsilon)

    def _summary(self) -> str:
        return f"{len(self.corners):,} secrets at epsilon {level_text(self.epsilon)}: {self.volume:.3g} of all priors"


def region(space: MetricSpace, epsilon: Written) -> Region:
    """Return the region of regular priors at ε, with its volume as a share of all priors.

    In doubles log |det Φ| comes from a factorisation of an approximate inverse; it holds for every Φ in an interval
    around the real e^{-εd}, with all roundings counted.

    Parameters
    ----------
    space : MetricSpace
        Of at most 2,000 secrets.
    epsilon : float
        Privacy level per unit of distance.

    Raises
    ------
    SpecError
        If ε is not a positive finite number.
    UnsupportedError
        If there are more secrets.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(round(dx.regularity.region(dx.grid((3, 3)), 2.0).volume, 4))
    0.0199
    """
    required_space(space)
    level = checked_level(epsilon)
    if len(space) > CLASSED_POINTS:
        raise UnsupportedError("space", f"has {len(space):,} secrets", f"take {CLASSED_POINTS:,} at most")
    corners = np.array([corner.probabilities for corner in corner_priors(space, level)])
    corners.flags.writeable = False
    found = _log_share(space, level)
    if found is None:
        # nearly singular: nothing is proven of it but that it is a share
        volume, low, high = float(min(1.0, abs(np.linalg.det(corners)))), 0.0, 1.0
    else:
        logs, error = found
        volume, low, high = (min(1.0, math.exp(one)) for one in (logs, logs - error, logs + error))
    return Region(space, level, corners, volume, low, high)


def _log_share(space: MetricSpace, epsilon: float) -> tuple[float, float] | None:
    """Return ln of |det Φ| over the product of the sums of its columns, and a bound on its error; None if unknown."""
    below, above = factor_below(epsilon, space.distances), factor_above(epsilon, space.distances)
    enclosure = Enclosure.of(below, above)
    if enclosure is None:
        return None
    size, rho = len(below), float(enclosure.rows.max())
    # 1. |det A| |det Y| is within (1 ± ρ)^n for every A in the interval, as ‖I - YA‖ ≤ ρ
    error = -size * math.log1p(-rho)
    # 2. det Y from its factors: off by (1 ± σ)^n with σ = ‖Y⁻¹‖ ‖Y - PLU‖, and ‖Y⁻¹‖ ≤ ‖A‖ / (1 - ρ)
    _, lower, upper = scipy.linalg.lu(enclosure.inverse)
    off = growth(size) * (np.abs(lower) @ np.abs(upper)) * (1 + growth(size))
    sigma = float(above.sum(axis=1).max() / (1 - rho) * off.sum(axis=1).max()) * (1 + growth(size))
    if not sigma < 0.5:
        return None
    error -= size * math.log1p(-sigma)
    # 3. columns, whose sums lie between those of the bounds; each logarithm is rounded by a few units
    logs = [-math.log(abs(one)) for one in np.diagonal(upper).tolist()]
    logs += [-math.log(one) for one in above.sum(axis=0).tolist()]
    error += float(np.log(above.sum(axis=0) / below.sum(axis=0)).sum()) + growth(size) * size
    error += 8 * UNIT * (sum(map(abs, logs)) + len(logs))
    return math.fsum(logs), error * (1 + 1e-9)
