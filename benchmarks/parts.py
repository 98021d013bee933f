"""The parts that column generation takes its time for, measured one by one: python -m benchmarks.parts.

What they say of more places and more machines is in `benchmarks.model`.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import scipy.linalg as sl
import typer
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import dxopt as dx
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram
from dxopt.solving.solvers.columns import ColumnSettings, solve_columns
from dxopt.solving.solvers.columns.forest import Forest
from dxopt.solving.solvers.columns.matrices import HostMatrix, Solve

PARTS = Path(__file__).with_name("parts.json")
_CLUSTERS = 8
_SIDE = 10.0
_SPREAD = 0.8
"""Places are around the centres of clusters in a square, in kilometres."""
_TAIL = 1.2
"""Of the weights, a Pareto distribution: one place in a hundred has 58 times the median or more."""
_EPSILON = 1.0
_BLOCK = 1024
_ENOUGH = 0.5
"""Seconds over which a rate is measured."""


@dataclass(frozen=True)
class Parts:
    """What was measured on one number of places; processor seconds.

    Attributes
    ----------
    places : int
    rounds : int
        So many were measured, or what the limit left of them.
    gap : float
        After these.
    first : float
        Seconds for each report of the first pricing, from stars.
    price : float
        Seconds for each report of a later pricing, the mean.
    pricings, systems : float
        Pricings and linear systems of the master, for each round.
    columns : float
        In the master for each of its rows, the mean over its systems.
    sent, returned : float
        Bytes for each report of a pricing on a cluster.
    gram, cholesky : float
        Flops a second of one core: symmetric products, n²k for n rows and k columns, and factors, n³/3.
    """

    places: int
    rounds: int
    gap: float
    first: float
    price: float
    pricings: float
    systems: float
    columns: float
    sent: float
    returned: float
    gram: float
    cholesky: float


def town(places: int, seed: int = 1) -> dx.Problem:
    """Random places in clusters, few of which have most of the weight."""
    generator = np.random.default_rng(seed)
    centres = generator.uniform(0, _SIDE, (_CLUSTERS, 2))
    points = centres[generator.integers(_CLUSTERS, size=places)] + generator.normal(0, _SPREAD, (places, 2))
    space = dx.MetricSpace.from_points(points, "euclidean")
    prior = dx.Prior.from_weights(space, generator.pareto(_TAIL, places) + 0.01)
    return dx.Problem(space, epsilon=_EPSILON, prior=prior, loss="distance")


class _Timed:
    """Return the pricer of this machine, and the processor seconds of each pricing."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.sent = 0.0
        self.returned = 0.0

    def price(
        self, forest: Forest, row_prices: NDArray[np.float64], pivots: int, should_stop: Callable[[], bool]
    ) -> None:
        began = time.process_time()
        forest.price(row_prices, pivots, should_stop)
        self.seconds.append(time.process_time() - began)
        trees = forest.parents, forest.leads
        self.sent = sum(array.nbytes for array in trees) / len(forest.parents)
        self.returned = self.sent + forest.values.nbytes / len(forest.parents)


@contextmanager
def _counted() -> Iterator[list[tuple[int, int]]]:
    """Yield a context that notes rows and columns of each system of the master."""
    found: list[tuple[int, int]] = []
    solver = HostMatrix.solver

    def noted(
        self: HostMatrix,
        scaling: NDArray[np.float64],
        diagonals: tuple[NDArray[np.float64], ...],
        ridge: float,
    ) -> Solve:
        found.append(self.shape)
        return solver(self, scaling, diagonals, ridge)

    HostMatrix.solver = noted
    try:
        yield found
    finally:
        HostMatrix.solver = solver


def measured(places: int, rounds: int, limit: float) -> Parts:
    """Solve for so many rounds, or processor seconds, and note what they took."""
    Forest.price(*_small())
    program = ExpectedLossProgram().apply(town(places)).smaller
    timed = _Timed()
    done = 0
    gap = 1.0
    began = time.process_time()

    def told(number: int, value: float, bound: float) -> None:
        nonlocal done, gap
        done = number
        gap = min(1.0, (value - bound) / value) if np.isfinite(value) else 1.0

    def over() -> bool:
        return done >= rounds or time.process_time() > began + limit

    with _counted() as systems:
        solve_columns(program, ColumnSettings(1e-6, over, told, pricer=timed.price))
    whole = timed.seconds[:-1] if len(timed.seconds) > 2 and done < rounds else timed.seconds
    later = whole[1:] or whole
    return Parts(
        places,
        done,
        gap,
        first=whole[0] / places,
        price=statistics.fmean(later) / places,
        pricings=len(whole) / max(done, 1),
        systems=len(systems) / max(done, 1),
        columns=statistics.fmean(columns / rows for rows, columns in systems),
        sent=timed.sent,
        returned=timed.returned,
        gram=_rate(lambda block: block @ block.T, places, places**2 * _BLOCK),
        cholesky=_rate(lambda block: sl.cho_factor(_definite(block), lower=True), places, places**3 / 3),
    )


def _small() -> tuple[Forest, NDArray[np.float64], int, Callable[[], bool]]:
    """Return a pricing that has all loops compiled."""
    costs = np.array([[0.0, 1.0], [1.0, 0.0]])
    return Forest.of(costs, np.exp(-costs)), np.full(2, 0.1), 10, lambda: False


def _definite(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a positive definite matrix with as many rows, which takes little time to make."""
    matrix = np.ones((len(block), len(block)))
    np.fill_diagonal(matrix, 2.0 * len(block))
    return matrix


def _rate(work: Callable[[NDArray[np.float64]], object], rows: int, flops: float) -> float:
    """Flops of one core in a second."""
    block = np.random.default_rng(0).random((rows, _BLOCK))
    with threadpool_limits(limits=1, user_api="blas"):
        work(block)
        count = 0
        began = time.process_time()
        while time.process_time() < began + _ENOUGH:
            work(block)
            count += 1
        return count * flops / (time.process_time() - began)


def main(
    places: Annotated[list[int] | None, typer.Option(help="Repeatable; 250, 500 and 1000 by default.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each solve.")] = 10,
    limit: Annotated[float, typer.Option(min=0.001, help="Processor seconds of each solve.")] = 600.0,
    output: Annotated[Path, typer.Option(help="Gets what was measured, as JSON.")] = Path("results/parts.json"),
) -> None:
    """Measure the parts of column generation on random places in clusters, with skewed weights."""
    output.parent.mkdir(parents=True, exist_ok=True)
    found: list[Parts] = []
    for count in places or [250, 500, 1000]:
        found.append(measured(count, rounds, limit))
        typer.echo(json.dumps(asdict(found[-1])))
        output.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
