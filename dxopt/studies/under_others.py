"""A problem under other priors that may be the true one: what comparisons evaluate besides."""

from __future__ import annotations

from collections.abc import Mapping

from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.fitting_sets import Fitting
from dxopt.model.objective import WorstLoss
from dxopt.model.prior import PriorLike
from dxopt.model.prior_sets import PriorSet
from dxopt.model.problem import Problem


def under_others(problem: Problem, priors: Mapping[str, PriorLike]) -> dict[str, Problem]:
    """The problem under each other prior.

    Raises
    ------
    SpecError
        If there are any for the worst loss, or one of them does not fit or is a set.
    UnsupportedError
        If the problem is about all priors that fit totals: what the worst of them costs is proven for its own
        mechanism alone.
    """
    if isinstance(problem.priors, Fitting):
        fix = "give a hull, a ball or a box, or solve without comparing"
        raise UnsupportedError("prior", "is all that fit totals, over which mechanisms are not compared", fix)
    if priors and isinstance(problem.objective, WorstLoss):
        raise SpecError("priors", "do not matter for the worst loss", "leave them out, or ask for expected_loss")
    if not isinstance(priors, Mapping):
        wrong = f"are of type {type(priors).__name__}, not named"
        raise SpecError("priors", wrong, 'give a mapping of names to priors, as {"even": "uniform"}')
    problems = {}
    for name, prior in priors.items():
        if isinstance(prior, PriorSet):
            raise SpecError("priors", f"{name}: is a set of priors", "give one prior, such as its centre")
        try:
            problems[name] = problem.but(prior=prior)
        except SpecError as error:
            raise error.at("priors", f"{name}: the {error.field} {error.wrong}") from None
    return problems
