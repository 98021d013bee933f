"""A device that is none: NumPy, as strict as CuPy is about arrays of the host, and a CuPy made of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

from dxopt.runtime.devices import Device


class There(np.ndarray):
    """An array of the device: with one of the host it does nothing, and nobody takes it for one."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *given: Any, out: Any = None, **how: Any) -> Any:
        for one in (*given, *(out or ())):
            if isinstance(one, np.ndarray) and one.ndim and not isinstance(one, There):
                raise TypeError(f"{ufunc.__name__} of a device got an array of the host")
        if out is not None:
            how["out"] = tuple(_plain(one) for one in out)
        found = getattr(ufunc, method)(*(_plain(one) for one in given), **how)
        return found.view(There) if isinstance(found, np.ndarray) else found

    def __array_function__(self, function: Any, types: Any, given: Any, how: Any) -> Any:
        raise TypeError(f"{function.__name__} of NumPy got an array of a device")

    def __setitem__(self, where: Any, value: Any) -> None:
        if isinstance(value, np.ndarray) and not isinstance(value, There):
            raise TypeError("an array of the host was put into one of a device")
        super().__setitem__(where, value)


def _plain(one: Any) -> Any:
    return one.view(np.ndarray) if isinstance(one, There) else one


def _only_there(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of NumPy or SciPy, for arrays of the device alone."""

    def done(*given: Any, **how: Any) -> Any:
        if not all(isinstance(one, There) for one in given):
            raise TypeError("of an array of the host")
        return function(*(_plain(one) for one in given), **how).view(There)

    return done


FACTOR = _only_there(np.linalg.cholesky)
ARRAYS = SimpleNamespace(
    asarray=lambda array: np.array(array).view(There),
    empty=lambda shape, **how: np.empty(shape, **how).view(There),
    zeros=lambda shape: np.zeros(shape).view(There),
    eye=lambda size: np.eye(size).view(There),
    ones=lambda size: np.ones(size).view(There),
)


def stand_in(at: Callable[[str], None] = lambda what: None) -> Device:
    """A device; `at` is called with what it is about to do, and may raise."""

    def noted(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def done(*given: Any, **how: Any) -> Any:
            at(what)
            return function(*given, **how)

        return done

    def fetched(array: There) -> Any:
        assert isinstance(array, There)
        return np.array(_plain(array))

    return Device(
        name="the stand-in",
        arrays=SimpleNamespace(**{name: noted(name, function) for name, function in vars(ARRAYS).items()}),
        cholesky=noted("cholesky", FACTOR),
        solve_triangular=noted("solve", _only_there(sl.solve_triangular)),
        fetched=noted("fetched", fetched),
        wait=lambda: at("wait"),
        let_go=lambda: at("let go"),
    )


class CUDARuntimeError(RuntimeError):
    """As CuPy has it."""


def no_driver() -> int:
    raise CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")


def give_cupy(
    monkeypatch: pytest.MonkeyPatch,
    count: Callable[[], int] = lambda: 1,
    cholesky: Callable[[Any], Any] = FACTOR,
) -> list[str]:
    """Let modules with the names of CuPy be there; return what their memory pool is told."""
    told: list[str] = []
    runtime = SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError,
        getDeviceCount=count,
        getDevice=lambda: 0,
        getDeviceProperties=lambda device: {"name": b"Standing In 9000"},
    )
    stream = SimpleNamespace(synchronize=lambda: None)
    pool = SimpleNamespace(free_all_blocks=lambda: told.append("free"))
    inside = {
        "cupy": {
            **vars(ARRAYS),
            "cuda": SimpleNamespace(runtime=runtime, get_current_stream=lambda: stream),
            "linalg": SimpleNamespace(cholesky=cholesky),
            "asnumpy": lambda array: np.array(_plain(array)),
            "get_default_memory_pool": lambda: pool,
        },
        "cupyx": {"errstate": lambda linalg: nullcontext()},
        "cupyx.scipy": {},
        "cupyx.scipy.linalg": {"solve_triangular": _only_there(sl.solve_triangular)},
    }
    for name, content in inside.items():
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    return told
