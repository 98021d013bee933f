"""Queries whose sensitivity is that of one record, and queries that one mechanism answers best (CABP13 §4.2, §5)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.spaces.chains import EQUAL
from dxopt.spaces.queries.query import Query, required_query
from dxopt.spaces.queries.sensitivity import Sensitivity, induced_graph, sensitivity
from dxopt.spaces.space import MetricSpace


@dataclass(frozen=True)
class FamilyC:
    """Membership in the family C: one record moves the answer by no more than itself, and once by all it can.

    CABP13 Def 8, with witnesses.

    Attributes
    ----------
    broken : tuple or None
        Two databases that differ in one record, by less than their answers do; None where there are none.
    attained : tuple or None
        Two that differ in one record, with answers d_V(V) apart; None where there are none.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases([0, 1, 2], 2)
    >>> family = dx.queries.family_c(dx.queries.total(people))
    >>> print(family.broken, family.attained)
    None ((0, 0), (0, 2))
    """

    broken: tuple[Hashable, Hashable] | None
    attained: tuple[Hashable, Hashable] | None

    @property
    def member(self) -> bool:
        """True if the query is in C: the sensitivity for d_h and for d_1 / d_V(V) is d_V(V) (Prop 4)."""
        return self.broken is None and self.attained is not None


def family_c(query: Query) -> FamilyC:
    """Decide if a query with numbers for answers is in the family C (CABP13 Def 8), with d_V(v, w) = |v - w|.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases([0, 1, 2], 2)
    >>> print(dx.queries.family_c(dx.queries.average(people)).attained)
    None
    """
    required_query(query)
    universe = query.universe
    pairs = np.nonzero(universe.space("hamming").distances == 1)
    changes = universe.space("manhattan").distances[pairs]
    moved = query.space().distances[query.index[pairs[0]], query.index[pairs[1]]]

    def first_pair(found: NDArray[np.bool_]) -> tuple[Hashable, Hashable] | None:
        if not found.any():
            return None
        x, other = (universe.secrets[ends[found.argmax()]] for ends in pairs)
        return x, other

    widest = changes.max(initial=0.0)
    return FamilyC(first_pair(moved > changes * (1 + EQUAL)), first_pair(moved >= widest * (1 - EQUAL)))


@dataclass(frozen=True)
class Optimality:
    """Verdict on one mechanism being best for a query under every prior and monotone loss (CABP13 §4.2).

    Attributes
    ----------
    status : {"optimal", "none", "unknown"}
        Of the truncated geometric mechanism; "none": no mechanism is.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases([0, 1], 2)
    >>> found = dx.queries.optimality(dx.queries.total(people), people.space())
    >>> print(found.status)
    optimal
    """

    status: str
    reason: str


def optimality(query: Query, secrets: MetricSpace) -> Optimality:
    """Find what CABP13 Thms 8 to 10 prove of the truncated geometric mechanism for a query with numbers for answers.

    The mechanism is TG_ε on the answers, and what it is optimal for is Δε·d_X, with Δ the sensitivity.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases(["ill", "well"], 3)
    >>> query = dx.queries.count(people, lambda person: person == "ill")
    >>> print(dx.queries.optimality(query, people.space()).status)
    optimal
    """
    required_query(query)
    return optimality_given(query, secrets, sensitivity(query, secrets, query.space()))


def optimality_given(query: Query, secrets: MetricSpace, found: Sensitivity) -> Optimality:
    """Return the same as `optimality`, given the sensitivity with respect to d_R that was found."""
    import networkx as nx

    # Theorem 10: uniformly sensitive, onto evenly spaced answers
    steps = np.diff(np.array(query.answers, dtype=float))
    if found.uniform and len(steps) and np.allclose(steps, steps[0], rtol=EQUAL, atol=0):
        return Optimality("optimal", f"uniformly {found.delta:.6g}-sensitive onto evenly spaced answers (Thm 10)")
    # Theorem 9: for databases under Hamming distance, answers that are joined otherwise than to a path
    hamming = query.universe.kind == "databases" and np.array_equal(
        secrets.distances, query.universe.space("hamming").distances
    )
    if hamming:
        joined = induced_graph(query, secrets)
        if not nx.is_tree(joined) or max(degree for _, degree in joined.degree) > 2:
            return Optimality("none", "the induced graph is no path, so none is optimal below epsilon = ln 2 (Thm 9)")
    if found.apart is not None:
        return Optimality("unknown", "no tight chain of expansive steps joins {} and {}".format(*found.apart))
    return Optimality("unknown", "the answers are not evenly spaced")
