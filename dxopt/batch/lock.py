"""A lock on the output folder of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dxopt.errors import SpecError
from dxopt.runtime.locking import held

PATIENCE = 10.0
"""Seconds to wait for another batch, whose processes may be about to end."""


@contextmanager
def hold(output: Path) -> Iterator[None]:
    """Hold an output folder, so that no two batches write to it at once.

    Raises
    ------
    SpecError
        If the folder cannot be written, or another batch holds it.
    """
    with ExitStack() as stack:
        try:
            output.mkdir(parents=True, exist_ok=True)
            stack.enter_context(held(output / ".lock", PATIENCE))
        except BlockingIOError:
            fix = "wait for it, or name another folder"
            raise SpecError("output", f"another batch is writing to {output}", fix) from None
        except OSError as error:
            wrong = f"{output} cannot be written: {error.strerror or error}"
            raise SpecError("output", wrong, "name another folder") from None
        yield
