"""Channels: validation, rows, sampling and post-processing."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx

MATRIX = np.array([[0.5, 0.25, 0.25], [0.125, 0.0, 0.875]])


@pytest.fixture
def mechanism() -> dx.Mechanism:
    space = dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=["left", "right"])
    return dx.Mechanism.from_matrix(space, MATRIX, dx.Reports(("a", "b", "c")), name="handmade")


def test_is_a_read_only_copy(mechanism: dx.Mechanism) -> None:
    source = MATRIX.copy()
    made = dx.Mechanism.from_matrix(mechanism.space, source, mechanism.reports)
    source[0, 0] = 0.0
    assert made.matrix[0, 0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        made.matrix[0, 0] = 1.0


@pytest.mark.parametrize(
    "matrix",
    [
        np.ones((3, 3)) / 3,
        np.ones((2, 2)) / 2,
        [[0.5, 0.6, -0.1], [1.0, 0.0, 0.0]],
        [[1.0, 0.0, 0.0], [np.nan, 0.5, 0.5]],
        [[1.0, 0.0, 0.0], [0.5, 0.5, 1e-8]],
    ],
)
def test_what_is_no_channel_is_refused(mechanism: dx.Mechanism, matrix: object) -> None:
    with pytest.raises(dx.SpecError) as refused:
        dx.Mechanism.from_matrix(mechanism.space, np.array(matrix), mechanism.reports)
    assert refused.value.field == "matrix"


def test_rows_by_index_or_label(mechanism: dx.Mechanism) -> None:
    assert np.array_equal(mechanism.row(index=1), MATRIX[1])
    assert np.array_equal(mechanism.row("right"), MATRIX[1])
    assert np.array_equal(mechanism.row(index=np.int64(0)), MATRIX[0])
    with pytest.raises(dx.SpecError, match="no point"):
        mechanism.row("middle")
    with pytest.raises(dx.SpecError, match="no point"):
        mechanism.row(1)


def test_sampling_frequencies(mechanism: dx.Mechanism) -> None:
    draws = mechanism.sample("right", 40_000, rng=np.random.default_rng(7))
    counts = np.bincount(draws, minlength=3)
    assert counts[1] == 0
    assert counts / 40_000 == pytest.approx(MATRIX[1], abs=0.01)
    left = np.bincount(mechanism.sample("left", 40_000, rng=np.random.default_rng(8)), minlength=3)
    assert left / 40_000 == pytest.approx(MATRIX[0], abs=0.015)


def test_sampling_is_repeatable_with_a_generator_only(mechanism: dx.Mechanism) -> None:
    first, second = (mechanism.sample("left", 50, rng=np.random.default_rng(1)) for _ in range(2))
    assert np.array_equal(first, second)
    np.random.seed(0)
    third = mechanism.sample("left", 200)
    np.random.seed(0)
    fourth = mechanism.sample("left", 200)
    assert not np.array_equal(third, fourth)
    assert set(third) <= {0, 1, 2}


class Extreme(np.random.Generator):
    """A generator that returns the ends of [0, 1)."""

    def __init__(self, value: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.value = value

    def random(self, size: int) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        return np.full(size, self.value)


@pytest.mark.parametrize("value", [0.0, 1 - 2.0**-53])
def test_sampling_never_leaves_the_support(value: float) -> None:
    space = dx.line(1)
    for row in ([0.0, 0.3, 0.7, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0] + [0.1] * 10 + [0.0]):
        reports = dx.Reports(tuple("abcdefghijklm"[: len(row)]))
        mechanism = dx.Mechanism.from_matrix(space, [row], reports)
        (drawn,) = mechanism.sample(0, rng=Extreme(value))
        assert row[drawn] > 0


def test_remap(mechanism: dx.Mechanism) -> None:
    remapped = mechanism.remap([2, 2, 0])
    assert np.array_equal(remapped.matrix, [[0.25, 0.0, 0.75], [0.875, 0.0, 0.125]])
    renamed = mechanism.remap([0, 1, 1], dx.Reports(("yes", "no")))
    assert renamed.reports.labels == ("yes", "no")
    assert np.array_equal(renamed.matrix, [[0.5, 0.5], [0.125, 0.875]])
    for table in ([0, 1], [0, 1, 3], [0, 1, -1], [0.0, 1.0, 2.0]):
        with pytest.raises(dx.SpecError, match="table"):
            mechanism.remap(table)


def test_compose(mechanism: dx.Mechanism) -> None:
    then = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    composed = mechanism.compose(then)
    assert composed.matrix == pytest.approx(np.array([[0.625, 0.375], [0.125, 0.875]]))
    assert composed.reports.labels == ("0", "1")
    square = mechanism.compose(np.eye(3)[[1, 2, 0]])
    assert square.reports.labels == ("a", "b", "c")
    assert np.array_equal(square.matrix, MATRIX[:, [2, 0, 1]])
    with pytest.raises(dx.SpecError, match="then"):
        mechanism.compose(np.eye(2))
    with pytest.raises(dx.SpecError, match="row"):
        mechanism.compose(np.full((3, 2), 0.4))
    with pytest.raises(dx.SpecError, match="entry"):
        mechanism.compose([[2.0, -1.0], [1.0, 0.0], [1.0, 0.0]])


@pytest.mark.filterwarnings("ignore")
def test_post_processing_keeps_epsilon_and_delta_up_to_rounding() -> None:
    seen = set()
    for seed in range(270, 290):
        rng = np.random.default_rng(seed)
        reports = dx.Reports(["a", "b", "c"])
        loss = rng.uniform(0, 3, size=(2, 3))
        problem = dx.Problem(
            dx.line(2), epsilon=0.01, delta=0.2, prior=rng.dirichlet([1, 1]), loss=loss, reports=reports
        )
        solved = dx.solve(problem).mechanism
        assert solved.privacy is not None
        for made in (solved.remap([0, 1, 2]), solved.remap([1, 1, 0]), solved.compose(rng.dirichlet(np.ones(3), 3))):
            assert made.privacy is not None
            assert made.privacy.epsilon <= solved.privacy.epsilon * (1 + 1e-12)
            assert made.privacy.delta <= solved.privacy.delta * (1 + 1e-12)
            found = dx.certify(made, made.space, max(made.privacy.epsilon, 1e-300), delta=made.privacy.delta)
            assert found.privacy is not None and found.privacy.delta <= made.privacy.delta
            seen.add(made.privacy.epsilon == solved.privacy.epsilon)
    assert seen == {False, True}


def test_says_what_it_is(mechanism: dx.Mechanism) -> None:
    assert "handmade" in repr(mechanism)
    assert "2 secrets, 3 reports" in repr(mechanism)
