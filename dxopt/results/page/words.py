"""A certificate in plain words."""

from __future__ import annotations

import math

from dxopt.results.beliefs import promise
from dxopt.results.off_prior import between_cells
from dxopt.results.page.markup import Markup, element, folded, joined
from dxopt.results.report import Report
from dxopt.runtime.stopping import Status

ASSUMPTIONS = (
    "NumPy's exp and log are accurate to 4 units in the last place.",
    "SciPy's Fourier transforms (only for lattices and tori) obey the textbook error bound with a constant of 10.",
)


def headline(report: Report) -> str:
    """What the report comes to, in one sentence."""
    problem = report.problem
    proof = report.certificate
    what = f"{problem.objective.title} {proof.value:.7g}"
    promised = "Proven private " if problem.private else ""
    if problem.beliefs is not None and not problem.private:
        promised = f"Proven private for {len(problem.beliefs):,} pairs of beliefs "
    if report.status is Status.OPTIMAL:
        verdict = f"{promised}and optimal" if promised else "Proven optimal"
        return f"{verdict}: {what}, within {proof.gap:.1e} of what no mechanism can beat."
    verdict = f"{promised.rstrip()}, but not optimal" if promised else "Not proven optimal"
    return f"{verdict} ({report.status}): {what}, while no mechanism can beat {proof.bound:.7g}."


def certificate(report: Report) -> Markup:
    """What was proven, how, and what is assumed."""
    stated = ((element("strong", f"{name}. "), text) for name, text in _statements(report))
    done = ((element("strong", f"{name}: "), text) for name, text in report.certificate.how.items())
    return joined(
        [
            element("ul", *(element("li", *parts) for parts in stated)),
            element(
                "p", "The proof rests on two assumptions beyond the rules of floating-point arithmetic (IEEE 754):"
            ),
            element("ol", *(element("li", text) for text in ASSUMPTIONS)),
            folded("How it was proven", element("ul", *(element("li", *parts) for parts in done))),
        ]
    )


def _statements(report: Report) -> list[tuple[str, Markup | str]]:
    problem = report.problem
    proof = report.certificate
    title = problem.objective.title
    less = problem.objective.sign > 0
    budget = ""
    if math.isfinite(problem.objective.max_loss):
        budget = f" and an expected loss of at most {problem.objective.max_loss:.10g}"
    allowed = ("of this privacy" if problem.private or problem.beliefs else "whatever its privacy") + budget
    reached = "which counts as optimal" if report.status is Status.OPTIMAL else "so a better one may exist"
    between = between_cells(problem.space) if problem.private else []
    return [
        ("Privacy", _privacy(report)),
        *([] if problem.beliefs is None else [("Beliefs", promise(problem, proof))]),
        *((name.capitalize(), f"{text[:1].upper()}{text[1:]}.") for name, text in between),
        ("Value", f"The {title} is {proof.value:.10g}, recomputed from the probabilities of the channel itself."),
        (
            "Bound",
            f"No channel {allowed} has a {'smaller' if less else 'larger'} {title} than {proof.bound:.10g}. "
            "This holds by weak duality for whatever multipliers a solver gave, so that no solver is trusted.",
        ),
        (
            "Gap",
            f"Value and bound differ by {proof.gap:.2e}, relative to the value: {reached} "
            f"(the tolerance is {report.tolerance:.0e}).",
        ),
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
    if problem.delta:
        pairs = "every pair" if problem.pairs == "all" else "every pair with no third secret between"
        proven = (
            f", plus δ. Proven for {pairs} with ε = {proof.epsilon:.10g} per unit of distance and "
            f"δ = {proof.delta:.6g}; a δ of {problem.delta:.6g} was allowed."
        )
    else:
        factor = math.exp(min(proof.epsilon, 700.0))
        proven = (
            f". Proven for every pair with ε = {proof.epsilon:.10g} per unit of distance, of {problem.epsilon:.10g} "
            f"allowed (δ = 0). At distance 1 that is a factor of {factor:.5g}."
        )
    return element("span", *promise, proven)
