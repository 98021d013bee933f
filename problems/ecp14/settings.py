"""The spaces, priors and printed numbers of ECP14's figures, examples and case studies."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import dxopt as dx

STEP = 0.01
"""The step in ε of every search of the paper (Example 3 and §7.1)."""
ACCEPTED = -1e-4
"""What μ must be accepted down to for the printed thresholds to come out."""

RECORD = (0.3, 0.27, 0.23, 0.2)
"""The probabilities of the four values of a record (Example 3)."""


class Printed(NamedTuple):
    """Numbers in the text of the paper."""

    sum_threshold: float = 0.8
    counts_threshold: float = 0.9
    locations_from: float = 0.4
    example_3_threshold: float = 0.48
    example_3_level: float = 0.5
    example_3_bound: float = 1.2
    example_3_every_prior: float = 2.5
    figures_end: float = 1.3
    example_3_end: float = 1.0


PRINTED = Printed()


def sum_query(individuals: int = 150, largest: int = 5) -> dx.MetricSpace:
    """Answers 0 to u·v of a sum; those up to v apart are adjacent (§7.1, Fig. 5a)."""
    answers = np.arange(individuals * largest + 1)
    return dx.MetricSpace.from_distances(np.ceil(np.abs(answers[:, None] - answers) / largest))


def two_counts(individuals: int = 30) -> dx.MetricSpace:
    """Pairs of counts from 0 to u; both may change by 1 at once (§7.1, Fig. 5b)."""
    return dx.grid((individuals + 1, individuals + 1), metric="chebyshev")


def locations(side: int = 100) -> dx.MetricSpace:
    """Return a square of places one kilometre apart (§7.2)."""
    return dx.grid((side, side))


def record() -> dx.MetricSpace:
    """Return the four values of a record, any two of them adjacent (Example 3; Example 2 with D = ε)."""
    return dx.MetricSpace.from_points([[1.0], [2.0], [3.0], [4.0]], "discrete")


def databases(individuals: int = 5) -> dx.MetricSpace:
    """Every database of so many records, in the order of Kronecker products, under Hamming distance (Example 3)."""
    return dx.MetricSpace.from_points(list(itertools.product((1.0, 2.0, 3.0, 4.0), repeat=individuals)), "hamming")


def independent_records(individuals: int = 5) -> dx.Prior:
    """Return the prior of databases whose records are drawn independently (Example 3)."""
    prior = np.ones(1)
    for _ in range(individuals):
        prior = np.kron(prior, RECORD)
    return dx.Prior.from_weights(databases(individuals), prior)


def steps(low: float, high: float) -> Iterator[float]:
    """Multiples of 0.01 from the high end down to the low one."""
    return (number / 100 for number in range(round(high / STEP), round(low / STEP) - 1, -1))


def accepted_from(least: Callable[[float], float], high: float, low: float = STEP) -> float:
    """Yield the least step down to which every step from `high` on has min μ ≥ -1e-4, where `least` gives min μ.

    Raises
    ------
    ValueError
        If not even the first step has.
    """
    reached = list(itertools.takewhile(lambda level: least(level) >= ACCEPTED, steps(low, high)))
    if not reached:
        raise ValueError(f"min μ is below {ACCEPTED} at ε = {high}")
    return reached[-1]


def least_mu(space: dx.MetricSpace, prior: dx.Prior) -> Callable[[float], float]:
    """Return the least entry of μ with μΦ = π as a function of ε, in plain floating point, as in the paper."""

    def least(level: float) -> float:
        return float(np.linalg.solve(dx.regularity.phi(space, level), prior.probabilities).min())

    return least
