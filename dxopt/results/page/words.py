"""Certificates, problems and promises in the words of the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dxopt.model.mechanism import MatrixMechanism
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import factor
from dxopt.results.explanation import choices_of, of_problem
from dxopt.results.packing import named_loss
from dxopt.results.page import channels
from dxopt.results.page.channels import Plane, readable
from dxopt.results.page.markup import Cell, Markup, element, facts, folded, joined, number, table, told
from dxopt.results.report import Report
from dxopt.runtime.stopping import Status
from dxopt.spaces.units import distance_of_one, in_unit, per
from dxopt.words.report import promise_of_beliefs, worst_prior
from dxopt.words.result import table_of


def plainly(report: Report, plane: Plane | None) -> tuple[Markup, Markup]:
    """Return the promise in a sentence, and more of it, topic by topic."""
    (_, first), *told = report.explanation.renamed(_names(report, plane)).sentences
    if report.problem.private:
        told.append(("other levels", "dxopt explain, with --epsilon, says what other ε promise and cost."))
    return element("p", first, class_="headline"), facts(told)


def level_table(reports: Sequence[Report]) -> Markup:
    """Return a table of the promises and costs of one problem at several levels."""
    found = replace(of_problem(reports[0].problem), choices=choices_of(one.explanation for one in reports))
    rows = []
    for one in found.choices:
        odds = Cell.number(one.factor, short=factor(one.epsilon * found.between))
        costs = (one.value, one.bound, one.worst_loss, one.radius)
        rows.append([Cell.number(one.epsilon), odds, *map(Cell.number, costs)])
    return table("What each ε promises and costs", table_of(found)[0], rows)


def _names(report: Report, plane: Plane | None) -> Mapping[str, str]:
    """Return the names of secrets and reports on the page, by their labels, where they differ."""
    names: dict[str, str] = {}
    for one in (report.mechanism.space, report.mechanism.reports):
        names |= dict(zip(one.labels, readable(one.labels, one.points, plane), strict=True))
    return {label: f"({name})" for label, name in names.items() if label != name}


_EXP = "NumPy's exp and log are accurate to 4 units in the last place."
_FOURIER = "SciPy's Fourier transforms obey the textbook error bound with a constant of 10."


def headline(report: Report) -> Markup:
    """Return the report in one sentence."""
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
    return told(f"{verdict}: {problem.objective.title} {after}", **numbers)


def certificate(report: Report) -> Markup:
    """Return the sections on what was proven, how, and what is assumed."""
    stated = ((element("strong", f"{name}. "), text) for name, text in _statements(report))
    done = ((element("strong", f"{name}: "), text) for name, text in report.certificate.how.items())
    return joined(
        [
            element("p", headline(report)),
            element("ul", *(element("li", *parts) for parts in stated)),
            element("p", "Beyond the rules of floating-point arithmetic (IEEE 754), the proof assumes:"),
            element("ul", *(element("li", text) for text in _assumed(report))),
            folded("How it was proven", element("ul", *(element("li", *parts) for parts in done))),
        ]
    )


def _assumed(report: Report) -> list[str]:
    """Fourier transforms are used for lattices and tori whose mechanism is not written down, and nowhere else."""
    space = report.mechanism.space
    every = [space, *space.structure.factors]
    lattice = any(
        one.structure.kind == "torus" or (one.structure.kind == "lattice" and len(one.structure.shape) > 1)
        for one in every
    )
    return [_EXP, _FOURIER] if lattice and not isinstance(report.mechanism, MatrixMechanism) else [_EXP]


def _statements(report: Report) -> list[tuple[str, str]]:
    problem = report.problem
    proof = report.certificate
    title = problem.objective.title
    less = problem.objective.sign > 0
    budget: str = ""
    if math.isfinite(problem.objective.max_loss):
        budget = told(
            " and an expected loss of at most {most}", most=number(problem.objective.max_loss, problem.loss.unit)
        )
    allowed = "of this privacy" if problem.private or problem.beliefs else "whatever its privacy"
    reached = "which counts as optimal" if report.status is Status.OPTIMAL else "so a better one may exist"
    bound = (
        f"No channel {allowed}{{budget}} has a {'smaller' if less else 'larger'} {title} than {{bound}}. "
        "This holds by weak duality for whatever multipliers a solver gave, so that no solver is trusted."
    )
    gap = (
        f"Value and bound differ by {{gap}}, relative to the value: {reached} "
        f"(the tolerance is {report.tolerance:.0e})."
    )
    return [
        ("Privacy", _words_privacy(report)),
        *([] if problem.beliefs is None else [("Beliefs", promise_of_beliefs(problem, proof))]),
        (
            "Value",
            told(
                f"The {title} is {{value}}, recomputed from the probabilities of the channel itself.",
                value=number(proof.value, problem.unit),
            ),
        ),
        ("Bound", told(bound, budget=budget, bound=number(proof.bound, problem.unit))),
        ("Gap", told(gap, gap=number(proof.gap))),
    ]


def _words_privacy(report: Report) -> Markup:
    problem = report.problem
    proof = report.certificate
    if not problem.private:
        if problem.beliefs is not None:
            return element("span", "For the pairs of beliefs below, and for nothing else.")
        return element("span", "None was asked for, and none is claimed.")
    promise = (
        "For any two secrets x and x′ at distance d and any set of reports, the report of x falls into the set with "
        "a probability at most e",
        element("sup", "εd"),
        " times that of x′",
    )
    numbers = {"proven": number(proof.epsilon), "asked": number(problem.epsilon), "per": per(problem.space.unit)}
    if problem.delta:
        pairs = "every pair" if problem.pairs == "all" else "every pair with no third secret between"
        proven = told(
            f", plus δ. Proven for {pairs} with ε = {{proven}} {{per}} and "
            "δ = {delta}; a δ of {allowed} was allowed.",
            delta=number(proof.delta),
            allowed=number(problem.delta),
            **numbers,
        )
    else:
        proven = told(
            ". Proven for every pair with ε = {proven} {per}, of {asked} allowed (δ = 0). "
            "At {one} that is a factor of {factor}.",
            one=distance_of_one(problem.space.unit),
            factor=number(math.exp(min(proof.epsilon, 700.0)), short=factor(proof.epsilon)),
            **numbers,
        )
    return element("span", *promise, proven)


_LOSSES: tuple[str, ...] = ("expected_loss", "worst_loss")
_BITS: tuple[str, ...] = ("min_entropy_leakage", "min_capacity")


def problem(report: Report, metric: str) -> Markup:
    """Return the section on the question; `metric` describes the distances."""
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
