"""Scores private mechanisms of least expected loss."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

import dxopt as dx
from benchmarks.contract import Array, Matrix, OptimalInstance
from benchmarks.objective.checks import carries_proof, refuted, sample_holds
from benchmarks.objective.verdict import PROVEN, Rejected, Score
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import certify, gap
from dxopt.proofs.privacy import ROW_SUM_ERROR
from dxopt.results.report import Report

PROVEN_CELLS = 4_000_000
BELOW = 1e-9


def judged(instance: OptimalInstance, problem: dx.Problem, answer: Any, known: float, claims: bool) -> Score:
    """Whether a report or a matrix is private, what it loses, and how far from the optimum it can be."""
    match answer:
        case Report():
            found = _report(problem, answer)
        case Matrix():
            found = _channel(problem, answer, known)
        case _:
            raise Rejected(f"{type(answer).__name__} is no answer to a problem")
    if found.value < known - BELOW * abs(known):
        raise Rejected(f"loses {found.value:.9g}, below the bound {known:.9g} that was proven for every mechanism")
    if claims and found.gap is None:
        raise Rejected("no bound: it has no multipliers, and dxopt gave none")
    if claims and not (found.gap or 0.0) <= instance.tolerance:
        return replace(found, failure=f"gap {found.gap:.1e} of {instance.tolerance:g}")
    return found


def _report(problem: dx.Problem, report: Report) -> Score:
    """Everything proven again where that takes seconds; beyond, a sample of rows, as strictly."""
    mechanism, cells = report.mechanism, math.prod(problem.shape)
    carries_proof(problem.space, len(problem.reports), problem.epsilon, mechanism)
    if cells <= PROVEN_CELLS:
        reason = refuted(problem, mechanism.matrix)
        if reason is not None:
            raise Rejected(reason)
        value, note = problem.objective.value(problem, mechanism.matrix), "every pair proven again"
    else:
        rows = sample_holds(problem.space, problem.epsilon, mechanism)
        value = dx.evaluate.expected_loss(mechanism, problem.prior, problem.loss)
        note = f"{rows:,} rows checked again, strictly"
    bound, how = proven_bound(problem, report.dual)
    return Score(None, PROVEN, value, bound, gap(value, bound), f"{note}; bound again by {how}")


def _channel(problem: dx.Problem, answer: Matrix, known: float) -> Score:
    """Privacy as returned; value after the repair; the better bound of its own multipliers' and the known one."""
    channel = np.asarray(answer.values, dtype=np.float64)
    if channel.shape != problem.shape or not np.isfinite(channel).all():
        raise Rejected(f"is no {problem.shape[0]} x {problem.shape[1]} matrix of numbers")
    private = _private(problem, channel)
    try:
        proof = certify(problem, Candidate(channel, answer.dual)).certificate
    except dx.CertificateError as error:
        raise Rejected(str(error)) from None
    if answer.dual is None and known == -math.inf:
        return Score(None, private, proof.value, note="value after the repair")
    bound = max(proof.bound, known)
    return Score(None, private, proof.value, bound, gap(proof.value, bound), "value after the repair")


def _private(problem: dx.Problem, channel: Array) -> str:
    """Return the verdict on the matrix as it was returned, without any tolerance."""
    bound = np.isfinite(problem.budgets)
    leaking = np.count_nonzero((bound.T.astype(float) @ (channel > 0) > 0) & (channel <= 0))
    if leaking:
        raise Rejected(f"infinite leakage ({leaking:,} entries of 0 or less beside positive ones)")
    if refuted(problem, channel) is None:
        return PROVEN
    violated = max(
        float((np.exp(-problem.budgets[x])[:, None] * channel[x] - channel).max()) for x in range(len(channel))
    )
    if violated > 0:
        return f"repaired (violated by {violated:.0e})"
    off = max(abs(math.fsum([-1.0, *row])) for row in channel)
    if off > ROW_SUM_ERROR:
        return f"repaired (rows sum to 1 within {off:.0e})"
    return "repaired (undecided within rounding)"
