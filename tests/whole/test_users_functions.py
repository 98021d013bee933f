"""Functions of users that raise or return nonsense, and odd arguments: one line that names the field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dxopt as dx

PEOPLE = dx.Universe.databases([0, 1, 2], 2)
TOTAL = dx.queries.total(PEOPLE)
LINE = dx.line(4)
MECHANISM = dx.classic.geometric(LINE, epsilon=1.0)
BOX = dx.geo.Box(45.4, -73.8, 45.6, -73.5)
TRUE = "give a function of a secret that returns True or False"


def broken(*given: Any) -> Any:
    raise RuntimeError("no such person")


def two(*given: Any) -> Any:
    return np.array([True, False])


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "where raises": (
        lambda: PEOPLE.where(broken),
        f"holds: the function gives no truth value for (0, 0) (RuntimeError: no such person); {TRUE}",
    ),
    "where gives two": (
        lambda: PEOPLE.where(two),
        "holds: the function gives no truth value for (0, 0) (ValueError: ",
    ),
    "event raises": (
        lambda: dx.BeliefPairs.pufferfish(PEOPLE, [(broken, lambda _: True)], "uniform"),
        f"secrets: the function gives no truth value for (0, 0) (RuntimeError: no such person); {TRUE}",
    ),
    "event of labels gives two": (
        lambda: dx.BeliefPairs.pufferfish(LINE, [(two, lambda _: True)], "uniform"),
        "secrets: the function gives no truth value for '0' (ValueError: ",
    ),
    "distance raises": (
        lambda: PEOPLE.space("manhattan", distance=broken),
        "distance: gives no number for the values 0 and 0 (RuntimeError: no such person); give a function of two "
        "values that returns one number; it gets each as a number",
    ),
    "distance of tuples": (
        lambda: dx.Universe.databases([("a", 1), ("b", 2)], 1).space("manhattan", distance=broken),
        "distance: gives no number for the values ('a', 1) and ('a', 1) (RuntimeError: no such person); give a "
        "function of two values that returns one number; it gets each as a tuple of 2",
    ),
    "distance gives None": (
        lambda: PEOPLE.space("manhattan", distance=lambda v, w: None),  # pyright: ignore[reportArgumentType]
        "distance: gives no number for the values 0 and 0 (TypeError: ",
    ),
    "distance is negative": (
        lambda: PEOPLE.space("manhattan", distance=lambda v, w: float(v - w)),
        "distance: gives -1 for the values 0 and 1; give finite numbers of 0 or more",
    ),
    "distance is infinite": (
        lambda: PEOPLE.space("manhattan", distance=lambda v, w: 0.0 if v == w else np.inf),
        "distance: gives inf for the values 0 and 1; give finite numbers of 0 or more",
    ),
    "no function": (
        lambda: PEOPLE.space("manhattan", distance=5),  # pyright: ignore[reportArgumentType]
        "distance: is of type int; give a function of two values that returns a number",
    ),
    "text without a distance": (
        lambda: dx.Universe.databases("ab", 2).space("manhattan"),
        "values: are no numbers; give a distance between them, or use hamming",
    ),
    "query raises": (
        lambda: dx.queries.Query.of(PEOPLE, broken),
        "query: gives no answer for the secret (0, 0) (RuntimeError: no such person); give a function of a secret",
    ),
    "query of lists": (
        lambda: dx.queries.Query.of(PEOPLE, list),  # pyright: ignore[reportArgumentType]
        "query: gives an answer of type list for the secret (0, 0); give numbers, text or tuples as answers",
    ),
    "count raises": (lambda: dx.queries.count(PEOPLE, broken), "query: gives no answer for the secret (0, 0) ("),
    "total of 5": (lambda: dx.queries.total(5), "universe: is of type int; give a dx.Universe"),  # pyright: ignore
    "percentile x": (lambda: dx.queries.percentile(PEOPLE, "x"), "percentile: 'x' is not a number"),  # pyright: ignore
    "graph of 5": (
        lambda: dx.queries.induced_graph(TOTAL, 5),  # pyright: ignore[reportArgumentType]
        "secrets: is of type int; give a space, such as universe.space() or query.space()",
    ),
    "swapped": (
        lambda: dx.queries.induced_graph(PEOPLE.space(), TOTAL),  # pyright: ignore[reportArgumentType]
        "query: is of type ProductSpace; give a query, such as dx.queries.total(universe)",
    ),
    "sensitivity of a space": (
        lambda: dx.queries.sensitivity(TOTAL, PEOPLE.space(), 5),  # pyright: ignore[reportArgumentType]
        "answers: is of type int; give a space, such as universe.space() or query.space()",
    ),
    "evaluations": (
        lambda: dx.regularity.threshold(LINE, evaluations=1.5),  # pyright: ignore[reportArgumentType]
        "evaluations: is of type float; give a whole number from 1",
    ),
    "text as tolerance": (
        lambda: dx.regularity.is_optimal_on_region(MECHANISM, 1.0, tolerance="x"),  # pyright: ignore
        "tolerance: 'x' is not a number; give a number of 0 or more",
    ),
    "negative tolerance": (
        lambda: dx.regularity.is_optimal_on_region(MECHANISM, 1.0, tolerance=-1),
        "tolerance: is -1; give a number of 0 or more",
    ),
    "too large": (
        lambda: dx.regularity.database_leakage_bound(2, 10**400, 1.0),
        "individuals: is a number too large to compute with; give a positive integer",
    ),
    "latitude": (lambda: dx.geo.Positions(np.array([[91.0, 2.0]])), "points: point 0 is no (latitude, longitude)"),
    "nowhere": (
        lambda: dx.geo.Positions(np.array([[np.nan, 2.0]])),
        "points: point 0 has a coordinate that is not finite",
    ),
    "millimetres": (
        lambda: dx.geo.Positions(np.zeros((1, 2)), unit="mm"),
        "unit: there is no 'mm'; choose one of km",
    ),
    "spacing": (lambda: BOX.shape("x"), "spacing: 'x' is not a number; give a positive distance"),  # pyright: ignore
    "shape": (lambda: BOX.centres(5), "shape: 5 is not a shape; give positive numbers"),  # pyright: ignore
    "cells": (lambda: BOX.centres((10**6, 10**6)), "shape: makes 1,000,000,000,000 cells, more than 1,000,000"),
    "negative shape": (lambda: BOX.centres((-1, 2)), "shape: (-1, 2) is not a shape; give positive numbers"),
    "negative outlines": (lambda: BOX.outlines((-1, 2)), "shape: (-1, 2) is not a shape; give positive numbers"),
    "square loss": (
        lambda: dx.Problem(LINE, epsilon=1, prior="uniform", loss=np.zeros((3, 3))),
        "loss: has shape (3, 3), not (4, 4); give one row per secret and one column per report",
    ),
    "gain": (
        lambda: dx.evaluate.utility(MECHANISM, "uniform", np.full((4, 4), np.nan)),
        "gain: entry [0, 0] is nan; give a number or inf",
    ),
    "refines": (
        lambda: dx.evaluate.refines(MECHANISM, dx.classic.geometric(dx.line(3), epsilon=1.0)),
        "mechanisms: are about 4 and 3 secrets; give two mechanisms for the same space",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_names_the_field_and_what_to_write(case: str) -> None:
    function, wanted = CASES[case]
    with pytest.raises(dx.SpecError) as refused:
        function()
    told = str(refused.value)
    assert told.startswith(wanted)
    assert "\n" not in told


def test_a_method_that_is_a_function_is_told_where_it_may_be_one() -> None:
    with pytest.raises(
        dx.SpecError, match=r"^method: is of type function; .* dx.compare takes a mechanism of your own"
    ):
        dx.solve(dx.Problem(LINE, epsilon=1, prior="uniform"), method=lambda epsilon: 1)  # pyright: ignore


def test_positions_of_a_list_are_an_array() -> None:
    found = dx.geo.Positions([[45.5, -73.6]])  # pyright: ignore[reportArgumentType]
    assert found.degrees.tolist() == [[45.5, -73.6]]
    assert not found.degrees.flags.writeable
