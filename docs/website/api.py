"""The pages of the API: every public name of `dx`, by topic, for mkdocstrings to fill from the docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import dxopt as dx

TOPICS = {
    "Spaces": ("dxopt.spaces",),
    "Problems": ("dxopt.model", "dxopt.spec"),
    "Solving": ("dxopt.solving", "dxopt.studies", "dxopt.proofs"),
    "Results": ("dxopt.results", "dxopt.words"),
    "Mechanisms": ("dxopt.mechanisms", "dxopt.model.mechanism", "dxopt.analysis"),
    "Releases": ("dxopt.release",),
    "Errors": ("dxopt.errors",),
}
"""Where the public names of each topic are at home; the longest one that fits counts."""


def pages() -> dict[str, str]:
    """Return the text of every page of the API in Markdown, by where it is on the site."""
    topics: dict[str, list[str]] = {topic: [] for topic in TOPICS}
    rooms: dict[str, ModuleType] = {}
    for name in dx.__all__:
        found = getattr(dx, name)
        if isinstance(found, ModuleType):
            rooms[name] = found
        else:
            topics[_topic(dx._HOME[name][0])].append(_entry(f"dx.{name}", ".".join(dx._HOME[name])))
    found = {f"api/{topic.lower()}.md": _page(topic, "", entries) for topic, entries in topics.items()}
    for name, room in rooms.items():
        entries = [_entry(f"dx.{name}.{one}", f"{room.__name__}.{one}") for one in names_in(room)]
        found[f"api/{name}.md"] = _page(f"dx.{name}", inspect.getdoc(room) or "", entries)
    return found


def names_in(room: ModuleType) -> list[str]:
    """Return the public names of a namespace: `__all__`, or the functions and classes defined there."""
    if hasattr(room, "__all__"):
        return list(room.__all__)
    found = inspect.getmembers(room, lambda one: inspect.isfunction(one) or inspect.isclass(one))
    return [name for name, one in found if one.__module__ == room.__name__ and not name.startswith("_")]


def undocumented() -> Iterator[str]:
    """Yield the public names, and public members of public classes, that have no docstring.

    What a protocol of the same namespace says of its members holds for the classes that have them.
    """
    for name in dx.__all__:
        found = getattr(dx, name)
        parts = {f".{one}": getattr(found, one) for one in names_in(found)} if inspect.ismodule(found) else {}
        protocols = [one for one in parts.values() if getattr(one, "_is_protocol", False)]
        promised = {member for protocol in protocols for member in vars(protocol)}
        for where, one in {"": found, **parts}.items():
            if _describes(one) and not inspect.getdoc(one):
                yield f"dx.{name}{where}"
            told = set() if one in protocols else promised
            yield from (f"dx.{name}{where}.{member}" for member in _without_text(one) if member not in told)


def _describes(found: Any) -> bool:
    return inspect.ismodule(found) or inspect.isclass(found) or inspect.isfunction(found)


def _without_text(found: Any) -> Iterator[str]:
    """Yield the public methods and properties of a class without a docstring."""
    for name, member in vars(found).items() if inspect.isclass(found) else ():
        plain = getattr(member, "__func__", member)
        described = inspect.isfunction(plain) or isinstance(plain, property)
        if described and not name.startswith("_") and not inspect.getdoc(getattr(found, name)):
            yield name


def _topic(module: str) -> str:
    fitting = [(len(home), topic) for topic, homes in TOPICS.items() for home in homes if _below(module, home)]
    return max(fitting)[1]


def _below(module: str, home: str) -> bool:
    return module == home or module.startswith(f"{home}.")


def _entry(shown: str, path: str) -> str:
    return f'::: {path}\n    options:\n      heading: "{shown}"\n      toc_label: "{shown}"\n'


def _page(title: str, text: str, entries: list[str]) -> str:
    """Return a page: one topic, each name with its docstring."""
    return "\n\n".join([f"# {title}", text, *entries]) + "\n"
