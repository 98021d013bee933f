"""Closures and products are the least and greatest ones, with the same bits in NumPy and compiled."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import dxopt as dx
from dxopt.numerics import tropical
from dxopt.numerics.rounding import factor_above
from dxopt.numerics.tropical import close, product
from dxopt.proofs.privacy import prove_private
from dxopt.proofs.repair import repair
from tests.material.instances import KINDS, problem_of


def test_closure_is_the_least_one() -> None:
    generator = np.random.default_rng(2)
    distances = dx.MetricSpace.from_points(generator.random((9, 2)) * 4).distances
    factors = factor_above(1.0, distances)
    rows = generator.random((9, 5)) ** 4
    closed = close(rows, factors)
    assert (closed >= rows).all()
    assert closed == pytest.approx((np.exp(-distances)[:, :, None] * rows[:, None, :]).max(axis=0), rel=1e-12)
    assert np.array_equal(close(closed, factors), closed)


def test_closure_settles_on_a_long_chain() -> None:
    distances = dx.line(400).distances
    rows = np.zeros((400, 2))
    rows[0, 0] = rows[-1, 1] = 1.0
    closed = close(rows, factor_above(0.01, distances))
    assert closed[:, 0] == pytest.approx(np.exp(-0.01 * np.arange(400)), rel=1e-11)
    assert closed[::-1, 1] == pytest.approx(closed[:, 0], rel=1e-11)


def both_ways(monkeypatch: pytest.MonkeyPatch, work: Callable[[], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """What NumPy makes of it, and what the compiled loops do."""
    plain = work()
    with monkeypatch.context() as patch:
        patch.setattr(tropical, "COMPILED_FROM", 0)
        return plain, work()


def hard_numbers(shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    """Of all sizes down to subnormal ones and 0."""
    numbers = 10.0 ** generator.uniform(-320, 0, shape)
    return np.where(
        generator.random(shape) < 0.2, 0.0, np.where(generator.random(shape) < 0.7, numbers**0.01, numbers)
    )


@pytest.mark.parametrize(("size", "reports"), [(1, 1), (7, 130), (40, 64), (33, 201), (90, 5)])
def test_compiled_loops_give_the_same_bits(size: int, reports: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(size)
    columns = hard_numbers((size, reports), generator)
    distances = generator.random((size, size)) * 3 * (generator.random((size, size)) < 0.9)
    distances[generator.random((size, size)) < 0.3] = np.inf
    np.fill_diagonal(distances, 0.0)
    factors = factor_above(1.0, distances)
    plain, compiled = both_ways(monkeypatch, lambda: close(columns, factors))
    assert np.array_equal(plain, compiled)
    assert (plain[:, None, :] >= factors.T[:, :, None] * plain[None, :, :]).all()
    signed = np.where(columns > 0, columns, -1.0)
    with np.errstate(divide="ignore", over="ignore"):
        inverse = 1.0 / columns.T
    plain, compiled = both_ways(monkeypatch, lambda: product(signed, inverse))
    assert np.array_equal(plain, compiled)
    expected = (signed[:, :, None] * inverse[None, :, :]).max(axis=1)
    assert np.array_equal(plain, np.maximum(expected, 0.0))


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_repair_gives_the_same_bits(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(kind, 3)
    raw = np.random.default_rng(3).random(problem.shape)
    plain, compiled = both_ways(monkeypatch, lambda: repair(problem, raw))
    assert np.array_equal(plain, compiled)
    epsilons = both_ways(monkeypatch, lambda: np.array(prove_private(problem, plain)))
    assert epsilons[0] == epsilons[1]


def test_small_problems_do_not_load_the_compiler() -> None:
    code = (
        "import sys, numpy as np, dxopt as dx\n"
        "from dxopt.proofs.candidate import Candidate\n"
        "from dxopt.proofs.certify import certify\n"
        "space = dx.line(20)\n"
        "certify(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)), Candidate(np.eye(20)))\n"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("smallest", [tropical.COMPILED_FROM, 0])
def test_closure_says_when_it_did_not_settle(smallest: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tropical, "COMPILED_FROM", smallest)
    monkeypatch.setattr(tropical, "_PASSES", 1)
    with pytest.raises(dx.CertificateError, match="did not settle"):
        close(np.array([[0.0], [0.0], [1.0]]), factor_above(1.0, dx.line(3).distances))
