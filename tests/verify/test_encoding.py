"""The table file of a result, made anew by the verifier: byte by byte what the other rooms write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.verify.folder import Result
from dxopt.verify.tables import table_bytes
from dxopt.verify.verdict import Broken
from tests.material.people import town
from tests.material.spaces import spaces

SPACES = {
    **{name: spaces()[name] for name in ("grid", "torus", "tree", "one way", "records", "product")},
    "town": town().space,
    "people": dx.line(4, unit="people"),
    "minutes": dx.MetricSpace.from_distances([[0, 1.5], [2, 0]], unit="min"),
    "in metres": dx.geo.points([[45.5, -73.6], [45.5, -73.5], [45.6, -73.55]], unit="m"),
}


def solved(space: dx.MetricSpace, **asked: object) -> dx.Report:
    prior = dx.Prior.from_weights(space, np.arange(1, len(space) + 1))
    return dx.solve(dx.Problem(space, epsilon="ln(2)", prior=prior, **asked), method="exponential")  # pyright: ignore[reportArgumentType]


@pytest.mark.filterwarnings("ignore::dxopt.errors.PlausibilityWarning")
@pytest.mark.parametrize("name", SPACES)
def test_is_what_tables_write(name: str, tmp_path: Path) -> None:
    report = solved(SPACES[name])
    folder = report.save(tmp_path / "result")
    written = table_bytes(Result.read(folder))
    assert written == dx.IntegerTable.load(folder).encoded()
    assert isinstance(report.table, dx.IntegerTable)
    loaded = dx.load(folder)
    assert isinstance(loaded, dx.Report)
    assert isinstance(loaded.table, dx.IntegerTable)
    assert report.table.digest == loaded.table.digest == written[-32:].hex()


def test_other_reports(tmp_path: Path) -> None:
    halves = dx.Reports.at([[0.5], [1.5]], labels=["low", "high"])
    report = dx.solve(dx.Problem(dx.line(3), epsilon=1.0, prior="uniform", reports=halves))
    folder = report.save(tmp_path / "result")
    assert table_bytes(Result.read(folder)) == dx.IntegerTable.load(folder).encoded()


def test_a_result_without_a_table_says_why(tmp_path: Path) -> None:
    folder = solved(dx.line(3)).save(tmp_path / "result")
    (folder / "table.npz").unlink()
    without = replace(Result.read(folder), claims={"table": "it is too large"})
    with pytest.raises(Broken, match=r"has no table \(it is too large\), so that nothing"):
        table_bytes(without)
