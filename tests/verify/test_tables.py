"""Tables of integers and table files as the verifier reads them: what is none is said to be none."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dxopt.verify.table_file import _require_sections
from dxopt.verify.tables import read_counts
from dxopt.verify.verdict import Broken


@pytest.mark.parametrize("bits", [64, 128, 192, 256, 320, -256, 0])
def test_tables_are_of_so_many_bits(bits: int) -> None:
    result = SimpleNamespace(matrix=np.ones((1, 1)), secret=str)
    count = np.frombuffer((1 << max(bits, 0)).to_bytes(41, "big"), dtype=np.uint8)[None, None]
    arrays = {"counts": count, "bits": np.array(bits)}
    if bits in (64, 128, 192, 256):
        assert read_counts(result, arrays) == (bits, [[1 << bits]])  # pyright: ignore[reportArgumentType]
    else:
        with pytest.raises(Broken, match="its counts are of uint8"):
            read_counts(result, arrays)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("size", [-1, -7, 1.0, "8", None, True])
def test_sections_follow_each_other(size: object) -> None:
    good = {"starts": (0, 8), "reports": (8, 3), "steps": (16, 0), "distances": (16, 16)}
    _require_sections(good, 32)
    with pytest.raises(Broken, match="section steps is not where the one before it ends"):
        _require_sections({**good, "steps": (16, size), "distances": (17, 16)}, 33)
