"""Devices that compute: how one is named and opened, and the one that solves of this thread may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from dxopt.errors import SpecError, required_choice

GPU = "gpu"
CPU = "cpu"


@dataclass(frozen=True, eq=False)
class Device:
    """A device with arrays of its own, and the functions on them that solvers need.

    `arrays` is a module like NumPy, and `solve_triangular` like that of SciPy. `cholesky` returns the lower factor,
    and raises LinAlgError if the matrix is not positive definite. `fetched` copies an array to NumPy, `wait` returns
    once the device has finished, and `let_go` gives back unused memory.
    """

    name: str
    arrays: Any
    cholesky: Callable[[Any], Any]
    solve_triangular: Callable[..., Any]
    fetched: Callable[[Any], Any]
    wait: Callable[[], None]
    let_go: Callable[[], None]


def device_named(name: str) -> Device | None:
    """Return the device of a name; None for "cpu", which is NumPy.

    Raises
    ------
    SpecError
        If there is no such name, CuPy is not installed, or it finds no GPU that works.
    """
    required_choice("device", name, (CPU, GPU))
    if name == CPU:
        return None
    if find_spec("cupy") is None:
        raise SpecError("device", "needs CuPy", "pip install 'dxopt[gpu]'")
    try:
        return _gpu()
    except SpecError:
        raise
    except Exception as error:  # whatever CuPy, the driver and the libraries of CUDA make of this machine
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        fix = "leave it out, or mend its driver and CuPy"
        raise SpecError("device", f"the GPU cannot be used ({reason})", fix) from None


def _gpu() -> Device:
    """Return CuPy's GPU after it has factored a small matrix: so a missing library of CUDA fails here, not later."""
    cupy: Any = import_module("cupy")
    cupyx: Any = import_module("cupyx")
    solve_triangular = import_module("cupyx.scipy.linalg").solve_triangular
    runtime = cupy.cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError:  # there is no driver
        count = 0
    if not count:
        raise SpecError("device", "no GPU was found", "leave it out, or see why nvidia-smi shows none")

    def cholesky(matrix: Any) -> Any:
        with cupyx.errstate(linalg="raise"):  # by default it gives another matrix where there is no factor
            return cupy.linalg.cholesky(matrix)

    device = Device(
        name=runtime.getDeviceProperties(runtime.getDevice())["name"].decode(),
        arrays=cupy,
        cholesky=cholesky,
        solve_triangular=solve_triangular,
        fetched=cupy.asnumpy,
        wait=lambda: cupy.cuda.get_current_stream().synchronize(),
        let_go=lambda: cupy.get_default_memory_pool().free_all_blocks(),
    )
    matrix = cupy.eye(2)
    solve_triangular(cholesky(matrix @ matrix), cupy.ones(2), lower=True)
    device.wait()
    return device


_current: ContextVar[Device | None] = ContextVar("device", default=None)


@contextmanager
def using(name: str | None) -> Iterator[None]:
    """Let solves in this context use the device of a name; None changes nothing.

    Raises
    ------
    SpecError
        If it cannot be opened, as for `device_named`.
    """
    if name is None:
        yield
        return
    token = _current.set(device_named(name))
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Device | None:
    """Return the device that the innermost `using` of this thread named; None for NumPy."""
    return _current.get()
