"""Mechanisms of one's own in comparisons and sweeps: proven first, or a row that says why not; saved and verified."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.tight import WRITTEN_POINTS
from dxopt.verify import verify_all

LINE = dx.line(5)
PROBLEM = dx.Problem(LINE, epsilon=0.8, prior="uniform")
FLAT = np.full((5, 5), 0.2)
MINE = dx.classic.geometric(LINE, epsilon=0.4)


def rows(comparison: dx.Comparison) -> dict[str, object]:
    return {row.name: row for row in comparison.rows}


def test_a_row_for_each_with_its_own_proof() -> None:
    found = dx.compare(PROBLEM, ["tight", MINE, FLAT, ("mine", MINE.matrix), MINE])
    names = ["optimal", "tight", "geometric mechanism", "own mechanism", "mine", "geometric mechanism 2"]
    assert [row.name for row in found.rows] == names
    assert all(row.private and not row.baseline for row in found.rows)
    mine = found.rows[4]
    assert mine.value == pytest.approx(dx.evaluate.expected_loss(MINE, PROBLEM.prior), rel=1e-12)
    assert mine.epsilon == pytest.approx(0.4)
    assert mine.leakage == pytest.approx(dx.evaluate.min_entropy_leakage(MINE, PROBLEM.prior), rel=1e-12)
    assert mine.excess is not None
    assert mine.excess > 0.1


@pytest.mark.parametrize(
    ("given", "note"),
    [
        (np.eye(5), "in all, above 0.001; give epsilon"),
        (dx.classic.geometric(LINE, epsilon=0.9), "is not private at epsilon 0.8"),
        (dx.classic.geometric(dx.line(4), epsilon=0.8), "has 4 secrets and 4 reports, not 5 secrets and 5 reports"),
        (dx.classic.geometric(dx.line(5, step=0.5), epsilon=0.8), "has other secrets: number 1 is '0.5', not '1'"),
        (np.full((5, 3), 1 / 3), "has shape (5, 3), not (5, 5)"),
        (np.ones((5, 5)), "row 0 sums to 5, off by more than 1e-06; divide each row by its sum"),
        (dx.classic.geometric(LINE, epsilon=0.8).matrix.T, "off by more than 1e-06; transpose it"),
        (np.full((5, 5), np.nan), "entry [0, 0] is nan; give probabilities"),
        (np.ones(5), "has shape (5,), not (5, 5)"),
        (FLAT + 0j, "entry [0, 0], of type complex, is no real number"),
        ([["a"] * 5] * 5, "entry [0, 0], of type str, is no real number"),
        ([[0.5, 0.5], [1.0]], "has rows of different lengths: row 0 has length 2, row 1 has length 1"),
        (lambda epsilon: 1 / 0, "the function of 'mine' raises ZeroDivisionError: division by zero; mend"),
        (lambda epsilon, other: FLAT, "the function of 'mine' raises TypeError: "),
        (lambda epsilon: "nothing", "the function of 'mine' gives str; return a mechanism or an array"),
        (lambda epsilon: dx.classic.planar_laplace(LINE, epsilon=epsilon), "planar_laplace needs a grid"),
    ],
)
def test_what_is_not_proven_is_a_row_that_says_why(given: object, note: str) -> None:
    row = dx.compare(PROBLEM, {"mine": given}).rows[1]  # pyright: ignore[reportArgumentType]
    assert row.name == "mine"
    assert row.value is None
    assert not row.private
    assert note in row.note


def test_a_function_that_proves_nothing_is_a_row() -> None:
    def unproven(epsilon: float) -> dx.Mechanism:
        raise dx.CertificateError("not proven")

    note = dx.compare(PROBLEM, {"mine": unproven}).rows[1].note
    assert note.startswith("the function of 'mine' raises CertificateError: not proven")


def test_ctrl_c_in_a_function_is_no_row() -> None:
    def stopped(epsilon: float) -> np.ndarray:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dx.compare(PROBLEM, {"mine": stopped})


def test_lists_are_matrices_too() -> None:
    listed = FLAT.tolist()
    wanted = dx.compare(PROBLEM, {"mine": FLAT}).rows[1]
    assert dx.compare(PROBLEM, {"mine": listed}).rows[1] == wanted
    assert dx.compare(PROBLEM, {"mine": lambda epsilon: listed}).rows[1] == wanted
    for methods in (listed, [listed, listed]):
        rows = dx.compare(PROBLEM, methods).rows[1:]
        assert [row.value for row in rows] == [wanted.value] * (1 if methods is listed else 2)


@pytest.mark.parametrize("epsilon", ["ln(2)", 0.3, 1.0])
def test_one_at_the_limit_is_repaired_where_little_is_wrong(epsilon: float | str) -> None:
    problem = dx.Problem(LINE, epsilon=epsilon, prior="uniform")
    assert problem.epsilon is not None

    def response(level: float) -> np.ndarray:
        return (np.ones((5, 5)) + math.expm1(level) * np.eye(5)) / (4 + math.exp(level))

    above, far = (response(problem.epsilon * (1 + more)) for more in (1e-6, 1e-2))
    methods = [("at the limit", response(problem.epsilon)), response, ("above", above), ("far", far)]
    found = dx.compare(problem, methods)
    limit, made, moved, beyond = found.rows[1:]
    assert limit.private and moved.private and moved.note and not limit.note
    assert made.value == limit.value == pytest.approx(float((response(problem.epsilon) * LINE.distances).mean() * 5))
    assert limit.epsilon is not None
    assert limit.epsilon <= problem.epsilon
    assert beyond.value is None
    assert "is not private at epsilon" in beyond.note


def test_names_and_mechanisms_in_one_mapping() -> None:
    found = dx.compare(PROBLEM, {"tight": "tight", "mine": FLAT})
    assert [row.name for row in found.rows] == ["optimal", "tight", "mine"]
    for given, message in {
        "planar_laplace": r"'planar_laplace' is given under another name; give it by itself, as \['planar_laplace'",
        3: "something of type int is no mechanism",
    }.items():
        with pytest.raises(dx.SpecError, match=message):
            dx.sweep(PROBLEM, [1.0], methods={"mine": given})  # pyright: ignore[reportArgumentType]
    with pytest.raises(dx.SpecError, match="the name '3' is no text"):
        dx.compare(PROBLEM, {3: FLAT})  # pyright: ignore[reportArgumentType]


def test_names() -> None:
    for bad in ("optimal", "cloaking", "optimal for winter", "", " a", "two\nlines", "a" * 101):
        with pytest.raises(dx.SpecError, match="methods"):
            dx.compare(PROBLEM, [(bad, FLAT)])
    with pytest.raises(dx.SpecError, match="methods: the name 'a' is taken"):
        dx.compare(PROBLEM, [("a", FLAT), ("a", MINE)])
    named = dx.Mechanism.from_matrix(LINE, FLAT, name="tight")
    assert [row.name for row in dx.compare(PROBLEM, [named]).rows] == ["optimal", "own tight"]


def test_every_objective() -> None:
    worst = dx.compare(dx.Problem(LINE, epsilon=0.8, objective="worst_loss"), {"mine": MINE}).rows[1]
    assert worst.value == pytest.approx(dx.evaluate.worst_loss(MINE))
    budget = dx.AdversaryError(max_loss=1.2)
    for epsilon in (0.8, None):
        asked = dx.Problem(LINE, epsilon=epsilon, prior="uniform", objective=budget)
        within, above = dx.compare(asked, {"mine": MINE, "flat": FLAT}).rows[1:]
        assert within.value == pytest.approx(dx.evaluate.adversary_error(MINE, "uniform"))
        assert within.private is (epsilon is not None)
        assert above.note == "the expected loss 1.6 is over its budget 1.2"
    needed = dx.compare(dx.Problem(LINE, epsilon=None, prior="uniform", objective=budget), {"f": lambda e: MINE})
    assert needed.rows[1].note.startswith("is not asked for, which the function needs")
    relaxed = dx.compare(PROBLEM.but(delta=0.05), {"more": dx.classic.geometric(LINE, epsilon=0.81)}).rows[1]
    assert relaxed.private
    assert relaxed.delta == pytest.approx(dx.evaluate.smallest_delta(dx.classic.geometric(LINE, epsilon=0.81), 0.8))


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_saved_loaded_and_verified(delta: float, tmp_path: Path) -> None:
    problem = PROBLEM.but(delta=delta)
    report = dx.solve(problem)
    found = dx.compare(problem, ["exponential", MINE, ("<b>flat</b>", FLAT), ("no", np.eye(5))], reference=report)
    folder = tmp_path / "out"
    replace(report, comparison=found).save(folder)
    again = dx.load(folder)
    assert again.comparison == found
    verdict = verify_all(folder)
    assert verdict.exit_code == 0, str(verdict)
    assert "comparison: <b>flat</b>" in str(verdict)


def test_a_sweep_proves_at_every_level(tmp_path: Path) -> None:
    found = dx.sweep(
        PROBLEM,
        ["1/4", 0.5, 1.0],
        {"fixed": MINE, "by level": lambda epsilon: dx.classic.geometric(LINE, epsilon=epsilon)},
    )
    assert np.isnan(found.values["fixed"]).tolist() == [True, False, False]
    expected = [dx.evaluate.expected_loss(dx.classic.geometric(LINE, epsilon=e), "uniform") for e in (0.25, 0.5, 1.0)]
    assert found.values["by level"] == pytest.approx(expected, rel=1e-12)
    assert "fixed is missing at 1 of 3 levels: is not private at epsilon 0.25" in str(found)
    found.save(tmp_path / "sweep")
    assert str(dx.EpsilonSweep.load(tmp_path / "sweep")) == str(found)
    verdict = verify_all(tmp_path / "sweep")
    assert verdict.exit_code == 0, str(verdict)


def test_large_implicit_ones_need_no_matrix() -> None:
    space = dx.line(WRITTEN_POINTS + 1)
    problem = dx.Problem(space, epsilon=1.0, prior="uniform")
    mine = dx.tight_constraints(space, 1.0)
    row = dx.compare(problem, {"mine": mine, "too much": dx.tight_constraints(space, 1.5)}).rows
    assert row[1].private
    assert row[1].value == pytest.approx(dx.evaluate.expected_loss(mine, "uniform"))
    assert row[2].value is None
