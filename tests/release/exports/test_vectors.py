"""Draws in Python are those of the shared vectors, and every step of every row is where the counts have it."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.release.tables.table import Stairs
from tests.judges.table_file import Reader
from tests.material.vectors import FILE, build, tables

VECTORS = json.loads(FILE.read_text(encoding="utf-8"))
NAMES = tuple(VECTORS["tables"])


def loaded(name: str, folder: Path) -> dx.IntegerTable:
    file = folder / f"{name}.dxt"
    file.write_bytes(b64decode(VECTORS["tables"][name]["table"]))
    return dx.IntegerTable.load(file)


def test_the_vectors_are_what_is_drawn_today() -> None:
    assert build() == VECTORS


@pytest.mark.parametrize("name", NAMES)
def test_draws_at_every_step(name: str, tmp_path: Path) -> None:
    table = loaded(name, tmp_path)
    stairs = Stairs(table.counts, table.bits)
    for secret, number, report in VECTORS["tables"][name]["draws"]:
        drawn = stairs.repeat(np.array([table.space.index(label=secret)]), [bytes.fromhex(number)])
        assert table.reports.labels[int(drawn[0])] == report


@pytest.mark.parametrize("name", NAMES)
def test_draws_that_are_repeated(name: str, tmp_path: Path) -> None:
    table = loaded(name, tmp_path)
    key = dx.Key(bytes.fromhex(VECTORS["key"]))
    for person, secret, release, report in VECTORS["tables"][name]["keyed"]:
        drawn = table.sample_for([person], label=secret, key=key, release=release, returns="label")
        assert drawn.tolist() == [report]


@pytest.mark.parametrize("name", NAMES)
def test_counts_of_the_file_are_those_of_the_table(name: str) -> None:
    table = tables()[name]
    reader = Reader(table.encoded())
    for x, secret in enumerate(table.space.labels):
        for z, report in enumerate(table.reports.labels):
            assert reader.probability(secret, report) == table.counts[x, z]
