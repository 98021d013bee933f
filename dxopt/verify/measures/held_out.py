"""What report.json claims of data that the prior was not made of, derived from how much of it each secret has."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.exact import total
from dxopt.verify.files import HELD_OUT, Arrays, number, numbers, part, read_arrays
from dxopt.verify.folder import Result, Row
from dxopt.verify.measures.agreement import agree
from dxopt.verify.values import AGREEMENT, Enclosed
from dxopt.verify.verdict import Broken, Unproved

_KEYS = {"name", "rows", "loss", "standard_error", "worst", "worst_at", "prior_zero", "outside", "positions"}


def entries(result: Result) -> Iterator[tuple[int, dict[str, object]]]:
    """The sets of data that report.json has figures of; Broken where they are no such list."""
    claimed = result.summary.get("held_out", [])
    if not isinstance(claimed, list):
        raise Broken("report.json: held_out is no list")
    for place, entry in enumerate(claimed):
        if not isinstance(entry, dict) or set(entry) != _KEYS or not isinstance(entry["name"], str):
            raise Broken(f"report.json: held_out[{place}] has not the entries {', '.join(sorted(_KEYS))}")
        yield place, entry


def check_held_out(result: Result, place: int, claimed: dict[str, object]) -> str:
    """Mean loss, its standard error, the worst loss and both shares, from the weights of the data by secret."""
    data = part(read_arrays(result.folder, HELD_OUT), str(place))
    weights = _weights(data, "weights", result.size)
    whole = total(weights)
    if not whole:
        raise Broken(f"{HELD_OUT}: set {place} has no data")
    _check_counts(result, data, claimed, weights, whole)
    losses = result.row_losses
    seen = np.flatnonzero(weights).tolist()
    endless = [x for x in seen if losses[x] is None]
    if endless:
        nothing = [claimed[key] for key in ("loss", "standard_error", "worst") if claimed[key] is not None]
        if nothing or claimed["worst_at"] not in {result.secret(x) for x in endless}:
            raise Broken(f"report.json: the loss is infinite in secret {result.secret(endless[0])}")
        return "infinite"
    found = {x: row for x in seen if (row := losses[x]) is not None}
    mean, size = (sum((Fraction(float(weights[x])) * found[x][i] for x in seen), Fraction(0)) / whole for i in (0, 1))
    agree("loss", Enclosed(mean, mean, size), _number("loss", claimed))
    _check_error(data, claimed, found, mean, size, whole)
    _check_worst(result, claimed, found)
    return f"{float(mean):.12g} over {claimed['rows']} rows"


def check_positions(claimed: dict[str, object]) -> str:
    """What is claimed of positions stays open, as these are not in the files."""
    raise Unproved(f"{claimed['name']}: positions are not in the files")


def _check_counts(
    result: Result, data: Arrays, claimed: dict[str, object], weights: NDArray[np.float64], whole: Fraction
) -> None:
    """How many rows there are, and the shares at secrets of prior 0 and outside."""
    rows = number(data, "rows")
    if type(claimed["rows"]) is not int or claimed["rows"] != rows or rows < max(1, np.count_nonzero(weights)):
        raise Broken(f"report.json: rows are {claimed['rows']!r}, in {HELD_OUT} {rows:g}")
    outside = number(data, "outside")
    if not 0 <= outside < math.inf:
        raise Broken(f"{HELD_OUT}: outside is {outside}")
    beyond = Fraction(outside) / (whole + Fraction(outside))
    agree("outside", Enclosed(beyond, beyond, Fraction(1)), _number("outside", claimed))
    unlikely = total(np.where(result.prior == 0, weights, 0.0)) / whole
    agree("prior_zero", Enclosed(unlikely, unlikely, Fraction(1)), _number("prior_zero", claimed))


def _check_error(
    data: Arrays, claimed: dict[str, object], found: dict[int, Row], mean: Fraction, size: Fraction, whole: Fraction
) -> None:
    """k/(k-1) Σ w²(L - mean)² / (Σ w)² is the square of the standard error, up to rounding of the losses."""
    rows = int(number(data, "rows"))
    if rows < 2:
        if claimed["standard_error"] is not None:
            raise Broken(f"report.json: standard_error is {claimed['standard_error']!r}, of one row")
        return
    stated = Fraction(_number("standard_error", claimed))
    squares = _weights(data, "squares", None)
    # Squares of weights are at most the square of their sum, and in all at least that over the number of weights.
    weights = _weights(data, "weights", len(squares))
    slack = 1 + 1e-9
    if (squares > weights**2 * slack).any() or total(squares) * Fraction(slack) < whole**2 / rows:
        raise Broken(f"{HELD_OUT}: the squares are none of {rows} weights")
    spread = sum((Fraction(float(squares[x])) * (row[0] - mean) ** 2 for x, row in found.items()), Fraction(0))
    scale = Fraction(rows, rows - 1) / whole**2
    # A loss that is off by 1e-12 of its size moves the error by at most that times √(scale Σ w²).
    off = AGREEMENT * max(size, *(row[1] for row in found.values()))
    room = 4 * off * _root(scale * total(squares)) + AGREEMENT * stated
    lower = max(stated - room, Fraction(0))
    if not (stated >= 0 and lower**2 <= scale * spread <= (stated + room) ** 2):
        raise Broken(f"report.json: standard_error is {math.sqrt(scale * spread):.17g}, not {float(stated):.17g}")


def _check_worst(result: Result, claimed: dict[str, object], found: dict[int, Row]) -> None:
    """The largest loss of a secret in the data, and whose it is."""
    most, size = max(found.values())
    agree("worst", Enclosed(most, most, size), _number("worst", claimed))
    named = [row for x, row in found.items() if result.secret(x) == claimed["worst_at"]]
    if not any(row[0] >= most - AGREEMENT * size for row in named):
        raise Broken(f"report.json: worst_at is {claimed['worst_at']!r}, which loses less")


def _weights(data: Arrays, key: str, size: int | None) -> NDArray[np.float64]:
    found = numbers(data, key, size)
    if not (np.isfinite(found) & (found >= 0)).all():
        raise Broken(f"{HELD_OUT}: {key} are not all numbers of 0 or more")
    return found


def _root(square: Fraction) -> Fraction:
    """At least the square root."""
    return Fraction(math.sqrt(square)) * Fraction(1001, 1000)


def _number(key: str, claimed: dict[str, object]) -> float:
    found = claimed[key]
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise Broken(f"report.json: {key} is {found!r}, no number")
    return float(found)
