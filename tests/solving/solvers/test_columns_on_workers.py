"""Reports priced by workers: the same trees, whatever gets lost on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dxopt.solving.solvers.columns.forest import Forest
from dxopt.solving.solvers.columns.pricing_backend import OnWorkers

POINTS = 30
PIVOTS = 1000


def never() -> bool:
    return False


class Future:
    """What a worker will have."""

    def __init__(self, status: str, answer: Any = None) -> None:
        self.status = status
        self.answer = answer

    def add_done_callback(self, done: Callable[[Any], None]) -> None:
        done(self)


class Client:
    """Two workers that do what they are told at once; `fails` says of each batch, by its number, how it is lost."""

    status = "running"

    def __init__(self, fails: Callable[[int], str | None] = lambda number: None) -> None:
        self.fails = fails
        self.workers = {"a": 1, "b": 1}
        self.sent: list[Any] = []
        self.submitted: list[tuple[Any, ...]] = []
        self.cancelled: list[Any] = []

    def nthreads(self) -> dict[str, int]:
        return self.workers

    def scatter(self, data: Any, **how: Any) -> Any:
        if not self.workers:
            raise TimeoutError
        futures = [Future("finished", one) for one in (data if isinstance(data, list) else [data])]
        self.sent += futures
        return futures if isinstance(data, list) else futures[0]

    def submit(self, function: Callable[..., Any], *arguments: Any, pure: bool) -> Future:
        number = len(self.submitted)
        self.submitted.append(arguments)
        lost = self.fails(number)
        if lost == "data":  # with the worker that kept it
            for future in self.sent:
                future.status = "cancelled"
        if lost in ("data", "error"):
            return Future("cancelled" if lost == "data" else "error")
        if any(one.status != "finished" for one in arguments if isinstance(one, Future)):
            return Future("cancelled")
        given = [one.answer if isinstance(one, Future) else one for one in arguments]
        answer = function(*given)
        return Future("error") if lost == "late" else Future("finished", answer)

    def gather(self, futures: list[Future]) -> list[Any]:
        return [future.answer for future in futures]

    def cancel(self, futures: list[Future], force: bool) -> None:
        self.cancelled += futures


def forest() -> tuple[Forest, list[Any]]:
    """Stars for random places, and row prices of three pricings."""
    generator = np.random.default_rng(5)
    places = generator.uniform(0, 4, (POINTS, 2))
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    costs = np.ascontiguousarray((apart * generator.pareto(1.5, POINTS)[:, None]).T)
    prices = [costs.mean(axis=0) * generator.uniform(0.2, 1.0, POINTS) for _ in range(3)]
    return Forest.of(costs, np.exp(-apart)), prices


def priced_here() -> list[Forest]:
    trees, prices = forest()
    found = []
    for row_prices in prices:
        trees.price(row_prices, PIVOTS, never)
        found.append(trees.copy())
    return found


def same(one: Forest, other: Forest) -> bool:
    names = ("values", "parents", "leads")
    return all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in names)


@pytest.mark.parametrize("how", ["data", "error", "late", None])
def test_batches_that_are_lost_change_nothing(how: str | None) -> None:
    client = Client(lambda number: how if number % 5 == 2 else None)
    told: list[str] = []
    workers = OnWorkers(client, told.append)
    trees, prices = forest()
    for row_prices, expected in zip(prices, priced_here(), strict=True):
        workers.price(trees, row_prices, PIVOTS, never)
        assert same(trees, expected)
    # factors and costs are sent once, unless they are lost
    assert len(client.sent) == 5 if how != "data" else len(client.sent) > 5
    assert how or len(client.submitted) == 8 + 4 + 4  # batches grow
    assert told == []


def test_what_always_fails_is_priced_here() -> None:
    client = Client(lambda number: "error")
    trees, prices = forest()
    OnWorkers(client).price(trees, prices[0], PIVOTS, never)
    assert same(trees, priced_here()[0])


def test_without_workers_the_solve_goes_on_here(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    told: list[str] = []
    workers = OnWorkers(client, told.append)
    trees, prices = forest()
    expected = priced_here()
    workers.price(trees, prices[0], PIVOTS, never)
    client.status = "closed"
    client.submit = lambda *arguments, **how: Waiting()  # type: ignore[method-assign]
    workers.price(trees, prices[1], PIVOTS, never)
    workers.price(trees, prices[2], PIVOTS, never)  # the cluster is not asked again for a while
    assert same(trees, expected[2])
    assert told == ["the cluster is lost; reports are priced here"]
    assert len(client.cancelled) == 4

    # later it is
    del client.submit
    client.status = "running"
    monkeypatch.setattr("dxopt.solving.solvers.columns.pricing_backend._AGAIN", 0.0)
    workers = OnWorkers(Client())
    workers.client.workers = {}
    again, _ = forest()
    workers.price(again, prices[0], PIVOTS, never)
    workers.client.workers = {"c": 1}
    workers.price(again, prices[1], PIVOTS, never)
    assert same(again, expected[1])
    assert workers.client.submitted


class Waiting(Future):
    """What never comes."""

    def __init__(self) -> None:
        super().__init__("pending")

    def add_done_callback(self, done: Callable[[Any], None]) -> None:
        pass


def test_a_stop_leaves_the_other_trees_as_they_were() -> None:
    client = Client()
    asked = iter([False, True])
    trees, prices = forest()
    before = trees.copy()
    OnWorkers(client).price(trees, prices[0], PIVOTS, lambda: next(asked, True))
    after = priced_here()[0]
    done = np.array([same_row(trees, after, z) for z in range(POINTS)])
    kept = np.array([same_row(trees, before, z) for z in range(POINTS)])
    assert (done | kept).all()
    assert 0 < done.sum() < POINTS
    assert client.cancelled


def same_row(one: Forest, other: Forest, report: int) -> bool:
    return one.columns[report].tobytes() == other.columns[report].tobytes()


def test_costs_that_change_go_with_the_trees() -> None:
    client = Client()
    workers = OnWorkers(client)
    trees, prices = forest()
    expected, _ = forest()
    for factor, row_prices in zip((1.0, 0.9, 0.8), prices, strict=True):
        trees = trees.at(factor * trees.costs[:, :-1])
        expected = expected.at(factor * expected.costs[:, :-1])
        workers.price(trees, row_prices, PIVOTS, never)
        expected.price(row_prices, PIVOTS, never)
        assert same(trees, expected)
    assert isinstance(client.submitted[0][1], Future)
    assert isinstance(client.submitted[-1][1], np.ndarray)
