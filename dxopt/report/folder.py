"""A report on disk: a self-contained folder with a format version."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dxopt.archives import DAMAGED
from dxopt.certify import Certificate, gap, objective_value, proven_privacy
from dxopt.duality import AnyDual, proven_bound
from dxopt.errors import CertificateError, SpecError, UnsupportedError
from dxopt.implicit import prove
from dxopt.integer_tables import integer_table
from dxopt.loss import Loss, Reports
from dxopt.mechanism import MatrixMechanism, Mechanism, Privacy
from dxopt.objective import AdversaryError
from dxopt.prior import Prior
from dxopt.problem import Problem
from dxopt.program import Status
from dxopt.reductions.line import LineDual
from dxopt.reductions.product import ProductDual
from dxopt.reductions.record import Reduction
from dxopt.report.archive import load_mechanism, save_mechanism
from dxopt.report.comparison import Comparison
from dxopt.report.duals import pack_dual, unpack_dual
from dxopt.report.evidence import Evidence
from dxopt.report.measures import Beliefs
from dxopt.report.places import (
    COMPARED,
    DESCRIPTION,
    PARTS,
    REPORT,
    SWEEP,
    TABLE,
    describe,
    finite,
    holds_report,
    write_digests,
    write_json,
)
from dxopt.report.result import Report
from dxopt.spaces.archive import pack_positions, unpack_positions
from dxopt.spaces.positions import known
from dxopt.spaces.space import MetricSpace, Structure

FORMAT = 1
STRUCTURE = ("kind", "shape", "spacing")
AGREEMENT = 1e-12
TABLE_TRIPLES = 50_000_000
WRITTEN_PAIRS = 5_000_000


def write_report(report: Report, folder: Path) -> None:
    """Write the files of a report to a folder that is there."""
    problem, mechanism = report.problem, report.mechanism
    asked: dict[str, Any] = {"prior": problem.prior.probabilities, "epsilon": problem.epsilon, "delta": problem.delta}
    if isinstance(problem.objective, AdversaryError):
        asked |= {"max_loss": problem.objective.max_loss, "adversary_loss": problem.objective.guesses}
    if isinstance(mechanism, MatrixMechanism) and not isinstance(report.dual, LineDual | ProductDual):
        asked |= {"distances": problem.space.distances, "loss": problem.losses}
        np.savez_compressed(folder / "mechanism.npz", **_written(problem, mechanism))
    else:
        if not problem.loss.by_distance:
            asked["loss"] = problem.losses
        size, reports = problem.shape
        if isinstance(mechanism, MatrixMechanism) and size * max(size, reports) <= WRITTEN_PAIRS:
            asked |= {"pair_distances": problem.space.distances, "report_losses": problem.losses}
        save_mechanism(mechanism, folder / "mechanism.npz")
    np.savez_compressed(folder / "problem.npz", **asked)
    np.savez_compressed(folder / "dual.npz", **pack_dual(report.dual, len(problem.space)))
    proof = asdict(report.certificate)
    write_json(folder / "certificate.json", {**proof, "epsilon": finite(proof["epsilon"])})
    write_json(folder / REPORT, {**_summary(report), "table": _write_table(report, folder / TABLE)})
    if report.comparison is not None and report.comparison.evidence is not None:
        np.savez_compressed(folder / COMPARED, **report.comparison.evidence.pack(report, report.comparison))
    describe(problem, folder / DESCRIPTION, arrays="problem.npz")


def write_parts(reports: Iterable[Report], folder: Path) -> None:
    """Write the reports that an answer rests on: each is a result folder in `parts`, named by its place."""
    for position, report in enumerate(reports):
        part = folder / PARTS / f"{position:03}"
        part.mkdir(parents=True)
        write_report(report, part)
        write_digests(part)


def _write_table(report: Report, file: Path) -> str | None:
    """Write the mechanism as integers; or say why there is no such file."""
    problem, mechanism = report.problem, report.mechanism
    if not isinstance(mechanism, MatrixMechanism):
        return "the mechanism is not written down"
    if not problem.private:
        return "no privacy was asked for"
    if len(problem.space) ** 2 * len(problem.reports) > TABLE_TRIPLES:
        return f"n²·m is over {TABLE_TRIPLES:,}"
    try:
        integer_table(mechanism, prior=problem.prior, loss=problem.loss).save(file)
    except (UnsupportedError, CertificateError) as error:
        return str(error)
    return None


def _written(problem: Problem, mechanism: Mechanism) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "matrix": mechanism.matrix,
        "labels": np.array(problem.space.labels),
        "report_labels": np.array(problem.reports.labels),
    }
    for name, array in (("points", problem.space.points), ("report_points", problem.reports.points)):
        if array is not None:
            arrays[name] = array.astype(str) if array.dtype == object else array
    return arrays | pack_positions(known(problem.space))


def _summary(report: Report) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "problem": report.problem.name,
        "secrets_are_reports": report.problem.reports.secrets,
        "loss": report.problem.loss.name,
        "objective": report.problem.objective.name,
        "pairs": report.problem.pairs,
        "prior": report.problem.prior.name,
        "structure": {key: getattr(report.problem.space.structure, key) for key in STRUCTURE},
        "mechanism": report.mechanism.name,
        "status": str(report.status),
        "claim": report.claim,
        "route": report.route,
        "refused": dict(report.refused),
        "reductions": [asdict(reduction) for reduction in report.reductions],
        "seconds": report.seconds,
        "tolerance": report.tolerance,
        "evaluation": dict(report.evaluation),
        "beliefs": [asdict(beliefs) for beliefs in report.beliefs],
        "comparison": report.comparison and asdict(report.comparison),
    }


def load(folder: str | Path) -> Report:
    """Read a result folder, proving privacy, value and bound again from its arrays.

    Raises
    ------
    SpecError
        If the folder is no result, lacks a file, or has another format version.
    CertificateError
        If the channel cannot be proven private, or value or bound differ from those saved by more than 1e-12.
    """
    folder = Path(folder)
    if (folder / SWEEP).is_file():
        part = folder / PARTS / "000"
        raise SpecError(
            "folder", f"{folder} is a sweep", f"load a level of it, as {part}, or use dx.EpsilonSweep.load"
        )
    if not holds_report(folder):
        raise SpecError("folder", f"{folder} is no result folder of a report", "name one that `save` wrote")
    try:
        summary = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        if summary["format"] != FORMAT:
            raise SpecError("format", f"version {summary['format']} is not {FORMAT}", "use a matching dxopt")
        proof = _certificate(json.loads((folder / "certificate.json").read_text(encoding="utf-8")))
        with np.load(folder / "dual.npz") as arrays:
            dual = unpack_dual(arrays)
        with np.load(folder / "problem.npz") as arrays:
            asked = dict(arrays)
        if "distances" in asked:
            problem, mechanism = _read_written(folder, summary, asked, proof)
        else:
            mechanism = load_mechanism(folder / "mechanism.npz")
            problem = _asked_of(mechanism, summary, asked)
        reductions = tuple(Reduction(**entry) for entry in summary["reductions"])
        status = Status(summary["status"])
        beliefs = tuple(Beliefs.read(entry) for entry in summary.get("beliefs", ()))
        compared = summary.get("comparison")
        comparison = _read_comparison(folder, compared, mechanism, dual) if compared else None
    except (SpecError, CertificateError):
        raise
    except DAMAGED as error:
        raise SpecError("folder", f"{folder} is damaged ({error})", "solve the problem again") from None
    _check(problem, mechanism, dual, proof)
    if (status is Status.OPTIMAL) != (proof.gap <= summary["tolerance"]):
        raise CertificateError(f"the status {status} does not fit a gap of {proof.gap:.2e}")
    return Report(
        problem=problem,
        mechanism=mechanism,
        certificate=proof,
        dual=dual,
        status=status,
        reductions=reductions,
        comparison=comparison,
        beliefs=beliefs,
        **{key: summary[key] for key in ("claim", "route", "refused", "seconds", "tolerance", "evaluation")},
    )


def _read_comparison(folder: Path, content: dict[str, Any], mechanism: Mechanism, dual: AnyDual | None) -> Comparison:
    """The comparison, with what proves it where that was saved."""
    comparison = Comparison.read(content)
    if not (folder / COMPARED).is_file():
        return comparison
    with np.load(folder / COMPARED) as arrays:
        return comparison.proven_by(Evidence.unpack(dict(arrays), comparison, mechanism, dual))


def _certificate(content: dict[str, Any]) -> Certificate:
    return Certificate(**{**content, "epsilon": np.inf if content["epsilon"] is None else content["epsilon"]})


def _read_written(
    folder: Path, summary: dict[str, Any], asked: dict[str, Any], proof: Certificate
) -> tuple[Problem, Mechanism]:
    with np.load(folder / "mechanism.npz") as arrays:
        described = dict(arrays)
    problem = _problem(summary, asked, described)
    bound = problem.pairs if problem.delta else "all"
    privacy = Privacy(proof.epsilon, proof.how["privacy"], proof.delta, bound) if problem.private else None
    return problem, Mechanism.from_matrix(
        problem.space, described["matrix"], problem.reports, name=summary["mechanism"], privacy=privacy
    )


def _asked_of(mechanism: Mechanism, summary: dict[str, Any], asked: dict[str, Any]) -> Problem:
    """The problem on the space and reports of a mechanism."""
    space, reports, name = mechanism.space, mechanism.reports, summary["loss"]
    loss = Loss(asked["loss"], reports, name) if "loss" in asked else Loss.of(name, space, reports)
    prior = Prior(asked["prior"], summary["prior"])
    return Problem(space, prior=prior, loss=loss, **_wanted(summary, asked))


def _wanted(summary: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """Level, objective and name."""
    objective = summary["objective"]
    if objective == AdversaryError.name:
        objective = AdversaryError(float(asked["max_loss"]), asked["adversary_loss"])
    return {
        "epsilon": float(asked["epsilon"]),
        "delta": float(asked["delta"]),
        "pairs": summary["pairs"],
        "objective": objective,
        "name": summary["problem"],
    }


def _problem(summary: dict[str, Any], arrays: dict[str, Any], described: dict[str, Any]) -> Problem:
    labels = tuple(str(label) for label in described["labels"])
    structure = _structure(**summary["structure"])
    for array in arrays.values():
        array.flags.writeable = False
    points, found = described.get("points"), unpack_positions(described)
    space = MetricSpace(labels, points, None, structure, given=arrays["distances"], positions=found)
    report_labels = tuple(str(label) for label in described["report_labels"])
    reports = Reports(report_labels, described.get("report_points"), summary["secrets_are_reports"])
    loss = Loss(arrays["loss"], reports, summary["loss"])
    prior = Prior(arrays["prior"], summary["prior"])
    return Problem(space, prior=prior, loss=loss, **_wanted(summary, arrays))


def _structure(kind: Any, shape: list[int], spacing: float) -> Structure:
    """What is known without the factors or edges, which are not saved."""
    return Structure() if kind in ("product", "tree") else Structure(kind, tuple(shape), spacing)


def _check(problem: Problem, mechanism: Mechanism, dual: AnyDual, proof: Certificate) -> None:
    if proof.private is not problem.private:
        raise CertificateError("the certificate does not say that the channel is private")
    if isinstance(mechanism, MatrixMechanism):
        privacy, value = proven_privacy(problem, mechanism.matrix), objective_value(problem, mechanism.matrix)
        realised, relaxed = privacy.epsilon, privacy.delta
        bound, _ = proven_bound(problem, dual)
    else:
        found = prove(problem, mechanism, dual)
        realised, relaxed, value, bound = found.epsilon, found.delta, found.value, found.bound
    again = {"epsilon": realised, "delta": relaxed, "value": value, "bound": bound, "gap": gap(value, bound)}
    for name, number in again.items():
        saved = getattr(proof, name)
        if number != saved and not abs(number - saved) <= AGREEMENT * max(1.0, abs(number)):
            raise CertificateError(f"{name} is {number:.17g} by the arrays, but {saved:.17g} was saved")
