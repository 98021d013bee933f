"""Arrays of parts beside those of the whole; of parts that are one object only one is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Arrays = dict[str, Any]


def distinct(parts: tuple[Any, ...]) -> list[Any]:
    """Each object once, in order."""
    return list({id(entry): entry for entry in parts}.values())


def which(parts: tuple[Any, ...], kept: list[Any]) -> list[int]:
    """The place of each object among the distinct ones."""
    places = {id(entry): place for place, entry in enumerate(kept)}
    return [places[id(entry)] for entry in parts]


def nested(place: int | str, arrays: Arrays) -> Arrays:
    """Arrays of a part, under names of their own."""
    return {f"{place}/{key}": value for key, value in arrays.items()}


def part(arrays: Mapping[str, Any], place: int | str) -> Arrays:
    """The arrays of a part under their first names."""
    start = f"{place}/"
    return {key.removeprefix(start): value for key, value in arrays.items() if key.startswith(start)}
