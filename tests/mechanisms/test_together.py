"""Independent releases as one mechanism: probabilities, privacy at the sum of levels, and use elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from tests.judges.exact import violations

SPACE = dx.line(3)
GEOMETRIC = dx.classic.geometric(SPACE, epsilon=0.8)
EXPONENTIAL = dx.classic.exponential(SPACE, epsilon=0.6)


def test_probabilities_are_products_and_levels_add_up() -> None:
    joint = dx.together([GEOMETRIC, EXPONENTIAL, GEOMETRIC])
    assert joint.reports.labels[1 * 9 + 2 * 3 + 0] == "(1, 2, 0)"
    expected = np.einsum("xa,xb,xc->xabc", GEOMETRIC.matrix, EXPONENTIAL.matrix, GEOMETRIC.matrix).reshape(3, 27)
    assert np.abs(joint.matrix - expected).max() < 1e-15
    assert joint.privacy is not None
    added = 2 * GEOMETRIC.privacy.epsilon + EXPONENTIAL.privacy.epsilon  # pyright: ignore[reportOptionalMemberAccess]
    assert joint.privacy.epsilon <= added * (1 + 1e-14)
    assert violations(joint.matrix, SPACE.distances, added * (1 + 1e-14)) == []
    # Of twice the geometric mechanism nothing less would do: both reports may be the most telling ones.
    assert dx.together([GEOMETRIC] * 2).privacy.epsilon == pytest.approx(1.6)  # pyright: ignore


def test_delta_adds_up() -> None:
    response = dx.classic.randomised_response(SPACE, epsilon=0.5, delta=0.05)
    joint = dx.together([response, GEOMETRIC])
    assert joint.privacy is not None
    assert joint.privacy.delta <= 0.05 * (1 + 1e-12)
    level = joint.privacy.epsilon
    truth = dx.compose([response, GEOMETRIC]).delta(level)
    assert truth.delta <= joint.privacy.delta * (1 + 1e-3) + 1e-15


@pytest.mark.parametrize("delta", [0.0, 0.2])
@pytest.mark.parametrize(
    "made",
    [
        lambda one: dx.together([one, one]),
        lambda one: dx.choice([one, one]),
        lambda one: dx.choice([one, one], [1, 2], visible=False),
        lambda one: dx.together([dx.integer_table(one)] * 2),
        lambda one: dx.classic.remapped(one, [0.5, 0.3, 0.2]),
        lambda one: dx.together([dx.together([one, one]), one]),
    ],
)
def test_constant_mechanisms_stay_at_the_least_level(
    made: Callable[[dx.Mechanism], dx.Mechanism], delta: float
) -> None:
    found = dx.classic.randomised_response(SPACE, epsilon=0.5, delta=delta).remap([1, 1, 1])
    assert found.privacy is not None and found.privacy.epsilon == 0
    joint = made(found)
    assert joint.privacy is not None and joint.privacy.epsilon <= 1e-299 and joint.privacy.delta == 0
    assert np.ptp(joint.matrix, axis=0).max() == 0


def test_pairs_that_one_of_them_leaves_free_are_free() -> None:
    rows = np.array([[0.8, 0.1, 0.1], [0.5, 0.4, 0.1], [0.2, 0.5, 0.3]])
    adjacent = dx.certify(rows, SPACE, 0.1, delta=0.4, pairs="adjacent")
    joint = dx.together([adjacent, GEOMETRIC])
    assert joint.privacy is not None
    assert joint.privacy.pairs == "adjacent"
    level = joint.privacy.epsilon
    assert joint.privacy.delta >= dx.evaluate.smallest_delta(joint, level, pairs="adjacent")
    assert joint.privacy.delta < dx.evaluate.smallest_delta(adjacent, 0.1)


def test_it_is_what_compose_says() -> None:
    joint = dx.together([GEOMETRIC, EXPONENTIAL])
    for epsilon in (0.2, 0.9):
        one, other = dx.compose(joint).delta(epsilon), dx.compose([GEOMETRIC, EXPONENTIAL]).delta(epsilon)
        assert one.delta == pytest.approx(other.delta, rel=2e-3)
    prior = dx.Prior.uniform(SPACE)
    (attack,) = dx.inference.repeated(GEOMETRIC, prior, 2).attacks
    assert dx.evaluate.utility(dx.together([GEOMETRIC] * 2), prior) == pytest.approx(attack.named)


def test_it_is_used_as_any_mechanism() -> None:
    joint = dx.together([GEOMETRIC, dx.integer_table(EXPONENTIAL)])
    prior = dx.Prior.uniform(SPACE)
    table = dx.integer_table(joint)
    table.check()
    product = Fraction(float(GEOMETRIC.matrix[0, 0])) * Fraction(float(EXPONENTIAL.matrix[0, 0]))
    assert float(table.probability(0, 0, by="index")) == pytest.approx(float(product))
    assert joint.sample(index=0, returns="label", rng=np.random.default_rng(1))[0].startswith("(")
    # Two reports, best remapped, beside the optimum at the level of both.
    best = joint.remap(dx.evaluate.optimal_remap(joint, prior), dx.Reports.of(SPACE))
    problem = dx.Problem(SPACE, epsilon=1.4 * (1 + 1e-9), prior=prior)
    compared = dx.compare(problem, [best])
    mine = compared.rows[-1]
    assert mine.private
    assert mine.value == pytest.approx(dx.evaluate.expected_loss(best, prior))
    assert dx.evaluate.expected_loss(best, prior) >= dx.solve(problem).certificate.bound - 1e-9


@pytest.mark.parametrize(
    "given, field",
    [
        (lambda: dx.together([]), "mechanisms"),
        (lambda: dx.together(GEOMETRIC), "mechanisms"),  # pyright: ignore[reportArgumentType]
        (lambda: dx.together([GEOMETRIC] * 20), "mechanisms"),
        (lambda: dx.together([GEOMETRIC, dx.classic.geometric(dx.line(4), epsilon=1.0)]), "mechanisms"),
        (lambda: dx.together([GEOMETRIC, dx.Mechanism.from_matrix(SPACE, np.eye(3))]), "mechanisms"),
        (lambda: dx.together([dx.certify(np.eye(3) * 0.7 + 0.1, SPACE, 0.1, delta=0.7)] * 2), "mechanisms"),
    ],
)
def test_bad_input_is_refused_in_one_line(given, field: str) -> None:
    with pytest.raises((dx.SpecError, dx.UnsupportedError), match=f"^{field}") as caught:
        given()
    assert "\n" not in str(caught.value)
