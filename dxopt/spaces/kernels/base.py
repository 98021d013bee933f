"""Base class of structured kernel matrices."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.rounding import UNIT

Array = NDArray[np.float64]
ROOM = 600.0
"""The largest budget εd that is distinguished from a larger one; e^{-ROOM} times a weight does not underflow."""


@dataclass(frozen=True, eq=False)
class Solved:
    """An approximate solution `(n,)` of Φw = b, and a proven bound on the error of each entry, perhaps infinite."""

    values: Array
    error: float


class System(ABC):
    """A symmetric matrix `(size, size)` of doubles T near Φ[x, y] = e^{-εd(x, y)}, known by its structure.

    Entries are e^{-min(εd, cap)} up to a relative error of `entry_error`, so none underflows; the cap changes Φ by
    less than e^{-64} / n. It is again a kernel, as min(d, cap) obeys the triangle inequality if d does.

    Attributes
    ----------
    entry_error : float
        Bounds the relative error of an entry against that of the space's own distances, up to the cap.
    norm : float
        Bounds the row sums.
    order : float
        The norm, 2 or infinity, in which `inverse_norm` and the rounding of `apply` are meant.
    distance_error : float
        Bounds the relative error of the distances that the entries are computed from.
    inverse_norm : float
        Bounds the norm of Φ⁻¹ for every symmetric Φ that T is near to in this sense; infinite where nothing is known.
    """

    size: int
    cap: float
    entry_error: float
    norm: float
    order: float
    inverse_norm: float
    distance_error: float = 0.0

    def _describe(self, size: int, distance_error: float, room: float = ROOM) -> None:
        """Set the size, the cap, which is at most `room`, and the error of entries, given that of distances."""
        self.size = size
        self.distance_error = distance_error
        # e^{-cap} is e^{-64} / n, so that a whole row of capped entries is negligible.
        self.cap = min(64.0 + math.log(size), room)
        # e^{-b} changes by a share of about b·r when b ≤ cap is off by a share r; 8 and 16 units are for the rounding
        # of εd and of `exp`, and the factor 2 is on the safe side.
        self.entry_error = 2 * (self.cap * (distance_error + 8 * UNIT) + 16 * UNIT)

    def _bound_inverse(self, least: float) -> float:
        """Bound ‖Φ⁻¹‖, given a lower bound `least` on 1 / ‖A⁻¹‖, where A is T or another matrix that Φ is near to.

        1 / ‖Φ⁻¹‖ ≥ 1 / ‖A⁻¹‖ - ‖Φ - A‖: entries are off by at most `entry_error`, relative, and by e^{-cap} more.
        Infinite where that leaves nothing.
        """
        least -= (self.entry_error * self.norm + math.exp(-self.cap) * self.size) * (1 + 1e-9)
        return 1 / least if least > 0 else math.inf

    @abstractmethod
    def row(self, point: int) -> Array:
        """Return one row of T, `(n,)`."""

    @abstractmethod
    def apply(self, vector: Array) -> tuple[Array, float]:
        """Return T v, and a bound on the rounding error of each column in the norm `order`; v `(n,)` or `(n, k)`."""

    @abstractmethod
    def approximate(self, right: Array) -> Array:
        """Solve Tw = b to about working precision, without proof (`solve` has one); b is `(n,)` or `(n, k)`."""

    @abstractmethod
    def closure(self, vector: Array) -> Array:
        """Return max_x T[x, z] v_x for every z, `(n,)`, for v ≥ 0; T[x, z] below 1e-18 / n may be left out.

        For a prior v, w_z times this is the joint probability of report z and its most probable secret, where the
        mechanism is T·diag(w); except at its slack report, which gets the rest of each row too.
        """

    @abstractmethod
    def draw(self, weights: Array, points: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        """Draw for each point x one z with a probability proportional to T[x, z] w_z, by index, `(k,)` to `(k,)`."""

    def weighting(self) -> tuple[Array, Array] | None:
        """Return the w with Φw = 1 in closed form, and a bound on the error of each entry; None where none is known.

        Φ is that of exact distances, which add up along branches and over factors. Nothing is divided by what is near
        0, so that both are as good at any ε.
        """
        return None

    def solve(self, right: Array) -> Solved:
        """Solve Φw = b, b `(n,)`, with a proven bound on the error: ‖Φ⁻¹‖ times all that is left or unsure.

        For any w, w - Φ⁻¹b = Φ⁻¹(Φw - b): whatever way the solution was found, its error is bounded afterwards by the
        residual Φw - b, which consists of the computed one and of what it may be off by.
        """
        values = self.approximate(right)
        product, rounding = self.apply(values)
        # One step of iterative refinement where the residual is more than rounding, kept only if it helps.
        if np.linalg.norm(right - product, self.order) > rounding:
            refined = values + self.approximate(right - product)
            again, more = self.apply(refined)
            if np.linalg.norm(right - again, self.order) < np.linalg.norm(right - product, self.order):
                values = refined
                product = again
                rounding = more
        # `left` is the residual as computed, `unsure` what entries of T may differ from those of Φ below the cap.
        residual = np.abs(right - product)
        size = np.abs(values)
        if self.order == 2:
            unsure = self.entry_error * self.norm * float(np.linalg.norm(size))
            left = float(np.linalg.norm(residual))
        else:
            weighed, more = (product, rounding) if (values >= 0).all() else self.apply(size)
            unsure = self.entry_error * (float(weighed.max()) + more)
            left = float(residual.max())
        # The rounding of the residual itself, and what the cap changes; `ones` is the norm of the vector of ones.
        ones = math.sqrt(self.size) if self.order == 2 else 1.0
        slack = 4 * UNIT * (float(np.abs(right).max()) + self.norm * float(size.max())) * ones
        capped = math.exp(-self.cap) * float(size.sum()) * ones
        # The last factor is for the sums and products of this bound itself.
        error = self.inverse_norm * (left + rounding + unsure + slack + capped) * (1 + 1e-9)
        return Solved(values, error if math.isfinite(error) else math.inf)
