"""Every registered reduction keeps its contract: what it says it saves, and what comes back is what it claims."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import dxopt as dx
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import Proven, certify
from dxopt.proofs.duals import Dual
from dxopt.runtime.stopping import Status
from dxopt.solving import reductions
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution
from dxopt.solving.reductions.contract import REDUCTIONS, Reduced
from dxopt.solving.reductions.line import best_remap

for module in pkgutil.iter_modules(reductions.__path__):
    import_module(f"{reductions.__name__}.{module.name}")

EXAMPLES = [
    pytest.param(name, *example, id=f"{name} {number}")
    for name in REDUCTIONS
    for number, example in enumerate(REDUCTIONS.get(name).examples())
]


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


def applied(name: str, reduction: Any, whole: Any) -> Reduced[Any]:
    reduced = reduction.apply(whole)
    assert isinstance(reduced, Reduced), reduced
    assert reduced.record.name == reduction.name == name
    assert reduced.record.exact is reduction.exact
    assert reduced.record.after <= reduced.record.before
    return reduced


def programs() -> list[Any]:
    return [example for example in EXAMPLES if isinstance(example.values[2], ChannelProgram)]


def problems() -> list[Any]:
    return [example for example in EXAMPLES if isinstance(example.values[2], dx.Problem)]


def test_all_are_examined() -> None:
    assert {example.values[0] for example in (*programs(), *problems())} == set(REDUCTIONS)


@pytest.mark.parametrize(("name", "reduction", "whole"), programs())
def test_programs_come_back_as_claimed(name: str, reduction: Any, whole: ChannelProgram) -> None:
    reduced = applied(name, reduction, whole)
    optimum, _ = solved(whole)
    value, solution = solved(reduced.smaller)
    lifted = reduced.lift(solution)
    assert lifted.channel is not None or lifted.dual is not None
    if lifted.channel is not None:
        assert_channel(whole, lifted.channel)
        paid = float((whole.costs * lifted.channel).sum())
        assert paid == pytest.approx(value, abs=1e-7)
        assert paid == pytest.approx(optimum, abs=1e-7) if reduction.exact else paid >= optimum - 1e-7
    if lifted.dual is not None:
        proven = bound(whole, lifted.dual)
        assert proven <= optimum + 1e-7
        assert proven == pytest.approx(value, abs=1e-6)


def answers(name: str, reduced: Reduced[Any]) -> Any:
    """What `lift` takes: the optimal remap of a line, proven answers for the factors of a product."""
    if name == "line":
        return best_remap(reduced.smaller, lambda: False, lambda line: None)
    reports = [dx.solve(factor) for factor in reduced.smaller]
    return [Proven(found.mechanism, found.certificate, found.dual, found.claim) for found in reports]


@pytest.mark.parametrize(("name", "reduction", "whole"), problems())
def test_problems_come_back_as_claimed(name: str, reduction: Any, whole: dx.Problem) -> None:
    reduced = applied(name, reduction, whole)
    candidate = reduced.lift(answers(name, reduced))
    assert isinstance(candidate, Candidate)
    proof = certify(whole, candidate).certificate
    assert proof.private
    assert proof.gap < 1e-6
    optimum = dx.solve(whole, method="optimal", solver="clarabel").certificate
    assert proof.value == pytest.approx(optimum.value, abs=1e-6)
