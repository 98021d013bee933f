"""What ECP14 prints, what comes out here, and why the two differ."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from problems.ecp14 import graphs, leakage, regions, settings, statements, table, utilities
from tests.judges.brute_force import remapped, truncated_geometric
from tests.judges.exact import infinite_leakage, row_sum_errors, violations

# thresholds found by bisection on dense solves, apart from dxopt
SUM, COUNTS, LOCATIONS, EXAMPLE_3 = 0.968133, 1.13608, 0.665352, math.log(2)


def uniform(space: dx.MetricSpace) -> dx.Prior:
    return dx.Prior.uniform(space)


def regular_from(space: dx.MetricSpace, level: float) -> bool:
    """Whether the uniform prior turns regular within 2e-6 of a level, as far as two levels can tell."""
    below, above = (dx.regularity.verdict(uniform(space), space, level + off).status for off in (-2e-6, 2e-6))
    return (below, above) == ("not regular", "regular")


@pytest.mark.parametrize(
    ("make", "high", "printed", "exact"),
    [
        (settings.sum_query, 0.97, settings.PRINTED.sum_threshold, SUM),
        (settings.two_counts, 0.97, settings.PRINTED.counts_threshold, COUNTS),
    ],
    ids=["sum", "2-count"],
)
def test_printed_thresholds_take_negative_entries_for_zero(
    make: Callable[[], dx.MetricSpace], high: float, printed: float, exact: float
) -> None:
    space = make()
    least = settings.least_mu(space, uniform(space))
    assert settings.accepted_from(least, high) == printed
    assert settings.ACCEPTED <= least(printed) < 0
    assert least(printed - settings.STEP) < settings.ACCEPTED
    assert regular_from(space, exact)


def test_thresholds_with_a_proof() -> None:
    for found, value in (
        (utilities.sum_threshold(), SUM),
        (utilities.counts_threshold(), COUNTS),
        (utilities.locations_threshold(), LOCATIONS),
    ):
        assert found.proven
        assert found.value == pytest.approx(value, abs=2e-6)
    assert regular_from(settings.sum_query(50, 3), 0.553122)


def test_example_3_is_regular_from_ln_2_on() -> None:
    prior, one = settings.independent_records(), leakage.record_prior()
    least = settings.least_mu(settings.databases(), prior)
    assert settings.accepted_from(least, 0.52) == settings.PRINTED.example_3_threshold
    found = dx.regularity.threshold(settings.record(), one)
    assert found.proven
    assert found.value == pytest.approx(EXAMPLE_3, abs=1e-6)
    assert least(0.69) < 0 < least(0.7)


def test_accepted_from_stops_at_the_first_step_that_fails() -> None:
    fails = {0.5: -1.0, 0.3: -2e-4, 0.2: -0.9e-4}
    assert settings.accepted_from(lambda level: fails.get(level, 0.0), 0.49) == 0.31
    assert settings.accepted_from(lambda level: fails.get(level, 0.0), 0.29, 0.1) == 0.1
    with pytest.raises(ValueError, match=r"below -0\.0001 at ε = 0\.5"):
        settings.accepted_from(lambda level: fails.get(level, 0.0), 0.5)


@pytest.fixture(scope="module")
def counterexample() -> dx.Mechanism:
    """A 0.5-differentially private mechanism that leaks more than the bound that Example 3 prints."""
    return leakage.record_by_record(0.5)


def adjacent_only(space: dx.MetricSpace) -> np.ndarray:
    """Distances of databases that differ in one record; the inequalities of the others chain exactly from theirs."""
    distances = np.where(space.distances <= 1, space.distances, np.inf)
    assert (np.isfinite(distances).sum(axis=1) == 1 + 5 * 3).all()
    return distances


@pytest.mark.full
def test_counterexample_is_private_in_exact_arithmetic(counterexample: dx.Mechanism) -> None:
    matrix, distances = counterexample.matrix, adjacent_only(counterexample.space)
    assert matrix.shape == (1024, 1024)
    assert infinite_leakage(matrix, counterexample.space.distances) == []
    assert violations(matrix, distances, 0.5) == []
    assert violations(matrix[:, :40], distances, 0.4999) != []
    assert max(abs(error) for error in row_sum_errors(matrix)) <= Fraction(1, 2**48)


def test_counterexample_leaks_more_than_printed_and_no_mechanism_more_than_it(counterexample: dx.Mechanism) -> None:
    leaked = dx.evaluate.min_entropy_leakage(counterexample, settings.independent_records())
    assert leaked == pytest.approx(5 * math.log2(0.8 / (1 + 2 * math.exp(-0.5)) / 0.3), abs=1e-8)
    assert leaked > 1.344 > 1.21 > leakage.printed_bound(0.5)
    assert leaked <= leakage.proven_bound(0.5) <= leaked + 1e-7


def test_bounds_of_example_3() -> None:
    assert round(leakage.every_prior_bound(0.5), 1) == settings.PRINTED.example_3_every_prior
    assert round(leakage.printed_bound(0.5), 1) == settings.PRINTED.example_3_bound
    assert leakage.proven_bound(0.75) == pytest.approx(leakage.printed_bound(0.75), rel=1e-12)
    dense = dx.regularity.leakage_bound(settings.independent_records(2), settings.databases(2), 0.75)
    assert 2.5 * dense == pytest.approx(leakage.printed_bound(0.75), rel=1e-9)


def test_spaces_are_the_induced_graphs() -> None:
    edges = graphs.induced_edges(range(4), 3, sum)
    distances = settings.sum_query(3, 3).distances
    pairs = itertools.combinations(range(10), 2)
    assert edges == {frozenset((i, j)) for i, j in pairs if distances[i, j] == 1}
    bits = tuple(itertools.product((0, 1), repeat=2))
    points = list(itertools.product(range(4), repeat=2))
    adjacent = settings.two_counts(3).distances == 1
    joined = {frozenset((points[i], points[j])) for i, j in np.argwhere(adjacent)}
    assert graphs.induced_edges(bits, 3, graphs.both_counts) == joined


def test_regions_of_regular_priors() -> None:
    p = math.exp(-0.7)
    line, circle = regions.three_answers().values()
    assert dx.regularity.region(line, 0.7).corners == pytest.approx(
        np.array([[1, p, p * p], [p, 1, p], [p * p, p, 1]])
        / np.array([1 + p + p * p, 1 + 2 * p, 1 + p + p * p])[:, None]
    )
    assert dx.regularity.region(circle, 0.7).volume == pytest.approx(((1 - p) / (1 + 2 * p)) ** 2)
    assert dx.regularity.region(settings.record(), 0.7).volume == pytest.approx(((1 - p) / (1 + 3 * p)) ** 3)


def test_utilities() -> None:
    assert utilities.tight_utility(settings.sum_query(), 1.2) == pytest.approx(0.1900345, abs=1e-8)
    assert utilities.tight_utility(settings.two_counts(), 1.2) == pytest.approx(0.18996305, abs=1e-8)
    assert utilities.tight_utility(settings.locations(), 0.8) == pytest.approx(0.1052122, abs=1e-7)


def test_geometric_mechanisms_are_those_that_are_private_for_the_query() -> None:
    for space, fast in (
        (settings.sum_query(6, 3), utilities.geometric_sum(1.1, 6, 3)),
        (settings.two_counts(4), utilities.geometric_counts(1.1, 4)),
    ):
        known = dx.evaluate.utility(dx.classic.geometric(space, epsilon=1.1), uniform(space))
        assert fast == pytest.approx(known, abs=1e-8)


def test_the_geometric_curve_of_two_counts_is_two_independent_mechanisms() -> None:
    """Figure 6(b): each count by the truncated geometric mechanism at ε/2, with the remap that is best."""
    for epsilon, people in ((0.6, 3), (1.1, 4), (1.3, 6)):
        one = truncated_geometric(range(people + 1), epsilon / 2)
        both = np.asarray(np.kron(one, one), dtype=np.float64)
        binary = 1 - np.eye(len(both))
        known = 1 - remapped(both, np.full(len(both), 1 / len(both)), binary)
        assert utilities.geometric_counts(epsilon, people) == pytest.approx(known, abs=1e-8)


def test_rows_without_thresholds() -> None:
    parts = (statements.proposition_1, statements.example_1, statements.theorem_3, statements.counting_query)
    rows = [row for part in parts for row in part()]
    assert [row.reproduced for row in rows if not row.reproduced.startswith("3")] == ["yes"] * 6
    (signs,) = statements.proposition_9()
    assert signs.reproduced == "no: rows sum to 2.5224"
    assert signs.exact.startswith("1.0000")


def test_a_threshold_is_reproduced_exactly_or_with_negative_entries_or_not() -> None:
    def reproduced(value: float, accepted: float) -> str:
        exact = dx.regularity.Threshold(value, value, value, True, 0, "")
        return statements.threshold_row("", 0.8, exact, accepted, "").reproduced

    assert reproduced(0.7951, 0.8) == "yes"
    assert reproduced(0.968, 0.8) == "only with negative entries"
    assert reproduced(0.968, 0.81) == "no"


def test_table_is_markdown() -> None:
    text = table.markdown([statements.Row("a", "|V|", "yes", "1", "–", "§1")])
    assert text.splitlines()[0].startswith("| what | printed | reproduced | exact | with μ ≥ -1e-04 accepted")
    assert text.splitlines()[2] == "| a | \\|V\\| | yes | 1 | – | §1 |"
