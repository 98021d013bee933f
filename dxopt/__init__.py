"""dxopt: optimal mechanisms for metric differential privacy, proven private, with a bound on each value."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dxopt import characterise, classic, evaluate, regularity, sanitisation
    from dxopt.budgets import BudgetFrontier, budget_frontier
    from dxopt.comparing import compare
    from dxopt.errors import (
        CertificateError,
        DxoptError,
        NoTightMechanism,
        SolveError,
        SpecError,
        UnsupportedError,
    )
    from dxopt.frontiers import Frontier, frontier
    from dxopt.levels import Level, smallest_epsilon
    from dxopt.lifting import lift, lift_loss
    from dxopt.loss import Loss, Reports
    from dxopt.mechanism import Mechanism, Privacy
    from dxopt.objective import AdversaryError
    from dxopt.prior import Prior
    from dxopt.problem import Problem
    from dxopt.report.comparison import Comparison
    from dxopt.report.folder import load
    from dxopt.report.result import Report
    from dxopt.solving import solve
    from dxopt.spaces import queries
    from dxopt.spaces.lattices import grid, line, torus
    from dxopt.spaces.neighbours import neighbours
    from dxopt.spaces.products import product
    from dxopt.spaces.space import MetricSpace
    from dxopt.spaces.universes import Universe
    from dxopt.tight import tight_constraints

__version__ = "0.1.0"

_HOMES = {
    "dxopt.budgets": ("BudgetFrontier", "budget_frontier"),
    "dxopt.comparing": ("compare",),
    "dxopt.errors": (
        "CertificateError",
        "DxoptError",
        "NoTightMechanism",
        "SolveError",
        "SpecError",
        "UnsupportedError",
    ),
    "dxopt.frontiers": ("Frontier", "frontier"),
    "dxopt.levels": ("Level", "smallest_epsilon"),
    "dxopt.lifting": ("lift", "lift_loss"),
    "dxopt.loss": ("Loss", "Reports"),
    "dxopt.mechanism": ("Mechanism", "Privacy"),
    "dxopt.prior": ("Prior",),
    "dxopt.objective": ("AdversaryError",),
    "dxopt.problem": ("Problem",),
    "dxopt.report.comparison": ("Comparison",),
    "dxopt.report.folder": ("load",),
    "dxopt.report.result": ("Report",),
    "dxopt.solving": ("solve",),
    "dxopt.spaces.lattices": ("grid", "line", "torus"),
    "dxopt.spaces.neighbours": ("neighbours",),
    "dxopt.spaces.products": ("product",),
    "dxopt.spaces.space": ("MetricSpace",),
    "dxopt.spaces.universes": ("Universe",),
    "dxopt.tight": ("tight_constraints",),
}
_ROOMS = {
    "characterise": "dxopt.characterise",
    "classic": "dxopt.classic",
    "evaluate": "dxopt.evaluate",
    "queries": "dxopt.spaces.queries",
    "regularity": "dxopt.regularity",
    "sanitisation": "dxopt.sanitisation",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AdversaryError",
    "BudgetFrontier",
    "CertificateError",
    "Comparison",
    "DxoptError",
    "Frontier",
    "Level",
    "Loss",
    "Mechanism",
    "MetricSpace",
    "NoTightMechanism",
    "Prior",
    "Privacy",
    "Problem",
    "Report",
    "Reports",
    "SolveError",
    "SpecError",
    "Universe",
    "UnsupportedError",
    "budget_frontier",
    "characterise",
    "classic",
    "compare",
    "evaluate",
    "frontier",
    "grid",
    "lift",
    "lift_loss",
    "line",
    "load",
    "neighbours",
    "product",
    "queries",
    "regularity",
    "sanitisation",
    "smallest_epsilon",
    "solve",
    "tight_constraints",
    "torus",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(_ROOMS[name])
    if name not in _HOME:
        raise AttributeError(f"module 'dxopt' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
