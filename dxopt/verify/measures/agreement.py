"""Whether a measure in claims.json is the number that was computed; Broken where it is not, with both."""

from __future__ import annotations

import math
from fractions import Fraction

from dxopt.verify.values import Enclosed
from dxopt.verify.verdict import Broken


def agree(name: str, exact: Enclosed, claimed: float) -> None:
    """Broken unless a number is the exact one to 1e-12 of the size of its terms."""
    if not exact.agrees(claimed):
        raise Broken(f"claims.json: {name} is {float(exact.low):.17g}, not {claimed:.17g}")


def agree_product(name: str, claimed: float, level: float, distance: float) -> None:
    """Broken unless a number is level·distance, which may be infinite."""
    if math.isinf(level) or math.isinf(distance):
        if claimed != level * distance:
            raise Broken(f"claims.json: {name} is infinite, not {claimed:.17g}")
        return
    product = Fraction(level) * Fraction(distance)
    agree(name, Enclosed(product, product, product), claimed)
