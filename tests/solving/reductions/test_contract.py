"""Every reduction keeps its contract: what it says it saves, and what comes back is what it claims."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import dxopt as dx
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import certify
from dxopt.proofs.duals import Dual
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution
from dxopt.solving.reductions.chain import Reduced, geodesic_pairs, reduce, shortest_paths
from dxopt.solving.reductions.line import best_remap, on_line
from dxopt.solving.reductions.product import by_factors
from dxopt.solving.reductions.spanner import greedy_spanner, on_spanner
from dxopt.solving.reductions.symmetry import by_symmetry


def programs() -> Iterator[tuple[Any, ChannelProgram]]:
    """Reductions, each with a program that it makes smaller."""
    detour = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
    yield shortest_paths, ChannelProgram(1.0 - np.eye(3), detour)
    line = np.abs(np.arange(5.0)[:, None] - np.arange(5.0))
    yield geodesic_pairs, ChannelProgram(line * np.arange(1.0, 6.0)[:, None], line)
    steps = np.arange(6) - np.arange(6)[:, None]
    ring = np.minimum(steps % 6, -steps % 6).astype(float)
    yield by_symmetry, ChannelProgram(ring, ring)
    places = np.array([0.0, 1.0, 2.5, 2.6 + 1.0j, 1.0 + 2.0j])
    apart = np.abs(places[:, None] - places)
    for bounding in (False, True):
        on_edges = partial(on_spanner, found=greedy_spanner(apart, 1.5), bounding=bounding)
        yield on_edges, ChannelProgram(apart, apart)


def problems() -> Iterator[tuple[Any, dx.Problem]]:
    """Reductions, each with a problem that it makes smaller."""
    line = dx.line(12)
    prior = dx.Prior.from_weights(line, np.arange(1.0, 13.0) % 5 + 1)
    along = dx.Problem(line, epsilon=0.4, prior=prior)
    grid = dx.grid((3, 4), metric="manhattan")
    weights = np.multiply.outer([0.2, 0.5, 0.3], [0.1, 0.2, 0.3, 0.4]).ravel()
    on_grid = dx.Problem(grid, epsilon=0.7, prior=dx.Prior.from_weights(grid, weights))
    for written in (True, False):
        yield partial(on_line, written=written), along
        yield partial(by_factors, written=written), on_grid


def solved(program: ChannelProgram) -> tuple[float, ChannelSolution]:
    """A channel program by one dense linear program, written from its definition; its value, channel and dual."""
    size, reports = program.costs.shape
    first, second = program.pairs
    pairs = np.zeros((len(first), size))
    pairs[np.arange(len(first)), first] = 1.0
    pairs[np.arange(len(first)), second] -= np.exp(program.budgets[first, second])
    kinds = np.arange(size) if program.classes is None else program.classes.index
    members = (np.arange(kinds.max() + 1)[:, None] == kinds) / np.bincount(kinds)[:, None]
    found = linprog(
        program.costs.T.ravel(),
        A_ub=np.kron(np.eye(reports), pairs),
        b_ub=np.zeros(reports * len(first)),
        A_eq=np.tile(members, (1, reports)),
        b_eq=np.ones(len(members)),
        method="highs",
    )
    multipliers = -found.ineqlin.marginals.reshape(reports, len(first)) * np.exp(program.budgets[first, second])
    dual = Dual(
        (members * found.eqlin.marginals[:, None]).sum(axis=0),
        np.repeat(np.arange(reports), len(first)),
        np.tile(first, reports),
        np.tile(second, reports),
        np.maximum(multipliers.ravel(), 0.0),
    )
    channel = found.x.reshape(reports, size).T
    return float(found.fun), ChannelSolution(Status.OPTIMAL, channel, dual)


def bound(program: ChannelProgram, dual: Dual) -> float:
    """Σ_x min_z (c - A'λ)(x): what the multipliers prove of any channel, by weak duality."""
    left = np.array(program.costs)
    np.add.at(left, (dual.second, dual.report), -dual.multiplier)
    factors = np.exp(-program.budgets[dual.first, dual.second])
    np.add.at(left, (dual.first, dual.report), dual.multiplier * factors)
    return float(left.min(axis=1).sum())


def assert_channel(program: ChannelProgram, channel: NDArray[np.float64]) -> None:
    first, second = program.pairs
    allowed = np.exp(program.budgets[first, second])[:, None] * channel[second]
    assert (channel >= -1e-9).all()
    assert (channel[first] <= allowed + 1e-7).all()
    assert channel.sum(axis=1) == pytest.approx(1.0, abs=1e-7)


def applied(reduction: Any, whole: Any) -> Reduced[Any]:
    reduced = reduction(whole)
    assert isinstance(reduced, Reduced), reduced
    (record,) = reduced.records
    assert record.after <= record.before
    return reduced


@pytest.mark.parametrize(("reduction", "whole"), [*programs()])
def test_programs_come_back_as_claimed(reduction: Any, whole: ChannelProgram) -> None:
    reduced = applied(reduction, whole)
    exact = reduced.records[0].exact
    optimum, _ = solved(whole)
    value, solution = solved(reduced.smaller)
    lifted = reduced.lift(solution)
    assert lifted.channel is not None or lifted.dual is not None
    if lifted.channel is not None:
        assert_channel(whole, lifted.channel)
        paid = float((whole.costs * lifted.channel).sum())
        assert paid == pytest.approx(value, abs=1e-7)
        assert paid == pytest.approx(optimum, abs=1e-7) if exact else paid >= optimum - 1e-7
    if lifted.dual is not None:
        proven = bound(whole, lifted.dual)
        assert proven <= optimum + 1e-7
        assert proven == pytest.approx(value, abs=1e-6)


def test_chains_come_back_in_reverse() -> None:
    """Of a ring with a detour, shortest paths leave the ring, whose symmetry is then found."""
    _, ring = next(one for one in programs() if one[0] is by_symmetry)
    detour = ring.with_budgets(np.where(ring.budgets == 3, 5.0, ring.budgets))
    reduced = reduce(detour, geodesic_pairs, shortest_paths, by_symmetry)
    assert [one.name for one in reduced.records] == ["geodesic pairs", "shortest paths", "symmetry"]
    value, solution = solved(reduced.smaller)
    lifted = reduced.lift(solution)
    assert lifted.reductions == reduced.records
    assert lifted.channel is not None
    assert lifted.dual is not None
    assert_channel(detour, lifted.channel)
    assert value == pytest.approx(solved(detour)[0], abs=1e-7)
    assert bound(detour, lifted.dual) == pytest.approx(value, abs=1e-6)


def answers(reduction: Any, reduced: Reduced[Any]) -> Any:
    """What `lift` takes: the optimal remap of a line, reports of the factors of a product."""
    if reduction.func is on_line:
        return best_remap(reduced.smaller, lambda: False, lambda line: None)
    return [dx.solve(factor) for factor in reduced.smaller]


@pytest.mark.parametrize(("reduction", "whole"), [*problems()])
def test_problems_come_back_as_claimed(reduction: Any, whole: dx.Problem) -> None:
    reduced = applied(reduction, whole)
    candidate = reduced.lift(answers(reduction, reduced))
    assert isinstance(candidate, Candidate)
    proof = certify(whole, candidate).certificate
    assert proof.private
    assert proof.gap < 1e-6
    optimum = dx.solve(whole, method="optimal", solver="clarabel").certificate
    assert proof.value == pytest.approx(optimum.value, abs=1e-6)
