"""The sections of a page about what was asked, and how it was answered."""

from __future__ import annotations

import math
from typing import Any

from dxopt.model.problem import Problem
from dxopt.results.page import channels
from dxopt.results.page.markup import Cell, Markup, facts, folded, number, table, told
from dxopt.results.report import Report
from dxopt.results.units import named_loss
from dxopt.spaces.units import in_unit, per
from dxopt.words.report import worst_prior

_LOSSES: tuple[str, ...] = ("expected_loss", "worst_loss")
_BITS: tuple[str, ...] = ("min_entropy_leakage", "min_capacity")


def problem(report: Report, metric: str) -> Markup:
    """What was asked; `metric` is what the distances are."""
    asked = report.problem
    reports = "the secrets" if asked.reports.secrets else f"{len(asked.reports):,} others"
    return facts(
        [
            ("secrets", f"{len(asked.space):,}"),
            ("reports", reports),
            ("distances", f"{metric}; structure: {asked.space.structure.kind}"),
            ("privacy asked for", _privacy(asked)),
            ("prior", asked.prior.name),
            ("loss", named_loss(asked)),
            ("wanted", _wanted(asked)),
            *worst_prior(asked, report.mechanism)[1:],
        ]
    )


def _wanted(asked: Problem) -> Markup:
    template = f"the {'least' if asked.objective.sign > 0 else 'largest'} {asked.objective.title}"
    template += "" if asked.priors is None else " over all priors of the set: {priors}"
    template += " with an expected loss of at most {most}" if math.isfinite(asked.objective.max_loss) else ""
    name = "" if asked.priors is None else asked.priors.name
    return told(template, priors=name, most=number(asked.objective.max_loss, asked.loss.unit))


def _privacy(asked: Problem) -> Markup:
    parts = ["ε = {level} {per}" + (f", δ = {{delta}} for {asked.pairs} pairs" if asked.delta else "")]
    if asked.beliefs is not None:
        pairs = f"ε = {{believed}} for {len(asked.beliefs):,} ordered pairs of beliefs"
        parts = [*parts, pairs] if asked.private else [pairs]
    elif not asked.private:
        parts = ["none"]
    believed = 0.0 if asked.beliefs is None else asked.beliefs.level
    return told(
        "; ".join(parts),
        level=number(asked.epsilon),
        per=per(asked.space.unit),
        delta=number(asked.delta),
        believed=number(believed),
    )


def measures(report: Report) -> Markup:
    """Further measures, with their units."""
    units = dict.fromkeys(_LOSSES, report.problem.loss.unit) | dict.fromkeys(_BITS, "bits")
    rows = [
        [Cell(name.replace("_", " ")), Cell.number(value, units.get(name, ""))]
        for name, value in report.evaluation.items()
    ]
    return table("Further measures", ["measure", "value"], rows)


def secrets(report: Report) -> Markup:
    """Each secret with its prior and its expected loss, folded."""
    problem = report.problem
    columns: list[Any] = [
        problem.space.labels,
        problem.prior.probabilities.tolist(),
        report.mechanism.losses(report.problem.loss).tolist(),
    ]
    header = ["secret", "prior", f"expected loss{in_unit(problem.loss.unit)}"]
    if report.mechanism.reports.secrets:
        columns.append(channels.reported(report))
        header.append("probability that it is reported")
    likeliest = report.mechanism.matrix.argmax(axis=1).tolist()
    rows = [
        [Cell(label), *(Cell.number(value) for value in values), Cell(str(report.mechanism.reports.labels[best]))]
        for label, *values, best in zip(*columns, likeliest, strict=True)
    ]
    header.append("most probable report")
    return folded(f"All {len(rows)} secrets", table("Secrets", header, rows))
