"""Tables whose bytes are not as they are written, with a digest that fits: no reader takes one, nor hangs on it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from dxopt.verify import verify_table
from tests.material.tables import NODE, SPACES, parts_of, sealed, table_of, taken_by_javascript, written_of

Head = dict[str, Any]
Change = Callable[[Head, bytearray], object]


def _start(number: int) -> Change:
    def change(head: Head, body: bytearray) -> None:
        place, size = head["sections"]["starts"]
        body[place + size - 8 : place + size] = struct.pack("<Q", number)

    return change


def _section(name: str, value: Any) -> Change:
    return lambda head, body: head["sections"].update({name: value})


def _swapped_starts(head: Head, body: bytearray) -> None:
    place, _ = head["sections"]["starts"]
    body[place + 8 : place + 24] = body[place + 16 : place + 24] + body[place + 8 : place + 16]


def _report(head: Head, body: bytearray) -> None:
    place, _ = head["sections"]["reports"]
    body[place : place + 4] = struct.pack("<I", len(head["reports"]))


def _zero_step(head: Head, body: bytearray) -> None:
    place, _ = head["sections"]["steps"]
    body[place : place + head["bits"] // 8] = bytes(head["bits"] // 8)


def _padding(head: Head, body: bytearray) -> None:
    place, size = head["sections"]["reports"]
    if size % 8:
        body[place + size] = 1


def _prior(head: Head, body: bytearray) -> None:
    place, _ = head["sections"]["prior"]
    body[place : place + 8] = struct.pack("<d", 5.0)


def _negative(points: Any) -> Any:
    return points and [[-axis if axis == 0 else axis for axis in point] for point in points]


DAMAGES: dict[str, Change] = {
    "huge start": _start(2**40),
    "start over all": _start(2**63),
    "start of 0": _start(0),
    "starts that fall": _swapped_starts,
    "no such report": _report,
    "a step of 0": _zero_step,
    "padding": _padding,
    "prior": _prior,
    "truth in sections": _section("starts", [False, 32]),
    "text in sections": _section("starts", "0"),
    "null in sections": _section("starts", None),
    "a gap": _section("distances", [8, 8]),
    "hidden section": _section("hidden", [0, 8]),
    "null for sections": lambda head, body: head.update(sections=None),
    "list for sections": lambda head, body: head.update(sections=[]),
    "bytes after": lambda head, body: body.extend(b"ann home"),
    "whole bits": lambda head, body: head.update(bits=float(head["bits"])),
    "true version": lambda head, body: head.update(version=True),
    "null for space": lambda head, body: head.update(space=None),
    "null for secrets": lambda head, body: head.update(secrets=None),
    "null for reports": lambda head, body: head.update(reports=None),
    "nested labels": lambda head, body: head["space"].update(labels=[[label] for label in head["secrets"]]),
    "nested parameters": lambda head, body: head["space"].update(parameters=[head["space"].get("parameters")]),
    "a name of null": lambda head, body: head.update(name=None),
    "a list as name": lambda head, body: head.update(name=["x"]),
    "NUL": lambda head, body: head["space"].update(metric=head["space"].get("metric", "") + "\0"),
    "distances of a head": lambda head, body: head["space"].update(distances="ann"),
    "negative zero": lambda head, body: head.update(secret_points=_negative(head["secret_points"])),
}
TEXTS: dict[str, Callable[[bytes], bytes]] = {
    "an entry twice": lambda text: text.replace(b'"epsilon"', b'"epsilon": 0.001, "epsilon"', 1),
    "a mark before": lambda text: b"\xef\xbb\xbf" + text,
    "null": lambda text: b"null",
    "a list": lambda text: b"[1, 2, 3]",
    "a blank more": lambda text: text.replace(b": ", b":  ", 1),
}


SAME_TO_JAVASCRIPT = (
    *("an entry twice", "a blank more", "whole bits", "negative zero", "nested parameters", "distances of a head"),
    *("padding", "no such report", "a step of 0", "prior"),
)
"""What its reader of JSON takes for the same; and contents of sections, of which it proves nothing."""


def _text_changed(written: bytes, change: Callable[[bytes], bytes]) -> bytes:
    head, body = parts_of(written)
    text = change(json.dumps(head, ensure_ascii=False).encode())
    text += b" " * (-len(text) % 8)
    return sealed(text, body)


@pytest.mark.parametrize("kind", ["line", "neighbours", "haversine", "words"])
def test_no_reader_takes_a_damaged_table(kind: str, tmp_path: Path) -> None:
    honest = table_of(SPACES[kind]()).encoded()
    for name, change in DAMAGES.items():
        head, body = parts_of(honest)
        same, raw = json.dumps(head), bytearray(body)
        change(head, raw)
        if (json.dumps(head), bytes(raw)) == (same, body):
            continue  # it has no such thing
        (tmp_path / f"{name}.dxt").write_bytes(written_of(head, bytes(raw)))
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.dxt").write_bytes(_text_changed(honest, text))
    (tmp_path / "honest.dxt").write_bytes(honest)
    files = sorted(tmp_path.glob("*.dxt"))
    taken = set()
    for file in files:
        try:
            dx.IntegerTable.load(file)
            taken.add(file.stem)
        except (dx.SpecError, dx.CertificateError):
            pass
    assert taken == {"honest"}
    assert {file.stem for file in files if verify_table(file).exit_code in (0, 3)} == {"honest"}
    if NODE:
        assert {Path(name).stem for name in taken_by_javascript(tmp_path)} - {*SAME_TO_JAVASCRIPT} == {"honest"}
