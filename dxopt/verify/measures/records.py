"""What claims.json claims of databases of many records: their expected loss, and the level of one record."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from dxopt.verify.folder import Result
from dxopt.verify.measures.agreement import agree, agree_product
from dxopt.verify.measures.least_level import check_least_level
from dxopt.verify.privacy import bound_pairs
from dxopt.verify.values import Enclosed
from dxopt.verify.verdict import Broken, Unproved

_RECORDS = re.compile(r"expected loss of (\d+) records|(epsilon|delta) of one record")


def is_of_records(name: str) -> bool:
    """Whether a measure is about records, by its name."""
    return _RECORDS.fullmatch(name) is not None


def check_records(result: Result, name: str, claimed: float) -> None:
    """n records lose n times what one does; one record is known to all but by εd, with d the largest distance."""
    found = _RECORDS.fullmatch(name)
    if found is None:
        raise Unproved(f"{claimed:.12g}: it is about no records")
    count = found[1]
    which = found[2]
    delta = result.claimed("delta") if result.private else 0.0
    if count is not None:
        one = result.worth.expected_loss(result.losses)
        records = int(count)
        agree(name, Enclosed(records * one.low, records * one.high, records * one.size), claimed)
    elif which == "delta":
        if claimed != delta:
            raise Broken(f"claims.json: {name} is {delta:.17g}, not {claimed:.17g}")
    elif result.private and (not result.delta or result.named.get("pairs") == "all"):
        agree_product(name, claimed, result.claimed("epsilon"), float(result.distances.max()))
    else:
        # Where not all pairs are bound, εd is the least at which all of them are private.
        largest = float(result.distances.max())
        if not 0 < largest < math.inf:
            raise Unproved(f"{claimed:.12g}: it is of a distance {largest:g}")
        bound = bound_pairs(result.distances, "all")
        check_least_level(result, bound, claimed / largest, Fraction(delta), f"claims.json: {name}")
