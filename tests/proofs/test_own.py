"""A proof for mechanisms of one's own: refused where they are not private, and never changed in silence."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dxopt as dx
from tests.judges.exact import violations

LINE = dx.line(5)


def kernel(epsilon: float, space: dx.MetricSpace = LINE) -> np.ndarray:
    rows = np.exp(-epsilon * space.distances)
    return rows / rows.sum(axis=1, keepdims=True)


def test_a_private_matrix_is_proven_as_it_is() -> None:
    matrix = kernel(0.5)
    proven = dx.certify(matrix, LINE, 1.0, name="mine")
    assert np.array_equal(proven.matrix, matrix)
    assert proven.name == "mine"
    assert proven.reports.secrets
    assert proven.privacy is not None
    assert proven.privacy.epsilon <= 1.0
    assert proven.privacy.epsilon == pytest.approx(dx.evaluate.smallest_epsilon(proven), rel=1e-9)
    assert violations(proven.matrix, LINE.distances, proven.privacy.epsilon) == []
    dx.integer_table(proven).check()


def test_how_far_a_repair_moved_entries_at_most_is_no_less_than_it_did() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        raw = kernel(rng.uniform(0.1, 2)) + rng.uniform(-1e-7, 1e-7, (5, 5))
        repaired = dx.certify(raw, LINE, repair=True)
        assert repaired.privacy is not None
        (told,) = re.findall(r"at most ([-+.e0-9]+);", repaired.privacy.how)
        assert float(told) >= np.abs(repaired.matrix - raw).max()


def test_it_is_saved_and_proven_again(tmp_path: object) -> None:
    proven = dx.certify(kernel(0.5), LINE, "ln(4)")
    again = dx.Mechanism.load(proven.save(f"{tmp_path}/own.npz"))
    assert again.privacy == proven.privacy
    assert np.array_equal(again.matrix, proven.matrix)


@pytest.mark.parametrize("level", [0.2, 0.9, 1.2])
def test_a_matrix_that_is_not_private_is_refused_with_the_pair_and_the_level(level: float) -> None:
    with pytest.raises(dx.SpecError, match=r"^matrix: ") as refused:
        dx.certify(kernel(1.0), LINE, level)
    # the level that the message advises is enough, and hardly more than the least
    advised = float(refused.value.fix.split()[2])
    assert dx.certify(kernel(1.0), LINE, advised).privacy is not None
    assert advised <= dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(LINE, kernel(1.0))) * (1 + 1e-5)


def test_the_pair_of_the_message_is_the_worst_one() -> None:
    matrix = np.full((5, 5), 0.2)
    matrix[3] = [0.2, 0.2, 0.1, 0.2, 0.3]
    with pytest.raises(dx.SpecError) as refused:
        dx.certify(matrix, LINE, 0.1)
    assert (
        "report 2 has probability 0.2 for 2 and 0.1 for 3, 1 apart, a factor 2 where 1.10517" in refused.value.wrong
    )
    assert "give epsilon 0.693148 or more" in refused.value.fix


def test_repair_is_asked_for_and_said() -> None:
    matrix = kernel(0.5)
    matrix[0] = [*(matrix[0, :4] + matrix[0, 4] / 4), 0]
    matrix[:, 4] = [0, 1e-9, 0, 0, 0]
    matrix /= matrix.sum(axis=1, keepdims=True)
    with pytest.raises(dx.SpecError, match=r"private at no epsilon: .* write dx\.certify\(\.\.\., repair=True\)"):
        dx.certify(matrix, LINE, 1.0)
    repaired = dx.certify(matrix, LINE, 1.0, repair=True)
    assert repaired.privacy is not None
    assert repaired.privacy.how.startswith("repair moved entries by at most")
    assert violations(repaired.matrix, LINE.distances, 1.0) == []


def test_a_mechanism_at_the_limit_is_off_by_rounding_only() -> None:
    alpha = math.exp(-1.0)
    ends = np.array([1.0, 0, 0, 0, 1.0]) * (1 / (1 + alpha)) + np.array([0, 1.0, 1, 1, 0]) * (
        (1 - alpha) / (1 + alpha)
    )
    matrix = alpha**LINE.distances * ends
    with pytest.raises(
        dx.SpecError, match=r"is private but for rounding: .*; write dx\.certify\(\.\.\., repair=True\)"
    ):
        dx.certify(matrix, LINE, 1.0)
    assert np.abs(dx.certify(matrix, LINE, 1.0, repair=True).matrix - matrix).max() < 1e-13


def test_a_ratio_of_2_is_above_what_the_double_of_ln_2_allows() -> None:
    matrix = (np.ones((11, 11)) + np.eye(11)) / 12
    reason = (
        r"a ratio of 2, above e\^\(epsilon d\) = 1\.99999999999999995, as epsilon is the double 0\.6931471805599453;"
    )
    with pytest.raises(dx.SpecError, match=reason):
        dx.certify(matrix, dx.line(11), "ln(2)")


def test_delta_counts() -> None:
    matrix = dx.classic.randomised_response(LINE, epsilon=1.0).matrix
    with pytest.raises(dx.SpecError, match=r"is told from .* by delta .*, above 0.001; give delta"):
        dx.certify(matrix, LINE, 0.5, delta=1e-3)
    proven = dx.certify(matrix, LINE, 0.5, delta=0.5)
    assert proven.privacy is not None
    assert proven.privacy.delta == dx.evaluate.smallest_delta(proven, 0.5)


def test_rows_that_do_not_sum_to_1_are_not_scaled_in_silence() -> None:
    with pytest.raises(dx.SpecError, match=r"row \d sums to 1 only within 1.1e-11; 8.9e-16 is allowed; divide each"):
        dx.certify(kernel(0.5) * (1 + 1e-11), LINE, 1.0)
    with pytest.raises(dx.SpecError, match=r"^matrix: "):
        dx.certify(np.ones((5, 5)), LINE, 1.0)


def test_points_at_distance_0_need_equal_rows() -> None:
    space = dx.MetricSpace.from_distances([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    with pytest.raises(dx.SpecError, match=r"is private at no epsilon: .* which are at distance 0"):
        dx.certify([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]], space, 1.0)
    assert dx.certify([[0.4, 0.4, 0.2], [0.4, 0.4, 0.2], [0.3, 0.3, 0.4]], space, 1.0).privacy is not None


def test_what_does_not_fit_is_refused() -> None:
    frame = pd.DataFrame(np.eye(5))
    other = dx.MetricSpace.from_distances(LINE.distances, labels=list("abcde"))
    fair = dx.Mechanism.from_matrix(LINE, kernel(0.5))
    for given, space, message in (
        (np.full((4, 5), 0.2), LINE, r"matrix: has shape \(4, 5\); give a row of probabilities for each of the 5"),
        ("a.npz", LINE, "matrix: is of type str, not numbers; give an array of probabilities, or a mechanism"),
        (frame, LINE, "matrix: is a DataFrame, which has labels of its own; use dx.mechanism_from_frame"),
        (fair, dx.line(4), "mechanism: mechanism has 5 secrets and 5 reports, not 4 secrets"),
        (fair, other, "mechanism: mechanism has other secrets: number 0 is '0', not 'a'; give its matrix"),
        (fair, "town", "space: is of type str; give a dx.MetricSpace"),
    ):
        with pytest.raises(dx.SpecError, match=message):
            dx.certify(given, space, 1.0)  # pyright: ignore[reportArgumentType]


def test_a_mechanism_has_the_reports_that_are_asked_for() -> None:
    """Those of its own where none are; others of the same number are no reports of it."""
    fair = dx.Mechanism.from_matrix(LINE, kernel(0.5), dx.Reports(tuple("abcde")))
    assert dx.certify(fair, LINE, 1.0).reports is fair.reports
    assert dx.certify(fair, LINE, 1.0, reports=dx.Reports(tuple("abcde"))).privacy is not None
    with pytest.raises(dx.SpecError, match="mechanism has other reports: number 2 is 'c', not 'x'"):
        dx.certify(fair, LINE, 1.0, reports=dx.Reports(tuple("abxde")))


def test_the_distances_of_the_space_count() -> None:
    mechanism = dx.classic.geometric(LINE, epsilon=1.0)
    far = dx.MetricSpace.from_distances(3 * LINE.distances, labels=LINE.labels)
    near = dx.MetricSpace.from_distances(LINE.distances / 3, labels=LINE.labels)
    proven = dx.certify(mechanism, far, 1.0).privacy
    assert proven is not None
    assert proven.epsilon == pytest.approx(1 / 3)
    with pytest.raises(dx.SpecError, match=r"give epsilon 3 or more|give epsilon 3.00001 or more"):
        dx.certify(mechanism, near, 1.0)


def test_reports_other_than_the_secrets() -> None:
    wide = np.full((5, 8), 1 / 8)
    assert dx.certify(wide, LINE, 1.0).reports.labels == tuple("01234567")
    reports = dx.Reports.at([[0.0], [4.0]], labels=["low", "high"])
    assert dx.certify(np.full((5, 2), 0.5), LINE, 1.0, reports=reports).reports is reports


@pytest.mark.parametrize(
    "make",
    [
        lambda: dx.tight_constraints(dx.line(1000), 1.0),
        lambda: dx.solve(dx.Problem(dx.line(1000), epsilon=1.0, prior="uniform")).mechanism,
        lambda: dx.solve(dx.Problem(dx.grid((40, 40), metric="manhattan"), epsilon=1.0, prior="uniform")).mechanism,
        lambda: dx.tight_constraints(dx.grid((20, 20), metric="manhattan"), 1.0),
    ],
    ids=["kernel", "remapped", "product", "tight product"],
)
def test_implicit_mechanisms_are_proven_from_what_they_follow_from(make: object) -> None:
    mechanism = make()  # pyright: ignore
    assert dx.certify(mechanism, mechanism.space, 1.0).privacy is not None
    assert dx.certify(mechanism, mechanism.space, 2.0).privacy is not None
    with pytest.raises(dx.SpecError):
        dx.certify(mechanism, mechanism.space, 0.5)


def test_the_claim_of_a_mechanism_is_no_proof() -> None:
    claimed = dx.Mechanism.from_matrix(LINE, kernel(2.0), privacy=dx.Privacy(0.1, "as I say"))
    with pytest.raises(dx.SpecError, match="is not private at epsilon 1"):
        dx.certify(claimed, LINE, 1.0)


def test_a_forged_implicit_mechanism_is_not_proven() -> None:
    large = dx.line(1000)
    mechanism = dx.tight_constraints(large, 1.0)
    object.__setattr__(mechanism, "privacy", dx.Privacy(0.5, "as I say"))
    with pytest.raises(dx.SpecError):
        dx.certify(mechanism, large, 0.5)


def test_a_random_matrix_is_proven_exactly_where_it_is_private() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        space = dx.MetricSpace.from_points(rng.normal(size=(4, 2)))
        rows = rng.random((4, 3)) ** 2 + 1e-3
        matrix = rows / rows.sum(axis=1, keepdims=True)
        least = dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(space, matrix, dx.Reports(("a", "b", "c"))))
        if max(abs(sum(map(Fraction, row)) - 1) for row in matrix.tolist()) > Fraction(2) ** -51:
            continue
        assert dx.certify(matrix, space, least * (1 + 1e-9)).privacy is not None
        with pytest.raises(dx.SpecError, match="is not private"):
            dx.certify(matrix, space, least * (1 - 1e-6))


@pytest.mark.parametrize("step", [1e-12, 1e-9, 1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_advised_level_is_one(step: float, seed: int) -> None:
    """However near secrets are, where roundings count more; and a matrix at its level is private but for these."""
    space = dx.line(3, step=step)
    rng = np.random.default_rng(seed)
    kernel = np.exp(-0.1 * step * np.abs(np.subtract.outer(range(3), range(3)))) * rng.dirichlet(np.ones(3))
    matrix = kernel / kernel.sum(axis=1, keepdims=True)
    with pytest.raises(dx.SpecError, match="is not private") as caught:
        dx.certify(matrix, space, 1e-4)
    least = float(caught.value.fix.split()[2])
    assert dx.certify(matrix, space, least).privacy is not None
    levels = np.abs(np.log(matrix[:-1] / matrix[1:])).max() / step
    try:
        dx.certify(matrix, space, float(levels))
    except dx.SpecError as error:
        assert "but for rounding" in error.wrong
        assert dx.certify(matrix, space, float(levels), repair=True).privacy is not None
