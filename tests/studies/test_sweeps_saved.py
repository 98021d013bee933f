"""Sweeps on disk and as figures."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.material.checks import change_claims

LEVELS = (0.3, 0.8, 2.0)


@pytest.fixture(scope="module")
def problem() -> dx.Problem:
    space = dx.grid((3, 3))
    return dx.Problem(space, epsilon=9.0, prior=dx.Prior.from_weights(space, np.arange(1, 10)), name="square")


@pytest.fixture(scope="module")
def found(problem: dx.Problem) -> dx.EpsilonSweep:
    return dx.sweep(problem, LEVELS, ["exponential", "tight", "cloaking", "staircase"])


def test_saved_and_loaded(found: dx.EpsilonSweep, tmp_path: Path) -> None:
    folder = found.save(tmp_path / "out")
    names = {"sweep.json", "sweep.csv", "sweep.svg", "sweep.png", "parts", "digests.json"}
    assert {path.name for path in folder.iterdir()} == names
    content = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    assert content == {
        "format": 2,
        "problem": "square",
        "status": "optimal",
        "asked": [0.3, 0.8, 2.0],
        "epsilons": [0.3, 0.8, 2.0],
    }
    with (folder / "sweep.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    asked = ["optimal", "exponential", "tight", "cloaking", "staircase"]
    assert [(float(row["epsilon"]), row["method"]) for row in rows] == [
        (one, name) for one in LEVELS for name in asked
    ]
    for row in rows:
        compared = found.reports[LEVELS.index(float(row["epsilon"]))].comparison
        assert compared is not None
        there = next(one for one in compared.rows if one.name == row["method"])
        assert [row[key] for key in ("excess", "remapped_excess")] == [
            "" if excess is None else repr(excess) for excess in (there.excess, there.remapped_excess)
        ]
        if there.value is None:
            assert row["reason"] == there.note != ""
            assert {row[key] for key in ("value", "gap", "excess", "remapped", "leakage", "realised")} == {""}
            continue
        assert row["reason"] == ""
        index = LEVELS.index(float(row["epsilon"]))
        assert float(row["value"]) == found.values[row["method"]][index]
        assert float(row["leakage"]) == found.leakage[row["method"]][index]
        assert float(row["bound"]) == found.bounds[index]
        gap = abs(float(row["value"]) - float(row["bound"])) / float(row["value"])
        assert float(row["gap"]) == pytest.approx(gap, rel=1e-9, abs=1e-15)
        assert (row["private"] == "True") == (row["method"] != "cloaking")
    again = dx.EpsilonSweep.load(folder)
    assert str(again) == str(found)
    assert again.figures == found.figures
    part = dx.load(folder / "parts" / "001")
    assert part.certificate.value == found.reports[1].certificate.value
    assert part.comparison == found.reports[1].comparison


def test_an_earlier_result_is_replaced_as_a_whole(
    found: dx.EpsilonSweep, problem: dx.Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = found.save(tmp_path / "out")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")

    def fails(*arguments: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr("dxopt.results.folder.write_digests", fails)
        with pytest.raises(dx.SpecError, match=r"output: .* disk full; make room"):
            dx.sweep(problem, [1.0]).save(folder)
    assert len(dx.EpsilonSweep.load(folder).reports) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    dx.sweep(problem, [1.0]).save(folder)
    assert [path.name for path in (folder / "parts").iterdir()] == ["000"]
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"
    dx.solve(problem).save(folder)
    assert not any(path.name.startswith(("sweep", "parts")) for path in folder.iterdir())


def test_what_is_no_sweep_or_damaged(found: dx.EpsilonSweep, problem: dx.Problem, tmp_path: Path) -> None:
    with pytest.raises(dx.SpecError, match="is no result folder of a sweep"):
        dx.EpsilonSweep.load(dx.solve(problem).save(tmp_path / "report"))
    folder = found.save(tmp_path / "out")
    with pytest.raises(dx.SpecError, match=r"is a sweep; load a level of it, as .*parts/000, or use dx"):
        dx.load(folder)
    whole = (folder / "sweep.json").read_text(encoding="utf-8")
    for old, new, message in [
        ('"format": 2', '"format": 1', "version 1 is not 2"),
        ("0.8", "0.9", "has other levels than sweep.json says"),
        ('"optimal"', '"best"', "sweep.json: status"),
        ('"epsilons"', '"levels"', "sweep.json: epsilons"),
        ("{", "", "is damaged"),
    ]:
        (folder / "sweep.json").write_text(whole.replace(old, new), encoding="utf-8")
        with pytest.raises(dx.SpecError, match=message):
            dx.EpsilonSweep.load(folder)
    (folder / "sweep.json").write_text(whole, encoding="utf-8")
    change_claims(folder / "parts" / "002", value=found.reports[2].certificate.value * 0.9)
    with pytest.raises(dx.CertificateError, match=r"certificate\.value"):
        dx.EpsilonSweep.load(folder)


def test_the_figure_shows_the_figures(found: dx.EpsilonSweep, tmp_path: Path) -> None:
    figure = found.figure()
    loss, leakage = figure.axes
    drawn = {str(line.get_label()): line for line in loss.lines}
    labels = ["optimal", "exponential", "tight", "cloaking (not private)", "bound on every private mechanism"]
    assert list(drawn) == labels
    assert [text.get_text() for text in figure.legends[0].get_texts()] == labels
    for label, name in zip(labels, found.methods, strict=False):
        for axes, of in ((loss, found.values), (leakage, found.leakage)):
            (line,) = (line for line in axes.lines if line.get_label() == label)
            assert line.get_xdata() == pytest.approx(LEVELS)
            assert line.get_ydata() == pytest.approx(of[name], nan_ok=True)
            assert line.get_color() == drawn[label].get_color()
    assert drawn[labels[-1]].get_ydata() == pytest.approx(found.bounds)
    assert (loss.get_ylabel(), leakage.get_ylabel()) == ("expected loss (distance)", "min-entropy leakage (bits)")
    assert loss.get_xscale() == loss.get_yscale() == "linear"
    found.plot(save=tmp_path / "new" / "mine.png")
    found.plot(save=tmp_path / "again.png")
    assert (tmp_path / "new" / "mine.png").read_bytes() == (tmp_path / "again.png").read_bytes()
    assert len([*(tmp_path / "new").iterdir()]) == 1


def test_a_wide_range_is_logarithmic(problem: dx.Problem) -> None:
    loss, leakage = dx.sweep(problem, [1e-6, 1e-3, 1, 8]).figure().axes
    assert (loss.get_xscale(), loss.get_yscale(), leakage.get_yscale()) == ("log", "log", "linear")


@pytest.mark.parametrize("changes", [{"loss": "squared"}, {"prior": [0.7, 0.1, 0.1, 0.1]}, {"delta": 0.1}], ids=str)
def test_levels_are_of_one_problem(changes: dict[str, Any], tmp_path: Path) -> None:
    asked = dx.Problem(dx.line(4), epsilon=1.0, prior="uniform")
    folder = dx.sweep(asked, [0.5, 1.0]).save(tmp_path / "sweep")
    assert dx.EpsilonSweep.load(folder).epsilons.tolist() == [0.5, 1.0]
    shutil.rmtree(folder / "parts" / "001")
    dx.solve(asked.but(**changes)).save(folder / "parts" / "001")
    with pytest.raises(dx.CertificateError):
        dx.EpsilonSweep.load(folder)
