"""The benchmarks give a time only to answers that hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from benchmarks.candidates import clarabel_lazy
from benchmarks.contract import (
    CANDIDATES,
    INSTANCES,
    Matrix,
    OptimalInstance,
    Weights,
    answers,
)
from benchmarks.instances.cities import GOWALLA
from benchmarks.instances.tight import square
from benchmarks.objective import score
from benchmarks.once import once
from benchmarks.program import Program, necessary, too_large
from dxopt.proofs.duals import Dual
from tests.material.answering import Says

FAMILIES = {INSTANCES.get(name).family: name for name in INSTANCES}
OPTIMAL = [
    pytest.param(name, marks=pytest.mark.full if name.endswith("-60") else ())
    for name in FAMILIES.values()
    if isinstance(INSTANCES.get(name), OptimalInstance)
]


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("name", OPTIMAL)
def test_every_candidate_answers_the_small_size_of_a_problem(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "places.csv"
    places = [f"37.{700 + (7 * k) % 12},-122.{400 + (5 * k) % 9},{1 + k}" for k in range(9)]
    file.write_text("\n".join(["lat,lon,checkins", *places]))
    monkeypatch.setenv(GOWALLA, str(file))
    size = min(INSTANCES.get(other).small for other in INSTANCES if INSTANCES.get(other).family in name)
    instance, known = INSTANCES.get(name), -math.inf
    assert isinstance(instance, OptimalInstance)
    instance = replace(instance, size=size, small=size, tolerance=1e-6)
    for candidate in ["dxopt", *(candidate for candidate in CANDIDATES if candidate != "dxopt")]:
        if not answers(candidate, name):
            continue
        tool = CANDIDATES.get(candidate)()
        outcome = once(instance, tool, known=known)
        if tool.role == "peer" and outcome.failure is not None:
            assert outcome.failure.startswith(("infinite leakage", "SolverError", "gap")), (
                candidate,
                outcome.failure,
            )
        elif outcome.refused is None:
            assert outcome.failure is None, (candidate, outcome.failure)
            assert outcome.private == "proven" or tool.role in ("peer", "classic")
            assert outcome.gap is not None
            assert outcome.gap <= 1e-6 or tool.role == "classic"
        known = max(known, outcome.bound or -math.inf)


def test_check_ins_lie_in_the_plane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "places.csv"
    file.write_text("lat,lon,checkins\n37.70,-122.40,1\n37.71,-122.40,5\n37.70,-122.42,3\n")
    assert INSTANCES.get("gowalla-100").missing() == "give --gowalla PATH"
    monkeypatch.setenv(GOWALLA, str(file))
    problem = INSTANCES.get("gowalla-100").build(3)
    assert problem.prior.probabilities == pytest.approx([5 / 9, 3 / 9, 1 / 9])
    apart = dx.MetricSpace.from_points([[37.71, -122.40], [37.70, -122.42], [37.70, -122.40]], "haversine").distances
    assert problem.space.distances == pytest.approx(apart, rel=1e-3)


def problem(loss: str = "distance", metric: str = "euclidean") -> dx.Problem:
    space = dx.grid((4, 4), metric=metric)
    prior = dx.Prior.from_weights(space, 1.0 + np.arange(16) % 3)
    return dx.Problem(space, epsilon=0.8, prior=prior, loss=loss)


def posed(asked: dx.Problem) -> OptimalInstance:
    return OptimalInstance(about="", family="p", build=lambda size: asked, size=4, small=4)


@pytest.mark.parametrize("candidate", ["highspy", "clarabel", "clarabel-lazy", "cvxpy"])
def test_the_multipliers_of_peers_prove_their_bound(candidate: str) -> None:
    outcome = once(posed(problem()), CANDIDATES.get(candidate)())
    assert outcome.failure is None
    assert outcome.gap is not None
    assert outcome.gap <= 1e-6
    assert outcome.value == pytest.approx(dx.solve(problem()).certificate.value, rel=1e-6)


def test_violated_pairs_are_added_until_none_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clarabel_lazy, "NEAR", 3)
    first = len(clarabel_lazy.core(Program.of(problem())))
    assert first < len(Program.of(problem()).everywhere)
    outcome = once(posed(problem()), clarabel_lazy.ClarabelLazy())
    assert outcome.failure is None
    assert outcome.private == "proven"


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_pairs_with_a_point_in_between_and_no_others_are_left_out(metric: str) -> None:
    budgets = problem(metric=metric).budgets
    detours = np.where(np.eye(16, dtype=bool), np.inf, budgets)
    shortest = (detours[:, :, None] + detours[None, :, :]).min(axis=1)
    needed = (shortest > budgets * (1 + 1e-9)) & ~np.eye(16, dtype=bool)
    kept = np.zeros_like(needed)
    kept[necessary(budgets)] = True
    assert np.array_equal(kept, needed)
    assert len(Program.of(problem(metric=metric)).everywhere) == 16 * needed.sum()


def test_what_does_not_fit_in_memory_is_refused() -> None:
    reason = CANDIDATES.get("dense")().refuses(INSTANCES.get("tight-grid-1000"), square(1000))
    assert reason is not None
    assert "8,000 GB" in reason
    large = INSTANCES.get("l1-product-300").build(300)
    assert "90,000 x 90,000" in (too_large(large) or "")
    assert too_large(problem()) is None


OPTIMUM = dx.solve(problem())


def raw(change: Callable[[np.ndarray], Any] = lambda matrix: matrix, dual: Any = OPTIMUM.dual) -> Matrix:
    """The optimum, changed."""
    matrix = OPTIMUM.mechanism.matrix.copy()
    changed = change(matrix)
    return Matrix(matrix if changed is None else changed, dual)


def zeroed(matrix: np.ndarray) -> None:
    matrix[3, matrix[3].argmin()] = 0.0


def forged(level: float, matrix: np.ndarray | None = None) -> dx.Mechanism:
    privacy = dx.Privacy(level, "take my word for it")
    return dx.Mechanism.from_matrix(
        problem().space, OPTIMUM.mechanism.matrix if matrix is None else matrix, privacy=privacy
    )


FALSE: dict[str, tuple[Callable[[], Any], str]] = {
    "an entry of 0 beside positive ones": (lambda: raw(zeroed), "infinite leakage (1 entries"),
    "another shape": (lambda: raw(lambda matrix: matrix[:, :3]), "no 16 x 16 matrix"),
    "no numbers": (lambda: raw(lambda matrix: matrix * np.nan), "no 16 x 16 matrix"),
    "far from private": (lambda: raw(lambda matrix: matrix**2), "gap"),
    "far from the optimum": (lambda: raw(lambda matrix: np.full_like(matrix, 1 / 16)), "gap"),
    "no multipliers": (lambda: raw(dual=None), "no bound"),
    "useless multipliers": (lambda: raw(dual=Dual(np.zeros(16))), "gap"),
    "a report that was not proven": (lambda: replace(OPTIMUM, mechanism=forged(0.9)), "no proof"),
    "a report with a forged proof": (
        lambda: replace(OPTIMUM, mechanism=forged(0.8, np.eye(16) * 0.5 + 0.5 / 16)),
        "told apart",
    ),
    "a report without its multipliers": (lambda: replace(OPTIMUM, dual=None), "gap"),
    "a report on something else": (
        lambda: replace(OPTIMUM, mechanism=dx.tight_constraints(square(5), 0.8)),
        "25 secrets",
    ),
    "weights": (lambda: Weights(np.ones(16)), "no answer to a problem"),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_answer_to_a_problem_gets_no_time(name: str) -> None:
    answer, why = FALSE[name]
    outcome = once(posed(problem()), Says(lambda question: answer()))
    assert outcome.seconds is None
    assert outcome.spent is not None
    assert why in (outcome.failure or "")


def test_the_verdict_is_on_the_matrix_as_returned_and_the_gap_on_the_repaired_one() -> None:
    def found(answer: Matrix, **options: Any) -> Any:
        return score(posed(problem()), problem(), answer, **options)

    assert found(raw()).private == "proven"
    near = found(raw(lambda matrix: matrix * (1 + 1e-8 * np.cos(np.arange(256).reshape(16, 16)))))
    assert near.private.startswith("repaired (violated by")
    assert near.failure is None
    assert 0 < near.gap <= 1e-6
    short = found(raw(lambda matrix: matrix * (1 - 1e-10)))
    assert short.private == "repaired (rows sum to 1 within 1e-10)"
    known = OPTIMUM.certificate.bound
    assert found(raw(dual=None), known=known).gap <= 1e-6
    assert "below the bound" in (found(raw(), known=known * 1.001).failure or "")
    exponential = Matrix(dx.solve(problem(), method="exponential").mechanism.matrix)
    assert found(exponential, known=known).failure is not None
    assert found(exponential, known=known, claims=False).gap > 0.01
