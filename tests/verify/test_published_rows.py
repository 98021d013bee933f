"""Rows of published files are read piece by piece: whatever a piece ends with, the rows are the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dxopt.verify.published import bounded
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


@pytest.mark.parametrize("ways", [{}, {"indent": 3}, {"separators": (",", ":")}, {"ensure_ascii": False}], ids=str)
@pytest.mark.parametrize("first", ["type", "features"])
def test_pieces_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ways: Any, first: str) -> None:
    collection = {first: None, "type": "FeatureCollection", "features": FEATURES}
    file = tmp_path / "out.geojson"
    file.write_text(f"\n {json.dumps(collection, **ways)} \n", encoding="utf-8")
    for size in range(1, 30):
        monkeypatch.setattr(bounded, "_BLOCK", size)
        found = list(read_rows(file, ["t"]).entries(["t", "id", "n"]))
        assert found == list(enumerate(ROWS, 1))


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
def test_no_collections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    file = tmp_path / "out.geojson"
    file.write_text(content, encoding="utf-8")
    for size in (1, 7, 1 << 20):
        monkeypatch.setattr(bounded, "_BLOCK", size)
        with pytest.raises(Broken):
            read_rows(file, ["t"])


@pytest.mark.parametrize(
    "text", ["report\n" + "x" * 8_000_001, "x" * 8_000_001 + ",report\n1,2\n", '"report\n1\n2\n']
)
def test_fields_that_are_too_long(tmp_path: Path, text: str) -> None:
    file = tmp_path / "out.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Broken):
        list(read_rows(file, ["report"]).entries(["report"]))
