"""One linear program after another, with progress in units of the problem."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dxopt.attempts import Options
from dxopt.formulations.contract import Compiled
from dxopt.program import LinearProgram, Solution
from dxopt.solvers import worker

FINEST = 1e-10


def solve_linear(
    compiled: Compiled, solver: str, options: Options, accuracy: float | None = None, stage: str = ""
) -> Callable[[LinearProgram], Solution]:
    """What solves the linear programs of a compiled problem, each a round of its own, and tells how they go.

    The accuracy is 10^-4 of the tolerance by default, and no finer than 10^-10.
    """
    rounds, sign = 0, compiled.problem.objective.sign
    aim = max(FINEST, 1e-4 * options.tolerance) if accuracy is None else accuracy

    def tell(iterations: int, value: float) -> None:
        if np.isfinite(value):
            known = compiled.offset + sign * compiled.scale * value
            options.progress(f"{stage}{solver}, round {rounds}, iteration {iterations}: {known:.6g}")

    def solve(program: LinearProgram) -> Solution:
        nonlocal rounds
        rounds += 1
        options.progress(f"{stage}{solver}, round {rounds}: {program.rows:,} rows")
        return worker.solve(solver, program, aim, options.stop, tell)

    return solve
