"""The ε from which priors are regular (ECP14 §5.3, Ex 3, and §7)."""

from __future__ import annotations

import functools
import itertools
import math

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.analysis import regularity
from tests.material.few import few


def sum_query(answers: int, reach: int) -> dx.MetricSpace:
    """Answers 0..answers, neighbours when at most `reach` apart."""
    positions = np.arange(answers + 1)
    return dx.MetricSpace.from_distances(np.ceil(np.abs(positions[:, None] - positions[None, :]) / reach))


GOLDEN = {
    "sum 0..100 by 2": (lambda: sum_query(100, 2), 0.2812),
    "sum 0..150 by 3": (lambda: sum_query(150, 3), 0.553122),
    "sum 0..200 by 4": (lambda: sum_query(200, 4), 0.779189),
    "two counts 0..5": (lambda: dx.grid((6, 6), metric="chebyshev"), 1.134614),
    "euclidean 4x4": (lambda: dx.grid((4, 4)), 0.686311),
    "euclidean 8x8": (lambda: dx.grid((8, 8)), 0.665579),
    "euclidean 16x16": (lambda: dx.grid((16, 16)), 0.665352),
    "sum 0..750 by 5": (lambda: sum_query(750, 5), 0.968133),
    "two counts 0..30": (lambda: dx.grid((31, 31), metric="chebyshev"), 1.13608),
}


@pytest.mark.parametrize("name", few(GOLDEN, 7))
def test_uniform_prior_is_proven_regular_from_the_known_level(name: str) -> None:
    build, expected = GOLDEN[name]
    found = regularity.threshold(build())
    assert found.value == pytest.approx(expected, abs=2e-6)
    assert found.proven
    assert found.sampled == 0
    assert found.low < found.high == found.value
    assert found.high - found.low <= 1e-6 * found.high


def test_both_ends_of_the_bracket_hold() -> None:
    space = sum_query(40, 3)
    found = regularity.threshold(space)
    prior = dx.Prior.uniform(space)
    assert found.proven
    assert regularity.verdict(prior, space, found.low).status == "not regular"
    for epsilon in (*np.linspace(found.high, 2 * found.high, 40), 5.0):
        assert regularity.verdict(prior, space, float(epsilon)).status == "regular"


def independent_records() -> tuple[dx.MetricSpace, dx.Prior]:
    """ECP14, Ex 3: five records of four values under Hamming distance."""
    values = np.array(list(itertools.product(range(4), repeat=5)))
    space = dx.MetricSpace.from_points(values, "hamming")
    counts = np.stack([(values == v).sum(axis=1) for v in range(4)], axis=1)
    return space, dx.Prior.from_weights(space, np.prod(np.array([0.3, 0.27, 0.23, 0.2]) ** counts, axis=1))


def test_independent_records_by_their_factors() -> None:
    found = regularity.threshold(*independent_records())
    assert found.proven
    assert found.sampled == 0
    assert found.low < math.log(2) < found.high
    assert found.value == pytest.approx(math.log(2), abs=1e-6)


def test_product_priors_agree_with_spaces_of_no_structure() -> None:
    one_way = dx.MetricSpace.from_distances(np.array([[0.0, 1.0, 2.0], [2.0, 0.0, 1.5], [1.0, 2.0, 0.0]]))
    for factors, parts in (
        ((dx.line(3), one_way), ([3.0, 1.0, 2.0], [1.0, 2.0, 2.0])),
        ((one_way, dx.line(2), dx.line(2)), ([1.0, 1.0, 1.0], [1.0, 3.0], [2.0, 1.0])),
    ):
        space = dx.product(*factors)
        prior = functools.reduce(np.kron, map(np.array, parts))
        found = regularity.threshold(space, dx.Prior.from_weights(space, prior))
        plain = dx.MetricSpace.from_distances(space.distances)
        general = regularity.threshold(plain, dx.Prior.from_weights(plain, prior))
        assert found.proven
        assert "factors" in found.reason
        assert "factors" not in general.reason
        assert found.value == pytest.approx(general.value, rel=3e-6)
        # Any other prior is not taken for a product.
        prior[0] *= 1.0 + 1e-9
        assert "factors" not in regularity.threshold(space, dx.Prior.from_weights(space, prior)).reason


def test_points_of_a_factor_that_are_alike_stay_alike() -> None:
    """Sums of rounded products differ for the twins, which are regular at no ε with unequal probabilities."""
    twins = dx.MetricSpace.from_points([0.0, 0.0, 1.0])
    space = dx.product(twins, dx.line(3))
    prior = np.kron([0.3, 0.3, 0.4], [0.3, 0.47, 0.23])
    prior[3:6] *= 1.0 + np.array([4e-16, 0.0, 4e-16])
    found = regularity.threshold(space, dx.Prior.from_weights(space, prior))
    assert found.value < math.inf


def test_product_with_a_factor_that_is_never_regular() -> None:
    grid = dx.grid((3, 4), metric="manhattan")
    found = regularity.threshold(grid, dx.Prior.from_weights(grid, np.kron([1, 0, 2], [1, 2, 2, 1])))
    assert (found.value, found.low, found.proven) == (math.inf, math.inf, True)


@pytest.mark.full
def test_a_zero_of_order_5_is_sampled() -> None:
    """μ of independent records has one at ln 2: without the factors the last stretch is sampled."""
    product, prior = independent_records()
    space = dx.MetricSpace.from_distances(product.distances)
    prior = dx.Prior.from_weights(space, prior.probabilities)
    found = regularity.threshold(space, prior, evaluations=100)
    assert found.value == pytest.approx(math.log(2), abs=1e-5)
    assert not found.proven
    assert found.sampled > 0
    assert found.low <= found.value <= found.high
    assert regularity.verdict(prior, space, 0.6).status == "not regular"
    assert regularity.verdict(prior, space, 0.75).status == "regular"
    assert "sampled" in str(found)


def test_one_record_of_unequal_values() -> None:
    space = dx.MetricSpace.from_points(range(4), "discrete")
    found = regularity.threshold(space, dx.Prior.from_weights(space, [0.3, 0.27, 0.23, 0.2]), tolerance=1e-9)
    assert found.proven
    assert found.value == pytest.approx(math.log(2), abs=2e-9)


def test_symmetry_makes_every_level_regular() -> None:
    cube = dx.MetricSpace.from_points(list(itertools.product(range(3), repeat=4)), "hamming")
    islands = dx.MetricSpace.from_distances(np.where(np.eye(3) == 1, 0.0, np.inf))
    tilted = dx.Prior.from_weights(islands, [1, 2, 3])
    for space in (dx.MetricSpace.from_graph(nx.cycle_graph(9)), cube):
        found = regularity.threshold(space)
        assert found.proven
        assert found.low == found.value == found.high == 0
    assert regularity.threshold(islands, tilted).value == 0


def test_regular_as_far_down_as_examined() -> None:
    found = regularity.threshold(dx.MetricSpace.from_distances(dx.line(5).distances), floor=0.05)
    assert found.low == 0
    assert found.value == found.high < 0.1
    assert not found.proven
    assert "not examined" in found.reason


def test_structure_answers_for_the_uniform_prior() -> None:
    for space in (dx.line(5), dx.line(1_000_000), dx.grid((900, 700), metric="manhattan"), dx.grid((1, 9))):
        found = regularity.threshold(space)
        assert found.proven
        assert found.value == 0
    star = dx.MetricSpace.from_graph(nx.star_graph(4))
    found = regularity.threshold(star, tolerance=1e-9)
    assert found.proven
    assert found.value == pytest.approx(math.log(3), abs=1e-8)
    both = regularity.threshold(dx.product(star, dx.line(3), dx.MetricSpace.from_graph(nx.star_graph(3))))
    assert both.proven
    assert both.value == pytest.approx(math.log(3), abs=1e-5)


def test_large_lattices_are_sampled() -> None:
    found = regularity.threshold(dx.grid((60, 60)))
    assert not found.proven
    assert found.value == pytest.approx(0.665352, abs=2e-6)
    assert found.low < found.value < found.high
    assert found.value - found.low < 1e-5
    space = dx.grid((60, 60))
    assert regularity.verdict(dx.Prior.uniform(space), space, found.low).status == "not regular"
    assert regularity.verdict(dx.Prior.uniform(space), space, found.value + 1e-5).status == "regular"


def test_priors_that_are_never_regular() -> None:
    line = dx.line(3)
    assert regularity.threshold(line, dx.Prior.from_weights(line, [0, 1, 1])).value == math.inf
    twins = dx.MetricSpace.from_points([0.0, 0.0, 1.0])
    assert regularity.threshold(twins, dx.Prior.from_weights(twins, [1, 2, 1])).value == math.inf
    assert regularity.threshold(twins, dx.Prior.from_weights(twins, [1, 1, 2])).value < math.inf


def test_points_at_distance_zero_change_nothing() -> None:
    plain = dx.grid((4, 4))
    index = np.concatenate([np.arange(16), [0, 5]])
    doubled = dx.MetricSpace.from_distances(plain.distances[np.ix_(index, index)])
    assert regularity.threshold(doubled).value == pytest.approx(regularity.threshold(plain).value, abs=1e-6)


def test_product_with_a_factor_of_no_known_level_is_not_proven() -> None:
    # Points at distance 0 whose rows differ by rounding: no ε makes the diagonal dominant.
    nearly = dx.MetricSpace.from_distances(np.array([[0, 0, 1], [0, 0, 1 + 5e-13], [1, 1 + 5e-13, 0]]))
    factor = regularity.threshold(nearly)
    assert (factor.low, factor.high, factor.proven) == (0.0, math.inf, False)
    found = regularity.threshold(dx.product(nearly, dx.line(3)))
    assert (found.low, found.high, found.proven) == (0.0, math.inf, False)


def test_scaling_the_distances_scales_the_level() -> None:
    wide = dx.MetricSpace.from_distances(7.0 * dx.grid((4, 4)).distances)
    assert 7 * regularity.threshold(wide).value == pytest.approx(0.686311, abs=2e-6)


def test_bad_input() -> None:
    with pytest.raises(dx.SpecError, match="tolerance"):
        regularity.threshold(dx.line(3), tolerance=0.0)
    with pytest.raises(dx.SpecError, match="prior"):
        regularity.threshold(dx.line(3), dx.Prior.uniform(dx.line(4)))
