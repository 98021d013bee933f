"""What leaves has the values of its rows alone: nothing that was beside them in memory, in any library."""

from __future__ import annotations

import datetime as dt
import io
import pickle
import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.material.people import counts, people, town

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TEXT, NUMBER = "CANARY in a buffer", 45.718281828
WHOLE = struct.unpack("<q", b"CANARY#1")[0]
HIDDEN = (b"CANARY", struct.pack("<d", NUMBER))
KINDS: dict[str, tuple[Any, Any, Any]] = {
    "text": (pa.string(), "a", TEXT),
    "large text": (pa.large_string(), "a", TEXT),
    "view": (pa.string_view(), "a", TEXT),
    "bytes": (pa.binary(), b"a", TEXT.encode()),
    "fixed bytes": (pa.binary(6), b"abcdef", b"CANARY"),
    "float": (pa.float64(), 1.5, NUMBER),
    "integer": (pa.int64(), 1, WHOLE),
    "decimal": (pa.decimal128(38), Decimal(1), Decimal(WHOLE)),
    "time": (pa.timestamp("ns"), 1, WHOLE),
}
"""A type, a value that is seen, and one that is not."""


NULL = [False, True, False]


def blanked(array: Any) -> Any:
    """The same buffers, with a null over the second value."""
    seen = pa.py_buffer(np.packbits(~np.array(NULL), bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [seen, *array.buffers()[1:]])


def counted(values: Any, kind: type = np.int32, first: int = 0) -> Any:
    return pa.array(np.arange(first, len(values) + 1, dtype=kind))


def runs(values: Any) -> Any:
    return pa.RunEndEncodedArray.from_arrays(counted(values, first=1), values)


def lists(values: Any, **mask: Any) -> Any:
    return pa.ListArray.from_arrays(counted(values), values, **mask)


def large_lists(values: Any, **mask: Any) -> Any:
    return pa.LargeListArray.from_arrays(counted(values, np.int64), values, **mask)


def list_views(values: Any, **mask: Any) -> Any:
    sizes = pa.array(np.ones(len(values), np.int32))
    return pa.ListViewArray.from_arrays(counted(values)[:-1], sizes, values, **mask)


def fixed_lists(values: Any, **mask: Any) -> Any:
    return pa.FixedSizeListArray.from_arrays(values, 1, **mask)


def maps(values: Any, **mask: Any) -> Any:
    return pa.MapArray.from_arrays(counted(values), pa.array(["k"] * len(values)), values, **mask)


def structs(values: Any, **mask: Any) -> Any:
    return pa.StructArray.from_arrays([values], fields=[pa.field("k", values.type, metadata={"c": TEXT})], **mask)


def dictionaries(values: Any) -> Any:
    return pa.DictionaryArray.from_arrays(counted(values, np.int8)[:-1], values)


def plain(values: Any) -> Any:
    return values


WRAPS: list[tuple[Callable[..., Any], ...]] = [
    (plain,),
    (lists,),
    (large_lists,),
    (list_views,),
    (fixed_lists,),
    (maps,),
    (structs,),
    (runs,),
    (dictionaries,),
    (lists, structs),
    (structs, lists),
    (structs, structs),
    (fixed_lists, maps),
    (maps, fixed_lists),
    (large_lists, lists),
    (runs, dictionaries),
    (structs, runs),
    (lists, dictionaries, structs),
    (maps, structs, list_views),
]
"""Functions that nest values, the outermost first."""


def nested(values: Any, wraps: tuple[Callable[..., Any], ...], **mask: Any) -> Any:
    outer, *inner = wraps
    return outer(nested(values, tuple(inner)) if inner else values, **mask)


def around(values: list[Any]) -> list[Any]:
    return [values[1], values[0], values[0], values[0], values[1]]


HIDING: dict[str, Callable[[Any, list[Any], Any], Any]] = {
    "under nulls": lambda kind, values, wraps: nested(blanked(pa.array([*values, values[0]], kind)), wraps),
    "around a slice": lambda kind, values, wraps: nested(pa.array(around(values), kind), wraps).slice(1, 3),
    "around a slice within": lambda kind, values, wraps: nested(pa.array(around(values), kind).slice(1, 3), wraps),
    "in rows that are left out": lambda kind, values, wraps: nested(pa.array([values[0], *values], kind), wraps),
    "under lists that are null": lambda kind, values, wraps: nested(
        pa.array([*values, values[0]], kind), wraps, mask=pa.array(NULL)
    ),
}
"""Arrays of three rows, of which the last is left out, with what is not to leave beside their values."""


CARRIERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "arrow": lambda columns: pa.table({"beds": [1, 2, 50], **columns}),
    "pandas": lambda columns: pd.DataFrame(
        {"beds": [1, 2, 50]}
        | {name: pd.arrays.ArrowExtensionArray(pa.chunked_array([column])) for name, column in columns.items()}
    ),
    "polars": lambda columns: pl.DataFrame({"beds": [1, 2, 50]} | {k: pl.Series(v) for k, v in columns.items()}),
}


def written(found: Any) -> Iterator[tuple[str, bytes]]:
    """The bytes of a frame in the ways in which it may leave."""
    yield "pickle", pickle.dumps(found)
    if isinstance(found, pd.DataFrame):
        yield "in pieces", b"".join(map(bytes, pickled_apart(found)))
        found = pa.Table.from_pandas(found)
    if isinstance(found, pl.DataFrame):
        for way in (found.write_ipc, found.write_parquet):
            file = io.BytesIO()
            way(file, compression="uncompressed")
            yield way.__name__, file.getvalue()
        found = found.to_arrow(compat_level=pl.CompatLevel.newest())
    file = io.BytesIO()
    with pa.ipc.new_file(file, found.schema) as writer:
        writer.write_table(found)
    yield "IPC", file.getvalue()
    yield "buffers", b"".join(bytes(part) for part in pickled_apart(found))
    if "view" not in str(found.schema):
        file = io.BytesIO()
        pq.write_table(found, file, compression="none")
        yield "Parquet", file.getvalue()


def pickled_apart(found: Any) -> list[Any]:
    parts: list[Any] = []
    pickle.dumps(found, protocol=5, buffer_callback=lambda part: parts.append(part.raw()))
    return parts


def require_none(found: Any, what: str) -> None:
    for way, content in written(found):
        assert not [text for text in HIDDEN if text in content], f"{way}: {what}"


@pytest.mark.parametrize("wraps", WRAPS, ids=lambda wraps: " of ".join(one.__name__ for one in wraps))
@pytest.mark.parametrize("hidden", HIDING)
@pytest.mark.parametrize("carrier", CARRIERS)
def test_no_buffer_has_more_than_the_values_of_its_rows(carrier: str, hidden: str, wraps: Any) -> None:
    if carrier == "polars" and {runs, list_views}.intersection(wraps):
        pytest.skip("Polars has no such type")
    if hidden == "under lists that are null" and wraps[0] in (plain, runs, dictionaries):
        pytest.skip("has no nulls of its own")
    columns = {name: HIDING[hidden](kind, values, wraps) for name, (kind, *values) in KINDS.items()}
    found = dx.apply(counts(), CARRIERS[carrier](columns), column="beds", within=0, outside="drop")
    for name, column in columns.items() if carrier != "polars" else ():
        assert [*map(text_of, found[name])] == [*map(text_of, column)][:2]
    require_none(found, hidden)


def text_of(value: Any) -> str:
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    return "None" if value is pd.NA else str(value)


def sliced(column: Any) -> Any:
    """Rows of a larger frame."""
    return pd.DataFrame({"beds": [3, 1, 2, 50, 3], "k": column}).iloc[1:4]


OF_PANDAS: dict[str, Callable[[], Any]] = {
    "masked float": lambda: sliced(pd.Series([NUMBER] * 5, dtype="Float64").mask([True] * 5)),
    "masked integer": lambda: sliced(pd.Series([WHOLE] * 5, dtype="Int64").mask([True] * 5)),
    "masked unsigned": lambda: sliced(pd.Series([WHOLE] * 5, dtype="UInt64").mask([True] * 5)),
    "masked, around": lambda: sliced(pd.array([NUMBER, 1.5, None, NUMBER, NUMBER], "Float64")),
    **{
        f"{kind} text": lambda kind=kind: sliced(pd.Series([TEXT, "a", None, TEXT, TEXT], dtype=kind))
        for kind in ("object", "str", "string", "string[python]", "string[pyarrow]", "category")
    },
    "categories of a slice": lambda: sliced(
        pd.Categorical.from_codes([0, 0, 1, 1, 0], pd.Index([TEXT, "a", "b", TEXT + "2"], name=TEXT)[1:3])
    ),
    "categories that are masked": lambda: sliced(
        pd.Categorical.from_codes([0, 0, 1, 1, 0], pd.Index(pd.array([WHOLE, 1, 2, WHOLE + 1], "Int64")[1:3]))
    ),
    "sparse": lambda: sliced(pd.arrays.SparseArray([NUMBER, 0, 1, NUMBER, NUMBER], fill_value=0)),
    "sparse around": lambda: sliced(pd.arrays.SparseArray([0.5, 0.5, 1, 3, 4], fill_value=0.5)),
    "periods": lambda: sliced(pd.period_range("2020", periods=5)),
    "intervals": lambda: sliced(pd.arrays.IntervalArray.from_breaks([1.0, 2, 3, 4, NUMBER, 99])),
    "times": lambda: sliced(pd.to_datetime([WHOLE, 1, 2, WHOLE, WHOLE], utc=True)),
    "index": lambda: sliced([*range(5)]).set_axis(pd.Index(["a", "b", TEXT])),
    "names of columns": lambda: pd.DataFrame({"beds": [1, 2, 50], "k": 1, TEXT: 2}).iloc[:, :2],
    "attributes": lambda: sliced([*range(5)]).pipe(lambda frame: frame.attrs.update({TEXT: TEXT}) or frame),
}


@pytest.mark.parametrize("kind", OF_PANDAS)
def test_no_frame_of_pandas_has_more_than_the_values_of_its_rows(kind: str) -> None:
    frame = OF_PANDAS[kind]()
    found = dx.apply(counts(), frame, column="beds", within=0, outside="drop")
    assert [*map(text_of, found["k"])] == [*map(text_of, frame["k"])][:2]
    if not isinstance(frame["k"].dtype, pd.CategoricalDtype):
        assert found["k"].dtype == frame["k"].dtype
    require_none(found if "sparse" not in kind else found.assign(k=found["k"].sparse.to_dense()), kind)
    assert not [text for text in HIDDEN if text in pickle.dumps(found)]


OF_NUMPY: dict[str, Callable[[Any], Any]] = {
    "float": lambda numbers: numbers,
    "integer": lambda numbers: numbers.astype(int),
    "bool": lambda numbers: numbers > 2,
    "times": lambda numbers: numbers.astype("M8[s]"),
    "times of a zone": lambda numbers: pd.Series(numbers.astype("M8[s]")).dt.tz_localize("UTC"),
    "spans": lambda numbers: numbers.astype("m8[s]"),
    "periods": lambda numbers: pd.PeriodIndex.from_ordinals(numbers.astype(int), freq="D"),
    "bytes": lambda numbers: pd.Series([b"a"] * len(numbers)),
    "arrays": lambda numbers: pd.Series([*np.stack([numbers, numbers], axis=1)]),
    "lists": lambda numbers: pd.Series([[one] for one in numbers]),
    "objects": lambda numbers: pd.Series([{"k": [one]} for one in numbers]),
}


@pytest.mark.parametrize("form", ["whole", "slice", "left out", "Polars"])
@pytest.mark.parametrize("kind", OF_NUMPY)
def test_no_memory_is_shared(kind: str, form: str) -> None:
    frame = pd.DataFrame(np.arange(12.0).reshape(4, 3) % 5, columns=["beds", "k", "other"])
    frame = frame.assign(k=OF_NUMPY[kind](frame["k"].to_numpy())) if kind != "float" else frame
    if form == "slice":
        frame = frame.iloc[:3]
    given = pl.DataFrame({"beds": [1, 2], "k": pl.Series([*frame["k"]][:2], dtype=pl.Object)})
    given = given if form == "Polars" else frame
    within = 0.0 if form == "left out" else 9.0
    found = dx.apply(counts(), given, column="beds", outside="drop", within=within)
    for one in found["k"]:
        assert not any(one is other for other in frame["k"]) or not isinstance(one, np.ndarray | list | dict)
        assert not isinstance(one, np.ndarray) or one.base is None
    for name in found.columns if form != "Polars" else ():
        memory = getattr(found[name].array, "_ndarray", np.empty(0))
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        assert memory.size <= len(found)


def test_no_coordinate_system_has_a_name_of_its_own() -> None:
    gpd = pytest.importorskip("geopandas")
    pyproj = pytest.importorskip("pyproj")
    crs = pyproj.CRS.from_json_dict({**pyproj.CRS("OGC:CRS84").to_json_dict(), "name": TEXT})
    given = people()
    frame = gpd.GeoDataFrame(geometry=gpd.points_from_xy(given["lon"], given["lat"]), crs=crs)
    found = dx.apply(town(), frame)
    assert found.crs == pyproj.CRS("OGC:CRS84")
    assert b"CANARY" not in pickle.dumps(found)


class Word(str): ...


class Bytes(bytes): ...


class Count(int): ...


class Share(float): ...


class Exact(Decimal): ...


class Cells(list): ...


class Pair(tuple): ...


class Record(dict): ...


class Group(set): ...


class Fixed(frozenset): ...


class Text(np.str_): ...


class Double(np.float64): ...


class Day(dt.date): ...


class Moment(dt.datetime): ...


class Zone(dt.tzinfo):
    def utcoffset(self, _: Any) -> Any:
        return dt.timedelta(0)


class Holder: ...


def with_canary(value: Any) -> Any:
    value.source = TEXT
    return value


def cells_of(value: Any) -> Any:
    cells = np.empty(1, dtype=object)
    cells[0] = value
    return cells


def objects(value: Any, *, polars: bool = True) -> Iterator[Any]:
    """Frames in which an object is a cell, is within one, or is a category."""
    scalar = not isinstance(value, np.ndarray | list | dict | set | pd.Series | pd.DataFrame)
    for given in (value, [value], (value,), {"k": value}, *([{value: 1}] if scalar else []), cells_of(value)):
        yield pd.DataFrame({"beds": [3], "o": pd.Series(cells_of(given))})
        if polars and not isinstance(given, np.ndarray):
            yield pl.DataFrame({"beds": [3], "o": pl.Series([given], dtype=pl.Object)})
    if scalar:
        yield pd.DataFrame({"beds": [3], "o": pd.Categorical.from_codes([0], pd.Index(cells_of(value)))})


SUBCLASSES = (
    *(Word("a"), Bytes(b"a"), Count(3), Share(0.5), Exact(1), Cells([1]), Pair([1]), Record(a=1), Group([1])),
    *(Fixed([1]), Text("a"), Double(1), Day(2020, 1, 1), Moment(2020, 1, 1)),
    *(pd.Timestamp("2020"), pd.Timestamp("2020", tz="Europe/Paris"), pd.Timedelta("1s"), pd.Period("2020")),
)


@pytest.mark.parametrize("value", SUBCLASSES, ids=lambda value: type(value).__name__)
def test_cells_are_made_anew_of_their_values(value: Any) -> None:
    for frame in objects(with_canary(value)):
        found = dx.apply(counts(), frame, column="beds", columns=dx.Columns(keep=["o"]))["o"][0]
        assert b"CANARY" not in pickle.dumps(found)
        assert np.all(found == frame["o"][0])
    assert value.source == TEXT


UNKNOWN: dict[str, Callable[[], Any]] = {
    "an object": lambda: with_canary(Holder()),
    "a generator": lambda: (one for one in "a"),
    "a series": lambda: pd.Series([1]),
    "a frame": lambda: pd.DataFrame({"a": [1]}),
    "a masked array": lambda: np.ma.masked_array([1, 2], np.array([False, True])),
    "several fields": lambda: np.zeros(1, dtype=[("a", "f4")]),
    "a zone of a class of its own": lambda: dt.time(1, tzinfo=Zone()),
    "without end": lambda: endless(),
}


def endless() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize("kind", UNKNOWN)
def test_columns_of_other_objects_are_refused_unless_they_are_left_out(kind: str) -> None:
    for frame in objects(UNKNOWN[kind](), polars=kind != "a series"):
        with pytest.raises(dx.SpecError) as refused:
            dx.apply(counts(), frame, column="beds", columns=dx.Columns(keep=["o"]))
        assert refused.value.field == "data"
        found = dx.apply(counts(), frame, column="beds", columns=dx.Columns(drop=["o"]))
        assert "o" not in found.columns


@pytest.mark.parametrize("place", ["column", "index", "level", "category", "cell"])
@pytest.mark.parametrize("kind", ["u1", "i8", "f4", "f8", "?", "m8[ns]", "M8[ns]"])
def test_types_of_numpy_have_no_metadata(kind: str, place: str) -> None:
    values = np.array([1], dtype=np.dtype(kind, metadata={TEXT: TEXT}))
    frame = pd.DataFrame({"beds": [3]})
    if place in ("index", "level"):
        index = pd.Index(values, name="o")
        frame.index = index if place == "index" else pd.MultiIndex.from_arrays([index, ["a"]], names=["o", "p"])
    elif place == "category":
        frame["o"] = pd.Categorical.from_codes([0], pd.Index(values))
    else:
        frame["o"] = cells_of(values) if place == "cell" else pd.Series(values, copy=False)
    found = dx.apply(counts(), frame, column="beds")
    assert b"CANARY" not in pickle.dumps(found)


@pytest.mark.parametrize("values", [[1.0, 2.0, NUMBER], ["a", "b", TEXT]])
def test_a_sparse_column_is_filled_with_a_value_that_it_has(values: Any) -> None:
    for rows in (slice(0, 3), slice(0, 2)):
        kept = pd.arrays.SparseArray(values, fill_value=values[-1])[rows]
        frame = pd.DataFrame({"beds": [3, 1, 50][rows], "o": kept})
        found = dx.apply(counts(), frame, column="beds", within=0, outside="drop")
        assert found["o"].tolist() == values[:2]
        assert found["o"].dtype.fill_value != values[-1]
    frame = pd.DataFrame({"beds": [3], "o": pd.arrays.SparseArray([0.5], fill_value=0.5)})
    assert dx.apply(counts(), frame, column="beds")["o"].dtype == frame["o"].dtype


KEPT: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "values of Arrow": (lambda: list(pa.array(["a", "b"])), ["a", "b"]),
    "lists of Arrow": (lambda: list(pa.array([[1], [2]])), [[1], [2]]),
    "long doubles": (lambda: np.array([1, 2], dtype=np.longdouble), [1, 2]),
    "categories that are tuples": (lambda: pd.Categorical([(1, 2), (3,)]), [(1, 2), (3,)]),
}


@pytest.mark.parametrize("kind", KEPT)
def test_what_is_kept(kind: str) -> None:
    make, values = KEPT[kind]
    found = dx.apply(counts(), pd.DataFrame({"beds": [1, 2], "o": make()}), column="beds")
    assert found["o"].tolist() == values


@pytest.mark.parametrize("levels", [1, 2])
def test_names_of_an_index_become_plain(levels: int) -> None:
    names = [Word(f"name {level}") for level in range(levels)]
    for name in names:
        name.source = TEXT  # pyright: ignore[reportAttributeAccessIssue]
    index = pd.MultiIndex.from_arrays([["a"]] * levels, names=names)
    frame = pd.DataFrame({"beds": [3]}, index=index if levels > 1 else index.get_level_values(0))
    found = dx.apply(counts(), frame, column="beds")
    assert [*found.index.names] == names
    assert {type(name) for name in found.index.names} == {str}


@pytest.mark.parametrize("kind", [object, "category", "string[python]"])
def test_text_of_other_classes_becomes_plain_in_every_type(kind: Any) -> None:
    frame = pd.DataFrame({"beds": [3], "o": pd.Series([Word("a")], dtype=kind)})
    found = dx.apply(counts(), frame, column="beds")["o"]
    assert found.dtype == frame["o"].dtype
    assert type(found[0]) is str
