"""The numbers of a problem file: plain, or written ln(a), log2(a), sqrt(a), a/b or ln(a)/b."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from dxopt.errors import SpecError
from dxopt.numerics.written import EXPRESSION, is_expression, number_of, shortened

PATTERN = rf"^(?:{EXPRESSION})$"
INFINITY = (".inf", "inf")


def bad(wrong: str, fix: str, *at: str | int, at_key: bool = False) -> PydanticCustomError:
    """Make an error for a validator to raise; `at` leads on from the value being validated, or to a key of it."""
    return PydanticCustomError("spec", "{wrong}; {fix}", {"wrong": wrong, "fix": fix, "at": at, "at_key": at_key})


def shown(value: Any) -> str:
    """Write a value for a message."""
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
    """Return the number that a scalar of a problem file means; raises `bad` if it means none."""
    if isinstance(value, str) and infinite and value in INFINITY:
        return math.inf
    if isinstance(value, str):
        return _evaluated(value, at)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad(f"is {shown(value)}", "give a number", *at)
    return _finite(float(value), value, at)


def _evaluated(text: str, at: tuple[str | int, ...]) -> float:
    try:
        value = number_of(text, "number")
    except SpecError as error:
        raise bad(error.wrong, error.fix, *at) from None
    if not is_expression(text):
        raise bad(f"is {shown(text)}", f"write {value!r} without quotes, as a plain decimal number", *at)
    return value


def _finite(value: float, written: Any, at: tuple[str | int, ...]) -> float:
    if not math.isfinite(value):
        raise bad(f"is {written}, which is not a finite number", "give a finite number", *at)
    return value


@dataclass(frozen=True)
class Written:
    """Annotation that lets a float be written as in a problem file."""

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
