"""Privacy on the events of an algebra, beside every union of its atoms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dxopt as dx

SETS = {
    "nothing": [],
    "half lines": [range(z) for z in range(1, 5)],
    "two": [[0, 1], [1, 2]],
    "labels": [["0"], ["3", "4"]],
    "one": [[0, 2, 4]],
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("seed", range(3))
def test_privacy_on_the_events_of_an_algebra(name: str, seed: int) -> None:
    """HLM14 Thm 3: on a family that generates all events, (ε, δ) is that on all; else on the unions of atoms."""
    space = dx.line(3)
    matrix = np.random.default_rng(seed).dirichlet(np.ones(5), 3)
    mechanism = dx.Mechanism.from_matrix(space, matrix, dx.Reports(("0", "1", "2", "3", "4")))
    coarse = dx.sanitisation.on_algebra(mechanism, SETS[name])

    # 1. the algebra by closing the sets under union and complement
    events = {frozenset(), frozenset(range(5)), *(frozenset(map(int, one)) for one in SETS[name])}
    while True:
        more = {frozenset(range(5)) - one for one in events} | {a | b for a, b in itertools.product(events, events)}
        if more <= events:
            break
        events |= more
    assert len(events) == 2 ** len(coarse.reports)
    assert (name == "half lines") == (len(coarse.reports) == 5)

    # 2. the largest excess over its events
    for epsilon in (0.1, 0.8):
        excess = max(
            matrix[x, list(event)].sum() - math.exp(epsilon * abs(x - other)) * matrix[other, list(event)].sum()
            for event in events
            for x, other in itertools.permutations(range(3), 2)
        )
        assert dx.evaluate.smallest_delta(coarse, epsilon) == pytest.approx(max(excess, 0.0), abs=1e-12)
    if name == "half lines":
        assert coarse.matrix == pytest.approx(matrix)


@pytest.mark.parametrize("sets", [[["9"]], [[5]], [[-1]], [3], "x", [[0.5]]])
def test_sets_of_no_reports(sets: object) -> None:
    with pytest.raises(dx.SpecError) as caught:
        dx.sanitisation.on_algebra(dx.classic.geometric(dx.line(4), epsilon=1.0), sets)  # pyright: ignore[reportArgumentType]
    assert caught.value.field == "sets"
