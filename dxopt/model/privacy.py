"""Privacy that is proven of a mechanism."""

from __future__ import annotations

from dataclasses import dataclass

from dxopt.runtime.shown import Lines, Shown
from dxopt.spaces.units import per


@dataclass(frozen=True, repr=False)
class Privacy(Shown):
    """Record of the privacy that was proven of a mechanism.

    Attributes
    ----------
    epsilon : float
        K[x, z] ≤ e^{εd(x, x')} K[x', z] holds for all secrets x, x' and reports z, up to δ in total.
    how : str
        How that was proven, in one line.
    delta : float
        Σ_z max(0, K[x, z] - e^{εd(x, x')} K[x', z]) ≤ δ for the pairs of secrets that are bound.
    pairs : {"all", "adjacent"}
        Which ones a positive δ binds: those at finite distance, or those of them with no third secret between.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.randomised_response(dx.line(3), epsilon=1.0, delta=0.01)
    >>> print(round(mechanism.privacy.epsilon, 3), round(mechanism.privacy.delta, 3), mechanism.privacy.pairs)
    1.0 0.01 all
    """

    epsilon: float
    how: str
    delta: float = 0.0
    pairs: str = "all"

    def _said(self) -> str:
        return promised(self.epsilon, self.delta)

    def _lines(self) -> Lines:
        return [("proof" if name == "how" else name, text) for name, text in super()._lines()]


def promised(epsilon: float, delta: float, unit: str = "") -> str:
    """A promise of privacy in a few words; the unit is that of distances."""
    return f"ε {epsilon:.3g}" + (f" {per(unit)}" if unit else "") + (f", δ {delta:.3g}" if delta else "")
