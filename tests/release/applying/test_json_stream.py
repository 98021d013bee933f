"""GeoJSON read piece by piece, wherever the pieces end."""

from __future__ import annotations

import io
import json

import pytest

import dxopt as dx
from dxopt.release.applying import geojson_files as json_stream
from dxopt.release.applying.geojson_files import JsonStream

CONTENT = {
    "type": "FeatureCollection",
    "count": 123456789,
    "features": [{"a": 'b"]}', "é": [1.5, -2e-7, None, True]}, {}, {"deep": [[{"x": "\\"}]]}],
    "share": 0.1234567,
    "end": 98765,
}


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("indent", [None, 3])
def test_it_reads_what_json_reads(block: int, indent: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_BLOCK", block)
    monkeypatch.setattr(json_stream, "_MEMBERS", tuple(CONTENT))
    stream = JsonStream(io.StringIO(json.dumps(CONTENT, indent=indent, ensure_ascii=False)))
    assert list(stream.features()) == CONTENT["features"]
    assert stream.members == {name: value for name, value in CONTENT.items() if name != "features"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "[]",
        "{}",
        '{"features": 3}',
        '{"features": [{}]} x',
        '{"features": [{}]}}',
        '{"features": [{},]}',
        '{"features": [{} {}]}',
        '{"features": [{}]',
        '{"features": [{"a": ]}',
        '{"features" [{}]}',
        "[" * 100_000,
        '{"features": [' + "[" * 100_000,
    ],
)
def test_what_is_no_collection_is_refused(text: str) -> None:
    with pytest.raises(dx.SpecError, match="data: is no GeoJSON FeatureCollection, or damaged"):
        list(JsonStream(io.StringIO(text)).features())


TWICE = ['"crs": {"type": "name"}, "crs": null, "features": []', '"features": [{}], "features": [{}]']
TWICE += [
    f'"features": [{one}]' for one in ('{"a": 1, "a": 2}', '{"b": {"a": 1, "a": 1}}', '{"b": [{"a": 1, "a": 1}]}')
]
TWICE += ['"x": {"a": 1, "a": 1}, "features": []']


@pytest.mark.parametrize("block", [1, 1000])
@pytest.mark.parametrize("text", TWICE)
def test_two_members_of_one_name_are_refused(text: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_BLOCK", block)
    with pytest.raises(dx.SpecError) as refused:
        list(JsonStream(io.StringIO(f"{{{text}}}")).features())
    assert "two members" in refused.value.wrong
