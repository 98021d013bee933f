"""Budgets by shortest paths: what merging in one direction leaves, and how multipliers find their way back."""

from __future__ import annotations

import numpy as np

from dxopt.proofs.duals import Dual
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution
from dxopt.solving.reductions.chain import Reduced, shortest_paths


def rest(program: ChannelProgram, dual: Dual) -> np.ndarray:
    """c - A'λ."""
    left = program.costs.copy()
    factors = np.exp(-program.budgets[dual.first, dual.second])
    np.add.at(left, (dual.second, dual.report), -dual.multiplier)
    np.add.at(left, (dual.first, dual.report), dual.multiplier * factors)
    return left


def by_paths(program: ChannelProgram) -> Reduced[ChannelProgram]:
    found = shortest_paths(program)
    assert isinstance(found, Reduced)
    return found


def lifted(found: Reduced[ChannelProgram], dual: Dual) -> Dual:
    return found.lift(ChannelSolution(Status.OPTIMAL, None, dual)).dual


def test_multipliers_of_paths_become_those_of_steps() -> None:
    rng = np.random.default_rng(5)
    budgets = rng.random((7, 7)) ** 3 * 4 + 0.01
    np.fill_diagonal(budgets, 0.0)
    budgets[2, 5] = np.inf
    program = ChannelProgram(rng.random((7, 3)), budgets)
    found = by_paths(program)
    closed = found.smaller.budgets
    assert (closed <= budgets).all()
    assert (closed[:, None, :] <= closed[:, :, None] + closed[None, :, :] + 1e-12).all()
    first, second = np.nonzero(closed)
    report = rng.integers(0, 3, len(first))
    dual = Dual(np.zeros(7), report, first, second, rng.random(len(first)))
    back = lifted(found, dual)
    assert np.isfinite(budgets[back.first, back.second]).all()
    assert (budgets[back.first, back.second] <= closed[back.first, back.second] * (1 + 1e-12)).all()
    assert np.allclose(rest(program, back), rest(found.smaller, dual), rtol=0, atol=1e-12)


def test_nothing_to_shorten() -> None:
    line = np.abs(np.arange(5.0)[:, None] - np.arange(5.0))
    assert isinstance(shortest_paths(ChannelProgram(np.ones((5, 2)), line)), str)


def test_multipliers_of_pairs_that_no_path_joins_are_left_out() -> None:
    budgets = np.full((4, 4), np.inf)
    np.fill_diagonal(budgets, 0.0)
    budgets[0, 1] = budgets[1, 2] = 1.0
    budgets[0, 2] = 5.0
    program = ChannelProgram(np.ones((4, 2)), budgets)
    found = by_paths(program)
    dual = Dual(np.zeros(4), np.zeros(3, np.int64), np.array([0, 3, 0]), np.array([2, 0, 3]), np.ones(3))
    back = lifted(found, dual)
    assert sorted(zip(back.first.tolist(), back.second.tolist(), strict=True)) == [(0, 1), (1, 2)]
    assert len(lifted(found, Dual(np.zeros(4))).multiplier) == 0
