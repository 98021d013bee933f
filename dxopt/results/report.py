"""Reports: the answer to a problem, its lines of text, and what its folder holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dxopt.errors import CertificateError, UnsupportedError
from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.model.objective import AdversaryError, WorstRegret
from dxopt.proofs.duals import LineDual, ProductDual, pack_dual
from dxopt.release.tables import IntegerTable, integer_table
from dxopt.results import units, within
from dxopt.results.answer import Answer
from dxopt.results.beliefs import NO_TABLE, certificate_content, pack_beliefs
from dxopt.results.comparison_folder import comparison_contents
from dxopt.results.figures.tables import as_panel, as_text
from dxopt.results.files import (
    CERTIFICATE,
    DESCRIPTION,
    DUAL,
    HELD_OUT,
    MECHANISM,
    PROBLEM,
    REPORT,
    TABLE,
    Contents,
)
from dxopt.results.held_out import content as content_held_out
from dxopt.results.held_out import pack as pack_held_out
from dxopt.results.labelled import labelled
from dxopt.results.off_prior import content
from dxopt.results.plugged import content_of_plugins
from dxopt.results.prior_sets import packed_set
from dxopt.results.report_lines import everything, short
from dxopt.results.result import description, parts
from dxopt.runtime.shown import as_html

if TYPE_CHECKING:
    from rich.console import RenderableType

FORMAT = 1
STRUCTURE = ("kind", "shape", "spacing")
TABLE_TRIPLES = 50_000_000
"""There is an integer table up to this n²·m, which is what it takes to prove one private."""
WRITTEN_PAIRS = 5_000_000
"""Distances and losses of a mechanism in closed form are written out up to this n·max(n, m)."""


@dataclass(frozen=True, eq=False)
class Report(Answer):
    """A mechanism with what was proven of it and how it was found.

    Attributes
    ----------
    problem : Problem
    mechanism : Mechanism
    certificate : Certificate
    dual : Dual, LineDual, ProductDual or None
        What proves `certificate.bound`: row prices and multipliers, for each factor of a product. None without need.
    status : Status
        `optimal`: the gap is within `tolerance`, in units of the losses as well where these are small (see
        `proofs.certify.is_optimal`). `feasible`: private, optimality unproven. `interrupted`, `time limit`: stopped.
    claim : str
        What the route promises: "exact" (the optimum) or "valid" (a private mechanism with a bound).
    route : str
        How the mechanism was found.
    refused : dict
        Why the other routes were not taken, by name.
    reductions : tuple of AppliedReduction
    seconds, tolerance : float
        What it took, and what was allowed on the gap.
    evaluation : dict
        Further measures that were asked for, by name.
    comparison : Comparison or None
        Other mechanisms for the problem, where that was asked for.
    beliefs : tuple of Beliefs
        What the measures of an adversary's beliefs are about.
    held_out : tuple of HeldOut
        What it costs on data that its prior was not made of, where that was asked for.
    plugins : tuple of Plugin
        What of other packages it was made with.
    solver : str
        The one that was asked for; where `refused` names it, it gave no answer.

    Examples
    --------
    >>> import dxopt as dx
    >>> report = dx.solve(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"))
    >>> print(len(report.lines()) > 5, "certificate.json" in report.contents(), report.certificate.private)
    True True True
    """

    @property
    def members(self) -> tuple[Report, ...]:
        """The optimum for each prior of a hull, where the regret against them was asked for."""
        return self.problem.objective.reports if isinstance(self.problem.objective, WorstRegret) else ()

    @cached_property
    def table(self) -> IntegerTable | str:
        """The mechanism as integers, for exact sampling; or why there is no such table."""
        problem = self.problem
        if not isinstance(self.mechanism, MatrixMechanism):
            return "the mechanism is kept as a formula; no table was made"
        if problem.beliefs is not None:
            return NO_TABLE
        if not problem.private:
            return "no privacy was asked for"
        if len(problem.space) ** 2 * len(problem.reports) > TABLE_TRIPLES:
            return f"n²·m is over {TABLE_TRIPLES:,}"
        try:
            return integer_table(self.mechanism, prior=problem.prior, loss=problem.loss)
        except (UnsupportedError, CertificateError) as error:
            return str(error)

    @property
    def _written(self) -> bool:
        """Whether the folder has the matrix with all distances and losses, from which any figure is derived again."""
        by_structure = isinstance(self.dual, LineDual | ProductDual)
        pairs = len(self.problem.space) * max(self.problem.shape)
        return isinstance(self.mechanism, MatrixMechanism) and (not by_structure or pairs <= WRITTEN_PAIRS)

    def lines(self) -> list[tuple[str, str]]:
        """What it comes to in ten lines at most, each a name and a text; `details` has everything.

        Warnings stand first, and are never left out: many of them make it longer.
        """
        return short(self)

    def details(self) -> str:
        """Everything that is known, as text: all digits, the routes and why others were not taken, and the proofs.

        Examples
        --------
        >>> import dxopt as dx
        >>> report = dx.solve(dx.Problem(dx.line(4), epsilon="ln(4)", prior="uniform"))
        >>> print(len(str(report).splitlines()) <= 10 < len(report.details().splitlines()))
        True
        """
        return as_text(everything(self))

    def contents(self, *, table: bool = True) -> Contents:
        """The files of a result folder by name: all that `dx.load` needs to prove the report again, and the table.

        Parameters
        ----------
        table : bool
            Without, as in the parts of a comparison, no table is made.
        """
        made = self.table if table else "it is one of several that are compared"
        problem_arrays, mechanism = self._arrays()
        contents: Contents = {
            MECHANISM: mechanism,
            PROBLEM: problem_arrays,
            DUAL: pack_dual(self.dual, len(self.problem.space)),
            CERTIFICATE: certificate_content(self.certificate),
            REPORT: self._summary(made),
            DESCRIPTION: description(self.problem, arrays=PROBLEM),
        }
        contents |= {TABLE: made} if isinstance(made, IntegerTable) else {}
        contents |= {HELD_OUT: pack_held_out(self.held_out)} if self.held_out else {}
        if self.comparison is not None:
            contents |= comparison_contents(self.comparison, self)
        return contents | parts(self.members)

    def _arrays(self) -> tuple[dict[str, Any], dict[str, Any] | Mechanism]:
        """What problem.npz and mechanism.npz hold.

        A matrix goes with its labels and points, and all distances and losses go with the problem. A mechanism in
        closed form, or one that a dual in closed form is about, knows its own file, from which the space follows;
        distances and losses are then written out where that is little.
        """
        problem, mechanism = self.problem, self.mechanism
        arrays: dict[str, Any] = {
            "prior": problem.prior.probabilities,
            "epsilon": problem.epsilon,
            "delta": problem.delta,
            **pack_beliefs(problem.beliefs),
        }
        if isinstance(problem.objective, AdversaryError):
            arrays |= {"max_loss": problem.objective.max_loss, "adversary_loss": problem.objective.guesses}
        arrays |= packed_set(problem, mechanism)
        explicit = isinstance(mechanism, MatrixMechanism)
        if explicit and not isinstance(self.dual, LineDual | ProductDual):
            arrays |= {"distances": problem.space.distances, "loss": problem.losses}
            return arrays, labelled(problem, mechanism)
        if not problem.loss.by_distance:
            arrays["loss"] = problem.losses
        if self._written:
            arrays |= {"pair_distances": problem.space.distances, "report_losses": problem.losses}
        return arrays, mechanism

    def _summary(self, table: IntegerTable | str) -> dict[str, Any]:
        """What report.json holds."""
        problem = self.problem
        return {
            "format": FORMAT,
            "problem": problem.name,
            "secrets_are_reports": problem.reports.secrets,
            "loss": problem.loss.name,
            "units": units.content(problem),
            "within": within.content(problem.within),
            "objective": problem.objective.name,
            "pairs": problem.pairs,
            "prior": problem.prior.name,
            "structure": {key: getattr(problem.space.structure, key) for key in STRUCTURE},
            "mechanism": self.mechanism.name,
            "status": str(self.status),
            "claim": self.claim,
            "route": self.route,
            "solver": self.solver,
            "refused": dict(self.refused),
            "reductions": [asdict(reduction) for reduction in self.reductions],
            "seconds": self.seconds,
            "tolerance": self.tolerance,
            "evaluation": dict(self.evaluation),
            "off_prior": content(self.off_prior, problem.space, self.mechanism.reports, written=self._written),
            "held_out": content_held_out(self.held_out),
            "beliefs": [asdict(beliefs) for beliefs in self.beliefs],
            "warnings": [warning.content() for warning in self.warnings],
            "plugins": content_of_plugins(self.plugins),
            "table": table if isinstance(table, str) else None,
        }

    def __str__(self) -> str:
        return as_text(self.lines())

    def __repr__(self) -> str:
        proof = self.certificate
        return f"<Report {self.problem.name}: {self.status}, value {proof.value:.6g}, gap {proof.gap:.1e}>"

    def __rich__(self) -> RenderableType:
        return as_panel(self.problem.name, self.lines())

    def _repr_html_(self) -> str:
        return as_html(self.lines())
