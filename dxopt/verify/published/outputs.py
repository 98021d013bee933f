"""What a mechanism can report, as the columns of a published file have it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dxopt.verify.table_file import TableFile
from dxopt.verify.verdict import Broken

REPORT = "report"
_POINT = {b"\x01": struct.Struct("<BIdd"), b"\x00": struct.Struct(">BIdd")}
_WKB_POINT = 1


@dataclass(frozen=True, eq=False)
class Outputs:
    """The reports that some secret gives, each as coordinates, a label, or both.

    Attributes
    ----------
    columns : tuple of str
        Those that have coordinates, in this order, and then that of the label, where it is there.
    coordinates : int
        How many of the columns have coordinates.
    possible : dict
        The coordinates and the label of each report, with its number.
    """

    columns: tuple[str, ...]
    coordinates: int
    possible: Mapping[tuple[Any, ...] | None, int]

    @classmethod
    def of(cls, table: TableFile, kind: str, where: Sequence[str], made: Sequence[str]) -> Outputs:
        """The outputs of a table.

        Parameters
        ----------
        table : TableFile
        kind : str
            What the columns have: "earth" and "plane" are two coordinates, "value" is one, "label" none.
        where : sequence of str
            The columns that had the secrets.
        made : sequence of str
            The columns that the output has instead, or besides.

        Raises
        ------
        Broken
            If the table has no reports of this kind, or the columns have none.
        """
        labels = [str(label) for label in table.head["reports"]]
        places = places_of(table, kind)
        kept = [name for name in where if name in made]
        if kept and len(kept) < len(where):
            raise Broken(f"column {kept[0]!r} was replaced, and {next(n for n in where if n not in made)!r} was not")
        named = [name for name in (where if kind == "label" else [REPORT]) if name in made]
        columns = (*(kept if kind != "label" else ()), *named)
        if not columns:
            raise Broken("no column of the file has reports")
        some = {report for row in table.rows for report in row}
        at = {report: tuple(places[report]) if columns != tuple(named) else () for report in some}
        possible: dict[tuple[Any, ...] | None, int] = {
            (*at[report], *([labels[report]] if named else [])): report for report in some
        }
        return cls(columns, len(columns) - len(named), possible)

    def read(self, entries: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """The coordinates and the label that a row has; None where they are none."""
        given = [entries[name] for name in self.columns]
        places = _numbers(given[: self.coordinates])
        return None if places is None else (*places, *map(str, given[self.coordinates :]))


def places_of(table: TableFile, kind: str) -> list[Any]:
    """The coordinates of each report; Broken where it has none of the kind."""
    head = table.head
    if kind == "label":
        return []
    found = head["report_points"]
    if kind == "earth" and head["secrets_are_reports"]:
        found = head["space"].get("positions.degrees", found)
    size = {"earth": 2, "plane": 2, "value": 1}.get(kind)
    if found is None or any(len(place) != size for place in found):
        raise Broken(f"secrets are said to be of kind {kind!r}, which the reports of the table are not")
    return found


def _numbers(given: Sequence[Any]) -> tuple[float, ...] | None:
    """Coordinates: numbers, texts of numbers, or one point."""
    try:
        if len(given) == 1 and isinstance(given[0], bytes):
            _, kind, lon, lat = _POINT[given[0][:1]].unpack(given[0])
            return (lat, lon) if kind == _WKB_POINT else None
        if len(given) == 1 and isinstance(given[0], tuple):
            (given,) = given
        if any(isinstance(entry, str) and "_" in entry for entry in given):  # which Python takes for a number
            return None
        return tuple(map(float, given))
    except (struct.error, KeyError, TypeError, ValueError):
        return None
