"""Makes a case smaller and rounder while it still shows what was found."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import dxopt as dx
from tests.fuzz.calls import Call, call
from tests.fuzz.case import Adversary, Case, Losses

Shows = Callable[[Case], bool]
MOST_TRIES = 400
MOST_SECONDS = 20.0
_GIVEN = "dx.MetricSpace.from_distances"
_PLACED = "dx.MetricSpace.from_points"


def minimised(case: Case, shows: Shows, tries: int = MOST_TRIES, seconds: float = MOST_SECONDS) -> Case:
    """The simplest case that is found by trying simpler ones one after another, as long as they show it.

    Parameters
    ----------
    case : Case
        Shows what was found.
    shows : callable
        Whether a case does.
    tries : int
        The most cases that are tried.
    seconds : float
        No other case is tried after these.
    """
    left = tries
    deadline = time.monotonic() + seconds
    changed = True
    while changed and left > 0:
        changed = False
        for simpler in _simpler(case):
            if left <= 0 or time.monotonic() > deadline:
                return case
            left -= 1
            if simpler != case and shows(simpler):
                case = simpler
                changed = True
                break
    return case


def _simpler(case: Case) -> Iterator[Case]:
    """Cases that are simpler in one respect, those that gain most first."""
    # 1. usual ways, a usual objective
    yield from _usual(case)
    # 2. fewer points and reports
    yield from _without_points(case)
    yield from _without_reports(case)
    # 3. plain data instead of constructors
    yield from _plain(case)
    # 4. rounder numbers
    yield from _rounder(case)


def _usual(case: Case) -> Iterator[Case]:
    usual = {"method": "auto", "solver": "auto", "tolerance": 1e-6, "spanner": None, "delta": 0.0, "pairs": "all"}
    for name, value in {**usual, "objective": "expected_loss"}.items():
        if getattr(case, name) != value and not (name == "objective" and case.weights is None):
            yield replace(case, **{name: value}, **({"epsilon": 1.0} if case.epsilon is None else {}))
    if case.epsilon not in (1.0, None):
        yield replace(case, epsilon=1.0)
    if case.weights is not None and set(case.weights) != {1.0}:
        yield replace(case, weights=(1.0,) * len(case.weights))
    if isinstance(case.objective, Adversary) and case.objective.adversary_loss != "binary":
        yield replace(case, objective=replace(case.objective, adversary_loss="binary"))
    if isinstance(case.loss, str) and case.loss != "binary" and case.points is None:
        yield replace(case, loss="binary")


def _without_points(case: Case) -> Iterator[Case]:
    space = case.space
    if space.name in (_GIVEN, _PLACED):
        rows = space.args[0]
        for gone in range(len(rows) if len(rows) > 1 else 0):
            kept = _without(rows, gone)
            if space.name == _GIVEN:
                kept = tuple(_without(row, gone) for row in kept)
            yield _reduced(case, replace(space, args=(kept, *space.args[1:])), gone)
    elif space.name == "dx.line" and space.args[0] > 1:
        size = space.args[0]
        for gone in {0, size - 1}:
            yield _reduced(case, replace(space, args=(size - 1,)), gone)


def _reduced(case: Case, space: Call, gone: int) -> Case:
    """A case without one secret, which is no report any more either where the losses are named."""

    def fewer(loss: Losses) -> Losses:
        return loss if isinstance(loss, str) else _without(loss, gone)

    objective = case.objective
    if isinstance(objective, Adversary):
        objective = replace(objective, adversary_loss=fewer(objective.adversary_loss))
    weights = None if case.weights is None else _without(case.weights, gone)
    if weights is not None and not any(weights):
        weights = (1.0,) * len(weights)
    return replace(case, space=space, weights=weights, loss=fewer(case.loss), objective=objective)


def _without_reports(case: Case) -> Iterator[Case]:
    if not isinstance(case.loss, str):
        for gone in range(len(case.loss[0]) if len(case.loss[0]) > 1 else 0):
            yield replace(case, loss=tuple(_without(row, gone) for row in case.loss))
    if case.points is not None and len(case.points) > 1:
        for gone in range(len(case.points)):
            yield replace(case, points=_without(case.points, gone))


def _plain(case: Case) -> Iterator[Case]:
    if case.space.name == _GIVEN:
        return
    try:
        problem = case.problem()
        distances = problem.space.distances
        losses = problem.losses
    except dx.DxoptError:
        return
    given = call(_GIVEN, distances)
    if case.points is None:
        yield replace(case, space=given)
    yield replace(case, space=given, loss=call("", losses).args[0], points=None)


def _rounder(case: Case) -> Iterator[Case]:
    for name in ("epsilon", "delta"):
        for number in _rounded(getattr(case, name)):
            yield replace(case, **{name: number})
    if case.space.name in (_GIVEN, _PLACED, "dx.line"):
        for args in _each(case.space.args):
            yield replace(case, space=replace(case.space, args=args))
        for keywords in _each(case.space.keywords):
            yield replace(case, space=replace(case.space, keywords=keywords))
    for weights in _each(case.weights):
        if any(weights):
            yield replace(case, weights=weights)
    if not isinstance(case.loss, str):
        for loss in _each(case.loss):
            yield replace(case, loss=loss)
    if isinstance(case.objective, Adversary):
        for number in _rounded(case.objective.max_loss):
            yield replace(case, objective=replace(case.objective, max_loss=number))
        if not isinstance(case.objective.adversary_loss, str):
            for loss in _each(case.objective.adversary_loss):
                yield replace(case, objective=replace(case.objective, adversary_loss=loss))


def _each(value: Any) -> Iterator[Any]:
    """Plain values with one number in them rounder; first all of them at once."""
    if isinstance(value, float):
        yield from _rounded(value)
    elif isinstance(value, tuple):
        for digits in (1, 2):
            whole = _all_rounded(value, digits)
            if whole != value:
                yield whole
        for place, one in enumerate(value):
            for rounder in _each(one):
                yield (*value[:place], rounder, *value[place + 1 :])


def _all_rounded(value: Any, digits: int) -> Any:
    if isinstance(value, tuple):
        return tuple(_all_rounded(one, digits) for one in value)
    return _to(value, digits) if isinstance(value, float) else value


def _rounded(value: float | None) -> Iterator[float]:
    if value is None or value in (0.0, 1.0) or not math.isfinite(value):
        return
    for number in (0.0, 1.0, _to(value, 1), _to(value, 2), _to(value, 4)):
        if number != value:
            yield number


def _to(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}") if math.isfinite(value) else value


def _without(rows: tuple[Any, ...], gone: int) -> tuple[Any, ...]:
    return rows[:gone] + rows[gone + 1 :]
