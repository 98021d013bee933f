"""Frames of pandas, Polars and others that narwhals knows, and of GeoPandas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, optional
from dxopt.release.applying.column_mapping import Layout
from dxopt.release.applying.files import write_json
from dxopt.release.applying.formats import ROWS, bare_array, bare_table, places_of_shapes, values_of
from dxopt.release.applying.place_like import Beside
from dxopt.release.applying.plan import Payment, Plan, Settled
from dxopt.release.applying.row_checks import Fingerprints, Repeats, fingerprints
from dxopt.release.applying.sidecar import sidecar
from dxopt.runtime.column_names import as_asked, is_name, require_distinct, require_header
from dxopt.runtime.identity import NARROW
from dxopt.spaces.positions import require_wgs84
from dxopt.verify.published.sidecar import Noun


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
        self._frame = _bare(self._frame)
        native = self._native = self._frame.to_native()
        self._shapes: list[str] = []
        if type(native).__module__.startswith("geopandas"):
            self._shapes = [str(name) for name, kind in native.dtypes.items() if str(kind) == "geometry"]
        named = dict(zip(stored, as_asked(stored, columns), strict=True)) | {name: name for name in self._shapes}
        self.names = tuple(named.values())
        require_distinct(self.names)
        self._frame = self._frame.rename(named)
        self._levels = [named[name] for name in self._levels]
        self.geometry: str | None = getattr(native, "active_geometry_name", None) if self._shapes else None
        numeric = [name for name, kind in self._frame.schema.items() if kind.is_numeric()]
        self.named = self.geometry is not None or any(map(is_name, numeric))

    def __len__(self) -> int:
        return len(self._frame)

    def hidden(self, plan: Plan) -> list[str]:
        """Return further columns of geometry, which are left out, as they may tell the true position."""
        return [name for name in self._shapes if name not in plan.where.names]

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
            return [self._names(where.names[0])]
        return [self._frame[name].to_numpy() for name in where.names]

    def column(self, name: str, some: slice) -> Any:
        """Return the values of a column in some rows."""
        found = self._stored[name]
        return found.iloc[some].to_numpy() if hasattr(found, "iloc") else values_of(found[some])

    @cached_property
    def _stored(self) -> dict[str, Any]:
        """The columns, as Arrow or as pandas has them."""
        return {name: _stored(self._frame[name]) for name in self.names}

    def persons(self, plan: Plan) -> Any:
        """Return the column of persons, or None where none are asked for."""
        return None if plan.persons is None else self._names(plan.persons.column)

    def _names(self, column: str) -> list[Any]:
        """Return the values of a column that name something, with all digits of integers and no more of floats."""
        values = self._frame[column].to_numpy()
        return list(values) if values.dtype in NARROW else self._frame[column].to_list()

    def fingerprints(self) -> Fingerprints:
        """Return a number for each row, the same for rows that are the same in every column."""
        return fingerprints(self._stored.values())

    def has_others(self, plan: Plan) -> bool:
        """Return whether rows have columns besides those that are replaced or hidden."""
        return bool({*self.names} - {*plan.where.names, *self.hidden(plan)})

    def replaced(self, layout: Layout, kept: NDArray[np.bool_], drawn: NDArray[np.int64]) -> Any:
        """Return a frame of the same kind with the rows that are kept and the reports that were drawn for them."""
        import narwhals as nw

        frame = self._frame if kept.all() else self._frame.filter(kept.tolist())
        made = []
        for name, values in layout.made.items():
            if values.ndim == 1:
                taken = values[drawn]
                listed = taken.tolist() if taken.dtype == object else taken
                made.append(nw.new_series(name, listed, backend=frame.implementation))
        frame = frame.drop(*(name for name in layout.left_out)).with_columns(*made)
        shape = next((name for name, values in layout.made.items() if values.ndim == 2), None)
        native = frame.to_native()
        if shape is not None:
            import geopandas

            places = layout.made[shape][drawn]
            points = geopandas.points_from_xy(places[:, 1], places[:, 0], crs=self._native.crs)
            native = geopandas.GeoDataFrame(native)
            native[shape] = points
            native = native.set_geometry(shape)[list(layout.order)]
        elif self._shapes:
            import pandas as pd

            native = pd.DataFrame(native)[list(layout.order)]
        else:
            native = frame.select(*layout.order).to_native()
        return self._trimmed(native)

    def _trimmed(self, native: Any) -> Any:
        """Return a frame, that of pandas without attributes and categories of rows that were left out."""
        if not self._frame.implementation.is_pandas():
            return native
        for name, kind in native.dtypes.items():
            if str(kind) == "category":
                native[name] = native[name].cat.remove_unused_categories()
        native.attrs = {}
        native.columns.name = None
        levels = [name for name in self._levels if name in native.columns]
        return native.set_index(levels) if levels else native


def _bare(frame: Any) -> Any:
    """Return a frame whose types list no values, which may be of rows that are left out, but for those of pandas."""
    import narwhals as nw

    if frame.implementation.is_polars():
        bare = {name: _bare_type(kind) for name, kind in frame.schema.items() if _bare_type(kind) != kind}
        return frame.with_columns(nw.col(name).cast(kind) for name, kind in bare.items())
    native = frame.to_native()
    if frame.implementation.is_pyarrow():
        return nw.from_native(bare_table(native), eager_only=True)
    for name, kind in native.dtypes.items() if frame.implementation.is_pandas() else ():
        if hasattr(kind, "pyarrow_dtype"):
            array = bare_array(native[name].array.__arrow_array__())
            native = native.assign(**{name: type(native[name].array)(array)})
    return nw.from_native(native, eager_only=True)


def _bare_type(kind: Any) -> Any:
    """Return a type of narwhals with text in the place of categories."""
    import narwhals as nw

    if isinstance(kind, nw.List):
        return nw.List(_bare_type(kind.inner))
    if isinstance(kind, nw.Array):
        inner = kind
        while isinstance(inner, nw.Array):
            inner = inner.inner
        return nw.Array(_bare_type(inner), kind.shape)
    if isinstance(kind, nw.Struct):
        return nw.Struct([nw.Field(field.name, _bare_type(field.dtype)) for field in kind.fields])
    return nw.String if kind in (nw.Categorical, nw.Enum) else kind


def _stored(series: Any) -> Any:
    """Return a series of any library as a bare array of Arrow, or as pandas has it."""
    import narwhals as nw
    import pandas as pd

    native = series.to_native()
    if isinstance(native, pd.Series):
        array: Any = native.array
        return bare_array(array.__arrow_array__()) if hasattr(native.dtype, "pyarrow_dtype") else native
    if series.dtype in (nw.Object, nw.Int128, nw.UInt128):  # which Arrow has none of
        return pd.Series(series.to_list(), dtype=object)
    return bare_array(series.to_arrow())


def _with_index_as_columns(native: Any) -> tuple[Any, list[str]]:
    """Return a frame of pandas whose index has become columns, and their names; any other frame as it is.

    Levels without a name count rows, and those with the name of a column repeat it: neither is kept.
    """
    names = getattr(getattr(native, "index", None), "names", None)
    if names is None or not hasattr(native, "reset_index"):
        return native, []
    levels = [name for name in names if name is not None and name not in native.columns]
    plain = native.reset_index(drop=True)
    for place, name in enumerate(levels):
        plain.insert(place, name, native.index.get_level_values(name))
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

    If that fails, or is stopped, what was paid is given back, as nobody has seen a report, or can go on. SpecError if
    rows are refused, or not paid.
    """
    tell = progress or (lambda stage, share: None)
    columns = frame.values(plan)
    unnamed = plan.unnamed(frame.names, frame.hidden(plan))
    beside = Beside()
    tally = plan.tally("row")
    size = len(frame)
    kept = np.zeros(size, dtype=bool)
    named = frame.persons(plan)
    secrets = []
    persons: list[str] = []
    for start in range(0, size, ROWS):
        some = slice(start, min(start + ROWS, size))
        lines = np.arange(some.start, some.stop) + 1
        values = [column[some] for column in columns]
        part = plan.settle(values, named and named[some], lines, tally)
        beside.look(((name, frame.column(name, some)) for name in unnamed), values)
        kept[some] = part.kept
        secrets.append(part.secrets)
        persons += part.persons
        tell(f"checking, {some.stop:,} rows", some.stop / size)
    tally.require()
    beside.require()
    if plan.persons is None and frame.has_others(plan):
        repeats = Repeats()
        repeats.add(frame.fingerprints()[kept])
        repeats.warn("row")
    layout = plan.layout(frame.names, frame.hidden(plan))
    settled = Settled(kept, np.concatenate(secrets), persons)
    payment = Payment.of(plan, Counter(persons), f"apply {token_hex(16)}", tally)
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
    except BaseException:
        if payment is not None and payment.stage != "given up":
            with suppress(SpecError):
                payment.give_up()
        raise
    return found
