"""Products: one problem for each coordinate. Exact: the optima of the factors add up (`model.factors`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from dxopt.mechanisms.product import epsilon_of_factors, product_mechanism
from dxopt.model.factors import split
from dxopt.model.problem import Problem
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.duals import ProductDual
from dxopt.results.report import Report
from dxopt.solving.reductions.chain import Reduced

NOTE = "independent coordinates, a loss that is a sum over them: the optima of the factors add up"


def by_factors(whole: Problem, *, written: bool) -> Reduced[tuple[Problem, ...]] | str:
    """Return the problems of the factors of a product, one for each coordinate, or why it has none.

    Factors that are alike are one object, which is solved once.
    The channel of the whole is made as a matrix where it is to be `written`; otherwise it is implicit, and the
    factors are asked for at a level lowered by a hair, which leaves room for the rounding of products.
    """
    parts = split(whole)
    if isinstance(parts, str):
        return parts
    level = whole.epsilon
    if not written:
        level = epsilon_of_factors(whole.space, level, len(parts.factors))
    lowered = {id(factor): factor.at(level) for factor in parts.factors}
    smaller = tuple(lowered[id(factor)] for factor in parts.factors)
    variables = sum(factor.variables for factor in lowered.values())
    size = math.prod(len(factor.space) for factor in smaller)
    record = AppliedReduction("product", True, size**2, variables, NOTE, "variables")

    def joined(found: Sequence[Report]) -> Candidate:
        """Return the Kronecker product of the factors' channels, with the duals of the factors."""
        mechanisms = [answer.mechanism for answer in found]
        dual = ProductDual(tuple(answer.dual for answer in found))  # pyright: ignore[reportArgumentType]
        if not written:
            implicit = product_mechanism(whole.space, mechanisms, whole.epsilon)
            return Candidate(implicit, dual, "exact")
        channel = np.asarray(reduce(np.kron, (mechanism.matrix for mechanism in mechanisms)), dtype=np.float64)
        return Candidate(channel, dual, "exact", name=f"product of {len(mechanisms)} factors")

    return Reduced(smaller, joined, (record,))
