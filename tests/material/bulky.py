"""Files of people's data that would fill the memory, or take for ever: few rows or bytes that stand for many."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import dxopt as dx
from dxopt.spec import load
from dxopt.verify.published.parquet_pages import WRITTEN
from dxopt.verify.published.rows import read_rows
from dxopt.verify.verdict import Broken
from tests.material.hostile import most_memory
from tests.material.people import counts

_MB = 1_000_000


def long_line(file: Path, size: int) -> None:
    """A line of so many MB."""
    with file.open("wb") as stream:
        stream.write(b"other,beds\na,1\n")
        for _ in range(size):
            stream.write(b"x" * _MB)


def quoted(file: Path, size: int) -> None:
    """Quoted text of short lines, in fields that are not long."""
    with file.open("wb") as stream:
        stream.write(b"other,beds\n")
        for _ in range(size * 10):
            stream.write(b'"' + b"x\n" * 49_000 + b'",')


def long_header(file: Path, size: int) -> None:
    """A name of so many MB."""
    file.write_text("h" * size * _MB + ",beds\na,1\n", encoding="utf-8")


def many_columns(file: Path, columns: int) -> None:
    """A file of so many columns."""
    names = ",".join(["beds", *(f"column {number}" for number in range(columns))])
    file.write_text(f"{names}\n" + f"1{',2' * columns}\n" * 3, encoding="utf-8")


def geojson(file: Path, features: Callable[[int], str], count: int, members: str = "") -> None:
    """Write features one by one."""
    with file.open("w", encoding="utf-8") as stream:
        stream.write(f'{{{members}"type": "FeatureCollection", "features": [')
        for number in range(count):
            text = f'{{"type": "Feature", "properties": {{"beds": 1{features(number)}}}, "geometry": null}}'
            stream.write(f"{',' if number else ''}{text}\n")
        stream.write("]}")


def large_feature(file: Path, size: int) -> None:
    """A feature of so many MB, of empty lists."""
    geojson(file, lambda number: f', "x": [{"[]," * (size * _MB // 3)}[]]', 1)


def large_member(file: Path, size: int) -> None:
    """A member of the collection of so many MB."""
    geojson(file, lambda number: "", 1, f'"x": [{"[]," * (size * _MB // 3)}[]], ')


def large_features(file: Path, size: int) -> None:
    """Features of 100 kB, of which so many MB have to be read."""
    inner = f', "x": [{"[]," * 33_000}[]]'
    geojson(file, lambda number: inner, size * 10)


def many_names(file: Path, features: int, names: int) -> None:
    """A feature with many properties, and many features without them."""
    first = "".join(f', "n{number}": 1' for number in range(names))
    geojson(file, lambda number: f', "m{number % 9_000}": 1' if number else first, features)


def parquet(file: Path, column: Callable[[Any], Any], rows: int, **options: Any) -> None:
    """Write rows with a column that is made of pyarrow; in a folder `verify` typed and packed as `apply` does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = column(pa)
    packed: dict[str, Any] = {"compression": "zstd"}
    if file.parent.name == "verify":
        packed = {}
        if isinstance(made, pa.DictionaryArray):
            made = made.cast(pa.string())
    pq.write_table(pa.table({"beds": [1] * rows, "t": made}), file, **(packed | WRITTEN | options))


_TEXT = "x" * 11_700
_ROWS = 1 << 16


def _repeated(pa: Any, text: str, rows: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), [text])


def _lists(pa: Any, each: int) -> Any:
    offsets = pa.array(range(0, _ROWS + each, each), pa.int32())
    return pa.ListArray.from_arrays(offsets, _repeated(pa, "x" * 500, _ROWS).cast(pa.string()))


def _numbers(pa: Any, size: int) -> Any:
    import numpy as np

    return pa.ListArray.from_arrays(pa.array([0, size, size], pa.int32()), pa.array(np.full(size, 7, np.int64)))


QUICK: dict[str, Callable[[Path], None]] = {
    "line.csv": partial(long_line, size=8),
    "quoted.csv": partial(quoted, size=8),
    "header.csv": partial(long_header, size=1),
    "columns.csv": partial(many_columns, columns=50_000),
    "too many.csv": partial(many_columns, columns=150_000),
    "feature.geojson": partial(large_feature, size=8),
    "member.geojson": partial(large_member, size=8),
    "names.geojson": partial(many_names, features=9_000, names=20_000),
    "text.parquet": lambda file: parquet(file, lambda pa: _repeated(pa, _TEXT, _ROWS), _ROWS),
    "row.parquet": lambda file: parquet(file, lambda pa: _repeated(pa, "x" * 9 * _MB, 20), 20),
    "one.parquet": lambda file: parquet(file, lambda pa: ["x" * 150 * _MB], 1),
    "one of many.parquet": lambda file: parquet(file, lambda pa: ["x" * 150 * _MB, *"abcdefgh" * 100], 801),
    "zeros.parquet": lambda file: parquet(file, lambda pa: _numbers(pa, 20 * _MB), 2),
    "list.parquet": lambda file: parquet(file, lambda pa: _numbers(pa, 40 * _MB), 2),
}
"""Those that take a second or so, most of which are refused."""
LARGE: dict[str, Callable[[Path], None]] = {
    "line.csv": partial(long_line, size=800),
    "quoted.csv": partial(quoted, size=200),
    "header.csv": partial(long_header, size=100),
    "columns.csv": partial(many_columns, columns=99_000),
    "feature.geojson": partial(large_feature, size=190),
    "member.geojson": partial(large_member, size=190),
    "features.geojson": partial(large_features, size=60),
    "names.geojson": partial(many_names, features=60_000, names=90_000),
    "plain.parquet": lambda file: parquet(
        file, lambda pa: [_TEXT] * _ROWS, _ROWS, use_dictionary=False, data_page_size=1 << 30
    ),
    "delta.parquet": lambda file: parquet(
        file,
        lambda pa: [_TEXT] * 5_000,
        5_000,
        use_dictionary=False,
        column_encoding={"t": "DELTA_BYTE_ARRAY", "beds": "PLAIN"},
    ),
    "fixed.parquet": lambda file: parquet(
        file, lambda pa: pa.array([b"x" * 11_700] * 5_000, pa.binary(11_700)), 5_000
    ),
    "lists.parquet": lambda file: parquet(file, lambda pa: _lists(pa, 16), _ROWS // 16),
}


def rows_of(file: Path, row: str, size: int, header: str = "lat,lon\n") -> None:
    """Equal rows of so many MB."""
    with file.open("w", encoding="utf-8") as stream:
        stream.write(header)
        for _ in range(size):
            stream.write(f"{row}\n" * (_MB // (len(row) + 1)))


_WIDE = ",".join(["lat,lon", *(f"c{number}" for number in range(50))]) + "\n"
TABLES: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    "places.csv": ("check_ins", "prior.file", partial(rows_of, row="48.8501,2.2501", size=390)),
    "most.csv": ("check_ins", "", partial(rows_of, row="48.8501,2.2501", size=23)),
    "most observed.csv": ("samples", "", partial(rows_of, row="48.0,2.000", size=16)),
    "short.csv": ("check_ins", "prior.file", partial(rows_of, row="1,1", size=390)),
    "long.csv": ("check_ins", "prior.columns[0]", partial(rows_of, row=f"{'9' * 100_000},1", size=390)),
    "letters.csv": ("samples", "prior.columns[0]", partial(rows_of, row="🐦" * 30_000 + ",1", size=90)),
    "wide.csv": ("check_ins", "", partial(rows_of, row="48.85,2.25" + ",some text" * 50, size=390, header=_WIDE)),
    "counts.csv": ("column", "prior.file", partial(rows_of, row="1,1", size=390)),
    "matrix.csv": ("distances", "space.file", partial(rows_of, row="1," * 99_000 + "1", size=390, header="")),
    "square.csv": ("distances", "space.file", partial(rows_of, row="1," * 3_999 + "1", size=390, header="")),
}
"""Files of problems: the part of the problem that reads each, and the field of the error, "" where there is none."""


def ask(*names: str) -> None:
    """Print the field of the error of a problem file that reads a file, or "", and the MB it took."""
    for name in names:
        file = Path(name)
        kind = TABLES[file.name][0]
        said = "column: lat" if kind == "column" else "columns: [lat, lon]"
        space = "{kind: points, values: [[48, 2], [49, 2]], metric: haversine}"
        prior = f"{{kind: {kind}, file: {file.name}, {said}}}"
        if kind == "distances":
            space, prior = f"{{kind: distances, file: {file.name}}}", "uniform"
        problem = file.with_suffix(".yaml")
        problem.write_text(f"space: {space}\nepsilon: 1\nprior: {prior}\n", encoding="utf-8")
        try:
            load(problem)
            found = ""
        except dx.SpecError as error:
            found = error.field
        print(json.dumps([file.name, found, most_memory()]), flush=True)


def read(*names: str) -> None:
    """Print what `main` does for files as `verify` reads them: "Broken", or how many rows there are."""
    for name in names:
        file = Path(name)
        made = ["beds", "t"] if file.suffix == ".parquet" else ["beds"]
        try:
            found: str | int = sum(1 for _ in read_rows(file, made).entries(made))
        except Broken as error:
            assert len(str(error)) < 3_000
            found = "Broken"
        print(json.dumps([file.name, found, most_memory()]), flush=True)


def main(*names: str) -> None:
    """Print for each file the field of the error, or how many rows were published, and the MB it took."""
    warnings.simplefilter("ignore")
    for name in names:
        file = Path(name)
        columns = dx.Columns(keep=[]) if file.suffix == ".parquet" else dx.Columns()
        output = dx.Output(file.with_name(f"out{file.suffix}"), force=True)
        try:
            found: str | int = dx.apply(counts(), file, output, column="beds", columns=columns).record.rows.out
        except dx.SpecError as error:
            found = error.field
        print(json.dumps([file.name, found, most_memory()]), flush=True)


if __name__ == "__main__":
    {"apply": main, "verify": read, "load": ask}[sys.argv[1]](*sys.argv[2:])
