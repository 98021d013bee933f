"""Figure 4 and Example 3: what can leak of five records, and a mechanism that leaks more than the print allows."""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

import dxopt as dx
from dxopt.results.figures import plots
from problems.ecp14.marked import Mark, Reading, against_epsilon
from problems.ecp14.settings import PRINTED, RECORD, STEP, databases, independent_records, record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INDIVIDUALS = 5
START = 0.3
"""Where Figure 4 begins here; the text does not say where it does in the paper."""


def record_prior() -> dx.Prior:
    """Return the prior of one record."""
    return dx.Prior.from_weights(record(), RECORD)


def printed_bound(epsilon: float) -> float:
    """log2(Σμ / max π) in bits, whatever the signs of μ (Prop 5): a bound only where μ ≥ 0."""
    mu = np.linalg.solve(dx.regularity.phi(record(), epsilon), RECORD)
    return INDIVIDUALS * math.log2(float(mu.sum()) / max(RECORD))


def proven_bound(epsilon: float) -> float:
    """In bits, and true for every prior: if μ obeys μΦ ≥ π for one record, its products do for the database."""
    best = dx.regularity.binary_utility_bound(record_prior(), record(), epsilon)
    return INDIVIDUALS * math.log2(best / max(RECORD))


def every_prior_bound(epsilon: float) -> float:
    """Bound the leakage under any prior in bits (Thm 3)."""
    return dx.regularity.database_leakage_bound(len(RECORD), INDIVIDUALS, epsilon)


def record_by_record(epsilon: float) -> dx.Mechanism:
    """Return the mechanism on databases that perturbs each record by the optimal mechanism for one.

    Private for the Hamming distance, as two databases that differ in one record differ in one factor. The level is
    lowered by 1e-12 for the rounding of the products.
    """
    problem = dx.Problem(record(), epsilon=epsilon * (1 - 1e-12), prior=record_prior(), loss="binary")
    one = dx.solve(problem, method="optimal").mechanism.matrix
    return dx.Mechanism.from_matrix(
        databases(INDIVIDUALS), reduce(np.kron, [one] * INDIVIDUALS), name="record by record"
    )


def leaked(epsilon: float) -> float:
    """Return the min-entropy leakage of `record_by_record` in bits."""
    return dx.evaluate.min_entropy_leakage(record_by_record(epsilon), independent_records(INDIVIDUALS))


def figure_4() -> Figure:
    """Leakage bounds for databases of five records of four values."""
    threshold = dx.regularity.threshold(record(), record_prior()).value
    levels = np.arange(round(START / STEP), round(PRINTED.example_3_end / STEP) + 1) / 100
    below, above = levels[levels < threshold], levels[levels >= threshold]
    least, at = PRINTED.example_3_bound, PRINTED.example_3_level
    return against_epsilon(
        [
            plots.Curve("every prior (Thm 3)", levels, [every_prior_bound(e) for e in levels], colour=0),
            plots.Curve("this prior, where regular (Prop 5)", above, [printed_bound(e) for e in above], colour=1),
            plots.Curve(
                "Prop 5's formula where μ has negative entries: no bound",
                below,
                [printed_bound(e) for e in below],
                "dotted",
                colour=1,
            ),
            plots.Curve(
                "this prior, regular or not: min Σμ with μΦ ≥ π", below, [proven_bound(e) for e in below], colour=2
            ),
            plots.Curve(
                f"a private mechanism that leaks {leaked(at):.3f} bits", [at], [leaked(at)], "points", colour=6
            ),
        ],
        title="Min-entropy leakage of 5 records of 4 values, probabilities 0.3, 0.27, 0.23, 0.2\n"
        "(ECP14, Example 3, Fig. 4)",
        quantity="min-entropy leakage (bits)",
        level="privacy level ε per record",
        marks=[
            Mark(threshold, f"regular from ε = {threshold:.4f} (exact)"),
            Mark(PRINTED.example_3_threshold, f"printed: from ε = {PRINTED.example_3_threshold}", "dotted"),
        ],
        readings=[
            Reading(at, PRINTED.example_3_every_prior, f"printed: at most {PRINTED.example_3_every_prior} bits"),
            Reading(at, least, f"printed: at most {least} bits"),
        ],
        shaded=(START, threshold, "the prior is not regular"),
    )
