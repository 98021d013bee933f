"""Units in results: saved and read again, shown, never trusted."""

from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.batch.outcome import Line, summary
from dxopt.verify.proving import verify
from tests.material.checks import change_claims

COSTS = np.array([[0.0, 3.0, 5.0], [3.0, 0.0, 3.0], [5.0, 3.0, 0.0]])


def problems() -> list[dx.Problem]:
    """Problems with units, each saved in another way: a matrix, a line, a product, and guesses with a unit."""
    line = dx.line(3, unit="visits")
    grid = dx.grid((2, 2), metric="manhattan", unit="km")
    return [
        dx.Problem(line, epsilon=1.0, prior="uniform", loss=dx.Loss.of(COSTS, line, unit="EUR")),
        dx.Problem(line, epsilon=1.0, prior="uniform"),
        dx.Problem(grid, epsilon=1.0, prior="uniform"),
        dx.Problem(line, epsilon=1.0, prior="uniform", loss="binary", objective=dx.AdversaryError(0.5, "distance")),
    ]


def units(problem: dx.Problem) -> tuple[str, str, str]:
    return problem.space.unit, problem.loss.unit, problem.unit


@pytest.mark.parametrize("case", range(4))
def test_a_result_keeps_its_units(case: int, tmp_path: Path):
    report = dx.solve(problems()[case])
    folder = report.save(tmp_path / "out")
    assert any(units(report.problem))
    assert units(dx.load(folder).problem) == units(report.problem)
    assert verify(folder).exit_code == 0


@pytest.mark.parametrize("wrong", ["km", {"distance": "km"}, {"distance": "a\nb", "loss": "", "value": ""}])
def test_what_are_no_units_is_refused(wrong: object, tmp_path: Path):
    folder = dx.solve(problems()[0]).save(tmp_path / "out")
    change_claims(folder, units=wrong)
    with pytest.raises(dx.SpecError, match="unit"):
        dx.load(folder)


def test_tables_and_texts_have_units():
    problem = dx.Problem(dx.line(3, unit="visits"), epsilon=1.0, prior="uniform", name="counts")
    compared = str(dx.compare(problem, ["geometric"]))
    assert "ε = 1 per visit" in compared and "expected loss (visits)" in compared
    swept = str(dx.sweep(problem, [0.5, 1.0]))
    assert "expected loss in visits at 2 levels" in swept and "epsilon per visit" in swept
    assert "expected loss in visits at" in str(dx.frontier(problem, 0.5, 1.0, resolution=0.5))
    assert "visits is possible" in str(dx.smallest_epsilon(problem, max_loss=0.5, accuracy=0.5))
    line = Line.of(dx.solve(problem), "auto")
    assert line.content()["units"] == {"distance": "visits", "loss": "visits", "value": "visits"}
    assert "visits" in summary([line]).splitlines()[1].split()
