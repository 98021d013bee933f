"""The claims of a published file and its sidecar about the table that they were drawn from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from dxopt.verify.files import read_json
from dxopt.verify.metrics import GIVEN
from dxopt.verify.published.outputs import REPORT, Outputs, places_of
from dxopt.verify.published.promise import Promise
from dxopt.verify.published.radii import BY_REPORT, WORST, Radii
from dxopt.verify.published.rows import Rows, read_rows
from dxopt.verify.published.sentences import GENERALIZATIONS, Sentences
from dxopt.verify.table_file import TableFile
from dxopt.verify.verdict import Broken, Unproved

ENDING = ".dxopt.json"
FORMAT = 1
_LEVELS = ("epsilon", "delta")
_BESIDE = (*BY_REPORT, *WORST, GENERALIZATIONS)
"""Columns that are made beside reports and levels: each must follow from the report."""
_SHOWN = 12


@dataclass(frozen=True, eq=False)
class Seen:
    """Different rows by the number of the first of them, and how many rows there are in all."""

    first: dict[tuple[Any, ...], int]
    total: int


@dataclass(frozen=True, eq=False)
class Published:
    """A published file, its sidecar, and the table of a mechanism that is proven apart; neither file is trusted.

    Attributes
    ----------
    file : Path
    said : dict
        The sidecar.
    source : str
        The name of the result that has the table.
    written : bytes
        Of the table file.
    """

    file: Path
    said: dict[str, Any]
    source: str
    written: bytes

    @cached_property
    def table(self) -> TableFile:
        """The table; Broken where the bytes are none."""
        return TableFile.of(self.written)

    @cached_property
    def rows(self) -> Rows:
        """The rows of the file."""
        return read_rows(self.file)

    @cached_property
    def made(self) -> list[str]:
        """The columns that were made, by the sidecar."""
        return self._names("columns", "made")

    @cached_property
    def where(self) -> list[str]:
        """The columns that had the secrets, by the sidecar."""
        return self._names("secret", "columns")

    @cached_property
    def outputs(self) -> Outputs:
        """What the table can report."""
        return Outputs.of(self.table, str(self.entry("secret", "kind")), self.where, self.made)

    @cached_property
    def promise(self) -> Promise:
        """The numbers that the sidecar promises."""
        return Promise.of(self.said, self.table)

    @cached_property
    def seen(self) -> Seen:
        """The entries in the columns that were made."""
        first: dict[tuple[Any, ...], int] = {}
        total = 0
        for number, entries in self.rows.entries(self.made):
            first.setdefault(entries, number)
            total += 1
        return Seen(first, total)

    def entry(self, *path: str) -> Any:
        """An entry of the sidecar; Broken where it is missing."""
        found: Any = self.said
        for key in path:
            if not isinstance(found, dict) or key not in found:
                raise Broken(f"the sidecar has no {'.'.join(path)}")
            found = found[key]
        return found

    def _names(self, *path: str) -> list[str]:
        found = self.entry(*path)
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise Broken(f"the sidecar has no list of columns {'.'.join(path)}")
        return found


def sidecar_of(file: Path) -> Path:
    """The sidecar of a published file."""
    return file.with_name(file.name + ENDING)


def read_sidecar(file: Path) -> dict[str, Any]:
    """The sidecar of a published file; Broken where it is damaged or of another format."""
    beside = sidecar_of(file)
    said = read_json(beside.parent, beside.name)
    if said.get("format") != FORMAT:
        raise Broken(f"{beside.name}: the format is {said.get('format')!r}, not {FORMAT}")
    return said


def published_checks(published: Published) -> Iterator[tuple[str, Callable[[], str]]]:
    """The claims by name, each to be called."""
    yield "file", partial(_check_file, published)
    yield "table", partial(_check_table, published)
    yield "privacy", partial(_check_privacy, published)
    yield "columns", partial(_check_columns, published)
    yield "reports", partial(_check_reports, published)
    yield "rows", partial(_check_rows, published)
    yield "promise", lambda: published.promise.check()
    yield "sentences", partial(_check_sentences, published)
    if published.said.get("radius") is not None:
        yield "radii", partial(_check_radii, published)


def _check_file(published: Published) -> str:
    """The file has the digest and the size that the sidecar names."""
    if published.entry("output") is None:
        raise Unproved("the sidecar is of a frame and names no file, so that any file may stand beside it")
    with published.file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    claimed = published.entry("output", "sha256")
    if found != claimed:
        raise Broken(
            f"its SHA-256 is {_short(found)}, in the sidecar {_short(claimed)}: it was changed since it was written, "
            "or the sidecar is that of another file"
        )
    size = published.file.stat().st_size
    if published.entry("output", "bytes") != size:
        raise Broken(f"it has {size:,} bytes, by the sidecar {published.entry('output', 'bytes')}")
    return f"its {size:,} bytes have the SHA-256 that the sidecar names, {_short(found)}"


def _check_table(published: Published) -> str:
    """The table that the sidecar names is the one that was proven."""
    head = published.table.head
    found = published.written[-32:].hex()
    claimed = published.entry("mechanism", "table_sha256")
    if claimed != found:
        raise Broken(
            f"the sidecar names table {_short(claimed)}, and that of {published.source} is {_short(found)}: the file "
            "is not of this mechanism"
        )
    known = {"name": head["name"], "bits": head["bits"]}
    known |= {"secrets": len(head["secrets"]), "reports": len(head["reports"])}
    _require_same(published, "mechanism", known)
    return f"the sidecar names the table of {published.source}, SHA-256 {_short(found)}, made anew from its files"


def _check_privacy(published: Published) -> str:
    """The levels, the metric and the unit in the sidecar are those of the table."""
    head = published.table.head
    known = {name: head[name] for name in (*_LEVELS, "pairs")}
    known["metric"] = GIVEN if head["metric"] is None else head["metric"]
    known["unit"] = head["space"].get("unit", head["unit"] or "")
    _require_same(published, "privacy", known)
    delta = f", delta {head['delta']:.10g}" if head["delta"] else ""
    unit = f" (distances in {known['unit']})" if known["unit"] else ""
    return f"the sidecar claims the levels of the table: epsilon {head['epsilon']:.10g}{delta} for each report{unit}"


def _check_columns(published: Published) -> str:
    """The columns that the sidecar says were made are there, and what it says was replaced or left out is not."""
    there = published.rows.names
    for name in published.made:
        if name not in there:
            raise Broken(f"there is no column {name!r}, which the sidecar says was made")
        if name not in (*published.where, REPORT, *_LEVELS, *_BESIDE):
            raise Broken(f"column {name!r} is said to be made, and is none that is")
    for name in published.where:
        if name in there and name not in published.made:
            raise Broken(f"column {name!r} had what is protected, and is there without having been replaced")
    for name in published.entry("columns", "left_out"):
        if name in there and name not in published.made:
            raise Broken(f"column {name!r} is there, which the sidecar says was left out")
    beside = [name for name in published.made if name in _BESIDE]
    kept = [name for name in there if name not in published.made]
    return (
        f"reports in {_named(published.outputs.columns)}; made of them: {_named(beside)}; "
        f"kept as given, and not protected: {_named(kept)}"
    )


def _check_reports(published: Published) -> str:
    """Every row has a report that the table can give, and all that was made of it says nothing else."""
    outputs = published.outputs
    noun = published.rows.noun
    first: dict[tuple[Any, ...], tuple[int, tuple[Any, ...]]] = {}
    for entries, number in published.seen.first.items():
        row = dict(zip(published.made, entries, strict=True))
        report = outputs.read(row)
        if report is None or report not in outputs.possible:
            shown = ", ".join(f"{name} {row[name]!r}" for name in outputs.columns)
            raise Broken(f"{noun} {number:,}: {shown} is no report that the mechanism can give")
        for name in _LEVELS:
            if name in row and _number(row[name]) != published.table.head[name]:
                known = published.table.head[name]
                raise Broken(f"{noun} {number:,}: {name} is {row[name]!r}, that of the table {known!r}")
        # two secrets with one report must not be told apart by what stands beside it
        earlier, other = first.setdefault(report, (number, entries))
        if other != entries:
            name = next(name for name, a, b in zip(published.made, other, entries, strict=True) if a != b)
            rows = f"{noun}s {earlier:,} and {number:,}"
            raise Broken(f"{rows} have the same report, but another {name}, which must follow from the report")
    many = len(outputs.possible)
    return f"{published.seen.total:,} rows, each with one of the {many:,} reports that the mechanism can give"


def _check_rows(published: Published) -> str:
    """There are as many rows as the sidecar says, and as are left of those that there were."""
    total = published.seen.total
    out = published.entry("rows", "out")
    if out != total:
        raise Broken(f"there are {total:,} rows, by the sidecar {out}")
    given = published.entry("rows", "in")
    dropped = len(published.entry("rows", "dropped"))
    budgets = published.entry("budgets")
    unpaid = 0 if budgets is None else published.entry("budgets", "left_out", "rows")
    if given - dropped - unpaid != total:
        raise Broken(f"there are {total:,} rows, but of {given} in the sidecar {dropped} and {unpaid} were left out")
    lost = f", {dropped:,} outside" * (dropped > 0) + f", {unpaid:,} not paid for" * (unpaid > 0)
    return (
        f"{total:,}, as the sidecar says; left out{lost.removeprefix(',')}" if lost else f"{total:,}, none left out"
    )


def _check_sentences(published: Published) -> str:
    """The sentences of the sidecar, and what stands in every row, follow from its numbers."""
    made = published.made
    rows = published.seen.first if GENERALIZATIONS in made else ()
    texts = (dict(zip(made, row, strict=True))[GENERALIZATIONS] for row in rows)
    return Sentences(published.said, published.promise).check(texts)


def _check_radii(published: Published) -> str:
    """Radii hold what they are said to hold."""
    outputs, made = published.outputs, published.made
    places = places_of(published.table, published.promise.kind)
    different = [dict(zip(made, entries, strict=True)) for entries in published.seen.first]
    found = [(outputs.read(row), row) for row in different]
    rows = ((outputs.possible[report], row) for report, row in found if report in outputs.possible)
    return Radii(published.said, published.promise, places).check(rows)


def _named(columns: Sequence[str]) -> str:
    some = ", ".join(map(repr, columns[:_SHOWN])) or "none"
    return some + (f", and {len(columns) - _SHOWN:,} more" if len(columns) > _SHOWN else "")


def _require_same(published: Published, group: str, known: dict[str, Any]) -> None:
    for name, value in known.items():
        claimed = published.entry(group, name)
        if claimed != value or isinstance(claimed, bool):
            raise Broken(f"the sidecar says {group}.{name} {claimed!r}, the table of {published.source} {value!r}")


def _number(entry: object) -> float | None:
    if isinstance(entry, str) and "_" in entry:  # which Python takes for a number
        return None
    try:
        return float(entry)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        return None


def _short(digest: object) -> str:
    return f"{str(digest)[:16]}…"
