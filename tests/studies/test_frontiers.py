"""The least loss against ε: what is proven between two levels holds at every one, and is as narrow as it claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.runtime.stopping import Stop
from tests.material.instances import KINDS, problem_of
from tests.material.optima import optimum

ROUNDING = 1e-9
VARIANTS: list[dict[str, Any]] = [{}, {"objective": "worst_loss"}, {"delta": 0.02, "pairs": "adjacent"}]


@pytest.fixture(scope="module")
def problem() -> dx.Problem:
    space = dx.grid((3, 3))
    return dx.Problem(space, epsilon=9.0, prior=dx.Prior.from_weights(space, np.arange(1, 10)), name="square")


@pytest.fixture(scope="module")
def found(problem: dx.Problem) -> dx.Frontier:
    return dx.frontier(problem, 0.5, 3.0, resolution=0.1)


@pytest.mark.parametrize("changes", VARIANTS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_in_between(kind: str, changes: dict[str, Any]) -> None:
    plain = problem_of(kind, 1).but(**changes)
    found = dx.frontier(plain, 0.3, 4.0, resolution=0.2)
    assert found.status == "optimal"
    fall = optimum(plain.at(0.3)) - optimum(plain.at(4.0))
    assert found.resolution <= 0.2 or fall < 1e-6
    for epsilon in [0.3, 4.0, *np.random.default_rng(3).uniform(0.3, 4.0, 4)]:
        bound, possible = found.between(float(epsilon))
        assert bound - ROUNDING <= optimum(plain.at(float(epsilon))) <= possible + ROUNDING


def test_the_resolution_is_what_it_says(found: dx.Frontier) -> None:
    fall = found.values[0] - found.bounds[-1]
    brackets = [found.between(float(level)) for level in np.geomspace(0.5001, 2.9999, 500)]
    widths = [possible - bound for bound, possible in brackets]
    assert max(widths) <= found.resolution * fall * (1 + 1e-12)
    assert max(widths) >= 0.9 * found.resolution * fall
    assert found.resolution <= found.wanted == 0.1
    assert found.status == "optimal"
    assert len(found.reports) <= 25


def test_levels_and_their_reports(found: dx.Frontier, problem: dx.Problem) -> None:
    assert (np.diff(found.epsilons) > 0).all()
    assert (np.diff(found.values) < 0).all()
    assert (found.epsilons[0], found.epsilons[-1]) == (0.5, 3.0)
    for report, value, bound in zip(found.reports, found.values, found.bounds, strict=True):
        assert report.certificate.private
        assert (report.certificate.value, report.certificate.bound) == (value, bound)
        assert bound <= value
        assert found.between(report.problem.epsilon) == (bound, value)
    assert found.problem is problem


def test_a_finer_one_is_finer(problem: dx.Problem, found: dx.Frontier) -> None:
    finer = dx.frontier(problem, 0.5, 3.0, resolution=0.05)
    assert finer.resolution <= 0.05
    assert set(found.epsilons) <= set(finer.epsilons)


def test_what_is_worse_than_at_a_lower_level_is_not_taken(found: dx.Frontier) -> None:
    """What is private at ε is private above it, so that a poor report never widens what is proven."""
    from dataclasses import replace

    reports = list(found.reports)
    proof = replace(reports[2].certificate, value=9.0, bound=-9.0)
    reports[2] = replace(reports[2], certificate=proof)
    poorer = replace(found, reports=tuple(reports))
    assert poorer.values[2] == found.values[1]
    assert poorer.bounds[2] == found.bounds[3]


def test_a_flat_one_needs_two_levels() -> None:
    """There is nothing to choose from, so that as much is lost at any level."""
    space = dx.line(3)
    problem = dx.Problem(
        space, epsilon=1.0, prior=dx.Prior.from_weights(space, [3, 2, 1]), loss=[[0.1], [0.2], [0.7]]
    )
    found = dx.frontier(problem, 0.5, 2.0)
    assert len(found.reports) == 2
    assert found.status == "optimal"
    assert found.between(1.0) == pytest.approx((1.4 / 6, 1.4 / 6), rel=1e-6)


def test_each_level_starts_from_its_neighbour(monkeypatch: pytest.MonkeyPatch, problem: dx.Problem) -> None:
    from dxopt.studies import series as sweeping

    solved: list[float] = []

    def solve(problem: dx.Problem, *, start: dx.Report | None, **options: Any) -> dx.Report:
        if start is not None:
            below = [level for level in solved if level < problem.epsilon]
            assert start.problem.epsilon == max(below)
        else:
            assert not solved
        solved.append(problem.epsilon)
        return dx.solve(problem, start=start, **options)

    monkeypatch.setattr(sweeping, "solve", solve)
    dx.frontier(problem, 0.5, 3.0, resolution=0.3)
    assert len(solved) > 4


def test_said_and_drawn(found: dx.Frontier, tmp_path: Path) -> None:
    text = str(found)
    assert text.splitlines()[0] == f"square: expected loss at {len(found.reports)} levels"
    assert f"resolution {found.resolution:.3g}: proven" in text
    assert len(text.splitlines()) == 3 + len(found.reports)
    (axes,) = found.figure().axes
    drawn = {str(line.get_label()): np.asarray(line.get_xydata()) for line in axes.lines}
    for label, index in (("possible: proven", 1), ("nothing private is below: proven", 0)):
        levels, values = drawn[label].T
        for level in (0.5001, 1.0001, 2.9):
            assert np.interp(level, levels, values) == pytest.approx(found.between(level)[index], abs=1e-6)
    found.plot(save=tmp_path / "new" / "frontier.svg")
    assert (tmp_path / "new" / "frontier.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("low", "high", "options", "message"),
    [
        (0.0, 1.0, {}, "^low: is 0; give a positive finite number$"),
        (1.0, np.inf, {}, "^high: is inf; give a positive finite number$"),
        (2.0, 1.0, {}, "^high: is 1, not above 2; give a larger one$"),
        (1.0, 2.0, {"resolution": 0.0}, "^resolution: is 0; give a number between 0 and 1$"),
        (1.0, 2.0, {"tolerance": 0.0}, "^tolerance: is 0"),
    ],
)
def test_what_is_refused(problem: dx.Problem, low: float, high: float, options: dict[str, Any], message: str) -> None:
    with pytest.raises(dx.SpecError, match=message):
        dx.frontier(problem, low, high, **options)


def test_other_levels_and_objectives_are_refused(found: dx.Frontier, problem: dx.Problem) -> None:
    for level in (0.49, 3.01, np.nan):
        with pytest.raises(dx.SpecError, match=r"^epsilon: is .*; give one from 0.5 to 3$"):
            found.between(level)
    with pytest.raises(dx.SpecError, match=r"^objective: has a loss budget of its own; use dx.budget_frontier"):
        dx.frontier(problem.but(objective=dx.AdversaryError(1.0)), 1.0, 2.0)


def test_interrupted_at_any_moment(monkeypatch: pytest.MonkeyPatch, problem: dx.Problem) -> None:
    asked = [0, 10**9]

    def requested(stop: Stop) -> bool:
        asked[0] += 1
        stop.interrupted = stop.interrupted or asked[0] > asked[1]
        return stop.interrupted

    monkeypatch.setattr(Stop, "requested", property(requested))
    exact = {level: optimum(problem.at(level)) for level in (0.6, 1.0, 2.0)}
    whole = dx.frontier(problem, 0.5, 3.0, resolution=0.2)
    assert whole.status == "optimal"
    questions = asked[0]
    sizes = []
    for moment in range(0, questions, 3):
        asked[:] = [0, moment]
        found = dx.frontier(problem, 0.5, 3.0, resolution=0.2)
        assert found.status == ("optimal" if found.resolution <= 0.2 else "interrupted")
        assert ("interrupted" in str(found)) is (found.status == "interrupted")
        for level, value in exact.items():
            bound, possible = found.between(level)
            assert bound - ROUNDING <= value <= possible + ROUNDING
        sizes.append(len(found.reports))
    assert sizes[0] == 2
    assert sizes == sorted(sizes)
    assert sizes[-1] >= len(whole.reports) - 1


def test_out_of_time(problem: dx.Problem) -> None:
    found = dx.frontier(problem, 0.5, 3.0, resolution=1e-4, time_limit=0.3)
    assert found.status == "time limit"
    assert 1e-4 < found.resolution < 1
