"""What reports say off their prior: in print, in the folder, on the page."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.results.page import page
from tests.material.checks import there


@pytest.fixture(scope="module")
def counts() -> dx.Report:
    """Poisson counts: what is unlikely is never published."""
    space = dx.line(61)
    weights = [math.exp(-14 + k * math.log(14) - math.lgamma(k + 1)) for k in range(61)]
    weights[50:] = [0.0] * 11
    return dx.solve(dx.Problem(space, epsilon=1, prior=dx.Prior.from_weights(space, weights), name="poisson"))


@pytest.fixture(scope="module")
def city() -> dx.Report:
    space = dx.geo.bounding_grid(45.41, -73.72, 45.61, -73.48, shape=(3, 3))
    prior = dx.Prior.from_weights(space, [1, 0, 0, 0, 3, 2, 0, 0, 0])
    return dx.solve(dx.Problem(space, epsilon=0.5, prior=prior, name="city"))


def test_print(counts: dx.Report) -> None:
    lines = dict(counts.lines())
    assert lines["worst off"] == "Value 60 has the largest mean loss: a report is 22 from the true value on average."
    assert lines["prior 0"].startswith("11 of 61 values have prior 0")
    assert lines["prior 0"].endswith("their mean loss is 17, the largest 22 for value 60.")
    never = "27 of 61 outputs never come out: 0, 1, 2, 3, 4, 39, 40, 41 and 19 more."
    ends = "So 0 is always reported as 5 or more, and 60 is always reported as 38 or less."
    assert lines["never reported"] == f"{never} {ends}"
    assert "positions" not in lines
    assert lines["worst off"] in counts.details()
    uniform = dict(dx.solve(counts.problem.but(prior=dx.Prior.uniform(counts.problem.space))).lines())
    assert "prior 0" not in uniform and "worst off" in uniform


def test_positions_are_snapped(city: dx.Report) -> None:
    text = dict(city.lines())["places"]
    assert "first moved to the centre of their cell" in text and "two positions" in text
    assert text in page(city)


def test_folder(counts: dx.Report, tmp_path: Path) -> None:
    losses = (counts.mechanism.matrix * counts.problem.losses).sum(axis=1)
    found = dx.load(counts.save(tmp_path / "out")).off_prior
    assert there(found.losses) == pytest.approx(losses)
    assert (found.worst, len(found.unlikely), len(there(found.never))) == (60, 11, 27)


def test_page(counts: dx.Report) -> None:
    text = page(counts)
    assert "27 of 61 outputs never come out" in text and "11 of 61 values have prior 0" in text


def test_data_on_the_page(city: dx.Report) -> None:
    from dataclasses import replace

    tried = dx.evaluate.on(city, np.array([[45.5, -73.6], [45.6, -73.5]]), name="new places")
    report = replace(city, held_out=(tried,))
    assert "On other data" in page(report) and "on new places" in page(report)
    assert f"mean loss {tried.loss:.3g} ± {tried.standard_error:.2g} km over 2 rows" in str(report)
    assert "from the positions themselves" in str(report)


def test_loaded_results_know_the_losses_of_positions(city: dx.Report, tmp_path: Path) -> None:
    places = np.array([[45.5, -73.6], [45.6, -73.5]])
    fresh, again = (dx.evaluate.on(one, places) for one in (city, dx.load(city.save(tmp_path / "city"))))
    assert fresh.positions is not None and again.positions is not None
    assert again.positions.loss == pytest.approx(fresh.positions.loss) and " km over 2 rows" in str(again)
    assert f"moved by {again.positions.moved:.3g} km on average" in str(again)


@pytest.mark.parametrize("change", ["shape", "negative", "nan", "missing", "rows", "none"])
def test_damaged_data(city: dx.Report, tmp_path: Path, change: str) -> None:
    from dataclasses import replace

    tried = dx.evaluate.on(city, index=[0, 1, 1], name="new")
    folder = replace(city, held_out=(tried,)).save(tmp_path / "out")
    with np.load(folder / "held_out.npz") as stored:
        arrays = dict(stored)
    arrays["0/weights"] = {
        "shape": np.ones(4),
        "negative": arrays["0/weights"] - 1,
        "nan": arrays["0/weights"] * np.nan,
        "none": arrays["0/weights"] * 0,
    }.get(change, arrays["0/weights"])
    if change == "missing":
        del arrays["0/weights"]
    if change == "rows":
        arrays["0/rows"] = np.array(0)
    np.savez_compressed(folder / "held_out.npz", **arrays)
    with pytest.raises(dx.SpecError):
        dx.load(folder)
