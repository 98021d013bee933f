"""The figures of a comparison that a caller gives, checked by their annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields

from dxopt.errors import SpecError

UNCHANGED = "give what `content` returned, or make it again"


def check_fields(kind: type, content: object, field: str) -> None:
    """Raise SpecError unless texts, truths and amounts by name are those of a dataclass; amounts may be infinite."""
    if not isinstance(content, Mapping):
        raise SpecError(field, f"is {_shown(content)}, no figures by name", UNCHANGED)
    known = {one.name: one for one in fields(kind) if one.compare}
    for name in content:
        if name not in known:
            raise SpecError(field, f"has {_shown(name)}, which is none of its figures", UNCHANGED)
    for name, one in known.items():
        if name not in content and one.default is one.default_factory is MISSING:
            raise SpecError(field, f"has no {name}", UNCHANGED)
        if name in content and not _KINDS.get(str(one.type), _anything)(content[name]):
            raise SpecError(field, f"{name} is {_shown(content[name])}, not what it should be", UNCHANGED)


def _fits(number: float) -> bool:
    """Whether a double can hold it, as any but large integers."""
    try:
        float(number)
    except OverflowError:
        return False
    return True


def _is_amount(content: object) -> bool:
    """Whether it is a number, which may be infinite."""
    return isinstance(content, int | float) and not isinstance(content, bool) and _fits(content)


def _are_amounts(content: object) -> bool:
    """Whether they are numbers by name; None where there is none."""
    if not isinstance(content, Mapping):
        return False
    return all(isinstance(name, str) and (one is None or _is_amount(one)) for name, one in content.items())


def _is_list(content: object) -> bool:
    return isinstance(content, list | tuple)


def _anything(content: object) -> bool:
    return True


_KINDS: dict[str, Callable[[object], bool]] = {
    "str": lambda content: isinstance(content, str),
    "str | None": lambda content: content is None or isinstance(content, str),
    "bool": lambda content: isinstance(content, bool),
    "float": _is_amount,
    "float | None": lambda content: content is None or _is_amount(content),
    "Mapping[str, float]": _are_amounts,
    "tuple[Compared, ...]": _is_list,
    "tuple[Refined, ...]": _is_list,
}
"""What the fields of figures take, by their annotations."""


def _shown(content: object) -> str:
    """The content in a few letters."""
    if isinstance(content, int) and not _fits(content):
        return "an integer too large"
    text = repr(content)
    return text if len(text) <= 40 else f"{text[:37]}..."
