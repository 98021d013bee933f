"""The plug-ins that a result was made with, as report.json has them."""

from __future__ import annotations

from typing import Any

from dxopt.errors import SpecError
from dxopt.results.files import REPORT
from dxopt.runtime.plugins import Plugin

_PARTS = ("kind", "name", "package", "version")


def content_of_plugins(plugins: tuple[Plugin, ...]) -> list[dict[str, str]]:
    """Return the plug-ins of a report, for JSON."""
    return [plugin.content() for plugin in plugins]


def plugins_of_content(content: Any) -> tuple[Plugin, ...]:
    """The inverse of `content_of_plugins`; SpecError where it is no list of plug-ins."""
    wellformed = isinstance(content, list) and all(
        isinstance(one, dict) and {*one} == {*_PARTS} and all(isinstance(text, str) for text in one.values())
        for one in content
    )
    if not wellformed:
        raise SpecError(REPORT, "plugins are no list of kind, name, package and version", "solve the problem again")
    return tuple(Plugin(**one) for one in content)
