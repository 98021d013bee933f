"""A published file and its sidecar, tied to the result whose mechanism made them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, starmap
from pathlib import Path
from typing import Any

from dxopt.errors import SpecError
from dxopt.verify.files import CLAIMS, TABLE, digest, is_file, read_json
from dxopt.verify.folder import Result
from dxopt.verify.metrics import GIVEN
from dxopt.verify.parts import Tell, one_check
from dxopt.verify.proving import check_claim, failed_check, verify, verify_table
from dxopt.verify.published.promise import Promise, Radii, uniform_digest
from dxopt.verify.published.rows import (
    REPORT,
    Outputs,
    Rows,
    places_of,
    read_rows,
    require_readable,
    spelled,
    spelled_with_comma,
)
from dxopt.verify.published.sidecar import BY_REPORT, GENERALIZATIONS, WORST, Paid, Sidecar, read_sidecar, sidecar_of
from dxopt.verify.table_file import SUFFIX, TableFile, bytes_of
from dxopt.verify.tables import space_in_head
from dxopt.verify.verdict import Broken, Check, Outcome, Unproved, Verdict

_LEVELS = ("epsilon", "delta")
_BESIDE = (*BY_REPORT, *WORST, GENERALIZATIONS)
"""Columns that are made beside reports and levels: each must follow from the report."""
_SHOWN = 12


@dataclass(frozen=True, eq=False)
class _Published:
    """A published file, its sidecar, and the bytes of the table of a result that is proven apart; none is trusted."""

    file: Path
    said: Sidecar
    source: str
    written: bytes

    def checks(self) -> dict[str, Callable[[], str]]:
        """Return the claims of the file and the sidecar by name, each to be called."""
        found = {
            "file": self._check_file,
            "table": self._check_table,
            "privacy": self._check_privacy,
            "columns": self._check_columns,
            "reports": self._check_reports,
            "rows": self._check_rows,
            "promise": lambda: self.promise.check(),
        }
        if self.said.radius is not None or {*BY_REPORT, *WORST} & {*self.said.columns.made}:
            found["radii"] = self._check_radii
        return found

    @cached_property
    def table(self) -> TableFile:
        """The table; Broken where the bytes are none."""
        return TableFile.of(self.written)

    @cached_property
    def rows(self) -> Rows:
        """The rows of the file."""
        return read_rows(self.file, self.said.columns.made)

    @cached_property
    def outputs(self) -> Outputs:
        """Reports that the table can give."""
        return Outputs.of(self.table, self.said.secret.kind, self.placed, self.said.columns.made)

    @cached_property
    def placed(self) -> tuple[str, ...]:
        """Columns that have reports: those of the data, unless the file counts its rows by another word."""
        return self.said.secret.placed(self.said.columns.made, converted=self.said.rows.noun != self.rows.noun)

    @cached_property
    def promise(self) -> Promise:
        """The numbers that the sidecar promises."""
        return Promise(self.said.secret, self.said.privacy.near, self.table)

    @cached_property
    def seen(self) -> tuple[list[tuple[int, dict[str, str]]], int]:
        """The first rows of different entries in made columns, as texts by name, with their numbers; and all rows.

        At most one more than there are reports: then one has no report, or two the same. Numbers are spelled with a
        point, so that one of another spelling, type or decimal mark is another text.
        """
        made = self.said.columns.made
        first: dict[str, tuple[int, tuple[Any, ...]]] = {}
        most = len(self.table.head["reports"])
        total = 0
        for number, entries in self.rows.entries(made):
            if len(first) <= most:
                first.setdefault(repr(entries), (number, entries))
            total += 1
        labels = (*self.outputs.columns[self.outputs.coordinates :], GENERALIZATIONS)
        found = [(number, dict(zip(made, entries, strict=True))) for number, entries in first.values()]
        spell: Callable[[Any], str] = spelled
        if self.rows.noun == "line":
            comma = any("," in row[name] for _, row in found for name in made if name not in labels)
            spell = spelled_with_comma if comma else str
        texts = [(number, {n: e if n in labels else spell(e) for n, e in row.items()}) for number, row in found]
        return texts, total

    def _require_same(self, group: str, known: dict[str, Any]) -> None:
        """Broken unless fields of a group of the sidecar have these values, which are those of the table."""
        for name, value in known.items():
            claimed = getattr(getattr(self.said, group), name)
            if claimed != value:
                raise Broken(f"the sidecar says {group}.{name} {claimed!r}, the table of {self.source} {value!r}")

    def _check_file(self) -> str:
        """Check that the file has the digest and the size that the sidecar names."""
        output = self.said.output
        if output is None:
            raise Unproved("the sidecar is of a frame and names no file, so that any file may stand beside it")
        found = digest(self.file)
        if found != output.sha256:
            digests = f"its SHA-256 is {_short(found)}, in the sidecar {_short(output.sha256)}"
            raise Broken(f"{digests}: it was changed, or the sidecar is that of another file")
        size = self.file.stat().st_size
        if output.bytes != size:
            raise Broken(f"it has {size:,} bytes, by the sidecar {output.bytes:,}")
        return f"its {size:,} bytes have the SHA-256 that the sidecar names, {_short(found)}"

    def _check_table(self) -> str:
        """Check that the table that the sidecar names is the one that was proven."""
        head = self.table.head
        found = self.written[-32:].hex()
        claimed = self.said.mechanism.table_sha256
        if claimed != found:
            digests = f"the sidecar names table {_short(claimed)}, and that of {self.source} is {_short(found)}"
            raise Broken(f"{digests}: the file is not of this mechanism")
        sizes = {"secrets": len(head["secrets"]), "reports": len(head["reports"])}
        self._require_same("mechanism", {"name": head["name"], "bits": head["bits"], **sizes})
        self._require_same(
            "prior", {"sha256": uniform_digest(sizes["secrets"])} if self.said.prior.name == "uniform" else {}
        )
        return f"the sidecar names the table of {self.source}, SHA-256 {_short(found)}"

    def _check_privacy(self) -> str:
        """Check that the levels, the metric and the unit in the sidecar are those of the table."""
        head = self.table.head
        metric = GIVEN if head["metric"] is None else head["metric"]
        unit = head["space"].get("unit", head["unit"] or "")
        known = {name: head[name] for name in (*_LEVELS, "pairs")}
        self._require_same("privacy", {**known, "metric": metric, "unit": unit})
        delta = f", delta {head['delta']:.10g}" if head["delta"] else ""
        told = f" (distances in {unit})" if unit else ""
        levels = f"epsilon {float(head['epsilon'])!r}{delta}"
        return f"the sidecar claims the levels of the table: {levels} for each report{told}"

    def _check_columns(self) -> str:
        """Check that the columns that were made are there, and that those replaced or left out are not."""
        there, said = self.rows.names, self.said
        made, where = said.columns.made, said.secret.columns
        if len({*made, *said.columns.kept}) < len(made) + len(said.columns.kept):
            raise Broken("the sidecar says of a column twice that it was made or kept")
        for name in made:
            if name not in there:
                raise Broken(f"there is no column {name!r}, which the sidecar says was made")
            if name not in (*where, *self.placed, REPORT, *_LEVELS, *_BESIDE):
                raise Broken(f"column {name!r} is said to be made, and is none that is")
        for name in there:
            if name in where and name not in made:
                raise Broken(f"column {name!r} had what is protected, and is there without having been replaced")
            if name in said.columns.left_out and name not in made:
                raise Broken(f"column {name!r} is there, which the sidecar says was left out")
        beside = [name for name in made if name in _BESIDE]
        kept = [name for name in there if name not in made]
        if other := {*kept} ^ {*said.columns.kept}:
            raise Broken(
                f"of columns that were kept, {_quoted_names(sorted(other))} are in the file or in the sidecar alone"
            )
        return (
            f"reports in {_quoted_names(self.outputs.columns)}; made of them: {_quoted_names(beside)}; "
            f"kept as given, and not protected: {_quoted_names(kept)}"
        )

    def _check_reports(self) -> str:
        """Check that every row has a report that the table can give, and that all made of it says nothing else."""
        outputs, made = self.outputs, self.said.columns.made
        noun = self.rows.noun
        alike: dict[str, set[Any]] = {name: set() for name in made if name in (*WORST, GENERALIZATIONS)}
        whole: dict[str, set[bool]] = {name: set() for name in made if name in BY_REPORT}
        first: dict[tuple[str, ...], tuple[int, dict[str, str]]] = {}
        seen, total = self.seen
        for number, row in seen:
            report = tuple(row[name] for name in outputs.columns)
            if report not in outputs.possible:
                shown = ", ".join(f"{name} {row[name]!r}" for name in outputs.columns)
                raise Broken(f"{noun} {number:,}: {shown} is no report that the mechanism can give")
            for name in _LEVELS:
                known = repr(float(self.table.head[name]))
                if name in row and row[name] != known:
                    raise Broken(f"{noun} {number:,}: {name} is {row[name]!r}, that of the table {known}")
            for name, texts in alike.items():
                texts.add(row[name])
            for name, marks in whole.items():
                marks.add(row[name].isdigit())
            # two secrets with one report must not be told apart by what stands beside it
            earlier, other = first.setdefault(report, (number, row))
            if other != row:
                name = next(name for name in made if other[name] != row[name])
                rows = f"{noun}s {earlier:,} and {number:,}"
                raise Broken(f"{rows} have the same report, but another {name}, which must follow from the report")
        if words := alike.get(GENERALIZATIONS):
            told = next(iter(words))
            if not isinstance(told, str) or not told.strip():
                raise Broken(f"{GENERALIZATIONS} is {told!r}, and no sentence")
        if differs := [name for name, found in (alike | whole).items() if len(found) > 1]:
            raise Broken(f"{differs[0]} differs between rows, and is to be the same, or as whole, in all")
        return f"{total:,} rows, each with one of the {len(outputs.possible):,} reports that the mechanism can give"

    def _check_rows(self) -> str:
        """Check that there are as many rows as the sidecar says, and as its policies leave of the rows given."""
        total = self.seen[1]
        rows, paid = self.said.rows, self.said.budgets
        if rows.out != total:
            raise Broken(f"there are {total:,} rows, by the sidecar {rows.out}")
        dropped = len(rows.dropped)
        unpaid = 0 if paid is None else paid.rows_left_out
        if rows.given - dropped - unpaid != total:
            left = f"of {rows.given} in the sidecar {dropped} and {unpaid} were left out"
            raise Broken(f"there are {total:,} rows, but {left}")
        secret = self.said.secret
        if (rows.outside is None) is not (secret.outside == "nearest"):
            raise Broken(f"the sidecar says rows.outside {rows.outside!r} beside secret.outside {secret.outside!r}")
        outside = rows.outside or 0
        unfit = ((rows.unusable, secret.unusable), (outside, secret.outside))
        if any(many and policy != "drop" for many, policy in unfit) or sum(many for many, _ in unfit) != dropped:
            counts = f"{dropped:,} rows were left out, {outside:,} outside and {rows.unusable:,} unusable"
            policies = f"secret.outside {secret.outside!r} and secret.unusable {secret.unusable!r}"
            raise Broken(f"{counts}, which {policies} do not allow")
        if min(outside, rows.unusable) < 0:
            raise Broken(f"the sidecar says rows.outside {outside:,} and rows.unusable {rows.unusable:,}")
        if not all(0 < line < later for line, later in pairwise((*rows.dropped, math.inf))):
            raise Broken("the sidecar counts rows that were left out twice, or not in order")
        if paid is not None:
            _check_paid(paid, self.table.head["epsilon"])
        lost = [f"{dropped:,} outside or unusable"] * (dropped > 0) + [f"{unpaid:,} not paid for"] * (unpaid > 0)
        return f"{total:,}, as the sidecar says; left out {', '.join(lost)}" if lost else f"{total:,}, none left out"

    def _check_radii(self) -> str:
        """Check that radii hold what they are said to hold."""
        outputs = self.outputs
        found = [(tuple(row[name] for name in outputs.columns), row) for _, row in self.seen[0]]
        rows = ((outputs.possible[report], row) for report, row in found if report in outputs.possible)
        places = places_of(self.table, self.said.secret.kind)
        return Radii(self.said, self.promise, places).check(rows)


def _check_paid(paid: Paid, epsilon: float) -> None:
    """Check that the number of rows that a budget is said to pay for follows from it, and the policy for others."""
    if paid.rows_left_out and paid.over_budget != "drop":
        raise Broken(f"rows were not paid for, though the sidecar says budgets.over_budget {paid.over_budget!r}")
    budgets = [(paid.default, paid.default_rows)]
    if paid.in_period is not None:
        budgets.append((paid.in_period.budget, paid.in_period.rows))
    for budget, rows in budgets:
        # the budget may have been rounded to the double in the sidecar
        about = () if budget is None else (budget, *(math.nextafter(budget, end) for end in (math.inf, -math.inf)))
        possible = {Fraction(one) // Fraction(epsilon) for one in about} if about and epsilon else {None}
        if rows not in possible:
            raise Broken(f"a budget of {budget!r} does not pay for {rows!r} rows at {epsilon!r}")


def _quoted_names(columns: Sequence[str]) -> str:
    """Return the names of columns for a message, the first twelve of them."""
    some = ", ".join(map(repr, columns[:_SHOWN])) or "none"
    return some + (f", and {len(columns) - _SHOWN:,} more" if len(columns) > _SHOWN else "")


def _short(digest: str) -> str:
    return f"{digest[:16]}…"


_LEFT = (
    "columns that were kept, how many rows there were and what became of those outside, the words in "
    "dataGeneralizations, and what the sidecar says of names, versions, keys, budgets and the command"
)


def verify_published(
    file: str | Path, result: str | Path, *, table: Path | None = None, tell: Tell = lambda line: None
) -> Verdict:
    """Prove a result again, and that a published file and its sidecar belong to its mechanism.

    The table that the sidecar names by a digest is that of the result, which was proven before.
    What is proven is told in `note`: that reports were drawn honestly is not, as no file can show it. The sidecar may
    promise no more than the table proves: the factor between positions, and the radii. It holds data alone, and a
    field that is unknown is refused. What it says of keys and ledgers is no claim.

    Parameters
    ----------
    file : path
        That `dx.apply` or `dxopt apply` wrote: CSV, Parquet, GeoParquet or GeoJSON; its sidecar is beside it.
    result : path
        A result folder, or a table file `*.dxt`.
    table : path, optional
        A table file that was made of the mechanism of a result folder that has none.
    tell : callable, optional
        Given a line of text for each part of the result.

    Returns
    -------
    Verdict
        One check for the result, and one for each claim of the file and the sidecar.

    Raises
    ------
    SpecError
        If there is no such file, sidecar or result, or the file has another ending.
    UnsupportedError
        If a package that reads the file is missing.
    """
    path, proven = Path(file), Path(result)
    if not is_file(path):
        raise SpecError("file", f"{path} is no file", "name one that dxopt apply wrote; the result by --result")
    require_readable(path)
    if not is_file(sidecar_of(path)):
        fix = "put it there: dxopt apply wrote it beside the file"
        raise SpecError("sidecar", f"{sidecar_of(path)} is missing", fix)
    verdict = verify_table(proven) if proven.suffix == SUFFIX else verify(proven, tell=tell)
    one = one_check("result", verdict.checks)
    told = f"{proven}: all {one.detail} proven again" if one.status is Outcome.HOLDS else f"{proven}: {one.detail}"
    checks = [Check(one.name, one.status, told)]
    if table is not None:
        own = check_claim("result", lambda: _require_of(proven, table))
        checks.append(one_check("made table", (*verify_table(table).checks, own)))
    checks += _checks(path, proven, table or proven)
    found = Verdict(str(path), tuple(checks))
    return replace(found, note=_note(path, proven)) if found.outcome is Outcome.HOLDS else found


def _require_of(result: Path, table: Path) -> str:
    """Check that a table is on the space of a result folder, at its level."""
    found, made = Result.read(result), TableFile.of(bytes_of(table))
    if made.head["space"] != space_in_head(found):
        raise Broken(f"the table is on another space than {result}")
    for name in _LEVELS:
        if made.head[name] > found.claimed(name):
            raise Broken(f"the {name} of the table is {made.head[name]!r}, that of {result} {found.claimed(name)!r}")
    return f"it is on the space of {result}, at its level"


def _checks(file: Path, source: Path, result: Path) -> Iterator[Check]:
    """Yield the checks of a file and its sidecar against the table of a result, or of a source that has none."""
    read: list[Any] = []
    for name, reader, path in (("sidecar", read_sidecar, sidecar_of(file)), ("table", _table_bytes, result)):
        try:
            read.append(reader(path))
        except Exception as error:
            yield failed_check(name, error)
            return
    said, written = read
    yield from starmap(check_claim, _Published(file, said, str(source), written).checks().items())


def _table_bytes(result: Path) -> bytes:
    """Return the bytes of the table file of a result."""
    if result.suffix == SUFFIX:
        return bytes_of(result)
    if not is_file(result / TABLE):
        reason = read_json(result, CLAIMS).get("table")
        if isinstance(reason, str):
            raise Unproved(f"{result} has none ({reason}): name the table that was applied, a file *{SUFFIX}")
        raise Broken(f"{result} has no table, so that nothing can have been drawn from it")
    return bytes_of(result / TABLE)


def _note(file: Path, result: Path) -> str:
    """Return what is proven, and what is not, in a line each."""
    said = read_sidecar(sidecar_of(file))
    note = (
        f"proven: the reports of {file.name} all lie in the outputs of the mechanism that {result} proves, and the "
        "sidecar names its table; that they were drawn from it honestly cannot be proven from a file"
    )
    if said.draws.keyed:
        note += f"; whoever has key {said.draws.key} and the secrets can draw them again"
    if said.budgets is not None:
        note += "; what was paid for them is in the ledger alone"
    return f"{note}\nnot proven again: {_LEFT}"
