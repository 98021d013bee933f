"""Registries: the classes or functions that problem files can name, such as solvers and losses, by these names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Generic, TypeVar

from dxopt.errors import SpecError
from dxopt.runtime.likely_names import hint

T = TypeVar("T")
Entry = TypeVar("Entry")


class Registry(Generic[T]):
    """A table of named classes or functions; an empty name, or one that is there already, fails at import.

    Errors are about `field`. `homes` has, for names of classes that are imported only when they are asked for, the
    module that registers them.
    """

    def __init__(self, field: str, homes: Mapping[str, str] = MappingProxyType({})) -> None:
        self.field = field
        self._homes = homes
        self._entries: dict[str, T] = {}

    def register(self, name: str) -> Callable[[Entry], Entry]:
        """Return the decorator that enters a class or function under `name`."""
        if not name or name in self._entries:
            raise RuntimeError(f"{self.field}: the name {name!r} is missing or registered twice")

        def enter(entry: Entry) -> Entry:
            self._entries[name] = entry  # pyright: ignore[reportArgumentType]
            return entry

        return enter

    def get(self, name: str) -> T:
        """Return the entry of a name, importing its module if need be; SpecError with all names if none is it."""
        if name not in self:
            raise SpecError(self.field, f"there is no {name!r}", f"choose one of {', '.join(self)}{hint(name, self)}")
        if name not in self._entries:
            import_module(self._homes[name])
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._homes, *self._entries}))

    def __contains__(self, name: object) -> bool:
        return name in self._homes or name in self._entries
