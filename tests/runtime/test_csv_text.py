"""CSV as people write it: every way is read alike by problem files and by apply, or refused by one clear line."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.runtime.csv_text import CsvText, Dialect, decimal_of, number
from dxopt.verify import verify_published
from tests.material.spec_files import task_of

PLACES = [[48.85, 2.25], [48.75, 2.5], [48.5, 2.0]]
TOWN = dx.geo.points(PLACES, labels=["a", "b", "c"])
TABLE = dx.integer_table(dx.classic.exponential(TOWN, epsilon=0.1))
NOTES = ("plain", "tags; a; b", "x, y", 'say "no"', "two\nlines", "tab\there", "a|b", "é ł ж 度")

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
ENCODINGS = {"utf-8": b"", "utf-8-sig": b"", "utf-16": b"", "utf-16-le": b"", "utf-16-be": codecs.BOM_UTF16_BE}
HEADERS = {
    "lat,lon,note": "bare",
    '"lat","lon","t;a;g;s;o;f;m;a;n;y"': "quoted",
    "lat , lon,": "blanks",
    "lat,lon,2024": "year",
}


def written(
    delimiter: str = ",", decimal: str = ".", encoding: str = "utf-8", header: str = "lat,lon,note", end: str = "\n"
) -> bytes:
    """Return a file of the places with notes that have every delimiter in them."""

    def cell(text: str) -> str:
        special = any(mark in text for mark in (*DELIMITERS, '"', "\n"))
        return '"' + text.replace('"', '""') + '"' if special else text

    def number(value: float) -> str:
        return cell(repr(value).replace(".", decimal))

    rows = [[number(lat), number(lon), cell(note)] for note in NOTES for lat, lon in PLACES]
    lines = [header.replace(",", delimiter), *map(delimiter.join, rows), ""]
    return ENCODINGS.get(encoding, b"") + end.join(lines).encode(encoding)


def ways() -> Iterator[Any]:
    for delimiter, decimal, encoding, header, end in product(DELIMITERS, ".,", ENCODINGS, HEADERS, ("\n", "\r\n")):
        name = f"{DELIMITERS[delimiter]} {decimal} {encoding} {HEADERS[header]} {end!r}"
        few = encoding == "utf-8" and end == "\n"
        marks = () if few else pytest.mark.full
        yield pytest.param((delimiter, decimal, encoding, header, end), id=name, marks=marks)


def read_places(folder: Path, **keys: Any) -> Any:
    said = (
        "".join(f", {key}: {value!r}" for key, value in keys.items())
        .replace("True", "true")
        .replace("False", "false")
    )
    columns = "{lat: column_1, lon: column_2}" if keys.get("header") is False else "[lat, lon]"
    text = f"space: {{kind: points, values: {PLACES}, metric: haversine}}\nepsilon: 1\n"
    prior = f"prior: {{kind: check_ins, file: in.csv, columns: {columns}{said}}}\n"
    return task_of(folder, text + prior).problem.prior.probabilities


def published(folder: Path, **columns: Any) -> list[list[str]]:
    """Apply to the file, prove what was published, and return its rows."""
    lat, lon = ("column_1", "column_2") if columns.get("header") is False else ("lat", "lon")
    output = folder / "out.csv"
    dx.apply(TABLE, folder / "in.csv", dx.Output(output, force=True), lat=lat, lon=lon, columns=dx.Columns(**columns))
    TABLE.save(folder / "t.dxt")
    assert verify_published(output, folder / "t.dxt").exit_code == 0
    text = CsvText.of(output, Dialect(), [lat, lon, "report"], [lat, lon], most=10**6)
    with text.opened() as stream:
        return [row for _, _, row in text.rows(stream)]


@pytest.mark.parametrize("way", list(ways()))
def test_every_way_is_read_alike(way: tuple[str, str, str, str, str], tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(written(*way))
    assert np.allclose(read_places(tmp_path), 1 / 3)
    rows = published(tmp_path)
    assert [row[2] for row in rows] == [note for note in NOTES for _ in PLACES]
    assert all([float(cell.replace(way[1], ".")) for cell in row[:2]] in PLACES for row in rows)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "cp1250", "koi8-r", "shift_jis", "gb18030", "utf-32"])
def test_other_encodings_are_asked_for(encoding: str, tmp_path: Path) -> None:
    note = {"koi8-r": "дом", "shift_jis": "家", "gb18030": "家", "cp1250": "dóm"}.get(encoding, "café")
    (tmp_path / "in.csv").write_bytes(f"lat,lon,{note}\n48.85,2.25,{note}\n".encode(encoding))
    for call in (read_places, published):
        if encoding != "utf-32":
            with pytest.raises(dx.SpecError) as refused:
                call(tmp_path)
            assert refused.value.field in ("prior.file", "data")
        call(tmp_path, encoding=encoding)
    assert published(tmp_path, encoding=encoding)[0][2] == note


FAULTS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "data"),
    "blank": (b"\n\n", "data"),
    "no rows": (b"lat,lon\n", "data"),
    "no header": (b"48.85,2.25\n48.75,2.5\n", "header"),
    "no header, with names": (b"ann,48.85,2.25\nbob,48.75,2.5\n", "header"),
    "no header, missing": (b"ann,,48.85,2.25\nbob,34,48.75,2.5\n", "header"),
    "no header, NA": (b"ann,NA,48.85,2.25\nbob,34,48.75,2.5\n", "header"),
    "no header, semicolons": (b"48,85;2,25\n48,75;2,5\n", "header"),
    "twice": (b"lat,lon,lat\n48.85,2.25,1\n", "data"),
    "short": (b"lat,lon\n48.85,2.25\n48.85\n", "data"),
    "bare decimal commas": (b"lat,lon\n48,85,2,25\n", "data"),
    "thousands": (b'lat,lon\n"48,853","2,251"\n', "data"),
    "some commas": (b'lat,lon\n48.85,2.25\n"48,85",2.25\n', "data"),
    "open quote": (b'lat,lon\n48.85,"2.25\n', "data"),
    "open header": (b'"lat,lon\n48.85,2.25\n', "data"),
    "other names": (b"latitude;lon\n48.85;2.25\n", "columns"),
    "NUL": (b"lat,lon\n48.85,2.2\x00\n", "data"),
    "of Excel": (b"sep=;\nlat;lon\n48.85;2.25\n", "data"),
    "of Excel, marked": (codecs.BOM_UTF8 + b"SEP=,\r\nlat,lon\r\n48.85,2.25\r\n", "data"),
    "of Excel, quoted": (b'"sep=\t"\nlat\tlon\n48.85\t2.25\n', "data"),
    "a long line": (b"lat,lon\n48.85," + b"2" * 10_000_001 + b"\n", "data"),
}


@pytest.mark.parametrize("outside", ["refuse", "nearest", "drop"])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_one_clear_line(fault: str, outside: Any, tmp_path: Path) -> None:
    content, field = FAULTS[fault]
    (tmp_path / "in.csv").write_bytes(content)
    with pytest.raises(dx.SpecError) as refused:
        dx.apply(TABLE, tmp_path / "in.csv", tmp_path / "out.csv", lat="lat", lon="lon", outside=outside)
    assert refused.value.field == field and refused.value.fix
    with pytest.raises(dx.SpecError) as refused:
        read_places(tmp_path)
    assert refused.value.field.startswith("prior.") and refused.value.fix
    assert not (tmp_path / "out.csv").exists()


def test_what_is_said_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b'48.85;2.25;"a"\n48.75;2.5;b\n')
    assert [row[2] for row in published(tmp_path, header=False)] == ["a", "b"]
    assert np.allclose(read_places(tmp_path, header=False), [0.5, 0.5, 0])
    (tmp_path / "in.csv").write_bytes(b'lat\tlon\n"48,853"\t"2,251"\n')
    for call in (read_places, published):
        call(tmp_path, decimal=",", delimiter="tab")
        for key, value in {"delimiter": ":", "decimal": "'", "encoding": "klingon"}.items():
            with pytest.raises(dx.SpecError) as refused:
                call(tmp_path, **{key: value})
            assert refused.value.field.endswith(key)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_wide_letters_without_a_mark_too(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes("lat,lon,é\n48.85,2.25,a\n".encode(encoding))
    assert CsvText.of(tmp_path / "in.csv", Dialect(), ["lat"], most=100).names == ("lat", "lon", "é")


@pytest.mark.parametrize("asked", ["länge", "la\u0308nge", " länge"])
@pytest.mark.parametrize("there", ["länge", "la\u0308nge", " länge ", "\u200blänge", "\ufefflänge"])
def test_names_are_compared_as_they_are_seen(there: str, asked: str, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f'"{there}","lat"\n2.25,48.85\n', encoding="utf-8")
    for mark in (b"", codecs.BOM_UTF8):
        for said in (Dialect(), Dialect(encoding="utf-8")):
            (tmp_path / "marked.csv").write_bytes(mark + (tmp_path / "in.csv").read_bytes())
            assert CsvText.of(tmp_path / "marked.csv", said, [asked], most=100).names == (asked, "lat")


def test_a_point_is_no_decimal_comma(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b"lat;lon\n48,85;2,25\n48.85;2,25\n")
    for call in (read_places, published):
        with pytest.raises(dx.SpecError) as refused:
            call(tmp_path, decimal=",")
        assert refused.value.field in ("prior.columns[0]", "data")


def test_one_column_tells_the_decimal_mark_of_the_other(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b"lat;lon\n48,851;2,25\n48,752;2,5\n")
    assert np.allclose(read_places(tmp_path), [0.5, 0.5, 0])
    assert len(published(tmp_path)) == 2


def test_options_of_csv_are_for_csv_alone(tmp_path: Path) -> None:
    frame = {"lat": [48.85], "lon": [2.25]}
    pd = pytest.importorskip("pandas")
    for key, said in {
        "delimiter": dx.Columns(delimiter=";"),
        "encoding": dx.Columns(encoding="utf-8"),
        "header": dx.Columns(header=False),
    }.items():
        with pytest.raises(dx.SpecError) as refused:
            dx.apply(TABLE, pd.DataFrame(frame), lat="lat", lon="lon", columns=said)
        assert refused.value.field == key
    with pytest.raises(dx.SpecError) as refused:
        task_of(tmp_path, "space: {kind: graph, file: a.graphml, delimiter: ','}\nepsilon: 1\n")
    assert refused.value.field == "space.delimiter"


def test_options_on_the_command_line(tmp_path: Path) -> None:
    TABLE.save(tmp_path / "t.dxt")
    (tmp_path / "in.csv").write_bytes("48,853\t2,251\tcafé\n".encode("cp1252"))
    names = ["--lat", "column_1", "--lon", "column_2", "-o", str(tmp_path / "out.csv")]
    said = ["--delimiter", "tab", "--decimal", ",", "--encoding", "cp1252", "--no-header"]
    given = ["apply", str(tmp_path / "t.dxt"), str(tmp_path / "in.csv"), *names]
    assert CliRunner().invoke(app, [*given, *said]).exit_code == 0
    assert "café" in (tmp_path / "out.csv").read_text(encoding="utf-8")
    for place in (0, 2, 4, 6):
        left = said[:place] + said[place + 2 :]
        assert CliRunner().invoke(app, [*given, "--force", *left]).exit_code == (0 if place == 0 else 2)


@pytest.mark.parametrize("column", ["48.85", "1", "0", "column_1"])
def test_columns_named_by_data_or_by_number(column: str, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b"48.85,2.25,ann\n48.75,2.5,bob\n")
    for other in ("2.25", "2", "1", "column_2"):
        if other != column:
            with pytest.raises(dx.SpecError) as refused:
                dx.apply(TABLE, tmp_path / "in.csv", tmp_path / "out.csv", lat=column, lon=other)
            assert refused.value.field == "header"
    with pytest.raises(dx.SpecError) as refused:
        dx.apply(TABLE, tmp_path / "in.csv", tmp_path / "out.csv", columns=dx.Columns(label="ann"))
    assert refused.value.field == "header"


@pytest.mark.parametrize("names", [("a", "ann"), ("a", "NA"), ("a", ""), ("a", "age")])
def test_a_header_that_is_a_label(names: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f"{','.join(names)}\nb,34\n", encoding="utf-8")
    asked = dx.Columns(label="a")
    with pytest.raises(dx.SpecError) as refused:
        dx.apply(TABLE, tmp_path / "in.csv", tmp_path / "out.csv", columns=asked)
    assert refused.value.field == "header"
    text = "space: {kind: points, values: [[a], [b]], metric: discrete}\nepsilon: 1\n"
    with pytest.raises(dx.SpecError) as refused:
        task_of(tmp_path, text + "prior: {kind: samples, file: in.csv, columns: [a]}\n")
    assert refused.value.field == "prior.columns[0]"


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["45,5", "2"], ","), (["45,123", "0,5"], ","), (["-1234,567"], ","), ([",5"], ","), (["1,5e3"], ","),
        (["45,123", "2,345"], "."), (["45.5", "2,5"], "."), (["45", "2"], "."), (["a,b", "1,2,3"], "."), ([], "."),
    ],
)  # fmt: skip
def test_decimal_marks(cells: list[str], mark: str) -> None:
    assert decimal_of(cells) == mark


@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("decimal", ".,")
def test_matrices(decimal: str, delimiter: str, tmp_path: Path) -> None:
    cells = [["0", "0.5", "inf"], ["0.5", "0", "2"], ["inf", "2", "0"]]
    if (decimal, delimiter) == (",", ","):
        cells = [[f'"{cell}"' for cell in row] for row in cells]
    lines = [delimiter.join(row).replace(".", decimal) for row in cells]
    (tmp_path / "d.csv").write_text("\n".join(lines), encoding="utf-8")
    space = task_of(tmp_path, "space: {kind: distances, file: d.csv, close: true}\nepsilon: 1\n").problem.space
    assert space.distances[0, 1] == 0.5
    (tmp_path / "d.csv").write_text("\n".join([delimiter.join("abc"), *lines]), encoding="utf-8")
    text = "space: {kind: distances, file: d.csv, close: true, header: true}\nepsilon: 1\n"
    assert task_of(tmp_path, text).problem.space.distances[0, 1] == 0.5


def test_names_that_are_years_are_said_to_be_names(tmp_path: Path) -> None:
    table = dx.classic.geometric(dx.line(9), epsilon=1.0)
    (tmp_path / "in.csv").write_bytes(b"ward,2023,2024\n7,1,2\n8,3,4\n")
    with pytest.raises(dx.SpecError) as refused:
        dx.apply(table, tmp_path / "in.csv", tmp_path / "out.csv", column="2024")
    assert refused.value.field == "header" and refused.value.options == {"header"}
    dx.apply(table, tmp_path / "in.csv", tmp_path / "out.csv", column="2024", columns=dx.Columns(header=True))
    assert (tmp_path / "out.csv").read_bytes().startswith(b"ward,2023,2024,report")


@pytest.mark.parametrize("size", [131_073, 3_900_000])
@pytest.mark.parametrize("where", ["cell", "quoted", "name"])
def test_a_cell_may_fill_its_row(where: str, size: int, tmp_path: Path) -> None:
    name, cell = ("x" * size, "0") if where == "name" else ("shape", "x" * size)
    data, output = tmp_path / "data.csv", tmp_path / "out.csv"
    quote = '"' if where == "quoted" else ""
    data.write_text(f"lat,lon,{name}\n48.85,2.25,{quote}{cell}{quote}\n", encoding="utf-8")
    dx.apply(TABLE, data, output, lat="lat", lon="lon")
    assert "x" * size in output.read_text(encoding="utf-8")
    table = TABLE.save(tmp_path / "table.dxt")
    assert verify_published(output, table).outcome == "holds"


@pytest.mark.parametrize("line", ["lat,lon,{long}", "lat,lon\n48.85,{long}", 'lat,lon\n48.85,"{long}'])
def test_a_row_too_long_is_called_that(line: str, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text(line.format(long="x" * 4_000_001) + "\n", encoding="utf-8")
    with pytest.raises(dx.SpecError, match=r"line \d has more than 4,000,000 letters") as refused:
        dx.apply(TABLE, data, tmp_path / "out.csv", lat="lat", lon="lon")
    assert "delimiter" not in str(refused.value)


NO_NUMBERS = [True, np.True_, np.datetime64(1, "ns"), np.timedelta64(1, "ns"), "1_0", "1,5", "", None, [1]]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number(value: object) -> None:
    assert np.isnan(number(value))
    assert number("1.5") == number(1.5) == number(np.float32(1.5)) == 1.5


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("inside", ["\n", "\r\n", "\r"])
def test_cells_of_several_lines_stay_in_quotes(end: str, inside: str, tmp_path: Path) -> None:
    rows = [["who", "lat", "lon", "note"], ["a", "48.75", "2.5", f"x{inside}y"], [f"b{inside}z", "48.5", "2.0", "q"]]
    lines = [",".join(f'"{cell}"' for cell in row) + end for row in rows]
    (tmp_path / "in.csv").write_bytes("".join(lines).encode())
    TABLE.save(tmp_path / "t.dxt")
    dx.apply(TABLE, tmp_path / "in.csv", tmp_path / "out.csv", lat="lat", lon="lon")
    with (tmp_path / "out.csv").open(newline="") as stream:
        found = list(csv.reader(stream))
    assert [(row[0], row[3]) for row in found] == [(row[0], row[3]) for row in rows]
    assert verify_published(tmp_path / "out.csv", tmp_path / "t.dxt").exit_code == 0


@pytest.mark.parametrize(
    ("text", "asked", "decimal", "header"),
    [
        ("1222,44;ann\n551,68;bob\n", ["column_1"], None, False),
        ("1222,44;ann\n551,68;bob\n", ["column_1", "column_2"], ",", False),
        ("v,x;who\n1222,44;ann\n551,68;bob\n", ["v"], ",", True),
        ("45,70;ann;4,81\n45,71;bob;4,80\n", ["column_1", "column_3"], None, False),
        ("1222,44;1,5;2,25;h0\n551,68;1,5;2,5;h1\n", ["column_1", "column_4"], ",", False),
        ("1,5;2,5\n2,5;3,5\n", ["column_1"], None, False),
    ],
)
def test_a_delimiter_that_is_one_of_several_is_asked_for(
    text: str, asked: list[str], decimal: str | None, header: bool, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text(text)
    with pytest.raises(dx.SpecError) as error:
        CsvText.of(tmp_path / "in.csv", Dialect(decimal=decimal, header=header), asked, asked[:1], most=1000)
    assert error.value.field == "data"
    said = Dialect(decimal=decimal, header=False, delimiter=";")
    assert CsvText.of(tmp_path / "in.csv", said, asked[:1], asked[:1], most=1000).delimiter == said.delimiter


def test_decimal_commas_in_quotes_are_no_delimiters(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('v,who\n"1222,44",ann\n3,bob\n')
    assert CsvText.of(tmp_path / "in.csv", Dialect(decimal=","), ["v"], ["v"], most=1000).delimiter == ","
