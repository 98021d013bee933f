"""Units in results: saved and read again, shown, never trusted."""

from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
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
