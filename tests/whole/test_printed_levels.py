"""Levels of privacy wherever they are printed: at least the exact level, and within the last digit."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

import pytest

import dxopt as dx
from dxopt.results.compared import describe_levels
from dxopt.results.page import Entry, page_of_batch
from dxopt.studies.questions import EpsilonFrontier
from dxopt.words import phrases

_NUMBER = r"([0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)"
_LEVELS = (math.log(2), 0.66641, 0.5703)


def within_its_last_digit(text: str, level: float) -> bool:
    last = 10.0 ** int(Decimal(text).as_tuple().exponent)
    return level <= float(text) < level + last


def numbers_after(names: str, text: str) -> list[str]:
    return re.findall(rf"(?:{names})[^0-9.;,\n]{{0,60}}?{_NUMBER}", text)


def require_rounded_up(texts: Iterable[str], level: float, names: str = "ε|epsilon") -> None:
    for text in texts:
        found = numbers_after(names, text)
        assert found, text
        assert [one for one in found if not within_its_last_digit(one, level)] == [], text


@pytest.fixture(params=_LEVELS, ids=["ln(2)", "0.66641", "0.5703"])
def level(request: pytest.FixtureRequest) -> float:
    return request.param


@pytest.fixture
def problem(level: float) -> dx.Problem:
    return dx.Problem(dx.line(6), epsilon=level, prior="uniform", name="steps")


def test_mechanisms_and_what_is_proven_of_them(problem: dx.Problem, level: float) -> None:
    mechanism = dx.certify(dx.classic.geometric(problem.space, epsilon=level).matrix, problem.space)
    assert mechanism.privacy is not None
    shown = [mechanism, mechanism.privacy, dx.certify(mechanism, problem.space, level)]
    require_rounded_up([*map(str, shown), *map(repr, shown), mechanism.privacy._repr_html_()], level)
    report = dx.solve(problem)
    texts = [repr(problem), str(report.certificate), repr(report.certificate), report.certificate._repr_html_()]
    require_rounded_up(texts, level)
    require_rounded_up([str(report), report.details(), str(report.explanation)], level, "ε proven|asked")
    require_rounded_up([str(report.table), phrases.level(level, "km")], level)
    pairs = dx.BeliefPairs([[0.8, 0.2]], [[0.4, 0.6]], names=["rain"], epsilon=level)
    require_rounded_up([repr(pairs)], level)
    found = dx.evaluate.belief_level([[0.7, 0.3], [0.3, 0.7]], pairs)
    require_rounded_up([str(found).partition(":")[0], found._repr_html_().partition("pair")[0]], found.epsilon)


def test_a_delta_is_a_level_too() -> None:
    space, delta = dx.line(3), 0.0123456
    mechanism = dx.classic.randomised_response(space, epsilon=1.0, delta=delta)
    assert mechanism.privacy is not None
    exact = mechanism.privacy.delta
    require_rounded_up([str(mechanism), str(mechanism.privacy)], exact, "δ|delta")


def test_comparisons_sweeps_and_frontiers(problem: dx.Problem, level: float) -> None:
    mechanism = dx.certify(dx.classic.geometric(problem.space, epsilon=level).matrix, problem.space)
    wide = dx.compare(problem.at(0.9), [("mine", mechanism)])
    told = describe_levels(wide.told.rows, wide.epsilon)
    require_rounded_up(told, level, r"mine \(")
    require_rounded_up([str(wide)], level, "mine .* proven,")
    alone = dx.compare(problem, ["exponential"])
    require_rounded_up([repr(alone), str(alone).partition("\n")[0]], level)
    levels = [level, 2 * level]
    sweep = dx.sweep(problem, levels)
    rows = str(sweep).splitlines()[2:4]
    assert all(within_its_last_digit(row.split()[0], exact) for row, exact in zip(rows, levels, strict=True))
    require_rounded_up([repr(sweep).partition(" to ")[0]], level)
    frontier = dx.frontier(problem, *levels, resolution=0.9)
    assert within_its_last_digit(str(frontier).splitlines()[3].split()[0], level)
    require_rounded_up([repr(frontier).partition(" to ")[0]], level, "levels from")
    require_rounded_up([frontier._repr_html_()], level, "bound</th></tr></thead><tbody><tr><td>")
    require_rounded_up([str(EpsilonFrontier(level, 2 * level, 0.1)).partition(" to ")[0]], level)


def test_the_page_of_a_batch(problem: dx.Problem, level: float) -> None:
    sweep = dx.sweep(problem, [level, 2 * level])
    page = page_of_batch([dx.solve(problem), Entry("levels", sweep=sweep)])
    texts = [text for full, text in re.findall(r'<data value="([^"]*)"[^>]*>([^<]*)<', page) if float(full) == level]
    assert len(texts) > 3  # the card, and rows of tables
    assert [text for text in texts if not within_its_last_digit(text, level)] == []


def test_a_level_that_is_not_enough_is_rounded_down() -> None:
    found = dx.smallest_epsilon(dx.Problem(dx.line(2), epsilon=1.0, prior="uniform"), 0.2, accuracy=1e-3)
    possible, refuted = found.details().splitlines()[1:]
    require_rounded_up([possible.partition(",")[0]], found.epsilon)
    assert float(refuted.rpartition(" ")[2]) <= found.below


def test_ledgers(level: float, tmp_path: Path) -> None:
    with dx.Budgets.open(tmp_path / "budget.sqlite", create=True, unit="per km", default=level) as budgets:
        require_rounded_up([budgets._repr_html_()], level, "default budget")
        account = budgets.account("anna")
        require_rounded_up([account._repr_html_()], level, "budget</th>")
        assert str(account).startswith("anna: spent 0, ")
        left, most = map(float, numbers_after("spent 0,|left of", str(account)))
        assert left <= level <= most
