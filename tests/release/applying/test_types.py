"""Columns of every type of Arrow, pandas and Polars: none stops `apply` by itself, none leaves a value behind."""

from __future__ import annotations

import datetime as dt
import io
import pickle
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.material.people import counts

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NO_TEXT = pa.Array.from_buffers(
    pa.string(), 3, [None, pa.py_buffer(np.arange(4, dtype=np.int32)), pa.py_buffer(b"\xff\xfe\xfd")]
)
TIME = pa.array([45296123456789, 1, 2], pa.time64("ns"))
ARROW: dict[str, Any] = {
    "time in ns": TIME,
    "time of 24 hours": pa.array([86_400_000_000, 1, 2], pa.time64("us")),
    "short time of 24 hours": pa.array([86_400_000, 1, 2], pa.time32("ms")),
    "time with a gap": pa.array([45296123456789, None, 2], pa.time64("ns")),
    "date beyond 9999": pa.array([10_000_000, 1, 2], pa.int32()).cast(pa.date32()),
    "date64": pa.array([dt.date(2020, 1, day) for day in (1, 2, 3)], pa.date64()),
    "last timestamp": pa.array([2**63 - 1, 1, 2], pa.timestamp("ns", "Europe/Paris")),
    "timestamp in seconds": pa.array([2**40, 1, 2], pa.timestamp("s")),
    "duration": pa.array([2**63 - 1, 1, 2], pa.duration("ns")),
    "text that is none": NO_TEXT,
    "struct of time": pa.StructArray.from_arrays([TIME], ["at"]),
    "struct of text that is none": pa.StructArray.from_arrays([NO_TEXT], ["at"]),
    "list of time": pa.array([[1], [], [45296123456789]], pa.list_(pa.time64("ns"))),
    "struct of texts": pa.array([{"a": 1, "b": "x"}, None, {"a": 2, "b": "y"}]),
    "list of texts": pa.array([["a", "b"], [], ["a"]]),
    "list of bytes": pa.array([[b"a"], None, [b"a"]]),
    "large list": pa.array([["a"], None, ["b"]], pa.large_list(pa.string())),
    "fixed list": pa.array([["a"], ["b"], ["c"]], pa.list_(pa.string(), 1)),
    "map": pa.array([[("m", "v")], [], None], pa.map_(pa.string(), pa.string())),
    "map of numbers": pa.array([[(1, 2)], [], [(3, 4)]], pa.map_(pa.int8(), pa.int64())),
    "map of time": pa.array([[(1, 45296123456789)], [], []], pa.map_(pa.int8(), pa.time64("ns"))),
    "list of map": pa.array([[[("m", "v")]], [], []], pa.list_(pa.map_(pa.string(), pa.string()))),
    "struct of map": pa.array(
        [{"a": [("m", 1)]}, None, {"a": []}], pa.struct([("a", pa.map_(pa.string(), pa.int8()))])
    ),
    "map of lists": pa.array([[("m", ["v"])], [], []], pa.map_(pa.string(), pa.list_(pa.string()))),
    "decimal": pa.array([Decimal("1.5"), None, Decimal(2)], pa.decimal128(30, 2)),
    "wide decimal": pa.array([Decimal("1.5"), None, Decimal(2)], pa.decimal256(60, 2)),
    "half": pa.array(np.arange(3, dtype=np.float16)),
    "bytes": pa.array([b"\xff", None, b"x"]),
    "fixed bytes": pa.array([b"\xff", None, b"x"], pa.binary(1)),
    "nothing": pa.nulls(3),
    "list of nothing": pa.array([[None, None], None, []]),
    "map of nothing": pa.array([[("a", None)], None, []], pa.map_(pa.string(), pa.null())),
    "true": pa.array([True, None, False]),
    "unsigned": pa.array([2**64 - 1, None, 1], pa.uint64()),
    "dictionary": pa.array(["x", "SECRET", "y"]).dictionary_encode(),
    "dictionary of numbers": pa.array([1, 2, None]).dictionary_encode(),
    "list of dictionary": pa.ListArray.from_arrays([0, 1, 2, 3], pa.array(["x", "SECRET", "y"]).dictionary_encode()),
}
IN_MEMORY: dict[str, Any] = {
    "interval": pa.array([(1, 2, 3), (4, 5, 6), None], pa.month_day_nano_interval()),
    "string view": pa.array(["a", None, "c"], pa.string_view()),
    "binary view": pa.array([b"a", None, b"c"], pa.binary_view()),
    "list view": pa.array([[1], None, [2]], pa.list_view(pa.int8())),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array(["a", "b"])),
}


def parquet_of(folder: Path, column: Any) -> Path:
    pq.write_table(arrow_of(folder, column), folder / "a.parquet")
    return folder / "a.parquet"


def groups_of(folder: Path, column: Any) -> Path:
    pq.write_table(arrow_of(folder, column), folder / "a.parquet", row_group_size=1)
    return folder / "a.parquet"


def chunks_of(folder: Path, column: Any) -> Any:
    return pa.concat_tables([arrow_of(folder, column).slice(row, 1) for row in range(3)])


def arrow_of(folder: Path, column: Any) -> Any:
    return pa.table({"beds": [1, 2, 50], "k": column})


def pandas_of(folder: Path, column: Any) -> Any:
    return pd.DataFrame({"beds": [1, 2, 50], "k": pd.arrays.ArrowExtensionArray(pa.chunked_array([column]))})


CARRIERS: dict[str, Callable[[Path, Any], Any]] = {"parquet": parquet_of, "arrow": arrow_of, "pandas": pandas_of}
PARTED: dict[str, Callable[[Path, Any], Any]] = {"parquet": groups_of, "arrow": chunks_of}
CASES = [
    *((carrier, name) for carrier in CARRIERS for name in ARROW),
    *((carrier, name) for carrier in ("arrow", "pandas") for name in IN_MEMORY),
]


def applied(data: Any, **options: Any) -> Any:
    """The output for these data: the third row is outside, and left out."""
    if not isinstance(data, Path):
        return dx.apply(counts(), data, column="beds", within=0, outside="drop", **options)
    output = dx.Output(data.with_stem("out"), force=True)
    dx.apply(counts(), data, output, column="beds", within=0, outside="drop", **options)
    return pq.read_table(data.with_stem("out"))


@pytest.mark.parametrize(("carrier", "name"), CASES)
def test_every_type_is_dropped_and_kept(tmp_path: Path, carrier: str, name: str) -> None:
    data = CARRIERS[carrier](tmp_path, {**ARROW, **IN_MEMORY}[name])
    dropped = applied(data, columns=dx.Columns(drop=["k"]))
    kept = applied(data)
    assert "k" not in (dropped.columns if carrier == "pandas" else dropped.column_names)
    assert len(dropped) == len(kept) == 2
    found = kept["k"].array.__arrow_array__() if carrier == "pandas" else kept["k"]
    expected = pa.array({**ARROW, **IN_MEMORY}[name].to_pylist()[:2], found.type) if "view" in name else None
    assert expected is None or found.to_pylist() == expected.to_pylist()
    if "dictionary" in name:
        assert "dictionary" not in str(found.type)


@pytest.mark.parametrize(("carrier", "name"), [(carrier, name) for carrier in PARTED for name in ARROW])
def test_every_type_is_kept_in_groups_of_rows(tmp_path: Path, carrier: str, name: str) -> None:
    whole, parted = (applied(of[carrier](tmp_path, ARROW[name]))["k"] for of in (CARRIERS, PARTED))
    assert parted.combine_chunks() == whole.combine_chunks()


@pytest.mark.parametrize("name", ARROW)
@pytest.mark.parametrize("carrier", CARRIERS)
def test_rows_that_come_twice_are_told_by_every_type(tmp_path: Path, carrier: str, name: str) -> None:
    for rows, many in (([0, 1, 0], 1), ([0, 1], 0)):
        column = pa.concat_arrays([ARROW[name].slice(row, 1) for row in rows])
        table = pa.table({"beds": [1, 2, 1][: len(rows)], "k": column})
        data = table
        if carrier == "pandas":
            data = pd.DataFrame({"beds": [1, 2, 1][: len(rows)], "k": pd.arrays.ArrowExtensionArray(table["k"])})
        if carrier == "parquet":
            data = tmp_path / "a.parquet"
            pq.write_table(table, data)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            applied(data)
        assert [getattr(one.message, "kind", "") for one in seen] == ["rows_twice"] * many


SECRETS: dict[str, Callable[[list[str]], Any]] = {
    "pandas dictionary": lambda words: pd.array(
        pa.array(words).dictionary_encode(), dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    ),
    "pandas category": pd.Categorical,
    "Enum": lambda words: pl.Series(words, dtype=pl.Enum(words)),
    "Categorical": lambda words: pl.Series(words, dtype=pl.Categorical),
    "List of Enum": lambda words: pl.Series([[word] for word in words], dtype=pl.List(pl.Enum(words))),
    "Array of Enum": lambda words: pl.Series([[word] for word in words], dtype=pl.Array(pl.Enum(words), 1)),
    "Struct of Enum": lambda words: pl.Series(
        [{"a": [word]} for word in words], dtype=pl.Struct({"a": pl.List(pl.Enum(words))})
    ),
}


@pytest.mark.parametrize("kind", SECRETS)
def test_no_type_has_values_of_rows_that_are_left_out(kind: str) -> None:
    column = SECRETS[kind](["x", "y", "SECRET"])
    library = pl if isinstance(column, pl.Series) else pd
    found = applied(library.DataFrame({"beds": [1, 2, 50], "k": column}))
    written = io.BytesIO()
    (found.write_parquet if library is pl else found.to_parquet)(written)
    assert len(found) == 2
    assert "SECRET" not in f"{found.schema if library is pl else found['k'].dtype}"
    assert b"SECRET" not in written.getvalue() and (library is pl or b"SECRET" not in pickle.dumps(found))


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([dt.time(12, 34, 56, 123456), None, dt.time()]),
        pl.Series([45296123456789, 1, 2], dtype=pl.Time),
        pl.Series([[45296123456789], [1], [2]], dtype=pl.List(pl.Time)),
        pl.Series([{1, 2}, b"a", None], dtype=pl.Object),
        pl.Series([2**100, None, 1], dtype=pl.Int128),
        pl.Series([10_000_000, 1, 2], dtype=pl.Date),
        pl.Series([2**62, 1, 2], dtype=pl.Datetime("us", "Europe/Paris")),
        pl.Series([2**62, 1, 2], dtype=pl.Duration("ms")),
    ],
    ids=lambda column: str(column.dtype),
)
def test_every_type_of_polars_is_dropped_and_kept(column: Any) -> None:
    frame = pl.DataFrame({"beds": [1, 2, 50]}).with_columns(column.cast(column.dtype).alias("k"))
    assert applied(frame)["k"].dtype == column.dtype
    assert "k" not in applied(frame, columns=dx.Columns(drop=["k"])).columns


@pytest.mark.parametrize("kind", [pl.Int128, pl.UInt128])
def test_integers_of_128_bits_are_secrets_labels_and_persons(kind: Any) -> None:
    frame = pl.DataFrame({"beds": [1, 2], "who": [7, 2**100]}, schema={"beds": kind, "who": kind})
    asked = {"key": dx.Key.new(), "release": "r", "person": "who"}
    found = dx.apply(counts(), frame, column="beds", within=0, **asked)
    assert found["who"].to_list() == [7, 2**100]
    for same in (
        frame.with_columns(beds=pl.col("beds").cast(pl.Int8)),
        frame.with_columns(who=pl.Series(["7", f"{2**100}"])),
    ):
        assert dx.apply(counts(), same, column="beds", within=0, **asked)["beds"].to_list() == found["beds"].to_list()
    assert len(dx.apply(counts(), frame, columns=dx.Columns(label="beds"))) == 2


@pytest.mark.parametrize("kind", [pl.List(pl.Int128), pl.Array(pl.Int128, 1), pl.Struct({"a": pl.Int128})], ids=str)
def test_nested_integers_of_128_bits_are_refused(kind: Any) -> None:
    values = [{"a": 1}] if kind == pl.Struct else [[1]]
    with pytest.raises(dx.SpecError) as refused:
        applied(pl.DataFrame({"beds": [1], "k": pl.Series(values, dtype=kind)}))
    assert refused.value.field == "data"


def test_a_column_of_several_types_is_refused() -> None:
    union = pa.UnionArray.from_sparse(
        pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]
    )
    for carrier in ("arrow", "pandas"):
        with pytest.raises(dx.SpecError) as refused:
            applied(CARRIERS[carrier](Path(), union))
        assert refused.value.field == "data"


def test_times_of_96_bits_are_what_they_are_in_others(tmp_path: Path) -> None:
    """In nanoseconds, which 64 bits count from 1677 to 2262 alone, the others would be other times, and persons."""
    until = [dt.datetime(9999, 12, 31), dt.datetime(2024, 1, 2, 3, 4, 5, 678901), dt.datetime(1600, 2, 29)]
    table = pa.table({"until": pa.array(until, pa.timestamp("us")), "beds": [3, 4, 5]})
    for old in (True, False):
        pq.write_table(table, tmp_path / "in.parquet", use_deprecated_int96_timestamps=old)
        output = tmp_path / f"{old}.parquet"
        dx.apply(counts(), tmp_path / "in.parquet", output, column="beds")
        assert pq.read_table(output)["until"].to_pylist() == until
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=100) as ledger:
        for old in (True, False):
            pq.write_table(table, tmp_path / "in.parquet", use_deprecated_int96_timestamps=old)
            output = tmp_path / f"{old}2.parquet"
            dx.apply(counts(), tmp_path / "in.parquet", output, column="beds", person="until", ledger=ledger)
        assert len(ledger.accounts()) == 3
