"""Cells that a spreadsheet would run: kept, refused, or neutralised; numbers are none."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dxopt as dx
from dxopt.release.applying.formulas import is_formula, neutralised
from dxopt.verify import verify_published

FORMULAS = ["=1+1", "=cmd|' /C calc'!A0", "@SUM(A1)", "+1+1", "-2+3", "\t=1", "  =1", "-", "+a", '=HYPERLINK("x")']
PLAIN = ["", "a=b", "12", "-3.5", "+4", "-1,5", "-1.234,5", "1e-5", "-2E+10", "'=1", "ann@example.org", "-.5"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_known(text: str) -> None:
    assert is_formula(text)
    assert neutralised(text) == f"'{text}"
    assert not is_formula(neutralised(text))


@pytest.mark.parametrize("text", PLAIN)
def test_numbers_and_other_text_are_none(text: str) -> None:
    assert not is_formula(text)
    assert neutralised(text) == text


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    space = dx.MetricSpace.from_points([[value] for value in range(-4, 5)])
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior="uniform"), method="exponential")
    return report.save(tmp_path_factory.mktemp("results") / "line")


def applied(line: Path, folder: Path, notes: list[str], formulas: Any, header: str = "note") -> list[dict[str, str]]:
    with (folder / "data.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([[header, "n"], *([note, -k % 5] for k, note in enumerate(notes))])
    columns = dx.Columns(formulas=formulas)
    dx.apply(line, folder / "data.csv", folder / "out.csv", column="n", columns=columns)
    assert verify_published(folder / "out.csv", line).exit_code == 0
    return list(csv.DictReader((folder / "out.csv").open(encoding="utf-8", newline="")))


def test_each_policy(line: Path, tmp_path: Path) -> None:
    notes = FORMULAS + PLAIN
    assert [row["note"] for row in applied(line, tmp_path, notes, "keep")] == notes
    (tmp_path / "out.csv").unlink()
    (tmp_path / "out.csv.dxopt.json").unlink()
    with pytest.raises(dx.SpecError) as caught:
        applied(line, tmp_path, notes, "refuse")
    assert caught.value.field == "formulas"
    assert not (tmp_path / "out.csv").exists()
    rows = applied(line, tmp_path, notes, "neutralise")
    assert [row["note"] for row in rows] == [*(f"'{note}" for note in FORMULAS), *PLAIN]
    assert {row["report"] for row in rows} <= {str(value) for value in range(-4, 5)}


@pytest.mark.parametrize("policy", ["refuse", "neutralise"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_reports_that_are_formulas_are_refused(policy: Any, ending: str, tmp_path: Path) -> None:
    """They are labels of the result, which is proven with them; as they are they are published where asked for."""
    space = dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=["=1+2", "clinic"])
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior="uniform"))
    data = tmp_path / f"data.{ending}"
    frame = pd.DataFrame({"place": ["clinic", "=1+2"]})
    frame.to_csv(data, index=False) if ending == "csv" else frame.to_parquet(data)
    with pytest.raises(dx.SpecError) as caught:
        dx.apply(report, data, tmp_path / "out.csv", columns=dx.Columns(label="place", formulas=policy))
    assert caught.value.field == "formulas"
    assert not (tmp_path / "out.csv").exists()
    dx.apply(report, data, tmp_path / "out.csv", columns=dx.Columns(label="place"))


@pytest.mark.parametrize("policy", ["refuse", "neutralise"])
def test_a_header_that_is_a_formula_is_refused_also_over_reports(line: Path, policy: Any, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("=n,note\n1,a\n2,b\n", encoding="utf-8")
    with pytest.raises(dx.SpecError) as caught:
        dx.apply(line, data, tmp_path / "out.csv", column="=n", columns=dx.Columns(formulas=policy))
    assert caught.value.field == "formulas"


def test_clean_data_and_what_is_no_csv(line: Path, tmp_path: Path) -> None:
    assert [row["note"] for row in applied(line, tmp_path, PLAIN, "refuse")] == PLAIN
    for policy in ("refuse", "neutralise"):
        with pytest.raises(dx.SpecError) as caught:
            applied(line, tmp_path, PLAIN, policy, header="=1")
        assert caught.value.field in ("formulas", "output")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"n": [1, 2]})
    with pytest.raises(dx.SpecError) as caught:
        dx.apply(line, frame, column="n", columns=dx.Columns(formulas="refuse"))
    assert caught.value.field == "formulas"
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "data.parquet")
    for policy, field in (("neutralise", "formulas"), ("run", "formulas")):
        with pytest.raises(dx.SpecError) as caught:
            columns = dx.Columns(formulas=policy)  # pyright: ignore[reportArgumentType]
            dx.apply(line, tmp_path / "data.parquet", tmp_path / "out.parquet", column="n", columns=columns)
        assert caught.value.field == field
