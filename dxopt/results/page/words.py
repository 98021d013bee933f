"""A certificate in plain words."""

from __future__ import annotations

import math

from dxopt.model.mechanism import MatrixMechanism
from dxopt.numerics.digits import factor
from dxopt.results.page.markup import Markup, element, folded, joined, number, told
from dxopt.results.report import Report
from dxopt.runtime.stopping import Status
from dxopt.spaces.units import distance_of_one, per
from dxopt.words.report import promise_of_beliefs

_EXP = "NumPy's exp and log are accurate to 4 units in the last place."
_FOURIER = "SciPy's Fourier transforms obey the textbook error bound with a constant of 10."


def headline(report: Report) -> Markup:
    """What the report comes to, in one sentence."""
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
    """What was proven, how, and what is assumed."""
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
        ("Privacy", _privacy(report)),
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


def _privacy(report: Report) -> Markup:
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
