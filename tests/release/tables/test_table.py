"""Integer tables: private in exact arithmetic, near the mechanism, and read back as they were."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import certify
from dxopt.release.tables import IntegerTable, integer_table
from dxopt.release.tables.proof import PRECISION, power_below
from tests.judges.exact import exp_enclosure
from tests.material.files import ZONES

BITS = 400


def excess_above(table: IntegerTable, x: int, other: int) -> Fraction:
    """Σ_z max(0, N[x, z] - e^{εd} N[x', z]), at most 2^-380 of T too high."""
    exponent = Fraction(table.epsilon) * Fraction(float(table.space.distances[x, other]))
    least, _ = exp_enclosure(exponent, BITS)
    return sum(
        (
            max(Fraction(0), mine - least * theirs)
            for mine, theirs in zip(table.counts[x], table.counts[other], strict=True)
        ),
        Fraction(0),
    )


def assert_private(table: IntegerTable) -> None:
    distances = table.space.distances
    for row in table.counts:
        assert all(type(count) is int and count >= 0 for count in row)
        assert sum(row) == table.total == 2**table.bits
    for x, other in np.argwhere(np.isfinite(distances) & ~np.eye(len(distances), dtype=bool)):
        assert excess_above(table, x, other) <= Fraction(table.delta) * table.total


def cost(table: IntegerTable, mechanism: dx.Mechanism, prior: np.ndarray, losses: np.ndarray) -> Fraction:
    return sum(
        (
            Fraction(float(prior[x]))
            * Fraction(float(losses[x, z]))
            * (table.probability(x, z, by="index") - Fraction(float(mechanism.matrix[x, z])))
            for x, z in np.argwhere(np.isfinite(losses))
        ),
        Fraction(0),
    )


def space_of(kind: str, size: int, rng: np.random.Generator) -> dx.MetricSpace:
    if kind == "line":
        return dx.MetricSpace.from_points(np.sort(rng.random(size)))
    if kind == "plane":
        return dx.MetricSpace.from_points(10 * rng.random((size, 2)))
    distances = 3 * rng.random((size, size))
    if kind == "some infinite":
        distances[rng.random((size, size)) < 0.4] = np.inf
    if kind == "islands":
        distances[:2, 2:] = distances[2:, :2] = np.inf
    if kind == "merged":
        distances[0, 1] = distances[1, 0] = 0.0
    if kind == "merged one way":
        distances[0, 1] = 0.0
    np.fill_diagonal(distances, 0.0)
    return dx.MetricSpace.from_distances(distances, close=True)


def mechanism_on(
    space: dx.MetricSpace, reports: int, rng: np.random.Generator, epsilon: float, delta: float = 0.0
) -> tuple[dx.Mechanism, np.ndarray]:
    """A random private channel with columns of 0, and losses."""
    raw = rng.random((len(space), reports)) ** 3
    raw[:, reports // 2] = 0.0
    losses = 10 * rng.random(raw.shape)
    problem = dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss=losses, delta=delta)
    return certify(problem, Candidate(raw / raw.sum(axis=1, keepdims=True))).mechanism, losses


KINDS = ("line", "plane", "one way", "some infinite", "islands", "merged", "merged one way")


@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.05])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 40.0])
@pytest.mark.parametrize("kind", KINDS)
def test_is_private_in_exact_arithmetic(kind: str, epsilon: float, delta: float) -> None:
    rng = np.random.default_rng([KINDS.index(kind), int(epsilon), int(delta * 100)])
    space = space_of(kind, 6, rng)
    if delta and kind.startswith("merged"):
        delta = 0.05
    mechanism, losses = mechanism_on(space, 5, rng, epsilon, delta)
    table = integer_table(mechanism, loss=losses)
    assert mechanism.privacy is not None
    assert (table.epsilon, table.delta) == (mechanism.privacy.epsilon, mechanism.privacy.delta)
    assert_private(table)
    uniform = np.full(6, 1 / 6)
    assert table.cost == pytest.approx(float(cost(table, mechanism, uniform, losses)), rel=1e-12)
    assert abs(table.cost) <= 1e-12 * max(1.0, dx.evaluate.expected_loss(mechanism, dx.Prior.uniform(space), losses))
    apart = [
        sum(abs(table.probability(x, z, by="index") - Fraction(mechanism.matrix[x, z])) for z in range(5)) / 2
        for x in range(6)
    ]
    assert table.variation == pytest.approx(float(max(apart)), rel=1e-12)


def test_entries_and_columns_of_0_stay_0() -> None:
    rng = np.random.default_rng(2)
    mechanism, losses = mechanism_on(space_of("islands", 6, rng), 5, rng, 1.0)
    split = np.zeros((6, 10))
    split[:2, :5], split[2:, 5:] = mechanism.matrix[:2], mechanism.matrix[2:]
    reports = dx.Reports(tuple("abcdefghij"))
    apart = dx.Mechanism.from_matrix(mechanism.space, split, reports, privacy=mechanism.privacy)
    endless = np.where(split > 0, np.hstack([losses, losses]), np.inf)
    for loss in (None, endless, np.where(split > 0, 1.0, -1.0)):
        table = integer_table(apart, loss=loss)
        assert np.array_equal(table.counts == 0, split == 0)
        assert_private(table)


def test_the_rest_goes_to_the_report_that_loses_least() -> None:
    space = dx.line(3)
    matrix = np.full((3, 3), 1 / 3)
    matrix[0, 0], matrix[0, 1] = 0.34, 1 - 1 / 3 - 0.34
    mechanism = dx.Mechanism.from_matrix(space, matrix, privacy=dx.Privacy(1.0, "small ratios"))
    tables = []
    for best in range(3):
        losses = np.ones((3, 3))
        losses[:, best] = 0.0
        tables.append(integer_table(mechanism, loss=losses))
    for best, table in enumerate(tables):
        for other in {0, 1, 2} - {best}:
            assert (table.counts[:, best] > tables[other].counts[:, best]).all()


def test_secrets_with_no_report_in_common() -> None:
    space = dx.MetricSpace.from_distances([[0, 1, np.inf], [np.inf, 0, np.inf], [np.inf, 1, 0]])
    matrix = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    proven = dx.Mechanism.from_matrix(space, matrix, dx.Reports(("a", "b")), privacy=dx.Privacy(1.0, "by hand"))
    assert_private(integer_table(proven))
    with pytest.raises(dx.UnsupportedError, match="loss: is infinite"):
        integer_table(proven, loss=np.where(matrix > 0, 0.0, np.inf))
    delta = 2.0**-10
    relaxed = [[1 - delta, delta, 0.0], [1 - delta, 0.0, delta]]
    claim = dx.Privacy(1.0, "by hand", delta)
    table = integer_table(dx.Mechanism.from_matrix(dx.line(2), relaxed, dx.Reports(("a", "b", "c")), privacy=claim))
    assert table.counts[0, 2] == table.counts[1, 1] == 0
    assert_private(table)


def test_one_way_distances_of_0_make_rows_equal() -> None:
    space = dx.MetricSpace.from_distances([[0, 0], [1, 0]])
    matrix = [[0.5, 0.5], [0.5 + 2.0**-53, 0.5]]
    table = integer_table(dx.Mechanism.from_matrix(space, matrix, privacy=dx.Privacy(1.0, "by hand")))
    assert table.counts[0].tolist() == table.counts[1].tolist()
    assert_private(table)


def test_one_report_gets_every_count() -> None:
    space = dx.line(3)
    table = integer_table(dx.Mechanism.from_matrix(space, np.eye(3)[[1, 1, 1]], privacy=dx.Privacy(0.0, "constant")))
    assert table.counts.tolist() == [[0, 2**64, 0]] * 3
    assert (table.sample([0, 1, 2], 100) == 1).all()


def test_close_points_take_more_bits() -> None:
    matrix = [[0.5, 0.5], [0.5 + 2.0**-52, 0.5 - 2.0**-52]]
    for distance, bits in ((1e-2, 64), (1e-12, 128), (2e-15, 192)):
        space = dx.MetricSpace.from_points([0.0, distance])
        mechanism = dx.Mechanism.from_matrix(space, matrix, privacy=dx.Privacy(1.0, "by hand"))
        table = integer_table(mechanism, loss=[[0.0, 1.0], [0.0, 1.0]])
        assert table.bits == bits
        assert_private(table)
    space = dx.MetricSpace.from_points([0.0, 1e-60], labels=["here", "there"])
    with pytest.raises(dx.UnsupportedError, match="here and there"):
        integer_table(dx.Mechanism.from_matrix(space, matrix, privacy=dx.Privacy(1.0, "by hand")))


def edge(bits: int, epsilon: float, share: int, delta: float = 0.0) -> tuple[IntegerTable, int]:
    """Two secrets at distance 1, the first of which has as many counts of the first report as privacy allows."""
    total = 2**bits
    least, most = exp_enclosure(Fraction(epsilon), BITS)
    extra = Fraction(delta) * total
    count = math.floor(least * share + extra)
    assert count == math.floor(most * share + extra)
    space = dx.MetricSpace.from_points([0.0, 1.0], labels=["west", "east"])
    counts = np.array([[count, total - count], [share, total - share]], dtype=object)
    return IntegerTable(space, dx.Reports(("yes", "no")), counts, bits, epsilon, delta), count


@pytest.mark.parametrize("delta", [0.0, 2.0**-24, 1e-3])
@pytest.mark.parametrize("epsilon", [1.0, 1e-3, 0.7])
@pytest.mark.parametrize("bits", [64, 128, 256])
def test_a_single_count_too_many_is_found(bits: int, epsilon: float, delta: float) -> None:
    for share in (2**bits // 10 + 7, 2**60 + 3, 2**11 + 1, 3):
        table, count = edge(bits, epsilon, share, delta)
        table.check()
        counts = table.counts.copy()
        counts[0] = [count + 1, table.total - count - 1]
        broken = IntegerTable(table.space, table.reports, counts, bits, epsilon, delta)
        with pytest.raises(dx.CertificateError, match="secrets west and east are told apart by report yes"):
            broken.check()
        counts[0] = [count, table.total - count - 1]
        with pytest.raises(dx.SpecError, match="secret west sum to -1"):
            IntegerTable(table.space, table.reports, counts, bits, epsilon, delta)


def test_negative_and_missing_counts_are_found() -> None:
    space = dx.line(2)
    counts = np.array([[2**64 + 1, -1], [2**63, 2**63]], dtype=object)
    with pytest.raises(dx.SpecError, match="counts: of secret 0 are not all integers from 0"):
        IntegerTable(space, dx.Reports.of(space), counts, 64, 50.0)
    counts[0] = [2**64, 0]
    with pytest.raises(dx.CertificateError, match="secrets 1 and 0 are told apart by report 1"):
        IntegerTable(space, dx.Reports.of(space), counts, 64, 50.0).check()
    with pytest.raises(dx.SpecError, match="integers"):
        IntegerTable(space, dx.Reports.of(space), np.full((2, 2), 0.5, dtype=object), 64, 1.0)
    with pytest.raises(dx.SpecError, match="shape"):
        IntegerTable(space, dx.Reports.of(space), counts[:1], 64, 1.0)


@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 1e-9, 0.1, math.log(4), 37.5, 699.9])
@pytest.mark.parametrize("distance", [0.0, 1e-3, 1 / 3, 1.0])
def test_powers_lie_just_below(epsilon: float, distance: float) -> None:
    low, high = exp_enclosure(Fraction(epsilon) * Fraction(distance), BITS + 2100)
    power = Fraction(power_below(epsilon, distance), 1 << PRECISION)
    assert 1 <= power <= high
    assert low - power <= low / 2**280
    assert power_below(1e300, 1e300) == power_below(700.0, 1.0)


def test_claims_that_do_not_hold_are_refused() -> None:
    space = dx.line(2)
    wrong = dx.Mechanism.from_matrix(space, [[0.8, 0.2], [0.2, 0.8]], privacy=dx.Privacy(1.38, "wishful"))
    with pytest.raises(dx.CertificateError, match="told apart by report"):
        integer_table(wrong)
    with pytest.raises(dx.SpecError, match="mechanism: has no proof"):
        integer_table(dx.Mechanism.from_matrix(space, [[0.8, 0.2], [0.2, 0.8]]))
    right = dx.Mechanism.from_matrix(space, [[0.8, 0.2], [0.2, 0.8]], privacy=dx.Privacy(1.39, "log 4"))
    assert_private(integer_table(right))
    with pytest.raises(dx.SpecError, match="prior"):
        integer_table(right, prior=dx.Prior.uniform(dx.line(3)))
    with pytest.raises(dx.SpecError, match="loss"):
        integer_table(right, loss=np.ones((2, 3)))
    with pytest.raises(dx.UnsupportedError, match="5,000 secrets"):
        integer_table(dx.tight_constraints(dx.line(5000), epsilon=1.0))


def test_without_losses_the_likeliest_report_gets_the_rest() -> None:
    matrix = [[0.3, 0.7], [0.4, 0.6]]
    reports = dx.Reports(("low", "high"))
    table = integer_table(dx.Mechanism.from_matrix(dx.line(2), matrix, reports, privacy=dx.Privacy(1.0, "by hand")))
    assert math.isnan(table.cost)
    assert table.probability("0", "high") > Fraction(0.7)
    assert table.variation < 1e-15
    assert "expected loss" not in str(table)


@pytest.fixture(scope="module")
def zones() -> IntegerTable:
    data = np.genfromtxt(ZONES, delimiter=",", skip_header=1)
    space = dx.MetricSpace.from_points(data[:, :2], "haversine")
    lines: list[str] = []
    mechanism = dx.classic.exponential(space, epsilon=math.log(4))
    table = integer_table(mechanism, prior=dx.Prior.from_weights(space, data[:, 2]), progress=lines.append)
    assert any("2^64" in line for line in lines)
    return table


def test_249_zones(zones: IntegerTable) -> None:
    assert zones.bits == 64
    assert abs(zones.cost) < 1e-12
    assert "249 secrets" in str(zones)
    counts = zones.counts.copy()
    counts[7, [7, 9]] = counts[7, [9, 7]]
    with pytest.raises(dx.CertificateError, match=re.escape(f"report {zones.reports.labels[9]}:")):
        IntegerTable(zones.space, zones.reports, counts, 64, zones.epsilon).check()
