"""Beliefs about traces of a Markov chain, given where it is at one time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, UnsupportedError, required
from dxopt.model.beliefs.conditionals import Conditional

Array = NDArray[np.float64]
TRACES = 20_000
"""The most traces of a chain."""
_SUM = 1e-9


def markov_conditionals(
    labels: Sequence[str],
    length: int,
    transition: ArrayLike,
    start: ArrayLike | None,
    times: Iterable[int] | None,
) -> tuple[list[Conditional], list[str]]:
    """For each time and each two states, all traces given either, `(k^length,)`; and what is left out.

    Raises
    ------
    SpecError
        If there is no such chain or time, or several distributions that it keeps and no start.
    UnsupportedError
        If there are more than 20,000 traces.
    """
    states = len(labels)
    if states < 2:
        raise SpecError("states", f"are {states}", "give two or more")
    required("length", length, Integral, fix := "give a whole number of 1 or more")
    if length < 1:
        raise SpecError("length", f"is {length}", fix)
    if length > 100 or states**length > TRACES:
        raise UnsupportedError("length", f"makes more than {TRACES:,} traces", "give fewer times or states")
    moves = _stochastic(transition, (states, states), "transition")
    begins = stationary(moves) if start is None else _stochastic(start, (states,), "start")
    required("times", times, Iterable | None, fix := f"give some from 0 to {length - 1}")
    chosen = list(range(length) if times is None else times)
    if not chosen or not all(isinstance(time, Integral) and 0 <= time < length for time in chosen):
        raise SpecError("times", f"are {chosen}", fix)
    # 1. traces, the last time fastest, and how likely each step of each is, given the one before
    traces = np.stack([axis.ravel() for axis in np.indices((states,) * length)], axis=1)
    steps = moves[traces[:, :-1], traces[:, 1:]]
    # 2. where the chain is at each time
    where = [begins]
    for _ in range(length - 1):
        where.append(where[-1] @ moves)
    found: list[Conditional] = []
    missing: list[str] = []
    for time in chosen:
        # 3. given the state at that time: how the chain got there, from the joint probability of the steps before,
        #    times how it goes on
        got = begins[traces[:, 0]] * steps[:, :time].prod(axis=1)
        goes = steps[:, time:].prod(axis=1)
        each: list[Array | None] = []
        for state in range(states):
            here = np.where(traces[:, time] == state, got, 0.0) * goes
            total = here.sum()
            each.append(here / total if where[time][state] > 0 and total > 0 else None)
        for one, other in itertools.combinations(range(states), 2):
            first, second = each[one], each[other]
            names = (f"at {labels[one]}", f"at {labels[other]}")
            under = f", time {time}"
            if first is None or second is None:
                impossible = names[0] if first is None else names[1]
                missing.append(f"{names[0]} against {names[1]}{under}: {impossible} has probability 0")
            else:
                found.append(Conditional(*names, under, first, second))
    return found, missing


def stationary(transition: Array) -> Array:
    """The distribution that a chain keeps, `(k,)`; SpecError where it keeps several."""
    states = len(transition)
    # π (P - 1) = 0 and Σ π = 1 have one solution where P - 1 has rank k - 1
    equations = np.concatenate([transition.T - np.eye(states), np.ones((1, states))])
    if np.linalg.matrix_rank(equations[:-1], tol=1e-10) < states - 1:
        raise SpecError("start", "is missing, and the chain keeps several distributions", "give one")
    found = np.linalg.lstsq(equations, np.append(np.zeros(states), 1.0), rcond=None)[0]
    found = np.where(found > 1e-12, found, 0.0)
    return found / found.sum()


def _stochastic(given: ArrayLike, shape: tuple[int, ...], field: str) -> Array:
    """Rows of probabilities, each divided by its sum; SpecError where they do not sum to 1."""
    try:
        array = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise SpecError(field, "has entries that are no numbers", "give probabilities") from None
    if array.shape != shape:
        raise SpecError(field, f"has shape {array.shape}", f"give probabilities of shape {shape}")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise SpecError(field, "has an entry that is no probability", "give numbers from 0 to 1")
    sums = array.sum(axis=-1, keepdims=True)
    if (np.abs(sums - 1) > _SUM).any():
        raise SpecError(field, f"has a row that sums to {sums.ravel()[np.abs(sums - 1).argmax()]:.12g}", "make it 1")
    return array / sums
