"""What ECP14 says of its case studies in section 7, beside what comes out here."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import dxopt as dx
from problems.ecp14 import utilities
from problems.ecp14.settings import PRINTED, accepted_from, least_mu, locations, sum_query, two_counts
from problems.ecp14.statements import DASH, Row, proven, threshold_row, yes

Utility = Callable[[float], float]


def thresholds() -> list[Row]:
    """Return the thresholds of the two queries, and where Figure 7 begins."""
    top, found = PRINTED.figures_end, []
    for name, space, printed, exact in (
        ("sum, u = 150, v = 5", sum_query(), PRINTED.sum_threshold, utilities.sum_threshold()),
        ("2-count, u = 30", two_counts(), PRINTED.counts_threshold, utilities.counts_threshold()),
    ):
        accepted = accepted_from(least_mu(space, dx.Prior.uniform(space)), top)
        found.append(threshold_row(f"tight-constraints exists from: {name}", printed, exact, accepted, "§7.1"))
    spectrum = np.linalg.eigvalsh(dx.regularity.phi(sum_query(), PRINTED.sum_threshold))
    nearest = float(np.abs(spectrum).min())
    found.append(
        Row(
            f"Φ of the sum query at ε = {PRINTED.sum_threshold}",
            "invertible",
            yes(nearest > 1e-9),
            f"eigenvalue nearest to 0: {nearest:.4f}",
            DASH,
            "§7.1",
        )
    )
    return [*found, *_places()]


def _places() -> list[Row]:
    space = locations()
    uniform, exact = dx.Prior.uniform(space), utilities.locations_threshold()
    low, high = math.floor(exact.value * 1e4) / 1e4, math.ceil(exact.value * 1e4) / 1e4
    verdicts = "; ".join(f"at {e} {dx.regularity.verdict(uniform, space, e).status}" for e in (low, high))
    accepted = accepted_from(_least_of_places(space), PRINTED.figures_end, PRINTED.locations_from / 4)
    return [
        Row(
            "tight-constraints drawn from: 100 × 100 places",
            f"{PRINTED.locations_from}",
            "only with negative entries" if accepted <= PRINTED.locations_from else "no",
            f"{exact.value:.5f} for 16 × 16 ({proven(exact)}); 100 × 100: {verdicts}",
            f"from {accepted:.2f}, the least examined",
            "§7.2, Fig. 7",
        ),
        Row("places", "10,000", f"{len(space):,}", f"{len(space):,}", DASH, "§7.2"),
    ]


def _least_of_places(space: dx.MetricSpace) -> Callable[[float], float]:
    uniform = dx.Prior.uniform(space)

    def least(level: float) -> float:
        mu = dx.regularity.verdict(uniform, space, level).mu
        return -math.inf if mu is None else float(mu.min())

    return least


def utilities_at_the_end() -> list[Row]:
    """How much higher the utility is at levels where every mechanism exists."""
    geometric, laplace = "against geometric", "against planar Laplace"
    cases: tuple[tuple[str, Utility, Utility, str], ...] = (
        (f"sum {geometric}", _tight(sum_query()), utilities.geometric_sum, "§7.1, Fig. 6a"),
        (f"2-count {geometric}", _tight(two_counts()), utilities.geometric_counts, "§7.1, Fig. 6b"),
        (f"places {laplace}", _tight(locations()), utilities.planar_laplace, "§7.2, Fig. 7"),
    )
    found = []
    for name, tight, other, source in cases:
        pairs = {level: (tight(level), other(level)) for level in (1.2, PRINTED.figures_end)}
        exact = "; ".join(f"{a:.5f} against {b:.5f} at ε = {level}" for level, (a, b) in pairs.items())
        better = yes(all(a > b for a, b in pairs.values()))
        found.append(Row(f"utility: {name}", "significantly higher", better, exact, DASH, source))
    return found


def _tight(space: dx.MetricSpace) -> Utility:
    return lambda epsilon: utilities.tight_utility(space, epsilon)
