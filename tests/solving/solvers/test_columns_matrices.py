"""The linear algebra of the master: the same by NumPy and by a device, and by this machine where the device fails."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.runtime.devices import Device, device_named
from dxopt.solving.solvers.columns import HOST, Algebra, OnDevice, computing, on_device
from dxopt.solving.solvers.columns.master import Central, solve_master
from dxopt.solving.solvers.columns.matrices import BLOCK, Stopped
from tests.material.devices import FACTOR, stand_in

Array = NDArray[np.float64]
SIZES = [(1, 1), (6, 40), (30, 2 * BLOCK + 5), (220, 2600)]
"""Rows and columns; the last one by several threads."""


def never() -> bool:
    return False


def gpu() -> Device:
    try:
        device = device_named("gpu")
    except SpecError as error:
        pytest.skip(str(error))
    assert device is not None
    return device


@pytest.fixture(params=["host", "stand-in", "gpu"])
def algebra(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Algebra:
    """NumPy, NumPy as a device, and CuPy where it finds a GPU; a device that fails fails the test."""
    monkeypatch.setattr(on_device, "LEAST_ROWS", 1)
    if request.param == "host":
        return HOST
    found = OnDevice(stand_in() if request.param == "stand-in" else gpu())
    monkeypatch.setattr(found, "failed", raised)
    return found


def raised(error: Exception, entries: int) -> None:
    raise AssertionError(f"the device failed: {error}")


def parts_of(n: int, k: int) -> tuple[Array, Array, tuple[Array, Array]]:
    """Columns as pools have them, one after another in memory; a scaling, and diagonals."""
    rng = np.random.default_rng(n)
    return rng.random((k, n)).T, 10.0 ** rng.uniform(-9, 3, k), (rng.random(n), rng.random(n))


@pytest.mark.parametrize(("n", "k"), SIZES)
def test_products_and_factors_are_those_of_numpy(algebra: Algebra, n: int, k: int) -> None:
    columns, scaling, diagonals = parts_of(n, k)
    rng = np.random.default_rng(1)
    weights, y = rng.random(k), rng.random(n)
    written = (columns * scaling) @ columns.T + np.diag(sum(diagonals))
    written += 1e-3 * np.diag(written).mean() * np.eye(n)
    with algebra.holding(columns, never) as matrix:
        assert matrix.shape == (n, k)
        for found, expected in (
            (matrix.times(weights), columns @ weights),
            (matrix.priced(y), columns.T @ y),
            (matrix.gram(scaling, diagonals, 1e-3), written),
            (matrix.solver(scaling, diagonals, 1e-3)(y), sl.solve(written, y, assume_a="pos")),
        ):
            assert type(found) is np.ndarray
            assert found.dtype == np.float64
            assert found.flags.writeable
            assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()


@pytest.mark.parametrize("how", ["C", "F", "part"])
def test_columns_may_lie_in_memory_as_they_like(algebra: Algebra, how: str) -> None:
    rng = np.random.default_rng(2)
    columns = rng.random((14, 60))[::2, ::3] if how == "part" else np.array(rng.random((7, 20)), order=how)  # type: ignore[call-overload]
    with algebra.holding(columns, never) as matrix:
        assert np.allclose(matrix.gram(np.ones(20), (), 0.0), columns @ columns.T, rtol=1e-14)


def test_a_matrix_without_a_factor_is_told(algebra: Algebra) -> None:
    columns, _, _ = parts_of(6, 40)
    with algebra.holding(columns, never) as matrix:
        with pytest.raises(np.linalg.LinAlgError):
            matrix.solver(np.ones(40), (np.full(6, -1e6),), 0.0)
        assert matrix.times(np.zeros(40)).tolist() == [0.0] * 6  # it goes on


def test_a_stop_is_noticed_between_blocks(algebra: Algebra) -> None:
    columns, scaling, diagonals = parts_of(30, 5 * BLOCK)
    asked = 0
    most = 10**9

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > most

    with algebra.holding(columns, stop) as matrix:
        matrix.times(scaling)
        for ask in (matrix.gram, matrix.solver):
            asked, most = 0, 10**9
            ask(scaling, diagonals, 0.0)
            assert asked == 5
            asked, most = 0, 2
            with pytest.raises(Stopped):
                ask(scaling, diagonals, 0.0)
            assert asked == 3


def test_a_stop_is_noticed_while_columns_travel() -> None:
    columns, scaling, _ = parts_of(30, 5 * BLOCK)
    told: list[str] = []
    with OnDevice(stand_in(), told.append).holding(columns, lambda: True):
        pass  # nothing is sent before it is needed
    algebra = OnDevice(stand_in(told.append))
    asked = iter([False, False, True])
    columns = np.concatenate([columns] * 8)
    with algebra.holding(columns, lambda: next(asked)) as matrix, pytest.raises(Stopped):
        matrix.times(scaling)
    assert Counter(told)["asarray"] == 2


def master(n: int, k: int, boxed: bool, should_stop: Callable[[], bool] = never) -> Central:
    rng = np.random.default_rng(n)
    columns, costs = rng.random((n, k)), rng.random(k)
    low, high = -0.06 * rng.random(n) / n, (1.5 * rng.random(n) + 0.06) / n
    free = np.full(n, np.inf)
    return solve_master(columns, costs, np.ones(n), 1e-10, should_stop, (low, high) if boxed else (-free, free))


@pytest.mark.parametrize("boxed", [False, True])
@pytest.mark.parametrize(("n", "k"), [(20, 90), (205, 700)])
def test_masters_are_those_of_this_machine(algebra: Algebra, n: int, k: int, boxed: bool) -> None:
    expected = master(n, k, boxed)
    with computing(algebra):
        found = master(n, k, boxed)
        stopped = master(n, k, boxed, lambda: True)
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    assert np.abs(found.prices - expected.prices).max() <= 1e-6 * np.abs(expected.prices).max()
    assert stopped.value == np.inf


@pytest.fixture
def sized(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(on_device, "LEAST_ROWS", 10)
    yield


def failing(what: str, error: Exception, times: int = 10**9) -> tuple[Device, list[str]]:
    """A device that fails so many times at something; and what it was about to do."""
    done: list[str] = []

    def at(now: str) -> None:
        done.append(now)
        if now == what and done.count(what) <= times:
            raise error

    return stand_in(at), done


@pytest.mark.parametrize("what", ["empty", "asarray", "zeros", "cholesky", "solve", "fetched", "wait", "let go"])
@pytest.mark.parametrize(
    "error", [MemoryError("out of it"), RuntimeError("cudaErrorECCUncorrectable"), OSError("libcublas")]
)
def test_where_a_device_fails_this_machine_goes_on(sized: None, what: str, error: Exception) -> None:
    device, done = failing(what, error)
    told: list[str] = []
    expected = master(20, 90, True)
    with computing(OnDevice(device, told.append)):
        for _ in range(3):
            found = master(20, 90, True)
            assert found.value == pytest.approx(expected.value, rel=1e-9)
    # the failure is told once, and the device is not asked again
    assert told[0] == "the master problem is solved on the stand-in"
    if what == "let go":  # the masters were solved
        return
    (line,) = told[1:]
    if isinstance(error, MemoryError):
        assert line == "no room on the stand-in for 1,800 entries; such master problems are solved on the CPU"
    else:
        assert line.startswith(f"the stand-in is lost ({type(error).__name__}: ")
        assert line.endswith("); master problems are solved on the CPU")
    assert done.count(what) == 1


@pytest.mark.parametrize("later", range(1, 60, 7))
def test_a_device_may_fail_at_any_time(sized: None, later: int) -> None:
    """Also in the middle of a master, whose factor is made again here."""
    calls = 0

    def at(what: str) -> None:
        nonlocal calls
        calls += what != "let go"
        if calls > 10 * later:
            raise RuntimeError("gone")

    expected = master(20, 90, False)
    told: list[str] = []
    with computing(OnDevice(stand_in(at), told.append)):
        found = master(20, 90, False)
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    assert len(told) == 2
    assert calls == 10 * later + 1


def test_masters_for_which_there_was_room_are_still_sent(sized: None) -> None:
    device, done = failing("zeros", MemoryError("out of it"), times=1)
    told: list[str] = []
    with computing(OnDevice(device, told.append)):
        master(20, 90, False)
        before = done.count("cholesky")
        master(20, 80, False)
        between = done.count("cholesky")
        master(20, 91, False)
        master(9, 30, False)  # has few rows
    assert before == 0
    assert done.count("cholesky") == between > 0
    assert len(told) == 2


def test_memory_is_given_back_after_each_master(sized: None) -> None:
    done: list[str] = []
    with computing(OnDevice(stand_in(done.append))):
        for _ in range(3):
            master(20, 90, False)
    assert done.count("let go") == 3
    assert done[-1] == "let go"


def test_a_factor_is_freed_when_a_solve_fails(sized: None) -> None:
    factors: list[weakref.ref[Any]] = []
    left: list[bool] = []

    def at(what: str) -> None:
        if what == "let go":
            left.append(any(one() is not None for one in factors))

    def factored(matrix: Any) -> Any:
        found = owner = FACTOR(matrix)
        while owner.base is not None:
            owner = owner.base
        factors.append(weakref.ref(owner))
        return found

    def fails(*given: Any, **how: Any) -> Any:
        raise RuntimeError("gone")

    device = replace(stand_in(at), cholesky=factored, solve_triangular=fails)
    columns, scaling, diagonals = parts_of(20, 90)
    with OnDevice(device).holding(columns, never) as matrix:
        matrix.solver(scaling, diagonals, 0.0)(np.ones(20))
        assert len(factors) == 1
        assert not left[-1]


def test_the_algebra_is_that_of_the_context() -> None:
    done: list[Any] = []
    device = OnDevice(stand_in(done.append))
    with computing(device), computing(HOST), nullcontext():
        master(220, 500, False)
    assert done == []
