"""The truncated exponential mechanism: its formula, TEM's own way of drawing, and its radius."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.classic.catalogue import truncated_exponential
from tests.judges.exact import violations
from tests.material.instances import space_of

WORDS = dx.MetricSpace.from_points(np.random.default_rng(3).normal(size=(30, 6)))


def drawn(distances: np.ndarray, epsilon: float, radius: float) -> np.ndarray:
    """TEM step by step: words within γ by their distance, ⊥ with the score -γ + 2 ln(others)/ε for all others."""
    channel = np.zeros(distances.shape)
    for x, row in enumerate(distances):
        near = np.flatnonzero(row <= radius)
        others = np.flatnonzero(row > radius)
        scores = [-row[z] for z in near]
        if len(others):
            scores.append(-radius + 2 * math.log(len(others)) / epsilon)
        shares = [math.exp(epsilon * score / 2) for score in scores]
        total = math.fsum(shares)
        channel[x, near] = [share / total for share in shares[: len(near)]]
        if len(others):
            channel[x, others] = shares[-1] / total / len(others)
    return channel


@pytest.mark.parametrize("radius", [0.5, 2.5, 3.0, 100.0])
def test_it_is_drawn_as_the_paper_does(radius: float) -> None:
    mechanism = truncated_exponential(WORDS, epsilon=1.7, radius=radius)
    assert mechanism.matrix == pytest.approx(drawn(WORDS.distances, 1.7, radius), abs=1e-13)
    assert violations(mechanism.matrix, WORDS.distances, 1.7) == []
    # Private at the smaller distances min(d, γ) as well, which is why it is.
    assert violations(mechanism.matrix, np.minimum(WORDS.distances, radius), 1.7 * (1 + 1e-12)) == []


@pytest.mark.parametrize("kind", ["symmetric", "asymmetric", "extended", "pseudo"])
def test_private_on_any_space(kind: str) -> None:
    for seed in range(3):
        space = space_of(kind, 7, np.random.default_rng(seed))
        mechanism = truncated_exponential(space, epsilon=2.0, radius=float(np.median(space.distances)) + 0.1)
        assert violations(mechanism.matrix, space.distances, 2.0) == []


def test_without_an_end_it_is_the_exponential_mechanism() -> None:
    whole = dx.classic.exponential(WORDS, epsilon=1.7).matrix
    assert truncated_exponential(WORDS, epsilon=1.7, radius=1e6).matrix == pytest.approx(whole, abs=1e-15)
    assert truncated_exponential(WORDS, epsilon=1.7, radius=2.0).matrix != pytest.approx(whole, abs=1e-3)


@pytest.mark.parametrize("failure", [0.001, 0.2])
def test_the_radius_holds_as_often_as_is_promised(failure: float) -> None:
    """The secret alone within γ and 59 others beyond is the worst case: they have the share β exactly."""
    epsilon, far = 1.0, 1e3
    space = dx.MetricSpace.from_distances(far * (1 - np.eye(60)))
    matrix = truncated_exponential(space, epsilon=epsilon, failure=failure).matrix
    assert 1 - matrix.diagonal() == pytest.approx(failure, rel=1e-9)
    crowded = truncated_exponential(WORDS, epsilon=20.0, failure=failure).matrix
    radius = 2 / 20.0 * math.log((1 - failure) * 29 / failure)
    assert (WORDS.distances > radius).any()
    assert (crowded * (WORDS.distances > radius)).sum(axis=1).max() <= failure * (1 + 1e-11)


def test_reports_elsewhere_and_one_report() -> None:
    reports = dx.Reports.at(np.random.default_rng(4).normal(size=(5, 6)))
    mechanism = truncated_exponential(WORDS, epsilon=1.0, radius=2.0, reports=reports)
    apart = np.minimum(WORDS.distances_to(np.asarray(reports.points)), 2.0)
    kernel = np.exp(-0.5 * apart)
    assert mechanism.matrix == pytest.approx(kernel / kernel.sum(axis=1, keepdims=True), abs=1e-13)
    assert violations(mechanism.matrix, WORDS.distances, 1.0) == []
    assert truncated_exponential(dx.line(1), epsilon=1.0).matrix.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"radius": 0.0}, "^radius: "),
        ({"radius": math.inf}, "^radius: "),
        ({"failure": 0.0}, "^failure: "),
        ({"failure": 1.0}, "^failure: "),
    ],
)
def test_bad_parameters(options: dict[str, Any], wrong: str) -> None:
    with pytest.raises(dx.SpecError, match=wrong):
        truncated_exponential(WORDS, epsilon=1.0, **options)


def test_refused_without_distances_to_reports() -> None:
    with pytest.raises(dx.UnsupportedError, match="needs distances between secrets and reports"):
        truncated_exponential(dx.line(3), epsilon=1.0, reports=dx.Reports("ab"))
