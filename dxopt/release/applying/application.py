"""Replace the secrets in people's data by reports: `dx.apply`, its destination and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dxopt.errors import SpecError, required
from dxopt.model.mechanism import Mechanism
from dxopt.model.privacy import privacy_text
from dxopt.numerics.number_syntax import digits_up
from dxopt.release.applying.column_mapping import Where
from dxopt.release.applying.files import apply_to_file, held, opened, require_no_csv
from dxopt.release.applying.frames import Frame, apply_to_frame
from dxopt.release.applying.persons import Persons
from dxopt.release.applying.plan import Columns, Plan, asked_radius, table_and_prior
from dxopt.release.applying.row_checks import Moved
from dxopt.release.keys import Key
from dxopt.release.tables.table import IntegerTable
from dxopt.runtime.atomic_write import require_free
from dxopt.runtime.csv_text import Dialect
from dxopt.runtime.display import Lines, Shown
from dxopt.runtime.progress import Shares, showing
from dxopt.runtime.reading import as_path
from dxopt.spaces.units import with_unit
from dxopt.verify.published.sidecar import Sidecar, sidecar_of
from dxopt.words.phrases import level
from dxopt.words.published import left_out, pays_for, sentences, unpaid

if TYPE_CHECKING:
    from dxopt.release.budgets.budgets import Budgets

_Group = TypeVar("_Group")
_SHOWN = 10
"""Most numbers of lines left out that a text lists."""
_OUTSIDE = "outside of the space, taken for the nearest secret"


@dataclass(frozen=True)
class Output:
    """Destination of `dx.apply`, with options that the name of a file alone has not.

    Attributes
    ----------
    file : str or Path, or None
        The file to write; None for a frame, which is returned.
    sidecar : str or Path, or None
        The file for the record of what was done, for frames; for files it is `FILE.dxopt.json`.
    force : bool
        True to replace files that are there.
    command : sequence of str, or None
        The command that is recorded.

    Examples
    --------
    >>> import dxopt as dx
    >>> from pathlib import Path
    >>> size = Path("beds.csv").write_text("unit,beds\\nA,12\\nB,30\\n", encoding="utf-8")
    >>> table = dx.classic.geometric(dx.line(50), epsilon=0.5)
    >>> for again in (False, True):
    ...     done = dx.apply(table, "beds.csv", dx.Output("public.csv", force=again), column="beds", within=0)
    >>> print(done.output)
    public.csv
    """

    file: str | Path | None = None
    sidecar: str | Path | None = None
    force: bool = False
    command: Sequence[str] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Applied(Shown):
    """Result of applying a mechanism to a file.

    Attributes
    ----------
    output : Path
    sidecar : Path
        The file beside it that says what was done.
    record : Sidecar
        The content of that file.
    moved : Moved
        Number of values on a line that were no secrets themselves, and how far the nearest was at most, for which
        they were taken: `values` and `furthest`; number of rows `outside` that were taken for the nearest secret.
        None of these is in the record.

    Examples
    --------
    >>> import dxopt as dx
    >>> from pathlib import Path
    >>> size = Path("beds.csv").write_text("unit,beds\\nA,12\\nB,30\\n", encoding="utf-8")
    >>> table = dx.classic.geometric(dx.line(50), epsilon=0.5)
    >>> done = dx.apply(table, "beds.csv", "public.csv", column="beds", within=0)
    >>> print(done.output, done.record.rows.out, done.dropped)
    public.csv 2 []
    >>> print(dict(done.sentences)["one report"])
    For two secrets at distance d every report is at most exp(0.5 d) times as likely for one as for the other.
    """

    output: Path
    sidecar: Path
    record: Sidecar
    moved: Moved

    @property
    def said(self) -> dict[str, Any]:
        """The record as JSON has it."""
        return self.record.content()

    @property
    def sentences(self) -> tuple[tuple[str, str], ...]:
        """Guarantees of the file and their limits, in plain words: topics, each with a sentence or two."""
        return sentences(self.record)

    @property
    def dropped(self) -> list[int]:
        """The lines, or rows counted from 1, that were left out."""
        return list(self.record.rows.dropped)

    def __str__(self) -> str:
        rows, privacy = self.record.rows, self.record.privacy
        cost = level(privacy.epsilon, privacy.unit)
        lines = [f"{self.output}: {rows.out:,} of {rows.given:,} rows, {cost} each"]
        if many := len(rows.dropped):
            shown = ", ".join(f"{line:,}" for line in rows.dropped[:_SHOWN])
            more = f", … and {many - _SHOWN:,} more in {self.sidecar.name}" if many > _SHOWN else ""
            lines.append(f"left out: {left_out(self.record)} ({rows.noun}s {shown}{more})")
        if self.moved.outside:
            lines.append(f"{_OUTSIDE}: {self.moved.outside:,}")
        if self.moved.values:
            lines.append(f"values that are no secrets: {self._moved()}")
        if (left := unpaid(self.record.budgets)) is not None:
            lines.append(f"left out for want of budget: {left}")
        if enough := pays_for(self.record):
            lines.append(f"the budget pays for: {enough}")
        return "\n".join([*lines, f"what was done: {self.sidecar}"])

    def _moved(self) -> str:
        """Return how many values were no secrets, and how far they were moved, in words."""
        furthest = with_unit(f"{digits_up(self.moved.furthest, 4):.4g}", self.record.secret.within_unit)
        return f"{self.moved.values:,}, taken for the nearest secret, at most {furthest} away"

    def _summary(self) -> str:
        return f"{self.output.name}: {self.record.rows.out:,} rows"

    def _lines(self) -> Lines:
        rows, privacy = self.record.rows, self.record.privacy
        left, enough = unpaid(self.record.budgets), pays_for(self.record)
        return [
            ("written to", str(self.output)),
            ("rows", f"{rows.out:,} of {rows.given:,}"),
            ("left out", left_out(self.record) or "0"),
            *([] if left is None else [("left out for want of budget", left)]),
            *([("the budget pays for", enough)] if enough else []),
            *([(_OUTSIDE, f"{self.moved.outside:,}")] if self.moved.outside else []),
            *([("values that are no secrets", self._moved())] if self.moved.values else []),
            ("privacy of a row", privacy_text(privacy.epsilon, privacy.delta, privacy.unit)),
            ("what was done", str(self.sidecar)),
        ]


def apply(
    table: IntegerTable | Mechanism | Any,
    data: Any,
    output: str | Path | Output | None = None,
    *,
    lat: str | None = None,
    lon: str | None = None,
    column: str | None = None,
    columns: Columns | None = None,
    outside: Literal["refuse", "nearest", "drop"] = "refuse",
    unusable: Literal["refuse", "drop"] = "refuse",
    within: float | None = None,
    person: str | None = None,
    account: str | None = None,
    ledger: Budgets | None = None,
    over_budget: Literal["refuse", "drop"] = "refuse",
    time: str | None = None,
    per: str | None = None,
    key: Key | None = None,
    release: str | None = None,
    progress: Shares | bool | None = None,
) -> Any:
    """Replace the secrets in a table of people's data by reports, drawn exactly from an integer table.

    Parameters
    ----------
    table : IntegerTable, Mechanism or Report
        A mechanism with a proof is made a table, a report has one.
    data : frame, str or Path
        A frame of pandas, Polars or GeoPandas; or a file of CSV, Parquet, GeoParquet or GeoJSON, which is read in
        chunks, twice: everything is checked before the first report is drawn.
    output : str, Path or Output, optional
        The file to write, in the format of its ending, where data is one. `Output` has what else may be asked of it:
        replace files that are there, or write the sidecar of a frame.
    lat, lon : str, optional
        The columns of latitude and longitude, in degrees. Without any columns the points of a geometry are taken.
    column : str, optional
        The column of the values of secrets on a line, or else of their labels.
    columns : Columns, optional
        Other columns of the data (two coordinates in a plane, labels), which of them are kept, and what is added.
    outside : {"refuse", "nearest", "drop"}
        Treatment of rows further than `within` from every secret: an error, the nearest secret all the same, or
        the row is left out, as are then rows without a usable position.
    unusable : {"refuse", "drop"}
        Treatment of rows without a usable position, person or time, as empty cells: an error, or they are left out.
    within : float, optional
        Largest distance of a position to its secret, in the unit of positions (km on the Earth, as the space has it).
        By default what follows from the space alone: the half diagonal of cells, half of the widest gap on a line,
        else the largest distance of a secret to its nearest neighbour.
    person : str, optional
        The column that says whose row it is, for `key` and `ledger`.
    account : str, optional
        Instead of `person`, for data that are of no persons, as counts by day are: the name of one account of the
        ledger, such as "everybody", that all rows are paid from. It is no column.
    ledger : Budgets, optional
        Ledger that rows are paid from before anything is written; a draw with a key that a person has had before
        costs nothing, so that what is spent and refused depends on the true secrets. The output of a run that was
        stopped does not exist: the same call again goes on. What was paid for a frame without a key is given back.
    over_budget : {"refuse", "drop"}
        Treatment of rows that a person cannot pay for: an error before anything is paid, or, without a key, the
        first rows of each person are kept in the order of the data, as many as the budget pays for.
    time : str, optional
        The column of when a row was, for a ledger with budgets by period (`Budgets.set_per`): times, or text as in
        ISO 8601, which is of the ledger's time zone where it has no offset.
    per : {"day", "week", "month", "year"}, optional
        The period of the ledger's budgets, to be told if it has another one, or none.
    key : Key, optional
        Draws that can be repeated: the same person at the same secret gets the same report, in all data of a release.
        For secrets that stay: different reports of a person prove different secrets, however close they are.
    release : str, optional
        The name of what is published. With a key, all is drawn anew under another one; with a ledger and no key, it
        is the name in the ledger alone.
    progress : bool or callable, optional
        True shows a bar on standard error, or in the notebook. A callable is given a line and the share that is done.

    Returns
    -------
    frame of the same kind, or Applied
        With the report in place of the secret (coordinates, or the label), and the columns `report` (its label),
        `epsilon`, `delta` where it is positive, `coordinateUncertaintyInMeters` or `uncertainty` (the smallest radius
        that holds the true position with 95 % under the prior, given the report, plus `within`) and
        `dataGeneralizations`; `Columns(lean=True)` has fewer. Rows are in the order of the input, which is to follow
        from something that is not protected, such as time.

    Raises
    ------
    SpecError
        If columns are missing, rows are refused, a budget is exceeded, or the output may not be written. Nothing is
        written then.
    UnsupportedError
        If a package is missing.

    Examples
    --------
    >>> import dxopt as dx
    >>> import pandas as pd
    >>> beds = dx.classic.geometric(dx.line(50), epsilon=0.5)
    >>> public = dx.apply(beds, pd.DataFrame({"unit": ["A", "B"], "beds": [12, 30]}), column="beds", within=0)
    >>> print(public.columns.tolist()[:3], public["unit"].tolist(), public["epsilon"].tolist())
    ['unit', 'beds', 'report'] ['A', 'B'] [0.5, 0.5]
    """
    also = _group("columns", columns, Columns)
    where = {"lat": lat, "lon": lon, "x": also.x, "y": also.y, "column": column, "label": also.label}
    for field, name in {**where, "person": person, "time": time}.items():
        required(field, name, str | None, "give the name of a column, as text")
    required("account", account, str | None, "give a name, such as everybody")
    asked = (*where.values(), person, time, *(also.keep or ()), *also.drop)
    named = [name for name in asked if name is not None]
    options: dict[str, Any] = {"outside": outside, "unusable": unusable, "within": within}
    options |= {"over_budget": over_budget}
    options["persons"] = Persons.of(person, account, key, release, ledger, over_budget, time, per)
    to = Output(output) if isinstance(output, str | Path) else _group("output", output, Output)
    keys = ("delimiter", "decimal", "encoding", "header")
    dialect = Dialect(**{key: getattr(also, key) for key in keys})
    if not isinstance(data, str | Path):
        if to.file is not None:
            raise SpecError("output", "is given for a frame", "leave it out: a frame is returned")
        require_no_csv(dialect)
        if also.formulas != "keep":
            raise SpecError("formulas", "are a matter of CSV, and the data are none", "leave it out")
        frame = Frame(data, named)
        plan = _planned(table, also, where, frame, options)
        record = None if to.sidecar is None else as_path(to.sidecar, "sidecar", text=True)
        if record is not None:
            require_free(record, force=to.force)
        with showing(progress) as tell:
            return apply_to_frame(plan, frame, record, command=to.command, progress=tell)
    if to.file is None:
        raise SpecError("output", "is missing", "name the file to write")
    if to.sidecar is not None:
        raise SpecError("sidecar", "is given for a file", "leave it out: it is the output with .dxopt.json")
    path = as_path(data, "data")
    file = as_path(to.file, "output", text=True)
    numeric = [name for name in (lat, lon, also.x, also.y, column) if name is not None]
    source = opened(path, dialect, named, numeric)
    with held(file, path, force=to.force), showing(progress) as tell:
        plan = _planned(table, also, where, source, options)
        said, moved = apply_to_file(plan, source, path, file, command=to.command, progress=tell)
    return Applied(file, sidecar_of(file), said, moved)


def _group(field: str, given: _Group | None, kind: type[_Group]) -> _Group:
    """Return a group of options, that of defaults if none is given; SpecError for anything else."""
    required(field, given, kind | None, f"give a dx.{kind.__name__}")
    return kind() if given is None else given


def _planned(
    table: Any, columns: Columns, secrets: dict[str, str | None], source: Any, options: dict[str, Any]
) -> Plan:
    """Return the plan for a frame or file, `source`; SpecError if columns are missing, or do not suit the table.

    `table` is anything that `apply` takes for one; `secrets` are the columns that secrets are found by. Radii are
    planned for the radius by which the level of the table was asked for, if it was.
    """
    known, believed = table_and_prior(table, columns.prior)
    text = getattr(source, "text", None)
    decimal = columns.decimal or "." if text is None else text.decimal
    where = Where.of(known.space, **secrets, geometry=source.geometry, decimal=decimal, said=columns.decimal)
    if where.geometry and hasattr(source, "require_points"):
        source.require_points()  # their encoding and coordinate system; each point is checked when it is read
    plan = Plan.of(known, believed, where, columns, asked_radius(table), **options)
    # the columns of GeoJSON are known only once it was read, so that `apply_to_file` requires them
    if source.noun != "feature":
        plan.require_columns(source.names, named=source.named)
    return plan
