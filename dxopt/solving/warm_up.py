"""Compile all kernels ahead, so that no solve has to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from dxopt.numerics.kernels import KERNELS
from dxopt.runtime.progress import Progress, shows

_WITH_KERNELS = (
    "dxopt.numerics.row_deficit",
    "dxopt.numerics.tropical_loops",
    "dxopt.solving.reductions.automorphism_loops",
    "dxopt.solving.reductions.symmetry",
    "dxopt.solving.solvers.columns",
    "dxopt.spaces.kernels.compiled_tree_loops",
)


@dataclass(frozen=True)
class WarmUp:
    """The kernels that were compiled ahead, and the folders that keep them.

    Attributes
    ----------
    compiled : mapping from str to float
        Seconds for each kernel that was compiled now.
    there : int
        How many were there already.
    folders : tuple of Path
        Where they are kept; empty where no folder can be written, so that each process compiles for itself.
    """

    compiled: Mapping[str, float]
    there: int
    folders: tuple[Path, ...]

    def __str__(self) -> str:
        everything = len(self.compiled) + self.there
        seconds = sum(self.compiled.values())
        done = f"compiled {len(self.compiled)} of {everything} kernels in {seconds:.1f} s"
        if not self.compiled:
            done = f"all {everything} kernels are there already"
        if not self.folders:
            return f"{done}; kept nowhere, as no folder can be written: set NUMBA_CACHE_DIR to one that can"
        return "\n".join([f"{done}; kept in", *map(str, self.folders)])


@shows
def warm_up(*, progress: Progress | bool | None = None) -> WarmUp:
    """Compile everything that dxopt compiles, so that no solve has to; what is there already is left as it is.

    Machine code lies in `__pycache__` beside the source files, or where that cannot be written in the cache folder of
    the user; the environment variable NUMBA_CACHE_DIR says where instead. It is good for one version of Python, Numba
    and dxopt, and one kind of processor, unless NUMBA_CPU_NAME names one that all have, such as "generic".

    Parameters
    ----------
    progress : bool or callable, optional
        True shows a bar, as in `dx.solve`; a callable is given a line of text after each kernel that is compiled.

    Examples
    --------
    >>> import dxopt as dx
    >>> first = dx.warm_up()
    >>> again = dx.warm_up()
    >>> print(len(again.compiled), "left to compile")
    0 left to compile
    """
    for module in _WITH_KERNELS:
        import_module(module)
    compiled: dict[str, float] = {}
    for number, kernel in enumerate(KERNELS, 1):
        seconds = kernel.load()
        if seconds is not None:
            compiled[kernel.name] = seconds
            if callable(progress):
                progress(f"{number} of {len(KERNELS)}: {kernel.name}: compiled in {seconds:.1f} s")
    folders = {kernel.folder: None for kernel in KERNELS if kernel.folder is not None}
    return WarmUp(compiled, len(KERNELS) - len(compiled), tuple(folders))
