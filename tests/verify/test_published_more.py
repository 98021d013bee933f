"""Files that hold more than was written, with a sidecar that names them as they are, do not hold."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from dxopt.verify import verify_published
from dxopt.verify.published.parquet_pages import WRITTEN
from dxopt.verify.published.rows import read_rows
from tests.material.people import counts, people, town, write_geojson

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

HOME = [4.8, 45.7]


def said_to_be(file: Path) -> None:
    """Let the sidecar name the file as it is."""
    side = file.with_name(f"{file.name}.dxopt.json")
    said = json.loads(side.read_text(encoding="utf-8"))
    said["output"]["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    said["output"]["bytes"] = file.stat().st_size
    side.write_text(json.dumps(said), encoding="utf-8")


def first(content: dict[str, Any]) -> dict[str, Any]:
    return content["features"][0]


MEMBERS: dict[str, Callable[[dict[str, Any]], object]] = {
    "third coordinate": lambda content: first(content)["geometry"]["coordinates"].append(5.0),
    "member of the collection": lambda content: content.update(home=HOME),
    "member of a feature": lambda content: first(content).update(home=HOME),
    "member of a geometry": lambda content: first(content)["geometry"].update(home=HOME),
    "box of the collection": lambda content: content.update(bbox=[*HOME, *HOME]),
    "box of a feature": lambda content: first(content).update(bbox=[*HOME, *HOME]),
    "box of a geometry": lambda content: first(content)["geometry"].update(bbox=[*HOME, *HOME]),
    "id": lambda content: first(content).update(id={"home": HOME}),
    "system": lambda content: content.update(crs={"type": "name", "properties": {"name": "EPSG:3857"}}),
    "property": lambda content: first(content)["properties"].update(home=HOME),
    "another geometry": lambda content: first(content).update(geometry={"type": "LineString", "coordinates": [HOME]}),
}
TEXTS = {
    "coordinates twice": ('"coordinates":', '"coordinates": [4.8, 45.7], "coordinates":'),
    "properties twice": ('"properties":', '"properties": {"home": 1}, "properties":'),
    **{f"property {name}": ('"person": "[^"]*"', f'"person": {name}') for name in ("NaN", "Infinity", "-Infinity")},
    **{f"within {name}": ('"person": "[^"]*"', f'"person": [{name}]') for name in ("NaN", "Infinity")},
    "features twice": ('"features":', '"features": [], "features":'),
}


@pytest.mark.parametrize("name", ["untouched", *MEMBERS, *TEXTS])
def test_geojson(name: str, tmp_path: Path) -> None:
    table = town().save(tmp_path / "town.dxt")
    output = tmp_path / "out.geojson"
    dx.apply(town(), write_geojson(tmp_path / "in.geojson", people(8)), output, columns=dx.Columns(keep=["person"]))
    text = output.read_text(encoding="utf-8")
    if name in MEMBERS:
        content = json.loads(text)
        MEMBERS[name](content)
        features = [json.dumps(feature, ensure_ascii=False) for feature in content.pop("features")]
        head = json.dumps({**content, "features": []})[:-2]
        output.write_text(head + "\n" + ",\n".join(features) + "\n]}\n", encoding="utf-8")
    else:
        before, after = TEXTS.get(name, ("", ""))
        output.write_text(re.sub(before, after, text, count=1) if before else text, encoding="utf-8")
    said_to_be(output)
    assert verify_published(output, table).exit_code == (0 if name == "untouched" else 1)


def _negative(table: Any) -> Any:
    beds = [-0.0 if value == 0 else float(value) for value in table["beds"].to_pylist()]
    return table.set_column(table.schema.get_field_index("beds"), "beds", pa.array(beds))


def _first_field(table: Any, field: Any) -> Any:
    return table.cast(pa.schema([field, *list(table.schema)[1:]], metadata=table.schema.metadata))


TABLES: dict[str, Callable[[Any], Any]] = {
    "untouched": lambda table: table,
    "metadata of the file": lambda table: table.replace_schema_metadata({b"home": b"45.7, 4.8"}),
    "metadata of pandas": lambda table: table.replace_schema_metadata({b"pandas": b'{"attrs": {"home": 1}}'}),
    "metadata of a field": lambda table: _first_field(table, table.schema.field(0).with_metadata({b"home": b"1"})),
    "negative zeros": _negative,
    "another column": lambda table: table.append_column("home", pa.array(["45.7"] * len(table))),
}


@pytest.mark.parametrize("name", TABLES)
def test_parquet(name: str, tmp_path: Path) -> None:
    table = counts().save(tmp_path / "beds.dxt")
    output = tmp_path / "out.parquet"
    pd.DataFrame({"ward": ["a"] * 40, "beds": [0, 1] * 20}).to_parquet(tmp_path / "in.parquet")
    dx.apply(counts(), tmp_path / "in.parquet", output, column="beds")
    pq.write_table(TABLES[name](pq.read_table(output)), output, **WRITTEN)
    said_to_be(output)
    assert verify_published(output, table).exit_code == (0 if name == "untouched" else 1)


def _at(*path: str, to: Any = HOME) -> Callable[[dict[str, Any]], None]:
    def change(said: dict[str, Any]) -> None:
        for name in path[:-1]:
            said = said[name]
        said[path[-1]] = to

    return change


POINTS = ("columns", "geometry")
SAID: dict[str, Callable[[dict[str, Any]], Any]] = {
    "untouched": lambda said: None,
    "no coordinate system": lambda said: said["columns"]["geometry"].pop("crs"),
    "another version": _at("version"),
    "another column": _at("columns", "home", to={"encoding": "WKB", "geometry_types": ["Point"]}),
    "another member": _at("home"),
    "another member of points": _at(*POINTS, "home"),
    "another name": _at(*POINTS, "crs", "name", to="45.7, 4.8"),
    "remarks": _at(*POINTS, "crs", "remarks", to="45.7, 4.8"),
    "a box": _at(*POINTS, "crs", "bbox", to=HOME),
    "another ellipsoid": _at(*POINTS, "crs", "datum", "ellipsoid", "semi_major_axis", to=1.0),
    "another unit": _at(*POINTS, "crs", "coordinate_system", "axis", to=[]),
    "another code": _at(*POINTS, "crs", "id", "code", to=4267),
}


WITHOUT_SYSTEM = ("untouched", "another version", "another column", "another member", "another member of points")


@pytest.mark.parametrize("system", ["EPSG:4326", "OGC:CRS84", None])
@pytest.mark.parametrize("name", SAID)
def test_what_a_file_says_of_points(name: str, system: str | None, tmp_path: Path) -> None:
    gpd = pytest.importorskip("geopandas")
    rows = people(8)
    points = gpd.points_from_xy(rows["lon"], rows["lat"], crs=system or "OGC:CRS84")
    data, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    gpd.GeoDataFrame(geometry=points).to_parquet(data)
    if system is None:
        given = pq.read_table(data)
        said = json.loads(given.schema.metadata[b"geo"])
        del said["columns"]["geometry"]["crs"]
        pq.write_table(given.replace_schema_metadata({b"geo": json.dumps(said).encode()}), data)
    dx.apply(town(), data, output)
    assert gpd.read_parquet(output).crs == (system or "OGC:CRS84")
    published = pq.read_table(output)
    said = json.loads(published.schema.metadata[b"geo"])
    if system is None and name not in WITHOUT_SYSTEM:
        return
    SAID[name](said)
    pq.write_table(published.replace_schema_metadata({b"geo": json.dumps(said).encode()}), output, **WRITTEN)
    said_to_be(output)
    expected = 0 if name in ("untouched", "no coordinate system") else 1
    assert verify_published(output, town().save(tmp_path / "town.dxt")).exit_code == expected


RADIUS = "coordinateUncertaintyInMeters"
OTHERS: dict[str, Any] = {
    "no radius": (RADIUS, lambda value: None),
    "an infinite radius": (RADIUS, lambda value: math.inf),
    "a radius with a fraction": (RADIUS, lambda value: value + 0.5),
    "a radius as a double": (RADIUS, float),
    "no sentence": ("dataGeneralizations", lambda value: None),
    "an empty sentence": ("dataGeneralizations", lambda value: " "),
    "a number as a sentence": ("dataGeneralizations", lambda value: 7),
}


@pytest.mark.parametrize("name", ["untouched", *OTHERS])
@pytest.mark.parametrize("ending", ["csv", "geojson", "parquet"])
@pytest.mark.parametrize("prior", [True, False])
def test_what_stands_beside_reports_in_all_rows(name: str, ending: str, prior: bool, tmp_path: Path) -> None:
    column, change = OTHERS.get(name, ("", None))
    table, output, rows = town().save(tmp_path / "town.dxt"), tmp_path / f"out.{ending}", people(8)
    data = write_geojson(tmp_path / "in.geojson", rows) if ending == "geojson" else tmp_path / f"in.{ending}"
    frame = pd.DataFrame(rows)
    if ending == "csv":
        frame.to_csv(data, index=False)
    elif ending == "parquet":
        frame.to_parquet(data)
    where: dict[str, Any] = {} if ending == "geojson" else {"lat": "lat", "lon": "lon"}
    dx.apply(town(), data, output, **where, columns=dx.Columns(keep=["person"]))
    if ending == "parquet" and change is not None:
        read = pq.read_table(output)
        values = pa.array([change(value) for value in read[column].to_pylist()])
        pq.write_table(read.set_column(read.column_names.index(column), column, values), output, **WRITTEN)
    elif change is not None:
        text = output.read_text(encoding="utf-8")
        found = (
            pd.read_csv(output)[column][0]
            if ending == "csv"
            else json.loads(text)["features"][0]["properties"][column]
        )
        if ending == "csv":
            at = text.splitlines()[0].split(",").index(column)
            new = "" if (value := change(found)) is None else str(value)
            lines = [next(csv.reader([line])) for line in text.splitlines()]
            lines = [line if not n else [*line[:at], new, *line[at + 1 :]] for n, line in enumerate(lines)]
            with output.open("w", newline="", encoding="utf-8") as stream:
                csv.writer(stream, lineterminator="\n").writerows(lines)
        else:
            pattern = rf'("{column}": )("[^"]*"|[0-9]+)'
            output.write_text(
                re.sub(pattern, lambda match: match[1] + json.dumps(change(json.loads(match[2]))), text), "utf-8"
            )
    said_to_be(output)
    if not prior:
        side = output.with_name(f"{output.name}.dxopt.json")
        said = json.loads(side.read_text(encoding="utf-8"))
        said["prior"] = {"name": "another", "sha256": "0" * 64}
        side.write_text(json.dumps(said), encoding="utf-8")
    unproven = 0 if prior else 3  # radii under another prior are not proven
    # in CSV a number is text, and words are not proven
    same = name == "untouched" or (ending == "csv" and name == "a number as a sentence")
    assert verify_published(output, table).exit_code == (unproven if same else 1)


def test_points_of_parquet_are_not_without_their_system(tmp_path: Path) -> None:
    gpd = pytest.importorskip("geopandas")
    rows = people(8)
    gpd.GeoDataFrame(geometry=gpd.points_from_xy(rows["lon"], rows["lat"], crs="EPSG:4326")).to_parquet(
        tmp_path / "in.parquet"
    )
    output = tmp_path / "out.parquet"
    dx.apply(town(), tmp_path / "in.parquet", output)
    pq.write_table(pq.read_table(output).replace_schema_metadata({}), output, **WRITTEN)
    said_to_be(output)
    assert verify_published(output, town().save(tmp_path / "town.dxt")).exit_code == 1


def test_properties_have_one_order(tmp_path: Path) -> None:
    table, output, rows = town().save(tmp_path / "town.dxt"), tmp_path / "out.geojson", people(4)
    data = write_geojson(tmp_path / "in.geojson", rows)
    content = json.loads(data.read_text(encoding="utf-8"))
    for number, feature in enumerate(content["features"]):
        # some have one property, some the other, and some both
        feature["properties"] = {name: number for name, has in (("q", number != 1), ("name", number != 2)) if has}
    data.write_text(json.dumps(content), encoding="utf-8")
    dx.apply(town(), data, output, columns=dx.Columns(keep=["q", "name"]))
    assert verify_published(output, table).exit_code == 0
    text = output.read_text(encoding="utf-8")
    changed = re.sub(r'"q": 3, "name": 3', '"name": 3, "q": 3', text)
    assert changed != text
    output.write_text(changed, encoding="utf-8")
    said_to_be(output)
    assert verify_published(output, table).exit_code == 1


def test_parquet_of_other_writers_is_told(tmp_path: Path) -> None:
    table = counts().save(tmp_path / "beds.dxt")
    output = tmp_path / "out.parquet"
    pd.DataFrame({"ward": ["a"] * 40, "beds": [0, 1] * 20}).to_parquet(tmp_path / "in.parquet")
    dx.apply(counts(), tmp_path / "in.parquet", output, column="beds")
    pq.write_table(pq.read_table(output), output, store_schema=False, **WRITTEN)
    said_to_be(output)
    found = verify_published(output, table).of("columns")
    assert found.status == "fails"
    assert "NoneType" not in found.detail


SPELLINGS: dict[str, Callable[[str], str]] = {
    "digits that no double has": lambda text: f"{text}{'0' * 20}45684" if "." in text else f"{text}.{'0' * 20}45684",
    "a zero more": lambda text: f"{text}0" if "." in text else f"{text}.0",
    "an exponent": lambda text: f"{text}e0",
    "text": lambda text: f'"{text}"',
    "a comma": lambda text: text.replace(".", ",") if "." in text else f"{text},0",
    "a blank": lambda text: f" {text}",
}


@pytest.mark.parametrize("way", SPELLINGS)
@pytest.mark.parametrize("column", ["lat", "epsilon", "coordinateUncertaintyInMeters"])
@pytest.mark.parametrize("ending", ["csv", "geojson"])
def test_numbers_have_one_spelling(ending: str, column: str, way: str, tmp_path: Path) -> None:
    """Also in a row that alone has its report, so that there is no other one to compare with."""
    table = town().save(tmp_path / "town.dxt")
    output = tmp_path / f"out.{ending}"
    rows = people(2)
    if ending == "csv":
        pd.DataFrame(rows).to_csv(tmp_path / "in.csv", index=False)
        dx.apply(town(), tmp_path / "in.csv", output, lat="lat", lon="lon")
    else:
        dx.apply(town(), write_geojson(tmp_path / "in.geojson", rows), output)
    assert verify_published(output, table).exit_code == 0
    lines = output.read_text(encoding="utf-8").splitlines(keepends=True)
    if ending == "csv":
        place = lines[0].strip().split(",").index(column)
        found = lines[1].split(",")[place]
    else:
        feature = json.loads(lines[1].rstrip(",\n"))
        found = json.dumps(feature["properties"].get(column, feature["geometry"]["coordinates"][1]))
    assert found in lines[1]
    lines[1] = lines[1].replace(found, SPELLINGS[way](found))
    output.write_text("".join(lines), encoding="utf-8")
    said_to_be(output)
    assert verify_published(output, table).exit_code == 1


@pytest.mark.parametrize("way", [float, bool, str, lambda number: -0.0 if number == 0 else float(number)])
@pytest.mark.parametrize("every", [True, False])
def test_equal_values_of_other_types_are_others(every: bool, way: Callable[[int], Any], tmp_path: Path) -> None:
    table = counts().save(tmp_path / "beds.dxt")
    output = tmp_path / "out.geojson"
    features = [{"type": "Feature", "properties": {"beds": row % 2}, "geometry": None} for row in range(60)]
    (tmp_path / "in.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    dx.apply(counts(), tmp_path / "in.geojson", output, column="beds")
    assert verify_published(output, table).exit_code == 0
    begin, *lines, end = output.read_text(encoding="utf-8").splitlines()
    changed = []
    for number, line in enumerate(lines):
        feature = json.loads(line.removesuffix(","))
        if every or number % 2:
            feature["properties"]["beds"] = way(feature["properties"]["beds"])
        changed.append(json.dumps(feature, ensure_ascii=False) + ("," if line.endswith(",") else ""))
    output.write_text("\n".join([begin, *changed, end, ""]), encoding="utf-8")
    said_to_be(output)
    assert verify_published(output, table).exit_code == 1


@pytest.mark.parametrize("crlf", [True, False])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("names", [("lat", "lon"), ("latitudeE7", "longitudeE7")])
def test_what_is_written_holds(names: tuple[str, str], decimal: str, mark: bytes, crlf: bool, tmp_path: Path) -> None:
    data, output, rows = tmp_path / "in.csv", tmp_path / "out.csv", people(6)
    scale, digits = (10**7, 0) if "E7" in names[0] else (1, 9)
    found = zip(rows["lat"], rows["lon"], rows["note"], strict=True)
    lines = [f'{lat * scale:.{digits}f};{lon * scale:.{digits}f};"{note[:4]};1";' for lat, lon, note in found]
    text = "\n".join([";".join([*names, "note", "rest"]), *lines, "", ""]).replace(".", decimal)
    data.write_bytes(mark + text.replace("\n", "\r\n" if crlf else "\n").encode())
    dx.apply(town(), data, output, lat=names[0], lon=names[1], columns=dx.Columns(worst=True))
    table = town().save(tmp_path / "town.dxt")
    assert verify_published(output, table).exit_code == 0
    text = output.read_bytes()
    others = {text.replace(b"\n", b"\n\n", 1), text[:-1], text.replace(b"note", b'"note"')}
    if b"1,2" in text:
        others.add(text.replace(b"1,2", b"1.2", 1))
    for other in others:
        output.write_bytes(other)
        said_to_be(output)
        assert verify_published(output, table).exit_code == 1


@pytest.mark.parametrize("bits", [32, 64, 128, 256])
def test_decimals_of_every_width_hold(bits: int, tmp_path: Path) -> None:
    values = [None, Decimal("1.50"), Decimal("1.50"), Decimal("-2.25")]
    column = pa.array(values, getattr(pa, f"decimal{bits}")(7, 2))
    data, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"beds": [1, 2, 3, 4], "cost": column}), data)
    dx.apply(counts(), data, output, column="beds")
    assert verify_published(output, counts().save(tmp_path / "beds.dxt")).exit_code == 0


def _rewritten(table: Any, **options: Any) -> bytes:
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream, **(WRITTEN | options))
    return stream.getvalue().to_pybytes()


def _with_unused(table: Any, name: str, value: Any) -> Any:
    """A table whose column has a value in its dictionary that no row has."""
    column = table[name].combine_chunks().dictionary_encode()
    values = pa.array([*column.dictionary.to_pylist(), value], column.dictionary.type)
    place = table.schema.get_field_index(name)
    return table.set_column(place, name, pa.DictionaryArray.from_arrays(column.indices, values))


def _with_number(table: Any) -> Any:
    """A table with an object whose field has a number of its own."""
    field = pa.field("x", pa.int8(), metadata={b"PARQUET:field_id": b"45733"})
    return table.append_column("other", pa.array([{"x": 1}] * len(table), pa.struct([field])))


def damaged_histogram(content: bytes) -> bytes:
    """A file with as many levels in a column as make Arrow end the process that asks for it."""
    for place in range(_end(content), len(content) - 8):
        changed = bytearray(content)
        changed[place] ^= 1
        try:
            pq.read_table(pa.BufferReader(bytes(changed)))
        except (OSError, pa.ArrowException) as error:
            if "histogram" in str(error):
                return bytes(changed)
    pytest.skip("this version of Arrow takes all of them")


def _end(content: bytes) -> int:
    """Where the footer begins."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def test_damaged_parquet_is_refused(tmp_path: Path) -> None:
    """Not by the end of the process."""
    (tmp_path / "in.parquet").write_bytes(damaged_histogram(_rewritten(pa.table({"beds": [0, 1] * 20}))))
    with pytest.raises(dx.SpecError, match="damaged") as refused:
        dx.apply(counts(), tmp_path / "in.parquet", tmp_path / "out.parquet", column="beds")
    assert refused.value.field == "data"


BYTES: dict[str, Callable[[Any, bytes], bytes]] = {
    "untouched": lambda table, content: content,
    "written again": lambda table, content: _rewritten(table),
    "groups of rows": lambda table, content: _rewritten(table, row_group_size=7),
    "a column twice": lambda table, content: _rewritten(table.append_column("ward", pa.array(["home"] * len(table)))),
    "before the footer": lambda table, content: content[: _end(content)] + b"home" + content[_end(content) :],
    "the file twice": lambda table, content: content + content,
    "another file before": lambda table, content: _rewritten(table.slice(0, 3)) + content,
    "at the end": lambda table, content: content + b"home",
    "an unused text": lambda table, content: _rewritten(_with_unused(table, "ward", "home")),
    "an unused text made": lambda table, content: _rewritten(_with_unused(table, "report", "home")),
    "an unused number": lambda table, content: _unused_number(table),
    "an index of pages": lambda table, content: _rewritten(table, write_page_index=True),
    "extremes of columns": lambda table, content: _rewritten(table, write_statistics=True),
    "an order of rows": lambda table, content: _rewritten(table, sorting_columns=[pq.SortingColumn(0)]),
    "another name of the schema": lambda table, content: content.replace(b"schema\x15", b"45.733\x15"),
    "a number within a column": lambda table, content: _rewritten(_with_number(table)),
    "a damaged column": lambda table, content: damaged_histogram(content),
}


def _unused_number(table: Any) -> bytes:
    """A file whose dictionary has one number twice, so that the second one is only there in places."""
    content = bytearray(_rewritten(table, use_dictionary=["age"], compression="none"))
    column = pq.ParquetFile(pa.BufferReader(bytes(content))).metadata.row_group(0).column(1)
    first = content.index((30).to_bytes(8, "little"), column.dictionary_page_offset)
    second = content.index((31).to_bytes(8, "little"), first)
    assert second == first + 8
    content[second : second + 8] = (30).to_bytes(8, "little")
    return bytes(content)


def test_parquet_without_rows_and_of_many_types(tmp_path: Path) -> None:
    """What pyarrow writes of any type is reachable; columns of lists too."""
    file = tmp_path / "out.parquet"
    size = 3000
    columns = {
        "number": [0.0, -0.0, float("nan"), None] * (size // 4),
        "text": [f"{row % 7}" for row in range(size)],
        "long": [f"{'y' * 1000}{row}" for row in range(size)],
        "truth": [True, None] * (size // 2),
        "list": [[1, 2], None] * (size // 2),
        "object": [{"x": {"y": 1}}] * size,
        "bytes": [b"ab", b"c"] * (size // 2),
        "time": pa.array(range(size), pa.timestamp("ns")),
        "fixed": pa.array([b"ab"] * size, pa.binary(2)),
        "half": pa.array([1, 2] * (size // 2), pa.int16()),
        "none": pa.nulls(size),
    }
    for table in (pa.table(columns), pa.table(columns).slice(0, 0)):
        for options in ({}, {"row_group_size": 700}, {"data_page_size": 500}):
            pq.write_table(table, file, **(WRITTEN | options))
            assert read_rows(file, []).names == tuple(columns)


@pytest.mark.parametrize("name", BYTES)
def test_bytes_of_parquet(name: str, tmp_path: Path) -> None:
    table = counts().save(tmp_path / "beds.dxt")
    output = tmp_path / "out.parquet"
    frame = pd.DataFrame({"ward": ["a", "b"] * 20, "age": [30, 31] * 20, "beds": [0, 1] * 20})
    frame.to_parquet(tmp_path / "in.parquet")
    dx.apply(counts(), tmp_path / "in.parquet", output, column="beds")
    output.write_bytes(BYTES[name](pq.read_table(output), output.read_bytes()))
    said_to_be(output)
    allowed = name in ("untouched", "written again", "groups of rows")
    assert verify_published(output, table).exit_code == (0 if allowed else 1)
