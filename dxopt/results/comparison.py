"""Comparisons of mechanisms for one problem: `Evidence` (the mechanisms and proofs), and the figures that follow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis import evaluate
from dxopt.analysis.order.remaps import proven_worst_case
from dxopt.errors import SpecError
from dxopt.model.mechanism import Mechanism
from dxopt.model.objective import ExpectedLoss
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import level_text
from dxopt.proofs.certify import Certificate, gap
from dxopt.results.compared import (
    PROVEN,
    Compared,
    Refined,
    Regularity,
    describe_gap,
    describe_levels,
    describe_losses,
    describe_refinements,
    describe_verdict,
    privacy_text,
    table_row,
)
from dxopt.results.figures.panels import Bars, Line, Row, bars
from dxopt.results.figures.tables import Grid, Plotted, cell, privacy_cell
from dxopt.results.folder import Contents, Result, finite
from dxopt.runtime.archive import Arrays
from dxopt.runtime.plugins import Plugin
from dxopt.spaces.units import per, with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
OPTIMAL = "optimal"
"""The name of the first row: the best mechanism that was found."""
_FOUND = "best found"


class Answered(Protocol):
    """Interface of a Report, whose module imports this one and so cannot be imported here."""

    @property
    def problem(self) -> Problem: ...

    @property
    def mechanism(self) -> Mechanism: ...

    @property
    def certificate(self) -> Certificate: ...

    @property
    def plugins(self) -> tuple[Plugin, ...]: ...

    def contents(self, *, table: bool = True) -> Contents: ...


@dataclass(frozen=True, eq=False)
class Entry:
    """A mechanism of a comparison: proven in a report, or a baseline that is measured; or a note why there is none.

    `prior` names the other prior that the report is the optimum for; "" where it answers the problem itself.
    """

    report: Answered | None = None
    measured: Mechanism | None = None
    prior: str = ""
    note: str = ""

    @property
    def mechanism(self) -> Mechanism | None:
        """Mechanism of the row; None where it is missing."""
        return self.measured if self.report is None else self.report.mechanism


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence of a comparison, from which all of its figures follow.

    Attributes
    ----------
    problem : Problem
    entries : mapping of names of rows to Entry
        In order, the optimum first.
    others : mapping of names to Problem
        The problem under other priors.
    remaps : mapping of names of rows to pairs of (m, w) and (n,) arrays
        Remaps that draw, and the weights of secrets that bound every one.
    refinements : mapping of Refined to mappings
        What proves each of them: `remap` or `gains`; nothing where it is undecided.
    """

    problem: Problem
    entries: Mapping[str, Entry]
    others: Mapping[str, Problem] = field(default_factory=dict)
    remaps: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)
    refinements: Mapping[Refined, Arrays] = field(default_factory=dict)

    @property
    def bound(self) -> float | None:
        """Sharpest bound on every private mechanism, of the reports for the problem's own prior; None without any."""
        sign = self.problem.objective.sign
        reports = (one.report for one in self.entries.values() if not one.prior)
        bounds = [report.certificate.bound for report in reports if report is not None]
        return max(bounds, key=lambda bound: sign * bound, default=None)

    @property
    def bounds(self) -> dict[str, float]:
        """Bounds under the other priors, by the names of those with an optimum."""
        found = (entry for entry in self.entries.values() if entry.prior)
        return {entry.prior: entry.report.certificate.bound for entry in found if entry.report is not None}

    def rows(self) -> tuple[Compared, ...]:
        """Return the rows; excesses are relative to the optimum, which is the first."""
        best: float | None = None
        rows: list[Compared] = []
        for name, entry in self.entries.items():
            if entry.mechanism is None:
                rows.append(Compared(name, note=entry.note))
                continue
            row = self._row_of(name, entry, entry.mechanism)
            best = row.value if name == OPTIMAL else best
            excess, remapped = _relative_excess(row.value, best), _relative_excess(row.remapped, best)
            rows.append(replace(row, excess=excess, remapped_excess=remapped))
        return tuple(rows)

    def _row_of(self, name: str, entry: Entry, mechanism: Mechanism) -> Compared:
        """Return the row of one mechanism, without its excess over the optimum.

        The level is the one that its report proves. A baseline has no report: its smallest ε is measured, and it
        counts as private if that is at most the one asked for.
        """
        problem, bound = self.problem, self.bound
        if entry.report is None:
            level, delta = evaluate.smallest_epsilon(mechanism, problem.delta, pairs=problem.pairs), problem.delta
            private = level <= problem.epsilon
        else:
            proof = entry.report.certificate
            level, delta, private = proof.epsilon, proof.delta, proof.private
        remapped, least = self._value_remapped(name, mechanism)
        # the certificate of an optimum for another prior has its value under that prior, not under the problem's
        own = None if entry.prior else entry.report
        value = value_of(problem, mechanism) if own is None else own.certificate.value
        return Compared(
            name,
            value=value,
            remapped=remapped,
            gap=None if bound is None else gap(value, bound),
            private=private,
            epsilon=finite(level),
            leakage=evaluate.min_entropy_leakage(mechanism, problem.prior),
            note=entry.note if private or entry.report else "a baseline, not private at this level",
            delta=delta if problem.delta else None,
            under={name: value_of(other, mechanism) for name, other in self.others.items()},
            baseline=entry.report is None,
            remapped_bound=least,
        )

    def _value_remapped(self, name: str, mechanism: Mechanism) -> tuple[float | None, float | None]:
        """Return the value after the best remap, and a bound on the value after any remap.

        For the worst loss the remap is random, and was kept with its bound. For the expected loss it is a table,
        exact by itself, without a bound. Other objectives, and remaps that were not found, have neither.
        """
        problem = self.problem
        if name in self.remaps:
            remap, weights = self.remaps[name]
            return proven_worst_case(mechanism.matrix, remap, problem.losses, weights)
        if not isinstance(problem.objective, ExpectedLoss):
            return None, None
        return evaluate.adversary_error(mechanism, problem.prior, problem.loss), None


def value_of(problem: Problem, mechanism: Mechanism) -> float:
    """Return the value of a mechanism under the problem's objective; the expected loss alone needs no matrix."""
    if isinstance(problem.objective, ExpectedLoss):
        return evaluate.expected_loss(mechanism, problem.prior, problem.loss)
    return problem.objective.value(problem, mechanism.matrix)


def _relative_excess(value: float | None, best: float | None) -> float | None:
    """Return how far a value is above the best one, relative to that; None where one is missing, or that is 0."""
    return (value - best) / abs(best) if value is not None and best else None


@dataclass(frozen=True, repr=False)
class Comparison(Plotted, Result):
    """Mechanisms for one problem, side by side.

    Attributes
    ----------
    problem : str
    epsilon : float or None
        None where no privacy is asked for.
    rows : tuple of Compared
        First the best mechanism that was found ("optimal"), then those asked for.
    bound : float or None
        No private mechanism is better: proven.
    verdict : Regularity or None
        For binary loss on a space that is not too large: whether the prior is regular.
    interrupted : bool
        Whether some were not started, as the run was interrupted.
    objective : str
        What the values are.
    delta : float
    bounds : dict
        For each of the other priors, by name, a bound like `bound` under that prior.
    refinements : tuple of Refined
        For each ordered pair of mechanisms whether the first refines the second, where they are not too large.
    unit, distance_unit : str
        Of the values, and of the distances that ε is per; "" where they are not known.
    evidence : Evidence or None
        The mechanisms with what proves them, from which the figures follow; None where only the figures are known.

    Examples
    --------
    >>> import dxopt as dx
    >>> problem = dx.Problem(dx.line(4), epsilon=1.0, prior="uniform")
    >>> comparison = dx.compare(problem, ["geometric", "randomised_response"])
    >>> print([row.name for row in comparison.rows], round(comparison.bound, 3))
    ['optimal', 'geometric', 'randomised_response'] 0.521
    >>> print(comparison.content()["epsilon"])
    1.0
    """

    problem: str
    epsilon: float | None
    rows: tuple[Compared, ...]
    bound: float | None = None
    verdict: Regularity | None = None
    interrupted: bool = False
    objective: str = "expected loss"
    delta: float = 0.0
    bounds: Mapping[str, float] = field(default_factory=dict)
    refinements: tuple[Refined, ...] = ()
    unit: str = ""
    distance_unit: str = ""

    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, evidence: Evidence, verdict: Regularity | None, *, interrupted: bool) -> Comparison:
        """Return the comparison whose figures are computed from the mechanisms of the evidence."""
        problem = evidence.problem
        return cls(
            problem.name,
            epsilon=problem.epsilon if problem.private else None,
            rows=evidence.rows(),
            bound=evidence.bound,
            verdict=verdict,
            interrupted=interrupted,
            objective=problem.objective.title,
            delta=problem.delta,
            bounds=evidence.bounds,
            refinements=tuple(evidence.refinements),
            unit=problem.unit,
            distance_unit=problem.space.unit,
            evidence=evidence,
        )

    @property
    def measured(self) -> str:
        """Header of the column of values, with their unit: "expected loss (km)"."""
        return f"{self.objective} ({self.unit})" if self.unit else self.objective

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """Plug-ins that the mechanisms were made with."""
        entries = [] if self.evidence is None else self.evidence.entries.values()
        reports = (entry.report for entry in entries if entry.report is not None)
        return tuple(dict.fromkeys(plugin for report in reports for plugin in report.plugins))

    @property
    def report(self) -> Any:
        """Report of the row "optimal", which `save` writes with the comparison; None without one."""
        return None if self.evidence is None else self.evidence.entries.get(OPTIMAL, Entry()).report

    def best_other_than(self, mechanism: Mechanism, value: float) -> tuple[str | None, float | None]:
        """Return the best private row of other mechanisms, and how far it is above a value; None without any."""
        entries = {} if self.evidence is None else self.evidence.entries
        known = {name for name, entry in entries.items() if entry.mechanism is mechanism}
        private = ((row.value, row.name) for row in self.rows if row.private and row.name not in known)
        found = min(((value, name) for value, name in private if value is not None), default=None)
        return (None, None) if found is None else (found[1], _relative_excess(found[0], value))

    def content(self) -> dict[str, Any]:
        """Return the figures by name, for JSON, without what proves them."""
        figures = asdict(replace(self, evidence=None))  # asdict would copy all mechanisms
        del figures["evidence"]
        return figures | {"verdict": None if self.verdict is None else str(self.verdict)}

    def contents(self) -> Contents:
        """Return the files of the folder of the optimum's report, which has the comparison as one of its parts.

        Raises
        ------
        SpecError
            If there is no report of the optimum to save it with.
        """
        if self.report is None:
            fix = "save the report that it is part of, or compare again with a problem that has an optimum"
            raise SpecError("comparison", "has no report of the optimum to be saved with", fix)
        return replace(self.report, comparison=self).contents()

    @property
    def told(self) -> Comparison:
        """The same with the first row renamed to "best found" where its gap is too wide to call it optimal."""
        if not self.rows or self.rows[0].name != OPTIMAL or (self.rows[0].gap or 0.0) <= PROVEN:
            return self
        names = {row.name: row.name for row in self.rows} | {OPTIMAL: _FOUND}  # refinements name the rows as well
        return replace(
            self,
            rows=tuple(replace(row, name=names[row.name]) for row in self.rows),
            refinements=tuple(
                replace(one, better=names[one.better], worse=names[one.worse]) for one in self.refinements
            ),
        )

    @property
    def figures(self) -> list[dict[str, Any]]:
        """Figures of each mechanism, as `EpsilonSweep.figures` names them, and under other priors.

        "under NAME" is the value under another prior.
        """
        others = dict.fromkeys(name for row in self.rows for name in row.under)
        return [
            row.figures(self.epsilon, self.bound, row.gap) | {f"under {name}": row.under.get(name) for name in others}
            for row in self.rows
        ]

    def figure(self) -> Figure:
        """Bars: the loss of each mechanism next to the optimum and the bound, and its leakage in bits.

        Bars of what is not private are hatched, and the ε that it has is below its name.

        Examples
        --------
        >>> import dxopt as dx
        >>> comparison = dx.compare(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"), ["geometric"])
        >>> print([axes.get_xlabel() for axes in comparison.figure().axes])
        ['expected loss', 'leakage (bits)']
        """
        rows = [row for row in self.told.rows if row.value is not None]
        losses = [Bars([row.value for row in rows], colour=0)]
        if any(row.remapped is not None for row in rows):
            remapped = Bars([row.remapped for row in rows], colour=5, label="with the optimal remap")
            losses = [Bars(losses[0].lengths, colour=0, label="as it is"), remapped]
        leakages = [Bars([row.leakage for row in rows], colour=4)]
        lines = []
        if rows and rows[0].value is not None:
            lines.append(Line(rows[0].value, rows[0].name, colour=1))
        if self.bound is not None and math.isfinite(self.bound):
            lines.append(Line(self.bound, "bound on every private mechanism", colour=6, dashed=True))
        asked = "no privacy asked for" if self.epsilon is None else f"ε = {privacy_cell(self.epsilon, self.delta)}"
        return bars(
            f"{self.problem}: {asked}",
            [Row(row.name, privacy_text(row) if row.unproven else "", hatched=row.unproven) for row in rows],
            {self.measured: losses, "leakage (bits)": leakages},
            lines,
        )

    def _summary(self) -> str:
        asked = "no privacy asked for" if self.epsilon is None else f"ε {level_text(self.epsilon)}"
        return f"{self.problem}: {', '.join(row.name for row in self.rows if row.value is not None)}; {asked}"

    def _parts(self, digits: str) -> Iterable[str | Grid]:
        yield from self._head(digits)
        yield from self._tables(digits)
        told = self.told
        if self.objective == "expected loss":
            yield from describe_losses([(row.name, row.value, row.excess) for row in told.rows], self.unit)
        yield from describe_levels(told.rows, self.epsilon)
        yield from describe_refinements(told.refinements)
        yield from (f"{row.name}: {row.note}" for row in told.rows if row.note)

    def _tables(self, digits: str) -> list[Grid]:
        """Return the mechanisms that exist, below the names of the columns; a second table for other priors."""
        rows = [row for row in self.told.rows if row.value is not None]
        best = rows[0].name if rows else OPTIMAL
        columns = (f"vs. {best}", "with optimal remap", f"remapped vs. {best}", "private", "leakage (bits)")
        tables: list[Grid] = [[["mechanism", self.measured, *columns], *(table_row(row, digits) for row in rows)]]
        if self.bounds or any(row.under for row in rows):
            names = list(rows[0].under) if rows else []
            header = ["mechanism", f"{self.measured} as asked", *(f"under {name}" for name in names)]
            bound = ["bound", cell(self.bound, digits), *(cell(self.bounds.get(name), digits) for name in names)]
            lines = ([row.name, *(cell(one, digits) for one in (row.value, *row.under.values()))] for row in rows)
            tables.append([header, *lines, bound])
        return tables

    def _head(self, digits: str) -> list[str]:
        """Return the lines above the table: the problem with its level, the bound, and the verdict on the prior."""
        unit = f" {per(self.distance_unit)}" if self.distance_unit else ""
        asked = "no privacy asked for" if self.epsilon is None else f"ε = {level_text(self.epsilon)}{unit}"
        lines = [f"{self.problem}, {asked}" + (f", δ = {level_text(self.delta)}" if self.delta else "")]
        if self.bound is not None and self.rows:
            least = with_unit(f"{self.bound:{digits}}", self.unit)
            lines.append(f"no mechanism of that privacy is better than {least}{describe_gap(self.rows[0].gap)}")
        return lines if self.verdict is None else [*lines, describe_verdict(self.verdict)]
