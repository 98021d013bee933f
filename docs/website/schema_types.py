"""What a value of a problem file may be, in words, from the JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Node = dict[str, Any]

MANY = 3
"""More sections than this are not listed where one of them may stand."""
A_SECRET = "[a secret](../guides/problem-files.md#naming-a-secret)"
_PLAIN = {"string": "text", "number": "number", "integer": "whole number", "null": "`~`", "object": "mapping"}
_BOUNDS = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}


def branches(node: Node) -> list[Node]:
    """Return the alternatives of a place, if there are several."""
    return [*node.get("anyOf", ()), *node.get("oneOf", ())]


def in_words(node: Node, link: Callable[[str], str]) -> str:
    """Return the type of a value; `link` is the link to a section by its name in the schema."""
    if "$ref" in node:
        return link(name_of(node))
    if "const" in node:
        return f"`{node['const']}`"
    if "enum" in node:
        return ", ".join(f"`{one}`" for one in node["enum"])
    if branches(node):
        return _one_of(branches(node), link)
    if node.get("type") == "array":
        return _list(node, link)
    if "properties" in node:
        return A_SECRET
    return _plain(node, link)


def name_of(node: Node) -> str:
    """Return the name of the section that a reference is to."""
    return node["$ref"].rpartition("/")[2]


def instance(node: Node) -> str:
    """Return a value that may stand there, if the schema lists some or has an example; else nothing."""
    if "enum" in node:
        return shown(node["enum"][-1])
    if node.get("type") == "boolean":
        return "true"
    if node.get("examples"):
        return shown(node["examples"][0])
    return shown(node["default"]) if "default" in node else shown(node["const"]) if "const" in node else ""


def shown(value: Any) -> str:
    """Return a value as YAML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{shown(key)}: {shown(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    if value is None or isinstance(value, bool):
        return "~" if value is None else str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.10g}"
    text = str(value)
    plain = text and not set(text) & set(",:{}[]#'\"&*!|>%@`") and text == text.strip() and not _like_a_number(text)
    return text if plain else json.dumps(text, ensure_ascii=False)


def _like_a_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ("true", "false", "null", "~", "yes", "no")
    return True


def _one_of(parts: list[Node], link: Callable[[str], str]) -> str:
    numbers = [part for part in parts if part.get("type") in ("number", "integer")]
    if numbers:  # text beside a number is a number written as ln(4) or 1/2
        parts = [part for part in parts if part.get("type") != "string" or "pattern" not in part]
    sections = [part for part in parts if "$ref" in part]
    words = [in_words(part, link) for part in parts if "$ref" not in part and part.get("type") != "array"]
    words += ["a section below"] if len(sections) > MANY else [in_words(part, link) for part in sections]
    for several in (part for part in parts if part.get("type") == "array" and "$ref" not in part):
        same = in_words(several.get("items", {}), link) == " or ".join(words)
        words.append("a list of them" if same else in_words(several, link))
    return " or ".join(dict.fromkeys(words))


def _list(node: Node, link: Callable[[str], str]) -> str:
    items = node.get("items")
    if "prefixItems" in node:
        return "list of " + ", ".join(in_words(one, link) for one in node["prefixItems"])
    one = in_words(items, link) if items else "anything"
    pair = node.get("maxItems") == node.get("minItems") == 2
    return f"{'pair' if pair else 'list'} of {one}"


def _plain(node: Node, link: Callable[[str], str]) -> str:
    kind = node.get("type")
    if isinstance(kind, list):
        return " or ".join(_PLAIN[one] for one in kind)
    if kind == "boolean":
        return "`true`, `false`"
    inner = node.get("additionalProperties")
    if kind == "object" and isinstance(inner, dict):
        return f"mapping of names to {in_words(inner, link)}"
    bounds = ", ".join(f"{sign} {node[key]:.7g}" for key, sign in _BOUNDS.items() if key in node)
    return f"{_PLAIN.get(kind or '', 'anything')} {bounds}".strip()
