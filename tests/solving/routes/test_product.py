"""Products: the optima of the factors added up, written down and implicit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.product import ProductMechanism, epsilon_of_factors, product_mechanism
from dxopt.model.factors import split
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.duals import ProductDual
from dxopt.solving.routes import limits
from dxopt.spaces.products import sides
from tests.judges.exact import infinite_leakage, row_sum_errors, violations
from tests.judges.oracle import optimum
from tests.material.checks import assert_proven, change_array

CLOSE = 1e-7


def masses(*sizes: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    parts = [rng.random(size) * (np.arange(size) % 4 != 2) + 1e-9 for size in sizes]
    return reduce(np.kron, parts)


def problem_on(space: dx.MetricSpace, epsilon: float = 0.8, **options: object) -> dx.Problem:
    sizes = [len(side) for side in sides(space)]
    return dx.Problem(space, epsilon=epsilon, prior=dx.Prior.from_weights(space, masses(*sizes)), **options)  # pyright: ignore[reportArgumentType]


def rough(size: int, seed: int) -> dx.MetricSpace:
    """No structure."""
    return dx.MetricSpace.from_points(np.random.default_rng(seed).random((size, 2)) * 3)


SPACES = {
    "grid": lambda: dx.grid((4, 3), metric="manhattan", spacing=0.7),
    "lines": lambda: dx.product(dx.line(3), dx.MetricSpace.from_points([0.0, 0.4, 2.0])),
    "three": lambda: dx.product(dx.line(2), dx.line(3), dx.line(2)),
    "general": lambda: dx.product(rough(4, 1), dx.line(3)),
    "product of products": lambda: dx.product(
        dx.product(dx.line(2), rough(2, 3)), dx.grid((2, 2), metric="manhattan")
    ),
    "recognised": lambda: dx.MetricSpace.from_points(
        [[x, y] for x in (0.0, 1.0, 3.0) for y in (0.0, 0.5)], "manhattan"
    ),
    "records": lambda: dx.MetricSpace.from_points(
        [[x, y] for x in (0.0, 1.0, 3.0) for y in (0.0, 0.7, 1.0)], "normalised_manhattan"
    ),
    "twins": lambda: dx.product(dx.MetricSpace.from_distances([[0, 0, 1], [0, 0, 1], [1, 1, 0]]), dx.line(2)),
    "asymmetric": lambda: dx.product(
        dx.MetricSpace.from_distances([[0, 1, 1.5], [0.5, 0, 1], [1.5, 1, 0]]), dx.line(3)
    ),
}


def oracle(problem: dx.Problem) -> float:
    return optimum(
        problem.space.distances, problem.epsilon, problem.prior.probabilities, np.array(problem.loss.matrix)
    )


@pytest.fixture
def implicit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(limits, "WRITTEN_CELLS", 0)
    yield


@pytest.mark.parametrize("name", SPACES)
def test_optimum(name: str) -> None:
    problem = problem_on(SPACES[name]())
    report, value = dx.solve(problem), oracle(problem)
    assert report.route.startswith("product of")
    assert_proven(report)
    assert report.certificate.value == pytest.approx(value, abs=CLOSE)
    assert report.certificate.bound <= value + 1e-9
    assert report.reductions[0].name == "product"
    assert report.reductions[0].before == len(problem.space) ** 2


@pytest.mark.parametrize("name", SPACES)
def test_implicit_products_are_private_and_optimal(name: str, implicit: None) -> None:
    problem = problem_on(SPACES[name]())
    report, value = dx.solve(problem), oracle(problem)
    mechanism, proof = report.mechanism, report.certificate
    assert isinstance(mechanism, ProductMechanism)
    assert isinstance(report.dual, ProductDual)
    matrix, distances = mechanism.matrix, problem.space.distances
    assert infinite_leakage(matrix, distances) == []
    assert violations(matrix, distances, problem.epsilon) == []
    assert max(map(abs, row_sum_errors(matrix))) <= 2.0**-50
    assert proof.value == pytest.approx(value, abs=CLOSE)
    assert proof.bound <= value + 1e-9
    assert proof.value == pytest.approx(float((problem.costs * matrix).sum()), rel=1e-12)


def test_a_hundred_points_with_budgets_beyond_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three written factors whose least entries multiply to less than the smallest double."""
    monkeypatch.setattr(limits, "WRITTEN_CELLS", 150)
    space = dx.grid((5, 5, 5), metric="manhattan")
    report = dx.solve(problem_on(space, epsilon=90.0), tolerance=0.5)
    assert isinstance(report.mechanism, ProductMechanism)
    least = [float(factor.matrix.min()) for factor in report.mechanism.factors]
    assert min(least) > 0 == np.prod(least)
    matrix = report.mechanism.matrix
    assert matrix.min() > 0
    assert violations(matrix, space.distances, 90.0) == []
    assert max(map(abs, row_sum_errors(matrix))) <= 2.0**-50


def test_evaluations_agree_with_the_matrix(implicit: None) -> None:
    problem = problem_on(dx.grid((5, 4), metric="manhattan"))
    mechanism = dx.solve(problem).mechanism
    written = dx.Mechanism.from_matrix(problem.space, mechanism.matrix)
    other = dx.Prior.from_weights(problem.space, 1.0 + np.arange(20) % 7)
    for prior in (problem.prior, other):
        assert dx.evaluate.utility(mechanism, prior) == pytest.approx(dx.evaluate.utility(written, prior), rel=1e-10)
        for loss in ("distance", "squared", "binary"):
            expected = dx.evaluate.expected_loss(written, prior, loss)
            assert dx.evaluate.expected_loss(mechanism, prior, loss) == pytest.approx(expected, rel=1e-10)
    secret, draws = 7, 40_000
    counted = np.bincount(mechanism.sample(index=secret, size=draws, rng=np.random.default_rng(5)), minlength=20)
    assert np.abs(counted - draws * mechanism.row(index=secret)).max() < 5 * np.sqrt(draws / 4)


def test_losses_as_matrices_are_tested_for_being_sums(implicit: None) -> None:
    space = dx.grid((3, 4), metric="manhattan")
    rng = np.random.default_rng(2)
    first, second = rng.random((3, 3)) - 0.3, rng.random((4, 4))
    total = (first[:, None, :, None] + second[None, :, None, :]).reshape(12, 12)
    problem = problem_on(space, loss=total)
    report = dx.solve(problem)
    assert report.route.startswith("product")
    assert report.certificate.value == pytest.approx(oracle(problem), abs=CLOSE)
    total[5, 7] += 1e-3
    assert "no sum" in dx.solve(problem_on(space, loss=total)).refused["product"]


def test_refusals_say_why() -> None:
    space = dx.grid((3, 3), metric="manhattan")
    skewed = dx.Prior.from_weights(space, 1.0 + np.arange(9) ** 2)
    elsewhere = dx.Reports.at([[0.0, 0.5], [1.0, 1.0]])
    cases = {
        "no product of its marginals": dx.Problem(space, epsilon=1.0, prior=skewed),
        "no sum over": problem_on(space, loss="squared"),
        "not the secrets": problem_on(space, reports=elsewhere),
    }
    for reason, problem in cases.items():
        report = dx.solve(problem)
        assert reason in report.refused["product"]
        assert report.certificate.value == pytest.approx(oracle(problem), abs=CLOSE)
    assert "product" not in dx.solve(problem_on(dx.grid((3, 3)))).refused


def test_a_prior_that_is_almost_a_product_lowers_the_bound() -> None:
    space = dx.product(rough(3, 1), dx.line(3))
    weights = np.kron([0.2, 0.3, 0.5], [0.3, 0.3, 0.4])
    clean = split(dx.Problem(space, epsilon=0.8, prior=dx.Prior.from_weights(space, weights)))
    weights[4] += 4e-13
    problem = dx.Problem(space, epsilon=0.8, prior=dx.Prior.from_weights(space, weights))
    parts = split(problem)
    assert not isinstance(parts, str)
    assert not isinstance(clean, str)
    apart = np.abs(problem.prior.probabilities - np.kron(*(f.prior.probabilities for f in parts.factors))).sum()
    assert apart > 1e-13
    assert parts.deviation - clean.deviation > apart
    assert parts.deviation < 1e-11


def test_factors_alike_are_solved_once() -> None:
    lines: list[str] = []
    space = dx.grid((6, 6, 6), metric="manhattan")
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)), progress=lines.append)
    assert {line.split(":")[0] for line in lines if line.startswith("factor")} == {"factor 1 of 3"}
    assert "line of factor 1, 2, 3" in [reduction.name for reduction in report.reductions]


def test_a_product_needs_proven_factors() -> None:
    space = dx.product(dx.line(3), dx.line(4))
    level = epsilon_of_factors(space, 1.0, 2)
    good = [dx.tight_constraints(side, level) for side in sides(space)]
    assert product_mechanism(space, good, 1.0).privacy is not None
    bad = dx.tight_constraints(dx.line(4), 1.0)
    unproven = dx.Mechanism.from_matrix(dx.line(4), np.full((4, 4), 0.25))
    for factors in ([good[0], bad], [good[0], unproven], good[::-1], good[:1]):
        with pytest.raises(dx.CertificateError):
            product_mechanism(space, factors, 1.0)


@pytest.mark.parametrize("name", ["grid", "general", "product of products"])
def test_saved_and_loaded(name: str, implicit: None, tmp_path: Path) -> None:
    report = dx.solve(problem_on(SPACES[name]()))
    folder = report.save(tmp_path / "out")
    loaded = dx.load(folder)
    assert loaded.certificate == report.certificate
    assert str(loaded) == str(report)
    assert np.array_equal(loaded.mechanism.matrix, report.mechanism.matrix)
    with np.load(folder / "problem.npz") as stored:
        assert not {"distances", "loss"} & set(stored)
    report.mechanism.save(tmp_path / "one.npz")
    assert dx.Mechanism.load(tmp_path / "one.npz").privacy == report.mechanism.privacy


@pytest.mark.parametrize(
    ("file", "name", "change"),
    [
        ("dual.npz", "0/prices", lambda a: a + 1e-6),
        ("dual.npz", "which", lambda a: a[:1]),
        ("problem.npz", "epsilon", lambda a: a * 0.99),
        ("problem.npz", "prior", lambda a: a[::-1].copy()),
        ("mechanism.npz", "which", lambda a: a[::-1].copy()),
        ("mechanism.npz", "0/epsilon", lambda a: a * 1.001),
        ("mechanism.npz", "epsilon", lambda a: a * 0.99),
    ],
)
def test_tampered_with(file: str, name: str, change, implicit: None, tmp_path: Path) -> None:
    folder = dx.solve(problem_on(SPACES["grid"]())).save(tmp_path / "out")
    change_array(folder / file, name, change)
    with pytest.raises(dx.DxoptError):
        dx.load(folder)


def test_a_large_grid() -> None:
    space = dx.grid((120, 110), metric="manhattan")
    problem = problem_on(space, epsilon=0.5)
    report = dx.solve(problem)
    assert report.status == "optimal"
    assert report.certificate.gap < 1e-9
    assert "distances" not in vars(space)
    parts = split(problem)
    assert not isinstance(parts, str)
    alone = [dx.solve(factor).certificate for factor in parts.factors]
    assert report.certificate.value == pytest.approx(sum(proof.value for proof in alone), rel=1e-9)
    assert proven_bound(problem, report.dual)[0] == report.certificate.bound
    assert report.mechanism.row(index=500).sum() == pytest.approx(1.0, abs=1e-14)


def test_stopped_at_once_it_is_private_all_the_same(implicit: None) -> None:
    report = dx.solve(problem_on(SPACES["general"]()), time_limit=1e-9)
    assert report.certificate.bound <= report.certificate.value
    assert violations(report.mechanism.matrix, report.problem.space.distances, 0.8) == []
