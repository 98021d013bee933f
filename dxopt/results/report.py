"""The answer to a problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dxopt.errors import CertificateError, UnsupportedError
from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.model.objective import AdversaryError
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import AppliedReduction, Claim
from dxopt.proofs.certify import Certificate
from dxopt.proofs.duals import AnyDual, LineDual, ProductDual, pack_dual
from dxopt.release.tables import integer_table
from dxopt.results.comparison import Comparison
from dxopt.results.folder import (
    COMPARED,
    DESCRIPTION,
    PARTS,
    REPORT,
    TABLE,
    describe,
    finite,
    write_digests,
    write_json,
)
from dxopt.runtime.stopping import Status
from dxopt.spaces.archive import pack_positions
from dxopt.spaces.geo.located import known

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dxopt.results.measures import Beliefs

FORMAT = 1

STRUCTURE = ("kind", "shape", "spacing")

TABLE_TRIPLES = 50_000_000

WRITTEN_PAIRS = 5_000_000


@dataclass(frozen=True, eq=False)
class Report:
    """A mechanism with what was proven of it and how it was found.

    Attributes
    ----------
    problem : Problem
    mechanism : Mechanism
    certificate : Certificate
    dual : Dual, LineDual, ProductDual or None
        What proves `certificate.bound`: row prices with their multipliers, or with what these follow from on a line;
        a dual for each factor of a product. None where it needs none.
    status : Status
        `optimal`: the gap is within `tolerance`. `feasible`: private, optimality unproven. `interrupted` and
        `time limit`: stopped before that; the mechanism is the best one known then.
    claim : str
        What the route promises: "exact" (the optimum) or "valid" (a private mechanism with a bound).
    route : str
        How the mechanism was found.
    refused : dict
        Why the other routes were not taken, by name.
    reductions : tuple of AppliedReduction
    seconds : float
    tolerance : float
        On the gap.
    evaluation : dict
        Further measures that were asked for, by name.
    comparison : Comparison or None
        Other mechanisms for the problem, where that was asked for; kept by `dx.load` as it was saved.
    beliefs : tuple of Beliefs
        What the measures of an adversary's beliefs are about.
    """

    problem: Problem
    mechanism: Mechanism
    certificate: Certificate
    dual: AnyDual | None
    status: Status
    claim: Claim
    route: str
    refused: Mapping[str, str]
    reductions: tuple[AppliedReduction, ...]
    seconds: float
    tolerance: float
    evaluation: Mapping[str, float] = field(default_factory=dict)
    comparison: Comparison | None = None
    beliefs: tuple[Beliefs, ...] = ()

    @property
    def delivered(self) -> bool:
        """Whether the route kept its promise: an exact one closed the gap, any other one ran to its end."""
        if self.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
            return False
        return self.claim != "exact" or self.status is Status.OPTIMAL

    def save(self, folder: str | Path) -> Path:
        """Write a result folder; `dxopt.load` reads it back.

        An earlier result there is replaced, other files are kept.

        Raises
        ------
        SpecError
            If the folder holds something that is no result, or cannot be written.
        """
        from dxopt.results.folder import place

        return place(Path(folder), self.write)

    def write(self, folder: Path) -> None:
        """Fill a result folder."""
        from dxopt.results.report import write_report

        write_report(self, folder)

    def __str__(self) -> str:
        from dxopt.batch.lines import as_text

        return as_text(self)

    def __repr__(self) -> str:
        proof = self.certificate
        return f"<Report {self.problem.name}: {self.status}, value {proof.value:.6g}, gap {proof.gap:.1e}>"

    def __rich__(self) -> RenderableType:
        from dxopt.batch.lines import as_panel

        return as_panel(self)

    def _repr_html_(self) -> str:
        from dxopt.batch.lines import as_html

        return as_html(self)


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
        mechanism.save(folder / "mechanism.npz")
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
