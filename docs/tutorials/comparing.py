"""What a notebook gives now, beside what it gave when it was saved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
NOTHING = 1e-9
"""Numbers below are rounding errors."""
SHARE = 0.01
"""How far fractions may be off, on other machines and with other versions of solvers."""
DRAWN = "drawn"
"""The tag of a cell whose numbers are random draws: its words are compared alone."""
SHOWN = 100
"""Characters of a line that are shown where it differs."""
TEXT = ("text/plain", "text/html", "text/markdown")


def differences(before: Any, after: Any) -> Iterator[str]:
    """Yield a line for each cell whose outputs differ: the cell, and the first difference."""
    for number, (old, new) in enumerate(zip(before.cells, after.cells, strict=True), 1):
        drawn = DRAWN in new.metadata.get("tags", ())
        found = difference(texts(old), texts(new), same_words if drawn else alike)
        if found:
            yield f"cell {number} ({old.id}): {found}"


def texts(cell: Any) -> list[tuple[str, str]]:
    """Return the outputs of a cell, each with its kind; of pictures that they are there."""
    found = []
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            found.append((output.name, output.text))
        for kind, content in sorted(output.get("data", {}).items()):
            found.append((kind, content if kind in TEXT else ""))
    return found


def difference(old: list[tuple[str, str]], new: list[tuple[str, str]], same: Callable[[str, str], bool]) -> str:
    """Return the first line that differs between the outputs of a cell, by a test of equality of lines."""
    kinds, kinds_now = [kind for kind, _ in old], [kind for kind, _ in new]
    if kinds != kinds_now:
        return f"outputs were {', '.join(kinds) or 'none'}, and now are {', '.join(kinds_now) or 'none'}"
    for (kind, text), (_, text_now) in zip(old, new, strict=True):
        lines, lines_now = text.splitlines(), text_now.splitlines()
        for line, line_now in zip(lines, lines_now, strict=False):
            if not same(line, line_now):
                apart = next((k for k, pair in enumerate(zip(line, line_now, strict=False)) if len({*pair}) > 1), 0)
                start = max(0, apart - SHOWN // 2)
                return f"{kind} was {line[start:][:SHOWN]!r}, and now is {line_now[start:][:SHOWN]!r}"
        if len(lines) != len(lines_now):
            return f"{kind} had {len(lines)} lines, and now has {len(lines_now)}"
    return ""


def alike(old: str, new: str) -> bool:
    """Whether two lines say the same: words exactly but for the spaces between them, fractions nearly."""
    return same_words(old, new) and all(map(close, NUMBER.findall(old), NUMBER.findall(new)))


def same_words(old: str, new: str) -> bool:
    """Whether two lines have the same words between their numbers."""
    return words(old) == words(new)


def words(line: str) -> list[str]:
    """Return the text between the numbers of a line, with single spaces."""
    return [" ".join(part.split()) for part in NUMBER.split(line)]


def close(old: str, new: str) -> bool:
    """Whether two numbers, as they are written, are equal up to rounding; whole numbers must be the same."""
    if old == new:
        return True
    if old.lstrip("+-").replace(",", "").isdigit() and new.lstrip("+-").replace(",", "").isdigit():
        return False
    first, second = (float(number.replace(",", "")) for number in (old, new))
    if max(abs(first), abs(second)) < NOTHING:
        return True
    return abs(first - second) <= max(SHARE * abs(first), min(last_place(old), last_place(new)))


def last_place(number: str) -> float:
    """Return the unit of the last digit that is written."""
    mantissa, _, exponent = number.replace(",", "").partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 1.001 * 10.0 ** (int(exponent or 0) - decimals)
