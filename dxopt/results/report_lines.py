"""A report as lines of a name and a text: ten of what matters, or everything."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dxopt.analysis import evaluate
from dxopt.proofs.duals import Dual
from dxopt.results.answer import Answer
from dxopt.runtime.stopping import Status
from dxopt.words import report as say
from dxopt.words.phrases import exact
from dxopt.words.report import Lines
from dxopt.words.result import value

MOST = 10
"""Lines of the short form, but for warnings."""
_CONTINUING = ("auto", "columns")
"""Solvers that may begin with an earlier answer."""
_SHORT = (
    "radius",
    "worst off",
    "largest error",
    "prior 0",
    "never reported",
    "positions",
    "places",
    "delta",
)
"""Sentences of the short form, most important first."""
_LONG = (
    "radius",
    "several reports",
    "positions",
    "places",
    "direction",
    "not hidden",
    "worst off",
    "prior 0",
    "never reported",
)
"""Sentences of the long form."""


def short(report: Answer) -> Lines:
    """Return what matters, in at most ten lines, warnings included where these are fewer than eight."""
    first = [*_warnings(report), *_heart(report)]
    return [*first, *_further(report)][: max(MOST, len(first))]


def _warnings(report: Answer) -> Lines:
    return [("warning", str(warning)) for warning in report.warnings]


def _heart(report: Answer) -> Iterator[tuple[str, str]]:
    """Yield the problem, how good the answer is, whether its solver failed, its privacy and its value."""
    found = report.explanation
    yield "problem", say.asked(report.problem, found.noun)
    yield "status", f"{_status(report)}; routes and proofs: report.details(), --verbose"
    if report.failed:
        yield "solver", report.failed
    plain = found.epsilon is None
    yield "private", say.proven(report.problem, report.certificate) if plain else say.one_and_several(found)
    yield "value", value(found)


def _further(report: Answer) -> Iterator[tuple[str, str]]:
    """Yield what follows, most important first."""
    yield from say.beliefs(report.problem, report.certificate)
    yield from say.worst_prior(report.problem, report.mechanism)[1:]
    if report.evaluation:
        each = (say.measure(report.problem, name, value) for name, value in report.evaluation.items())
        yield "measures", "; ".join(each)
    yield from say.on_other_data(report.held_out)
    found = dict(report.explanation.sentences)
    yield from ((topic, found[topic]) for topic in _SHORT if topic in found)


def _status(report: Answer) -> str:
    gap = report.certificate.gap
    if report.status is Status.OPTIMAL:
        return f"optimal (gap {gap:.1e})"
    certified = "" if report.delivered else " (not certified optimal)"
    return f"{report.status}{certified}: {report.mechanism.name}; {say.better(gap)}{_continued(report)}"


def _continued(report: Answer) -> str:
    """Return how to go on with a solve that was stopped, where a later one can begin with what is known."""
    stopped = report.status in (Status.INTERRUPTED, Status.TIME_LIMIT)
    if not (stopped and isinstance(report.dual, Dual) and report.solver in _CONTINUING):
        return ""
    return ", which dx.solve(problem, start=report) goes on to look for"


def everything(report: Answer) -> Lines:
    """Return all that is known, with all digits: routes, refusals, reductions, and how it was proven."""
    problem, proof, found = report.problem, report.certificate, report.explanation
    lines = [
        *_warnings(report),
        ("problem", say.asked(problem, found.noun)),
        ("status", f"{report.status}" + ("" if report.delivered else " (not certified optimal)")),
        ("private", say.proven(problem, proof)),
        *say.beliefs(problem, proof),
        ("value", f"{exact(proof.value, problem.unit)} ({problem.objective.title})"),
        ("bound", exact(proof.bound, problem.unit)),
        ("gap", f"{proof.gap:.2e} (tolerance {report.tolerance:.0e}{_above(report)})"),
        ("route", report.route),
    ]
    if math.isfinite(budget := problem.objective.max_loss):
        spent = evaluate.expected_loss(report.mechanism, problem.prior, problem.loss)
        lines.append(("expected loss", f"{exact(spent)} of at most {exact(budget, problem.loss.unit)}"))
    lines += say.worst_prior(problem, report.mechanism)
    lines += [(f"not {name}", reason) for name, reason in report.refused.items()]
    lines += [(reduction.name, str(reduction)) for reduction in report.reductions]
    lines += [(name.replace("_", " "), exact(value)) for name, value in report.evaluation.items()]
    lines += say.on_other_data(report.held_out)
    lines += [(topic, text) for topic, text in found.sentences if topic in _LONG]
    lines += [(f"proof of {what}", how) for what, how in proof.how.items()]
    lines += [("plug-in", str(plugin)) for plugin in report.plugins]
    return [*lines, ("seconds", f"{report.seconds:.2f}")]


def _above(report: Answer) -> str:
    above = report.certificate.gap <= report.tolerance and report.status is not Status.OPTIMAL
    return "; above it in units of the losses" if above else ""
