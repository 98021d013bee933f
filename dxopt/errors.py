"""The errors and warnings a user can meet. Each states in one line what is wrong and what would be right."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any, ClassVar


class DxoptError(Exception):
    """Base of every error raised on purpose."""


class SpecError(DxoptError, ValueError):
    """Bad input: `field` names where it is; the message states what is wrong and what would be right."""

    def __init__(self, field: str, wrong: str, fix: str = "") -> None:
        self.field = field
        self.wrong = wrong
        self.fix = fix
        super().__init__(f"{field}: {wrong}" + (f"; {fix}" if fix else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.field, self.wrong, self.fix)


class PlausibilityWarning(UserWarning):
    """Input that is sound, but seldom meant: one line `field: what is seen; what it usually is, and what to write`.

    Attributes
    ----------
    kind : str
        Which check found it, such as `level_too_low`; docs/guides/plausibility.md has them all.
    field : str
        Where it is.
    seen : str
        What is seen.
    fix : str
        What it usually means, and what to write then.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("kind", "field", "seen", "fix")

    def __init__(self, kind: str, field: str, seen: str, fix: str) -> None:
        self.kind = kind
        self.field = field
        self.seen = seen
        self.fix = fix
        super().__init__(f"{field}: {seen}; {fix}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.content().values())

    def content(self) -> dict[str, str]:
        """The parts by name, for JSON."""
        return {part: getattr(self, part) for part in self.PARTS}


class UnsupportedError(SpecError):
    """The input is sound, but what is asked of it cannot be done by the chosen method."""


class BudgetExceeded(SpecError):
    """A person has not that much privacy budget left; nothing was charged, and nothing may be released.

    Attributes
    ----------
    person : str
    asked, left : Fraction
        What was asked for in all, and what is left; of δ, where that is what is short.
    """

    def __init__(self, person: str, asked: Fraction, left: Fraction, wrong: str, fix: str) -> None:
        super().__init__("budget", wrong, fix)
        self.person = person
        self.asked = asked
        self.left = left

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.person, self.asked, self.left, self.wrong, self.fix)


class SolveError(DxoptError):
    """A solver failed in a way that left nothing to certify."""


class CertificateError(DxoptError):
    """A channel could not be proven private, or a saved result does not hold."""


class NoTightMechanism(UnsupportedError):
    """No tight-constraints mechanism exists: the weighting of the space has negative entries.

    Attributes
    ----------
    negative : tuple of str
        Labels of the points whose weight is negative.
    exists_from : float or None
        A privacy level from which one was found to exist, where a search found any.
    """

    def __init__(
        self, field: str, wrong: str, fix: str, *, negative: tuple[str, ...], exists_from: float | None
    ) -> None:
        super().__init__(field, wrong, fix)
        self.negative = negative
        self.exists_from = exists_from

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(type(self), negative=self.negative, exists_from=self.exists_from)
        return make, (self.field, self.wrong, self.fix)
