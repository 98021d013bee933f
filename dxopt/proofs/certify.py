"""Repair, then prove: nothing leaves dxopt without passing here.

The privacy proof is about the doubles of the returned matrix and the real products of the doubles ε and d; the
bound is a weak-duality bound that holds for any multipliers of 0 or more, computed with every rounding
counted against it (`proofs.bounds`). The one assumption is stated in `numerics.rounding`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError
from dxopt.model.loss import Loss, Reports
from dxopt.model.mechanism import MatrixMechanism, Mechanism, Privacy
from dxopt.model.objective import AdversaryError
from dxopt.model.prior import Prior
from dxopt.model.privacy import ShownLevels, level_to_prove
from dxopt.model.problem import Problem
from dxopt.model.reports import unpack_reports
from dxopt.numerics.hockey_stick import bound_pairs, least_delta
from dxopt.numerics.number_syntax import Written, digits_up, excluded_text, level_text
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.beliefs import prove_beliefs
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.candidate import Candidate, Claim
from dxopt.proofs.duals import AnyDual
from dxopt.proofs.privacy import ROW_SUM_ERROR, prove_private, require_channel
from dxopt.proofs.repair import bring_within_budget, expected_above, repair
from dxopt.runtime.archive import Arrays
from dxopt.runtime.stopping import StoppedError, raise_when
from dxopt.spaces.archive import unpack
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]

APART_BY_ROUNDING = 2.0**-46
"""Value and bound are the same where they are no further apart, in parts of the largest loss."""
MADE_IMPOSSIBLE = "makes a report that must not be made, as its loss is infinite"
LEAST_VALUE = 1e-12
"""Gaps are relative to the value, and to this where the value is smaller."""


@dataclass(frozen=True, repr=False)
class Certificate(ShownLevels):
    """The privacy, value and bound that this run proved.

    Attributes
    ----------
    private : bool
        Every pair of secrets and every report satisfies K[x, z] ≤ e^{εd(x, x')} K[x', z], up to δ in total where that
        is asked for: proven. False only where no privacy of the secrets from each other is asked for.
    epsilon : float
        The realised level, at most the one asked: the least one for which the channel is private, rounded up. With a
        positive δ, the one asked.
    value : float
        What is wanted, recomputed from the channel: by default the expected loss.
    bound : float
        A number that no private channel is better than: proven.
    gap : float
        |value - bound| / max(|value|, 1e-12).
    how : dict
        What was done to prove `privacy` and `bound`.
    delta : float
        The realised δ, at most the one asked: the least one at that level, rounded up.
    belief_level : float or None
        The level that is proven for all pairs of beliefs in every report, at most the one asked: the least one,
        rounded up. None where no beliefs were given.
    """

    _LEVELS = ("epsilon", "delta", "belief_level")

    private: bool
    epsilon: float
    value: float
    bound: float
    gap: float
    how: Mapping[str, str] = field(compare=False)
    delta: float = 0.0
    belief_level: float | None = None

    def _summary(self) -> str:
        private = f"private, ε {level_text(self.epsilon)}" if self.private else "no privacy asked for"
        return f"{private}, value {self.value:.3g}, bound {self.bound:.3g}, gap {self.gap:.1e}"


@dataclass(frozen=True, eq=False)
class Proven:
    """A mechanism with its proof, made of a `Candidate` by `certify`.

    `dual` is what proves `certificate.bound`; claim, route and reductions are those of the candidate.
    """

    mechanism: Mechanism
    certificate: Certificate
    dual: AnyDual | None
    claim: Claim
    route: str = ""
    reductions: tuple[AppliedReduction, ...] = ()


def certify(problem: Problem, candidate: Candidate, should_stop: Callable[[], bool] | None = None) -> Proven:
    """Prove a candidate private, recompute its value, and bound its distance from the optimum: the one gate.

    A channel is repaired first, then proven entry by entry; a matrix that is a mechanism already, as of a saved
    result, is proven as it is. A mechanism that is never written down was proven private when it was made, which its
    `privacy` says; value and bound are computed anew. Whether to stop is asked between blocks of rows of these: where
    the bound is stopped, only what is proven without a dual is.

    Raises CertificateError where that is not proven, and StoppedError where it is stopped before the value is known.
    """
    raw = candidate.channel
    if isinstance(raw, MatrixMechanism) and raw.privacy is None:
        privacy = proven_privacy(problem, raw.matrix)
        mechanism = replace(raw, privacy=privacy if problem.private else None)
        certificate, dual = certificate_of_matrix(problem, raw.matrix, privacy, candidate.dual)
    elif isinstance(raw, Mechanism):
        mechanism = raw
        certificate, dual = _certificate_by_structure(problem, mechanism, candidate.dual, should_stop)
    else:
        channel = repair(problem, raw)
        if math.isfinite(problem.objective.max_loss):
            channel = bring_within_budget(problem, channel, candidate.within_budget)
        mechanism, privacy = proven_repair(problem, raw, channel, candidate.name or candidate.route or "mechanism")
        certificate, dual = certificate_of_matrix(problem, channel, privacy, candidate.dual)
    return Proven(mechanism, certificate, dual, candidate.claim, candidate.route, candidate.reductions)


def _certificate_by_structure(
    problem: Problem, mechanism: Mechanism, dual: AnyDual | None, should_stop: Callable[[], bool] | None
) -> tuple[Certificate, AnyDual | None]:
    """Return the certificate of a mechanism without a matrix, private by its making, and the dual that it needs."""
    if problem.beliefs is not None:
        raise CertificateError(f"{mechanism.name} is not written down, so that no pairs of beliefs are proven for it")
    if problem.impossible is not None:
        _require_possible(problem, mechanism.matrix)
    if mechanism.privacy is None or mechanism.privacy.epsilon > problem.epsilon:
        raise CertificateError(f"{mechanism.name} is not proven private at {excluded_text(problem.epsilon)}")
    watched = problem if should_stop is None else problem.but(loss=problem.loss.watched(raise_when(should_stop)))
    value = mechanism.cost(problem.prior.probabilities, watched.loss)
    try:
        bound, how = proven_bound(watched, dual)
    except StoppedError:
        # without a dual it takes one pass over the losses, which is not stopped
        dual = None
        bound, how = proven_bound(problem, dual)
    if not (math.isfinite(value) and math.isfinite(bound)):
        raise CertificateError(f"the value is {value}, the bound {bound}")
    proofs = {"privacy": mechanism.privacy.how, "bound": how}
    return Certificate(True, mechanism.privacy.epsilon, value, bound, gap(value, bound), proofs), dual


def certificate_of_matrix(
    problem: Problem, channel: Array, privacy: Privacy, dual: AnyDual | None
) -> tuple[Certificate, AnyDual | None]:
    """Return what is proven of a channel `(n, m)` whose privacy is proven, and the dual that its bound needs.

    Raises CertificateError where its expected loss is not proven to be within the budget, or beliefs are told apart.
    """
    _require_possible(problem, channel)
    belief_level = None if problem.beliefs is None else prove_beliefs(problem, channel)
    budget = problem.objective.max_loss
    if math.isfinite(budget) and expected_above(problem, channel) > budget:
        raise CertificateError(f"the expected loss is not proven to be at most {budget:.17g}")
    value = problem.objective.value(problem, channel)
    bound, how_bound = proven_bound(problem, dual)
    without_dual = proven_bound(problem, None) if dual is not None else (bound, how_bound)
    if not problem.objective.sign * (without_dual[0] - bound) <= 0:
        # what is proven without a dual is better, as where rounding leaves a bound a little below 0, or overflow none
        bound, how_bound = without_dual
        dual = None
    if not (math.isfinite(value) and math.isfinite(bound)):
        raise CertificateError(f"the value is {value}, the bound {bound}")
    if 0 < problem.objective.sign * (bound - value) <= ROW_SUM_ERROR * abs(value):
        # rows that sum to a little less than 1 may cost less than any that sum to 1; a bound may always be weaker
        bound = value
    how = {"privacy": privacy.how, "bound": how_bound}
    if problem.beliefs is not None:
        checked = f"all {len(problem.beliefs):,} ordered pairs of beliefs checked in every report"
        how["beliefs"] = f"{checked} with rounding counted"
    apart = gap(value, bound)
    proof = Certificate(problem.private, privacy.epsilon, value, bound, apart, how, privacy.delta, belief_level)
    return proof, dual


def makes_impossible(problem: Problem, channel: Array) -> bool:
    """Tell whether a channel `(n, m)` makes a report that must not be made, as its loss is infinite."""
    return problem.impossible is not None and bool((channel[problem.impossible] > 0).any())


def _require_possible(problem: Problem, channel: Array) -> None:
    if makes_impossible(problem, channel):
        raise CertificateError(MADE_IMPOSSIBLE)


def privacy_alone(space: MetricSpace, reports: Reports, epsilon: Written, delta: float, pairs: str) -> Problem:
    """Pose a problem of privacy and of nothing else: nothing is lost, and no matrix of losses is made."""
    nothing = Loss(lambda secrets: np.zeros((len(secrets), len(reports))), reports, "none", len(space))
    return Problem(space, epsilon=epsilon, prior=Prior.uniform(space), loss=nothing, delta=delta, pairs=pairs)


def proven_repair(problem: Problem, raw: Array, channel: Array, name: str) -> tuple[Mechanism, Privacy]:
    """Return the mechanism of a repaired channel `(n, m)`, and the proof, which tells how far `raw` was moved.

    The mechanism has the proof as its `privacy`, unless the problem asks for no privacy.
    """
    moved = float(np.abs(channel - np.where(np.isfinite(raw), raw, 0.0)).max())
    privacy = proven_privacy(problem, channel)
    privacy = replace(privacy, how=f"repair moved entries by at most {digits_up(moved, 2):.1e}; {privacy.how}")
    proof = privacy if problem.private else None
    return Mechanism.from_matrix(problem.space, channel, problem.reports, name=name, privacy=proof), privacy


def proven_privacy(problem: Problem, channel: Array) -> Privacy:
    """Prove the privacy that a problem asks for of a channel `(n, m)`, at the realised level or δ."""
    if not problem.private:
        require_channel(channel)
        asked = "no privacy" if problem.beliefs is None else "no privacy of single secrets from each other"
        return Privacy(math.inf, f"{asked} was asked for")
    if not problem.delta:
        count = int(np.isfinite(problem.separations).sum()) - len(problem.space)
        epsilon = prove_private(problem, channel)
        return Privacy(epsilon, f"all {count:,} ordered pairs checked in every report with rounding counted")
    require_channel(channel)
    bound = bound_pairs(problem.separations, problem.pairs)
    pairs = f"all {int(bound.sum()):,}{'' if problem.pairs == 'all' else f' {problem.pairs}'} ordered pairs"
    delta = least_delta(channel, problem.separations, problem.epsilon, bound)
    if delta <= problem.delta:
        how = f"the worst set of reports of {pairs} measured, rounding counted"
        return Privacy(problem.epsilon, how, delta, problem.pairs)
    # the measured excess is rounded up, and may exceed a tiny δ even where the channel is private without any
    try:
        prove_private(problem, channel)
    except CertificateError:
        wrong = f"some secrets are told apart by delta {delta:.17g}, above {problem.delta:.17g}"
        raise CertificateError(wrong) from None
    how = f"{pairs} checked in every report with rounding counted: private without delta"
    return Privacy(problem.epsilon, how, 0.0, problem.pairs)


def gap(value: float, bound: float) -> float:
    """Return |value - bound| / max(|value|, 1e-12)."""
    return abs(value - bound) / max(abs(value), LEAST_VALUE)


def is_optimal(problem: Problem, mechanism: Mechanism, value: float, bound: float, tolerance: float) -> bool:
    """Tell whether the gap is within a tolerance, also in units of the losses where these are small.

    That is |value - bound| ≤ tolerance · max(|value|, 1e-12 min(1, s)), where s is the largest size of a loss that
    counts: what the best mechanism loses may be far below 1e-12 where losses themselves are. It is optimal as well
    where the two are apart by rounding alone, 2^-46 s. Losses of mechanisms that are not written down are not looked
    at; there s is 1 in the first, and 0 in the second.
    """
    close = gap(value, bound) <= tolerance
    if value == bound or not isinstance(mechanism, MatrixMechanism) or (close and abs(value) >= LEAST_VALUE):
        return close
    objective = problem.objective
    losses = objective.guesses if isinstance(objective, AdversaryError) else problem.losses
    counted = np.abs(losses[problem.reach])
    largest = float(counted[np.isfinite(counted)].max(initial=0.0))
    within = abs(value - bound) <= tolerance * max(abs(value), LEAST_VALUE * min(1.0, largest))
    return (close and within) or abs(value - bound) <= APART_BY_ROUNDING * largest


def read_matrix(arrays: Arrays) -> Mechanism:
    """Return the mechanism of `MatrixMechanism.packed`, its privacy proven again where it claims any."""
    space = unpack(arrays)
    matrix = arrays["matrix"]
    reports = unpack_reports(arrays, space)
    privacy = None
    if "epsilon" in arrays:
        epsilon = level_to_prove(float(arrays["epsilon"]))
        problem = privacy_alone(space, reports, epsilon, float(arrays["delta"]), str(arrays["pairs"]))
        privacy = replace(proven_privacy(problem, matrix), how=str(arrays["how"]))
    return Mechanism.from_matrix(space, matrix, reports, name=str(arrays["name"]), privacy=privacy)
