"""Mean errors over traces: closed forms of independent noise, and how sure those of drawn runs are."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dxopt.mechanisms import traces
from problems.traces import comparison, numbers, settings
from problems.traces.exact import independent_error, mean_distance

README = Path(settings.__file__).parent / "README.md"
WALK = np.column_stack([np.arange(6.0), np.zeros(6)])


def test_the_mean_error_of_planar_noise() -> None:
    """2/ε at the point itself; further off a sum over a fine grid of radii and angles, and at last the distance."""
    assert mean_distance(0.0, 0.5) == 4.0
    for off, epsilon in ((0.3, 1.0), (2.0, 0.7), (5.0, 3.0)):
        radii, angles = np.arange(0.5, 6000) / 200 / epsilon, np.arange(180) * math.pi / 90
        density = epsilon**2 * radii * np.exp(-epsilon * radii) / (200 * epsilon)
        around = np.hypot(off + radii[:, None] * np.cos(angles), radii[:, None] * np.sin(angles)).mean(axis=1)
        assert mean_distance(off, epsilon) == pytest.approx((density * around).sum(), rel=1e-5)
        assert mean_distance(off / 3, 3 * epsilon) == pytest.approx(mean_distance(off, epsilon) / 3, rel=1e-9)
    assert mean_distance(1e-12, 2.0) == pytest.approx(1.0, rel=1e-9)
    assert mean_distance(1000.0, 2.0) == pytest.approx(1000.0, rel=1e-3)


def test_independent_noise_at_240_per_km() -> None:
    """n points share the budget, and the mean error of each is 2n/240: 1 km for 120 points, 1.225 km for 147."""
    walkers, ride = settings.walkers(), [settings.ride()]
    assert (len(walkers[0]), len(ride[0])) == (120, 147)
    assert independent_error(walkers, numbers.BUDGET) == pytest.approx(1.0, rel=1e-12)
    assert independent_error(ride, numbers.BUDGET) == pytest.approx(1.225, rel=1e-12)


@pytest.mark.parametrize("every", [1, 2, 4])
def test_integrals_agree_with_runs(every: int) -> None:
    """Within 4.5 standard errors, also where points between repeat the last report."""
    points = -(-len(WALK) // every)
    mechanism = traces.IndependentNoise(traces.on_plane(), 6.0 / points, every=every)
    found = traces.evaluate(mechanism, [WALK, 2 * WALK], repetitions=600, rng=np.random.default_rng(8))
    exact = independent_error([WALK, 2 * WALK], 6.0, every)
    assert abs(found.mean_error - exact) < 4.5 * found.standard_error
    assert found.standard_error < 0.04 * exact


def test_standard_errors_are_those_of_repeated_evaluations() -> None:
    """Of a mechanism whose runs stop early, too: means of many evaluations spread as one of them says."""
    stopping = traces.FixedLevels(4.0, traces.Plan(0.5, 1.0, 0.0), after="stop")
    for mechanism in (
        traces.IndependentNoise(traces.on_plane(), 1.0),
        traces.PredictiveMechanism(traces.on_plane(), stopping),
    ):
        rng = np.random.default_rng(3)
        several = [traces.evaluate(mechanism, [WALK, WALK[:4]], repetitions=20, rng=rng) for _ in range(30)]
        spread = np.std([one.mean_error for one in several], ddof=1)
        assert np.mean([one.standard_error for one in several]) == pytest.approx(spread, rel=0.4)
    once = traces.evaluate(mechanism, [WALK], rng=np.random.default_rng(0))
    assert math.isnan(once.standard_error)
    assert "±" not in str(once)
    assert f"± {several[0].standard_error:.1g}," in str(several[0])


def test_the_table_of_the_readme_is_that_of_the_integrals() -> None:
    """Independent noise is printed to three places as it is; the others say how sure they are."""
    rows = [
        line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith(("| walkers", "| ride"))
    ]
    assert len(rows) == len(numbers.CASES)
    for row, (name, every) in zip(rows, numbers.CASES, strict=True):
        title, exact, rate, utility = (cell.strip() for cell in row.strip("|").split("|"))
        assert title.startswith(name)
        assert exact == f"{independent_error(numbers.traces_of(name), numbers.BUDGET, every):.3f}"
        for cell in (rate, utility):
            mean, error = map(float, cell.split(" ± "))
            assert 0 < error < 0.01 * mean


def test_runs_of_the_readme_come_out_again() -> None:
    """Few runs of a fixed rate on the ride agree with the 4,000 that are printed, within their own error."""
    found = numbers.fixed_rate([settings.ride()], 6, 60, seed=5)
    text = README.read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if line.startswith("| ride, every 6th point")]
    printed = float(row.strip("|").split("|")[2].split(" ± ")[0])
    assert abs(found.mean - printed) < 4.5 * found.error


def test_the_curves_of_independent_noise_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figure and its table take the integrals, and say how sure the runs are of the rest."""
    monkeypatch.setattr(comparison, "REPETITIONS", 3)
    short = [settings.ride()[:4]]
    series = comparison.compared(short, 2, lambda line: None)
    noise = next(one for one in series if one.label == "independent noise")
    assert np.asarray(noise.curve.values).tolist() == [2 * 4 / total for total in comparison.BUDGETS]
    rows = comparison.table(series)[2:]
    assert all(("±" in row) is not row.startswith("| independent") for row in rows)
    drawn = comparison.figure(series, short, "A ride", 0.5)
    assert len(drawn.axes[0].get_lines()) == len(series) == 7
