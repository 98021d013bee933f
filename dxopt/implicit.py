"""Proofs by structure: of mechanisms that are never written down, and of bounds by duals of any kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dxopt.certify import Certificate, certify, gap, safe_bound
from dxopt.errors import CertificateError
from dxopt.formulations.contract import Claim
from dxopt.mechanism import Mechanism
from dxopt.problem import Problem
from dxopt.program import Dual
from dxopt.reductions.line import LineDual, coordinates_of_line, line_bound
from dxopt.reductions.product import ProductDual, Split, split
from dxopt.rounding import SMALLEST, UNIT

AnyDual = Dual | LineDual | ProductDual
_BLOCK_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class Proven:
    """A mechanism with its proof; see `formulations.contract.Candidate` for what is still to be proven."""

    mechanism: Mechanism
    certificate: Certificate
    dual: AnyDual | None
    claim: Claim


def prove(problem: Problem, mechanism: Mechanism, dual: AnyDual | None) -> Certificate:
    """The certificate of a mechanism whose privacy was proven when it was made.

    Value and bound are computed anew.

    Raises
    ------
    CertificateError
        If the mechanism is not proven private at the problem's ε.
    """
    if mechanism.privacy is None or mechanism.privacy.epsilon > problem.epsilon:
        raise CertificateError(f"{mechanism.name} is not proven private at {problem.epsilon:g}")
    value = mechanism.cost(problem.prior.probabilities, problem.loss)
    bound, how = lower_bound(problem, dual)
    if not (math.isfinite(value) and math.isfinite(bound)):
        raise CertificateError(f"the value is {value}, the bound {bound}")
    proofs = {"privacy": mechanism.privacy.how, "bound": how}
    return Certificate(True, mechanism.privacy.epsilon, value, bound, gap(value, bound), proofs)


def prove_written(
    problem: Problem, channel: NDArray[np.float64], dual: AnyDual | None, name: str
) -> tuple[Mechanism, Certificate]:
    """A channel `(n, m)` repaired and proven private entry by entry, with a bound from a dual of any kind.

    Raises
    ------
    CertificateError
        If privacy cannot be proven after the repair.
    """
    mechanism, proof = certify(problem, channel, None, name=name)
    bound, how = lower_bound(problem, dual)
    return mechanism, replace(proof, bound=bound, gap=gap(proof.value, bound), how={**proof.how, "bound": how})


def lower_bound(problem: Problem, dual: AnyDual | None) -> tuple[float, str]:
    """A proven lower bound on the expected loss of every private channel from a dual of any kind, and how."""
    match dual:
        case LineDual():
            _require_fit(problem, dual)
            bound = line_bound(problem, dual)
            if math.isfinite(bound):
                return bound, "weak duality along the line, rounding counted"
        case ProductDual():
            parts = split(problem)
            if isinstance(parts, str):
                raise CertificateError(f"the problem has no factors: {parts}")
            return _sum_of_bounds(parts, dual.factors)
        case Dual() if len(dual.multiplier):
            return safe_bound(problem, dual), f"weak duality, {np.count_nonzero(dual.multiplier):,} multipliers"
    return _rowwise(problem), "no dual needed"


def _require_fit(problem: Problem, dual: LineDual) -> None:
    size, reports = problem.shape
    fits = (
        dual.prices.shape == (size,)
        and dual.roots.shape == (reports,)
        and coordinates_of_line(problem.space) is not None
    )
    if not (fits and dual.roots.min() >= 0 and dual.roots.max() < size and np.isfinite(dual.prices).all()):
        raise CertificateError("the prices and roots do not fit a line of so many points")


def _sum_of_bounds(parts: Split, duals: Sequence[AnyDual | None]) -> tuple[float, str]:
    if len(duals) != len(parts.factors):
        raise CertificateError(f"{len(duals)} duals do not fit {len(parts.factors)} factors")
    known: dict[tuple[int, int], tuple[float, str]] = {}
    found = []
    for factor, dual in zip(parts.factors, duals, strict=True):
        key = id(factor), id(dual)
        if key not in known:
            above = factor.at(factor.epsilon * (1 + 1.01 * parts.doubt + 8 * UNIT))
            known[key] = lower_bound(above, dual)
        found.append(known[key])
    total = math.fsum([*(bound for bound, _ in found), -parts.deviation])
    hows = "; ".join(dict.fromkeys(how for _, how in found))
    return (
        total - 4 * UNIT * abs(total),
        f"sum over the factors, less {parts.deviation:.1e} for what is no product or sum; {hows}",
    )


def _rowwise(problem: Problem) -> float:
    """Σ_x min_z π_x l(x, z)."""
    prior, step = problem.prior.probabilities, max(1, _BLOCK_CELLS // problem.shape[1])
    likely, low = np.flatnonzero(prior), [0.0]
    for secrets in np.split(likely, range(step, len(likely), step)):
        low += (prior[secrets] * problem.loss.rows(secrets).min(axis=1)).tolist()
    return math.fsum(low) - 4 * UNIT * math.fsum(map(abs, low)) - len(low) * SMALLEST
