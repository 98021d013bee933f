"""Notions of neighbours by name: those that Des20 §2.2.3 collects.

Each relation defines what one step is; distances count steps, so that ε is what one step may give away. One-sided
relations make distances that are not symmetric: d(x, x') = 1 is K[x, z] ≤ e^ε K[x', z], and not the converse.
"""

from dxopt.spaces.neighbours import relations  # noqa: F401 - registers the relations
from dxopt.spaces.neighbours.base import RELATIONS, Relation, neighbours

__all__ = ["RELATIONS", "Relation", "neighbours"]
