"""Drawing: whose reports are asked for, exact tables, and the words that decide."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
from scipy.stats import chi2

import dxopt as dx
from dxopt.numerics.draws import places_of_each, words
from dxopt.release.tables import IntegerTable, integer_table

SPACE = dx.MetricSpace.from_points([[0.0], [1.0], [3.0]], labels=["bank", "café", "dock"])
NESTED = np.array([["bank"], None], dtype=object)


class Given(np.random.Generator):
    """A generator whose words are given, and which fails when they run out."""

    def __init__(self, given: Iterable[int]) -> None:
        super().__init__(np.random.PCG64(0))
        self.given = iter(given)

    def integers(self, low: int, high: int, size: int, dtype: type) -> np.ndarray:  # pyright: ignore
        assert (low, high, dtype) == (0, 2**64, np.uint64)
        return np.array([next(self.given) for _ in range(size)], dtype=dtype)


def table_of(rows: list[list[int]], bits: int) -> IntegerTable:
    counts = np.array(rows, dtype=object)
    return IntegerTable(dx.line(len(rows)), dx.Reports(tuple(map(str, range(counts.shape[1])))), counts, bits, 50.0)


@pytest.fixture(scope="module", params=["mechanism", "table"])
def sampled(request: pytest.FixtureRequest) -> dx.Mechanism | IntegerTable:
    mechanism = dx.classic.exponential(SPACE, epsilon=1.0)
    return mechanism if request.param == "mechanism" else integer_table(mechanism)


def test_labels_and_indices_are_the_same_secrets(sampled: dx.Mechanism | IntegerTable) -> None:
    def drawn(**secrets: object) -> list[object]:
        return sampled.sample(**secrets, size=4, rng=np.random.default_rng(3)).tolist()  # pyright: ignore

    indices = [2, 0, 1, 1, 2]
    names = [SPACE.labels[index] for index in indices]
    expected = drawn(secret=names)
    assert sampled.sample(index=indices, size=4).shape == (5, 4)
    for several in (indices, tuple(indices), np.array(indices), np.array(indices, dtype=np.uint8)):
        assert drawn(index=several) == expected
    for several in (list(names), np.array(names), np.array(names, dtype=object)):
        assert drawn(secret=several) == drawn(label=several) == expected
    for one in ({"index": 1}, {"index": np.int64(1)}, {"label": "café"}, {"secret": np.str_("café")}):
        assert drawn(**one) == drawn(secret="café")
        assert len(drawn(**one)) == 4
    assert drawn(index=range(3)) == drawn(secret=list(SPACE.labels))
    assert sampled.sample(index=np.array([], dtype=int), size=2).shape == (0, 2)
    assert sampled.sample([], 2).shape == (0, 2)
    assert sampled.sample("dock", 0).shape == (0,)


def test_labels_written_on_demand_are_found() -> None:
    grid = dx.classic.exponential(dx.grid((2, 2)), epsilon=1.0)
    by_label = grid.sample(["(1, 0)", "(0, 1)", "(1, 0)"], 9, rng=np.random.default_rng(1))
    assert np.array_equal(by_label, grid.sample(index=[2, 1, 2], size=9, rng=np.random.default_rng(1)))


OFF = [["bank", "pier"], [0, 3], [-1], [0.0, 1.0], [[0, 1]], "pier", 3, True, [True, False]]


@pytest.mark.parametrize("secret", [*OFF, NESTED, [[0], [1, 2]], np.array([True], dtype=object)])
def test_what_is_no_secret_is_refused(sampled: dx.Mechanism | IntegerTable, secret: object) -> None:
    with pytest.raises(dx.SpecError, match=r"secret|point"):
        sampled.sample(secret)


@pytest.mark.parametrize("size", [-1, 1.5, None, math.nan, math.inf, "a", True, [2, 3], 10**15, 10**30])
def test_sizes(sampled: dx.Mechanism | IntegerTable, size: object) -> None:
    with pytest.raises(dx.SpecError, match="size"):
        sampled.sample("dock", size)  # pyright: ignore[reportArgumentType]


def test_pandas_series_of_labels(sampled: dx.Mechanism | IntegerTable) -> None:
    pandas = pytest.importorskip("pandas")
    names = ["dock", "bank", "dock"]
    for series in (
        pandas.Series(names, index=[7, 8, 9]),
        pandas.Series(names).astype(object),
    ):
        drawn = sampled.sample(series, 3, rng=np.random.default_rng(1))
        assert np.array_equal(drawn, sampled.sample(names, 3, rng=np.random.default_rng(1)))


def test_alike_finds_every_index_once() -> None:
    for indices in (
        np.array([3, 1, 3, 3, 0]),
        np.array([2**20, 5, 2**20]),
        np.array([0, 1]),
        np.array([], dtype=int),
    ):
        found = dict(places_of_each(indices))
        assert sorted(found) == sorted(set(indices.tolist()))
        for index, which in found.items():
            assert which.tolist() == np.flatnonzero(indices == index).tolist()


def test_words_fill_64_bits() -> None:
    for drawn in (words(4000), words(4000, np.random.default_rng(0))):
        shares = [float((drawn >> np.uint64(bit) & np.uint64(1)).mean()) for bit in range(64)]
        assert np.abs(np.array(shares) - 0.5).max() < 0.05
    assert not np.array_equal(words(4), words(4))


def test_a_million_draws_follow_the_counts() -> None:
    table = integer_table(dx.classic.exponential(dx.grid((3, 4)), epsilon=0.8))
    secrets = np.repeat([0, 5, 11], 250_000)
    mixed = table.sample(index=np.random.default_rng(0).permutation(secrets), rng=np.random.default_rng(1))[:, 0]
    order = np.random.default_rng(0).permutation(secrets)
    alone = table.sample(index=7, size=250_000, rng=np.random.default_rng(2))
    for secret, drawn in [(7, alone), *((s, mixed[order == s]) for s in (0, 5, 11))]:
        expected = np.array([float(table.probability(secret, z, by="index")) for z in range(12)]) * len(drawn)
        statistic = ((np.bincount(drawn, minlength=12) - expected) ** 2 / expected).sum()
        assert statistic < chi2.ppf(1 - 1e-6, 11)


def test_every_word_has_its_report() -> None:
    total = 2**64
    table = table_of([[0, 5, 0, total - 8, 3, 0]], 64)
    given = [0, 4, 5, 2**63, total - 4, total - 3, total - 1]
    assert table.sample(0, 7, rng=Given(given)).tolist() == [1, 1, 3, 3, 3, 4, 4]
    certain = table_of([[0, total, 0]], 64)
    assert certain.sample(0, 2, rng=Given([0, total - 1])).tolist() == [1, 1]


@pytest.mark.parametrize("bits", [128, 192])
def test_ties_are_decided_by_further_words(bits: int) -> None:
    extra = bits - 64
    total = 2**bits
    first = (9 << extra) + 5
    second = (9 << extra) + 2**extra - 1
    table = table_of([[first, second - first, 0, total - second]], bits)
    more = extra // 64

    def tail(number: int) -> list[int]:
        return [number >> 64 * index & 2**64 - 1 for index in reversed(range(more))]

    cases = {0: 0, 4: 0, 5: 1, 6: 1, 2**extra - 2: 1, 2**extra - 1: 3}
    for rest, report in cases.items():
        source = Given([9, *tail(rest)])
        assert table.sample(0, rng=source).tolist() == [report]
        assert list(source.given) == []
    assert table.sample(0, 3, rng=Given([8, 10, 2**64 - 1])).tolist() == [0, 3, 3]
    several = table.sample([0, 0, 0], rng=Given([9, 3, 9, *tail(5), *tail(2**extra - 1)]))
    assert several.tolist() == [[1], [0], [3]]


def test_the_operating_system_is_asked_without_a_generator() -> None:
    table = table_of([[2**63, 2**63]], 64)
    np.random.seed(0)
    first = table.sample(0, 200)
    np.random.seed(0)
    assert not np.array_equal(first, table.sample(0, 200))
    assert 50 < first.sum() < 150


@pytest.mark.parametrize("rng", [3, "seed", np.random.RandomState(0)])
def test_what_is_no_generator_is_refused(sampled: dx.Mechanism | IntegerTable, rng: object) -> None:
    with pytest.raises(dx.SpecError, match=r"rng: is .* give np\.random\.default_rng"):
        sampled.sample("dock", rng=rng)  # pyright: ignore[reportArgumentType]


def test_many_draws_are_made_in_blocks(sampled: dx.Mechanism | IntegerTable, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = sampled.sample(index=[2, 0, 1], size=50, rng=np.random.default_rng(4))
    sizes = []
    draw = type(sampled)._draw
    monkeypatch.setattr("dxopt.numerics.draws._BLOCK", 40)

    def recorded(self: object, indices: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        sizes.append(len(indices))
        return draw(self, indices, rng)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(type(sampled), "_draw", recorded)
    assert np.array_equal(sampled.sample(index=[2, 0, 1], size=50, rng=np.random.default_rng(4)), drawn)
    assert sizes == [40, 40, 40, 30]
