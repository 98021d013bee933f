"""The public names of `dx`: type checkers read them here, and `dxopt` where each is at home."""

from dxopt.analysis import characterise, evaluate, flow, inference, regularity, sanitisation
from dxopt.analysis.composition.composing import Composed, Composition, compose
from dxopt.analysis.composition.odometer import Odometer
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
from dxopt.model.private_counts import PrivateCounts
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
from dxopt.results.figures.regions import draw_region
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
from dxopt.spaces.elastic import density_levels, elastic
from dxopt.spaces.embeddings import embedding
from dxopt.spaces.lattices import grid, line, torus
from dxopt.spaces.neighbours import neighbours, notions
from dxopt.spaces.products import product
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.universes import Universe
from dxopt.spec.problems import read
from dxopt.studies.comparisons import compare
from dxopt.studies.explaining import explain
from dxopt.studies.frontiers import budget_frontier, frontier
from dxopt.studies.levels import smallest_epsilon
from dxopt.studies.sweeps import sweep
from dxopt.studies.ties import Tie, tie
from dxopt.words.result import Explanation

__version__: str
_HOME: dict[str, tuple[str, str]]

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
    "Odometer",
    "Output",
    "PlausibilityWarning",
    "Prior",
    "Privacy",
    "PrivateCounts",
    "Problem",
    "Report",
    "Reports",
    "Smoothing",
    "SolveError",
    "SpecError",
    "Tie",
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
    "density_levels",
    "draw_map",
    "draw_region",
    "elastic",
    "embedding",
    "evaluate",
    "explain",
    "export",
    "flow",
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
    "notions",
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
    "tie",
    "tight_constraints",
    "to_frame",
    "to_geodataframe",
    "to_opendp",
    "together",
    "torus",
    "traces",
    "warm_up",
]
