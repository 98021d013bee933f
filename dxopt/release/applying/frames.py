"""Frames of pandas, Polars and others that narwhals knows, and of GeoPandas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, SpecError, optional
from dxopt.release.applying.column_mapping import Layout
from dxopt.release.applying.files import write_json
from dxopt.release.applying.formats import ROWS, places_of_shapes
from dxopt.release.applying.place_like import is_same
from dxopt.release.applying.plain_cells import NotPlain, plain_array, plain_cell
from dxopt.release.applying.plan import Needed, Payment, Plan, Settled
from dxopt.release.applying.row_checks import Fingerprints, Repeats, fingerprints
from dxopt.release.applying.sidecar import sidecar
from dxopt.runtime.arrow import bare_array, values_of
from dxopt.runtime.column_names import as_asked, is_name, require_distinct, require_header
from dxopt.runtime.identity import each
from dxopt.spaces.positions import require_wgs84
from dxopt.verify.published.sidecar import Noun

_WITHOUT_ARROW = ("Object", "Int128", "UInt128")
"""Types of Polars that Arrow has not."""


class Frame:
    """A frame, whatever library it is of; `geometry` names the active one of a GeoDataFrame."""

    noun: Noun = "row"

    def __init__(self, native: Any, columns: Sequence[str]) -> None:
        nw = optional("narwhals")
        native, self._levels = _with_index_as_columns(native)
        try:
            self._frame = nw.from_native(native, eager_only=True)
        except TypeError:
            lazy = hasattr(native, "collect")
            fix = "collect it first" if lazy else "give a frame of pandas, Polars or GeoPandas, or the path of a file"
            raise SpecError("data", f"is of type {type(native).__name__}", fix) from None
        except Exception as error:
            require_header([str(name) for name in getattr(native, "columns", ())], (), None, proven=False)
            # narwhals has an error of its own for columns of one name
            raise SpecError("data", f"is no usable frame: {' '.join(str(error).split())[:120]}", "mend it") from None
        stored = self._frame.columns
        if not all(isinstance(name, str) for name in stored):
            raise SpecError("data", "has columns whose names are no text", "name them, as by frame.rename")
        odd: dict[str, str] = {}
        self._frame = _rebuilt(self._frame, odd)
        native = self._native = self._frame.to_native()
        self._shapes: list[str] = []
        if type(native).__module__.startswith("geopandas"):
            self._shapes = [str(name) for name, kind in native.dtypes.items() if str(kind) == "geometry"]
        named = dict(zip(stored, as_asked(stored, columns), strict=True)) | {name: name for name in self._shapes}
        self.names = tuple(named.values())
        require_distinct(self.names)
        self._frame = self._frame.rename(named)
        self._odd = {named[name]: what for name, what in odd.items()}
        self._levels = {named[name]: level for name, level in self._levels.items()}
        # labels without a name of their own tell rows apart, and not people
        self._numbers = [name for name, level in self._levels.items() if name != level]
        self.geometry: str | None = getattr(native, "active_geometry_name", None) if self._shapes else None
        numeric = [name for name, kind in self._frame.schema.items() if kind.is_numeric()]
        self.named = self.geometry is not None or any(map(is_name, numeric))

    def __len__(self) -> int:
        return len(self._frame)

    def hidden(self, plan: Plan) -> list[str]:
        """Return columns to leave out: further geometry, and labels that repeat the secret or what is dropped."""
        away = [name for name in (*plan.where.names, *plan.columns.drop) if name in self.names]
        labels = [
            name for name in self._levels if name not in away and any(self._are_same(name, one) for one in away)
        ]
        return [name for name in self._shapes if name not in plan.where.names] + labels

    def _are_same(self, one: str, other: str) -> bool:
        """Return whether two columns have the same value in every row, whatever their types."""
        columns = [self.column(name, slice(None)) for name in (one, other)]
        return all(map(is_same, *columns))

    def require_plain(self, names: Sequence[str]) -> None:
        """Raise SpecError if one of these columns has cells that are no plain values."""
        name = next((name for name in names if name in self._odd), None)
        if name is not None:
            fix = ("write numbers or text, or leave it out: ", Option("drop", [name]))
            raise SpecError("data", f"column {name} has {self._odd[name]}, which cannot be copied", *fix)

    def require_points(self) -> None:
        """Raise SpecError unless the geometry is in WGS 84."""
        crs = self._native.crs
        if crs is None:
            raise SpecError("geometry", "has no coordinate system", "say which: frame.set_crs(4326)")
        authority, code = crs.to_authority() or (None, None)
        require_wgs84(authority, code)

    def values(self, plan: Plan) -> list[Any]:
        """Return the columns that have the secrets."""
        where = plan.where
        if where.geometry:
            return list(places_of_shapes(self._native[where.names[0]].to_numpy()))
        if where.kind == "label":
            return [each(self._frame[where.names[0]].to_native(), "label")]
        return [self.column(name, slice(None)) for name in where.names]

    def column(self, name: str, some: slice) -> Any:
        """Return the values of a column in some rows."""
        found = self._stored[name]
        return found.iloc[some].to_numpy() if hasattr(found, "iloc") else values_of(found[some])

    @cached_property
    def _stored(self) -> dict[str, Any]:
        """The columns, as Arrow or as pandas has them."""
        return {name: _stored(self._frame[name]) for name in self.names}

    def listed(self, name: str | None, field: str) -> Any:
        """Return the cells of a column, such as that of persons, or None where none is asked for."""
        return None if name is None else each(self._frame[name].to_native(), field)

    def fingerprints(self) -> Fingerprints:
        """Return a number for each row, the same for rows that are the same in every column."""
        return fingerprints(self._stored[name] for name in self.names if name not in self._numbers)

    def has_others(self, plan: Plan, hidden: Sequence[str]) -> bool:
        """Return whether rows have columns besides those that are replaced or hidden."""
        return bool({*self.names} - {*plan.where.names, *hidden, *self._numbers})

    def replaced(self, layout: Layout, kept: NDArray[np.bool_], drawn: NDArray[np.int64]) -> Any:
        """Return a frame of the same kind with the rows that are kept and the reports that were drawn for them."""
        import narwhals as nw

        frame = self._frame if kept.all() else _rebuilt(self._frame.filter(kept.tolist()))
        drew = {name: values[drawn] for name, values in layout.made.items()}
        made = [
            nw.new_series(name, values.tolist() if values.dtype == object else values, backend=frame.implementation)
            for name, values in drew.items()
            if values.ndim == 1
        ]
        frame = frame.with_columns(*made)
        shape = next((name for name, values in drew.items() if values.ndim == 2), None)
        if shape is not None:
            import geopandas

            crs = self._native.crs
            crs = crs.from_authority(*crs.to_authority())  # as it was given it may have any name
            native = geopandas.GeoDataFrame(frame.to_native())
            native[shape] = geopandas.points_from_xy(*drew[shape].T[::-1], crs=crs)
            native = native.set_geometry(shape)[list(layout.order)]
        else:
            native = frame.select(*layout.order).to_native()
        if not self._frame.implementation.is_pandas():
            return native
        native.attrs = {}
        native.columns = [*native.columns]
        levels = [name for name in self._levels if name in native.columns]
        if levels:
            native = native.set_index(levels)
            native.index.names = [self._levels[name] for name in levels]
        return native


def _rebuilt(frame: Any, odd: dict[str, str] | None = None) -> Any:
    """Return a frame whose columns are made of the values of its rows, and have nothing else in them.

    Columns of objects of which no such values are known become empty; `odd` is told what they have, by name.
    """
    import narwhals as nw

    native = frame.to_native()
    if frame.implementation.is_pyarrow():
        arrays = [bare_array(native[name]) for name in native.column_names]
        native = type(native).from_arrays(arrays, native.column_names)
        return nw.from_native(native, eager_only=True)
    rebuild = _rebuilt_of_polars if frame.implementation.is_polars() else _rebuilt_of_pandas
    made: dict[str, Any] = {}
    for name in native.columns:
        try:
            made[name] = rebuild(native[name])
        except SpecError:
            raise
        except Exception as error:  # whatever a class of one's own raises
            made[name] = [None] * len(native)
            if odd is not None:
                odd[name] = str(error) if isinstance(error, NotPlain) else "values that are damaged"
    if frame.implementation.is_polars():
        import polars as pl

        native = native.with_columns(pl.Series(name, values) for name, values in made.items())
    elif frame.implementation.is_pandas():
        native = native.copy(deep=False)
        for name, values in made.items():
            native[name] = values
    return nw.from_native(native, eager_only=True)


def _rebuilt_of_polars(series: Any) -> Any:
    """Return a series of Polars, with text for categories; NotPlain where objects are no plain values."""
    import polars as pl

    stored = _arrow_of(series)
    if stored is None:
        return pl.Series(series.name, [*map(plain_cell, series.to_list())], series.dtype)
    return pl.Series(series.name, stored)


def _rebuilt_of_pandas(series: Any) -> Any:
    """Return the values of a series of pandas, with categories of no others.

    NotPlain where objects are no plain values, or the type is none that pandas or GeoPandas have.
    """
    import pandas as pd

    kind = series.dtype
    if isinstance(kind, np.dtype):
        # a block of NumPy has the columns beside it, and rows around it
        values = plain_array(series.to_numpy())
        return pd.Series(values, getattr(series, "index", None), values.dtype, copy=False)
    if isinstance(kind, pd.CategoricalDtype):
        values = series.array.remove_unused_categories()
        return values.rename_categories(pd.Index(_rebuilt_of_pandas(values.categories)))
    if isinstance(kind, pd.SparseDtype):
        values = plain_array(np.asarray(series.array))
        fill = kind.fill_value if (values == kind.fill_value).any() else None
        return pd.arrays.SparseArray(values, fill_value=fill)
    if getattr(kind, "storage", None) == "python":
        return pd.array(plain_array(series.to_numpy(object)), dtype=kind)
    if type(kind).__module__.partition(".")[0] not in ("pandas", "geopandas"):
        raise NotPlain(f"values of type {kind}")
    convert = getattr(series.array, "__arrow_array__", None)
    if convert is None or not hasattr(kind, "__from_arrow__"):
        return series.array.copy()
    array = bare_array(convert())
    return (pd.ArrowDtype(array.type) if hasattr(kind, "pyarrow_dtype") else kind).__from_arrow__(array)


def _stored(series: Any) -> Any:
    """Return a series of any library as a bare array of Arrow, or as pandas has it."""
    import pandas as pd

    native = series.to_native()
    if isinstance(native, pd.Series):
        array: Any = native.array
        return array.__arrow_array__() if hasattr(native.dtype, "pyarrow_dtype") else native
    stored = _arrow_of(series)
    return pd.Series(series.to_list(), dtype=object) if stored is None else stored


def _arrow_of(series: Any) -> Any:
    """Return a series as a bare array of Arrow; None where Arrow has no such type, SpecError where that is nested."""
    import pyarrow as pa

    if str(series.dtype) in _WITHOUT_ARROW:
        return None
    try:
        stored = series.to_arrow()
    except pa.ArrowInvalid:
        raise SpecError("data", "has a column of nested integers of 128 bits", "leave it out first") from None
    return bare_array(stored)


def _with_index_as_columns(native: Any) -> tuple[Any, dict[str, Any]]:
    """Return a frame of pandas whose index has become columns, and by their names those of its levels.

    Levels without a name, or with that of a column, are called `index` or `level_0`, …, as pandas does. An index that
    counts rows from 0 becomes no column. Any other frame is returned as it is.
    """
    index: Any = getattr(native, "index", None)
    if not hasattr(index, "names") or not hasattr(native, "reset_index"):
        return native, {}
    plain = native.reset_index(drop=True)
    levels: dict[str, Any] = {}
    counted = index.name is None and index.equals(plain.index)
    for place, name in enumerate([] if counted else [*index.names]):
        usual = [f"level_{number}" for number in range(place, place + len(plain.columns) + 1)]
        names = [name] * (name is not None) + ["index"] * (index.nlevels == 1) + usual
        column = next(other for other in names if other not in plain.columns)
        plain.insert(place, column, index.get_level_values(place))
        try:
            levels[column] = plain_cell(name)
        except NotPlain as error:
            raise SpecError("data", f"has an index whose name has {error}", "name it in words") from None
    return plain, levels


def apply_to_frame(
    plan: Plan,
    frame: Frame,
    record: Path | None,
    *,
    command: Sequence[str] | None,
    progress: Callable[[str, float], None] | None,
) -> Any:
    """Return a frame of reports, and write the sidecar to the file `record`, if it is named.

    If that fails, or is stopped, what was paid without a key is given back, as nobody has seen a report, or can go
    on. SpecError if rows are refused, or not paid.
    """
    tell = progress or (lambda stage, share: None)
    columns = frame.values(plan)
    hidden = frame.hidden(plan)
    layout = plan.layout(frame.names, hidden)
    frame.require_plain([*plan.where.names, *(plan.persons.columns if plan.persons else []), *layout.order])
    unnamed = plan.unnamed(frame.names, hidden)
    beside = plan.beside()
    tally = plan.tally("row")
    size = len(frame)
    kept = np.zeros(size, dtype=bool)
    asked = plan.persons
    named = frame.listed(None if asked is None else asked.column, "person")
    times = frame.listed(None if asked is None else asked.time, "time")
    secrets = []
    persons: list[str] = []
    periods: list[str] = []
    for start in range(0, size, ROWS):
        some = slice(start, min(start + ROWS, size))
        lines = np.arange(some.start, some.stop) + 1
        values = [column[some] for column in columns]
        part = plan.settle(values, named and named[some], times and times[some], lines, tally)
        plan.look(beside, ((name, frame.column(name, some)) for name in unnamed), values, part)
        kept[some] = part.kept
        secrets.append(part.secrets)
        persons += part.persons
        periods += part.periods
        tell(f"checking, {some.stop:,} rows", some.stop / size)
    tally.require()
    beside.require()
    if plan.persons is None and frame.has_others(plan, hidden):
        repeats = Repeats()
        repeats.add(frame.fingerprints()[kept])
        repeats.warn("row")
    settled = Settled(kept, np.concatenate(secrets), persons, periods)
    needed = Needed(plan)
    needed.add(settled)
    payment = Payment.of(plan, needed, f"apply {token_hex(16)}", tally)
    try:
        if payment is not None:
            settled = payment.charge(settled)
        drawn = plan.drawn(settled)
        tell(f"drawn, {len(drawn):,} rows", 1.0)
        found = frame.replaced(layout, settled.kept, drawn)
        if record is not None:
            said = sidecar(plan, layout, tally, frame.noun, output=None, command=command)
            write_json(record, said.content())
        if payment is not None:
            payment.finish()
    except BaseException as error:
        if payment is not None and payment.stage != "given up":
            with suppress(SpecError):
                payment.give_up()
        if payment is not None and isinstance(error, SpecError) and error.field == "ledger":
            if payment.persons.key is not None:
                raise payment.told(error, "pays for no row twice") from error
            if payment.stage != "given up":
                raise payment.told(error, "pays anew") from error
        raise
    return found
