"""What proves a bound, as a few arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from dxopt.duality import AnyDual
from dxopt.program import AdversaryDual, Dual, WorstDual
from dxopt.reductions.line import LineDual
from dxopt.reductions.product import ProductDual
from dxopt.report.parts import Arrays, distinct, nested, part, which


def pack_dual(dual: AnyDual | None, size: int) -> Arrays:
    """The arrays of a dual of n = `size` row prices; of factors alike only one is kept. None is prices of 0."""
    match dual:
        case WorstDual():
            return {"weights": dual.weights, **nested(0, pack_dual(dual.inner, size))}
        case AdversaryDual():
            return {"guesses": dual.guesses, "price": dual.price, **nested(0, pack_dual(dual.inner, size))}
    if not isinstance(dual, ProductDual):
        dual = dual or Dual(np.zeros(size))
        return {field.name: getattr(dual, field.name) for field in fields(dual)}
    kept = distinct(dual.factors)
    packed: Arrays = {"which": which(dual.factors, kept)}
    for place, factor in enumerate(kept):
        packed |= nested(place, pack_dual(factor, 0))
    return packed


def unpack_dual(arrays: Mapping[str, Any]) -> AnyDual:
    """The dual of `pack_dual`; KeyError or TypeError where the arrays are not of one."""
    if "which" in arrays:
        places = arrays["which"].tolist()
        kept = [unpack_dual(part(arrays, place)) for place in range(max(places) + 1)]
        return ProductDual(tuple(kept[place] for place in places))
    if "weights" in arrays:
        return WorstDual(arrays["weights"], Dual(**part(arrays, 0)))
    if "guesses" in arrays:
        return AdversaryDual(arrays["guesses"], float(arrays["price"]), Dual(**part(arrays, 0)))
    return LineDual(**arrays) if "roots" in arrays else Dual(**arrays)
