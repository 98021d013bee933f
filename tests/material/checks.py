"""What every report has to satisfy, whatever the problem."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

import dxopt as dx
from dxopt.numerics.hockey_stick import bound_pairs
from dxopt.results.compared import Compared
from tests.judges.exact import infinite_leakage, row_sum_errors, violations
from tests.judges.result import contents, packed

T = TypeVar("T")
ROW_SUM_ERROR = Fraction(1, 2**50)


def assert_proven(report: dx.Report) -> None:
    """Private in exact arithmetic, at the level asked and at the level claimed; rows sum to 1; bound ≤ value."""
    space, proof = report.problem.space, report.certificate
    matrix = report.mechanism.matrix
    assert proof.private
    assert infinite_leakage(matrix, space.distances) == []
    assert violations(matrix, space.distances, report.problem.epsilon) == []
    assert proof.epsilon <= report.problem.epsilon
    assert violations(matrix, space.distances, proof.epsilon) == []
    assert max(abs(error) for error in row_sum_errors(matrix)) <= ROW_SUM_ERROR
    assert proof.bound <= proof.value
    assert proof.gap == abs(proof.value - proof.bound) / max(abs(proof.value), 1e-12)
    prior = report.problem.prior.probabilities[:, None]
    losses = np.where(prior > 0, report.problem.losses, 0.0)
    value = float((prior * matrix * losses).sum())
    assert np.isclose(proof.value, value, rtol=1e-12, atol=1e-300)


def weights(space: dx.MetricSpace, *, period: int = 5) -> dx.Prior:
    """A prior without symmetries that matter: weight 1 + (7k mod period) at point k."""
    return dx.Prior.from_weights(space, 1.0 + (7 * np.arange(len(space))) % period)


def change_array(file: Path, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Tamper with one array of a saved result, or of its table."""
    arrays = contents(file)
    arrays[name] = change(arrays[name])
    file.write_bytes(packed(arrays, file.suffix))


def change_claims(folder: Path, **changes: Any) -> None:
    """Tamper with entries of claims.json of a saved result, wherever they are in it."""
    file = folder / "claims.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    for key, entry in changes.items():
        inner = (content, content["certificate"], content["problem"], content["found"])
        next((one for one in inner if key in one), content)[key] = entry
    file.write_text(json.dumps(content), encoding="utf-8")


def rows_of(comparison: dx.Comparison) -> dict[str, Compared]:
    """The rows of a comparison by name."""
    return {row.name: row for row in comparison.rows}


def town() -> dx.Problem:
    """A small town to compare mechanisms for."""
    space = dx.grid((3, 3))
    return dx.Problem(space, epsilon=0.9, prior=weights(space), loss="distance", name="town")


def assert_private(report: dx.Report) -> None:
    """Privacy, row sums and the budget by plain arithmetic on the matrix."""
    problem, matrix = report.problem, report.mechanism.matrix
    assert (matrix >= 0).all()
    assert matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert (problem.costs * matrix).sum() <= problem.objective.max_loss + 1e-12
    bound = bound_pairs(problem.separations, problem.pairs)
    for x, other in np.argwhere(bound):
        power = math.exp(problem.budgets[x, other])
        over = np.maximum(matrix[x] - power * matrix[other] * (1 + 1e-12), 0.0).sum()
        assert over <= problem.delta + 1e-13


def there(value: T | None) -> T:
    """What is not None."""
    assert value is not None
    return value
