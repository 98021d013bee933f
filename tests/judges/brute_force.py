"""Queries on small databases by brute force, for the tests of queries: it imports nothing from the package."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Database = tuple[int | None, ...]
Function = Callable[[Sequence[int]], Fraction]


def databases(values: Sequence[int], records: int, *, absent: bool = True) -> list[Database]:
    """V^n, the last record fastest; with absent records, but not the empty database (CABP13 §5.1)."""
    listed: list[int | None] = [*values, *([None] if absent else [])]
    return [one for one in itertools.product(listed, repeat=records) if any(value is not None for value in one)]


def distance(metric: str, values: Sequence[int], x: Database, other: Database) -> float:
    """d_h, d_1, d_1 / d_V(V) or d_∞ between databases; an absent record is d_V(V) from every value."""
    widest = max(values) - min(values)
    apart = [
        0 if a == b else 1 if metric == "hamming" else widest if a is None or b is None else abs(a - b)
        for a, b in zip(x, other, strict=True)
    ]
    if metric == "chebyshev":
        return float(max(apart))
    return sum(apart) / widest if metric == "normalised_manhattan" else float(sum(apart))


QUERIES: dict[str, Function] = {
    "sum": lambda present: Fraction(sum(present)),
    "average": lambda present: Fraction(sum(present), len(present)),
    "minimum": lambda present: Fraction(min(present)),
    "median": lambda present: Fraction(sorted(present)[(len(present) - 1) // 2]),
    "maximum": lambda present: Fraction(max(present)),
}


def answers_of(function: Function, secrets: Sequence[Database]) -> tuple[list[Fraction], list[int]]:
    """The different answers in order, and the index of that to each database."""
    every = [function([value for value in one if value is not None]) for one in secrets]
    answers = sorted(set(every))
    return answers, [answers.index(answer) for answer in every]


def induced(between: Matrix, which: Sequence[int]) -> Matrix:
    """Shortest paths between answers, where one step is as long as the least distance between their databases."""
    size = max(which) + 1
    lengths = np.full((size, size), np.inf)
    for (x, y), (other, z) in itertools.product(enumerate(which), repeat=2):
        lengths[y, z] = min(lengths[y, z], between[x, other])
    for via, start, end in itertools.product(range(size), repeat=3):
        lengths[start, end] = min(lengths[start, end], lengths[start, via] + lengths[via, end])
    return lengths


def truncated_geometric(answers: Sequence[float], rate: float) -> Matrix:
    """TG at a rate per unit on answers in order: two-sided exponential noise, rounded inwards to the answers.

    On evenly spaced answers it is that of CABP13 Fig 2 (iv): e^{-c|y - z|} times (1 - p)/(1 + p) inside and 1/(1 + p)
    at both ends, with p = e^{-c·step}.
    """
    located = np.array([float(answer) for answer in answers])
    step = located[1] - located[0]
    if not np.allclose(np.diff(located), step):
        raise ValueError("the answers are not evenly spaced")
    p = np.exp(-rate * step)
    weights = np.full(len(located), (1 - p) / (1 + p))
    weights[[0, -1]] = 1 / (1 + p)
    return np.exp(-rate * np.abs(np.subtract.outer(located, located))) * weights


def remapped(channel: Matrix, prior: Matrix, loss: Matrix) -> float:
    """The expected loss of a channel after the best remap of each report."""
    return float((loss.T @ (prior[:, None] * channel)).min(axis=0).sum())
