"""The level that a matrix has, where none is asked for, and up to the dust that a solver left."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.errors import SpecError
from dxopt.numerics.number_syntax import level_text
from tests.judges.exact import violations

LINE = dx.line(6)
PROBLEM = dx.Problem(LINE, epsilon=2.0, prior="uniform")
LIMIT = 1e-3
LOSS = np.abs(np.subtract.outer(range(6), np.insert(np.arange(6.0), [2, 4], 0.0)))
"""The loss of the reports of `dusty`."""


def exact_level(matrix: np.ndarray, space: dx.MetricSpace) -> float:
    """The least ε of a matrix of positive entries: ln of exact ratios, each over its distance."""
    rows = [[Fraction(entry) for entry in row] for row in matrix.tolist()]
    levels = [0.0]
    for x, first in enumerate(rows):
        for other, second in enumerate(rows):
            if x != other:
                ratio = max(a / b for a, b in zip(first, second, strict=True))
                levels.append((math.log(ratio.numerator) - math.log(ratio.denominator)) / space.distances[x, other])
    return max(levels)


def clean(level: float = 0.6) -> np.ndarray:
    rows = np.exp(-0.9 * level * LINE.distances) * [1, 2, 1, 1, 3, 1]
    return rows / rows.sum(axis=1, keepdims=True)


def dusty(below: float, *, clipped: bool, seed: int = 0) -> tuple[np.ndarray, float]:
    """A matrix whose entries are off by `below`, which is all that two reports have; and its level without that."""
    kept = clean()
    level = exact_level(kept, LINE)
    matrix = np.insert(kept, [2, 4], 0.0, axis=1)
    matrix += below * np.random.default_rng(seed).uniform(-1, 1, matrix.shape)
    if clipped:
        matrix = np.maximum(matrix, 0)
        matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix, level


@pytest.mark.parametrize("seed", range(6))
def test_the_level_is_the_least_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = dx.MetricSpace.from_points(rng.normal(size=(4, 2)) * 10.0 ** rng.uniform(-3, 3))
    raw = rng.random((4, 4)) + 1e-3
    matrix = raw / raw.sum(axis=1, keepdims=True)
    proven = dx.certify(matrix, space)
    assert np.array_equal(proven.matrix, matrix)
    assert proven.privacy is not None
    assert proven.privacy.epsilon == pytest.approx(exact_level(matrix, space), rel=1e-12)
    assert violations(matrix, space.distances, proven.privacy.epsilon) == []
    assert violations(matrix, space.distances, proven.privacy.epsilon * (1 - 1e-9)) != []


@pytest.mark.parametrize("clipped", [False, True])
@pytest.mark.parametrize("below", [1e-12, 5e-10, 1e-7])
def test_dust_does_not_count(below: float, clipped: bool) -> None:
    matrix, level = dusty(below, clipped=clipped)
    for asked in ("least", 1.0, 3.0):
        proven = dx.certify(matrix, LINE, asked, repair=True)
        assert proven.privacy is not None
        assert proven.privacy.epsilon == pytest.approx(level, rel=100 * below + 1e-9)
        assert np.abs(proven.matrix - matrix).max() <= 20 * below
        assert violations(proven.matrix, LINE.distances, proven.privacy.epsilon) == []


@pytest.mark.parametrize("clipped", [False, True])
def test_what_is_asked_below_the_level_is_refused_with_it(clipped: bool) -> None:
    matrix, level = dusty(1e-9, clipped=clipped)
    with pytest.raises(dx.SpecError) as caught:
        dx.certify(matrix, LINE, 0.8 * level, repair=True)
    advised = float(caught.value.fix.split()[2])
    assert level <= advised <= level * (1 + 1e-5)
    assert dx.certify(matrix, LINE, advised, repair=True).privacy is not None
    posed = PROBLEM.but(loss=LOSS, epsilon=0.8 * level)
    row = dx.compare(posed, {"mine": matrix}).rows[1]
    assert row.value is None
    assert row.note == f"{caught.value.wrong}; {caught.value.fix}"
    assert "no epsilon" not in row.note
    with pytest.raises(dx.SpecError) as tied:
        dx.tie(posed, matrix)
    assert (tied.value.wrong, tied.value.fix) == (caught.value.wrong, caught.value.fix)


@pytest.mark.parametrize("part", [1e-5, 1e-4, 1e-3, 2e-3, 4e-3, 1e-2])
def test_one_limit_for_all_repairs(part: float) -> None:
    matrix = clean()
    level = exact_level(matrix, LINE) * (1 - part)
    row = dx.compare(PROBLEM.at(level), {"mine": matrix}).rows[1]
    swept = dx.sweep(PROBLEM, [level], {"mine": matrix}).values
    try:
        repaired = dx.certify(matrix, LINE, level, repair=True)
    except dx.SpecError:
        assert part > 1e-4
        assert row.value is None
        assert "mine" not in swept
        return
    assert part < 1e-2
    assert np.abs(repaired.matrix - matrix).sum(axis=1).max() <= LIMIT
    assert violations(repaired.matrix, LINE.distances, level) == []
    assert row.private
    assert row.value == swept["mine"][0] == pytest.approx(dx.evaluate.expected_loss(repaired, "uniform"), rel=1e-12)


def test_rows_that_are_nearly_alike_and_off_1_are_not_moved_by_more_than_they_are_off() -> None:
    off = 1 + 9e-7 * np.array([1, -1, 1, -1, 1, -1])
    matrix = clean(1e-3) * off[:, None]
    proven = dx.certify(matrix, LINE, repair=True)
    assert proven.privacy is not None
    assert proven.privacy.epsilon == pytest.approx(exact_level(clean(1e-3), LINE), rel=1e-2)
    assert np.abs(proven.matrix - matrix).max() <= 1e-6


def test_comparisons_and_ties_know_the_level_of_a_dusty_matrix() -> None:
    matrix, level = dusty(1e-9, clipped=True)
    found = dx.compare(PROBLEM.but(loss=LOSS), {"mine": matrix})
    assert found.rows[1].epsilon == pytest.approx(level, rel=1e-6)
    assert f"mine ({level_text(level)})" in str(found)
    tied = dx.tie(PROBLEM.but(loss=LOSS), matrix, accuracy=1e-4)
    assert tied.problem.epsilon == pytest.approx(level, rel=1e-6)
    assert tied.share == pytest.approx(tied.epsilon / level, rel=1e-6)


def test_with_delta() -> None:
    matrix = dx.classic.randomised_response(LINE, epsilon=1.0).matrix
    proven = dx.certify(matrix, LINE, delta=0.05)
    assert proven.privacy is not None
    assert proven.privacy.delta <= 0.05
    same, other = matrix[0, :2]  # between neighbours, one report is more likely, by more than δ allows
    assert proven.privacy.epsilon == pytest.approx(math.log((same - 0.05) / other), rel=1e-9)
    dust = matrix + 1e-9 * np.random.default_rng(0).uniform(-1, 1, matrix.shape)
    mended = dx.certify(dust, LINE, delta=0.05, repair=True).privacy
    assert mended is not None
    assert mended.delta <= 0.05
    assert mended.epsilon == pytest.approx(proven.privacy.epsilon, rel=1e-6)


def test_where_there_is_no_level() -> None:
    for delta in (0.0, 0.1):
        with pytest.raises(dx.SpecError) as caught:
            dx.certify(np.eye(6), LINE, delta=delta)
        assert caught.value.field == "matrix"
    constant = dx.certify(np.full((6, 6), 1 / 6), LINE).privacy
    assert constant is not None
    assert constant.epsilon < 1e-13


@pytest.mark.parametrize(("off", "mended"), [(1e-9, True), (1e-2, False)])
def test_rows_at_distance_0_are_alike_up_to_dust(off: float, mended: bool) -> None:
    space = dx.MetricSpace.from_distances([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    matrix = np.array([[0.4 + off, 0.4 - off, 0.2], [0.4, 0.4, 0.2], [0.3, 0.3, 0.4]])
    for repair, epsilon in ((False, "least"), (False, 1.0), (True, "least"), (True, 1.0)):
        if repair and mended:
            proven = dx.certify(matrix, space, epsilon, repair=True)
            assert np.array_equal(proven.matrix[0], proven.matrix[1])
            assert proven.privacy is not None
            assert proven.privacy.epsilon == pytest.approx(math.log(2), rel=1e-6)
        else:
            with pytest.raises(dx.SpecError) as caught:
                dx.certify(matrix, space, epsilon, repair=repair)
            assert "at distance 0" in caught.value.wrong
            assert ("repair=True" in caught.value.fix) is mended


def test_large_ones_have_the_level_that_they_were_made_for() -> None:
    made = dx.tight_constraints(dx.line(1000), 1.0)
    assert dx.certify(made, made.space).privacy == made.privacy


@pytest.mark.parametrize(("entry", "mended"), [(-5e-10, True), (-1e-6, True), (-1e-3, False)])
def test_entries_just_below_0_are_told_what_mends_them(entry: float, mended: bool) -> None:
    matrix = clean()
    matrix[2, 0], matrix[2, 1] = entry, matrix[2, 1] + matrix[2, 0] - entry
    for call in (dx.Mechanism.from_matrix, lambda space, matrix: dx.certify(matrix, space, 1.0)):
        with pytest.raises(dx.SpecError) as caught:
            call(LINE, matrix)
        assert caught.value.field == "matrix"
        assert ("repair=True" in caught.value.fix) is mended


@pytest.mark.parametrize("epsilon", [None, 0, -1, float("nan"), "most"])
def test_the_least_level_is_asked_for_and_not_left_to_a_missing_one(epsilon: Any) -> None:
    with pytest.raises(SpecError) as refused:
        dx.certify([[0.7, 0.3], [0.3, 0.7]], dx.line(2), epsilon)
    assert refused.value.field == "epsilon"
