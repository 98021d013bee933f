"""What report.json claims of secrets off the prior: whom the channel costs most, and which reports it never makes."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.files import Arrays, numbers, part
from dxopt.verify.folder import Result, Row
from dxopt.verify.measures.agreement import agree
from dxopt.verify.values import AGREEMENT, Enclosed
from dxopt.verify.verdict import Broken, Unproved

_HARDLY = 1e-6
_KEPT = 20
_KEYS = {
    "worst_loss",
    "worst_at",
    "prior_zero",
    "prior_zero_mean",
    "prior_zero_worst",
    "prior_zero_at",
    "never",
    "hardly",
    "not_reported",
}
_OF_LOSSES = ("worst_loss", "prior_zero_mean", "prior_zero_worst", "prior_zero_at")


def check_off_prior(result: Result, claimed: object) -> str:
    """Every entry of `off_prior`; Unproved where the channel does not follow from the files."""
    if not isinstance(claimed, dict) or set(claimed) != _KEYS:
        raise Broken(f"report.json: off_prior has not the entries {', '.join(sorted(_KEYS))}")
    unlikely = np.flatnonzero(result.prior == 0)
    _equal("prior_zero", claimed["prior_zero"], len(unlikely))
    _check_reports(result, claimed)
    if claimed["worst_at"] is None:
        if any(claimed[key] is not None for key in _OF_LOSSES):
            raise Broken("report.json: off_prior has losses, but not where they are largest")
        return f"{len(unlikely):,} secrets have prior 0"
    losses = result.row_losses
    everyone = np.arange(result.size)
    _check_worst(result, claimed, "worst_loss", "worst_at", losses, everyone)
    _check_worst(result, claimed, "prior_zero_worst", "prior_zero_at", losses, unlikely)
    _check_mean(claimed["prior_zero_mean"], losses, unlikely)
    return f"{len(unlikely):,} secrets have prior 0; secret {claimed['worst_at']} has the largest mean loss"


def _check_worst(
    result: Result,
    claimed: dict[str, Any],
    key: str,
    where: str,
    losses: list[Row | None],
    secrets: NDArray[np.int64],
) -> None:
    """The largest loss of some secrets, and that the secret of the claimed label has it."""
    number = claimed[key]
    label = claimed[where]
    if not len(secrets):
        _equal(key, number, None)
        _equal(where, label, None)
        return
    named = [x for x in secrets.tolist() if result.secret(x) == label]
    endless = [x for x in secrets.tolist() if losses[x] is None]
    if endless:
        _equal(key, number, None)
        if not set(named) & set(endless):
            raise Broken(f"report.json: {where} is {label!r}, but {result.secret(endless[0])} loses infinitely much")
        return
    found = {x: row for x in secrets.tolist() if (row := losses[x]) is not None}
    most, size = max(found.values())
    agree(key, Enclosed(most, most, size), _number(key, number))
    if not any(found[x][0] >= most - AGREEMENT * size for x in named):
        raise Broken(f"report.json: {where} is {label!r}, which loses less")


def _check_mean(claimed: object, losses: list[Row | None], secrets: NDArray[np.int64]) -> None:
    """The mean loss of some secrets, each counted once."""
    rows = [row for x in secrets.tolist() if (row := losses[x]) is not None]
    if not len(secrets) or len(rows) < len(secrets):
        _equal("prior_zero_mean", claimed, None)
        return
    mean, size = (sum((row[side] for row in rows), Fraction(0)) / len(rows) for side in (0, 1))
    agree("prior_zero_mean", Enclosed(mean, mean, size), _number("prior_zero_mean", claimed))


def _check_reports(result: Result, claimed: dict[str, Any]) -> None:
    """Which reports are never made, and by a matrix hardly ever."""
    if claimed["never"] is None:
        _equal("hardly", claimed["hardly"], None)
        _equal("not_reported", claimed["not_reported"], [])
        return
    labelled: list[str] = []
    if "matrix" in result.mechanism:
        most = numbers(result.mechanism, "matrix", result.size, None).max(axis=0)
        named = np.flatnonzero(most < _HARDLY)
        never = int((most == 0).sum())
        hardly = len(named) - never
        labelled = [result.report(int(z)) for z in named[:_KEPT]]
    else:
        never = int((~_made(result.mechanism, result.size)).sum())
        hardly = None
    _equal("never", claimed["never"], never)
    _equal("hardly", claimed["hardly"], hardly)
    _equal("not_reported", claimed["not_reported"], labelled if result.written else [])


def _made(arrays: Arrays, size: int) -> NDArray[np.bool_]:
    """Which reports have a positive probability, from weights, tables and factors; see `implicit.channels`."""
    if "which" in arrays:
        factors = [part(arrays, str(int(index))) for index in numbers(arrays, "which", None)]
        by_factor = [_made(factor, _secrets(factor)) for factor in factors]
        made = reduce(np.logical_and.outer, by_factor).reshape(-1)
        made[int(numbers(arrays, "slack"))] = True
        return made
    if "table" in arrays:
        base = part(arrays, "0")
        before = _made(base, _secrets(base))
        made = np.zeros(len(arrays["reports"]), dtype=bool)
        made[numbers(arrays, "table", len(before))[before].astype(np.int64)] = True
        return made
    if "matrix" in arrays:
        return np.max(numbers(arrays, "matrix", size, None), axis=0) > 0
    if "weights" in arrays:
        made = numbers(arrays, "weights", size) > 0
        made[int(numbers(arrays, "slack"))] = True
        return made
    raise Unproved(f"{arrays.get('name')}: which reports are made is not in the files")


def _secrets(arrays: Arrays) -> int:
    """How many secrets a part of mechanism.npz is about."""
    for key in ("weights", "table", "matrix"):
        if key in arrays:
            return len(arrays[key])
    raise Unproved(f"{arrays.get('name')}: which reports are made is not in the files")


def _equal(key: str, claimed: object, found: object) -> None:
    """Broken unless an entry is what was found, and of its type."""
    if type(claimed) is not type(found) or claimed != found:
        raise Broken(f"report.json: {key} is {str(claimed)[:80]!r}, not {str(found)[:80]!r}")


def _number(key: str, claimed: object) -> float:
    if isinstance(claimed, bool) or not isinstance(claimed, int | float):
        raise Broken(f"report.json: {key} is {claimed!r}, no number")
    return float(claimed)
