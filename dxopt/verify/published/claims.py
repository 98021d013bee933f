"""The claims of a published file and its sidecar about the table that they were drawn from."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from dxopt.verify.metrics import GIVEN
from dxopt.verify.published.outputs import REPORT, Outputs, places_of
from dxopt.verify.published.promise import Promise
from dxopt.verify.published.radii import BY_REPORT, WORST, Radii
from dxopt.verify.published.rows import Rows, read_rows
from dxopt.verify.published.sidecar import GENERALIZATIONS, Paid, Sidecar
from dxopt.verify.table_file import TableFile
from dxopt.verify.verdict import Broken, Unproved

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
    said : Sidecar
    source : str
        The name of the result that has the table.
    written : bytes
        Of the table file.
    """

    file: Path
    said: Sidecar
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
    def outputs(self) -> Outputs:
        """What the table can report."""
        return Outputs.of(self.table, self.said.secret.kind, self.said.secret.columns, self.said.columns.made)

    @cached_property
    def promise(self) -> Promise:
        """The numbers that the sidecar promises."""
        return Promise.of(self.said, self.table)

    @cached_property
    def seen(self) -> Seen:
        """The entries in the columns that were made."""
        first: dict[tuple[Any, ...], int] = {}
        total = 0
        for number, entries in self.rows.entries(self.said.columns.made):
            first.setdefault(entries, number)
            total += 1
        return Seen(first, total)


def published_checks(published: Published) -> Iterator[tuple[str, Callable[[], str]]]:
    """The claims by name, each to be called."""
    yield "file", partial(_check_file, published)
    yield "table", partial(_check_table, published)
    yield "privacy", partial(_check_privacy, published)
    yield "columns", partial(_check_columns, published)
    yield "reports", partial(_check_reports, published)
    yield "rows", partial(_check_rows, published)
    yield "promise", lambda: published.promise.check()
    if published.said.radius is not None or {*BY_REPORT, *WORST} & {*published.said.columns.made}:
        yield "radii", partial(_check_radii, published)


def _check_file(published: Published) -> str:
    """The file has the digest and the size that the sidecar names."""
    output = published.said.output
    if output is None:
        raise Unproved("the sidecar is of a frame and names no file, so that any file may stand beside it")
    with published.file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != output.sha256:
        raise Broken(
            f"its SHA-256 is {_short(found)}, in the sidecar {_short(output.sha256)}: it was changed since it was "
            "written, or the sidecar is that of another file"
        )
    size = published.file.stat().st_size
    if output.bytes != size:
        raise Broken(f"it has {size:,} bytes, by the sidecar {output.bytes:,}")
    return f"its {size:,} bytes have the SHA-256 that the sidecar names, {_short(found)}"


def _check_table(published: Published) -> str:
    """The table that the sidecar names is the one that was proven."""
    head = published.table.head
    found = published.written[-32:].hex()
    claimed = published.said.mechanism.table_sha256
    if claimed != found:
        raise Broken(
            f"the sidecar names table {_short(claimed)}, and that of {published.source} is {_short(found)}: the file "
            "is not of this mechanism"
        )
    known = {"name": head["name"], "bits": head["bits"]}
    known |= {"secrets": len(head["secrets"]), "reports": len(head["reports"])}
    _require_same(published, "mechanism", published.said.mechanism, known)
    return f"the sidecar names the table of {published.source}, SHA-256 {_short(found)}, made anew from its files"


def _check_privacy(published: Published) -> str:
    """The levels, the metric and the unit in the sidecar are those of the table."""
    head = published.table.head
    known = {name: head[name] for name in (*_LEVELS, "pairs")}
    known["metric"] = GIVEN if head["metric"] is None else head["metric"]
    known["unit"] = head["space"].get("unit", head["unit"] or "")
    _require_same(published, "privacy", published.said.privacy, known)
    delta = f", delta {head['delta']:.10g}" if head["delta"] else ""
    unit = f" (distances in {known['unit']})" if known["unit"] else ""
    return f"the sidecar claims the levels of the table: epsilon {head['epsilon']:.10g}{delta} for each report{unit}"


def _check_columns(published: Published) -> str:
    """The columns that the sidecar says were made are there, and what it says was replaced or left out is not."""
    there, said = published.rows.names, published.said
    made, where = said.columns.made, said.secret.columns
    if len({*made}) < len(made):
        raise Broken("the sidecar says of a column twice that it was made")
    for name in made:
        if name not in there:
            raise Broken(f"there is no column {name!r}, which the sidecar says was made")
        if name not in (*where, REPORT, *_LEVELS, *_BESIDE):
            raise Broken(f"column {name!r} is said to be made, and is none that is")
    for name in where:
        if name in there and name not in made:
            raise Broken(f"column {name!r} had what is protected, and is there without having been replaced")
    for name in said.columns.left_out:
        if name in there and name not in made:
            raise Broken(f"column {name!r} is there, which the sidecar says was left out")
    beside = [name for name in made if name in _BESIDE]
    kept = [name for name in there if name not in made]
    return (
        f"reports in {_named(published.outputs.columns)}; made of them: {_named(beside)}; "
        f"kept as given, and not protected: {_named(kept)}"
    )


def _check_reports(published: Published) -> str:
    """Every row has a report that the table can give, and all that was made of it says nothing else."""
    outputs, made = published.outputs, published.said.columns.made
    noun = published.rows.noun
    texts = set()
    first: dict[tuple[Any, ...], tuple[int, tuple[Any, ...]]] = {}
    for entries, number in published.seen.first.items():
        row = dict(zip(made, entries, strict=True))
        report = outputs.read(row)
        if report is None or report not in outputs.possible:
            shown = ", ".join(f"{name} {row[name]!r}" for name in outputs.columns)
            raise Broken(f"{noun} {number:,}: {shown} is no report that the mechanism can give")
        for name in _LEVELS:
            if name in row and _number(row[name]) != published.table.head[name]:
                known = published.table.head[name]
                raise Broken(f"{noun} {number:,}: {name} is {row[name]!r}, that of the table {known!r}")
        texts.add(row.get(GENERALIZATIONS))
        # two secrets with one report must not be told apart by what stands beside it
        earlier, other = first.setdefault(report, (number, entries))
        if other != entries:
            name = next(name for name, a, b in zip(made, other, entries, strict=True) if a != b)
            rows = f"{noun}s {earlier:,} and {number:,}"
            raise Broken(f"{rows} have the same report, but another {name}, which must follow from the report")
    if len(texts) > 1:
        raise Broken(f"{GENERALIZATIONS} differs between rows, and is to be the same in all")
    many = len(outputs.possible)
    return f"{published.seen.total:,} rows, each with one of the {many:,} reports that the mechanism can give"


def _check_rows(published: Published) -> str:
    """There are as many rows as the sidecar says, and as are left of those that there were; lost by its policies."""
    total, said = published.seen.total, published.said
    rows, paid = said.rows, said.budgets
    if rows.noun != published.rows.noun:
        raise Broken(f"the sidecar counts {rows.noun}s, and the file has {published.rows.noun}s")
    if rows.out != total:
        raise Broken(f"there are {total:,} rows, by the sidecar {rows.out}")
    dropped = len(rows.dropped)
    unpaid = 0 if paid is None else paid.rows_left_out
    if rows.given - dropped - unpaid != total:
        raise Broken(
            f"there are {total:,} rows, but of {rows.given} in the sidecar {dropped} and {unpaid} were left out"
        )
    off = {"drop": rows.outside + rows.unusable, "nearest": rows.unusable, "refuse": rows.outside + rows.unusable}
    policy = said.secret.outside
    if off[policy] != (dropped if policy == "drop" else 0) or (dropped and policy != "drop"):
        raise Broken(
            f"{dropped:,} rows were left out, {rows.outside:,} were outside and {rows.unusable:,} unusable, which "
            f"secret.outside {policy!r} does not allow"
        )
    if not all(0 < line < later for line, later in pairwise((*rows.dropped, math.inf))):
        raise Broken("the sidecar counts rows that were left out twice, or not in order")
    if paid is not None:
        _check_paid(paid, published.table.head["epsilon"])
    lost = f", {dropped:,} outside" * (dropped > 0) + f", {unpaid:,} not paid for" * (unpaid > 0)
    return (
        f"{total:,}, as the sidecar says; left out{lost.removeprefix(',')}" if lost else f"{total:,}, none left out"
    )


def _check_paid(paid: Paid, epsilon: float) -> None:
    """The rows that a budget is said to pay for follow from it, up to its rounding."""
    if paid.rows_left_out and paid.over_budget != "drop":
        raise Broken(f"rows were not paid for, though the sidecar says budgets.over_budget {paid.over_budget!r}")
    if paid.default is None:
        possible = {None}
    else:
        about = (paid.default, math.nextafter(paid.default, math.inf), math.nextafter(paid.default, -math.inf))
        possible = {Fraction(budget) // Fraction(epsilon) for budget in about} if epsilon else {None}
    if paid.default_rows not in possible:
        raise Broken(f"a budget of {paid.default!r} does not pay for {paid.default_rows!r} rows at {epsilon!r}")


def _check_radii(published: Published) -> str:
    """Radii hold what they are said to hold."""
    outputs, made = published.outputs, published.said.columns.made
    places = places_of(published.table, published.promise.kind)
    different = [dict(zip(made, entries, strict=True)) for entries in published.seen.first]
    found = [(outputs.read(row), row) for row in different]
    rows = ((outputs.possible[report], row) for report, row in found if report in outputs.possible)
    return Radii(published.said, published.promise, places).check(rows)


def _named(columns: Sequence[str]) -> str:
    some = ", ".join(map(repr, columns[:_SHOWN])) or "none"
    return some + (f", and {len(columns) - _SHOWN:,} more" if len(columns) > _SHOWN else "")


def _require_same(published: Published, group: str, said: object, known: dict[str, Any]) -> None:
    for name, value in known.items():
        claimed = getattr(said, name)
        if claimed != value:
            raise Broken(f"the sidecar says {group}.{name} {claimed!r}, the table of {published.source} {value!r}")


def _number(entry: object) -> float | None:
    if isinstance(entry, str) and "_" in entry:  # which Python takes for a number
        return None
    try:
        return float(entry)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        return None


def _short(digest: str) -> str:
    return f"{digest[:16]}…"
