"""Estimates that are told before a large solve begins."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

import dxopt as dx
from dxopt.solving.routes import expected
from dxopt.solving.routes.expected import expected_seconds, fewer_instead, is_mixture_in_time, told_before


def test_more_secrets_and_outputs_take_longer() -> None:
    sizes = (100, 500, 1_000, 2_000, 5_000, 9_701)
    for smaller, larger in pairwise(sizes):
        assert expected_seconds(smaller, smaller) < expected_seconds(larger, larger)
        assert expected_seconds(larger, 100) < expected_seconds(larger, larger)
    # measured, within the factor of three that is said: a city of 1,000, and 2,000 crossings with 100 of them
    for (points, reports), seconds in {(1_000, 1_000): 48, (2_000, 100): 128, (1_000, 100): 15}.items():
        assert seconds / 3 < expected_seconds(points, reports) < 3 * seconds


def test_a_large_solve_is_told_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    places = np.random.default_rng(7).uniform(0, 5, (20, 2))
    problem = dx.Problem(dx.MetricSpace.from_points(places), epsilon=1.0, prior="uniform")
    dx.solve(problem, solver="columns", tolerance=1e-2, progress=lines.append)
    assert not any("pairs" in line for line in lines)
    monkeypatch.setattr(expected, "LARGE", 0.0)
    dx.solve(problem, solver="columns", tolerance=1e-2, progress=lines.append)
    told = next(line for line in lines if "pairs" in line)
    assert re.search(
        r"20 secrets, 20 outputs, 380 pairs: about \d+ s to 1 %, up to [\d.e-]+ GB of memory, 0 MB", told
    )
    first = next(place for place, line in enumerate(lines) if "round 1:" in line and place > lines.index(told))
    assert lines.index(told) < first


def test_what_is_too_large_for_a_table_is_told() -> None:
    assert "no table" in told_before(9_701, 9_701, "")
    assert "a table afterwards" in told_before(2_500, 2_500, "")


def test_how_few_secrets_take_a_minute_is_told_of_a_long_solve() -> None:
    line = np.abs(np.subtract.outer(np.arange(2_500), np.arange(2_500)))
    assert fewer_instead(line[:500, :500], 500, "km") == ""
    told = re.search(r"([\d,]+) of the secrets.* within (\S+) km", fewer_instead(line, 2_500, "km"))
    assert told is not None
    few = int(told[1].replace(",", ""))
    assert expected_seconds(few, few) <= 60 < expected_seconds(few + 1, few + 1)
    assert 1 <= float(told[2]) <= 2  # the best choice has 1, and farthest-first at most twice that
    assert fewer_instead(np.where(line > 0, np.inf, line), 2_500, "km") == ""


def test_kernels_are_mixed_where_the_whole_is_out_of_reach_and_that_is_little() -> None:
    whole = expected_seconds(2500, 2500)
    assert is_mixture_in_time(2500, 2500, 0.5 * whole)
    assert not is_mixture_in_time(2500, 2500, 2 * whole)
    assert not is_mixture_in_time(2500, 2500, None)
    assert not is_mixture_in_time(2500, 2500, 1.0)
