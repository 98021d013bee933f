"""Arguments of other types than are meant, as notebooks give them: taken if they are plain, else a SpecError."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dxopt as dx

LINE = dx.line(4)
NOISE = dx.classic.geometric(LINE, epsilon=1.0)
IMPLICIT = dx.tight_constraints(LINE, 2.0)
PRODUCT = dx.tight_constraints(dx.grid((2, 2), metric="manhattan"), 2.0)
HUGE = 10**400
EVEN = [0.25] * 4


@pytest.mark.parametrize("mechanism", [NOISE, IMPLICIT, PRODUCT])
def test_lists_stand_for_arrays(mechanism: dx.Mechanism) -> None:
    assert mechanism.correct(EVEN) == mechanism.correct(np.array(EVEN))
    smoothed = dx.Smoothing(1).smoothed(LINE, [1, 0, 2, 3])
    assert smoothed.tolist() == [2, 1, 3, 4]


PUBLIC: Any = dx
"""Its names, with arguments of any type."""
CALLS: dict[str, Callable[[], Any]] = {
    "max_loss too small": lambda: PUBLIC.Problem(LINE, epsilon=1, prior="uniform", max_loss="1"),
    "max_loss no number": lambda: PUBLIC.Problem(LINE, epsilon=1, prior="uniform", max_loss="x"),
    "counts too few": lambda: dx.Smoothing(1).smoothed(LINE, [1, 0]),
    "counts no numbers": lambda: dx.Smoothing(1).smoothed(LINE, ["x"] * 4),
    "counts negative": lambda: dx.Smoothing(1).smoothed(LINE, [-1, 0, 0, 2]),
    "channel no numbers": lambda: NOISE.compose([["x"] * 2] * 4),
    "channel ragged": lambda: NOISE.compose([[1], [0, 1], [1], [1]]),
    "reports a list": lambda: PUBLIC.classic.moved_to_nearest(NOISE, ["0", "1"]),
    "individuals infinite": lambda: PUBLIC.regularity.database_leakage_bound(2, math.inf, 1.0),
    "individuals nan": lambda: PUBLIC.regularity.database_leakage_bound(2, math.nan, 1.0),
    "values huge": lambda: PUBLIC.regularity.database_leakage_bound(HUGE, 2, 1.0),
    "records text": lambda: PUBLIC.sanitisation.product_sanitisation(NOISE, "x"),
    "records infinite": lambda: PUBLIC.sanitisation.product_sanitisation(NOISE, math.inf),
    "step huge": lambda: dx.traces.IndependentNoise(dx.traces.on_line(), 1.0).stream().step(HUGE),
    "step in the plane huge": lambda: (
        dx.traces.IndependentNoise(dx.traces.on_plane(), 1.0).stream().step((HUGE, 0.0))
    ),
    "max_loss of the rate huge": lambda: PUBLIC.inference.rate_distortion(LINE, "uniform", max_loss=Fraction(HUGE)),
    "slope text": lambda: PUBLIC.inference.rate_distortion(LINE, "uniform", slope="x"),
    "slope huge": lambda: PUBLIC.inference.rate_distortion(LINE, "uniform", slope=HUGE),
    "max_loss of the rate text": lambda: PUBLIC.inference.rate_distortion(LINE, "uniform", max_loss="x"),
    **{
        f"prior {name} of {place}": lambda wrong=wrong, mechanism=mechanism: mechanism.correct(wrong)
        for place, mechanism in enumerate((NOISE, IMPLICIT, PRODUCT))
        for name, wrong in {"short": [0.5, 0.5], "negative": [2, -1, 0, 0], "text": ["x"] * 4, "none": None}.items()
    },
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_is_none_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(dx.SpecError):
        call()


def hidden(given: Any) -> Any:
    """An array whose last entry is masked."""
    array = np.ma.masked_array(given)
    array[(-1,) * array.ndim] = np.ma.masked
    return array


SPACE = dx.line(3)
GEOMETRIC = dx.classic.geometric(SPACE, epsilon=1.0)
ROWS = GEOMETRIC.matrix.tolist()
WEIGHTS = [0.2, 0.3, 0.5]
POINTS = [[0.0], [1.0], [2.0]]
PLACES = [[45.5, -73.6], [45.5, -73.4]]
SAMPLES = [0, 1, 2]
MASKED: dict[str, Callable[[], Any]] = {
    "weights": lambda: dx.Prior.from_weights(SPACE, hidden(WEIGHTS)),
    "prior": lambda: dx.Problem(SPACE, epsilon=1.0, prior=hidden(WEIGHTS)),
    "loss": lambda: dx.Problem(SPACE, epsilon=1.0, prior="uniform", loss=hidden(ROWS)),
    "rows of the loss": lambda: dx.Problem(SPACE, epsilon=1.0, prior="uniform", loss=[*ROWS[:2], hidden(ROWS[2])]),  # pyright: ignore
    "certified": lambda: dx.certify(hidden(ROWS), SPACE, 2.0),
    "repaired": lambda: dx.certify(hidden(ROWS), SPACE, 2.0, repair=True),
    "matrix": lambda: dx.Mechanism.from_matrix(SPACE, hidden(ROWS)),
    "distances": lambda: dx.MetricSpace.from_distances(hidden(SPACE.distances)),
    "points": lambda: dx.MetricSpace.from_points(hidden(POINTS)),
    "labels": lambda: dx.MetricSpace.from_points(POINTS, labels=hidden(["a", "b", "c"])),
    "points of reports": lambda: dx.Reports.at(hidden(POINTS)),
    "labels of reports": lambda: dx.Reports(hidden(["a", "b"])),
    "table": lambda: GEOMETRIC.remap(hidden([0, 1, 2])),
    "then": lambda: GEOMETRIC.compose(hidden(ROWS)),
    "rows": lambda: GEOMETRIC.rows(hidden(SAMPLES)),
    "sampled by index": lambda: GEOMETRIC.sample(index=hidden(SAMPLES)),
    "sampled by label": lambda: GEOMETRIC.sample(label=hidden(["0", "1"])),
    "sampled by point": lambda: GEOMETRIC.sample(point=hidden(POINTS)),
    "sampled from a table": lambda: dx.integer_table(GEOMETRIC).sample(index=hidden(SAMPLES)),
    "correct": lambda: GEOMETRIC.correct(hidden(WEIGHTS)),
    "counts": lambda: dx.Smoothing(1).smoothed(SPACE, hidden([1, 0, 2])),
    "shares": lambda: dx.choice([GEOMETRIC] * 2, hidden([1, 2])),
    "reports": lambda: dx.characterise.posterior(GEOMETRIC, "uniform", hidden([0, 1])),
    "hiding": lambda: dx.characterise.hiding_distance(SPACE, hidden([0, 0, 1])),
    "profile": lambda: dx.evaluate.privacy_profile(GEOMETRIC, hidden([0.1, 0.2])),
    "offsets": lambda: dx.evaluate.optimal_random_remap(GEOMETRIC, offsets=hidden([0.0, 0.0, 0.0])),
    "held out": lambda: dx.evaluate.on(GEOMETRIC, index=hidden(SAMPLES)),
    "held-out points": lambda: dx.evaluate.on(GEOMETRIC, point=hidden(POINTS)),
    "observed": lambda: dx.inference.iterative_update(GEOMETRIC, hidden([1, 2, 3])),
    "samples": lambda: dx.Prior.from_samples(SPACE, hidden(["0", "1"])),
    "check-ins": lambda: dx.Prior.from_check_ins(dx.geo.points(PLACES), hidden(PLACES)),
    "upper": lambda: dx.Problem(SPACE, epsilon=1.0, prior=dx.Prior.box(hidden([0.0, 0.1, 0.2]), [1.0] * 3)),
    "marginals": lambda: dx.Prior.fitting(dx.product(SPACE, SPACE), marginals=[hidden(WEIGHTS), None]),
    "transition": lambda: dx.BeliefPairs.markov(SPACE, 2, hidden(np.full((3, 3), 1 / 3))),
    "beliefs": lambda: dx.BeliefPairs.of(SPACE, [(hidden(WEIGHTS), [0.5, 0.3, 0.2])]),
    "positions": lambda: dx.classic.laplace(SPACE, epsilon=1.0, positions=hidden([0.0, 1.0, 2.0])),
    "regions": lambda: dx.classic.cloaking(SPACE, regions=hidden([0, 0, 1])),
    "values": lambda: dx.noise.Laplace(1.0).sample(hidden([0.0, 1.0])),
    "whole values": lambda: dx.noise.Geometric(1.0).sample(hidden([0, 1])),
    "density": lambda: dx.noise.Staircase(1.0).density(hidden([0.0, 1.0])),
    "mass": lambda: dx.noise.Geometric(1.0).mass(hidden([0, 1])),
    "cdf": lambda: dx.noise.Laplace(1.0).cdf(hidden([0.0, 1.0])),
    "radius": lambda: dx.noise.PlanarLaplace(1.0).error_cdf(hidden([0.0, 1.0])),
    "trace": lambda: dx.traces.IndependentNoise(dx.traces.on_line(), 1.0).run(hidden([0.0, 1.0])),
    "block": lambda: SPACE.block(hidden([0, 1]), [0]),
    "targets": lambda: SPACE.distances_to(hidden(POINTS)),
    "degrees": lambda: dx.geo.points(hidden(PLACES)),
    "places": lambda: dx.geo.nearest(dx.geo.points(PLACES), hidden(PLACES)),
    "losses of a set": lambda: dx.Prior.hull([dx.Prior.uniform(SPACE)]).largest(hidden(WEIGHTS)),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("call", MASKED.values(), ids=MASKED)
def test_masked_entries_are_no_values(call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(dx.SpecError):
        call()
    monkeypatch.setitem(globals(), "hidden", np.ma.masked_array)
    call()
