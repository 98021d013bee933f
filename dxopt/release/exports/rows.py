"""The rows of a table: which reports a secret has, and from which random number on each of them is given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate

import numpy as np

from dxopt.release.tables import IntegerTable
from dxopt.spaces.units import per


def rows(table: IntegerTable) -> Iterator[tuple[int, list[tuple[str, int]]]]:
    """For each secret its reports, in order, each with the first random number that gives it, as hexadecimal digits.

    All numbers have `bits` bits. They are compared as the bytes that the digits stand for.
    """
    digits = table.bits // 4
    for x, row in enumerate(table.counts):
        reports = np.flatnonzero(row).tolist()
        firsts = [0, *accumulate(row[reports].tolist())][:-1]
        yield x, [(f"{first:0{digits}x}", report) for first, report in zip(firsts, reports, strict=True)]


def heading(table: IntegerTable) -> str:
    """The name of a table and its level in one line: "town: epsilon 0.5 per km"."""
    relaxed = f", delta {table.delta!r}" if table.delta else ""
    return " ".join(f"{table.name}: epsilon {table.epsilon!r} {per(table.space.unit)}{relaxed}".split())


def as_json(table: IntegerTable) -> str:
    """The table as JSON: its head, its digest, and for each secret the first numbers and reports of its row."""
    content = {
        **table.head,
        "unit": table.space.unit or None,
        "sha256": table.digest,
        "rows": [{"from": [first for first, _ in row], "reports": [z for _, z in row]} for _, row in rows(table)],
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"
