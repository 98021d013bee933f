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


EARTH = dx.MetricSpace.from_points([[45.76, 4.83], [45.77, 4.85], [45.75, 4.84]], "haversine", unit="m")
NAMED = [("distance", None), ("squared", None), ("distance", 2000.0), ("squared", 4e6)]


@pytest.fixture(params=NAMED, ids=str)
def named(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A result whose loss has a name, some with a largest loss, beyond which no report is made."""
    loss, most = request.param
    problem = dx.Problem(EARTH, epsilon=0.001, prior="uniform", loss=loss, max_loss=most)
    assert np.isinf(problem.losses).any() == (most is not None)
    folder = dx.solve(problem).save(tmp_path / "out")
    assert verify(folder).exit_code == 0
    assert units(dx.load(folder).problem) == units(problem)
    return folder


@pytest.mark.parametrize("unit", ["km", "EUR", ""])
def test_the_unit_of_a_named_loss_is_that_of_distances(named: Path, unit: str) -> None:
    change_claims(named, units={"distance": "m", "loss": unit, "value": unit})
    assert verify(named).exit_code == 1
    with pytest.raises((dx.SpecError, dx.CertificateError)):
        dx.load(named)


def test_a_named_loss_is_held_to_its_name(named: Path) -> None:
    problem = dx.load(named).problem
    most = problem.loss.name.partition(" up to ")[2]
    for name in ("distance up to 1000", "squared up to 1000", "distance up to 9000", "distance", "squared"):
        if name == problem.loss.name or (not most and name == "distance up to 9000"):
            continue
        change_claims(named, loss=name)
        assert verify(named).exit_code == 1, name
        with pytest.raises((dx.SpecError, dx.CertificateError)):
            dx.load(named)


def test_another_unit_of_a_named_loss_is_refused() -> None:
    for loss in ("distance", "squared"):
        with pytest.raises(dx.SpecError) as refused:
            dx.Loss.of(loss, EARTH, unit="km")
        assert refused.value.field == "unit"
    assert dx.Loss.of("distance", EARTH, unit="m").unit == "m"
    assert dx.Loss.of("distance", dx.line(3), unit="beds").unit == "beds"
    assert dx.Loss.of("binary", EARTH, unit="errors").unit == "errors"


def test_a_capped_distance_to_other_reports_is_derived(tmp_path: Path) -> None:
    reports = dx.Reports.at([[45.76, 4.83], [45.765, 4.845], [45.76, 4.85]])
    problem = dx.Problem(EARTH, epsilon=0.001, prior="uniform", loss="distance", reports=reports, max_loss=1600.0)
    assert np.isinf(problem.losses).any()
    folder = dx.solve(problem).save(tmp_path / "out")
    assert verify(folder).exit_code == 0
    change_claims(folder, loss="distance up to 1000")
    assert verify(folder).exit_code == 1
