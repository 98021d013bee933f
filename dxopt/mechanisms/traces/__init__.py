"""Traces of points reported one by one under d_∞ (Cha13): predictions, budgets, runs, and what they are worth."""

from dxopt.mechanisms.traces.accounting import Ledger
from dxopt.mechanisms.traces.closeness import ClosenessTest, GeometricTest, LaplaceTest
from dxopt.mechanisms.traces.evaluation import TraceEvaluation, evaluate
from dxopt.mechanisms.traces.finite import Finite, RationalGeometric
from dxopt.mechanisms.traces.managers import FixedLevels, FixedRate, FixedUtility
from dxopt.mechanisms.traces.plans import Balance, Manager, Plan
from dxopt.mechanisms.traces.predictions import Prediction, extrapolate, repeat
from dxopt.mechanisms.traces.predictive import IndependentNoise, PredictiveMechanism
from dxopt.mechanisms.traces.runs import Kind, Run, Step
from dxopt.mechanisms.traces.sources import Continuous, StepNoise, on_line, on_plane
from dxopt.mechanisms.traces.streams import Purse, Stream, TraceMechanism

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
    "Purse",
    "RationalGeometric",
    "Run",
    "Step",
    "StepNoise",
    "Stream",
    "TraceEvaluation",
    "TraceMechanism",
    "evaluate",
    "extrapolate",
    "on_line",
    "on_plane",
    "repeat",
]
