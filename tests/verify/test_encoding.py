"""The table of a result is its space, its secrets and its reports, whatever these are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.verify import Outcome, verify
from tests.material.people import town
from tests.material.spaces import spaces

SPACES = {
    **{name: spaces()[name] for name in ("grid", "torus", "tree", "one way", "records", "product")},
    "town": town().space,
    "people": dx.line(4, unit="people"),
    "minutes": dx.MetricSpace.from_distances([[0, 1.5], [2, 0]], unit="min"),
    "in metres": dx.geo.points([[45.5, -73.6], [45.5, -73.5], [45.6, -73.55]], unit="m"),
    "null values": dx.Universe.databases([0, 1], 1, absent=True).space("manhattan"),
}


@pytest.mark.filterwarnings("ignore::dxopt.errors.PlausibilityWarning")
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("others", [False, True])
def test_tables_of_results(name: str, others: bool, tmp_path: Path) -> None:
    space = SPACES[name]
    prior = dx.Prior.from_weights(space, np.arange(1, len(space) + 1))
    reports = dx.Reports.at(np.arange(2.0)[:, None], labels=["low", "high"]) if others else None
    losses = np.ones((len(space), 2)) if others else "distance"
    problem = dx.Problem(space, epsilon="ln(2)", prior=prior, reports=reports, loss=losses)
    report = dx.solve(problem) if others else dx.solve(problem, method="exponential")
    folder = report.save(tmp_path / "result")
    assert verify(folder).of("table").status is Outcome.HOLDS
    loaded = dx.load(folder)
    assert isinstance(loaded, dx.Report)
    table = dx.IntegerTable.load(folder)
    assert table.encoded() == (folder / "table.dxt").read_bytes()
    for known in (report, loaded):
        assert isinstance(known.table, dx.IntegerTable)
        assert known.table.digest == table.digest
    if table.space.points is not None and space.points is not None:
        assert np.array_equal(table.space.points, space.points, equal_nan=space.points.dtype.kind == "f")
