"""Columns whose values fix the secret are refused in every format unless named, and such that do not are kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.errors import SpecError
from dxopt.release.applying import determined
from dxopt.release.applying.determined import Determined
from tests.material.carriers import TEXT
from tests.material.people import EAST, NORTH, SOUTH, WEST, counts, town

Beside = Callable[[np.ndarray, np.random.Generator], list[Any]]
FIXED: dict[str, Beside] = {
    "a word for each": lambda secrets, rng: [f"ward {'abcdefg'[one]}" for one in secrets],
    "a number for each": lambda secrets, rng: [3 * ((5 * one) % 7) + 50 for one in secrets.tolist()],
    "several for each": lambda secrets, rng: [f"{one}{rng.choice([*'xyz'])}q" for one in secrets * 17],
    "with gaps": lambda secrets, rng: [None if rng.random() < 0.5 else f"ward {'abcdefg'[one]}" for one in secrets],
    "mostly one word": lambda secrets, rng: [
        "n/a" if rng.random() < 0.5 else f"w{'abcdefg'[one]}" for one in secrets
    ],
    "with slips": lambda secrets, rng: [f"w{'abcdefg'[one if rng.random() < 0.95 else 0]}" for one in secrets],
}
OTHER: dict[str, Beside] = {
    "words by accident": lambda secrets, rng: rng.choice([*"abcdefghijkl"], len(secrets)).tolist(),
    "one word": lambda secrets, rng: ["same"] * len(secrets),
    "each its own": lambda secrets, rng: [f"row {row}x" for row in range(len(secrets))],
    "twice by accident": lambda secrets, rng: [f"row {row // 2}x" for row in range(len(secrets))],
    "half of what there is": lambda secrets, rng: [
        f"k{one if rng.random() < 0.6 else rng.integers(7)}" for one in secrets
    ],
    "nothing": lambda secrets, rng: [None] * len(secrets),
}


def rows_of(name: str) -> dict[str, list[Any]]:
    """Rows of 400 persons with beds from 0 to 6, and a column beside them."""
    rng = np.random.default_rng(5)
    beds = rng.integers(0, 7, 400)
    beside = {**FIXED, **OTHER}[name](beds, rng)
    return {"person": [f"p{row}" for row in range(400)], "beds": beds.tolist(), "note": beside}


@pytest.mark.parametrize("kind", TEXT)
@pytest.mark.parametrize("name", FIXED | OTHER)
def test_every_format(tmp_path: Path, name: str, kind: str) -> None:
    data = TEXT[kind](tmp_path, rows_of(name))
    output = (tmp_path / f"out{data.suffix}",) if isinstance(data, Path) else ()
    if name in FIXED:
        with pytest.raises(SpecError) as refused:
            dx.apply(counts(), data, *output, column="beds")
        assert (refused.value.field, refused.value.options) == ("data", {"drop", "keep"})
        assert not output or not output[0].exists()
        dx.apply(counts(), data, *output, column="beds", columns=dx.Columns(drop=["note"]))
    else:
        dx.apply(counts(), data, *output, column="beds")


def test_whoever_stays_where_they_are_may_be_named(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    rows = pd.DataFrame(rows_of("a word for each"))
    key = dx.Key.new()
    dx.apply(counts(), rows, column="beds", person="note", key=key, release="a")
    with pytest.raises(SpecError):
        dx.apply(counts(), rows, column="beds", person="person", key=key, release="a")
    dx.apply(counts(), rows, column="beds", columns=dx.Columns(keep=["note"]))


@pytest.mark.parametrize("kind", ["csv", "geojson"])
def test_stops_beside_their_positions(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(7)
    stops = rng.integers(0, 60, 300)
    lat, lon = rng.uniform(SOUTH, NORTH, 60)[stops], rng.uniform(WEST, EAST, 60)[stops]
    columns = {"person": [f"t{row}" for row in range(300)], "quay": [f"Quay {stop:03d}" for stop in stops]}
    columns |= {"lat": lat.tolist(), "lon": lon.tolist()}
    where: dict[str, Any] = {}
    if kind == "geojson":
        data = tmp_path / "rides.geojson"
        features = [
            {"type": "Feature", "properties": {"quay": quay}, "geometry": {"type": "Point", "coordinates": [x, y]}}
            for quay, y, x in zip(columns["quay"], lat.tolist(), lon.tolist(), strict=True)
        ]
        data.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    else:
        data, where = tmp_path / "rides.csv", {"lat": "lat", "lon": "lon"}
        lines = [[*columns], *zip(*[map(str, one) for one in columns.values()], strict=True)]
        data.write_text("\n".join(map(",".join, lines)))
    with pytest.raises(SpecError) as refused:
        dx.apply(town(), data, tmp_path / f"out.{kind}", **where)
    assert refused.value.options == {"drop", "keep"}
    dx.apply(town(), data, tmp_path / f"out.{kind}", **where, columns=dx.Columns(drop=["quay"]))


@pytest.mark.parametrize("noise", [0.0, 1e-3])
@pytest.mark.parametrize("size", [20, 200])
def test_true_coordinates_beside_labels(size: int, noise: float) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(8)
    points = rng.uniform(0, 1, (60, 2))
    space = dx.MetricSpace.from_points(points, labels=[f"stop{one}" for one in range(60)])
    table = dx.integer_table(dx.classic.exponential(space, epsilon=1.0))
    stops = rng.integers(0, 60, size)
    e, n = (points[stops] + rng.normal(0, noise, (size, 2))).T
    rows = pd.DataFrame({"at": [f"stop{one}" for one in stops], "e": e, "n": n})
    with pytest.raises(SpecError) as refused:
        dx.apply(table, rows, columns=dx.Columns(label="at"))
    assert refused.value.options == {"drop", "keep"}
    dx.apply(table, rows, columns=dx.Columns(label="at", drop=["e", "n"]))
    dx.apply(table, rows.assign(e=rng.permutation(e), n=rng.permutation(n)), columns=dx.Columns(label="at"))


def test_memory_of_many_values_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(determined, "_HELD", 50)
    beside = Determined()
    rng = np.random.default_rng(9)
    for _ in range(20):
        beside.look("many", rng.permutation(10_000)[:500].tolist(), rng.integers(0, 5, 500).tolist())
        secrets = rng.integers(0, 5, 500)
        beside.look("few", (secrets * 3).tolist(), secrets.tolist())
    assert sum(len(pairs._seen) for pairs in beside._columns.values()) <= 50
    assert "many" not in beside.found()
