"""Rows of published files are read line by line, and refused where they are not as they are written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dxopt.verify.published.rows import read_rows
from dxopt.verify.verdict import Broken

TEXTS = ["plain", 'a "quote", \\ and a slash /', "é ł 度 🐦", "[{]}", "", "two\nlines"]
FEATURES = [
    {
        "type": "Feature",
        "id": number,
        "properties": {"t": text, "n": -1.5e-7 * number, "x": [None, {"y": True}]},
        "geometry": None if number % 2 else {"type": "Point", "coordinates": [number, 1.25]},
    }
    for number, text in enumerate(TEXTS)
]
ROWS = [(feature["properties"]["t"], feature["id"], feature["properties"]["n"]) for feature in FEATURES]


def collection(features: list[str]) -> str:
    """As `apply` writes it."""
    return '{"type": "FeatureCollection", "features": [\n' + ",\n".join(features) + "\n]}\n"


def test_features_that_are_written(tmp_path: Path) -> None:
    file = tmp_path / "out.geojson"
    features = [json.dumps(feature, ensure_ascii=False) for feature in FEATURES]
    file.write_text(collection(features), encoding="utf-8")
    assert list(read_rows(file, ["t"]).entries(["t", "id", "n"])) == list(enumerate(ROWS, 1))
    changes = {
        "blank": features[0].replace(": ", ":", 1),
        "digits": features[1].replace("-1.5e-07", "-1.500000000000000045684e-07"),
        "whole": features[1].replace('"id": 1', '"id": 1.0e0'),
        "escape": features[0].replace("plain", "pl\\u0061in"),
        "order": json.dumps(dict(sorted(FEATURES[0].items()))),
    }
    for name, changed in changes.items():
        assert changed not in features, name
        file.write_text(collection([changed]), encoding="utf-8")
        with pytest.raises(Broken):
            read_rows(file, ["t"])
    for text in (
        collection(features).replace("\n", "\r\n"),
        collection(features).replace(",\n", "\n", 1),
        collection(features).replace(",\n", "\n"),
        "\ufeff" + collection(features),
        collection(features)[:-1],
    ):
        file.write_bytes(text.encode())
        with pytest.raises(Broken):
            read_rows(file, ["t"])


ONE = json.dumps(FEATURES[0])
KIND = '"type": "FeatureCollection"'


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "7",
        f'{{{KIND}, "features": [{ONE}]',
        f'{{{KIND}, "features": [{ONE}}}',
        f'{{{KIND}, "features": [{ONE},]}}',
        f'{{{KIND}, "features": [{ONE} {ONE}]}}',
        f'{{{KIND}, "features": [{ONE}]}} {{}}',
        f'{{{KIND}, "features": [{ONE}], "features": []}}',
        f'{{{KIND}, "features": {{}}}}',
        f'{{{KIND}, {KIND}, "features": []}}',
        f'{{{KIND}, "features": [], "bbox": [1, 2, 3, 4]}}',
        '{"features": []}',
        '{"type": 1, "features": []}',
        f'{{1: 2, {KIND}, "features": []}}',
        f'{{{KIND}, "features": [1]}}',
        f'{{[]: 2, {KIND}, "features": []}}',
        f'{{{KIND}, "features": [{ONE[:-1]}, "type": "Feature"}}]}}',
    ],
)
def test_no_collections(tmp_path: Path, content: str) -> None:
    file = tmp_path / "out.geojson"
    begins = f'{{{KIND}, "features": ['
    for text in (content, content.replace(begins, f"{begins}\n", 1)):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(Broken):
            read_rows(file, ["t"])


@pytest.mark.parametrize("text", ["a,report\n1,2", 'a,report\n"1",2\n'])
def test_text_that_is_not_as_it_is_written(tmp_path: Path, text: str) -> None:
    file = tmp_path / "out.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Broken):
        rows = read_rows(file, ["a", "report"])
        assert rows.names == ("a", "report") and list(rows.entries(["a", "report"])) and "a" in text[:1]
        raise Broken("it was read")


@pytest.mark.parametrize(
    "text", ["report\n" + "x" * 8_000_001, "x" * 8_000_001 + ",report\n1,2\n", '"report\n1\n2\n']
)
def test_fields_that_are_too_long(tmp_path: Path, text: str) -> None:
    file = tmp_path / "out.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Broken):
        list(read_rows(file, ["report"]).entries(["report"]))
