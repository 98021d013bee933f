"""dxopt: optimal mechanisms for metric differential privacy, proven private, with a bound on each value."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dxopt import evaluate, regularity
    from dxopt.errors import (
        CertificateError,
        DxoptError,
        NoTightMechanism,
        SolveError,
        SpecError,
        UnsupportedError,
    )
    from dxopt.loss import Loss, Reports
    from dxopt.mechanism import Mechanism
    from dxopt.prior import Prior
    from dxopt.problem import Problem
    from dxopt.report.folder import load
    from dxopt.report.result import Report
    from dxopt.solving import solve
    from dxopt.spaces.lattices import grid, line, torus
    from dxopt.spaces.space import MetricSpace

__version__ = "0.1.0"

_HOMES = {
    "dxopt.errors": (
        "CertificateError",
        "DxoptError",
        "NoTightMechanism",
        "SolveError",
        "SpecError",
        "UnsupportedError",
    ),
    "dxopt.loss": ("Loss", "Reports"),
    "dxopt.mechanism": ("Mechanism",),
    "dxopt.prior": ("Prior",),
    "dxopt.problem": ("Problem",),
    "dxopt.report.folder": ("load",),
    "dxopt.report.result": ("Report",),
    "dxopt.solving": ("solve",),
    "dxopt.spaces.lattices": ("grid", "line", "torus"),
    "dxopt.spaces.space": ("MetricSpace",),
}
_ROOMS = ("evaluate", "regularity")
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CertificateError",
    "DxoptError",
    "Loss",
    "Mechanism",
    "MetricSpace",
    "NoTightMechanism",
    "Prior",
    "Problem",
    "Report",
    "Reports",
    "SolveError",
    "SpecError",
    "UnsupportedError",
    "evaluate",
    "grid",
    "line",
    "load",
    "regularity",
    "solve",
    "torus",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"dxopt.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'dxopt' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
