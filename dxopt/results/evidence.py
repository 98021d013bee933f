"""The mechanisms of a comparison with what proves them, and the rows that follow, new or saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis import evaluate
from dxopt.analysis.order.remaps import bound_of_weights, worst_case_of
from dxopt.model.mechanism import Mechanism
from dxopt.model.objective import ExpectedLoss
from dxopt.model.problem import Problem
from dxopt.proofs.certify import Certificate, gap
from dxopt.results.compared import Compared
from dxopt.results.folder import Contents, finite
from dxopt.runtime.archive import Arrays
from dxopt.runtime.plugins import Plugin

Array = NDArray[np.float64]
OPTIMAL = "optimal"
"""The name of the first row: the best mechanism that was found."""


class Answered(Protocol):
    """A report, whose type imports this module."""

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
    """A mechanism of a comparison, or why there is none.

    Attributes
    ----------
    report : Report or None
        The proof of a private mechanism: its part of the comparison.
    measured : Mechanism or None
        A baseline instead, whose level is measured.
    prior : str
        The other prior that the report is the optimum for; "" where it answers the problem itself.
    note : str
        How it was found, or why it is missing.
    """

    report: Answered | None = None
    measured: Mechanism | None = None
    prior: str = ""
    note: str = ""

    @property
    def mechanism(self) -> Mechanism | None:
        """Return the mechanism; None where it is missing."""
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
    refined : tuple of mappings
        What proves each entry of the refinements: `remap` or `gains`; nothing where it is undecided.
    """

    problem: Problem
    entries: Mapping[str, Entry]
    others: Mapping[str, Problem] = field(default_factory=dict)
    remaps: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)
    refined: tuple[Arrays, ...] = ()

    @property
    def bound(self) -> float | None:
        """Return the sharpest bound that a part proves on every private mechanism; None where there is no part."""
        sign = self.problem.objective.sign
        reports = (one.report for one in self.entries.values() if not one.prior)
        bounds = [report.certificate.bound for report in reports if report is not None]
        return max(bounds, key=lambda bound: sign * bound, default=None)

    @property
    def bounds(self) -> dict[str, float]:
        """Return the bounds under the other priors, by the names of those with an optimum."""
        found = (entry for entry in self.entries.values() if entry.prior)
        return {entry.prior: entry.report.certificate.bound for entry in found if entry.report is not None}

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """Return what of other packages the mechanisms were made with, each once."""
        reports = (entry.report for entry in self.entries.values() if entry.report is not None)
        return tuple(dict.fromkeys(plugin for report in reports for plugin in report.plugins))

    def rows(self) -> tuple[Compared, ...]:
        """Return the rows; excesses are relative to the optimum, which is the first."""
        bound = self.bound
        best: float | None = None
        rows: list[Compared] = []
        for name, entry in self.entries.items():
            mechanism = entry.mechanism
            if mechanism is None:
                rows.append(Compared(name, note=entry.note))
                continue
            row = self._of(name, entry, mechanism)
            value = row["value"]
            best = value if name == OPTIMAL else best
            rows.append(
                Compared(
                    name,
                    **row,
                    gap=None if bound is None else gap(value, bound),
                    excess=_excess(value, best),
                    remapped_excess=None if row["remapped"] is None else _excess(row["remapped"], best),
                )
            )
        return tuple(rows)

    def _of(self, name: str, entry: Entry, mechanism: Mechanism) -> dict[str, Any]:
        """Return the figures that depend on one mechanism alone."""
        problem = self.problem
        remapped, least = self._remapped(name, mechanism)
        return {
            **(_proven(entry.report, problem) if entry.report is not None else _measured(mechanism, problem)),
            "value": _value(entry, problem, mechanism),
            "remapped": remapped,
            "remapped_bound": least,
            "leakage": evaluate.min_entropy_leakage(mechanism, problem.prior),
            "note": entry.note,
            "under": {name: value_of(other, mechanism) for name, other in self.others.items()},
        }

    def _remapped(self, name: str, mechanism: Mechanism) -> tuple[float | None, float | None]:
        """Return the value with the best remap and a bound on every remap; the bound only for remaps that draw."""
        problem = self.problem
        if name in self.remaps:
            remap, weights = self.remaps[name]
            value = worst_case_of(mechanism.matrix, remap, problem.losses)
            return value, min(value, bound_of_weights(mechanism.matrix, problem.losses, weights))
        if not isinstance(problem.objective, ExpectedLoss):
            return None, None
        return evaluate.adversary_error(mechanism, problem.prior, problem.loss), None


def _value(entry: Entry, problem: Problem, mechanism: Mechanism) -> float:
    """Return the value under the prior of the problem, which the certificate has unless it is about another one."""
    if entry.report is None or entry.prior:
        return value_of(problem, mechanism)
    return entry.report.certificate.value


def _proven(report: Answered, problem: Problem) -> dict[str, Any]:
    """Return the level that a report proves."""
    proof = report.certificate
    return {
        "private": proof.private,
        "epsilon": finite(proof.epsilon),
        "delta": proof.delta if problem.delta else None,
    }


def _measured(mechanism: Mechanism, problem: Problem) -> dict[str, Any]:
    """Return the least level of a baseline, which counts as private where that is no more than was asked for."""
    level = evaluate.smallest_epsilon(mechanism, problem.delta, pairs=problem.pairs)
    found = {"private": level <= problem.epsilon, "epsilon": finite(level), "baseline": True}
    return found | {"delta": problem.delta or None}


def value_of(problem: Problem, mechanism: Mechanism) -> float:
    """Return what the objective of the problem is about."""
    if isinstance(problem.objective, ExpectedLoss):
        return evaluate.expected_loss(mechanism, problem.prior, problem.loss)
    return problem.objective.value(problem, mechanism.matrix)


def _excess(value: float, best: float | None) -> float | None:
    """Return how far a value is above the best one, relative to that; None where that is missing or 0."""
    return None if not best else (value - best) / abs(best)
