"""Traces of points reported one by one under d_∞ (Cha13): predictions, budgets, runs, and what they are worth."""

from dxopt.traces.accounting import Ledger
from dxopt.traces.closeness import ClosenessTest, GeometricTest, LaplaceTest
from dxopt.traces.evaluation import TraceEvaluation, evaluate
from dxopt.traces.finite import Finite, RationalGeometric
from dxopt.traces.managers import Balance, FixedLevels, FixedRate, FixedUtility, Manager, Plan
from dxopt.traces.predictions import Prediction, extrapolate, repeat
from dxopt.traces.predictive import IndependentNoise, PredictiveMechanism, TraceMechanism
from dxopt.traces.runs import Kind, Run, Step
from dxopt.traces.sources import Continuous, StepNoise, on_line, on_plane

__all__ = [
    "Balance",
    "ClosenessTest",
    "Continuous",
    "Finite",
    "FixedLevels",
    "FixedRate",
    "FixedUtility",
    "GeometricTest",
    "IndependentNoise",
    "Kind",
    "LaplaceTest",
    "Ledger",
    "Manager",
    "Plan",
    "Prediction",
    "PredictiveMechanism",
    "RationalGeometric",
    "Run",
    "Step",
    "StepNoise",
    "TraceEvaluation",
    "TraceMechanism",
    "evaluate",
    "extrapolate",
    "on_line",
    "on_plane",
    "repeat",
]
