"""No message quotes people's data: it says which one is wrong, and not what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from tests.material.people import town

CANARY = ("CANARY", "37.4567", "37,4567")
"""Somebody's word, and somebody's position or count, in two ways to write it."""
AREA = dx.geo.bounding_grid(45.68, 4.76, 45.74, 4.84, shape=(2, 3))
WORDS = dx.MetricSpace.from_points([[0.0], [1.0]], labels=["park", "mill"])
NO_POINTS = dx.MetricSpace.from_distances([[0.0, 1.0], [1.0, 0.0]], labels=["park", "mill"])
LINE = dx.classic.geometric(dx.line(5), epsilon=0.5)
OF_WORDS = dx.classic.exponential(WORDS, epsilon=0.5)
TABLE = dx.integer_table(LINE)
CALLS: dict[str, Callable[[Any], Any]] = {
    "on a line": lambda one: dx.evaluate.on(LINE, [one, 1]),
    "on labels": lambda one: dx.evaluate.on(LINE, label=["1", one]),
    "on words": lambda one: dx.evaluate.on(OF_WORDS, ["park", one]),
    "on the Earth": lambda one: dx.evaluate.on(dx.classic.exponential(AREA, epsilon=1), [one, 4.8]),
    "on points": lambda one: dx.evaluate.on(LINE, point=[[one]]),
    "on weights": lambda one: dx.evaluate.on(LINE, [1], weights=[f"{one}x"]),
    "on counts": lambda one: dx.evaluate.on(LINE, [1, 2], counts=[1, -one if isinstance(one, float) else one]),
    "nearest": lambda one: dx.geo.nearest(AREA, [[45.7, 4.8], [f"{one}x", 4.8]]),
    "check-ins": lambda one: dx.Prior.from_check_ins(AREA, [[f"{one}x", 4.8]]),
    "check-in weights": lambda one: dx.Prior.from_check_ins(AREA, [[45.7, 4.8]], [f"-{one}"]),
    "samples": lambda one: dx.Prior.from_samples(dx.line(5), [1, f"{one}x"]),
    "samples of words": lambda one: dx.Prior.from_samples(NO_POINTS, ["park", one]),
    "sample": lambda one: LINE.sample(one),
    "table": lambda one: TABLE.sample(["1", one]),
    "sample of a town": lambda one: town().sample(one),
    "objects": lambda one: dx.geo.nearest(AREA, np.array([[f"{one}x", "x"]], dtype=object)),
    "table for": lambda one: TABLE.sample_for(["ann"], [one], key=dx.Key(bytes(32)), release="May"),
}


@pytest.mark.parametrize("one", [*CANARY, 37.4567])
@pytest.mark.parametrize("call", CALLS)
def test_no_error_quotes_a_value(call: str, one: Any) -> None:
    with pytest.raises((dx.SpecError, dx.UnsupportedError)) as found:
        CALLS[call](one)
    assert not [text for text in CANARY if text in str(found.value)]


PROBLEM = "space: {kind: line, size: 3}\nepsilon: 0.5\nmethod: geometric\n"
UNIFORM = "prior: uniform\nevaluate: {file: a.csv, "
FILES = {
    "labels": UNIFORM + "label: x}\n",
    "columns": UNIFORM + "columns: [x]}\n",
    "weight": UNIFORM + "columns: [w], weight: x}\n",
    "count": UNIFORM + "columns: [w], count: x}\n",
    "prior": "prior: {kind: column, file: a.csv, column: x}\n",
    "prior by label": "prior: {kind: column, file: a.csv, column: w, label: x}\n",
    "samples": "prior: {kind: samples, file: a.csv, columns: [x]}\n",
    "check-ins": "prior: {kind: check_ins, file: a.csv, columns: [x]}\n",
    "check-in weights": "prior: {kind: check_ins, file: a.csv, columns: [w], weight: x}\n",
}


@pytest.mark.parametrize("one", ["CANARY", "37,4567x", "37.4567x"])
@pytest.mark.parametrize("file", FILES)
def test_no_command_quotes_a_cell(tmp_path: Path, file: str, one: str) -> None:
    (tmp_path / "p.yaml").write_text(PROBLEM + FILES[file], encoding="utf-8")
    (tmp_path / "a.csv").write_text(f'x;w\n1;0\n2;1\n"{one}";2\n', encoding="utf-8")
    done = CliRunner().invoke(app, ["solve", str(tmp_path / "p.yaml"), "-o", str(tmp_path / "out")])
    assert not [text for text in CANARY if text in done.output]
    assert done.exit_code == 2 and ("line 4" in done.output or file == "prior by label")


@pytest.mark.parametrize("first", ["CANARY;word", "ann CANARY;bob", '{"x": "CANARY"};a'])
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("header", ["", ", header: true"], ids=["", "header"])
def test_no_command_quotes_a_first_line_that_may_be_data(tmp_path: Path, header: str, file: str, first: str) -> None:
    told = FILES[file].replace("a.csv", f"a.csv{header}")
    (tmp_path / "p.yaml").write_text(PROBLEM + told, encoding="utf-8")
    (tmp_path / "a.csv").write_text(f"{first}\neve;other\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["solve", str(tmp_path / "p.yaml"), "-o", str(tmp_path / "out")])
    assert (done.exit_code, "CANARY" in done.output, "eve" in done.output) == (2, False, False), done.output


@pytest.mark.parametrize("header", [None, True])
@pytest.mark.parametrize("option", ["columns", "keep", "drop"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "pandas"])
def test_no_data_are_listed_as_names(tmp_path: Path, ending: str, option: str, header: bool | None) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([["ann", "45.7", "4.8"]], columns=["CANARY", "37.4567", "4.5"])
    data = frame if ending == "pandas" else tmp_path / f"in.{ending}"
    if ending == "csv":
        frame.to_csv(data, index=False)
    elif ending == "parquet":
        frame.to_parquet(data)
    output = None if ending == "pandas" else tmp_path / f"out.{ending}"
    names: Any = {"lat": "37.4567", "lon": "4.5"} if option != "columns" else {"lat": "lat", "lon": "lon"}
    chosen: Any = {} if option == "columns" else {option: ["note"]}
    columns = dx.Columns(header=header, **chosen)
    with pytest.raises(dx.SpecError) as found:
        dx.apply(town(), data, output, columns=columns, **names)
    assert "CANARY" not in str(found.value) and (option != "columns" or "37.4567" not in str(found.value))
    assert found.value.field == (option if header else "header")


def test_no_refusal_names_a_person(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"who": ["CANARY", "CANARY", "CANARY"], "value": [1, 2, 3]})
    for persons, key in ((1, None), (1, dx.Key.new()), (2, dx.Key.new())):
        some = frame.assign(who=[*["CANARY"] * (4 - persons), "CANARY2"][:3])
        with dx.Budgets.open(tmp_path / f"{persons}{key is None}", create=True, default=0.1, key=key) as ledger:
            for policy in ("refuse", "drop"):
                with pytest.raises(dx.BudgetExceeded) as found:
                    asked: Any = {"column": "value", "person": "who", "ledger": ledger, "over_budget": policy}
                    dx.apply(TABLE, some, **asked)
                assert "CANARY" not in str(found.value) and found.value.person == "CANARY"
