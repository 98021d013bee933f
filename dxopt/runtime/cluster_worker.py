"""The program that a worker of a cluster on this machine runs."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from dxopt.runtime.process import Line


def main(line: Line) -> None:
    """Receive the address and the key of a scheduler, and work for it with one thread until the scheduler ends."""
    asyncio.run(_work(*line.recv()))


HERE = "127.0.0.1"
"""Schedulers and workers that are started here listen to this machine alone."""


async def _work(scheduler: str, security: Any) -> None:
    from distributed import Worker

    how: dict[str, Any] = {"host": HERE, "protocol": "tls://", "security": security}
    async with Worker(scheduler, **how, nthreads=1, memory_limit=0, silence_logs=logging.ERROR) as worker:
        await worker.finished()
