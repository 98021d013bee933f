"""Objects that are no values are refused in one line that names their type, and shows no address in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx

LINE = dx.line(4)
TOWN = dx.geo.points([[45.7, 4.8], [45.8, 4.9]], labels=["a", "b"])
MECHANISM = dx.classic.geometric(LINE, epsilon=1.0)
IN_TOWN = dx.classic.exponential(TOWN, epsilon=1.0)
TABLE = dx.integer_table(MECHANISM)


class Anything:
    """An object whose repr is its address."""


def lazy() -> Any:
    return pytest.importorskip("polars").LazyFrame({"lat": [45.7], "lon": [4.8]})


OBJECTS: dict[str, Callable[[], Any]] = {
    "lazy": lazy,
    "column": lambda: pytest.importorskip("polars").col("lat"),
    "generator": lambda: (one for one in [0]),
    "map": lambda: map(str, [0]),
    "object": Anything,
    "objects": lambda: [Anything()],
    "tuple": lambda: (Anything(), 1),
    "class": lambda: Anything,
    "function": lambda: len,
    "mapping": lambda: {"lat": 45.7, "lon": 4.8},
    "mappings": lambda: [{"lat": 45.7, "lon": 4.8}],
    "path": lambda: Path("no place"),
    "mechanism": lambda: MECHANISM,
    "problem": lambda: dx.Problem(LINE, epsilon=1.0, prior="uniform"),
}
TAKERS: dict[str, Callable[[Any], Any]] = {
    "on": lambda given: dx.evaluate.on(MECHANISM, given),
    "on label": lambda given: dx.evaluate.on(MECHANISM, label=given),
    "on index": lambda given: dx.evaluate.on(MECHANISM, index=given),
    "on point": lambda given: dx.evaluate.on(MECHANISM, point=given),
    "on the Earth": lambda given: dx.evaluate.on(IN_TOWN, given),
    "on a report": lambda given: dx.evaluate.on(dx.solve(dx.Problem(LINE, epsilon=1.0, prior="uniform")), given),
    "row": lambda given: MECHANISM.row(label=given),
    "row index": lambda given: MECHANISM.row(index=given),
    "row point": lambda given: MECHANISM.row(point=given),
    "row of the table": lambda given: LINE.row(label=given),
    "sample": lambda given: MECHANISM.sample(given),
    "draw": lambda given: TABLE.sample(given),
    "compose": lambda given: MECHANISM.compose(given),
    "remap": lambda given: MECHANISM.remap(given),
    "reports": dx.Reports.at,
    "points": lambda given: dx.MetricSpace.from_points(given, "discrete"),
    "weights": lambda given: dx.Prior.from_weights(LINE, given),
    "samples": lambda given: dx.Prior.from_samples(LINE, given),
    "certify": lambda given: dx.certify(given, TOWN, 1.0),
    "delta": lambda given: dx.Problem(LINE, epsilon=1.0, prior="uniform", delta=given),
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("name", OBJECTS)
def test_objects_are_refused_by_their_type(name: str, taker: str) -> None:
    given = OBJECTS[name]()
    if (taker, name) in (("samples", "generator"), ("samples", "map")):
        assert TAKERS[taker](given).probabilities.tolist() == [1, 0, 0, 0]
        return
    with pytest.raises(dx.SpecError) as refused:
        TAKERS[taker](given)
    assert " at 0x" not in str(refused.value).lower() and str(refused.value).isprintable()
    if name == "lazy":
        assert "LazyFrame" in str(refused.value)


@pytest.mark.parametrize(
    "table", [[0, 1.5, 2, 3], [0, np.nan, 2, 3], [0, 1, 2, np.inf], [0, 1, 2, 4], [-1, 1, 2, 3], [0]]
)
def test_tables_of_no_indices(table: list[float]) -> None:
    with pytest.raises(dx.SpecError) as refused:
        MECHANISM.remap(table)
    assert refused.value.field == "table"


@pytest.mark.parametrize("then", [MECHANISM, np.eye(3), np.ones((4, 2)), -np.eye(4), np.ones(4), "abc", None])
def test_channels_that_are_none(then: Any) -> None:
    with pytest.raises(dx.SpecError) as refused:
        MECHANISM.compose(then)
    assert refused.value.field == "then"
