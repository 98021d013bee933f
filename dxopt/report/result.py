"""The answer to a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dxopt.certify import Certificate
from dxopt.duality import AnyDual
from dxopt.formulations.contract import Claim
from dxopt.mechanism import Mechanism
from dxopt.problem import Problem
from dxopt.program import Status
from dxopt.reductions.record import Reduction
from dxopt.report.comparison import Comparison

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dxopt.report.measures import Beliefs


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
    reductions : tuple of Reduction
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
    reductions: tuple[Reduction, ...]
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
        from dxopt.report.places import place

        return place(Path(folder), self.write)

    def write(self, folder: Path) -> None:
        """Fill a result folder."""
        from dxopt.report.folder import write_report

        write_report(self, folder)

    def __str__(self) -> str:
        from dxopt.report.table import as_text

        return as_text(self)

    def __repr__(self) -> str:
        proof = self.certificate
        return f"<Report {self.problem.name}: {self.status}, value {proof.value:.6g}, gap {proof.gap:.1e}>"

    def __rich__(self) -> RenderableType:
        from dxopt.report.table import as_panel

        return as_panel(self)

    def _repr_html_(self) -> str:
        from dxopt.report.table import as_html

        return as_html(self)
