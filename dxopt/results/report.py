"""Reports: the answer to a problem, its lines of text, and what its folder holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dxopt.errors import CertificateError, UnsupportedError
from dxopt.model.mechanism import FORMAT as MECHANISM_FORMAT
from dxopt.model.mechanism import MatrixMechanism
from dxopt.model.objective import AdversaryError, WorstRegret
from dxopt.proofs.duals import LineDual, ProductDual, pack_dual
from dxopt.release.tables import IntegerTable, integer_table
from dxopt.results import held_out, units
from dxopt.results.answer import Answer
from dxopt.results.beliefs import NO_TABLE, pack_beliefs
from dxopt.results.claims import FORMAT, RESTS_ON, UNVERIFIED
from dxopt.results.comparison_folder import comparison_contents
from dxopt.results.figures.tables import as_panel, as_text
from dxopt.results.files import (
    CLAIMS,
    DESCRIPTION,
    DUAL,
    HELD_OUT,
    MECHANISM,
    NOTES,
    PROBLEM,
    TABLE,
    Contents,
    finite,
)
from dxopt.results.prior_sets import packed_set
from dxopt.results.report_lines import everything, short
from dxopt.results.result import parts
from dxopt.runtime.shown import as_html

if TYPE_CHECKING:
    from rich.console import RenderableType

TABLE_TRIPLES = 50_000_000
"""There is an integer table up to this n²·m, which is what it takes to prove one private."""
WRITTEN_PAIRS = 5_000_000
"""Distances and losses of what is proven by structure are written out up to this n·max(n, m)."""


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
    method : str
        The one that was asked for.
    spanner : float or None
        The dilation of the spanner that was asked for.

    Examples
    --------
    >>> import dxopt as dx
    >>> report = dx.solve(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"))
    >>> print(len(report.lines()) > 5, "claims.json" in report.contents(), report.certificate.private)
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
        found = self.mechanism
        # what is proven of a matrix is in the claims
        bare = replace(found, privacy=None) if isinstance(found, MatrixMechanism) else found
        mechanism = {"format": MECHANISM_FORMAT, **bare.packed()}
        contents: Contents = {
            MECHANISM: mechanism,
            PROBLEM: self._arrays(str(mechanism["space.kind"])),
            DUAL: pack_dual(self.dual, len(self.problem.space)),
            CLAIMS: self._claims(made),
            NOTES: self._notes(),
            DESCRIPTION: {"arrays": PROBLEM},
        }
        contents |= {TABLE: made} if isinstance(made, IntegerTable) else {}
        contents |= {HELD_OUT: held_out.pack(self.held_out)} if self.held_out else {}
        if self.comparison is not None:
            contents |= comparison_contents(self.comparison, self)
        return contents | parts(self.members)

    def _arrays(self, encoded: str) -> dict[str, Any]:
        """Return the arrays of problem.npz; mechanism.npz has the space, encoded as `encoded`, and the reports."""
        problem, mechanism = self.problem, self.mechanism
        arrays: dict[str, Any] = {
            "prior": problem.prior.probabilities,
            "epsilon": problem.epsilon,
            "delta": problem.delta,
            **pack_beliefs(problem.beliefs),
            **packed_set(problem, mechanism),
        }
        if isinstance(problem.objective, AdversaryError):
            arrays |= {"max_loss": problem.objective.max_loss, "adversary_loss": problem.objective.guesses}
        if self._written and encoded != "distances":
            arrays["distances"] = problem.space.distances
        if self._written or not problem.loss.by_distance:
            arrays["losses"] = problem.losses
        return arrays

    def _claims(self, table: IntegerTable | str) -> dict[str, Any]:
        """Return the contents of claims.json."""
        problem, proof = self.problem, self.certificate
        within = problem.within
        return {
            "format": FORMAT,
            "problem": {
                "name": problem.name,
                "objective": problem.objective.name,
                "pairs": problem.pairs,
                "prior": problem.prior.name,
                "loss": problem.loss.name,
                "loss_by_distance": problem.loss.by_distance,
                "units": units.content(problem),
                "within": within and {key: getattr(within, key) for key in ("level", "radius", "positions")},
            },
            "certificate": {
                "private": proof.private,
                "epsilon": finite(proof.epsilon),
                **{key: getattr(proof, key) for key in ("delta", "value", "bound", "gap", "belief_level")},
            },
            "status": str(self.status),
            "tolerance": self.tolerance,
            "found": {key: getattr(self, key) for key in ("claim", "method", "solver", "spanner")},
            "table": table if isinstance(table, str) else None,
            "evaluation": dict(self.evaluation),
            "beliefs": [asdict(beliefs) for beliefs in self.beliefs],
            "rests_on": RESTS_ON,
        }

    def _notes(self) -> dict[str, Any]:
        """Return the contents of notes.json, which nobody verifies."""
        return {
            "format": FORMAT,
            "unverified": UNVERIFIED,
            "route": self.route,
            "seconds": self.seconds,
            "refused": dict(self.refused),
            "reductions": [asdict(reduction) for reduction in self.reductions],
            "warnings": [warning.content() for warning in self.warnings],
            "plugins": [plugin.content() for plugin in self.plugins],
            "held_out": held_out.notes(self.held_out),
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
