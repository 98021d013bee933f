"""The errors and warnings a user can meet. Each states in one line what is wrong and what would be right."""

from __future__ import annotations

import copy
import json
import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any, ClassVar, Self

_EXTRAS = {
    "cli": ("pydantic", "rich", "ruamel", "typer"),
    "solve": (
        "scipy", "cvxpy", "clarabel", "highspy", "numba", "threadpoolctl", "networkx", "matplotlib", "psutil",
    ),
    "frames": ("pandas", "narwhals", "pyarrow"),
    "geo": ("h3", "shapely", "pyproj", "geopandas"),
    "opendp": ("opendp",),
    "distributed": ("distributed", "cryptography"),
    "gpu": ("cupy",),
}  # fmt: skip
"""The packages of each extra, by the names they are imported under."""


class DxoptError(Exception):
    """Base class of all errors that dxopt raises on purpose.

    Examples
    --------
    >>> import dxopt as dx
    >>> try:
    ...     dx.line(0)
    ... except dx.DxoptError as error:
    ...     print(type(error).__name__)
    SpecError
    """


@dataclass(frozen=True)
class Option:
    """A parameter that a fix names, written as the reader would: in Python, a problem file or a command.

    `value` is the value to give it, or None if the reader chooses it. `command` is its name as an option of a
    command, if that is not `name`.

    Examples
    --------
    >>> from dxopt.errors import Option
    >>> option = Option("over_budget", "drop")
    >>> print(option.in_python(), option.in_file(), option.on_command_line())
    over_budget='drop' {over_budget: "drop"} --over-budget drop
    """

    name: str
    value: Any = None
    command: str = ""

    def in_python(self) -> str:
        """Write it as a keyword argument."""
        return f"{self.name}=" if self.value is None else f"{self.name}={self.value!r}"

    def in_file(self) -> str:
        """Write it as a key of a problem file."""
        value = "…" if self.value is None else json.dumps(self.value, ensure_ascii=False, default=str)
        return f"{{{self.name}: {value}}}"

    def on_command_line(self) -> str:
        """Write it as an option of a command."""
        option = self.command or f"--{self.name.replace('_', '-')}"
        if self.value is None or self.value is True:
            return option
        values = self.value if isinstance(self.value, list) else [self.value]
        return " ".join(f"{option} {shlex.quote(str(value))}" for value in values)


_LONGEST = 2_000
"""Letters that a message has at most of what is wrong, and of the fix: names from outside may have a megabyte."""


def one_line(text: str) -> str:
    """Return a text as one line for a terminal, with control characters and halves of surrogate pairs written out."""
    if text.isprintable():
        return text
    text = " ".join(text.splitlines())
    return "".join(
        one if one.isprintable() or one.isspace() else one.encode("unicode_escape").decode() for one in text
    )


Fix = tuple[str | Option, ...]
Spelling = Callable[[Option], str]


def shortened(text: str) -> str:
    """Return a text for a message, its middle left out where it is longer than anybody reads."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 2 :]}"


class SpecError(DxoptError, ValueError):
    """Bad input: `field` names where it is; the message states what is wrong and what would be right.

    Attributes
    ----------
    field, wrong : str
    parts : Fix
        The fix, in pieces of text and options; `fix` is its text for Python.

    Examples
    --------
    >>> import dxopt as dx
    >>> try:
    ...     dx.Problem(dx.line(3), epsilon=-1, prior="uniform")
    ... except dx.SpecError as error:
    ...     print(error.field, "|", error.wrong, "|", error.fix)
    epsilon | is -1 | give a positive finite number
    """

    in_file: ClassVar[bool] = False
    """True of subclasses whose field is a key at a position of a problem file."""

    def __init__(self, field: str, wrong: str, *fix: str | Option) -> None:
        super().__init__(field, wrong)
        self.field = field
        self.wrong = wrong
        self.parts = fix

    @property
    def fix(self) -> str:
        """Fix as it is written for users of Python."""
        return self.fix_in(Option.in_python)

    @property
    def options(self) -> frozenset[str]:
        """The names of the parameters that the fix names."""
        return frozenset(part.name for part in self.parts if isinstance(part, Option))

    def fix_in(self, spelling: Spelling) -> str:
        """Write what would be right, with options in one of their spellings."""
        return "".join(spelling(part) if isinstance(part, Option) else part for part in self.parts)

    def line_in(self, spelling: Spelling) -> str:
        """Write the whole message on one line, with options in one of their spellings."""
        said = (self.wrong, self.fix_in(spelling))
        wrong, fix = map(shortened, said)
        return one_line(f"{self.field}: {wrong}" + (f"; {fix}" if fix else ""))

    def at(self, field: str, wrong: str | None = None) -> Self:
        """Return a copy about another field, as a caller names it, and with other words for what is wrong."""
        moved = copy.copy(self)
        moved.field = field
        moved.wrong = self.wrong if wrong is None else wrong
        return moved

    def __str__(self) -> str:
        return self.line_in(Option.in_python)

    def __reduce__(self) -> tuple[Any, ...]:
        return _same_error, (type(self), self.__dict__)


def _same_error(kind: type[SpecError], content: dict[str, Any]) -> SpecError:
    """Make a pickled error again, without `__init__`, whose parameters differ between subclasses."""
    error = kind.__new__(kind, content["field"], content["wrong"])
    error.__dict__.update(content)
    return error


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
        """Return the parts by name, for JSON.

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


class MethodRefused(UnsupportedError):
    """A method does not answer a problem; `reason` says why without its name."""

    def __init__(self, method: str, reason: str, fix: str = "use method: optimal") -> None:
        super().__init__("method", f"{method} {reason}", fix)
        self.reason = reason


class BudgetExceeded(SpecError):
    """A person has too little privacy budget left; nothing was charged, and nothing may be released.

    Attributes
    ----------
    person : str
        The first who has too little; the message does not say who that is.
    asked, left : Fraction
        What was asked for in all, and what is left: of ε, or of δ if that is what is short.

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

    def __init__(self, person: str, asked: Fraction, left: Fraction, wrong: str, *fix: str | Option) -> None:
        super().__init__("budget", wrong, *fix)
        self.person = person
        self.asked = asked
        self.left = left


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


def required(field: str, given: Any, kinds: Any, fix: str) -> None:
    """Raise SpecError about a field unless what is given for it is of a type, or of one of several types."""
    if not isinstance(given, kinds):
        raise SpecError(field, f"is of type {type(given).__name__}", fix)


def required_choice(field: str, given: Any, choices: Collection[str]) -> None:
    """Raise SpecError about a field unless what is given for it is one of some choices."""
    fix = f"choose one of {', '.join(choices)}"
    required(field, given, str, fix)
    if given not in choices:
        raise SpecError(field, f"is {given!r}", fix)


def optional(name: str) -> Any:
    """Import a package that only an extra of dxopt installs; UnsupportedError names the extra if it is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise not_installed(error) from None


def not_installed(error: ModuleNotFoundError) -> UnsupportedError:
    """Return the error that names the extra which brings a missing package.

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
