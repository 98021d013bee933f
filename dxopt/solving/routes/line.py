"""The optimum of a line: n weights and a remap, proven by their own dual."""

from __future__ import annotations

from collections.abc import Iterator

from dxopt.model.problem import Problem
from dxopt.proofs.certify import certify
from dxopt.runtime.stopping import StoppedError
from dxopt.solving.attempts import Attempt, Options, Refusal
from dxopt.solving.reductions.line import NAME, Line, at_once, best_remap
from dxopt.solving.routes import limits
from dxopt.solving.routes.limits import is_line


def by_line(problem: Problem, options: Options) -> Iterator[Attempt | Refusal]:
    """The optimum of a line, implicit above 100,000 variables; nothing where the space is none.

    Where its bound leaves a gap, a matrix is dropped; an implicit mechanism is kept, as others may be too large. One
    that is stopped before its value is known gives way to one whose value is known soon.
    """
    if not is_line(problem):
        return
    written = problem.variables <= limits.WRITTEN_CELLS
    reduced = Line(written=written).apply(problem)
    if isinstance(reduced, str):
        yield Refusal("line", reduced)
        return

    stop = options.stop
    found = best_remap(reduced.smaller, lambda: stop.requested, options.progress)
    if found is None and written:
        yield Refusal("line", "stopped")
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
        candidate = at_once(problem)
        proven = certify(problem, candidate)
    left = proven.certificate.gap
    exact = found is not None and left <= options.tolerance
    if exact:
        yield Attempt(proven, NAME, (reduced.record,))
    elif not written:
        yield Attempt(proven, candidate.name)
    if found is not None and not exact:
        gap = f"its bound leaves a gap of {left:.1e}; exact where the loss grows with the distance"
        yield Refusal("line", "stopped before its bound" if proven.dual is None and stop.interrupted else gap)
