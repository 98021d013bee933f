"""One run of one candidate on one instance, in a process of its own: python -m benchmarks.once INSTANCE CANDIDATE."""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
from dataclasses import asdict, dataclass

import benchmarks.candidates
import benchmarks.instances  # noqa: F401
from benchmarks.contract import CANDIDATES, INSTANCES, Candidate, Instance
from benchmarks.objective import score

_MEGA = 1e6 if sys.platform == "darwin" else 1e3


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes
    ----------
    points : int or None
        Secrets of the instance.
    refused : str or None
        Why the candidate did not try.
    failure : str or None
        Why its answer does not count.
    seconds : float or None
        Wall time of the answer alone; None unless the answer passed the objective.
    cpu : float or None
        Processor time of the same, all threads together: it suffers less from other work on the machine.
    proven : bool
        Whether privacy is proven, or else only within 1e-9.
    utility : float or None
    memory : float or None
        Largest memory of the process up to the answer, in megabytes.
    note : str
        What the objective checked.
    """

    points: int | None = None
    refused: str | None = None
    failure: str | None = None
    seconds: float | None = None
    cpu: float | None = None
    proven: bool = False
    utility: float | None = None
    memory: float | None = None
    note: str = ""

    @property
    def summary(self) -> str:
        """The outcome in a few words."""
        if self.seconds is None:
            return f"refused: {self.refused}" if self.refused is not None else f"FAILED: {self.failure}"
        return f"{self.seconds:.4f} s, {'proven' if self.proven else 'not proven'}"


def once(instance: Instance, candidate: Candidate) -> Outcome:
    """Warm up on the small size, then time the answer, then let the objective score it."""
    points = None
    try:
        space = instance.family(instance.size)
        points = len(space)
        refused = candidate.refuses(instance, points)
        if refused is not None:
            return Outcome(points, refused=refused)
        candidate.prepare(instance, instance.family(instance.small))()
        work = candidate.prepare(instance, space)
        start, started = time.perf_counter(), time.process_time()
        answer = work()
        seconds, cpu = time.perf_counter() - start, time.process_time() - started
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEGA
        found = score(instance, space, answer)
    except Exception as error:
        return Outcome(points, failure=f"{type(error).__name__}: {error}".splitlines()[0])
    if found.failure is not None:
        return Outcome(points, failure=found.failure)
    return Outcome(points, None, None, seconds, cpu, found.proven, found.utility, memory, found.note)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    outcome = once(INSTANCES.get(sys.argv[1]), CANDIDATES.get(sys.argv[2])())
    print(json.dumps(asdict(outcome)))
