"""What a report is made of: the base of `results.report.Report`, which has its texts and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from dxopt.analysis.held_out import HeldOut
from dxopt.analysis.off_prior import OffPrior, off_prior
from dxopt.errors import PlausibilityWarning
from dxopt.model.mechanism import Mechanism
from dxopt.model.plausibility import of_answer
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import AppliedReduction, Claim
from dxopt.proofs.certify import Certificate
from dxopt.proofs.duals import AnyDual
from dxopt.results.comparison import Comparison
from dxopt.results.explanation import Explanation, of_report
from dxopt.results.measures import Beliefs
from dxopt.results.result import Result
from dxopt.runtime.plugins import Plugin
from dxopt.runtime.stopping import Status


@dataclass(frozen=True, eq=False)
class Answer(Result):
    """The fields of a report, which are described there, and what follows from them."""

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
        """Whether the route kept its promise: an exact one closed the gap, any other one ran to its end."""
        if self.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
            return False
        return self.claim != "exact" or self.status is Status.OPTIMAL

    @property
    def failed(self) -> str:
        """Why the solver that was asked for gave no answer; "" where it gave one, or none was asked for."""
        return f"{self.solver} gave no answer ({self.refused[self.solver]})" if self.solver in self.refused else ""

    @property
    def warnings(self) -> tuple[PlausibilityWarning, ...]:
        """What is seldom meant in the problem or its answer, found from these alone; never read from a file."""
        return self._warnings

    @cached_property
    def _warnings(self) -> tuple[PlausibilityWarning, ...]:
        return of_answer(self.problem, self.mechanism)

    @cached_property
    def off_prior(self) -> OffPrior:
        """Whom the mechanism costs most, what it costs secrets of prior 0, and what it never reports."""
        return off_prior(self.mechanism, self.problem.prior, self.problem.loss)

    @cached_property
    def explanation(self) -> Explanation:
        """What it promises and costs, in plain words: `dx.explain` returns it."""
        optimal = self.status is Status.OPTIMAL
        found = of_report(self.problem, self.mechanism, self.certificate, self.off_prior, optimal=optimal)
        rows = () if self.comparison is None else self.comparison.rows[1:]
        others = [(row.excess, row.name) for row in rows if row.private and row.excess is not None]
        if not others or self.problem.objective.sign < 0:
            return found
        excess, name = min(others)
        return replace(found, next_best=name, next_excess=excess)
