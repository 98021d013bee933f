"""Jobs in several processes of this machine."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from multiprocessing.connection import wait
from types import TracebackType
from typing import TYPE_CHECKING

from dxopt.batch.worker import Hand

if TYPE_CHECKING:
    from dxopt.batch.answering import Tell
    from dxopt.batch.jobs import Job
    from dxopt.batch.outcome import Done
    from dxopt.runtime.stopping import Stop

_TICK = 0.05


class Pool:
    """A context with processes that do jobs; none of them is left behind.

    They start at once, before the jobs are known: loading takes longer than a small problem.

    Parameters
    ----------
    workers : int
        How many, at most.
    memory_limit : float, optional
        MiB for each job.
    lock : int
        A descriptor that they hold as well.
    """

    def __init__(self, workers: int, *, memory_limit: float | None, lock: int) -> None:
        self._workers, self._memory_limit, self._lock = workers, memory_limit, lock
        self._hands: list[Hand] = []

    def __enter__(self) -> Pool:
        self._start(min(self._workers, os.cpu_count() or 1))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hand in self._hands:
            if not hand.ended:
                hand.end()

    def do(self, jobs: Mapping[int, Job], stop: Stop, tell: Tell) -> Iterator[tuple[int, Done]]:
        """What becomes of each job, by its place, as they are done."""
        waiting, running = deque(jobs.items()), dict[Hand, int]()
        while waiting or running:
            while stop.interrupted and waiting:
                place, job = waiting.popleft()
                yield place, job.not_started()
            self._start(min(self._workers, len(waiting) + len(running)))
            for hand in self._hands:
                if stop.interrupted:
                    hand.ask_to_stop()
                if waiting and hand.ready and hand.job is None:
                    if hand.used and hand.over(0.5):
                        hand.end()
                        continue
                    place, job = waiting.popleft()
                    running[hand] = place
                    hand.start(job)
            self._drop_ended()
            wait([hand.line for hand in self._hands], _TICK)
            for hand in self._hands:
                done = hand.hear(tell)
                if done is not None:
                    yield running.pop(hand), done
            self._drop_ended()

    def _start(self, count: int) -> None:
        for _ in range(count - len(self._hands)):
            self._hands.append(Hand(self._memory_limit, keep=[self._lock]))

    def _drop_ended(self) -> None:
        self._hands = [hand for hand in self._hands if not hand.ended]
