"""Draws from a table file, read as docs/reference/table-file.md has it, by plain Python without dxopt."""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from typing import Any

import numpy as np


class Reader:
    """The head and rows of a table file `*.dxt`."""

    def __init__(self, written: bytes) -> None:
        assert written[:8] == b"dxtable1"
        assert hashlib.sha256(written[:-32]).digest() == written[-32:]
        (length,) = struct.unpack("<Q", written[8:16])
        assert length % 8 == 0
        self.head: dict[str, Any] = json.loads(written[16 : 16 + length])
        self.width: int = self.head["bits"] // 8
        body = written[16 + length : -32]
        sections = {name: body[first : first + size] for name, (first, size) in self.head["sections"].items()}
        starts = struct.unpack(f"<{len(sections['starts']) // 8}Q", sections["starts"])
        reports = struct.unpack(f"<{len(sections['reports']) // 4}I", sections["reports"])
        self.reports = [reports[starts[x] : starts[x + 1]] for x in range(len(starts) - 1)]
        self.steps = [
            [
                sections["steps"][self.width * k : self.width * (k + 1)]
                for k in range(starts[x] - x, starts[x + 1] - x - 1)
            ]
            for x in range(len(starts) - 1)
        ]

    def report(self, secret: str, number: bytes) -> str:
        """The label of the report of a secret at random bytes."""
        x = self.head["secrets"].index(secret)
        assert len(number) == self.width
        return self.head["reports"][self.reports[x][sum(step <= number for step in self.steps[x])]]

    def probability(self, secret: str, report: str) -> int:
        """How many of the 2^bits random numbers give a report."""
        x = self.head["secrets"].index(secret)
        ends = [0, *(int.from_bytes(step, "big") for step in self.steps[x]), 1 << self.head["bits"]]
        names = [self.head["reports"][z] for z in self.reports[x]]
        return sum(high - low for name, low, high in zip(names, ends, ends[1:], strict=False) if name == report)

    def numbers(self, secret: str) -> list[bytes]:
        """Random numbers at both sides of every step, and the two ends: all that decides what a sampler does."""
        x = self.head["secrets"].index(secret)
        found = [bytes(self.width), b"\xff" * self.width]
        for step in self.steps[x]:
            found += [step, (int.from_bytes(step, "big") - 1).to_bytes(self.width, "big")]
        return found


_HEAD = {"labels": "secrets", "secrets": "secrets_are_reports", "points": "secret_points"}
_SECTIONS = {"starts": "<u8", "which": "<u4", "steps": "u1", "distances": "<f8", "prior": "<f8"}
"""What entries of the head, and sections, are called among arrays; `which` is the section `reports`."""


_ORDER = (
    *("format", "version", "name", "bits", "epsilon", "delta", "cost", "variation", "pairs", "metric", "unit"),
    *("secrets", "reports", "secrets_are_reports", "secret_points", "report_points"),
)


def arrays_of(written: bytes) -> dict[str, np.ndarray]:
    """The entries of the head that are not null, those of the space, and the sections, as arrays."""
    length = int.from_bytes(written[8:16], "little")
    head = json.loads(written[16 : 16 + length])
    body = written[16 + length : -32]
    sections, space = head.pop("sections"), head.pop("space")
    found = {key: head.pop(called) for key, called in _HEAD.items()} | head
    found |= {f"space.{key}": value for key, value in space.items()}
    arrays = {key: np.array(value) for key, value in found.items() if value is not None}
    for key, kind in _SECTIONS.items():
        first, size = sections.get("reports" if key == "which" else key, (0, 0))
        if size or key == "steps":
            arrays[key] = np.frombuffer(body[first : first + size], kind)
    arrays["distances"] = arrays["distances"].reshape(len(arrays["labels"]), -1)
    return arrays


def file_of(arrays: dict[str, Any]) -> bytes:
    """The table file of such arrays, with its digest."""
    head: dict[str, Any] = dict.fromkeys(("metric", "unit", "cost", "variation", "secret_points", "report_points"))
    space, places, body = {}, {}, b""
    for key, array in arrays.items():
        if key in _SECTIONS:
            section = np.asarray(array).astype(_SECTIONS[key]).tobytes()
            places["reports" if key == "which" else key] = [len(body), len(section)]
            body += section + bytes(-len(section) % 8)
        elif key.startswith("space."):
            space[key.removeprefix("space.")] = np.asarray(array).tolist()
        else:
            head[_HEAD.get(key, key)] = np.asarray(array).tolist()
    said = {key: head[key] for key in (*_ORDER, *head) if key in head} | {"space": space, "sections": places}
    text = json.dumps(said, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    written = b"dxtable1" + len(text).to_bytes(8, "little") + text + body
    return written + hashlib.sha256(written).digest()


def keyed(key: bytes, digest: str, person: str, secret: str, release: str, width: int) -> bytes:
    """The random bytes of a draw that can be repeated."""
    texts = [text.encode() for text in ("dxopt draw 1", digest, release, person, secret)]
    return hmac.new(key, b"".join(struct.pack(">I", len(text)) + text for text in texts), "sha256").digest()[:width]
