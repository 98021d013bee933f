"""dxopt: optimal mechanisms for metric differential privacy, proven private, with a bound on each value."""

from __future__ import annotations

import logging
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dxopt.analysis import characterise, evaluate, inference, regularity, sanitisation
    from dxopt.analysis.composition import Composed, Composition, compose
    from dxopt.errors import (
        BudgetExceeded,
        CertificateError,
        DxoptError,
        Interrupted,
        NoTightMechanism,
        PlausibilityWarning,
        SolveError,
        SpecError,
        UnsupportedError,
    )
    from dxopt.mechanisms import noise, traces
    from dxopt.mechanisms.classic import catalogue as classic
    from dxopt.mechanisms.combinations import choice, together
    from dxopt.mechanisms.lifted import lift, lift_loss
    from dxopt.mechanisms.tight import tight_constraints
    from dxopt.model.beliefs.pairs import BeliefPairs
    from dxopt.model.loss import Loss
    from dxopt.model.mechanism import Mechanism, Privacy
    from dxopt.model.objective import AdversaryError
    from dxopt.model.prior import Prior
    from dxopt.model.problem import Problem
    from dxopt.model.reports import Reports
    from dxopt.model.smoothing import Smoothing
    from dxopt.proofs.user_channel import certify
    from dxopt.release import mechanism_from_frame, prior_from_frame, to_frame, to_opendp
    from dxopt.release.applying import Applied, Columns, Output, apply
    from dxopt.release.budgets import Budgets
    from dxopt.release.exports import export
    from dxopt.release.keys import Key
    from dxopt.release.tables import IntegerTable, integer_table
    from dxopt.results.comparison import Comparison
    from dxopt.results.explanation import Explanation
    from dxopt.results.frontier import BudgetFrontier, Frontier
    from dxopt.results.level import Level
    from dxopt.results.maps.geojson import geojson, to_geodataframe
    from dxopt.results.maps.map import draw_map
    from dxopt.results.reading import load
    from dxopt.results.report import Report
    from dxopt.results.sweep import EpsilonSweep
    from dxopt.solving.plugins import plugins
    from dxopt.solving.solve import solve
    from dxopt.solving.warm_up import warm_up
    from dxopt.spaces import geo, queries
    from dxopt.spaces.embeddings import embedding
    from dxopt.spaces.lattices import grid, line, torus
    from dxopt.spaces.neighbours import neighbours
    from dxopt.spaces.products import product
    from dxopt.spaces.space import MetricSpace
    from dxopt.spaces.universes import Universe
    from dxopt.spec.problems import read
    from dxopt.studies.comparisons import compare
    from dxopt.studies.explaining import explain
    from dxopt.studies.frontiers import budget_frontier, frontier
    from dxopt.studies.levels import smallest_epsilon
    from dxopt.studies.sweeps import sweep

__version__ = "0.1.0"

logging.getLogger("dxopt").addHandler(logging.NullHandler())

_HOMES = {
    "dxopt.analysis.composition": (
        "Composed",
        "Composition",
        "compose",
    ),
    "dxopt.errors": (
        "BudgetExceeded",
        "CertificateError",
        "DxoptError",
        "Interrupted",
        "NoTightMechanism",
        "PlausibilityWarning",
        "SolveError",
        "SpecError",
        "UnsupportedError",
    ),
    "dxopt.mechanisms.combinations": (
        "choice",
        "together",
    ),
    "dxopt.mechanisms.lifted": (
        "lift",
        "lift_loss",
    ),
    "dxopt.mechanisms.tight": ("tight_constraints",),
    "dxopt.model.beliefs.pairs": ("BeliefPairs",),
    "dxopt.model.loss": ("Loss",),
    "dxopt.model.mechanism": (
        "Mechanism",
        "Privacy",
    ),
    "dxopt.model.objective": ("AdversaryError",),
    "dxopt.model.prior": ("Prior",),
    "dxopt.model.problem": ("Problem",),
    "dxopt.model.reports": ("Reports",),
    "dxopt.model.smoothing": ("Smoothing",),
    "dxopt.proofs.user_channel": ("certify",),
    "dxopt.release": (
        "mechanism_from_frame",
        "prior_from_frame",
        "to_frame",
        "to_opendp",
    ),
    "dxopt.release.applying": (
        "Applied",
        "Columns",
        "Output",
        "apply",
    ),
    "dxopt.release.budgets": ("Budgets",),
    "dxopt.release.exports": ("export",),
    "dxopt.release.keys": ("Key",),
    "dxopt.release.tables": (
        "IntegerTable",
        "integer_table",
    ),
    "dxopt.results.comparison": ("Comparison",),
    "dxopt.results.explanation": ("Explanation",),
    "dxopt.results.frontier": (
        "BudgetFrontier",
        "Frontier",
    ),
    "dxopt.results.level": ("Level",),
    "dxopt.results.maps.geojson": (
        "geojson",
        "to_geodataframe",
    ),
    "dxopt.results.maps.map": ("draw_map",),
    "dxopt.results.reading": ("load",),
    "dxopt.results.report": ("Report",),
    "dxopt.results.sweep": ("EpsilonSweep",),
    "dxopt.solving.plugins": ("plugins",),
    "dxopt.solving.solve": ("solve",),
    "dxopt.solving.warm_up": ("warm_up",),
    "dxopt.spaces.embeddings": ("embedding",),
    "dxopt.spaces.lattices": (
        "grid",
        "line",
        "torus",
    ),
    "dxopt.spaces.neighbours": ("neighbours",),
    "dxopt.spaces.products": ("product",),
    "dxopt.spaces.space": ("MetricSpace",),
    "dxopt.spaces.universes": ("Universe",),
    "dxopt.spec.problems": ("read",),
    "dxopt.studies.comparisons": ("compare",),
    "dxopt.studies.explaining": ("explain",),
    "dxopt.studies.frontiers": (
        "budget_frontier",
        "frontier",
    ),
    "dxopt.studies.levels": ("smallest_epsilon",),
    "dxopt.studies.sweeps": ("sweep",),
}
_ROOMS = {
    "characterise": "dxopt.analysis.characterise",
    "classic": "dxopt.mechanisms.classic.catalogue",
    "evaluate": "dxopt.analysis.evaluate",
    "geo": "dxopt.spaces.geo",
    "inference": "dxopt.analysis.inference",
    "noise": "dxopt.mechanisms.noise",
    "queries": "dxopt.spaces.queries",
    "regularity": "dxopt.analysis.regularity",
    "sanitisation": "dxopt.analysis.sanitisation",
    "traces": "dxopt.mechanisms.traces",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AdversaryError",
    "Applied",
    "BeliefPairs",
    "BudgetExceeded",
    "BudgetFrontier",
    "Budgets",
    "CertificateError",
    "Columns",
    "Comparison",
    "Composed",
    "Composition",
    "DxoptError",
    "EpsilonSweep",
    "Explanation",
    "Frontier",
    "IntegerTable",
    "Interrupted",
    "Key",
    "Level",
    "Loss",
    "Mechanism",
    "MetricSpace",
    "NoTightMechanism",
    "Output",
    "PlausibilityWarning",
    "Prior",
    "Privacy",
    "Problem",
    "Report",
    "Reports",
    "Smoothing",
    "SolveError",
    "SpecError",
    "Universe",
    "UnsupportedError",
    "apply",
    "budget_frontier",
    "certify",
    "characterise",
    "choice",
    "classic",
    "compare",
    "compose",
    "draw_map",
    "embedding",
    "evaluate",
    "explain",
    "export",
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
    "plugins",
    "prior_from_frame",
    "product",
    "queries",
    "read",
    "regularity",
    "sanitisation",
    "smallest_epsilon",
    "solve",
    "sweep",
    "tight_constraints",
    "to_frame",
    "to_geodataframe",
    "to_opendp",
    "together",
    "torus",
    "traces",
    "warm_up",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return _found(_ROOMS[name])
    if name not in _HOME:
        raise AttributeError(f"module 'dxopt' has no attribute {name!r}")
    value = getattr(_found(_HOME[name]), name)
    globals()[name] = value
    return value


def _found(module: str) -> ModuleType:
    """A module; UnsupportedError where it needs a package that a light installation has not."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        from dxopt.errors import not_installed

        raise not_installed(error) from None


def __dir__() -> list[str]:
    return sorted(__all__)
