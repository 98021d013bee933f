"""Certificates, problems and promises in the words of the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dxopt.model.mechanism import MatrixMechanism
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import factor, level_text
from dxopt.results.explanation import explain_problem
from dxopt.results.packing import named_loss
from dxopt.results.page import channels
from dxopt.results.page.channels import Plane, readable
from dxopt.results.page.markup import Cell, Markup, element, facts, filled_in, folded, joined, number, table
from dxopt.results.report import Report
from dxopt.runtime.stopping import Status
from dxopt.spaces.units import in_unit, per
from dxopt.words.phrases import exact
from dxopt.words.privacy import exponential
from dxopt.words.report import IN_LOSSES, promise_of_beliefs, proven_text, worst_prior_lines
from dxopt.words.result import table_of


def in_plain_words(report: Report, plane: Plane | None) -> tuple[Markup, Markup]:
    """Return the first sentence of the explanation as a headline, and the others topic by topic."""
    (_, first), *told = report.explanation.renamed(_readable_names(report, plane)).sentences
    if report.problem.private:
        told.append(("other levels", "dxopt explain, with --epsilon, says what other ε promise and cost."))
    return element("p", first, class_="headline"), facts(told)


def level_table(reports: Sequence[Report]) -> Markup:
    """Return a table of the promises and costs of one problem at several levels."""
    found = replace(explain_problem(reports[0].problem), choices=tuple(one.explanation for one in reports))
    rows = []
    for one in found.choices:
        exponent = (one.asked or 0.0) * found.between
        odds = Cell.number(exponential(exponent), short=factor(exponent))
        costs = (one.value, one.bound, one.worst_loss, one.radius)
        rows.append([Cell.level(one.asked), odds, *map(Cell.number, costs)])
    return table("What each ε promises and costs", table_of(found)[0], rows)


def _readable_names(report: Report, plane: Plane | None) -> Mapping[str, str]:
    """Return the shorter names of coordinates on the page, by the labels that they replace in sentences."""
    names: dict[str, str] = {}
    for one in (report.mechanism.space, report.mechanism.reports):
        names |= dict(zip(one.labels, readable(one.labels, one.points, plane), strict=True))
    return {label: f"({name})" for label, name in names.items() if label != name}


_EXP = "NumPy's exp and log are accurate to 4 units in the last place."
_FOURIER = "SciPy's Fourier transforms obey the textbook error bound with a constant of 10."


def headline(report: Report) -> Markup:
    """Return the sentence on what was proven of a report: private, optimal or how far from it, and its value."""
    problem = report.problem
    proof = report.certificate
    promised = "Proven private " if problem.private else ""
    if problem.beliefs is not None and not problem.private:
        promised = f"Proven private for {len(problem.beliefs):,} pairs of beliefs "
    unit = problem.unit
    numbers = {"value": number(proof.value, unit), "gap": number(proof.gap), "bound": number(proof.bound, unit)}
    if report.status is Status.OPTIMAL:
        verdict = f"{promised}and optimal" if promised else "Proven optimal"
        after = "{value}, within {gap} of what no mechanism can beat."
    else:
        verdict = f"{promised.rstrip()}, but not optimal" if promised else "Not proven optimal"
        verdict += f" ({report.status})"
        after = "{value}, while no mechanism can beat {bound}."
    return filled_in(f"{verdict}: {problem.objective.title} {after}", **numbers)


def certificate_section(report: Report) -> Markup:
    """Return the sections on what was proven, how, and what is assumed."""
    stated: list[tuple[str, str]] = [("Privacy", _privacy_definition(report))]
    if report.problem.beliefs is not None:
        stated.append(("Beliefs", promise_of_beliefs(report.problem, report.certificate)))
    stated += [
        ("Value", "It is recomputed from the probabilities of the channel itself."),
        ("Bound", "It holds by weak duality for whatever multipliers a solver gave, so that no solver is trusted."),
    ]
    return joined(
        [
            element("p", headline(report)),
            _named_bullets("{}. ", stated),
            element("p", "Beyond the rules of floating-point arithmetic (IEEE 754), the proof assumes:"),
            element("ul", *(element("li", text) for text in _assumptions(report))),
            folded("How it was proven", _named_bullets("{}: ", report.certificate.how.items())),
        ]
    )


def _named_bullets(template: str, pairs: Iterable[tuple[str, str]]) -> Markup:
    return element("ul", *(element("li", element("strong", template.format(name)), text) for name, text in pairs))


def _assumptions(report: Report) -> list[str]:
    """Return the assumptions of the proof about arithmetic: Fourier transforms prove lattices without a matrix."""
    space = report.mechanism.space
    every = [space, *space.structure.factors]
    lattice = any(
        one.structure.kind == "torus" or (one.structure.kind == "lattice" and len(one.structure.shape) > 1)
        for one in every
    )
    return [_EXP, _FOURIER] if lattice and not isinstance(report.mechanism, MatrixMechanism) else [_EXP]


def _privacy_definition(report: Report) -> Markup:
    """Return the definition of the privacy that was proven, with its level, or that none was asked for."""
    problem = report.problem
    if not problem.private:
        alone = "None was asked for, and none is claimed."
        return joined([alone if problem.beliefs is None else "For the pairs of beliefs below, and for nothing else."])
    return joined(
        [
            "For any two secrets x and x′ at distance d and any set of reports, the report of x falls into the set "
            "with a probability at most e",
            element("sup", "εd"),
            " times that of x′",
            ", plus δ" if problem.delta else "",
            "; for pairs with no third secret between" if problem.delta and problem.pairs != "all" else "",
            f": {proven_text(problem, report.certificate)}.",
        ]
    )


_BITS: tuple[str, ...] = ("min_entropy_leakage", "min_capacity")


def problem_section(report: Report) -> Markup:
    """Return the section on the problem that was posed, as names with texts."""
    asked = report.problem
    metric = "given distances" if asked.space.metric is None else asked.space.metric.name
    return facts(
        [
            ("secrets", f"{len(asked.space):,}"),
            ("reports", "the secrets" if asked.reports.secrets else f"{len(asked.reports):,} others"),
            ("distances", f"{metric}; structure: {asked.space.structure.kind}"),
            ("privacy asked for", _privacy_asked(asked)),
            ("prior", asked.prior.name),
            ("loss", named_loss(asked)),
            ("wanted", _wanted(asked)),
            *worst_prior_lines(asked, report.mechanism)[1:],
        ]
    )


def _wanted(asked: Problem) -> str:
    """Return the objective in words, with its set of priors and its budget."""
    text = f"the {'least' if asked.objective.sign > 0 else 'largest'} {asked.objective.title}"
    text += "" if asked.priors is None else f" over all priors of the set: {asked.priors.name}"
    if math.isfinite(asked.objective.max_loss):
        text += f" with an expected loss of at most {exact(asked.objective.max_loss, asked.loss.unit)}"
    return text


def _privacy_asked(asked: Problem) -> str:
    """Return ε and δ as they were asked for, between secrets and between beliefs."""
    parts = []
    if asked.private:
        parts.append(f"ε = {level_text(asked.epsilon, 10)} {per(asked.space.unit)}")
        parts += [f"δ = {level_text(asked.delta, 10)} for {asked.pairs} pairs"] if asked.delta else []
    if asked.beliefs is not None:
        parts.append(f"ε = {level_text(asked.beliefs.level, 10)} for {len(asked.beliefs):,} ordered pairs of beliefs")
    return "; ".join(parts) or "none"


def measures_table(report: Report) -> Markup:
    """Return a table of further measures, with their units."""
    units = dict.fromkeys(IN_LOSSES, report.problem.loss.unit) | dict.fromkeys(_BITS, "bits")
    rows = [
        [Cell(name.replace("_", " ")), Cell.number(value, units.get(name, ""))]
        for name, value in report.evaluation.items()
    ]
    return table("Further measures", ["measure", "value"], rows)


def secrets_table(report: Report) -> Markup:
    """Return a table of the secrets with their priors and expected losses, folded."""
    problem = report.problem
    columns: list[Any] = [
        problem.space.labels,
        problem.prior.probabilities.tolist(),
        report.mechanism.losses(problem.loss).tolist(),
    ]
    header = ["secret", "prior", f"expected loss{in_unit(problem.loss.unit)}"]
    if report.mechanism.reports.secrets:
        columns.append(channels.report_probabilities(report))
        header.append("probability that it is reported")
    likeliest = report.mechanism.matrix.argmax(axis=1).tolist()
    rows = [
        [Cell(label), *(Cell.number(value) for value in values), Cell(str(report.mechanism.reports.labels[best]))]
        for label, *values, best in zip(*columns, likeliest, strict=True)
    ]
    header.append("most probable report")
    return folded(f"All {len(rows)} secrets", table("Secrets", header, rows))
