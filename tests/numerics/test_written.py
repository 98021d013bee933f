"""Numbers as people write them."""

from __future__ import annotations

import pytest

import dxopt as dx
from dxopt.numerics.written import number_of, shortened


def test_long_texts_are_quoted_in_part() -> None:
    assert shortened("7" * 60) == repr("7" * 60)
    assert shortened("7" * 61) == repr("7" * 57 + "...")
    with pytest.raises(dx.SpecError, match=r"^epsilon: is the text 'a{57}\.\.\.'; give a number"):
        number_of("a" * 100, "epsilon")
