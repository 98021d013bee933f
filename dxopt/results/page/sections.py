"""The sections of a page about one result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from dxopt.model.objective import OBJECTIVES
from dxopt.results.comparison import Compared, Comparison
from dxopt.results.held_out import lines_held_out
from dxopt.results.off_prior import lines_off_prior
from dxopt.results.order import lines_of
from dxopt.results.page import channels, words
from dxopt.results.page.curves import Curve, chart, stairs
from dxopt.results.page.entries import Entry
from dxopt.results.page.markup import Cell, Markup, element, facts, folded, joined, section, table
from dxopt.results.page.plane import Plane
from dxopt.results.page.sweeps import against_epsilon, compared, privacy
from dxopt.results.page.views import heat_map, locations
from dxopt.results.prior_sets import lines_of_priors
from dxopt.results.report import Report

MOST_ROWS = 1000
_Section = tuple[str, Iterable[Markup]]


def sections(entry: Entry, name: str, *, drawn: bool, level: int) -> Markup:
    """Return all sections about a result.

    Parameters
    ----------
    entry : Entry
    name : str
        What its channel is called in the page.
    drawn : bool
        Whether that is part of the page.
    level : int
        Of the headings.
    """
    parts: list[Markup] = []
    if entry.failure:
        parts.append(element("p", f"{entry.failure.capitalize()}: {entry.reason}", class_="failure"))
    if entry.warnings:
        parts.append(element("ul", *(element("li", text) for text in entry.warnings), class_="failure"))
    if entry.report is not None:
        parts += _summary(entry.report, entry)
    titled: list[_Section] = []
    if entry.level:
        titled.append(("Smallest ε", [element("p", _level(entry.level))]))
    if entry.frontier:
        titled.append(_frontier(entry))
    if entry.sweep is not None:
        titled.append(("Loss and leakage against ε", against_epsilon(entry.sweep)))
    if entry.report is not None:
        titled += _of_report(entry.report, entry, name, drawn)
    return joined([*parts, *(section(title, *content, level=level) for title, content in titled)])


def _summary(report: Report, entry: Entry) -> Iterator[Markup]:
    problem = report.problem
    proof = report.certificate
    yield element("p", words.headline(report), class_="headline")
    yield facts(
        [
            (problem.objective.title, f"{proof.value:.7g}"),
            ("bound on every mechanism", f"{proof.bound:.7g}"),
            ("gap", f"{proof.gap:.1e}"),
            ("ε proven", f"{proof.epsilon:.5g}" if problem.private else "none"),
            *([] if proof.belief_level is None else [("ε proven for beliefs", f"{proof.belief_level:.5g}")]),
            ("status", entry.status),
        ],
        "figures",
    )


def _of_report(report: Report, entry: Entry, name: str, drawn: bool) -> Iterator[_Section]:
    if drawn and Plane.of(report) is not None:
        yield "Map", [locations(report, name)]
    yield "What was proven", [words.certificate(report)]
    if report.comparison is not None:
        yield "Comparison", _comparison(report.comparison)
    yield "Channel", [heat_map(report, name) if drawn else element("p", _omitted(report))]
    yield "Problem", [facts(_problem(report, entry))]
    if report.evaluation:
        rows = [[Cell(key.replace("_", " ")), Cell.number(value, ".10g")] for key, value in report.evaluation.items()]
        yield "Measures", [table("Further measures", ["measure", "value"], rows)]
    if report.held_out:
        yield "On other data", [facts(lines_held_out(report.held_out))]
    if lines := lines_off_prior(report.off_prior, report.problem.space, report.mechanism.reports):
        yield "Off the prior", [facts(lines)]
    yield "How it was found", _found(report)
    if drawn and len(report.problem.space) <= MOST_ROWS:
        yield "Secrets", [_secrets(report)]


def _omitted(report: Report) -> str:
    secrets = len(report.mechanism.space)
    reports = len(report.mechanism.reports)
    return f"The channel of {secrets:,} secrets and {reports:,} reports is too large to be part of this page."


def _problem(report: Report, entry: Entry) -> list[tuple[str, str]]:
    problem = report.problem
    reports = "the secrets" if problem.reports.secrets else f"{len(problem.reports):,} others"
    wanted = f"the {'least' if problem.objective.sign > 0 else 'largest'} {problem.objective.title}"
    if problem.priors is not None:
        wanted += f" over all priors of the set: {problem.priors.name}"
    if math.isfinite(problem.objective.max_loss):
        wanted += f" with an expected loss of at most {problem.objective.max_loss:.10g}"
    asked = f"ε = {problem.epsilon:.10g} per unit of distance" if problem.private else "none"
    if problem.delta:
        asked += f", δ = {problem.delta:.10g} for {problem.pairs} pairs"
    if problem.beliefs is not None:
        beliefs = f"ε = {problem.beliefs.level:.10g} for {len(problem.beliefs):,} ordered pairs of beliefs"
        asked = f"{asked}; {beliefs}" if problem.private else beliefs
    return [
        ("secrets", f"{len(problem.space):,}"),
        ("reports", reports),
        ("distances", f"{entry.metric}; structure: {problem.space.structure.kind}"),
        ("privacy asked for", asked),
        ("prior", problem.prior.name),
        ("loss", problem.loss.name),
        ("wanted", wanted),
        *lines_of_priors(problem, report.mechanism)[1:],
    ]


def _found(report: Report) -> Iterator[Markup]:
    promise = "finds the optimum" if report.claim == "exact" else "finds a private mechanism with a bound"
    yield facts(
        [
            ("route", f"{report.route}; it {promise}"),
            ("mechanism", report.mechanism.name),
            ("time", f"{report.seconds:.2f} s"),
        ]
    )
    if report.refused:
        rows = [[Cell(name), Cell(why)] for name, why in report.refused.items()]
        yield table("Routes that were not taken", ["route", "why not"], rows)
    if report.reductions:
        rows = [
            [
                Cell(f"{found.name}{f' ({found.of})' if found.of else ''}"),
                Cell(f"{found.before:,}", found.before),
                Cell(f"{found.after:,}", found.after),
                Cell("yes" if found.exact else "no"),
                Cell(found.note),
            ]
            for found in report.reductions
        ]
        yield table("Reductions", ["what", "before", "after", "exact", "note"], rows)


def _comparison(found: Comparison) -> Iterator[Markup]:
    rows = [row for row in found.rows if row.value is not None]
    header = ["mechanism", found.objective, "excess", "remapped", "excess remapped", "gap to bound", "leakage (bits)"]
    yield from compared(found)
    yield table("Mechanisms side by side", [*header, "privacy"], [_compared(row) for row in rows])
    if found.bound is not None:
        yield element("p", f"No mechanism of that privacy is better than {found.bound:.10g}.")
    if found.verdict is not None:
        yield element("p", f"The prior is {found.verdict}.")
    priors = list(rows[0].under) if rows else []
    if priors:
        under = [_under(row, priors) for row in rows]
        bounds = [found.bound, *(found.bounds.get(prior) for prior in priors)]
        under.append([Cell("bound"), *(Cell.number(bound, ".7f") for bound in bounds)])
        heads = ["mechanism", "as asked", *(f"under {prior}" for prior in priors)]
        yield table(f"{found.objective} under other priors".capitalize(), heads, under)
    order = [element("li", line) for line in lines_of(found.refinements)]
    if order:
        yield element("p", "One mechanism refines another if it is no worse for any prior and loss:")
        yield element("ul", *order)
    notes = [element("li", f"{row.name}: {row.note}") for row in found.rows if row.note]
    if notes:
        yield folded("Notes", element("ul", *notes))


def _compared(row: Compared) -> list[Cell]:
    return [
        Cell(row.name),
        Cell.number(row.value, ".7f"),
        _share(row.excess),
        Cell.number(row.remapped, ".7f"),
        _share(row.remapped_excess),
        Cell.number(row.gap, ".1e"),
        Cell.number(row.leakage, ".4f"),
        Cell(privacy(row)),
    ]


def _share(excess: float | None) -> Cell:
    return Cell("") if excess is None else Cell(f"{round(excess, 4) + 0.0:+.2%}", excess)


def _under(row: Compared, priors: list[str]) -> list[Cell]:
    values = [row.value, *(row.under.get(prior) for prior in priors)]
    return [Cell(row.name), *(Cell.number(value, ".7f") for value in values)]


def _secrets(report: Report) -> Markup:
    problem = report.problem
    columns: list[Any] = [
        problem.space.labels,
        problem.prior.probabilities.tolist(),
        report.mechanism.losses(report.problem.loss).tolist(),
    ]
    header = ["secret", "prior", "expected loss"]
    if report.mechanism.reports.secrets:
        columns.append(channels.reported(report))
        header.append("probability that it is reported")
    rows = [
        [Cell(label), *(Cell.number(number, ".7g") for number in numbers)]
        for label, *numbers in zip(*columns, strict=True)
    ]
    return folded(f"All {len(rows)} secrets", table("Secrets", header, rows))


def _level(found: Any) -> str:
    asked = f"a loss of at most {found['max_loss']:.10g}"
    if found["epsilon"] is None:
        return f"No level was found with {asked}; it is above {found['below']:.10g} ({found['status']})."
    below = f"at ε = {found['below']:.10g} it is not" if found["below"] > 0 else "no lower level is excluded"
    return f"At ε = {found['epsilon']:.10g} {asked} is possible, {below}: both proven ({found['status']})."


def _frontier(entry: Entry) -> _Section:
    found = entry.frontier
    by_level = "epsilons" in found
    levels = found["epsilons" if by_level else "budgets"]
    values = found["values"]
    bounds = found["bounds"]
    across = "ε per unit of distance" if by_level else "loss budget"
    title = OBJECTIVES[found["objective"]].title
    possible = Curve("possible", levels, values)
    bound = Curve("bound: proven", levels, bounds, True, 1)
    resolution = "" if found["resolution"] is None else f", resolution {found['resolution']:.2g}"
    band = None
    if by_level and None not in (*values, *bounds):
        upper, lower = (stairs(levels, side, ahead=ahead) for side, ahead in ((values, False), (bounds, True)))
        band = (Curve("possible", *upper), Curve("bound", *lower))
        resolution += "; at every level the best value lies within the shaded band: proven"
    drawn = chart(
        [possible, bound], title=f"{entry.name}: {found['status']}{resolution}", across=across, up=title, band=band
    )
    rows = [[Cell.number(number, ".8g") for number in row] for row in zip(levels, values, bounds, strict=True)]
    listed = table("What is possible and what is proven", [across, "possible", "bound"], rows)
    return f"{title} against {across}".capitalize(), [drawn, folded("The numbers", listed)]
