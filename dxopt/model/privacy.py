"""Privacy levels ε and δ as given, and as proven of a mechanism."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from dxopt.errors import SpecError
from dxopt.numerics.coerce import BELOW_1, POSITIVE, UP_TO_1, as_number, as_written
from dxopt.numerics.number_syntax import Written, excluded_text, level_text
from dxopt.runtime.display import Lines, Shown
from dxopt.spaces.units import per

LEAST = 1e-300
"""Below this level doubles lose digits."""
LARGEST = 1e306
"""Above this level twice the level overflows."""
_HAIR = 1e-6
"""Levels beyond these by this part pass: proofs look at levels slightly off the one that was asked for."""


def checked_level(epsilon: Written | None, field: str = "epsilon") -> float:
    """Return ε as a float, from a number or text such as "ln(4)"; SpecError unless it is from 1e-300 to 1e306."""
    level = as_written(epsilon, field, *POSITIVE)
    if level < LEAST * (1 - _HAIR):
        raise SpecError(field, f"is {level:g}, too small for doubles", f"give {LEAST:g} or more")
    if level > LARGEST * (1 + _HAIR):
        raise SpecError(field, f"is {level:g}, too large for doubles", f"give {LARGEST:g} or less")
    return level


def level_to_prove(epsilon: float) -> float:
    """Return a proven ε, perhaps 0 as of a constant mechanism, as one that `checked_level` takes."""
    return max(epsilon, LEAST)


def checked_delta(delta: float, *, one: bool = False) -> float:
    """Return δ as a float; SpecError unless it is from 0 to below 1, or with `one`, at which all is private, to 1."""
    return as_number(delta, "delta", *(UP_TO_1 if one else BELOW_1))


class ShownLevels(Shown):
    """An object whose levels are shown rounded up, and those that are not enough rounded down."""

    _LEVELS: ClassVar[Collection[str]] = ("epsilon", "delta")
    """Names of the fields that are levels."""
    _EXCLUDED: ClassVar[Collection[str]] = ()
    """Names of the fields that are levels which are not enough."""
    _SLACK: ClassVar[float] = 0.0
    """Share by which levels may be above what they are from rounding alone."""

    def _text_of(self, name: str) -> str:
        value = getattr(self, name)
        if name in self._EXCLUDED:
            return excluded_text(value, 3)
        if name not in self._LEVELS or value is None:
            return super()._text_of(name)
        return level_text(value, slack=self._SLACK)


@dataclass(frozen=True, repr=False)
class Privacy(ShownLevels):
    """Record of the privacy that was proven of a mechanism.

    Attributes
    ----------
    epsilon : float
        K[x, z] ≤ e^{εd(x, x')} K[x', z] holds for all secrets x, x' and reports z, up to δ in total.
    how : str
        Method of the proof, in one line.
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

    def _summary(self) -> str:
        return privacy_text(self.epsilon, self.delta)

    def _lines(self) -> Lines:
        return [("proof" if name == "how" else name, text) for name, text in super()._lines()]


def privacy_text(epsilon: float, delta: float, unit: str = "") -> str:
    """Write ε, per unit of distance where that is given, and δ where it is positive: "ε 1.39 per km, δ 0.01"."""
    relaxed = f", δ {level_text(delta)}" if delta else ""
    return f"ε {level_text(epsilon)}" + (f" {per(unit)}" if unit else "") + relaxed
