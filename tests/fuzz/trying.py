"""Tries one case: makes the problem, solves it, judges the report, and says what came of it."""

from __future__ import annotations

import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import FrameType

import numpy as np

import dxopt as dx
from dxopt.runtime.stopping import Status, Stop
from dxopt.solving.programs.program import LinearProgram, Solution
from dxopt.solving.solvers import worker
from dxopt.solving.solvers.base import SOLVERS, Settings
from dxopt.verify import verify
from dxopt.verify.verdict import Outcome as Verified
from tests.fuzz.case import Case
from tests.fuzz.judging import Find, cone_of, finds
from tests.judges.claims import power

LONGEST = 30.0
"""Seconds that a solve may take."""
HUNG = 300
"""Seconds after which a case is given up."""


@dataclass(frozen=True)
class Extras:
    """What is tried beyond solving and judging.

    Attributes
    ----------
    beside : bool
        A linear program, where the bound does not follow from the dual.
    table : bool
        The integer table.
    folder : bool
        Saving, loading and verifying.
    inside : bool
        Whether solvers run in this process, so that its own time counts: others on the machine may take the rest.
    """

    beside: bool = True
    table: bool = False
    folder: bool = False
    inside: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of a case.

    Attributes
    ----------
    verdict : str
        "optimal", "open" (proven, with a gap), "refused" (a documented error), or "find".
    finds : tuple of Find
    seconds : float
        Of the solve.
    gap : float
    why : str
        The documented error.
    """

    verdict: str
    finds: tuple[Find, ...] = ()
    seconds: float = 0.0
    gap: float = 0.0
    why: str = ""


class _Hung(BaseException):
    """The case takes too long."""


def outcome_of(case: Case, extras: Extras) -> Outcome:
    """Try a case. Warnings, undocumented errors and slowness are finds like false claims."""
    found: list[Find] = []
    clock = time.process_time if extras.inside else time.perf_counter
    report, error, warned, seconds = _solved(case, clock)
    if seconds > LONGEST:
        # other processes may have taken the time: what counts is the better of two
        report, error, warned, again = _solved(case, clock)
        seconds = min(seconds, again)
    found += _warned(warned)
    if seconds > LONGEST:
        found.append(Find("slow", f"{seconds:.0f} s"))
    if isinstance(error, dx.SpecError):
        found += _refused(case, error)
        return Outcome("find" if found else "refused", tuple(found), seconds, why=str(error))
    if error is not None and not isinstance(error, _Hung):
        found.append(Find("exception", _where(error)))
    if report is None:
        return Outcome("find", tuple(found), seconds)
    found += _judged(report, extras)
    verdict = "find" if found else "optimal" if report.status == "optimal" else "open"
    return Outcome(verdict, tuple(found), seconds, report.certificate.gap)


def _solved(
    case: Case, clock: Callable[[], float]
) -> tuple[dx.Report | None, BaseException | None, list[warnings.WarningMessage], float]:
    """The report or the error of a case, the warnings, and the seconds that it took."""
    began = clock()
    report: dx.Report | None = None
    error: BaseException | None = None
    with warnings.catch_warnings(record=True) as warned, _limited():
        warnings.simplefilter("always", RuntimeWarning)
        try:
            report = case.solve(case.problem())
        except (_Hung, Exception) as raised:
            error = raised
    return report, error, warned, clock() - began


def _judged(report: dx.Report, extras: Extras) -> list[Find]:
    """What the judges find, and what the integer table and the result folder do."""
    found = list(finds(report, beside=extras.beside))
    for wanted, kind, check in ((extras.table, "table", _table), (extras.folder, "folder", _folder)):
        if not wanted:
            continue
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", RuntimeWarning)
            try:
                found += check(report)
            except Exception as error:
                found.append(Find(f"{kind} exception", _where(error)))
        found += _warned(warned)
    return found


def _refused(case: Case, error: dx.SpecError) -> Iterator[Find]:
    """Automatic choices refuse no sound problem but for a budget that no channel keeps to."""
    sound = case.method in ("auto", "optimal") and case.solver == "auto" and case.spanner is None
    if sound and error.field not in ("max_loss", "loss"):
        yield Find("refused", str(error))
    if error.field == "max_loss":
        numbers = [word.rstrip(",;") for word in str(error).split() if word[0] in "-0123456789"]
        if len(numbers) > 1 and numbers[0] == numbers[1]:
            yield Find("digits", str(error))


def _table(report: dx.Report) -> Iterator[Find]:
    """The integer table: row totals and privacy in integers."""
    try:
        table = report.table
    except dx.UnsupportedError:
        return
    counts = table.counts.tolist()
    if any(sum(row) != table.total or min(row) < 0 for row in counts):
        yield Find("table", "rows do not sum to T")
    proof = report.certificate
    if table.epsilon > proof.epsilon or table.delta > proof.delta:
        yield Find("table", f"claims epsilon {table.epsilon!r}, delta {table.delta!r}, beyond the certificate's")
    cone = cone_of(report.problem)
    for x, other in np.argwhere(cone.bound).tolist():
        _, high = power(table.epsilon, float(cone.distances[x, other]))
        over = [max(Fraction(0), a - high * b) for a, b in zip(counts[x], counts[other], strict=True)]
        if sum(over) > Fraction(table.delta) * table.total:
            yield Find("table", f"pair {x}, {other} is told apart")
            return


def _folder(report: dx.Report) -> Iterator[Find]:
    """A result folder: what `dx.load` and `verify` say of it."""
    with tempfile.TemporaryDirectory(prefix="dxopt-fuzz-") as folder:
        report.save(folder)
        loaded = dx.load(folder)
        if loaded.certificate.value != report.certificate.value or loaded.status != report.status:
            yield Find("folder", f"loads as {loaded!r} instead of {report!r}")
        for check in verify(Path(folder)).checks:
            if check.status is Verified.FAILS:
                yield Find("not verified", f"{check.name}: {check.detail}")


def _warned(warned: list[warnings.WarningMessage]) -> list[Find]:
    kinds = {(str(one.filename), one.lineno, str(one.message)) for one in warned if _is_ours(one)}
    return [Find("warning", f"{Path(file).name}:{line}: {text}") for file, line, text in sorted(kinds)]


def _is_ours(one: warnings.WarningMessage) -> bool:
    return issubclass(one.category, RuntimeWarning)


def _where(error: BaseException) -> str:
    """An error with the last line of dxopt that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "dxopt" in frame.filename]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
    return f"{place}{type(error).__name__}: {error}"


@contextmanager
def solvers_inside() -> Iterator[None]:
    """General solvers run in this process: faster, but what ends the solver ends this process."""

    def solve(
        solver: str,
        program: LinearProgram,
        accuracy: float,
        stop: Stop,
        progress: Callable[[int, float], None] = lambda iterations, value: None,
    ) -> Solution:
        settings = Settings(accuracy, stop.remaining(), lambda: stop.requested, progress)
        try:
            return SOLVERS.get(solver)().solve(program, settings)
        except Exception as error:
            return Solution(Status.FAILED, message=f"{solver}: {type(error).__name__}: {error}")

    before = worker.solve
    worker.solve = solve
    try:
        yield
    finally:
        worker.solve = before


@contextmanager
def _limited() -> Iterator[None]:
    def give_up(signum: int, frame: FrameType | None) -> None:
        raise _Hung

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(HUNG)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
