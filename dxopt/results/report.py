"""Reports: the answer to a problem, its lines of text, and what its folder holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis import evaluate
from dxopt.analysis.held_out import HeldOut
from dxopt.analysis.off_prior import OffPrior, off_prior
from dxopt.analysis.radii import radii
from dxopt.errors import CertificateError, PlausibilityWarning, UnsupportedError
from dxopt.model.mechanism import FORMAT as MECHANISM_FORMAT
from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.model.objective import AdversaryError, WorstLoss, WorstRegret
from dxopt.model.plausibility import of_answer
from dxopt.model.problem import Problem
from dxopt.numerics.coerce import as_flag
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.candidate import Claim
from dxopt.proofs.certify import Certificate
from dxopt.proofs.duals import AnyDual, Dual, LineDual, ProductDual, pack_dual
from dxopt.results.claims import FORMAT, RESTS_ON, UNVERIFIED, Proof
from dxopt.results.explanation import cost_fields, promise_fields
from dxopt.results.folder import (
    CLAIMS,
    DESCRIPTION,
    DUAL,
    HELD_OUT,
    MECHANISM,
    NOTES,
    PROBLEM,
    TABLE,
    Contents,
    Result,
    finite,
    parts,
)
from dxopt.results.packing import (
    NO_TABLE,
    pack_beliefs,
    pack_held_out,
    pack_set,
    unit_names,
)
from dxopt.runtime.display import as_html
from dxopt.runtime.plugins import Plugin
from dxopt.runtime.progress import Progress
from dxopt.runtime.stopping import Status
from dxopt.words import report as say
from dxopt.words.phrases import aligned, exact
from dxopt.words.report import Lines
from dxopt.words.result import Explanation, value_sentence

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

    from dxopt.release.tables import IntegerTable
    from dxopt.results.comparison import Comparison
    from dxopt.results.measures import Beliefs


TABLE_TRIPLES = 50_000_000
"""An integer table is made with the result up to this n²·m, which is what it takes to prove one private."""
WRITTEN_PAIRS = 5_000_000
"""Distances and losses of what is proven by structure are written out up to this n·max(n, m)."""
_DRAWS = "dxopt.results.page.figures"
"""The module that draws reports, imported when one is drawn, as it imports this one."""


@dataclass(frozen=True, eq=False)
class Report(Result):
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
    held_out: tuple[HeldOut, ...] = ()
    plugins: tuple[Plugin, ...] = ()
    solver: str = "auto"
    method: str = "auto"
    spanner: float | None = None

    @property
    def delivered(self) -> bool:
        """True if the solve ended as promised: an exact route closed the gap, any other one ran to its end."""
        if self.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
            return False
        return self.claim != "exact" or self.status is Status.OPTIMAL

    @property
    def failed(self) -> str:
        """Reason why the solver that was asked for gave no answer; "" where it gave one, or none was asked for."""
        return f"{self.solver} gave no answer ({self.refused[self.solver]})" if self.solver in self.refused else ""

    @property
    def warnings(self) -> tuple[PlausibilityWarning, ...]:
        """Plausibility warnings about the problem or its answer, found from these alone; never read from a file."""
        return self._warnings

    @cached_property
    def _warnings(self) -> tuple[PlausibilityWarning, ...]:
        # cached apart from `warnings`, which is a property in the base class
        return of_answer(self.problem, self.mechanism)

    @cached_property
    def off_prior(self) -> OffPrior:
        """Secrets that lose most, the losses of those of prior 0, and the reports that are never made."""
        return off_prior(self.mechanism, self.problem.prior, self.problem.loss)

    @cached_property
    def explanation(self) -> Explanation:
        """Explanation of the promises and costs in plain words, as `dx.explain` gives it."""
        problem, mechanism, proof, found = self.problem, self.mechanism, self.certificate, self.off_prior
        expected = next_best = next_excess = None
        if problem.objective.sign < 0:
            # the value is an adversary's error, so that the loss is told of beside it
            if found.losses is not None:
                expected = evaluate.expected_loss(mechanism, problem.prior, problem.loss)
        elif self.comparison is not None:
            next_best, next_excess = self.comparison.best_other_than(mechanism, proof.value)
        # the worst loss is about no prior, and neither are its radii
        prior = None if isinstance(problem.objective, WorstLoss) else problem.prior.probabilities
        return Explanation(
            **promise_fields(problem, proof),
            **cost_fields(found, radii(mechanism, prior), mechanism),
            value=proof.value,
            bound=proof.bound,
            optimal=self.status is Status.OPTIMAL,
            expected_loss=expected,
            next_best=next_best,
            next_excess=next_excess,
        )

    @property
    def value(self) -> float:
        """Value of the objective: `certificate.value`."""
        return self.certificate.value

    @property
    def bound(self) -> float:
        """Proven bound on the value of every private mechanism: `certificate.bound`."""
        return self.certificate.bound

    @property
    def gap(self) -> float:
        """Relative distance of the value from the bound: `certificate.gap`."""
        return self.certificate.gap

    @property
    def epsilon(self) -> float:
        """Proven level per unit of distance, at most that of the problem; infinite where no privacy was asked for."""
        return self.certificate.epsilon

    @property
    def matrix(self) -> NDArray[np.float64]:
        """All probabilities, `(n, m)`: `mechanism.matrix`, with its error."""
        return self.mechanism.matrix

    @property
    def sample(self) -> Callable[..., NDArray[Any]]:
        """Function that draws reports: `mechanism.sample`."""
        return self.mechanism.sample

    @property
    def row(self) -> Callable[..., NDArray[np.float64]]:
        """Function that returns the distribution of reports for one secret: `mechanism.row`."""
        return self.mechanism.row

    def plot(self, save: str | Path | None = None) -> Figure:
        """Draw where secrets are and what is reported on a map, or the probabilities where there are no places.

        Parameters
        ----------
        save : str or Path, optional
            A file to write, `*.svg`, `*.png` or `*.pdf`; without an ending, both of the first two. Its folder is made
            where it is missing.

        Raises
        ------
        SpecError
            If the ending is another one, or the file cannot be written.
        UnsupportedError
            Where the matrix would have more than 200 million entries.

        Examples
        --------
        >>> import dxopt as dx
        >>> report = dx.solve(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"))
        >>> print(report.plot().axes[0].get_xlabel())
        report
        """
        from dxopt.results.figures.plots import saved_if_asked

        return saved_if_asked(import_module(_DRAWS).result_figure(self), save)

    @property
    def members(self) -> tuple[Report, ...]:
        """The optimum for each prior of a hull, where the regret against them was asked for."""
        return self.problem.objective.reports if isinstance(self.problem.objective, WorstRegret) else ()

    @property
    def table(self) -> IntegerTable:
        """The mechanism as integers, for exact sampling.

        Raises
        ------
        UnsupportedError
            If there is none, for the reason of `why_no_table`.
        """
        if isinstance(self._table, str):
            can_be_made = self.problem.beliefs is None and self.problem.private
            fix = "call make_table()" if can_be_made else "ask for privacy between secrets"
            raise UnsupportedError("table", f"there is none ({self._table})", fix)
        return self._table

    @cached_property
    def _table(self) -> IntegerTable | str:
        """The table, where it is made at once, or the reason why there is none."""
        if missing := self.why_no_table:
            return missing
        try:
            return self._made_table(None)
        except (UnsupportedError, CertificateError) as error:
            return str(error)

    @property
    def why_no_table(self) -> str:
        """Reason why there is no table before `make_table` is called; "" where one is made when it is looked at."""
        made = self.__dict__.get("_table")
        if made is not None:
            return made if isinstance(made, str) else ""
        problem = self.problem
        if problem.beliefs is not None:
            return NO_TABLE
        if not problem.private:
            return "no privacy was asked for"
        secrets, reports = len(problem.space), len(problem.reports)
        if isinstance(self.mechanism, MatrixMechanism) and secrets**2 * reports <= TABLE_TRIPLES:
            return ""
        from dxopt.release.tables.making import MOST_TRIPLES, seconds_to_make

        if secrets**2 * reports > MOST_TRIPLES:
            return say.no_table_of(secrets, reports)
        return say.table_to_be_made(seconds_to_make(secrets, reports))

    def make_table(self, *, progress: Progress | bool | None = None) -> IntegerTable:
        """Make the table however long that takes, and keep it: `table` is it from then on.

        Parameters
        ----------
        progress : bool or callable, optional
            True shows a bar, as in `dx.solve`; a callable is given lines that report how far it is.

        Raises
        ------
        UnsupportedError
            If no table would be proven private, n²·m is over 1e11, or another limit of `dx.integer_table` is met.
        CertificateError
            If the privacy of the mechanism does not hold.

        Examples
        --------
        >>> import dxopt as dx
        >>> report = dx.solve(dx.Problem(dx.line(400), epsilon=1.0, prior="uniform"), method="geometric")
        >>> print(report.why_no_table.split(":")[0], report.make_table().total == 2**64 == report.table.total)
        not made yet True
        """
        if isinstance(self._table, str) and self.problem.beliefs is None and self.problem.private:
            object.__setattr__(self, "_table", self._made_table(progress))
        return self.table

    def _made_table(self, progress: Progress | bool | None) -> IntegerTable:
        """Round the mechanism at the least cost in the problem's own loss."""
        from dxopt.release.tables import integer_table

        return integer_table(self.mechanism, prior=self.problem.prior, loss=self.problem.loss, progress=progress)

    def lines(self) -> list[tuple[str, str]]:
        """Return ten lines at most, each a name and a text; `details` has everything.

        Warnings stand first, and are never left out: many of them make it longer.
        """
        first = list(_first_lines(self))
        return [*first, *_further_lines(self)][: max(MOST, len(first))]

    def details(self) -> str:
        """Everything that is known, as text: all digits, the routes and why others were not taken, and the proofs.

        Examples
        --------
        >>> import dxopt as dx
        >>> report = dx.solve(dx.Problem(dx.line(4), epsilon="ln(4)", prior="uniform"))
        >>> print(len(str(report).splitlines()) <= 10 < len(report.details().splitlines()))
        True
        """
        return "\n".join(aligned(all_lines(self)))

    def contents(self, *, table: bool = True) -> Contents:
        """Return the files of a result folder by name: all that `dx.load` proves again, and the table.

        Parameters
        ----------
        table : bool
            Without, as in the parts of a comparison, no table is made.
        """
        made = self._table if as_flag(table, "table") else "it is one of several that are compared"
        found = self.mechanism
        # what is proven of a matrix is in the claims, so that the mechanism has no privacy of its own in the file
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
        contents |= {} if isinstance(made, str) else {TABLE: made}
        contents |= {HELD_OUT: pack_held_out(self.held_out)} if self.held_out else {}
        if self.comparison is not None:
            from dxopt.results.comparison_folder import comparison_contents

            contents |= comparison_contents(self.comparison, self)
        return contents | parts(self.members)

    def _arrays(self, encoded: str) -> dict[str, Any]:
        """Return the arrays of problem.npz; mechanism.npz has the reports and the space, in the format `encoded`."""
        problem, mechanism = self.problem, self.mechanism
        arrays: dict[str, Any] = {
            "prior": problem.prior.probabilities,
            "epsilon": problem.epsilon,
            "delta": problem.delta,
            **pack_beliefs(problem.beliefs),
            **pack_set(problem, mechanism),
        }
        if isinstance(problem.objective, AdversaryError):
            arrays |= {"max_loss": problem.objective.max_loss, "adversary_loss": problem.objective.guesses}
        # so that any program can derive every figure again; large ones are left out where structure proves the bound
        small = len(problem.space) * max(problem.shape) <= WRITTEN_PAIRS
        by_structure = isinstance(self.dual, LineDual | ProductDual)
        written = isinstance(mechanism, MatrixMechanism) and (small or not by_structure)
        if written and encoded != "distances":  # else mechanism.npz has them
            arrays["distances"] = problem.space.distances
        if written or not problem.loss.by_distance:
            arrays["losses"] = problem.losses
        return arrays

    def _claims(self, table: IntegerTable | str) -> dict[str, Any]:
        """Return the contents of claims.json; `table` is the integer table, or the reason why there is none."""
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
                "units": unit_names(problem),
                "within": within and {key: getattr(within, key) for key in ("level", "radius", "positions")},
            },
            "certificate": {key: getattr(proof, key) for key in Proof.model_fields}
            | {"epsilon": finite(proof.epsilon)},
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
            "held_out": [
                found.positions and {key: finite(value) for key, value in asdict(found.positions).items()}
                for found in self.held_out
            ],
        }

    def __str__(self) -> str:
        return "\n".join(aligned(self.lines()))

    def __repr__(self) -> str:
        proof = self.certificate
        return f"<Report {self.problem.name}: {self.status}, value {proof.value:.6g}, gap {proof.gap:.1e}>"

    def __rich__(self) -> RenderableType:
        from dxopt.results.figures.tables import as_panel

        return as_panel(self.problem.name, self.lines())

    def _repr_html_(self) -> str:
        return as_html(self.lines())


MOST = 10
"""Lines of the short form, but for warnings."""
_BY_ROUNDING = "value and bound are apart by rounding alone"
_CONTINUING = ("auto", "columns")
"""Solvers that may begin with an earlier answer."""
_SHORT = ("radius", "worst off", "largest error", "prior 0", "never reported", "positions", "places", "delta")
"""Sentences of the short form, most important first."""
_LONG = {*_SHORT, "several reports", "direction", "not hidden"} - {"largest error", "delta"}
"""Sentences of the long form."""


def _first_lines(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the lines that are never left out: warnings, problem, status, a failed solver, privacy and value."""
    yield from (("warning", str(warning)) for warning in report.warnings)
    found = report.explanation
    yield "problem", say.question_text(report.problem, found.noun)
    yield "status", f"{_status_text(report)}; routes and proofs: report.details(), --verbose"
    if report.failed:
        yield "solver", report.failed
    plain = found.epsilon is None  # no factor to tell of
    yield "private", say.proven_text(report.problem, report.certificate) if plain else say.one_and_several(found)
    yield "value", value_sentence(found)


def _further_lines(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the lines that `lines` cuts where there are too many, most important first."""
    yield from say.belief_lines(report.problem, report.certificate)
    yield from say.worst_prior_lines(report.problem, report.mechanism)[1:]
    if report.evaluation:
        each = (say.measure_text(report.problem, name, value) for name, value in report.evaluation.items())
        yield "measures", "; ".join(each)
    yield from say.held_out_lines(report.held_out)
    found = dict(report.explanation.sentences)
    yield from ((topic, found[topic]) for topic in _SHORT if topic in found)
    yield from _table_lines(report)


def _table_lines(report: Report) -> Lines:
    """Return the line on the table that is still to be made, or is too large; none where there is nothing to say."""
    missing = report.why_no_table if report.problem.private and report.problem.beliefs is None else ""
    return [("table", missing)] if missing else []


def _status_text(report: Report) -> str:
    """Return how the solve ended, how much better another mechanism may be, and how to go on looking for it."""
    gap = report.certificate.gap
    if report.status is Status.OPTIMAL:
        close = f"gap {gap:.1e}" if gap <= report.tolerance else _BY_ROUNDING
        return f"optimal ({close})"
    certified = "" if report.delivered else " (not certified optimal)"
    told = f"{report.status}{certified}: {report.mechanism.name}; {say.gap_text(gap)}"
    stopped = report.status in (Status.INTERRUPTED, Status.TIME_LIMIT)
    # column generation can begin with the dual that this answer has
    if stopped and isinstance(report.dual, Dual) and report.solver in _CONTINUING:
        told += ", which dx.solve(problem, start=report) goes on to look for"
    return told


def all_lines(report: Report) -> Lines:
    """Return the lines of `details`: all that is known, with all digits, also routes, refusals and proofs."""
    problem, proof, found = report.problem, report.certificate, report.explanation
    # `gap` is relative to the value or to 1e-12; of a smaller value `is_optimal` asks that for 1e-12 of the losses
    above, optimal = "", report.status is Status.OPTIMAL
    if optimal != (proof.gap <= report.tolerance):
        above = f"; {_BY_ROUNDING}" if optimal else "; above it in units of the losses"
    lines = [
        *(("warning", str(warning)) for warning in report.warnings),
        ("problem", say.question_text(problem, found.noun)),
        ("status", f"{report.status}" + ("" if report.delivered else " (not certified optimal)")),
        ("private", say.proven_text(problem, proof)),
        *say.belief_lines(problem, proof),
        ("value", f"{exact(proof.value, problem.unit)} ({problem.objective.title})"),
        ("bound", exact(proof.bound, problem.unit)),
        ("gap", f"{proof.gap:.2e} (tolerance {report.tolerance:.0e}{above})"),
        ("route", report.route),
    ]
    if math.isfinite(budget := problem.objective.max_loss):
        spent = evaluate.expected_loss(report.mechanism, problem.prior, problem.loss)
        lines.append(("expected loss", f"{exact(spent)} of at most {exact(budget, problem.loss.unit)}"))
    lines += say.worst_prior_lines(problem, report.mechanism)
    lines += [(f"not {name}", reason) for name, reason in report.refused.items()]
    lines += [(reduction.name, str(reduction)) for reduction in report.reductions]
    lines += [(name.replace("_", " "), exact(value)) for name, value in report.evaluation.items()]
    lines += say.held_out_lines(report.held_out)
    lines += [(topic, text) for topic, text in found.sentences if topic in _LONG]
    lines += [(f"proof of {what}", how) for what, how in proof.how.items()]
    lines += [("plug-in", str(plugin)) for plugin in report.plugins]
    lines += _table_lines(report)
    return [*lines, ("seconds", f"{report.seconds:.2f}")]
