"""Plug-ins: what other installed packages offer under the entry points of dxopt, found by name and loaded when named.

Nothing is loaded that no problem names, so that a broken package breaks nothing else. A plug-in is refused if it has
the name of something of dxopt's own, or if two packages offer plug-ins of its name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Iterator
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from dxopt.errors import SpecError
from dxopt.runtime.likely_names import hint

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_LONGEST = 200
"""A text of a package is cut to so many characters in messages."""
RENAME = "uninstall a package, or have it rename its plug-in"


@dataclass(frozen=True)
class Plugin:
    """A plug-in, as results record it: its kind, the name that problems give it, and the distribution it is from."""

    kind: str
    name: str
    package: str
    version: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} of {self.package} {self.version}"

    @property
    def where(self) -> str:
        """The package with its version."""
        return f"{self.package} {self.version}"

    def content(self) -> dict[str, str]:
        """Return the entries of notes.json."""
        return asdict(self)


@dataclass(frozen=True)
class Found:
    """A loaded plug-in: the object that its package offers, and the name of the method to call; "" of a function."""

    plugin: Plugin
    given: Any
    method: str = ""

    def call(self, *arguments: Any) -> Any:
        """Call it and return its answer; its prints go to standard error, and SystemExit becomes a RuntimeError."""
        try:
            with redirect_stdout(sys.stderr):
                return (getattr(self.given, self.method) if self.method else self.given)(*arguments)
        except SystemExit as error:
            raise RuntimeError(f"it ends the program ({error_text(error)})") from error


@dataclass(frozen=True)
class Listed:
    """A line of the list of plug-ins: `wrong` is why it cannot be used, "" where it can."""

    plugin: Plugin
    wrong: str


class Names(Protocol):
    """Names that dxopt has itself, as a tuple or a registry."""

    def __iter__(self) -> Iterator[str]: ...

    def __contains__(self, name: object, /) -> bool: ...


class Plugins:
    """Plug-ins of one kind ("metric", "loss", "solver" or "mechanism") that other packages offer.

    `own` are the names that dxopt has itself. `suits` are names of methods: an object that is no function needs one.
    """

    def __init__(self, kind: str, own: Names, *suits: str) -> None:
        self.kind = kind
        self.group = f"dxopt.{kind}es" if kind.endswith("s") else f"dxopt.{kind}s"
        self._own = own
        self._suits = suits

    def __iter__(self) -> Iterator[str]:
        """Yield the names that can be used, sorted, without loading them."""
        offers = _offers(self.group, tuple(sys.path))
        return iter(sorted({point.name for point, _ in offers if not self.refused(point.name)}))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name not in self._own and any(name == one for one in self)

    def importable(self) -> list[str]:
        """Return the names that can be used and whose code exists, without importing it."""
        return [name for name in self if _is_importable(self._of(name)[0][0].module)]

    def refused(self, name: str) -> str:
        """Return why the plug-in of a name cannot be used; "" where one can, or there is none."""
        packages = [" ".join(where) for _, where in self._of(name)]
        if packages and not _NAME.fullmatch(name):
            return f"{name[:_LONGEST]!r} is no name of letters, digits and underscores"
        if packages and name in self._own:
            return f"{name!r} of {packages[0]} has the name of one of dxopt's own, which is taken instead"
        if len(packages) > 1:
            return f"{name!r} is offered by {' and by '.join(sorted(packages))}"
        return ""

    def offered(self, name: str) -> list[Plugin]:
        """Return all plug-ins of a name: usable, refused and broken ones."""
        return [Plugin(self.kind, name, *where) for _, where in self._of(name)]

    def find(self, name: str) -> Found:
        """Load the plug-in of a name.

        Raises
        ------
        SpecError
            If there is none, it is refused, or it fails to load; the message names the package and what is wrong.
        """
        offers = self._of(name)
        if not offers:
            fix = "choose one of dxopt's, or install the package that brings it"
            raise SpecError(self.kind, f"there is no {name!r}", fix)
        point, where = offers[0]
        plugin = Plugin(self.kind, name, *where)
        wrong = self.refused(name)
        if wrong:
            raise SpecError(self.kind, wrong, RENAME)
        try:
            with redirect_stdout(sys.stderr):
                given = point.load()
                given = given() if isinstance(given, type) else given  # a class stands for an object of it
        except (Exception, SystemExit) as error:  # whatever a package of others raises while it is imported
            wrong = f"{name!r} of {plugin.where} fails to load ({error_text(error)})"
            raise SpecError(self.kind, wrong, f"mend or uninstall {plugin.package}") from error
        method = next((needed for needed in self._suits if hasattr(given, needed)), "")
        if not (method or callable(given)):
            or_one = f", nor an object with {' or '.join(self._suits)}" if self._suits else ""
            wrong = f"{name!r} of {plugin.where} is no function{or_one}, but of type {type(given).__name__}"
            raise SpecError(self.kind, wrong, f"mend or uninstall {plugin.package}")
        return Found(plugin, given, method)

    def listed(self) -> list[Listed]:
        """Load every plug-in to see if it can be used, and return a line for each, sorted by name."""
        found = []
        for point, where in sorted(_offers(self.group, tuple(sys.path)), key=lambda offer: offer[0].name):
            wrong = ""
            try:
                self.find(point.name)
            except SpecError as error:
                wrong = error.wrong
            found.append(Listed(Plugin(self.kind, point.name, *where), wrong))
        return found

    def _of(self, name: str) -> list[tuple[EntryPoint, tuple[str, str]]]:
        """Return the offers of a name: entry point, and name and version of its package."""
        return [(point, where) for point, where in _offers(self.group, tuple(sys.path)) if point.name == name]


class OrPlugins(Container[str]):
    """Container of the names that problems may give: those of dxopt's own, then those of plug-ins."""

    def __init__(self, own: Names, plugins: Plugins) -> None:
        self._own = own
        self._plugins = plugins

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self._plugins

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._plugins

    def refused(self, name: str) -> str:
        """Return why the plug-in of a name cannot be used; "" where one can, or there is none."""
        return self._plugins.refused(name)

    def listed(self) -> list[str]:
        """Return the names that a message offers: of plug-ins those whose package can be found, without an import."""
        return [*self._own, *self._plugins.importable()]

    def fix(self, name: object, besides: str = "") -> str:
        """Return the fix for a name that is none of these; `besides` is what else could be given."""
        known = self.listed()
        meant = hint(name, known) if isinstance(name, str) else ""
        return f"choose one of {', '.join(known)}{besides}, or install the package that brings it{meant}"


def error_text(error: BaseException) -> str:
    """Write an error that other code raised as one short line: its type and its message."""
    text = " ".join(str(error).split())[:_LONGEST]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _is_importable(module: str) -> bool:
    """Return True if the top package of a module can be found."""
    try:
        return find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):  # what was put into sys.modules by hand has no place
        return False


@lru_cache(maxsize=16)
def _offers(group: str, path: tuple[str, ...]) -> tuple[tuple[EntryPoint, tuple[str, str]], ...]:
    """Return the entry points of a group, each with the name and version of its package.

    `path` is `sys.path`, so that a change of it makes a new entry in the cache. Of a package that is installed twice,
    perhaps with other capitals or with _ for -, the first counts, as for imports. Packages whose metadata cannot be
    read are left out.
    """
    from importlib.metadata import distributions

    found: dict[tuple[str, str], tuple[EntryPoint, tuple[str, str]]] = {}
    for package in distributions(path=list(path)):
        try:
            points = [point for point in package.entry_points if point.group == group]
            where = (str(package.name), str(package.version)) if points else ("", "")
        except Exception:
            continue
        for point in points:
            found.setdefault((where[0].lower().replace("_", "-"), point.name), (point, where))
    return tuple(found.values())
