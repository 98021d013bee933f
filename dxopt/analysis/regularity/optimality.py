"""Prove whether a mechanism is optimal on every regular prior at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.regularity.corner import phi
from dxopt.analysis.regularity.verdicts import Decided
from dxopt.errors import SpecError
from dxopt.model.mechanism import Mechanism
from dxopt.model.privacy import checked_level
from dxopt.model.sampling import required_mechanism
from dxopt.numerics.coerce import FROM_0, as_number
from dxopt.numerics.number_syntax import Written, digits_up
from dxopt.numerics.rounding import factor_above

Array = NDArray[np.float64]
_PRIVATE_SLACK = 1e-9
_STRICT = 1e-12
"""A column has to miss being tight by more than this part of its largest entry, which rounding cannot explain."""
_TOLERANCE = "give a number of 0 or more"


@dataclass(frozen=True, eq=False, repr=False)
class RegionVerdict(Decided):
    """Verdict whether some remap turns a mechanism into a tight-constraints mechanism.

    Attributes
    ----------
    status : "optimal", "not optimal" or "undecided"
        "optimal" up to the tolerance; "not optimal" if a report is further from every tight column than rounding.
    remap : (m,) array of int or None
        The best guess for each report where the status is "optimal": `mechanism.remap(remap, secrets)` is tight.
    shortfall : float
        max_x (1 - Σ_z e^{-εd(z, x)} (HR)[z, z]): on every regular prior the remapped mechanism falls short of the
        best binary utility by at most this fraction of it (ECP14, Lemma 1), up to rounding of about n · 1e-16.
    reason : str
        One line.

    Examples
    --------
    >>> import dxopt as dx
    >>> found = dx.regularity.is_optimal_on_region(dx.classic.geometric(dx.line(3), epsilon=1.0), 1.0)
    >>> print(found.status, found.remap.tolist())
    optimal [0, 1, 2]
    """

    sought: ClassVar[str] = "optimal"
    status: Literal["optimal", "not optimal", "undecided"]
    remap: NDArray[np.int64] | None
    shortfall: float
    reason: str


def is_optimal_on_region(mechanism: Mechanism, epsilon: Written, *, tolerance: float = 1e-9) -> RegionVerdict:
    """Decide if a private mechanism is optimal for binary gain and leakage on every regular prior (ECP14, Thm 4).

    H is, exactly if Φᵀ diag(HR) = 1 for some remap R, that is if HR is a tight-constraints mechanism. As
    H[y, z] ≥ e^{-εd(x, y)} H[x, z] for private H, equality in the sum is equality in each term: a report z may be
    remapped to x only if its column is proportional to e^{-εd(x, ·)}. So every column has one candidate, the point
    where it is largest (up to points at distance 0), and no program has to be solved.

    Parameters
    ----------
    mechanism : Mechanism
        n secrets, m reports.
    epsilon : float
        Per unit of distance.
    tolerance : float
        The largest `shortfall` that counts as optimal.

    Raises
    ------
    SpecError
        If the mechanism is not private at this ε (by more than 1e-9 relative), ε is not positive, or the tolerance is
        negative.

    Examples
    --------
    >>> import dxopt as dx
    >>> line = dx.line(3)
    >>> for mechanism in (dx.classic.geometric(line, epsilon=1.0), dx.classic.exponential(line, epsilon=1.0)):
    ...     print(mechanism.name, dx.regularity.is_optimal_on_region(mechanism, 1.0).status)
    geometric mechanism optimal
    exponential mechanism not optimal
    """
    required_mechanism(mechanism, Mechanism)
    epsilon = checked_level(epsilon)
    tolerance = as_number(tolerance, "tolerance", *FROM_0)
    channel = mechanism.matrix
    labels = mechanism.space.labels
    kernel = phi(mechanism.space, epsilon)
    above = factor_above(epsilon, mechanism.space.distances)
    # Private is K[y, z] ≥ e^{-εd(x, y)} K[x, z], but for rounding.
    for x, row in enumerate(channel):
        broken = channel < kernel[x][:, None] * row * (1 - _PRIVATE_SLACK)
        if broken.any():
            wrong = f"is not private between {labels[x]} and {labels[int(np.argwhere(broken)[0, 0])]}"
            raise SpecError("mechanism", wrong, "give the level it has")
    # The only remap that can make it tight, and by how much ΦᵀHR's diagonal falls short of 1 under it.
    guesses = channel.argmax(axis=0)
    diagonal = np.bincount(guesses, weights=channel[guesses, np.arange(channel.shape[1])], minlength=len(channel))
    shortfall = float(np.maximum(1.0 - kernel.T @ diagonal, 0.0).max())
    if shortfall <= tolerance:
        return RegionVerdict(
            "optimal", guesses, shortfall, f"a remap makes it tight, up to {digits_up(shortfall, 2):.1e}"
        )
    # No remap will do if the column of some report is proportional to no tight column, by more than rounding.
    for report, column in enumerate(channel.T):
        # for each x some y has v_y > e^{-εd(x, y)} v_x by more than rounding
        excess = (column[None, :] - above * column[:, None]).max(axis=1)
        if column.max() > 0 and (excess > _STRICT * column.max()).all():
            reason = f"report {mechanism.reports.labels[report]} is proportional to e^(-epsilon d) from no point"
            return RegionVerdict("not optimal", None, shortfall, reason)
    return RegionVerdict("undecided", None, shortfall, f"no remap found is tight, by {shortfall:.1e}, nor excluded")
