"""The optimum of a line: n weights and a remap, proven by their own dual."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dxopt.model.problem import Problem
from dxopt.proofs.certify import Proven, certify
from dxopt.runtime.stopping import StoppedError
from dxopt.solving.attempts import Options
from dxopt.solving.reductions.line import Line, at_once, best_remap
from dxopt.solving.routes import limits
from dxopt.solving.routes.limits import is_line


def by_line(problem: Problem, options: Options) -> Iterator[Proven]:
    """Find the optimum of a line, implicit above 100,000 variables; nothing where the space is none.

    Where its bound leaves a gap, a matrix is dropped; an implicit mechanism is kept, as others may be too large. One
    that is stopped before its value is known gives way to one whose value is known soon.
    """
    if not is_line(problem):
        return
    written = problem.variables <= limits.WRITTEN_CELLS
    reduced = Line(written=written).apply(problem)
    if isinstance(reduced, str):
        options.refused["line"] = reduced
        return

    stop = options.stop
    found = best_remap(reduced.smaller, lambda: stop.requested, options.progress)
    if found is None and written:
        options.refused["line"] = "stopped"
        return
    options.progress("proving privacy")

    def interrupted() -> bool:
        # not by a time limit: what that leaves to be proven is proven all the same
        return stop.requested and stop.interrupted

    candidate = at_once(problem) if found is None else reduced.lift(found)
    try:
        proven = certify(problem, candidate, None if found is None else interrupted)
    except StoppedError:
        found = None
        proven = certify(problem, at_once(problem))
    left = proven.certificate.gap
    if found is not None and left <= options.tolerance:
        yield replace(proven, reductions=reduced.records)
        return
    if not written:
        yield proven
    if found is not None:
        gap = f"its bound leaves a gap of {left:.1e}; exact where the loss grows with the distance"
        stopped = proven.dual is None and stop.interrupted
        options.refused["line"] = "stopped before its bound" if stopped else gap
