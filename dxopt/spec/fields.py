"""The types of the fields of a problem file, whatever section they are in."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Self, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    PlainValidator,
    Tag,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from dxopt.errors import SpecError
from dxopt.numerics.number_syntax import EXPRESSION, is_expression, number_of, shortened
from dxopt.runtime.csv_text import Dialect
from dxopt.runtime.likely_names import hint, likely_name
from dxopt.runtime.plugins import RENAME, OrPlugins
from dxopt.spaces.metrics import METRIC_NAMES, METRICS_ON_EARTH, NORMS, OnEarth
from dxopt.spaces.units import LONGEST

_SUGGESTIONS_FORMS = {"factor": "a factor of 2 is {}: ln(2)"}
"""A way to write, under the key that is meant, what the name stands for."""


def advice(name: str, known: Iterable[str]) -> str:
    """Return the fix for an unknown name: the known one that it probably means, or else all that are known."""
    listed = list(dict.fromkeys(known))
    found = likely_name(name, listed)
    if found is None:
        return f"choose one of {', '.join(listed)}"
    form = _SUGGESTIONS_FORMS.get(name.lower())
    return f"did you mean {found}?" + ("" if form is None else f" {form.format(found)}")


PATTERN = rf"^(?:{EXPRESSION})$"
INFINITY = (".inf", "inf")


def bad(wrong: str, fix: str, *at: str | int, at_key: bool = False) -> PydanticCustomError:
    """Make an error for a validator to raise; `at` leads from its value to what is wrong, or to the key that is."""
    return PydanticCustomError("spec", "{wrong}; {fix}", {"wrong": wrong, "fix": fix, "at": at, "at_key": at_key})


def value_in_words(value: Any) -> str:
    """Describe a value in an error message, by its type alone where it may be long."""
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value:.12g}"
        case str():
            return f"the text {shortened(value)}"
        case list():
            return "a list"
        case _:
            return "a mapping"


def number(value: Any, *at: str | int, infinite: bool = False) -> float:
    """Return the number that a scalar means, or an expression such as "ln(2)"; raises `bad` if it means none."""
    if isinstance(value, str) and infinite and value in INFINITY:
        return math.inf
    if isinstance(value, str):
        try:
            evaluated = number_of(value, "number")
        except SpecError as error:
            raise bad(error.wrong, error.fix, *at) from None
        # text such as "0.5" is no expression: YAML has numbers for that
        if not is_expression(value):
            raise bad(
                f"is {value_in_words(value)}", f"write {evaluated!r} without quotes, as a plain decimal number", *at
            )
        return evaluated
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad(f"is {value_in_words(value)}", "give a number", *at)
    if not math.isfinite(value):
        raise bad(f"is {value}, which is not a finite number", "give a finite number", *at)
    return float(value)


@dataclass(frozen=True)
class Written:
    """Annotation that lets a float be written as a number or as an expression such as ln(2): see `number`."""

    infinite: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def parse(value: Any) -> float:
            return number(value, infinite=self.infinite)

        return core_schema.no_info_before_validator_function(parse, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        forms: list[dict[str, Any]] = [handler(core), {"type": "string", "pattern": PATTERN}]
        return {"anyOf": [*forms, {"enum": list(INFINITY)}] if self.infinite else forms}


Number = Annotated[float, Written()]
Positive = Annotated[float, Field(gt=0), Written()]
AtLeastOne = Annotated[float, Field(ge=1), Written()]
NonNegative = Annotated[float, Field(ge=0), Written()]
Share = Annotated[float, Field(ge=0, lt=1), Written()]
Fraction = Annotated[float, Field(gt=0, lt=1), Written()]
Extended = Annotated[float, Written(infinite=True)]
ExtendedDistance = Annotated[float, Field(ge=0), Written(infinite=True)]


MAX_LOCATIONS = 4_000
MAX_REGULAR = 1_000_000
"""Most points of a line, a grid or a torus, which a file gives by their number alone."""
TOP = r"^([1-9][0-9]{0,8}) by (\S.*)$"

T = TypeVar("T")


@dataclass(frozen=True)
class OneOf:
    """Annotation of a text that must be one of some names; `besides` is added to the fix where other forms exist."""

    names: Iterable[str]
    besides: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._require_known, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.names)}

    def _require_known(self, name: str) -> str:
        """Return a known name; refuse another one, with the name that it probably means."""
        if name not in self.names:
            if isinstance(self.names, OrPlugins):  # packages may add to these names
                if wrong := self.names.refused(name):
                    raise bad(wrong, RENAME)
                raise bad(f"there is no {name!r}", self.names.fix(name, self.besides))
            fix = f"choose one of {', '.join(self.names)}{self.besides}{hint(name, self.names)}"
            raise bad(f"there is no {name!r}", fix)
        return name


def _require_pattern(pattern: str, fix: str) -> Any:
    """Return the annotations of a text that must fully match a pattern, here and in the schema for editors."""

    def check(text: str) -> str:
        if not (text.isprintable() and re.fullmatch(pattern, text)):
            raise bad(f"is {value_in_words(text)}", fix)
        return text

    return AfterValidator(check), Field(json_schema_extra={"pattern": pattern})


def _require_cell(value: Any) -> str | int | float:
    """Refuse a cell that is neither text nor a number; text is read later, as a label or as a number expression."""
    if not isinstance(value, str):
        number(value)
    return value


def _require_node(value: Any, *at: int | str) -> str | int:
    """Return the label of a point or node, but refuse true and false, which Python counts as whole numbers."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        quoted = "write it in quotes" if isinstance(value, float) else "give text or a whole number"
        raise bad(f"is {value_in_words(value)}", quoted, *at)  # 8e9651574331487 is a cell of H3, and a number in YAML
    return value


def _parse_edge(value: Any) -> tuple[str, str, float]:
    """Return the labels of both ends of an edge, and its length, which is 1 where it is not written."""
    if not isinstance(value, list) or len(value) not in (2, 3):
        raise bad(f"is {value_in_words(value)}, not an edge", "write [from, to] or [from, to, length]")
    start, end = (_require_node(node, index) for index, node in enumerate(value[:2]))
    length = number(value[2], 2) if len(value) == 3 else 1.0
    if length < 0:
        raise bad(f"is the number {length:g}", "give a length of 0 or more", 2)
    return str(start), str(end), length


def _as_whole(value: Any) -> Any:
    """Return a float such as 1e6 as the whole number that it is, up to 2^53: beyond that floats skip some."""
    if isinstance(value, float) and value > 2**53:
        raise bad(f"is {value_in_words(value)}, which is too large", f"give {2**53:,} at most")
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53 else value


_NODE = {"type": ["string", "integer"]}
_EDGE = {
    "type": "array",
    "minItems": 2,
    "maxItems": 3,
    "prefixItems": [_NODE, _NODE, {"type": ["number", "string"]}],
}
Label = Annotated[str | int, PlainValidator(_require_node), WithJsonSchema(_NODE)]
Edge = Annotated[tuple[str, str, float], PlainValidator(_parse_edge), WithJsonSchema(_EDGE)]
Cell = Annotated[str | int | float, PlainValidator(_require_cell), WithJsonSchema({"type": ["number", "string"]})]
Text = Annotated[
    str, *_require_pattern(r"^\S(.*\S)?$", "give one line of text that does not start or end with a blank")
]
_TITLE = "give one line of text of at most 200 letters that does not start or end with a blank"
Title = Annotated[str, *_require_pattern(r"^\S(.{0,198}\S)?$", _TITLE)]
Identifier = Annotated[
    str, *_require_pattern(r"^[A-Za-z_][A-Za-z0-9_]*$", "give a name such as auto, highs or clarabel")
]
Top = Annotated[str, *_require_pattern(TOP, "write N by COLUMN, such as 60 by weight")]
_PATH = "give a file name of at most 1,000 letters that does not start or end with a blank"
Path = Annotated[str, *_require_pattern(r"^\S(.{0,998}\S)?$", _PATH)]
File = Annotated[Path, Field(description="File name, relative to the folder of this problem file.")]
MetricName = Annotated[str, OneOf(METRIC_NAMES)]
LatticeMetric = Annotated[str, OneOf(NORMS)]
UnitOnEarth = Annotated[str, OneOf(tuple(OnEarth.units))]
_UNIT = f"give a word of at most {LONGEST} letters that can stand after a number, such as km or people"
Unit = Annotated[
    str,
    *_require_pattern(rf"^[^\s0-9](.{{0,{LONGEST - 2}}}\S)?$", _UNIT),
    Field(json_schema_extra={"examples": ["km"]}),
]
EarthMetric = Annotated[str, OneOf(tuple(METRICS_ON_EARTH))]
AS_WRITTEN = BeforeValidator(_as_whole)
"""Written after the bounds of a whole number, so that a file may give the number with an exponent, as 1e6."""
Count = Annotated[int, Field(ge=1), AS_WRITTEN]


class Section(BaseModel):
    """Keys and values of one mapping of the file."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    forms: ClassVar[tuple[str, ...]] = ()
    """Keys of which such a mapping has exactly one, where its kind does not tell."""

    @model_validator(mode="wrap")
    @classmethod
    def _with_known_keys(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Validate a mapping; the errors about keys that are missing or unknown tell which there are."""
        try:
            return handler(value)
        except ValidationError as error:
            raise ValidationError.from_exception_data(
                cls.__name__, list(map(cls._reworded, error.errors()))
            ) from None

    @classmethod
    def _reworded(cls, detail: Any) -> InitErrorDetails:
        """Reword an error about a missing or unknown key of this section: its location has one part. Keep others."""
        kind, location = detail["type"], detail["loc"]
        if len(location) == 1 and kind in ("missing", "extra_forbidden"):
            return {"type": cls._wrong_key(str(location[0]), kind), "loc": (), "input": detail["input"]}
        context = detail.get("ctx", {})
        if kind == "spec":  # an error of `bad`: pydantic knows only its own errors by their type
            kind = PydanticCustomError("spec", "{wrong}; {fix}", context)
        return {"type": kind, "loc": location, "input": detail["input"], "ctx": context}

    @classmethod
    def kinds(cls) -> tuple[str, ...]:
        """Return the names that its key `kind` may have."""
        return get_args(cls.model_fields["kind"].annotation) if "kind" in cls.model_fields else ()

    @classmethod
    def tag(cls, kind: str) -> str:
        """Return the tag in a union of this section for a kind; `kind_of` finds the same in what is written."""
        form = next((form for form in _FORMS.get(kind, ()) if form in cls.model_fields), None)
        return f"kind {kind}" if form is None else f"{kind} {form}"

    @classmethod
    def _wrong_key(cls, key: str, kind: str) -> PydanticCustomError:
        """Make the error of a key that is missing or unknown; it names both of the two alternatives in `forms`."""
        forms = cls.forms or _FORMS.get(next(iter(cls.kinds()), ""), ())
        if kind == "missing":
            # the second one first: `kind_of` takes it for meant where neither is given
            return bad("is missing", f"add {' or '.join(reversed(forms) if key in forms else (key,))}", key)
        if key in forms:
            other = next(form for form in forms if form != key)
            return bad(f"does not go with {other}", "keep one of the two", key, at_key=True)
        keys = [field.alias or name for name, field in cls.model_fields.items()]
        return bad("is no known key here", advice(key, keys), key, at_key=True)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_empty(cls, value: Any) -> Any:
        """Refuse a key without a value: YAML reads that as null, which would silently mean the default."""
        if value is None:
            raise bad("is empty", "give a value or leave the key out")
        return value


_FORMS = {
    "points": ("values", "file"),
    "distances": ("values", "file"),
    "matrix": ("values", "file"),
    "graph": ("edges", "file"),
    "h3": ("cells", "south"),
}
"""Of each kind that two sections share: a key that only one of them has, and a key that only the other has."""


class Measured(Section):
    """A section about amounts that may have a unit."""

    unit: Unit | None = Field(None, description="What distances are in, such as km, EUR or people; for texts alone.")


class Kinds(Discriminator):
    """Annotation of a union of sections that are told apart by their kind, and perhaps bare names beside them."""

    def __init__(self) -> None:
        super().__init__(kind_of)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Build the union, preceded by a check of the kind whose error names all kinds that there are."""
        models = [one for one in get_args(source) if _is_section(one)]
        kinds = list(dict.fromkeys(kind for one in models for kind in one.kinds()))
        bare = [mark for one in get_args(source) if one not in models for mark in get_args(one)[1:]]
        names = [mark for mark in bare if isinstance(mark, OneOf)]
        check = partial(_require_kind, kinds, names[0].names if names else ())
        tagged = [
            (one, tag)
            for one in get_args(source)
            for tag in ([one.tag(kind) for kind in one.kinds()] if one in models else ["bare name"])
        ]
        union = super().__get_pydantic_core_schema__(_union(tagged), handler)
        return core_schema.no_info_before_validator_function(check, union)


class Shapes(Discriminator):
    """Annotation of a union that is told apart by shape: mapping, list or value; the last where none has it."""

    def __init__(self) -> None:
        super().__init__(_shape_of_value)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Build the union with a discriminator that falls back to its last member, whose error is then reported."""
        tagged = [(one, _shape_of_type(one)) for one in get_args(source)]
        shapes = [shape for _, shape in tagged]

        def chosen(value: Any) -> str:
            shape = _shape_of_value(value)
            return shape if shape in shapes else shapes[-1]

        return Discriminator(chosen).__get_pydantic_core_schema__(_union(tagged), handler)


def _shape_of_value(value: Any) -> str:
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a value"


def _shape_of_type(kind: Any) -> str:
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    shapes = {list: "a list", tuple: "a list", dict: "a mapping"}
    return "a mapping" if _is_section(plain) else shapes.get(get_origin(plain), "a value")


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


def _union(tagged: Sequence[tuple[Any, str]]) -> Any:
    return Union[tuple(Annotated[one, Tag(tag)] for one, tag in tagged)]  # noqa: UP007


def kind_of(value: Any) -> str | None:
    """Return the tag of a section in a union: its kind, and which of the keys it has that exclude each other.

    Tags have a blank in them, as no key has, so that none is taken for a part of the place of an error. With both of
    these keys, or neither, it is the second one of `_FORMS`, whose section then refuses the value.
    """
    if isinstance(value, str):
        return "bare name"
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind not in _FORMS:
        return f"kind {kind}"
    written, other = _FORMS[kind]
    return f"{kind} {written if written in value and other not in value else other}"


def _require_kind(kinds: Sequence[str], names: Iterable[str], value: Any) -> Any:
    """Return a mapping with one of the kinds, or a text where there are bare names; refuse all else."""
    named = [*names]
    choice = f"one of {', '.join(kinds)}"
    if isinstance(value, str) and named:
        return value
    if not isinstance(value, dict):
        besides = f"give {', '.join(named)}, or " if named else "give "
        raise bad(f"is {value_in_words(value)}", f"{besides}a mapping with a kind, {choice}")
    if "kind" not in value:
        raise bad("is missing", f"add a kind, {choice}", "kind")
    if not isinstance(kind := value["kind"], str):
        raise bad(f"is {value_in_words(kind)}", f"give {choice}", "kind")
    if kind not in kinds:
        raise bad(f"there is no {kind!r}", advice(kind, kinds), "kind")
    return value


class OrNull:
    """Mark of an entry of a list that may be null, for its JSON Schema."""

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [handler(core), {"type": "null"}]}


class EditorSchema(GenerateJsonSchema):
    """JSON Schema in which a key that may be left out is never null, as problem files refuse null."""

    def nullable_schema(self, schema: Any) -> dict[str, Any]:
        """Describe the value alone, without null."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> dict[str, Any]:
        """Leave out a default of null."""
        written = super().default_schema(schema)
        if written.get("default", 0) is None:
            del written["default"]
        return written


Coordinates = Annotated[list[Number], AfterValidator(tuple)]


class Point(Section):
    """A point by one of its label, its index and its coordinates."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})
    label: Label | None = Field(None, description="Label of the point.")
    index: Annotated[int, Field(ge=0)] | None = Field(None, description="Index of the point, counted from 0.")
    point: Annotated[Coordinates | Number, Shapes()] | None = Field(None, description="Coordinates of the point.")

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise bad("is a mapping of something else", "give one of label, index and point, such as {index: 3}")
        return self


class CsvDialect(Section):
    """A section with a CSV file: how that is written, where it is not to be guessed."""

    delimiter: str | None = Field(
        None, description="What stands between cells: , ; | or tab; guessed otherwise.", examples=[";"]
    )
    decimal: str | None = Field(
        None, description="Decimal mark of numbers, a point or a comma; guessed otherwise.", examples=[","]
    )
    encoding: Text | None = Field(
        None, description="Encoding, such as cp1252; UTF-8, UTF-16 or UTF-32 otherwise.", examples=["cp1252"]
    )
    header: bool | None = Field(
        None, description="Whether the first line names the columns; otherwise they are column_1, column_2, ..."
    )

    @model_validator(mode="after")
    def _require_known(self) -> Self:
        if (key := next(iter(self.model_fields_set.intersection(CsvDialect.model_fields)), None)) and not self.is_csv:
            raise bad("goes with a CSV file only", "leave it out", key)
        try:
            self.dialect  # noqa: B018
        except SpecError as error:
            raise bad(error.wrong, error.fix, error.field) from None
        return self

    @property
    def is_csv(self) -> bool:
        """Return whether the section has a file of CSV."""
        return getattr(self, "file", None) is not None

    @property
    def dialect(self) -> Dialect:
        """What is said of the file."""
        return Dialect(delimiter=self.delimiter, decimal=self.decimal, encoding=self.encoding, header=self.header)


class MatrixCsv(CsvDialect):
    """A section with a matrix in a CSV file, in which names may stand beside the numbers."""

    header: bool | None = Field(
        None,
        description="Whether the first line has names; otherwise it has where its first cell is empty, or none of "
        "its cells is a number.",
    )


class LatLon(Section):
    """The columns of latitudes and longitudes, by name."""

    lat: Text = Field(description="Column of latitudes, in degrees.")
    lon: Text = Field(description="Column of longitudes, in degrees.")


Columns = Annotated[LatLon | Annotated[list[Text], Field(min_length=1)], Shapes()]


_POINT = Point.model_json_schema(schema_generator=EditorSchema)
Named = Annotated[Point | Label, Shapes(), WithJsonSchema({"anyOf": [_NODE, _POINT]})]
"""A point by its label; or a mapping with one of label, index and point."""


def without_defaults(value: Any) -> Any:
    """Return a section as plain data, so that a default written out makes no difference; `kind` is kept."""
    if isinstance(value, BaseModel):
        fields = {name: (getattr(value, name), field.default) for name, field in type(value).model_fields.items()}
        return {
            name: without_defaults(given)
            for name, (given, usual) in fields.items()
            if name == "kind" or given != usual
        }
    if isinstance(value, dict):
        return {name: without_defaults(part) for name, part in value.items()}
    return [without_defaults(part) for part in value] if isinstance(value, list | tuple) else value


def _require_rectangular(rows: list[list[Any]]) -> list[list[Any]]:
    for index, row in enumerate(rows):
        if len(row) != len(rows[0]):
            wrong = f"has {len(row)} entries where the first row has {len(rows[0])}"
            raise bad(wrong, "give rows of equal length", index)
    return rows


def too_many(count: int, noun: str, most: int = MAX_LOCATIONS) -> str:
    """Return what is wrong where a space would have more points than its limit."""
    return f"makes {count:,} {noun} (limit {most:,})"


Row = Annotated[list[T], Field(min_length=1)]
Rows = Annotated[list[Row[T]], Field(min_length=1, max_length=MAX_LOCATIONS), AfterValidator(_require_rectangular)]
