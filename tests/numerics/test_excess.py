"""The smallest δ and the smallest ε of given channels, against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.analysis import evaluate
from dxopt.numerics.hockey_stick import bound_pairs, least_delta, least_epsilon
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import certify
from tests.judges.exact import exp_enclosure

SEEDS = range(60)
DELTAS = (0.0, 1e-9, 0.01, 0.1, 0.4)


def instance(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A channel with zeros, ties, equal rows and subnormal entries now and then, and lengths of 0 and infinity."""
    generator = np.random.default_rng([seed, 5])
    size, reports = (int(number) for number in generator.integers(2, 5, 2))
    channel = generator.dirichlet(np.full(reports, (0.1, 1.0, 5.0)[seed % 3]), size)
    if seed % 2:
        channel = np.round(channel * 8) / 8
    if seed % 5 == 0:
        channel[0] = channel[-1]
    if seed % 7 == 0:
        channel[:, -1] = generator.integers(1, 9, size) * 2.0**-1074
    distances = generator.random((size, size)) * (0.01, 1.0, 30.0)[seed // 3 % 3]
    np.fill_diagonal(distances, 0.0)
    if seed % 4 == 0:
        distances[0, -1] = 0.0
    if seed % 6 == 0:
        distances[-1, 0] = np.inf
    return channel, distances


def exact_delta(channel: np.ndarray, distances: np.ndarray, epsilon: float) -> tuple[Fraction, Fraction]:
    """Rationals that enclose the largest excess of all pairs of finite distance."""
    low = high = Fraction(0)
    for x, other in np.argwhere(np.isfinite(distances)):
        least, most = exp_enclosure(Fraction(epsilon) * Fraction(float(distances[x, other])))
        pairs = [(Fraction(a), Fraction(b)) for a, b in zip(channel[x], channel[other], strict=True)]
        low = max(low, sum((max(a - most * b, Fraction(0)) for a, b in pairs), Fraction(0)))
        high = max(high, sum((max(a - least * b, Fraction(0)) for a, b in pairs), Fraction(0)))
    return low, high


@pytest.mark.parametrize("seed", SEEDS)
def test_least_delta_is_exact_and_never_too_small(seed: int) -> None:
    channel, distances = instance(seed)
    bound = bound_pairs(distances)
    shortest = distances[bound & (distances > 0)].min(initial=30.0)
    for epsilon in (0.0, 0.5 / shortest, 3.0 / shortest, 60.0 / shortest):
        low, high = exact_delta(channel, distances, epsilon)
        found = least_delta(channel, distances, epsilon, bound)
        assert high <= Fraction(found)
        assert found <= float(low) * (1 + 1e-12) + 3e-14


@pytest.mark.parametrize("seed", SEEDS)
def test_least_epsilon_is_enough_and_little_less_is_not(seed: int) -> None:
    channel, distances = instance(seed)
    bound = bound_pairs(distances)
    for delta in DELTAS:
        found = least_epsilon(channel, distances, delta, bound)
        if math.isinf(found):
            assert impossible(channel, distances, delta)
            continue
        assert not impossible(channel, distances, delta)
        assert exact_delta(channel, distances, found)[1] <= Fraction(delta)
        assert least_delta(channel, distances, found, bound) <= delta
        if found > 0:
            assert exact_delta(channel, distances, 0.999999 * found)[0] > Fraction(delta)


def impossible(channel: np.ndarray, distances: np.ndarray, delta: float) -> bool:
    """Whether some pair exceeds δ at any budget up to 700, by exact sums."""
    for x, other in np.argwhere(np.isfinite(distances)):
        most = Fraction(1) if distances[x, other] == 0 else exp_enclosure(Fraction(700))[0]
        pairs = [(Fraction(a), Fraction(b)) for a, b in zip(channel[x], channel[other], strict=True)]
        if sum((max(a - most * b, Fraction(0)) for a, b in pairs), Fraction(0)) > Fraction(delta):
            return True
    return False


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.8, 5.0, 60.0])
def test_least_epsilon_without_delta_is_what_certificates_say(epsilon: float) -> None:
    space = dx.grid((3, 3))
    report = dx.solve(dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss="distance"))
    found = evaluate.smallest_epsilon(report.mechanism)
    assert found == pytest.approx(report.certificate.epsilon, rel=1e-12, abs=1e-13)


def test_many_reports_meet_delta_by_newton() -> None:
    """Where the excess has hundreds of corners, on either side of the epsilon found."""
    space = dx.grid((8, 8))
    mechanism = dx.classic.exponential(space, epsilon=1.0)
    for delta in (1e-12, 1e-6, 0.003, 0.2):
        epsilon = evaluate.smallest_epsilon(mechanism, delta)
        assert delta * (1 - 1e-9) - 1e-14 <= evaluate.smallest_delta(mechanism, epsilon) <= delta
        assert evaluate.smallest_delta(mechanism, epsilon * (1 - 1e-9)) > delta


def response(size: int, power: float) -> dx.Mechanism:
    """The truth with odds of `power` to one."""
    space = dx.MetricSpace.from_distances(1 - np.eye(size))
    matrix = (np.ones((size, size)) + (power - 1) * np.eye(size)) / (power + size - 1)
    return dx.Mechanism.from_matrix(space, matrix)


def test_randomised_response_by_hand() -> None:
    mechanism = response(4, 3.0)
    assert evaluate.smallest_epsilon(mechanism) == pytest.approx(math.log(3), rel=1e-14)
    assert evaluate.smallest_delta(mechanism, math.log(2)) == pytest.approx(1 / 6, rel=1e-13)
    assert evaluate.smallest_epsilon(mechanism, 1 / 6) == pytest.approx(math.log(2), rel=1e-12)
    assert evaluate.smallest_epsilon(mechanism, 0.4) == 0.0
    epsilons = [0.0, math.log(2), math.log(3) + 1e-9]
    profile = evaluate.privacy_profile(mechanism, epsilons)
    assert profile == pytest.approx([1 / 3, 1 / 6, 0.0], rel=1e-13, abs=1e-15)
    assert profile.shape == (3,)


def test_which_pairs_are_bound() -> None:
    """On a line of three, half of the truth passes: the ends differ by 1 in total, neighbours by a half."""
    space = dx.line(3)
    matrix = [[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]
    mechanism = dx.Mechanism.from_matrix(space, matrix)
    assert evaluate.smallest_delta(mechanism, 0.0) == pytest.approx(1.0)
    assert evaluate.smallest_delta(mechanism, 0.0, pairs="adjacent") == pytest.approx(0.5)
    assert math.isinf(evaluate.smallest_epsilon(mechanism, 0.5))
    assert evaluate.smallest_epsilon(mechanism, 0.5 + 1e-9, pairs="adjacent") == 0.0


def test_equal_rows_need_nothing() -> None:
    space = dx.line(4)
    mechanism = dx.Mechanism.from_matrix(space, np.full((4, 4), 1 / 4))
    assert evaluate.smallest_delta(mechanism, 0.0) == 0.0
    assert evaluate.smallest_epsilon(mechanism) == 0.0


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda given: evaluate.smallest_delta(given, -1.0), "epsilon: is -1; give a finite number of 0 or more"),
        (lambda given: evaluate.smallest_delta(given, math.inf), "epsilon: is inf"),
        (lambda given: evaluate.smallest_delta(given, math.nan), "epsilon: is nan"),
        (lambda given: evaluate.smallest_delta(given, 1.0, pairs="some"), "pairs: is 'some'; choose one of all"),
        (lambda given: evaluate.smallest_epsilon(given, 1.5), "delta: is 1.5; give a number from 0 to 1"),
        (lambda given: evaluate.smallest_epsilon(given, pairs="some"), "pairs: is 'some'"),
        (lambda given: evaluate.privacy_profile(given, [1.0, -2.0]), "epsilon: is -2"),
    ],
)
def test_what_is_refused(asked: Any, message: str) -> None:
    with pytest.raises(dx.SpecError, match=message.replace("(", r"\(")):
        asked(response(2, 2.0))


def test_no_product_is_lost_among_the_smallest_numbers() -> None:
    tiny = 2.0**-1074
    channel = np.array([[2 * tiny, 1.0], [tiny, 1.0]])
    distances = 1 - np.eye(2)
    epsilon = math.log(1.6)
    assert exact_delta(channel, distances, epsilon)[0] > 0
    assert least_delta(channel, distances, epsilon, bound_pairs(distances)) > 0


def test_a_channel_far_from_a_tiny_delta_is_mixed_until_it_is_private() -> None:
    """Where one distance is 0 one way, what rows lack of 1 tells secrets apart, and hardly anything is allowed."""
    space = dx.MetricSpace.from_distances([[0, 0], [1.3077, 0]])
    asked = {"prior": dx.Prior.uniform(space), "loss": np.ones((2, 4)), "delta": 1e-9}
    problem = dx.Problem(space, epsilon=1e-3, **asked)
    proven = certify(problem, Candidate(np.array([[0.0042, 0, 0.9958, 0], [0, 0, 1, 0]])))
    mechanism = proven.mechanism
    proof = proven.certificate
    assert proof.delta <= 1e-9
    assert (mechanism.matrix >= 0).all()
