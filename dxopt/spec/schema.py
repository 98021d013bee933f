"""The JSON Schema of a problem file."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from dxopt.model.objective import AdversaryError
from dxopt.spec.family import LISTED
from dxopt.spec.sheet import Sheet

_WITHOUT_LEVEL = {
    "not": {"anyOf": [{"required": ["epsilon"]}, {"required": ["privacy"]}]},
    "anyOf": [
        {"required": ["beliefs"]},
        {
            "required": ["objective"],
            "properties": {"objective": {"type": "object", "properties": {"kind": {"const": AdversaryError.name}}}},
        },
    ],
}


class _EditorSchema(GenerateJsonSchema):
    """Optional keys are left out, never null."""

    def nullable_schema(self, schema: Any) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> dict[str, Any]:
        written = super().default_schema(schema)
        if written.get("default", 0) is None:
            del written["default"]
        return written


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a problem file, for editors."""
    schema = Sheet.model_json_schema(schema_generator=_EditorSchema)
    schema["title"] = "dxopt problem"
    for key in LISTED:
        schema["properties"][key] = _or_several(schema["properties"][key])
    schema["oneOf"] = [{"required": ["epsilon"]}, {"required": ["privacy"]}, _WITHOUT_LEVEL]
    schema["dependentRequired"] = {"pairs": ["delta"]}
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema}


def _or_several(one: dict[str, Any]) -> dict[str, Any]:
    """A key that may also have a list, which makes a family."""
    about = {name: one[name] for name in ("description", "default", "title") if name in one}
    entry = {name: value for name, value in one.items() if name not in about}
    several = {"type": "array", "items": entry, "minItems": 1, "uniqueItems": True}
    return {**about, "anyOf": [entry, several]}
