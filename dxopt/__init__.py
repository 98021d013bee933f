"""dxopt: optimal mechanisms for metric differential privacy, proven private, with a bound on each value."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dxopt import characterise, classic, evaluate, inference, noise, regularity, sanitisation, traces
    from dxopt.budgets import BudgetFrontier, budget_frontier
    from dxopt.comparing import compare
    from dxopt.epsilon_sweep import sweep
    from dxopt.errors import (
        CertificateError,
        DxoptError,
        NoTightMechanism,
        SolveError,
        SpecError,
        UnsupportedError,
    )
    from dxopt.frontiers import Frontier, frontier
    from dxopt.integer_tables import IntegerTable, integer_table
    from dxopt.interop import mechanism_from_frame, prior_from_frame, to_frame, to_opendp
    from dxopt.levels import smallest_epsilon
    from dxopt.lifting import lift, lift_loss
    from dxopt.loss import Loss, Reports
    from dxopt.mechanism import Mechanism, Privacy
    from dxopt.objective import AdversaryError
    from dxopt.prior import Prior
    from dxopt.problem import Problem
    from dxopt.report.comparison import Comparison
    from dxopt.report.folder import load
    from dxopt.report.geojson import geojson
    from dxopt.report.level import Level
    from dxopt.report.maps import draw_map
    from dxopt.report.result import Report
    from dxopt.report.sweep import EpsilonSweep
    from dxopt.solving import solve
    from dxopt.spaces import geo, queries
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
    "dxopt.epsilon_sweep": ("sweep",),
    "dxopt.errors": (
        "CertificateError",
        "DxoptError",
        "NoTightMechanism",
        "SolveError",
        "SpecError",
        "UnsupportedError",
    ),
    "dxopt.frontiers": ("Frontier", "frontier"),
    "dxopt.integer_tables": ("IntegerTable", "integer_table"),
    "dxopt.interop": ("mechanism_from_frame", "prior_from_frame", "to_frame", "to_opendp"),
    "dxopt.levels": ("smallest_epsilon",),
    "dxopt.lifting": ("lift", "lift_loss"),
    "dxopt.loss": ("Loss", "Reports"),
    "dxopt.mechanism": ("Mechanism", "Privacy"),
    "dxopt.prior": ("Prior",),
    "dxopt.objective": ("AdversaryError",),
    "dxopt.problem": ("Problem",),
    "dxopt.report.comparison": ("Comparison",),
    "dxopt.report.folder": ("load",),
    "dxopt.report.geojson": ("geojson",),
    "dxopt.report.level": ("Level",),
    "dxopt.report.maps": ("draw_map",),
    "dxopt.report.result": ("Report",),
    "dxopt.report.sweep": ("EpsilonSweep",),
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
    "geo": "dxopt.spaces.geo",
    "inference": "dxopt.inference",
    "noise": "dxopt.noise",
    "queries": "dxopt.spaces.queries",
    "regularity": "dxopt.regularity",
    "sanitisation": "dxopt.sanitisation",
    "traces": "dxopt.traces",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AdversaryError",
    "BudgetFrontier",
    "CertificateError",
    "Comparison",
    "DxoptError",
    "EpsilonSweep",
    "Frontier",
    "IntegerTable",
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
    "draw_map",
    "evaluate",
    "frontier",
    "geo",
    "geojson",
    "grid",
    "inference",
    "integer_table",
    "lift",
    "lift_loss",
    "line",
    "load",
    "mechanism_from_frame",
    "neighbours",
    "noise",
    "prior_from_frame",
    "product",
    "queries",
    "regularity",
    "sanitisation",
    "smallest_epsilon",
    "solve",
    "sweep",
    "tight_constraints",
    "to_frame",
    "to_opendp",
    "torus",
    "traces",
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
