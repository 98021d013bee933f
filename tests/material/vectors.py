"""Test vectors of draws: tables, random numbers and reports, the same in every language.

`python -m tests.material.vectors` writes them anew, which changes what has been drawn in the field: never without a
new version of the format.
"""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np

import dxopt as dx
from tests.judges.table_file import Reader, keyed

FILE = Path(__file__).with_name("vectors.json")
KEY = bytes(range(32))
PERSONS = {
    **{name: name for name in ("ann", "böb", "l'été 🙂", "007", "1e3", "+7", "x.0", "-7.5", "1.2.0")},
    " ann\u200b": "ann",
    "bo\u0308b\u00a0": "böb",
    "a\tb": "a b",
    "a\u3000\u00a0 b": "a b",
    "7.0": "7",
    "7.50": "7.5",
    "-0": "0",
    "0.0": "0",
    "70": "70",
    "-700.00": "-700",
    "\u061c7.": "7",
    "\U000e0041x\ufe0f": "x",
    "10.010": "10.01",
    "2024-01-02": "2024-01-02",
    "2024-01-02 00:00:00.000": "2024-01-02",
    "2024-01-02T03:00:00.500": "2024-01-02 03:00:00.5",
    "2024-01-02 03:00:00": "2024-01-02 03:00:00",
    "\U0001bca0x\U0001d17a": "x",
    "1.5e-05": "1.5e-05",
    "9007199254740993": "9007199254740993",
    "2024-01-02T03:00:00Z": "2024-01-02 03:00:00+00:00",
    "2024-01-02T03:00:00.500000-0330": "2024-01-02 03:00:00.5-03:30",
    "2024-01-02 00:00:00.000+01": "2024-01-02 00:00:00+01:00",
    "2024-01-02 03:00:00-00:00": "2024-01-02 03:00:00+00:00",
    "2024-01-02 03:00:00+00:00:10": "2024-01-02 03:00:00+00:00:10",
}
"""Names, and the identities that they have in every language."""
ROUNDED = ("9.223372036854776e+18", "9.2e18", "1e+05", "-1E+16", "9007199254740992.0", "12345678901234567.0")
"""Names that are refused in every language: floats that may stand for several whole numbers."""
RELEASES = ("autumn ", " autumn", " ", "", "jose\u0301", "a\u200b", "\ufeffa", "a  b", "a\tb", "a\u00a0b")
"""Releases that are refused in every language: other spellings, and no names."""


def tables() -> dict[str, dx.IntegerTable]:
    """A line, places with odd names, and one out of 2^128 with an impossible report and steps alike in 64 bits."""
    towns = [[45.76, 4.83], [45.77, 4.85], [45.75, 4.84]]
    places = dx.MetricSpace.from_points(towns, "haversine", labels=["l'île", 'Ω "x"', "a\\b"])
    two = dx.MetricSpace.from_points([0.0, 1.0], labels=["west", "east"])
    half = 1 << 127
    counts = [[half, half - 5, 5, 0], [half + 3, half - 8, 0, 5]]
    reports = dx.Reports.at([[0.0], [0.5], [1.0], [2.0]], labels=["a", "b", "c", "d"])
    return {
        "line": dx.integer_table(dx.classic.geometric(dx.line(5), epsilon=1.0)),
        "places": dx.integer_table(dx.classic.exponential(places, epsilon=0.7)),
        "wide": dx.IntegerTable(two, reports, np.array(counts, dtype=object), 128, 1e-3, 2.0**-100, name="by hand"),
    }


def build() -> dict[str, Any]:
    """The vectors, drawn by the plain reader of `tests.judges`."""
    found = {}
    for name, table in tables().items():
        written = table.encoded()
        reader = Reader(written)
        digest = written[-32:].hex()
        draws = [
            [secret, number.hex(), reader.report(secret, number)]
            for secret in reader.head["secrets"]
            for number in reader.numbers(secret)
        ]
        again = [
            [
                person,
                secret,
                release,
                reader.report(secret, keyed(KEY, digest, known, secret, release, reader.width)),
            ]
            for person, known in PERSONS.items()
            for secret in reader.head["secrets"]
            for release in ("autumn", "2026-11")
            if person == known or (secret, release) == (reader.head["secrets"][0], "autumn")
        ]
        found[name] = {"table": b64encode(written).decode(), "draws": draws, "keyed": again}
    return {"key": KEY.hex(), "tables": found}


if __name__ == "__main__":
    FILE.write_text(json.dumps(build(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
