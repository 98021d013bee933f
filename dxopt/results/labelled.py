"""The arrays of a matrix in a result folder."""

from __future__ import annotations

from typing import Any

import numpy as np

from dxopt.model.mechanism import Mechanism
from dxopt.model.problem import Problem
from dxopt.spaces.archive import pack_positions
from dxopt.spaces.geo.located import known


def labelled(problem: Problem, mechanism: Mechanism) -> dict[str, Any]:
    """A matrix with what its rows and columns are called, and where they are."""
    arrays: dict[str, Any] = {
        "matrix": mechanism.matrix,
        "labels": np.array(problem.space.labels),
        "report_labels": np.array(problem.reports.labels),
    }
    for name, array in (("points", problem.space.points), ("report_points", problem.reports.points)):
        if array is not None:
            arrays[name] = array.astype(str) if array.dtype == object else array
    return arrays | pack_positions(known(problem.space))
