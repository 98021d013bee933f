"""Reads a result folder and proves it again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dxopt.errors import CertificateError, SpecError
from dxopt.model.loss import Loss, Reports
from dxopt.model.mechanism import MatrixMechanism, Mechanism, Privacy
from dxopt.model.objective import AdversaryError, WorstRegret
from dxopt.model.prior import Prior
from dxopt.model.prior_sets import PriorSet
from dxopt.model.problem import Problem
from dxopt.proofs.beliefs import prove_beliefs
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.candidate import AppliedReduction, Candidate
from dxopt.proofs.certify import Certificate, certify, gap, is_optimal, objective_value, proven_privacy
from dxopt.proofs.duals import unpack_dual
from dxopt.results.beliefs import unpack_beliefs
from dxopt.results.bound_points import check_distances, check_loss, check_loss_elsewhere, check_placed
from dxopt.results.checking import check_arrays, check_certificate, check_summary
from dxopt.results.comparison_folder import read_comparison
from dxopt.results.files import CERTIFICATE, DUAL, HELD_OUT, MECHANISM, PARTS, PROBLEM, REPORT, SWEEP
from dxopt.results.folder import holds_report
from dxopt.results.held_out import unpack as unpack_held_out
from dxopt.results.measures import Beliefs
from dxopt.results.plugged import plugins_of_content
from dxopt.results.prior_sets import against_known, believed, require_optima
from dxopt.results.report import FORMAT, Report
from dxopt.results.reproving import check_figures
from dxopt.results.restoring import described_metric, restored
from dxopt.results.units import units_of
from dxopt.results.within import within_of
from dxopt.runtime.archive import DAMAGED
from dxopt.runtime.reading import as_path, is_file, no_result, read_arrays, read_json
from dxopt.runtime.stopping import Status
from dxopt.spaces.archive import check_positions, unpack_positions
from dxopt.spaces.space import MetricSpace

_CHANGED = "it was changed after it was saved: solve the problem again, or get the result again"
AGREEMENT = 1e-12
"""How far a number proven again may differ from the one that was saved, relative where it is above 1."""


def load(folder: str | Path) -> Report:
    """Read a result folder, proving privacy, value and bound again from its arrays.

    Raises
    ------
    SpecError
        If the folder is no result, misses a file, has another format version, or arrays of wrong shapes or numbers.
    CertificateError
        If the channel cannot be proven private, value or bound differ from those saved by more than 1e-12, or the
        certificate has something else than a number.

    Examples
    --------
    >>> import dxopt as dx
    >>> report = dx.solve(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"))
    >>> again = dx.load(report.save("results/line"))
    >>> print(again.certificate.private, again.certificate.value == report.certificate.value)
    True True
    """
    folder = as_path(folder, "folder")
    if is_file(folder / SWEEP):
        part = folder / PARTS / "000"
        raise SpecError(
            "folder", f"{folder} is a sweep", f"load a level of it, as {part}, or use dx.EpsilonSweep.load"
        )
    if not holds_report(folder):
        raise no_result(folder, "folder", "is no result folder of a report", "name one that `save` wrote")
    with _undamaged(folder):
        report = _read(folder)
        _check(report)
        return replace(report, comparison=read_comparison(folder, report, load))


def read_problem(folder: Path) -> tuple[Problem, dict[str, Any]]:
    """The problem of a result folder, with what report.json holds; neither bound nor status is looked at.

    Raises
    ------
    SpecError
        If the folder misses a file, has another format version, or arrays of wrong shapes or numbers.
    """
    with _undamaged(folder):
        summary = _summary(folder)
        asked = read_arrays(folder / PROBLEM)
        if "distances" not in asked:
            return _asked_of(Mechanism.load(folder / MECHANISM), summary, asked), summary
        described = read_arrays(folder / MECHANISM)
        check_arrays(asked, described, secrets=bool(summary["secrets_are_reports"]))
        return _problem(folder, summary, asked, described), summary


@contextmanager
def _undamaged(folder: Path) -> Iterator[None]:
    """A context that makes one line of what the readers of a damaged folder let escape."""
    try:
        yield
    except SpecError:
        raise
    except CertificateError as error:
        raise CertificateError(f"{folder}: {error}; {_CHANGED}") from None
    except FileNotFoundError as error:
        missing = Path(error.filename or "").name
        raise SpecError("folder", f"{folder} is damaged: {missing} is missing", "solve the problem again") from None
    except DAMAGED as error:
        reason = " ".join(str(error).split())[:120]
        raise SpecError("folder", f"{folder} is damaged ({reason})", "solve the problem again") from None


def _summary(folder: Path) -> dict[str, Any]:
    """What report.json holds."""
    summary = read_json(folder / REPORT)
    if summary["format"] != FORMAT:
        raise SpecError("format", f"version {summary['format']} is not {FORMAT}", "use a matching dxopt")
    check_summary(summary)
    return summary


def _read(folder: Path) -> Report:
    """Return the report of a folder as it was saved; the mechanism alone is proven again by now."""
    summary = _summary(folder)
    proof = _certificate(read_json(folder / CERTIFICATE))
    dual = unpack_dual(read_arrays(folder / DUAL))
    asked = read_arrays(folder / PROBLEM)
    # Distances are saved with a matrix. Without them the mechanism is one whose file has the space as well.
    if "distances" in asked:
        problem, mechanism = _read_written(folder, summary, asked, proof)
        space = problem.space
        check_placed(space.points, len(space), summary["structure"])
        if problem.reports.secrets:
            check_loss(problem.loss.name, asked["loss"], space)
        if space.points is not None:
            if space.positions is not None:
                check_positions(space.points, space.positions)
            metric = described_metric(folder)
            check_distances(space.points, space.distances, metric, space.positions, summary["structure"])
            others = problem.reports.points
            if others is not None and not problem.reports.secrets:
                check_loss_elsewhere(summary["loss"], problem.losses, space.points, others, metric, space.positions)
    else:
        mechanism = Mechanism.load(folder / MECHANISM)
        problem = _asked_of(mechanism, summary, asked)
    tried = summary.get("held_out")
    return Report(
        problem=_with_optima(folder, problem),
        mechanism=mechanism,
        certificate=proof,
        dual=dual,
        status=Status(summary["status"]),
        reductions=tuple(AppliedReduction(**entry) for entry in summary["reductions"]),
        held_out=unpack_held_out(tried, read_arrays(folder / HELD_OUT), mechanism, problem) if tried else (),
        beliefs=tuple(Beliefs.read(entry) for entry in summary.get("beliefs", ())),
        plugins=plugins_of_content(summary.get("plugins", [])),
        solver=str(summary.get("solver", "auto")),
        **{key: summary[key] for key in ("claim", "route", "refused", "seconds", "tolerance", "evaluation")},
    )


def _with_optima(folder: Path, problem: Problem) -> Problem:
    """The problem with the optima that a regret is against, each proven again."""
    if not isinstance(problem.objective, WorstRegret):
        return problem
    found = tuple(load(folder / PARTS / f"{place:03}") for place in range(len(problem.objective.priors.members)))
    require_optima(problem.objective, [(one.problem, one.certificate) for one in found])
    for other in (one.problem for one in found):
        same = (other.epsilon, other.delta, other.pairs) == (problem.epsilon, problem.delta, problem.pairs)
        arrays = ((other.space.distances, problem.space.distances), (other.losses, problem.losses))
        if not same or not all(np.array_equal(*pair) for pair in arrays):
            raise CertificateError(f"the optimum for {other.prior.name} is that of another problem")
    return problem.but(objective=replace(problem.objective, reports=found))


def _certificate(content: dict[str, Any]) -> Certificate:
    check_certificate(content)
    return Certificate(**{**content, "epsilon": np.inf if content["epsilon"] is None else content["epsilon"]})


def _read_written(
    folder: Path, summary: dict[str, Any], asked: dict[str, Any], proof: Certificate
) -> tuple[Problem, Mechanism]:
    described = read_arrays(folder / MECHANISM)
    check_arrays(asked, described, secrets=bool(summary["secrets_are_reports"]))
    problem = _problem(folder, summary, asked, described)
    bound = problem.pairs if problem.delta else "all"
    privacy = Privacy(proof.epsilon, proof.how["privacy"], proof.delta, bound) if problem.private else None
    return problem, Mechanism.from_matrix(
        problem.space, described["matrix"], problem.reports, name=summary["mechanism"], privacy=privacy
    )


def _asked_of(mechanism: Mechanism, summary: dict[str, Any], asked: dict[str, Any]) -> Problem:
    """The problem on the space and reports of a mechanism."""
    space = mechanism.space
    reports = mechanism.reports
    name = summary["loss"]
    unit = units_of(summary)["loss"]
    loss = Loss(asked["loss"], reports, name, unit=unit) if "loss" in asked else Loss.of(name, space, reports)
    if "loss" in asked and reports.secrets:
        check_loss(name, asked["loss"], space)
    prior = believed(summary, asked)
    return Problem(space, prior=prior, loss=loss, **_wanted(summary, asked, prior, space))


def _wanted(
    summary: dict[str, Any], asked: dict[str, Any], prior: Prior | PriorSet, space: MetricSpace
) -> dict[str, Any]:
    """Level, objective, pairs of beliefs and name."""
    objective = against_known(prior, asked, summary["objective"])
    if objective == AdversaryError.name:
        guesses = Loss.of(asked["adversary_loss"], space, unit=units_of(summary)["value"])
        objective = AdversaryError(float(asked["max_loss"]), guesses)
    epsilon = float(asked["epsilon"])
    return {
        "epsilon": within_of(summary, epsilon) or epsilon,
        "delta": float(asked["delta"]),
        "pairs": summary["pairs"],
        "objective": objective,
        "beliefs": unpack_beliefs(asked, space.labels),
        "name": summary["problem"],
    }


def _problem(folder: Path, summary: dict[str, Any], arrays: dict[str, Any], described: dict[str, Any]) -> Problem:
    labels = tuple(str(label) for label in described["labels"])
    for array in arrays.values():
        array.flags.writeable = False
    points = described.get("points")
    found = unpack_positions(described)
    units = units_of(summary)
    plain = MetricSpace(labels, points, given=arrays["distances"], positions=found, unit=units["distance"])
    space = restored(folder, plain, summary["structure"])
    report_labels = tuple(str(label) for label in described["report_labels"])
    reports = Reports(report_labels, described.get("report_points"), summary["secrets_are_reports"])
    loss = Loss(arrays["loss"], reports, summary["loss"], unit=units["loss"])
    prior = believed(summary, arrays)
    return Problem(space, prior=prior, loss=loss, **_wanted(summary, arrays, prior, space))


def _check(report: Report) -> None:
    """Raise CertificateError unless the certificate and the status hold by the arrays."""
    problem = report.problem
    mechanism = report.mechanism
    proof = report.certificate
    if proof.private is not problem.private:
        raise CertificateError("the certificate does not say that the channel is private")
    # A matrix is proven as it is. `certify` would repair it first, and the numbers would be those of another channel.
    if isinstance(mechanism, MatrixMechanism):
        privacy = proven_privacy(problem, mechanism.matrix)
        realised = privacy.epsilon
        relaxed = privacy.delta
        value = objective_value(problem, mechanism.matrix)
        bound, _ = proven_bound(problem, report.dual)
    else:
        found = certify(problem, Candidate(mechanism, report.dual)).certificate
        realised = found.epsilon
        relaxed = found.delta
        value = found.value
        bound = found.bound
    again = {"epsilon": realised, "delta": relaxed, "value": value, "bound": bound}
    if (proof.belief_level is None) is not (problem.beliefs is None):
        raise CertificateError("the certificate and the problem do not agree whether there are pairs of beliefs")
    if problem.beliefs is not None:
        again["belief_level"] = prove_beliefs(problem, mechanism.matrix)
    for name, number in again.items():
        saved = getattr(proof, name)
        if not math.isclose(number, saved, rel_tol=AGREEMENT, abs_tol=AGREEMENT):
            wrong = f"{name} is {number:.17g} by the arrays, but {saved:.17g} was saved"
            raise CertificateError(f"{CERTIFICATE}: {wrong}")
    apart = gap(proof.value, proof.bound)
    if not abs(proof.gap - apart) <= AGREEMENT * apart:
        raise CertificateError(f"gap is {apart:.17g} by value and bound, but {proof.gap:.17g} was saved")
    check_figures(report)
    optimal = is_optimal(problem, mechanism, proof.value, proof.bound, report.tolerance)
    if (report.status is Status.OPTIMAL) != optimal:
        raise CertificateError(f"the status {report.status} does not fit a gap of {proof.gap:.2e}")
