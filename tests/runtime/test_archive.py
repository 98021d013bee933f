"""Interrupts while arrays are written."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxopt.runtime.archive import compress


class Interrupting(io.BytesIO):
    """A stream that is interrupted at one of its writes."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.left = at

    def write(self, content: Any) -> int:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return super().write(content)


@pytest.mark.parametrize("at", range(1, 8))
def test_an_interrupt_while_arrays_are_written_stays_one(at: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        compress(Interrupting(at), {"a": np.arange(10.0), "b": np.random.default_rng(0).random(10**5)})


def test_an_interrupt_that_the_end_of_a_file_hides_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden(*_: Any, **__: Any) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise ValueError("an open writing handle")

    monkeypatch.setattr(np, "savez_compressed", hidden)
    with pytest.raises(KeyboardInterrupt):
        compress(Path("a.npz"), {})
