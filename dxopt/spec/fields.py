"""The types of the fields of a problem file, whatever section they are in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import CoreSchema, core_schema

from dxopt.runtime.plugins import RENAME, OrPlugins
from dxopt.spaces.globe import METRICS_ON_EARTH, OnEarth
from dxopt.spaces.lattices import LATTICE_METRICS
from dxopt.spaces.metrics import METRIC_NAMES
from dxopt.spaces.units import LONGEST
from dxopt.spec import quantities as q
from dxopt.spec.quantities import bad, shown
from dxopt.spec.suggestions import meant

MAX_LOCATIONS = 4_000
MAX_REGULAR = 1_000_000
TOP = r"^([1-9][0-9]{0,8}) by (\S.*)$"

T = TypeVar("T")


@dataclass(frozen=True)
class OneOf:
    """Annotation of a name that must be in a table; `besides` tells what else could be written."""

    names: Iterable[str]
    besides: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._known, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.names)}

    def _known(self, name: str) -> str:
        if name not in self.names:
            names, fix = self.names, f"choose one of {', '.join(self.names)}{self.besides}"
            if isinstance(names, OrPlugins):
                if wrong := names.refused(name):
                    raise bad(wrong, RENAME)
                names, fix = names.listed(), names.fix(self.besides)
            close = meant(name, names)
            hint = "" if close is None else f" (did you mean {close}?)"
            raise bad(f"there is no {name!r}", f"{fix}{hint}")
        return name


def _matching(pattern: str, fix: str) -> Any:
    def check(text: str) -> str:
        if not (text.isprintable() and re.fullmatch(pattern, text)):
            raise bad(f"is {shown(text)}", fix)
        return text

    return AfterValidator(check), Field(json_schema_extra={"pattern": pattern})


def _cell(value: Any) -> str | int | float:
    if not isinstance(value, str):
        q.number(value)
    return value


def _node(value: Any, *at: int | str) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise bad(f"is {shown(value)}", "give text or a whole number", *at)
    return value


def _named(value: Any) -> str | int | dict[str, Any]:
    if not isinstance(value, dict):
        return _node(value)
    if len(value) != 1 or not {*value} <= {*_READERS}:
        raise bad("is a mapping of something else", "give one of label, index and point, such as {index: 3}")
    ((key, given),) = value.items()
    return {key: _READERS[key](given)}


def _index(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise bad(f"is {shown(value)}", "give a whole number of 0 or more", "index")
    return value


def _point(value: Any) -> tuple[float, ...]:
    several = value if isinstance(value, list) else [value]
    return tuple(q.number(part, "point", index) for index, part in enumerate(several))


_READERS: dict[str, Callable[[Any], Any]] = {
    "label": lambda value: _node(value, "label"),
    "index": _index,
    "point": _point,
}


def _edge(value: Any) -> tuple[str, str, float]:
    if not isinstance(value, list) or len(value) not in (2, 3):
        raise bad(f"is {shown(value)}, not an edge", "write [from, to] or [from, to, length]")
    start, end = (_node(node, index) for index, node in enumerate(value[:2]))
    length = q.number(value[2], 2) if len(value) == 3 else 1.0
    if length < 0:
        raise bad(f"is the number {length:g}", "give a length of 0 or more", 2)
    return str(start), str(end), length


def _whole(value: Any) -> Any:
    """1e6 is the whole number that it looks like, as long as all such numbers are exact."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53 else value


_NODE = {"type": ["string", "integer"]}
_EDGE = {
    "type": "array",
    "minItems": 2,
    "maxItems": 3,
    "prefixItems": [_NODE, _NODE, {"type": ["number", "string"]}],
}
_SECRET = {
    "anyOf": [
        _NODE,
        {
            "type": "object",
            "properties": {
                "label": _NODE,
                "index": {"type": "integer", "minimum": 0},
                "point": {"type": ["array", "number", "string"], "items": {"type": ["number", "string"]}},
            },
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
        },
    ]
}
Named = Annotated[str | int | dict[str, Any], PlainValidator(_named), WithJsonSchema(_SECRET)]
"""A point by its label, or by its index where no label is a number; or a mapping that says which of them is given."""
Label = Annotated[str | int, PlainValidator(_node), WithJsonSchema(_NODE)]
Edge = Annotated[tuple[str, str, float], PlainValidator(_edge), WithJsonSchema(_EDGE)]
Cell = Annotated[str | int | float, PlainValidator(_cell), WithJsonSchema({"type": ["number", "string"]})]
Text = Annotated[str, *_matching(r"^\S(.*\S)?$", "give one line of text that does not start or end with a blank")]
_TITLE = "give one line of text of at most 200 letters that does not start or end with a blank"
Title = Annotated[str, *_matching(r"^\S(.{0,198}\S)?$", _TITLE)]
Identifier = Annotated[str, *_matching(r"^[A-Za-z_][A-Za-z0-9_]*$", "give a name such as auto, highs or clarabel")]
Top = Annotated[str, *_matching(TOP, "write N by COLUMN, such as 60 by weight")]
_PATH = "give a file name of at most 1,000 letters that does not start or end with a blank"
Path = Annotated[str, *_matching(r"^\S(.{0,998}\S)?$", _PATH)]
File = Annotated[Path, Field(description="File name, relative to the folder of this problem file.")]
Columns = Annotated[list[Text], Field(min_length=1)]
MetricName = Annotated[str, OneOf(METRIC_NAMES)]
LatticeMetric = Annotated[str, OneOf(LATTICE_METRICS)]
UnitOnEarth = Annotated[str, OneOf(tuple(OnEarth.units))]
_UNIT = f"give a word of at most {LONGEST} letters that can stand after a number, such as km or people"
Unit = Annotated[
    str, *_matching(rf"^[^\s0-9](.{{0,{LONGEST - 2}}}\S)?$", _UNIT), Field(json_schema_extra={"examples": ["km"]})
]
EarthMetric = Annotated[str, OneOf(tuple(METRICS_ON_EARTH))]
AS_WRITTEN = BeforeValidator(_whole)
"""After the bounds of a whole number: it may have an exponent, as 1e6."""
Count = Annotated[int, Field(ge=1), AS_WRITTEN]


class Section(BaseModel):
    """Keys and values of one mapping of the file."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _given(cls, value: Any) -> Any:
        if value is None:
            raise bad("is empty", "give a value or leave the key out")
        return value


class Measured(Section):
    """A section about amounts that may have a unit."""

    unit: Unit | None = Field(None, description="What distances are in, such as km, EUR or people; for texts alone.")


def plain(value: Any) -> Any:
    """What was read as plain data, without what a section has by default; its kind is kept."""
    if isinstance(value, BaseModel):
        fields = {name: (getattr(value, name), field.default) for name, field in type(value).model_fields.items()}
        return {name: plain(given) for name, (given, usual) in fields.items() if name == "kind" or given != usual}
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


def _rectangular(rows: list[list[Any]]) -> list[list[Any]]:
    for index, row in enumerate(rows):
        if len(row) != len(rows[0]):
            wrong = f"has {len(row)} entries where the first row has {len(rows[0])}"
            raise bad(wrong, "give rows of equal length", index)
    return rows


def too_many(count: int, noun: str, most: int = MAX_LOCATIONS) -> str:
    """Return what is wrong with a space of more points than its limit."""
    return f"makes {count:,} {noun} (limit {most:,})"


def _capped(rows: list[Any]) -> list[Any]:
    if len(rows) > MAX_LOCATIONS:
        raise bad(too_many(len(rows), "locations"), "give fewer")
    return rows


Row = Annotated[list[T], Field(min_length=1)]
Rows = Annotated[list[Row[T]], Field(min_length=1), AfterValidator(_rectangular), AfterValidator(_capped)]
