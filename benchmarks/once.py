"""One run of one candidate on one instance, in a process of its own.

python -m benchmarks.once INSTANCE CANDIDATE BOUND LIMIT prints three lines: `answering N E` (the number of points and
the level), `scoring`, and the outcome as JSON. The process that started it keeps the time limits by them.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import benchmarks.candidates
import benchmarks.instances  # noqa: F401
from benchmarks.contract import CANDIDATES, INSTANCES, Candidate, Instance, NoAnswer
from benchmarks.objective import score
from benchmarks.usage import Usage

ANSWERING, SCORING = "answering", "scoring"
PART = 0.9
"""Who stops by itself and has spent this part of the limit on an answer whose gap is too large, was too late."""


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes
    ----------
    points : int or None
        Secrets of the instance.
    epsilon : float or None
        Privacy level per unit of distance.
    skipped : str or None
        Why nobody asked the candidate.
    refused : str or None
        Why the candidate did not try.
    failure : str or None
        Why its answer does not count.
    late : bool
        Whether that is because it took too long.
    seconds : float or None
        Wall time of the answer alone; None unless the answer passed the objective.
    spent : float or None
        The same whatever came of it; for a late answer, the limit.
    cpu : float or None
        Processor time, all threads and helper processes together: it suffers less from other work on the machine.
    memory : float or None
        Largest memory of the process and its helpers up to the answer, in megabytes.
    private : str
        "proven", or what keeps the answer from it.
    value, bound, gap : float or None
        As the objective found them; also where the answer does not count as its gap is too large.
    rounds : int or None
        How many rounds the answer took, where the candidate works in rounds and says so.
    note : str
        What the objective checked.
    """

    points: int | None = None
    epsilon: float | None = None
    skipped: str | None = None
    refused: str | None = None
    failure: str | None = None
    late: bool = False
    seconds: float | None = None
    spent: float | None = None
    cpu: float | None = None
    memory: float | None = None
    private: str = ""
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    rounds: int | None = None
    note: str = ""

    @property
    def why_not(self) -> str:
        """Why there is no time, with the seconds that were spent; empty where there is one."""
        if self.skipped is not None:
            return f"skipped: {self.skipped}"
        if self.refused is not None:
            return f"refused: {self.refused}"
        if self.failure is None:
            return ""
        after = "" if self.spent is None or self.late else f", after {self.spent:.3g} s"
        return f"FAILED: {self.failure}{after}"

    @property
    def summary(self) -> str:
        """The outcome in a few words."""
        gap = "" if self.gap is None else f", gap {self.gap:.1e}"
        return self.why_not or f"{self.seconds:.4f} s, {self.private}{gap}"


def once(
    instance: Instance[Any],
    candidate: Candidate[Any],
    *,
    known: float = -math.inf,
    tell: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Warm up on a smaller size, then time the answer, then let the objective score it.

    Parameters
    ----------
    known : float
        A proven lower bound on the optimum.
    tell : callable
        Gets a line before the answer and one after it.
    """
    points = epsilon = before = after = None
    try:
        question = instance.build(instance.size)
        points, epsilon = len(instance.space(question)), instance.level(question)
        refused = candidate.refuses(instance, question)
        if refused is not None:
            return Outcome(points, epsilon, refused=refused)
        candidate.prepare(instance, instance.build(instance.warm or instance.small))()
        work = candidate.prepare(instance, question)
        tell(f"{ANSWERING} {points} {epsilon!r}")
        before = Usage.now()
        answer = work()
        after = Usage.now()
        tell(SCORING)
        found = score(instance, question, answer, known=known, claims=candidate.role != "classic")
        failure = found.failure
    except NoAnswer as error:
        found, failure = None, str(error)
    except Exception as error:
        found, failure = None, f"{type(error).__name__}: {error}".splitlines()[0]
    if before is None:
        return Outcome(points, epsilon, failure=failure)
    after = after or Usage.now()
    spent, cpu = after.wall - before.wall, after.cpu - before.cpu
    measured = Outcome(points, epsilon, failure=failure, spent=spent, cpu=cpu, memory=after.memory)
    if found is None or (failure is not None and found.gap is None):
        return measured
    late = spent > instance.limit if failure is None else spent >= PART * instance.limit
    if failure is None and late:
        failure = f"no answer within {instance.limit:g} s"
    judged = {name: getattr(found, name) for name in ("private", "value", "bound", "gap", "note")}
    judged |= {"failure": failure, "late": late, "rounds": candidate.rounds}
    return Outcome(**{**asdict(measured), "seconds": spent if failure is None else None, **judged})


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # solvers may print; what they say goes to the error output, so that the lines stay three
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    outcome = once(
        replace(INSTANCES.get(sys.argv[1]), limit=float(sys.argv[4])),
        CANDIDATES.get(sys.argv[2])(),
        known=float(sys.argv[3]),
        tell=lambda line: print(line, file=lines, flush=True),
    )
    print(json.dumps(asdict(outcome)), file=lines, flush=True)
