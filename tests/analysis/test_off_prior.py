"""Secrets off the prior: whom a mechanism costs most, and what it never reports, with a matrix and without."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dxopt as dx
from dxopt.model.loss import Reports
from dxopt.model.mechanism import MatrixMechanism, Mechanism
from tests.material.checks import there


def poisson(size: int, mean: float) -> list[float]:
    return [math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(size)]


def test_by_hand() -> None:
    space = dx.line(3)
    mechanism = dx.Mechanism.from_matrix(space, [[0.5, 0.5, 0], [0.25, 0.75 - 1e-7, 1e-7], [0, 1, 0]])
    prior = dx.Prior.from_weights(space, [0, 1, 0])
    found = dx.evaluate.off_prior(mechanism, prior)
    np.testing.assert_allclose(there(found.losses), [0.5, 0.25 + 1e-7, 1.0])
    assert (found.worst, found.worst_unlikely) == (2, 2)
    assert found.unlikely.tolist() == dx.evaluate.off_prior(mechanism, [0, 1, 0]).unlikely.tolist() == [0, 2]
    assert found.mean_unlikely == pytest.approx(0.75)
    named = (found.never, found.hardly, found.not_reported)
    assert [there(which).tolist() for which in named] == [[], [2], [2]]
    with pytest.raises(dx.SpecError, match=r"^prior: "):
        dx.evaluate.off_prior(mechanism, dx.Prior.uniform(dx.line(4)))


def test_infinite_losses() -> None:
    space = dx.line(2)
    mechanism = dx.Mechanism.from_matrix(space, [[1, 0], [0.5, 0.5]])
    found = dx.evaluate.off_prior(mechanism, dx.Prior.from_weights(space, [1, 0]), [[0, np.inf], [np.inf, 0]])
    assert there(found.losses).tolist() == [0.0, math.inf]
    assert found.mean_unlikely == math.inf


def test_the_poisson_of_an_optimum_never_reports_what_is_unlikely() -> None:
    space = dx.line(61)
    report = dx.solve(dx.Problem(space, epsilon=1, prior=dx.Prior.from_weights(space, poisson(61, 14))))
    assert report.off_prior.worst == 60
    assert there(report.off_prior.losses)[60] == pytest.approx(22, abs=1e-4)
    assert {*range(5), *range(39, 61)} <= set(there(report.off_prior.never).tolist())


def implicit() -> list[tuple[Mechanism, str]]:
    line = dx.line(400)
    uneven = dx.Prior.from_weights(line, [*poisson(400, 14)])
    remapped = dx.solve(dx.Problem(line, epsilon=1, prior=uneven)).mechanism
    grid = dx.grid((20, 22), metric="manhattan")
    weights = np.multiply.outer(np.arange(20) % 5, np.arange(22) % 3).ravel()
    product = dx.solve(dx.Problem(grid, epsilon=0.3, prior=dx.Prior.from_weights(grid, weights)))
    return [
        (remapped, "distance"),
        (remapped, "squared"),
        (product.mechanism, "distance"),
        (dx.tight_constraints(dx.line(50), 1.5), "distance"),
        (dx.tight_constraints(dx.grid((7, 8)), 2.0), "binary"),
        (dx.tight_constraints(dx.product(dx.line(3), dx.line(4)), 2.0), "distance"),
        (dx.classic.planar_laplace(dx.grid((20, 20)), epsilon=1.0), "distance"),
    ]


@pytest.fixture(scope="module")
def mechanisms() -> list[tuple[Mechanism, str]]:
    return implicit()


def test_structure_says_what_the_matrix_says(mechanisms: list[tuple[Mechanism, str]]) -> None:
    for mechanism, loss in mechanisms:
        assert not isinstance(mechanism, MatrixMechanism)
        prior = dx.Prior.uniform(mechanism.space)
        found = dx.evaluate.off_prior(mechanism, prior, loss)
        written = dx.Mechanism.from_matrix(mechanism.space, mechanism.matrix, mechanism.reports)
        wanted = dx.evaluate.off_prior(written, prior, loss)
        np.testing.assert_allclose(there(found.losses), there(wanted.losses), rtol=1e-9, err_msg=mechanism.name)
        assert found.hardly is None
        if mechanism.reported() is not None:
            assert there(found.never).tolist() == there(wanted.never).tolist(), mechanism.name


def test_a_product_of_a_million_secrets() -> None:
    space = dx.grid((1000, 1000), metric="manhattan")
    report = dx.solve(dx.Problem(space, epsilon=0.1, prior=dx.Prior.uniform(space)))
    found = report.off_prior
    row = report.mechanism.row(index=found.worst)
    assert there(found.losses)[there(found.worst)] == pytest.approx(
        float(row @ space.row(index=found.worst)), rel=1e-9
    )
    assert 0 < len(there(found.never)) < 1_000_000
    assert report.mechanism.row(index=0)[found.never].max() == 0


def test_what_structure_does_not_say_is_left_out() -> None:
    space = dx.grid((1000, 1000), metric="manhattan")
    report = dx.solve(dx.Problem(space, epsilon=0.1, prior=dx.Prior.uniform(space)))
    assert dx.evaluate.off_prior(report.mechanism, report.problem.prior, "squared").losses is None


def test_reports_elsewhere() -> None:
    space = dx.line(2)
    reports = Reports.at([[0.5], [5.0]])
    mechanism = dx.Mechanism.from_matrix(space, [[1, 0], [1, 0]], reports)
    found = dx.evaluate.off_prior(mechanism, dx.Prior.uniform(space))
    assert there(found.losses).tolist() == [0.5, 0.5]
    assert there(found.never).tolist() == [1]
