"""A mechanism applied to the positions, values or labels of many people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dxopt.errors import SpecError
from dxopt.model.mechanism import Mechanism
from dxopt.release.applying import sidecar as sidecars
from dxopt.release.applying.files import apply_to_file, opened, require_output
from dxopt.release.applying.frames import Frame, apply_to_frame
from dxopt.release.applying.persons import Ledger, Persons
from dxopt.release.applying.plan import Options, Plan, asked_radius, table_and_prior
from dxopt.release.applying.tally import Moved
from dxopt.release.applying.where import Where
from dxopt.release.applying.writing import write_json
from dxopt.release.keys import Key
from dxopt.release.tables.table import IntegerTable
from dxopt.runtime.live import Shares, showing
from dxopt.runtime.shown import Lines, Shown
from dxopt.spaces.units import per, with_unit

if TYPE_CHECKING:
    from dxopt.model.prior import PriorLike


@dataclass(frozen=True, eq=False, repr=False)
class Applied(Shown):
    """What became of a file.

    Attributes
    ----------
    output : Path
    sidecar : Path
        The file beside it that says what was done.
    said : dict
        What that file holds.
    moved : Moved
        How many values on a line were no secrets themselves, and how far the nearest secret was at most, for which
        they were taken: `values` and `furthest`.

    Examples
    --------
    >>> import dxopt as dx
    >>> from pathlib import Path
    >>> size = Path("beds.csv").write_text("unit,beds\\nA,12\\nB,30\\n", encoding="utf-8")
    >>> table = dx.classic.geometric(dx.line(50), epsilon=0.5)
    >>> done = dx.apply(table, "beds.csv", "public.csv", column="beds", within=0)
    >>> print(done.output, done.said["rows"]["out"], done.dropped)
    public.csv 2 []
    """

    output: Path
    sidecar: Path
    said: dict[str, Any]
    moved: Moved

    @property
    def dropped(self) -> list[int]:
        """The lines, or rows counted from 1, that were left out."""
        return self.said["rows"]["dropped"]

    def __str__(self) -> str:
        rows = self.said["rows"]
        privacy = self.said["privacy"]
        level = f"epsilon {privacy['epsilon']:.10g} {per(privacy['unit'])}"
        lines = [f"{self.output}: {rows['out']:,} of {rows['in']:,} rows, {level} each"]
        if self.dropped:
            shown = ", ".join(f"{line:,}" for line in self.dropped[:10])
            more = f", … and {len(self.dropped) - 10:,} more in {self.sidecar.name}" if len(self.dropped) > 10 else ""
            lines.append(f"left out: {len(self.dropped):,} ({rows['dropped_are'].split(',')[0]} {shown}{more})")
        elif rows["outside"]:
            lines.append(f"outside of the space, taken for the nearest secret: {rows['outside']:,}")
        if self.moved.values:
            lines.append(f"values that are no secrets: {self._moved()}")
        if (left := _unpaid(self.said)) is not None:
            lines.append(f"left out for want of budget: {left}")
        return "\n".join([*lines, f"what was done: {self.sidecar}"])

    def _moved(self) -> str:
        furthest = with_unit(f"{self.moved.furthest:.4g}", self.said["secret"]["within_unit"])
        return f"{self.moved.values:,}, taken for the nearest secret, at most {furthest} away"

    def _said(self) -> str:
        return f"{self.output.name}: {self.said['rows']['out']:,} rows"

    def _lines(self) -> Lines:
        rows, privacy = self.said["rows"], self.said["privacy"]
        return [
            ("written to", str(self.output)),
            ("rows", f"{rows['out']:,} of {rows['in']:,}"),
            ("left out", f"{len(self.dropped):,}"),
            *([] if (left := _unpaid(self.said)) is None else [("left out for want of budget", left)]),
            ("outside of the space", f"{rows['outside']:,}"),
            *([("values that are no secrets", self._moved())] if self.moved.values else []),
            ("privacy of a row", f"ε {privacy['epsilon']:.3g} {per(privacy['unit'])}"),
            ("what was done", str(self.sidecar)),
        ]


def _unpaid(said: dict[str, Any]) -> str | None:
    """The rows that were left out for want of budget, in words; None where none may be."""
    paid = said["budgets"]
    if paid is None or paid["over_budget"] != "drop":
        return None
    rows, persons = paid["left_out"]["rows"], paid["left_out"]["persons"]
    return f"{rows:,} row{'' if rows == 1 else 's'} of {persons:,} person{'' if persons == 1 else 's'}"


def apply(
    table: IntegerTable | Mechanism | Any,
    data: Any,
    output: str | Path | None = None,
    *,
    lat: str | None = None,
    lon: str | None = None,
    x: str | None = None,
    y: str | None = None,
    column: str | None = None,
    label: str | None = None,
    outside: Literal["refuse", "nearest", "drop"] = "refuse",
    within: float | None = None,
    worst: bool = False,
    lean: bool = False,
    keep: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    prior: PriorLike | None = None,
    key: Key | None = None,
    person: str | None = None,
    release: str | None = None,
    budgets: Ledger | None = None,
    over_budget: Literal["refuse", "drop"] = "refuse",
    sidecar: str | Path | None = None,
    force: bool = False,
    command: Sequence[str] | None = None,
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
    output : str or Path, optional
        The file to write, in the same format, where data is one.
    lat, lon : str, optional
        The columns of latitude and longitude, in degrees. Without any columns the points of a geometry are taken.
    x, y : str, optional
        The columns of the two coordinates.
    column : str, optional
        The column of the values of secrets on a line, or else of their labels.
    label : str, optional
        The column of their labels.
    outside : {"refuse", "nearest", "drop"}
        What becomes of rows further than `within` from every secret: an error, the nearest secret all the same, or
        the row is left out. Rows without a usable position are refused, or left out as well under "drop".
    within : float, optional
        How far a position may be from its secret, in the unit of positions (km on the Earth, as the space has it). By
        default what follows from the space alone: the half diagonal of cells, half of the widest gap on a line, else
        the largest distance of a secret to its nearest neighbour.
    worst : bool
        Whether to add the radius for the worst secret.
    lean : bool
        Whether to add radii alone: without the label of the report where its coordinates or value stand, and without
        what is the same in every row and stands in the sidecar (the level, and what was done).
    keep, drop : sequence of str
        Which other columns are kept, all by default, and which are not.
    prior : Prior, str or array, optional
        What the radius is about; that of the table where it has one, else uniform.
    key : Key, optional
        Draws that can be repeated: the same person at the same secret gets the same report, in all data of a release.
        For secrets that stay: different reports of a person prove different secrets, however close they are.
    person : str, optional
        The column that says whose row it is, for `key` and `budgets`.
    release : str, optional
        The name of what is published. With a key, all is drawn anew under another one; with a ledger and no key, it
        is the name in the ledger alone.
    budgets : Budgets, optional
        The ledger that each row is paid from, before anything is written; a draw with a key that a person has had
        before costs nothing, so that what is spent and refused depends on the true secrets. The output of a run that
        was stopped does not exist: the same call again goes on.
    over_budget : {"refuse", "drop"}
        What becomes of rows that a person cannot pay for: an error before anything is paid, or, without a key, the
        first rows of each person are kept in the order of the data, as many as the budget pays for.
    sidecar : str or Path, optional
        Where to write what was done, for frames; for files it is `OUTPUT.dxopt.json`.
    force : bool
        Whether files that are there are replaced.
    command : sequence of str, optional
        The command that is recorded.
    progress : bool or callable, optional
        True shows a bar on standard error, or in the notebook. A callable is given a line and the share that is done.

    Returns
    -------
    frame of the same kind, or Applied
        With the report in place of the secret (coordinates, or the label), and the columns `report` (its label),
        `epsilon`, `delta` where it is positive, `coordinateUncertaintyInMeters` or `uncertainty` (the smallest radius
        that holds the true position with 95 % under the prior, given the report, plus `within`) and
        `dataGeneralizations`; `lean` has fewer. Rows are in the order of the input, which is to follow from something
        that is not protected, such as time.

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
    columns = {"lat": lat, "lon": lon, "x": x, "y": y, "column": column, "label": label}
    options = Options(outside, within, worst, keep, drop, over_budget, lean)
    asked = Persons.of(person, key, release, budgets, over_budget)
    if not isinstance(data, str | Path):
        if output is not None:
            raise SpecError("output", "is given for a frame", "leave it out: a frame is returned")
        frame = Frame(data)
        plan = _planned(table, prior, columns, frame, options, asked)
        with showing(progress) as tell:
            found, layout, tally = apply_to_frame(plan, frame, tell)
        if sidecar is not None:
            said = sidecars.content(plan, layout, tally, "row", output=None, command=command)
            write_json(Path(sidecar), said)
        return found
    if output is None:
        raise SpecError("output", "is missing", "name the file to write")
    if sidecar is not None:
        raise SpecError("sidecar", "is given for a file", "leave it out: it is the output with .dxopt.json")
    path = Path(data)
    file = Path(output)
    source = opened(path)
    require_output(file, path, force=force)
    plan = _planned(table, prior, columns, source, options, asked)
    with showing(progress) as tell:
        said, moved = apply_to_file(plan, source, path, file, command=command, progress=tell)
    return Applied(file, sidecars.sidecar_of(file), said, moved)


def _planned(
    table: Any,
    prior: PriorLike | None,
    columns: dict[str, str | None],
    source: Any,
    options: Options,
    persons: Persons | None,
) -> Plan:
    """The plan for data; SpecError where the columns are not there, or do not suit the table."""
    known, believed = table_and_prior(table, prior)
    where = Where.of(known.space, **columns, geometry=source.geometry)
    if where.geometry and hasattr(source, "require_points"):
        source.require_points()
    plan = Plan.of(known, believed, where, options, persons, asked_radius(table))
    # the columns of GeoJSON are known once it was read
    if source.noun != "feature":
        plan.require_columns(source.names)
    return plan
