"""The program that a worker of a cluster on this machine runs."""

from __future__ import annotations

import asyncio
import logging

from dxopt.runtime.process import Line


def main(line: Line) -> None:
    """Receive the address of a scheduler, and work for it with one thread until the scheduler ends."""
    asyncio.run(_work(line.recv()))


HERE = "127.0.0.1"
"""Whoever reaches a scheduler or a worker may let it run anything, so both listen to this machine alone."""


async def _work(scheduler: str) -> None:
    from distributed import Worker

    async with Worker(scheduler, host=HERE, nthreads=1, memory_limit=0, silence_logs=logging.ERROR) as worker:
        await worker.finished()
