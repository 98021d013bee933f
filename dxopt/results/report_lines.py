"""A report as lines of a name and a text: ten of what matters, or everything."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dxopt.analysis import evaluate
from dxopt.numerics.digits import at_most, factor, three_digits
from dxopt.proofs.duals import Dual
from dxopt.results import sentences as say
from dxopt.results.answer import Answer
from dxopt.results.beliefs import lines_of_beliefs, privacy_line
from dxopt.results.held_out import lines_held_out
from dxopt.results.off_prior import lines_off_prior
from dxopt.results.prior_sets import lines_of_priors
from dxopt.results.units import named_loss
from dxopt.runtime.stopping import Status
from dxopt.spaces.units import with_unit

MOST = 10
"""Lines of the short form, but for warnings."""
_IN_LOSSES = ("expected_loss", "worst_loss")
"""Measures in the unit of the losses."""
_OWN = ("radius", "several reports", "positions", "places", "direction", "not hidden")
"""Sentences that stand in the long form beside the figures."""

_CONTINUING = ("auto", "columns")
"""Solvers that may begin with an earlier answer."""

Lines = list[tuple[str, str]]


def short(report: Answer) -> Lines:
    """What matters, in at most ten lines, warnings included where these are fewer than eight."""
    warnings = [("warning", str(warning)) for warning in report.warnings]
    first = [*warnings, *_heart(report)]
    return [*first, *_further(report)][: max(MOST, len(first))]


def _heart(report: Answer) -> Iterator[tuple[str, str]]:
    """The problem, how good the answer is, whether its solver failed, its privacy and its value: never left out."""
    yield "problem", _asked(report)
    yield "status", f"{_status(report)}; routes and proofs: report.details(), --verbose"
    if report.failed:
        yield "solver", report.failed
    yield "private", _private(report)
    yield "value", say.value(report.explanation)


def _further(report: Answer) -> Iterator[tuple[str, str]]:
    """What follows, most important first."""
    yield from lines_of_beliefs(report.problem, report.certificate)
    yield from lines_of_priors(report.problem, report.mechanism)[1:]
    if report.evaluation:
        yield "measures", "; ".join(_measure(report, name, value) for name, value in report.evaluation.items())
    yield from lines_held_out(report.held_out)
    found = dict(report.explanation.sentences)
    for topic in (
        "radius",
        "worst off",
        "largest error",
        "prior 0",
        "never reported",
        "positions",
        "places",
        "delta",
    ):
        if topic in found:
            yield topic, found[topic]


def _asked(report: Answer) -> str:
    problem = report.problem
    secrets, reports = problem.shape
    wanted = f"{'least' if problem.objective.sign > 0 else 'largest'} {problem.objective.title}"
    outputs = "" if problem.reports.secrets else f", {_counted(reports, 'outputs')}"
    inputs = _counted(secrets, report.explanation.noun)
    return f"{problem.name}: {inputs}{outputs}; {wanted} ({named_loss(problem)})"


def _counted(number: int, noun: str) -> str:
    """A number with its noun, which is in the plural."""
    return f"{number:,} {noun.removesuffix('s') if number == 1 else noun}"


def _status(report: Answer) -> str:
    gap = report.certificate.gap
    if report.status is Status.OPTIMAL:
        return f"optimal (gap {gap:.1e})"
    certified = "" if report.delivered else " (not certified optimal)"
    better = "an arbitrarily better one" if not gap <= 1 else f"one better by up to {at_most(100 * gap)} %"
    return f"{report.status}{certified}: {report.mechanism.name}; there may be {better}{_continued(report)}"


def _continued(report: Answer) -> str:
    """How to go on with a solve that was stopped, where a later one can begin with what is known."""
    stopped = report.status in (Status.INTERRUPTED, Status.TIME_LIMIT)
    if not (stopped and isinstance(report.dual, Dual) and report.solver in _CONTINUING):
        return ""
    return ", which dx.solve(problem, start=report) goes on to look for"


def _private(report: Answer) -> str:
    found = report.explanation
    if found.epsilon is None:
        return privacy_line(report.problem, report.certificate)
    once, often = (factor(times * found.epsilon * found.between) for times in (1, found.reports))
    delta = f", δ proven {three_digits(found.delta)}" if found.delta else ""
    return (
        f"{say.proven_level(found)}{delta}: one report changes the odds between {say.distance(found)} by a factor of "
        f"{once} at most, {found.reports} reports by {often}"
    )


def _measure(report: Answer, name: str, value: float) -> str:
    unit = report.problem.loss.unit if name in _IN_LOSSES else ""
    return f"{name.replace('_', ' ')} {with_unit(three_digits(value), unit)}"


def everything(report: Answer) -> Lines:
    """All that is known, with all digits: routes, refusals, reductions, and how it was proven."""
    problem = report.problem
    proof = report.certificate
    unit = problem.unit
    lines = [
        *(("warning", str(warning)) for warning in report.warnings),
        ("problem", _asked(report)),
        ("status", f"{report.status}" + ("" if report.delivered else " (not certified optimal)")),
        ("private", privacy_line(problem, proof)),
        *lines_of_beliefs(problem, proof),
        ("value", f"{with_unit(f'{proof.value:.10g}', unit)} ({problem.objective.title})"),
        ("bound", with_unit(f"{proof.bound:.10g}", unit)),
        ("gap", f"{proof.gap:.2e} (tolerance {report.tolerance:.0e}{_above(report)})"),
        ("route", report.route),
    ]
    if math.isfinite(budget := problem.objective.max_loss):
        spent = evaluate.expected_loss(report.mechanism, problem.prior, problem.loss)
        lines.append(("expected loss", f"{spent:.10g} of at most {with_unit(f'{budget:.10g}', problem.loss.unit)}"))
    lines += lines_of_priors(problem, report.mechanism)
    lines += [(f"not {name}", reason) for name, reason in report.refused.items()]
    lines += [(reduction.name, str(reduction)) for reduction in report.reductions]
    lines += [(name.replace("_", " "), f"{value:.10g}") for name, value in report.evaluation.items()]
    lines += lines_held_out(report.held_out)
    lines += lines_off_prior(report.off_prior, problem.space, report.mechanism.reports)
    lines += [(topic, text) for topic, text in report.explanation.sentences if topic in _OWN]
    lines += [(f"proof of {what}", how) for what, how in proof.how.items()]
    lines += [("plug-in", str(plugin)) for plugin in report.plugins]
    return [*lines, ("seconds", f"{report.seconds:.2f}")]


def _above(report: Answer) -> str:
    above = report.certificate.gap <= report.tolerance and report.status is not Status.OPTIMAL
    return "; above it in units of the losses" if above else ""
