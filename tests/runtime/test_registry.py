"""Registered means tested: one contract for every solver, and one table for every kind of name."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import linprog

import dxopt as dx
from dxopt.mechanisms.classic.base import BASELINES, CLASSICS
from dxopt.model.loss import LOSSES
from dxopt.runtime.registry import Registry
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram, LinearProgram, Rows
from dxopt.solving.solvers import SOLVERS, Settings, require_solver
from dxopt.spaces.metrics import METRICS
from dxopt.spaces.neighbours import RELATIONS


def installed(name: str) -> bool:
    try:
        require_solver(name)
    except dx.SpecError:
        return False
    return True


INSTALLED = [name for name in SOLVERS if installed(name)]


def example_program() -> LinearProgram:
    """Two points at ln 2 under binary loss, whose optimum is 1/3."""
    apart = 1 - np.eye(2)
    program = ChannelProgram(0.5 * apart, np.log(2.0) * apart)
    return LinearProgram.of(program, Rows.everywhere(program))


def known_optimum(program: LinearProgram) -> float:
    found = linprog(
        program.cost,
        A_ub=-program.inequalities,
        b_ub=np.zeros((program.inequalities @ program.cost).shape),
        A_eq=program.equalities,
        b_eq=program.totals,
        bounds=np.array([[0.0 if signed else -np.inf, np.inf] for signed in program.signed]),
    )
    assert found.success
    return float(found.fun)


def test_the_solvers_of_first_choice_are_there() -> None:
    assert {"clarabel", "highs"} <= set(INSTALLED)


@pytest.mark.parametrize("name", INSTALLED)
def test_solver_keeps_its_contract(name: str) -> None:
    solver = SOLVERS.get(name)
    assert solver.name == name
    program = example_program()
    settings = Settings(accuracy=1e-9, progress=lambda iterations, value: None)
    solution = solver().solve(program, settings)
    assert solution.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert solution.primal is not None
    assert solution.equality_dual is not None
    assert solution.inequality_dual is not None
    value = known_optimum(program)
    loose = 1e-3 if name in ("scs", "osqp") else 1e-6
    assert program.cost @ solution.primal == pytest.approx(value, abs=loose)
    assert program.equalities @ solution.primal == pytest.approx(program.totals, abs=loose)
    assert (program.inequalities @ solution.primal).min() >= -loose
    assert solution.equality_dual @ program.totals == pytest.approx(value, abs=loose)
    assert (solution.inequality_dual >= 0).all()
    residual = program.cost - program.equalities.T @ solution.equality_dual
    residual = residual - program.inequalities.T @ solution.inequality_dual
    assert residual[program.signed].min(initial=0.0) >= -loose
    assert residual[~program.signed] == pytest.approx(0.0, abs=loose)


def test_the_example_is_a_third() -> None:
    assert known_optimum(example_program()) == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", ["clarabel", "highs"])
def test_infeasible_programs_are_a_status(name: str) -> None:
    program = example_program()
    impossible = LinearProgram(
        program.cost,
        program.equalities,
        np.array([1.0, -1.0]),
        program.inequalities,
        program.floors,
        np.ones(len(program.cost), dtype=bool),
    )
    solution = SOLVERS.get(name)().solve(impossible, Settings())
    assert solution.status in (Status.INFEASIBLE, Status.FAILED)


@pytest.mark.parametrize("name", ["clarabel", "highs"])
def test_stopping_is_a_status(name: str) -> None:
    space = dx.grid((6, 6))
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
    channel = ChannelProgram(np.array(problem.costs), np.array(problem.budgets))
    program = LinearProgram.of(channel, Rows.everywhere(channel))
    solution = SOLVERS.get(name)().solve(program, Settings(should_stop=lambda: True))
    assert solution.status is Status.INTERRUPTED


def test_a_name_cannot_be_taken_twice() -> None:
    registry: Registry[type] = Registry("thing")
    registry.register("one")(int)
    for name in ("one", ""):
        with pytest.raises(RuntimeError, match="thing"):
            registry.register(name)(float)
    assert registry.get("one") is int
    assert "one" in registry
    assert "two" not in registry


@pytest.mark.parametrize("registry", [SOLVERS, CLASSICS, BASELINES, METRICS, LOSSES, RELATIONS], ids=min)
def test_unknown_names_list_the_known_ones(registry: Registry) -> None:
    with pytest.raises(dx.SpecError) as caught:
        registry.get("nonesuch")
    assert caught.value.field == registry.field
    assert list(registry) == sorted(registry)
    for name in registry:
        assert name in str(caught.value)
        registry.get(name)
        with pytest.raises(RuntimeError, match="twice"):
            registry.register(name)


def test_errors_survive_pickling() -> None:
    error = dx.SpecError("prior", "is odd", "make it even")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.field, copy.wrong, copy.fix, str(copy)) == ("prior", "is odd", "make it even", str(error))
    tight = dx.NoTightMechanism("method", "none", "other", negative=("a",), exists_from=0.5)
    again = pickle.loads(pickle.dumps(tight))
    assert (again.negative, again.exists_from, str(again)) == (("a",), 0.5, str(tight))
