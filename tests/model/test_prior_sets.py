"""Sets of priors: what they hold, which of them is the worst, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dxopt as dx
from dxopt.numerics.prior_polytope import Mixtures
from tests.judges import oracle_priors as judge

SPACE = dx.line(4)
PRIOR = dx.Prior.from_weights(SPACE, [4, 3, 2, 1])
UNIFORM = dx.Prior.uniform(SPACE)


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4), st.floats(0.01, 0.9))
def test_the_worst_prior_of_a_set_is_its_worst_vertex(losses: list[float], radius: float) -> None:
    paid = np.array(losses)
    for priors, vertices in (
        (dx.Prior.ball(PRIOR, total_variation=radius), judge.ball(PRIOR.probabilities, radius)),
        (dx.Prior.box(PRIOR.probabilities * radius, PRIOR.probabilities + radius / 4), None),
        (dx.Prior.hull([PRIOR, UNIFORM]), np.array([PRIOR.probabilities, UNIFORM.probabilities])),
    ):
        known = vertices
        if known is None:
            known = judge.box(PRIOR.probabilities * radius, PRIOR.probabilities + radius / 4)
        largest = float((known @ paid).max())
        assert math.isclose(priors.largest(paid), largest, rel_tol=1e-9, abs_tol=1e-9)
        worst = priors.worst(paid)
        assert math.isclose(float(worst @ paid), largest, rel_tol=1e-9, abs_tol=1e-9)
        assert (worst >= 0).all() and math.isclose(math.fsum(worst), 1.0, rel_tol=1e-12)


@given(st.lists(st.floats(0, 3), min_size=8, max_size=8))
def test_weights_are_brought_into_the_set(weights: list[float]) -> None:
    ball = dx.Prior.ball(PRIOR, total_variation=0.2).mixtures
    found = ball.tidied(np.array(weights))
    assert (found <= ball.caps).all() and (found >= 0).all()
    prior = ball.prior(found)
    assert math.isclose(math.fsum(prior), 1.0, rel_tol=1e-9)
    assert np.abs(prior - PRIOR.probabilities).sum() / 2 <= 0.2 + 1e-9
    kept, divisor = ball.within(np.array(weights))
    divided = kept / divisor
    assert (divided <= ball.caps).all()
    for group, mass in enumerate(ball.masses):
        assert math.fsum(divided[ball.group == group]) <= mass


def test_marginals_and_totals_hold_for_the_worst_prior() -> None:
    space = dx.grid((2, 3))
    rows, columns = [0.4, 0.6], [0.2, 0.3, 0.5]
    priors = dx.Prior.fitting(space, marginals=[rows, columns])
    for seed in range(5):
        worst = priors.worst(np.random.default_rng(seed).standard_normal(6)).reshape(2, 3)
        assert np.allclose(worst.sum(axis=1), rows, atol=2e-9) and np.allclose(worst.sum(axis=0), columns, atol=2e-9)
    some = dx.Prior.fitting(space, totals=[([1, 1, 0, 0, 0, 0], 0.0, 0.0)])
    assert some.reach.tolist() == [False, False, True, True, True, True]
    assert some.worst([9, 9, 0, 1, 0, 0])[3] == pytest.approx(1.0)


def test_names_and_centres() -> None:
    assert dx.Prior.hull([PRIOR, UNIFORM]).name == "hull of weights, uniform"
    assert dx.Prior.hull([PRIOR] * 5).name == "hull of 5 priors"
    assert dx.Prior.ball(PRIOR, total_variation=0.1).name == "total variation 0.1 of weights"
    assert np.allclose(dx.Prior.hull([PRIOR, UNIFORM]).centre, (PRIOR.probabilities + 0.25) / 2)
    box = dx.Prior.box([0.1, 0, 0, 0])
    assert box.centre[0] >= 0.1 and math.isclose(math.fsum(box.centre), 1.0)
    assert dx.Prior.box(around=PRIOR, ratio=2).name == "within a ratio of 2 of weights"


def test_all_priors_are_known_as_such() -> None:
    assert Mixtures.everyone(4).is_everyone
    assert not Mixtures.hull(np.eye(4)).is_everyone
    assert not dx.Prior.ball(UNIFORM, total_variation=0.5).mixtures.is_everyone


def wrong(given: Any) -> Any:
    """Of a type that is refused."""
    return given


WRONG = [
    ("prior", lambda: dx.Prior.hull([])),
    ("prior", lambda: dx.Prior.hull([PRIOR, dx.Prior.uniform(dx.line(3))])),
    ("prior", lambda: dx.Prior.hull(wrong([[0.5, 0.5]]))),
    ("total_variation", lambda: dx.Prior.ball(PRIOR, total_variation=1)),
    ("total_variation", lambda: dx.Prior.ball(PRIOR, total_variation=wrong("x"))),
    ("lower", lambda: dx.Prior.box([0.5, 0], [0.4, 1])),
    ("lower", lambda: dx.Prior.box([0.6, 0.6])),
    ("upper", lambda: dx.Prior.box(upper=[0.1, 0.1])),
    ("lower", lambda: dx.Prior.box([-1, 0])),
    ("prior", lambda: dx.Prior.box()),
    ("prior", lambda: dx.Prior.box([0.1] * 4, around=PRIOR, ratio=2)),
    ("ratio", lambda: dx.Prior.box(around=PRIOR, ratio=1)),
    ("ratio", lambda: dx.Prior.box([0.1] * 4, ratio=2)),
    ("prior", lambda: dx.Prior.box([0.1] * 4, [1, 1])),
    ("prior", lambda: dx.Prior.fitting(SPACE)),
    ("prior", lambda: dx.Prior.fitting(SPACE, totals=[([1, 1, 1, 1], 0.2, 0.3)])),
    ("totals", lambda: dx.Prior.fitting(SPACE, totals=[([1], 0, 1)])),
    ("totals", lambda: dx.Prior.fitting(SPACE, totals=[([1] * 4, 1, 0)])),
    ("totals", lambda: dx.Prior.fitting(SPACE, totals=wrong([3]))),
    ("marginals", lambda: dx.Prior.fitting(SPACE, marginals=[[1], [1]])),
    ("within", lambda: dx.Prior.fitting(SPACE, totals=[([1] * 4, 0, 1)], within=0)),
]


@pytest.mark.parametrize(("field", "make"), WRONG)
def test_what_is_no_set_is_refused(field: str, make: Callable[[], object]) -> None:
    with pytest.raises(dx.SpecError) as refused:
        make()
    assert refused.value.field == field
