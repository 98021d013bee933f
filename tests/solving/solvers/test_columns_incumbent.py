"""What incumbents are said to cost, and what they cost once they are repaired."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import dxopt as dx
from dxopt.numerics.partition import Partition
from dxopt.numerics.tropical import product
from dxopt.proofs.repair import repair
from dxopt.solving.solvers.columns.coupling_rows import ConeProgram, Shared
from dxopt.solving.solvers.columns.incumbent import Incumbent, best_mixture
from dxopt.solving.solvers.columns.pool import Pool
from tests.material.crowds import KINDS, crowd_problem, program_of


def pool_of(problem: dx.Problem, factors: np.ndarray) -> Pool:
    costs = np.ascontiguousarray(problem.costs.T)
    classes = Partition(np.arange(len(factors)))
    return Pool(ConeProgram(costs, factors, classes, Shared()), 100)


@pytest.mark.parametrize("missed", [0.0, 1e-12, 1e-7, 1e-5, 1e-3])
@pytest.mark.parametrize("size", [5, 40])
def test_rows_that_miss_their_sums_cost_what_their_repair_costs(size: int, missed: float) -> None:
    rng = np.random.default_rng(size)
    space = dx.MetricSpace.from_points(rng.random((size, 2)))
    problem = dx.Problem(space, epsilon=20.0, prior=dx.Prior.uniform(space), loss="distance")
    factors = np.exp(-problem.budgets)
    pool = pool_of(problem, factors)

    # the columns of a private channel, each a little too heavy or too light
    private = repair(problem, factors)
    pool.add(np.vstack([np.ones(size), private.T]), np.arange(size + 1) % size)
    weights = np.append(0.0, private.max(axis=0) * (1 + missed * (rng.random(size) - 0.5)))
    incumbent = Incumbent(factors)
    incumbent.offer(pool, weights)

    channel = repair(problem, pool.mixture(weights))
    attained = float((problem.costs * channel).sum())
    assert incumbent.channel is not None
    assert attained <= incumbent.value * (1 + 1e-9)
    assert incumbent.value <= pool.column_costs[0]
    delivered = repair(problem, incumbent.channel)
    assert float((problem.costs * delivered).sum()) == pytest.approx(incumbent.value, rel=1e-8)


def test_a_faint_mixture_is_filled_up_until_it_is_a_private_channel() -> None:
    space = dx.line(3)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="distance")
    factors = np.exp(-problem.budgets)
    pool = pool_of(problem, factors)
    pool.add(np.vstack([np.ones(3), factors]), np.arange(4) % 3)
    incumbent = Incumbent(factors)
    incumbent.offer(pool, np.array([1.0, 0.0, 0.0, 0.0]))
    assert incumbent.value == pool.column_costs[0]
    incumbent.offer(pool, np.array([0.0, 1e-3, 0.0, 1e-3]))
    channel = incumbent.channel
    assert channel is not None
    assert incumbent.value < pool.column_costs[0]
    assert incumbent.value == pytest.approx(float((problem.costs * channel).sum()))
    assert channel.sum(axis=1) == pytest.approx(np.ones(3))
    assert (channel[:, None] * factors[:, :, None] <= channel[None] * (1 + 1e-12)).all()


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "doubled"])
def test_the_best_mixture_costs_what_a_dense_program_finds(kind: str, epsilon: float) -> None:
    program = program_of(crowd_problem(kind, 40, epsilon))
    factors = np.exp(-program.budgets)
    known = factors**0.5
    known /= known.sum(axis=1, keepdims=True)  # private, as either part changes by e^{d/2} at most
    columns = np.vstack([np.ones(len(factors)), factors, known.T])
    costs = (columns @ program.costs).min(axis=1)
    best = linprog(costs, A_eq=columns.T, b_eq=np.ones(len(factors)), method="highs").fun

    channel = best_mixture(program, known, lambda: False)
    assert channel is not None
    assert channel.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    assert (product(channel.T, factors) <= channel.T * (1 + 1e-12)).all()
    value = float((program.costs * channel).sum())
    assert best * (1 - 1e-9) <= value <= best * (1 + 1e-3)
    assert kind == "skewed" or value < 0.999 * float((known.T @ program.costs).min(axis=1).sum())


def test_a_mixture_that_is_stopped_is_none() -> None:
    program = program_of(crowd_problem("crowd", 20, 1.0))
    assert best_mixture(program, np.ones((20, 1)), lambda: True) is None
