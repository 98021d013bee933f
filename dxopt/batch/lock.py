"""A lock on the output folder of a batch."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dxopt.errors import SpecError
from dxopt.runtime.locking import folder_held

PATIENCE = 10.0
"""Seconds to wait for another batch, whose processes may be about to end."""
_TICK = 0.05


@contextmanager
def hold(output: Path) -> Iterator[list[int]]:
    """Hold an output folder, so that no two batches write to it at once; give the descriptors that hold it.

    Processes that are started with the descriptors hold the folder as well, until the last of them has ended. Where
    there are none to hand on, they end with the batch.

    Raises
    ------
    SpecError
        If the folder cannot be written, or another batch holds it.
    """
    with ExitStack() as held:
        try:
            output.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=output).close()
            descriptors = _held(held, output)
        except OSError as error:
            wrong = f"{output} cannot be written: {error.strerror or error}"
            raise SpecError("output", wrong, "name another folder") from None
        yield descriptors


def _held(stack: ExitStack, output: Path) -> list[int]:
    """Hold a folder until a stack is left, once whoever holds it now lets it go."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return stack.enter_context(folder_held(output))
        except BlockingIOError:
            if time.monotonic() > until:
                fix = "wait for it, or name another folder"
                raise SpecError("output", f"another batch is writing to {output}", fix) from None
            time.sleep(_TICK)
