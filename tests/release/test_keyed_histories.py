"""What draws with a key promise for histories, by exact rationals, where the key is a random function."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dxopt as dx
from dxopt.verify.published.sidecar import read_sidecar
from dxopt.words.published import sentences
from tests.judges.exact import exp_enclosure

PROMISE = "Two different reports of one person therefore prove two different secrets"
History = tuple[int, ...]


class Listening(dx.Key):
    """A key that keeps what it was asked for."""

    def __init__(self) -> None:
        super().__init__(bytes(32))
        self.asked: list[tuple[str, ...]] = []

    def digest(self, *fields: str) -> bytes:
        if hasattr(self, "asked"):
            self.asked.append(fields)
        return super().digest(*fields)


def small(seed: int) -> dx.IntegerTable:
    """A table of three secrets at random distances, and two reports or three."""
    rng = np.random.default_rng(seed)
    space = dx.MetricSpace.from_points(rng.uniform(0, 2, (3, 1)))
    level = float(rng.uniform(0.2, 1.5))
    if seed % 2:
        return dx.integer_table(dx.classic.exponential(space, epsilon=level))
    return dx.integer_table(dx.classic.randomised_response(space, epsilon=level))


def functions(table: dx.IntegerTable) -> Iterator[tuple[History, Fraction]]:
    """Every function from secrets to reports, with the probability that independent uniform draws make it."""
    rows = [[Fraction(int(count), table.total) for count in row] for row in table.counts]
    for reports in product(range(len(table.reports)), repeat=len(rows)):
        chances = (row[report] for row, report in zip(rows, reports, strict=True))
        yield reports, prod(chances, start=Fraction(1))


def likelihoods(table: dx.IntegerTable, history: History) -> dict[History, Fraction]:
    """How likely a person with this history shows each tuple of reports, with a key."""
    found: dict[History, Fraction] = {}
    for function, chance in functions(table):
        shown = tuple(function[secret] for secret in history)
        found[shown] = found.get(shown, Fraction(0)) + chance
    return found


def pattern(history: History) -> tuple[bool, ...]:
    """Which pairs of rows share a secret."""
    return tuple(one == other for one in history for other in history)


def exponential(table: dx.IntegerTable, history: History, other: History) -> Fraction:
    """No less than e^{ε (d1 + ... + dk)}, with the distances of distinct secrets."""
    distances = table.space.distances
    apart = sum(Fraction(float(distances[x, y])) for x, y in set(zip(history, other, strict=True)))
    return exp_enclosure(Fraction(table.epsilon) * apart)[1]


def test_a_draw_is_a_function_of_table_release_person_and_secret() -> None:
    key, tables = Listening(), (small(0), small(1))
    for _ in range(2):
        for table, release in product(tables, ("May", "June")):
            table.sample_for(["ann", "ann", "ann", "bob"], index=[0, 1, 0, 0], key=key, release=release)
    once, again = key.asked[:16], key.asked[16:]
    assert once == again
    assert len(set(once)) == 2 * 2 * 3


@pytest.mark.parametrize("seed", range(4))
def test_a_secret_that_changes_shows_for_certain(seed: int) -> None:
    table = small(seed)
    stays, moves = likelihoods(table, (0, 0)), likelihoods(table, (0, 1))
    different = [shown for shown in moves if shown[0] != shown[1]]
    assert different
    assert all(moves[shown] > 0 for shown in different)
    assert not any(stays.get(shown, 0) for shown in different)


@pytest.mark.parametrize("seed", range(4))
def test_histories_of_one_pattern_pay_for_each_distinct_secret(seed: int) -> None:
    table = small(seed)
    shown = {history: likelihoods(table, history) for history in product(range(3), repeat=3)}
    assert all(sum(chances.values()) == 1 for chances in shown.values())
    tight = Fraction(0)
    for one, other in product(shown, repeat=2):
        if pattern(one) != pattern(other):
            continue
        most = exponential(table, one, other)
        assert shown[one].keys() == shown[other].keys()
        ratio = max(chance / shown[other][reports] for reports, chance in shown[one].items())
        assert ratio <= most
        tight = max(tight, ratio / most) if one != other else tight
    assert tight > Fraction(1, 2)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_spent_covers_histories_of_one_pattern(seed: int, tmp_path: Path) -> None:
    new, keyed = small(seed), small(seed + 1)
    key = dx.Key(bytes(32))
    histories = list(product(range(3), repeat=3))
    names = [str(history) for history in histories]
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=99) as budgets:
        run = budgets.begin("a new draw, and two with a key")
        budgets.charge(run, 0, names, new.epsilon, unit="per unit")
        for place in (1, 2):
            tags = [key.digest(str(history[place])) for history in histories]
            budgets.charge(run, place * 27, names, keyed.epsilon, unit="per unit", tags=tags, key=key)
        spent = {history: budgets.account(name).spent for history, name in zip(histories, names, strict=True)}
    shown: dict[History, dict[History, Fraction]] = {
        (first, *rest): {
            (report, *reports): Fraction(int(new.counts[first, report]), new.total) * chance
            for report in range(len(new.reports))
            for reports, chance in likelihoods(keyed, tuple(rest)).items()
        }
        for first, *rest in histories
    }
    tight = Fraction(0)
    for one, other in product(histories, repeat=2):
        if one == other or pattern(one[1:]) != pattern(other[1:]):
            continue
        tables = (new, keyed, keyed)
        rows = zip(tables, one, other, strict=True)
        apart = max(Fraction(float(table.space.distances[x, y])) for table, x, y in rows)
        ratio = max(chance / shown[other][reports] for reports, chance in shown[one].items())
        assert spent[one] == spent[other]
        most = exp_enclosure(spent[one] * apart)[1]
        assert ratio <= most
        tight = max(tight, ratio / most)
    assert tight > Fraction(1, 4)


@pytest.mark.parametrize("seed", range(4))
def test_a_secret_that_stays_is_worth_independent_releases_and_two_secrets_are_not(seed: int) -> None:
    table = small(seed)
    stays = [likelihoods(table, (secret, secret)) for secret in range(3)]
    alone = [Fraction(int(count), table.total) for count in table.counts[0]]
    assert [stays[0][report, report] for report in range(len(alone))] == alone
    moves = likelihoods(table, (0, 1))
    level = dx.compose(table, 2).pure
    assert dx.compose(table, 2).delta(level).delta == 0
    most = exp_enclosure(Fraction(level) * Fraction(float(table.space.distances.max())))[1]
    assert sum(max(Fraction(0), chance - most * stays[0].get(shown, 0)) for shown, chance in moves.items()) > 0


def test_reports_of_apply_show_who_moved() -> None:
    table = dx.integer_table(dx.classic.geometric(dx.line(5), epsilon=0.1))
    visits = pd.DataFrame({"who": ["stays", "stays", "moves", "moves"], "value": [2, 2, 2, 3]})
    asked: dict[str, Any] = {"column": "value", "within": 0, "person": "who", "release": "May"}
    seen = {"stays": 0, "moves": 0}
    for number in range(20):
        public = dx.apply(table, visits, key=dx.Key(number.to_bytes(32)), **asked)
        for person, reports in public.groupby("who")["report"]:
            seen[str(person)] += reports.nunique() > 1
    assert seen["stays"] == 0
    assert seen["moves"] > 0


@pytest.mark.parametrize(("keyed", "paid"), [(False, False), (True, False), (True, True), (False, True)])
def test_the_sidecar_says_what_a_key_shows(tmp_path: Path, keyed: bool, paid: bool) -> None:
    table = dx.integer_table(dx.classic.geometric(dx.line(5), epsilon=0.5))
    asked: dict[str, Any] = {"key": dx.Key.new(), "release": "May"} if keyed else {}
    file = tmp_path / "said.json"
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=9) as budgets:
        asked["person"] = "who" if keyed or paid else None
        asked["ledger"] = budgets if paid else None
        visits = pd.DataFrame({"who": ["ann"], "value": [2]})
        dx.apply(table, visits, dx.Output(sidecar=file), column="value", within=0, **asked)
    topics = dict(sentences(read_sidecar(file)))
    assert ({"key", "key shows", "histories"} <= set(topics)) is keyed
    assert ("refusals" in topics) is (keyed and paid)
    assert ("budget" in topics) is paid
