"""Traces of points reported one by one under d_∞ (Cha13): predictions, budgets, runs, and what they are worth."""

from dxopt.mechanisms.traces.closeness import ClosenessTest, GeometricTest, LaplaceTest
from dxopt.mechanisms.traces.evaluation import TraceEvaluation, evaluate
from dxopt.mechanisms.traces.managers import Balance, FixedLevels, FixedRate, FixedUtility, Ledger, Manager, Plan
from dxopt.mechanisms.traces.predictive import IndependentNoise, Prediction, PredictiveMechanism, extrapolate, repeat
from dxopt.mechanisms.traces.sources import Continuous, Finite, RationalGeometric, StepNoise, on_line, on_plane
from dxopt.mechanisms.traces.streams import Kind, Purse, Run, Step, Stream, TraceMechanism
from dxopt.mechanisms.traces.tracking import Tracker, TrackingError, tracking_error, whole_trace

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
    "Tracker",
    "TrackingError",
    "evaluate",
    "extrapolate",
    "on_line",
    "on_plane",
    "repeat",
    "tracking_error",
    "whole_trace",
]
