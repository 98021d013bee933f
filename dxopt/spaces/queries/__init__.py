"""Queries on a universe of secrets, their sensitivity, and who answers them best (CABP13 §4, §5)."""

from dxopt.spaces.queries.claims import QUERIES, Claim, Claims, claims
from dxopt.spaces.queries.optimality import FamilyC, Optimality, family_c, optimality
from dxopt.spaces.queries.query import Query, average, count, counts, identity, percentile, total
from dxopt.spaces.queries.sensitivity import Sensitivity, induced_graph, sensitivity
from dxopt.spaces.queries.sums import induced_sums

__all__ = [
    "QUERIES",
    "Claim",
    "Claims",
    "FamilyC",
    "Optimality",
    "Query",
    "Sensitivity",
    "average",
    "claims",
    "count",
    "counts",
    "family_c",
    "identity",
    "induced_graph",
    "induced_sums",
    "optimality",
    "percentile",
    "sensitivity",
    "total",
]
