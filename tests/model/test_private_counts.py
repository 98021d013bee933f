"""A private prior: its noise and sensitivity in rationals, what it costs, and what it keeps of the data."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dxopt as dx
from dxopt.model import private_counts
from dxopt.model.private_counts import UNIT, at_most, count_check_ins
from dxopt.numerics.draws import Coins, words

LINE = dx.line(5)
SEEN = [[0], [0], [1], [4], [4], [4], [9]]
PERSONS = ["ann", "bob", "ann", "bob", "bob", "carl", "dora"]


def private(**options: Any) -> dx.Prior:
    given: dict[str, Any] = {"epsilon": 1.0, "per_person": 2, "rng": np.random.default_rng(1)}
    return dx.Prior.private(LINE, SEEN, PERSONS, **{**given, **options})


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [1, 2, 3])
def test_one_person_changes_the_counts_by_the_cap_and_their_odds_by_the_level(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any one person the same random choices give counts that differ by `most` in all, at most."""
    rng = np.random.default_rng(seed)
    points, persons = rng.integers(-1, 7, (60, 1)), rng.integers(0, 12, 60)
    random = words(60, rng)
    epsilon = 0.7
    reached = 0

    def counts(rows: np.ndarray) -> np.ndarray:
        chosen = iter([random[rows][(points[rows, 0] >= -0.5) & (points[rows, 0] <= 4.5)]])
        monkeypatch.setattr(private_counts, "words", lambda size, rng: next(chosen))
        found, _ = count_check_ins(LINE, points[rows], persons[rows], per_person=most, within=0.5)
        return found

    everybody = counts(np.full(60, True))
    for person in set(persons.tolist()):
        apart = int(np.abs(everybody - counts(persons != person)).sum())
        # e^{-exponent·|i|} changes by e^{exponent} for each 1 that the counts are apart
        assert Fraction(epsilon) / most * apart <= Fraction(epsilon)
        reached = max(reached, apart)
    assert reached == most


def test_the_noise_has_the_level_over_the_cap_as_a_rational(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Fraction] = []

    def drawn(coins: Coins, exponent: Fraction) -> int:
        asked.append(exponent)
        return 7

    monkeypatch.setattr(Coins, "laplace", drawn)
    prior = private(epsilon=0.1, per_person=3)
    assert asked == [Fraction(0.1) / 3] * 5  # places without check-ins have noise as well
    assert prior.counts is not None
    # bob was seen three times, and dora beyond the end counts for the last place
    assert prior.counts.counts.tolist() == [9, 8, 7, 7, 11]
    assert prior.probabilities == pytest.approx(np.array([9, 8, 7, 7, 11]) / 42)


def test_check_ins_beyond_the_cap_are_left_out_at_random() -> None:
    whose = np.array([0, 1, 0, 0, 1, 2])
    rng = np.random.default_rng(2)
    taken = [at_most(whose, 2, words(6, rng)) for _ in range(3000)]
    for mask in taken:
        assert Counter(whose[mask].tolist()) == {0: 2, 1: 2, 2: 1}
    assert np.mean(taken, axis=0)[[0, 2, 3]] == pytest.approx([2 / 3] * 3, abs=0.04)
    assert at_most(np.array([], dtype=np.int64), 2, words(0)).tolist() == []


WORDS = dx.MetricSpace.from_distances(1 - np.eye(3), labels=["flu", "cold", "gout"])
VECTORS = dx.MetricSpace.from_points([[0, 1], [1, 0], [1, 1]], labels=["flu", "cold", "gout"])
SHOPS = dx.geo.points([[45.5, -73.6], [45.5, -73.5], [45.5, -73.4]], labels=["flu", "cold", "gout"])
ILL = ["flu", "gout", "gout", "gout", "flu"]


@pytest.mark.parametrize("space", [WORDS, VECTORS, SHOPS])
@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pd.Categorical])
def test_labels_count_for_the_points_that_they_name(space: dx.MetricSpace, kind: Any) -> None:
    persons = ["ann", "bob", "carl", "carl", "carl"]
    found, paying = count_check_ins(space, kind(ILL), persons, per_person=3, within=None)
    assert (found.tolist(), paying) == ([2, 0, 3], ["ann", "bob", "carl"])
    found, _ = count_check_ins(space, kind(ILL), persons, per_person=1, within=None)
    assert found.sum() == 3  # one of each person, chosen as places are
    prior = dx.Prior.private(space, kind(ILL), persons, epsilon=300, per_person=3)
    assert prior.probabilities.tolist() == pytest.approx([0.4, 0, 0.6])
    assert prior.counts is not None and prior.counts.labels == ("flu", "cold", "gout")


def test_numbers_in_one_list_are_labels_too() -> None:
    found, _ = count_check_ins(LINE, [0, 4, "4.0"], ["a", "b", "c"], per_person=1, within=None)
    assert found.tolist() == [1, 0, 0, 0, 2]


@pytest.mark.parametrize(
    ("seen", "options", "field"),
    [
        (["flu", "pox"], {}, "labels"),
        (["flu", None], {}, "labels"),
        (["flu", ""], {}, "labels"),
        ([["flu"], ["gout"]], {}, "labels"),
        ([], {"persons": []}, "labels"),
        (["flu", "gout"], {"within": 1}, "within"),
        (["flu", "gout"], {"persons": ["ann"]}, "persons"),
    ],
)
def test_bad_labels_cost_nothing(seen: list[Any], options: dict[str, Any], field: str, tmp_path: Path) -> None:
    with dx.Budgets.open(tmp_path / "a.sqlite", create=True, unit=UNIT, default=1) as ledger:
        given: dict[str, Any] = {"persons": ["ann", "bob"], "epsilon": 1, "per_person": 1, "ledger": ledger}
        with pytest.raises(dx.SpecError) as refused:
            dx.Prior.private(WORDS, seen, **{**given, **options})
        assert refused.value.field == field
        assert "pox" not in str(refused.value)  # it may be somebody's secret
        assert ledger.accounts() == []


def test_every_check_in_of_a_person_may_be_the_one_that_counts() -> None:
    found = {
        tuple(count_check_ins(LINE, [[0], [1], [2]], ["ann"] * 3, per_person=1, within=None)[0].tolist())
        for _ in range(60)
    }
    assert found == {(1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0)}


def test_the_counts_are_those_of_the_data_with_hardly_any_noise() -> None:
    prior = private(epsilon=300, per_person=2, within=1)
    assert prior.counts is not None
    assert int(prior.counts.counts.sum()) == 5  # two of bob's three, none of dora's
    assert prior.concerns == ()  # which would tell how many were left out
    assert "7" not in prior.name


def test_draws_differ_unless_a_generator_is_given() -> None:
    found = [private(epsilon=0.01, rng=None).counts for _ in range(2)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].counts.tolist() != found[1].counts.tolist()
    again = [private().probabilities.tolist() for _ in range(2)]
    assert again[0] == again[1]


def test_everybody_pays_the_level_that_is_stated(tmp_path: Path) -> None:
    with dx.Budgets.open(tmp_path / "a.sqlite", create=True, unit=UNIT, default=1) as ledger:
        prior = private(epsilon="ln(2)", within=1, ledger=ledger, release="spring")
        assert prior.counts is not None
        paid = {account.person: account.spent for account in ledger.accounts()}
        # dora as well, none of whose check-ins counts: that she does not pay would tell where she was
        assert paid == dict.fromkeys(["ann", "bob", "carl", "dora"], Fraction(prior.counts.epsilon))
        assert [one.release for one in ledger.history("bob")] == ["spring"]
        before = prior.probabilities
        with pytest.raises(dx.BudgetExceeded):
            private(epsilon="ln(2)", ledger=ledger)
        assert ledger.account("bob").spent == Fraction(prior.counts.epsilon)
        # a mechanism and smoothing cost nothing more
        smooth = dx.Prior.from_private_counts(LINE, prior.counts, smoothing=1)
        assert (smooth.probabilities > 0).all()
        assert prior.probabilities is before
        ledger.check()


def test_one_who_cannot_pay_stops_the_draw_before_anybody_pays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Coins, "laplace", lambda coins, exponent: pytest.fail("drawn"))
    with dx.Budgets.open(tmp_path / "a.sqlite", create=True, unit=UNIT, default=1) as ledger:
        ledger.set(0.5, person="carl")
        with pytest.raises(dx.BudgetExceeded) as refused:
            private(ledger=ledger)
        assert refused.value.person == "carl"
        assert ledger.account("ann").spent == 0


def test_a_smoothing_that_is_none_is_refused_before_anybody_pays(tmp_path: Path) -> None:
    with dx.Budgets.open(tmp_path / "a.sqlite", create=True, unit=UNIT, default=1) as ledger:
        with pytest.raises(dx.SpecError):
            private(ledger=ledger, smoothing="much")
        assert ledger.accounts() == []


def test_a_ledger_per_km_is_refused(tmp_path: Path) -> None:
    with (
        dx.Budgets.open(tmp_path / "a.sqlite", create=True, unit="per km", default=9) as ledger,
        pytest.raises(dx.SpecError) as refused,
    ):
        private(ledger=ledger)
    assert refused.value.field == "unit"


def test_persons_have_one_identity_whatever_their_type() -> None:
    _, persons = count_check_ins(LINE, [[0]] * 4, [7, 7.0, " 7 ", "8"], per_person=1, within=None)
    assert persons == ["7", "8"]


def test_noise_that_leaves_nothing_makes_the_uniform_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Coins, "laplace", lambda coins, exponent: -9)
    assert private().probabilities.tolist() == [0.2] * 5


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "ln(1)"}, "epsilon"),
        ({"epsilon": 1e-16}, "epsilon"),
        ({"per_person": 0}, "per_person"),
        ({"per_person": 1.5}, "per_person"),
        ({"within": -1}, "within"),
        ({"rng": 3}, "rng"),
        ({"ledger": "a.sqlite"}, "ledger"),
        ({"smoothing": -1}, "smoothing"),
    ],
)
def test_bad_options(options: dict[str, Any], field: str) -> None:
    with pytest.raises(dx.SpecError) as refused:
        private(**options)
    assert refused.value.field == field


@pytest.mark.parametrize("persons", [["ann"], ["ann", "", "c", "d", "e", "f", "g"], "ann"])
def test_bad_persons(persons: Any) -> None:
    with pytest.raises(dx.SpecError) as refused:
        dx.Prior.private(LINE, SEEN, persons, epsilon=1, per_person=1)
    assert refused.value.field == "persons"


def test_counts_are_kept_in_a_file_and_read_back(tmp_path: Path) -> None:
    prior = private(epsilon=0.3)
    assert prior.counts is not None
    file = prior.counts.save(tmp_path / "prior.json")
    again = dx.Prior.from_private_counts(LINE, dx.PrivateCounts.load(file))
    assert (again.name, again.probabilities.tolist()) == (prior.name, prior.probabilities.tolist())
    assert again.counts is not None
    assert (again.counts.epsilon, again.counts.per_person) == (0.3, 2)
    with pytest.raises(dx.SpecError) as refused:
        prior.counts.save(file)
    assert refused.value.field == "output"
    with pytest.raises(dx.SpecError) as refused:
        dx.Prior.from_private_counts(dx.line(6), again.counts)
    assert refused.value.field == "counts"
    with pytest.raises(dx.SpecError) as refused:
        dx.Prior.from_private_counts(LINE, [1, 2, 3, 4, 5])  # pyright: ignore[reportArgumentType]
    assert refused.value.field == "counts"


@pytest.mark.parametrize(
    "change",
    [
        {"format": "another"},
        {"unit": "per km"},
        {"counts": [1.5] * 5},
        {"counts": [1, 2]},
        {"counts": [[1], [2, 3]]},
        {"counts": [2**70] * 5},
        {"epsilon": 0},
        {"epsilon": "1"},
        {"per_person": None},
        {"labels": 5},
    ],
)
def test_damaged_files(change: dict[str, Any], tmp_path: Path) -> None:
    counts = private().counts
    assert counts is not None
    file = counts.save(tmp_path / "prior.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(dx.SpecError):
        dx.PrivateCounts.load(file)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "dxopt private counts 1", "unit": "per person"}'])
def test_files_of_something_else(content: str, tmp_path: Path) -> None:
    file = tmp_path / "prior.json"
    with pytest.raises(dx.SpecError):
        dx.PrivateCounts.load(file)
    file.write_text(content)
    with pytest.raises(dx.SpecError):
        dx.PrivateCounts.load(file)


def test_a_result_keeps_the_noisy_prior_and_its_level(tmp_path: Path) -> None:
    prior = private()
    dx.solve(dx.Problem(LINE, epsilon=1.0, prior=prior)).save(tmp_path / "result")
    again = dx.load(tmp_path / "result").problem.prior
    assert (again.name, again.probabilities.tolist()) == (prior.name, prior.probabilities.tolist())


@pytest.mark.parametrize("kind", ["list", "pandas", "polars", "arrow"])
def test_check_ins_without_a_place_or_a_person_are_left_out_where_asked(kind: str, tmp_path: Path) -> None:
    """Persons named in these pay nevertheless, so that who pays tells no place."""
    rows: Any = {"x": [0.0, None, 2.0, 2.0, 4.0]}
    if kind == "list":
        points: Any = [[x] for x in rows["x"]]
    else:
        name = {"pandas": "DataFrame", "polars": "DataFrame", "arrow": "table"}[kind]
        points = getattr(pytest.importorskip({"arrow": "pyarrow"}.get(kind, kind)), name)(rows)
    persons = ["ann", "bob", "", "carl", None]
    asked: dict[str, Any] = {"epsilon": 1000.0, "per_person": 1}
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, unit=UNIT, default=1000) as ledger:
        found = dx.Prior.private(LINE, points, persons, unusable="drop", ledger=ledger, **asked)
        assert {account.person for account in ledger.accounts()} == {"ann", "bob", "carl"}
    assert found.counts is not None
    assert found.counts.counts.tolist() == [1, 0, 1, 0, 0]
    with pytest.raises(dx.SpecError) as caught:
        dx.Prior.private(LINE, points, persons, **asked)
    assert caught.value.field in ("persons", "points")


@pytest.mark.parametrize(
    "points",
    [
        np.ma.masked_array([[0.0], [1.0]], mask=[[False], [True]]),
        [[0.0], [1.0, 2.0]],
        [],
        {"x": [0.0, 1.0]},
        3.0,
        None,
    ],
    ids=["masked", "uneven", "empty", "mapping", "number", "none"],
)
@pytest.mark.parametrize("unusable", ["refuse", "drop"])
def test_points_that_are_none_are_refused_whatever_is_left_out(points: Any, unusable: Any) -> None:
    persons = [] if isinstance(points, list) and not points else ["a", "b"]
    with pytest.raises(dx.SpecError) as caught:
        dx.Prior.private(dx.line(5), points, persons, epsilon=1.0, per_person=1, unusable=unusable)
    assert caught.value.field in ("points", "labels")
    with pytest.raises(dx.SpecError):
        dx.Prior.from_check_ins(dx.line(5), points, unusable=unusable)


def test_labels_that_are_empty_are_left_out_where_asked() -> None:
    words = dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=["flu", "cold"])
    asked: dict[str, Any] = {"epsilon": 1000.0, "per_person": 1, "unusable": "drop"}
    labels: Any = ["flu", "", None, "cold", "cold"]
    found = dx.Prior.private(words, labels, ["a", "b", "c", "d", ""], **asked)
    assert found.counts is not None and found.counts.counts.tolist() == [1, 1]
    with pytest.raises(dx.SpecError) as caught:  # another word is no empty cell
        dx.Prior.private(words, ["", "flu", "gout"], ["a", "b", "c"], **asked)
    assert caught.value.field == "labels" and "number 2" in caught.value.wrong
    for labels, persons, field in ((["", ""], ["a", "b"], "labels"), (["flu"], ["a", "b"], "persons")):
        with pytest.raises(dx.SpecError) as caught:
            dx.Prior.private(words, labels, persons, **asked)
        assert caught.value.field == field
    with pytest.raises(dx.SpecError) as caught:
        dx.Prior.private(words, ["flu"], ["a"], **{**asked, "unusable": "skip"})
    assert caught.value.field == "unusable"
