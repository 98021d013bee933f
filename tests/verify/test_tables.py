"""Tables of integers and table files as the verifier reads them: what is none is said to be none."""

from __future__ import annotations

import pytest

from dxopt.verify.table_file import _require_sections
from dxopt.verify.verdict import Broken


@pytest.mark.parametrize("size", [-1, -7, 1.0, "8", None, True])
def test_sections_follow_each_other(size: object) -> None:
    good = {"starts": (0, 8), "reports": (8, 3), "steps": (16, 0), "distances": (16, 16)}
    _require_sections(good, bytes(32))
    with pytest.raises(Broken, match="section steps is not where the one before it ends"):
        _require_sections({**good, "steps": (16, size), "distances": (17, 16)}, bytes(33))
