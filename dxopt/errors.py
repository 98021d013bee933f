"""The errors and warnings a user can meet. Each states in one line what is wrong and what would be right."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

_EXTRAS = {
    "cli": ("rich", "ruamel", "typer"),
    "solve": (
        "scipy", "cvxpy", "clarabel", "highspy", "numba", "threadpoolctl", "networkx", "matplotlib", "pydantic",
        "filelock", "psutil",
    ),
    "frames": ("pandas", "narwhals", "pyarrow"),
    "geo": ("h3", "shapely", "pyproj", "geopandas"),
    "opendp": ("opendp",),
    "distributed": ("distributed",),
    "gpu": ("cupy",),
}  # fmt: skip
"""Which extra brings which packages, by the names they are imported under."""


class DxoptError(Exception):
    """Base of every error raised on purpose.

    Examples
    --------
    >>> import dxopt as dx
    >>> try:
    ...     dx.line(0)
    ... except dx.DxoptError as error:
    ...     print(type(error).__name__)
    SpecError
    """


class SpecError(DxoptError, ValueError):
    """Bad input: `field` names where it is; the message states what is wrong and what would be right.

    Examples
    --------
    >>> import dxopt as dx
    >>> try:
    ...     dx.Problem(dx.line(3), epsilon=-1, prior="uniform")
    ... except dx.SpecError as error:
    ...     print(error.field, "|", error.wrong, "|", error.fix)
    epsilon | is -1 | give a positive finite number
    """

    def __init__(self, field: str, wrong: str, fix: str = "", *, of: str = "") -> None:
        """Make the error; `of` names the mechanism that it is about, which `reason` leaves out of `wrong`."""
        self.field = field
        self.of = of
        self.reason = wrong
        self.wrong = wrong = f"{of} {wrong}" if of else wrong
        self.fix = fix
        super().__init__(" ".join((f"{field}: {wrong}" + (f"; {fix}" if fix else "")).splitlines()))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), of=self.of), (self.field, self.reason, self.fix)


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

    Examples
    --------
    >>> import dxopt as dx
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     report = dx.solve(dx.Problem(dx.line(3, step=1000), epsilon=1e-9, prior="uniform"))
    >>> print(seen[0].message.kind, seen[0].message.field)
    level_too_low epsilon
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
        """The parts by name, for JSON.

        Examples
        --------
        >>> import dxopt as dx
        >>> warning = dx.PlausibilityWarning("level_too_low", "epsilon", "is 1e-09 per unit", "give a larger one")
        >>> print(warning.content()["kind"])
        level_too_low
        """
        return {part: getattr(self, part) for part in self.PARTS}


class UnsupportedError(SpecError):
    """The input is sound, but what is asked of it cannot be done by the chosen method.

    Examples
    --------
    >>> import dxopt as dx
    >>> try:
    ...     dx.geo.positions(dx.line(3))
    ... except dx.UnsupportedError as error:
    ...     print(error.field, "|", error.wrong)
    space | has no positions on the Earth
    """


class BudgetExceeded(SpecError):
    """A person has not that much privacy budget left; nothing was charged, and nothing may be released.

    Attributes
    ----------
    person : str
    asked, left : Fraction
        What was asked for in all, and what is left; of δ, where that is what is short.

    Examples
    --------
    >>> import dxopt as dx
    >>> with dx.Budgets.open("budget.sqlite", create=True, default=0.5) as budgets:
    ...     try:
    ...         budgets.pay("ann", 0.75, unit="per km", release="Monday")
    ...     except dx.BudgetExceeded as error:
    ...         print(error.person, float(error.asked), float(error.left))
    ann 0.75 0.5
    """

    def __init__(self, person: str, asked: Fraction, left: Fraction, wrong: str, fix: str) -> None:
        super().__init__("budget", wrong, fix)
        self.person = person
        self.asked = asked
        self.left = left

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.person, self.asked, self.left, self.wrong, self.fix)


class SolveError(DxoptError):
    """A solver failed in a way that left nothing to certify.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(issubclass(dx.SolveError, dx.DxoptError))
    True
    """


class CertificateError(DxoptError):
    """A channel could not be proven private, or a saved result does not hold.

    Examples
    --------
    >>> import dxopt as dx
    >>> claimed = dx.Privacy(0.5, "claimed")
    >>> try:
    ...     dx.integer_table(dx.Mechanism.from_matrix(dx.line(2), [[0.8, 0.2], [0.2, 0.8]], privacy=claimed))
    ... except dx.CertificateError:
    ...     print("not private at 0.5")
    not private at 0.5
    """


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped a solve, or a question of many, for which no partial results were asked; what is done is kept.

    Attributes
    ----------
    answer : Report, EpsilonSweep, ...
        What the call would have returned with `partial=True`: the best known so far, proven as always.

    Examples
    --------
    >>> import dxopt as dx
    >>> try:
    ...     raise dx.Interrupted("the best report so far")  # as Ctrl-C makes dx.solve do
    ... except dx.Interrupted as stopped:
    ...     print(stopped.answer)
    the best report so far
    """

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        super().__init__("the best result so far is in the attribute `answer`; with partial=True it is returned")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.answer,)


class NoTightMechanism(UnsupportedError):
    """No tight-constraints mechanism exists: the weighting of the space has negative entries.

    Attributes
    ----------
    negative : tuple of str
        Labels of the points whose weight is negative.
    exists_from : float or None
        A privacy level from which one was found to exist, where a search found any.

    Examples
    --------
    >>> import dxopt as dx
    >>> try:
    ...     dx.tight_constraints(dx.grid((3, 3)), 0.1)
    ... except dx.NoTightMechanism as error:
    ...     print(error.negative, round(error.exists_from, 3))
    ('(1, 1)',) 0.878
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


def required(field: str, given: Any, kinds: Any, fix: str) -> None:
    """SpecError about a field unless what is given for it is of a kind, or of one of several."""
    if not isinstance(given, kinds):
        raise SpecError(field, f"is of type {type(given).__name__}", fix)


def not_installed(error: ModuleNotFoundError) -> UnsupportedError:
    """What to say where a package of an extra is missing.

    Raises
    ------
    ModuleNotFoundError
        The error itself, where no extra brings what is missing.
    """
    missing = (error.name or "").partition(".")[0]
    extra = next((extra for extra, packages in _EXTRAS.items() if missing in packages), None)
    if extra is None:
        raise error
    more = ", or dxopt[solve] to solve" if extra == "cli" else ""
    return UnsupportedError(missing, "is not installed", f"install dxopt[{extra}]{more}")
