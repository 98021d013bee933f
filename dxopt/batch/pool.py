"""Jobs in several processes of this machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from multiprocessing.connection import wait

from dxopt.batch.hands import Hand
from dxopt.batch.jobs import Job
from dxopt.batch.outcome import Done
from dxopt.batch.performing import Tell
from dxopt.stopping import Stop

_TICK = 0.05


def in_processes(
    jobs: Mapping[int, Job], stop: Stop, tell: Tell, *, workers: int, memory_limit: float | None, lock: int
) -> Iterator[tuple[int, Done]]:
    """What becomes of each job, by its place, as they are done; none of the processes is left behind."""
    waiting, running = deque(jobs.items()), dict[Hand, int]()
    hands: list[Hand] = []
    try:
        while waiting or running:
            while stop.interrupted and waiting:
                place, job = waiting.popleft()
                yield place, job.not_done("not started", "not started, as the run was interrupted")
            for _ in range(min(workers, len(waiting) + len(running)) - len(hands)):
                hands.append(Hand(memory_limit, keep=[lock]))
            for hand in hands:
                if stop.interrupted:
                    hand.ask_to_stop()
                if waiting and hand.ready and hand.job is None:
                    if hand.used and hand.over(0.5):
                        hand.end()
                        continue
                    place, job = waiting.popleft()
                    running[hand] = place
                    hand.start(job)
            hands = [hand for hand in hands if not hand.ended]
            wait([hand.line for hand in hands], _TICK)
            for hand in hands:
                done = hand.hear(tell)
                if done is not None:
                    yield running.pop(hand), done
            hands = [hand for hand in hands if not hand.ended]
    finally:
        for hand in hands:
            if not hand.ended:
                hand.end()
