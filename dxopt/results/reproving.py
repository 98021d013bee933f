"""The figures of a report that its certificate does not have, computed again: measures and the comparison."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis import evaluate
from dxopt.analysis.regularity import verdict
from dxopt.errors import CertificateError
from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.model.objective import ExpectedLoss
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.certify import gap, proven_privacy
from dxopt.proofs.duals import AnyDual, ProductDual
from dxopt.results.compared import Compared
from dxopt.results.comparison import Comparison
from dxopt.results.evidence import Evidence
from dxopt.results.files import REPORT
from dxopt.results.measures import MEASURES, learned, of_records
from dxopt.results.report import Report
from dxopt.results.reproving_order import check_refinements, known_of_remap
from dxopt.spaces.products import sides

Array = NDArray[np.float64]
AGREEMENT = 1e-9
"""How far a figure may be from what is computed here, relative where it is above 1."""
TRIPLES = 50_000_000
"""Measures are computed again up to this n²·m, and by `verify` beyond."""
_RECORDS = re.compile(r"expected loss of (\d+) records")
_OPTIMUM = "optimal"
_UNDECIDED = "undecided"
_VERDICTS = ("regular", "not regular")
VERDICT_POINTS = 500
"""The verdict on a prior is decided again up to this many secrets."""


def check_figures(report: Report) -> None:
    """Raise CertificateError unless measures and the comparison are what the mechanisms are worth.

    What is about a mechanism that is not written down, or too large, is left to `dxopt verify`.
    """
    size, reports = report.problem.shape
    if not isinstance(report.mechanism, MatrixMechanism) or size**2 * reports > TRIPLES:
        return
    known = _measures(report)
    for name, claimed in report.evaluation.items():
        if name not in known:
            raise CertificateError(f"the measure {name!r} is none that there is, of the problem or of its beliefs")
        _require(f"the measure {name!r}", claimed, known[name])
    comparison = report.comparison
    if comparison is not None and comparison.evidence is not None:
        _check_comparison(report, comparison, comparison.evidence)


def _measures(report: Report) -> dict[str, float]:
    """The measures of a report by name, those that there are."""
    problem, mechanism = report.problem, report.mechanism
    found = {name: MEASURES[name](mechanism, problem) for name in report.evaluation if name in MEASURES}
    for beliefs in report.beliefs:
        found |= learned(mechanism, problem, beliefs)
    for match in filter(None, map(_RECORDS.fullmatch, report.evaluation)):
        found |= of_records(mechanism, problem, int(match[1]))
    return found


def _check_comparison(report: Report, comparison: Comparison, evidence: Evidence) -> None:
    """Each row is worth what it says, by its channel; bounds are proven by their duals."""
    problem = report.problem
    asked = (problem.name, problem.epsilon if problem.private else None, problem.delta, problem.objective.title)
    if asked != (comparison.problem, comparison.epsilon, comparison.delta, comparison.objective):
        raise CertificateError("the comparison is about another problem")
    others = {name: problem.but(prior=Prior(prior, name)) for name, prior in evidence.priors.items()}
    best = next((row.value for row in comparison.rows if row.name == _OPTIMUM), None)
    for row in comparison.rows:
        channel = evidence.channels.get(row.name)
        if row.value is not None and not isinstance(channel, str):
            if channel is None:
                raise CertificateError(f"there is no channel of {row.name}")
            drawn = evidence.remaps.get(row.name)
            _check_row(problem, others, row, _known(problem, others, row, channel, comparison.bound, best, drawn))
    check_refinements(comparison.refinements, evidence)
    if comparison.verdict is not None:
        _check_verdict(problem, comparison.verdict)
    if comparison.bound is not None:
        _check_bound(problem, comparison.bound, evidence.dual, "the bound")
    for name, bound in comparison.bounds.items():
        if name not in others or name not in evidence.duals:
            raise CertificateError(f"nothing proves the bound under {name}")
        _check_bound(others[name], bound, evidence.duals[name], f"the bound under {name}")


def _check_verdict(problem: Problem, claimed: str) -> None:
    """Raise CertificateError where the prior is decided to be regular, or not, and the verdict says otherwise."""
    if problem.why_coupled is not None or not problem.loss.is_binary:
        raise CertificateError(f"the verdict {claimed[:40]!r} is about no prior for binary loss")
    if len(problem.space) > VERDICT_POINTS:
        return
    known = str(verdict(problem.prior, problem.space, problem.epsilon))
    asked, found = (text.partition(":")[0] for text in (claimed, known))
    if asked not in (_UNDECIDED, found) and (found != _UNDECIDED or asked not in _VERDICTS):
        raise CertificateError(f"the prior is {known[:80]}, but {claimed[:40]!r} was saved")


def _known(
    problem: Problem,
    others: dict[str, Problem],
    row: Compared,
    channel: NDArray[np.float64],
    bound: float | None,
    best: float | None,
    drawn: tuple[Array, Array] | None,
) -> Compared:
    """What is true of the channel of a row, and of the remap that draws, if it has one."""
    mechanism = Mechanism.from_matrix(problem.space, channel, problem.reports)
    value = problem.objective.value(problem, channel)
    averaged = isinstance(problem.objective, ExpectedLoss)
    remapped = evaluate.adversary_error(mechanism, problem.prior, problem.loss) if averaged else None
    least = None
    if drawn is not None:
        remapped, least = known_of_remap(problem, channel, *drawn)
    epsilon, delta = _level(problem, row, mechanism)
    return replace(
        row,
        value=value,
        remapped=remapped,
        gap=None if bound is None or row.value is None else gap(row.value, bound),
        epsilon=epsilon,
        delta=delta,
        private=problem.private and (not row.baseline or (epsilon is not None and epsilon <= problem.epsilon)),
        leakage=evaluate.min_entropy_leakage(mechanism, problem.prior),
        excess=_above(value, best),
        remapped_excess=None if remapped is None else _above(remapped, best),
        remapped_bound=least,
        under={name: other.objective.value(other, channel) for name, other in others.items()},
    )


def _level(problem: Problem, row: Compared, mechanism: Mechanism) -> tuple[float | None, float | None]:
    """ε and δ: proven of a private row, measured of a baseline."""
    if not problem.private:
        return None, None
    if row.baseline:
        found = evaluate.smallest_epsilon(mechanism, problem.delta, pairs=problem.pairs)
        return found if math.isfinite(found) else None, problem.delta or None
    proof = proven_privacy(problem, mechanism.matrix)
    return proof.epsilon, proof.delta if problem.delta else None


def _above(value: float, best: float | None) -> float | None:
    return None if not best else (value - best) / abs(best)


def _check_row(problem: Problem, others: dict[str, Problem], row: Compared, known: Compared) -> None:
    where = f"the comparison's {row.name}"
    if row.private is not known.private:
        raise CertificateError(f"{where} is {'not ' if row.private else ''}private")
    if not _same(row.gap, known.gap):
        raise CertificateError(f"gap of {where} is {_shown(known.gap)} by value and bound, not {_shown(row.gap)}")
    for key in ("value", "remapped", "epsilon", "delta", "leakage", "excess", "remapped_excess", "remapped_bound"):
        _require(f"{key} of {where}", getattr(row, key), getattr(known, key))
    if row.under.keys() != others.keys():
        raise CertificateError(f"{where} is not evaluated under {', '.join(others)}")
    for name in others:
        _require(f"{where} under {name}", row.under[name], known.under[name])


def _same(claimed: float | None, known: float | None) -> bool:
    """Whether a gap is the known one, up to the roundings of a quotient."""
    if claimed is None or known is None:
        return claimed is known
    return abs(claimed - known) <= 1e-12 * known


def _require(what: str, claimed: float | None, known: float | None) -> None:
    """Raise CertificateError unless a figure is the known one, up to rounding."""
    if claimed == known or (claimed is not None and known is not None and math.isnan(claimed) and math.isnan(known)):
        return
    if claimed is None or known is None or not math.isclose(claimed, known, rel_tol=AGREEMENT, abs_tol=AGREEMENT):
        raise CertificateError(f"{REPORT}: {what} is {_shown(known)} by the arrays, but {_shown(claimed)} was saved")


def _check_bound(problem: Problem, claimed: float, dual: AnyDual | None, what: str) -> None:
    """Raise CertificateError where a bound claims more than its dual proves.

    What is a product is not known of a matrix that was loaded: a dual by factors is left to `dxopt verify`.
    """
    if isinstance(dual, ProductDual) and len(sides(problem.space)) < 2:
        return
    known, _ = proven_bound(problem, dual)
    close = math.isclose(claimed, known, rel_tol=AGREEMENT, abs_tol=AGREEMENT)
    if not close and not problem.objective.sign * (claimed - known) <= 0:
        raise CertificateError(f"{REPORT}: {what} is {known:.17g} by the arrays, but {claimed:.17g} was saved")


def _shown(number: float | None) -> str:
    return "none" if number is None else f"{number:.17g}"
