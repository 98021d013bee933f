"""Made-up people in a small town: a table of integers, their positions, and files of them."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx

SOUTH, WEST, NORTH, EAST = 45.68, 4.76, 45.74, 4.84


@cache
def town() -> dx.IntegerTable:
    """A table of 4 by 5 cells of a town."""
    space = dx.geo.bounding_grid(SOUTH, WEST, NORTH, EAST, shape=(4, 5))
    return dx.integer_table(dx.classic.exponential(space, epsilon=1.2))


@cache
def plane() -> dx.IntegerTable:
    """A table of a grid of 3 by 4 points at a spacing of 1."""
    return dx.integer_table(dx.classic.exponential(dx.grid((3, 4)), epsilon=1.0))


@cache
def counts() -> dx.IntegerTable:
    """A table of counts from 0 to 6."""
    return dx.integer_table(dx.classic.geometric(dx.line(7), epsilon=0.7))


def people(size: int = 40, seed: int = 1) -> dict[str, list[Any]]:
    """Columns of people: who, when, and where."""
    rng = np.random.default_rng(seed)
    return {
        "person": [f"p{number}" for number in range(size)],
        "lat": rng.uniform(SOUTH + 1e-4, NORTH - 1e-4, size).tolist(),
        "time": rng.integers(0, 1000, size).tolist(),
        "lon": rng.uniform(WEST + 1e-4, EAST - 1e-4, size).tolist(),
        "note": ['says "hm", twice' if number % 3 else "" for number in range(size)],
    }


def write_geojson(file: Path, columns: dict[str, list[Any]], **members: Any) -> Path:
    """The people as points, which also have boxes, heights and members of their own."""
    features = [
        {
            "type": "Feature",
            "id": row,
            "bbox": [lon, lat, lon, lat],
            "center": [lon, lat],
            "properties": {"person": person} if row else {"person": person, "extra": [1, {"a": None}]},
            "geometry": {"type": "Point", "coordinates": [lon, lat, 123.25]},
        }
        for row, (person, lat, lon) in enumerate(zip(columns["person"], columns["lat"], columns["lon"], strict=True))
    ]
    content = {"type": "FeatureCollection", "bbox": [1, 2, 3, 4], **members, "features": features, "name": "people"}
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


class WithLedger:
    """A file of twenty rows, and a ledger that pays for three of each person."""

    @pytest.fixture(autouse=True)
    def _ledger(self, tmp_path: Path) -> Any:
        pandas = pytest.importorskip("pandas")
        self.level = Fraction(town().epsilon)
        self.ledger = dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=3 * self.level)
        self.data = tmp_path / "people.csv"
        self.output = tmp_path / "out.csv"
        # ann has three rows, bob two
        columns = people(20)
        columns["person"] = ["ann", "bob", "ann", "bob", "ann", *(f"p{row}" for row in range(15))]
        columns["row"] = [*range(20)]
        self.frame = pandas.DataFrame(columns)
        self.frame.to_csv(self.data, index=False)
        yield
        self.ledger.close()

    def spent(self) -> dict[str, Fraction]:
        """How many times the level of the table each person has spent."""
        return {account.person: account.spent / self.level for account in self.ledger.accounts()}

    def apply(self, **options: Any) -> Any:
        """The table on the file, paid from the ledger."""
        asked = {"lat": "lat", "lon": "lon", "person": "person", "ledger": self.ledger}
        return dx.apply(town(), self.data, dx.Output(self.output, force=True), **{**asked, **options})
