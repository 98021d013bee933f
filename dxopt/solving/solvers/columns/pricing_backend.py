"""Reports that are priced by the workers of a Dask cluster.

**What goes where.** Costs and factors stay the same for a whole solve: each worker gets all factors, and keeps the
costs of some blocks of reports. A pricing sends, batch by batch, the row prices and the trees (parents, leads; from
them follow columns), and takes back trees and columns. Costs that change from pricing to pricing, as for the worst
loss, go with the trees.

**What may fail.** The trees that count are here, and change only when a batch has come back whole. So a batch that is
lost with its worker is priced again from the same trees, by another worker or, where it fails again or nobody is
left, here. That takes time, and changes nothing else.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.solving.solvers.columns.basis import Trees
from dxopt.solving.solvers.columns.cores import without_helpers
from dxopt.solving.solvers.columns.forest import Forest

Array = NDArray[np.float64]

_BLOCKS = 2
"""Blocks of reports for each thread of the workers; of each, one batch at a time is under way."""
_SECONDS = 0.5
_GROWTH = 8.0
_BYTES = 8e6
"""Limits of a batch: seconds of a worker, which a stop may waste; growth from one to the next; bytes of its trees."""
_TICK = 0.05
"""Seconds between two looks at whether to stop."""
_QUIET = 2.0
"""Seconds without any answer, after which it is asked whether there still are workers."""
_WAIT = 5.0
"""Seconds that costs and factors wait for a worker to take them."""
_AGAIN = 30.0
"""Seconds after which a cluster that was lost is tried again."""
_TRIALS = 3
"""A batch that fails so often is priced here."""


@dataclass(eq=False)
class _Block:
    """Reports first to last - 1: where the workers keep their costs, and how many are a batch."""

    first: int
    last: int
    costs: Any
    step: int = 1


@dataclass(frozen=True, eq=False)
class _Batch:
    """Reports first to last - 1 of a block, and how often they have failed."""

    block: _Block
    first: int
    last: int
    failed: int = 0

    @property
    def reports(self) -> slice:
        return slice(self.first, self.last)


class Lost(Exception):
    """Raised where the cluster has no worker, or no scheduler, to price reports."""


class OnWorkers:
    """The workers of a cluster, whose `price` is a pricer; what they keep is let go with it.

    `client` is Dask's; `tell` is given a line when the cluster is lost.
    """

    def __init__(self, client: Any, tell: Callable[[str], None] = lambda line: None) -> None:
        self.client = client
        self.tell = tell
        self._later = 0.0  # the time before which a lost cluster is not tried again
        self._let_go()

    def price(self, forest: Forest, row_prices: Array, pivots: int, should_stop: Callable[[], bool]) -> None:
        """Solve the pricing problem of every report at row prices `(n,)`, from its last tree: see `Forest.price`."""
        left = np.ones(len(forest.parents), dtype=bool)
        if time.monotonic() >= self._later:
            try:
                self._keep(forest)
                for batch, trees in self._priced_batches(forest, row_prices, pivots, should_stop):
                    _write_back(forest, batch.reports, trees)
                    left[batch.reports] = False
            except Lost:
                self._let_go()
                self._later = time.monotonic() + _AGAIN
                self.tell("the cluster is lost; reports are priced here")
        if left.any() and not should_stop():
            reports = np.flatnonzero(left)
            part = Forest(forest.costs[reports], forest.factors, *(array[reports] for array in forest.trees))
            part.price(row_prices, pivots, should_stop)
            _write_back(forest, reports, part.trees)

    def _keep(self, forest: Forest) -> None:
        """Send factors and costs to the workers unless they keep them already; costs that change go with batches."""
        if self._factors is None or self._factors[0] is not forest.factors:
            self._let_go()
            threads = self._threads()
            self._factors = forest.factors, self._scatter(forest.factors, broadcast=True)
            size = max(1, -(-len(forest.parents) // (_BLOCKS * threads)))
            starts = range(0, len(forest.parents), size)
            self._blocks = [_Block(first, min(first + size, len(forest.parents)), None) for first in starts]
            parts = [forest.costs[block.first : block.last] for block in self._blocks]
            for block, costs in zip(self._blocks, self._scatter(parts), strict=True):
                block.costs = costs
            self._costs = forest.costs
        elif self._costs is not None and self._costs is not forest.costs:
            # they change from pricing to pricing, so that nobody need keep them
            self._costs = None
            for block in self._blocks:
                block.costs = None

    def _scatter(self, data: Any, **how: Any) -> Any:
        """Send data to the workers, which keep it; raise Lost where none takes it."""
        try:
            return self.client.scatter(data, hash=False, timeout=_WAIT, **how)
        except Exception as error:  # no worker in time, or no scheduler
            raise Lost from error

    def _threads(self) -> int:
        """Count the threads of the workers; raise Lost where there are none."""
        try:
            threads = sum(self.client.nthreads().values()) if self.client.status == "running" else 0
        except Exception as error:  # no scheduler
            raise Lost from error
        if not threads:
            raise Lost
        return threads

    def _let_go(self) -> None:
        """Drop the references to what the workers keep, so that Dask frees it."""
        self._factors: tuple[Array, Any] | None = None
        self._costs: Array | None = None
        self._blocks: list[_Block] = []

    def _priced_batches(
        self, forest: Forest, row_prices: Array, pivots: int, should_stop: Callable[[], bool]
    ) -> Iterator[tuple[_Batch, Trees]]:
        """Yield batches as they come back, with their trees; those that fail too often are left out."""
        most = max(1, int(_BYTES / (13 * len(row_prices))))  # 13 bytes a point: column 8, parent 4, lead 1
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        waiting: dict[Any, _Batch] = {}

        def send(batch: _Batch) -> None:
            """Send a batch, and have its future put into the queue when it ends."""
            try:
                future = self._submit(forest, batch, row_prices, pivots)
            except Exception as error:  # no scheduler
                raise Lost from error
            waiting[future] = batch
            future.add_done_callback(done.put)

        def follow(batch: _Batch) -> None:
            """Send the next batch of the same block."""
            block = batch.block
            if batch.last < block.last:
                send(_Batch(block, batch.last, min(batch.last + min(block.step, most), block.last)))

        try:
            # 1. one batch of each block, and the next one when that has come back
            for block in self._blocks:
                follow(_Batch(block, block.first, block.first))  # an empty batch before the first one
            heard = time.monotonic()
            while waiting and not should_stop():
                found = _finished_futures(done)
                if found:
                    heard = time.monotonic()
                elif self.client.status != "running" or time.monotonic() > heard + _QUIET:
                    self._threads()
                    heard = time.monotonic()

                # 2. what came back whole counts; what did not is sent again
                for future, answer in zip(found, self._gathered(found), strict=True):
                    batch = waiting.pop(future)
                    if answer is not None:
                        seconds, trees = answer
                        each = max(seconds / (batch.last - batch.first), 1e-9)
                        grown = _GROWTH * max(batch.block.step, batch.last - batch.first)
                        batch.block.step = max(1, int(min(grown, _SECONDS / each)))
                        yield batch, trees
                        follow(batch)
                    elif batch.failed + 1 < _TRIALS:
                        self._keep_again(forest)
                        send(_Batch(batch.block, batch.first, batch.last, batch.failed + 1))
                    else:  # it failed too often: `price` does it here, at the end
                        follow(batch)
        finally:
            if waiting:
                with suppress(Exception):  # no scheduler
                    self.client.cancel(list(waiting), force=True)

    def _keep_again(self, forest: Forest) -> None:
        """Send again what was lost with the workers that kept it."""
        kept = self._factors
        if kept is not None and kept[1].status != "finished":
            self._factors = kept[0], self._scatter(forest.factors, broadcast=True)
        for block in self._blocks:
            if block.costs is not None and block.costs.status != "finished":
                block.costs = self._scatter(forest.costs[block.first : block.last])

    def _submit(self, forest: Forest, batch: _Batch, row_prices: Array, pivots: int) -> Any:
        """Send a batch to a worker, with its trees, and its costs unless they are kept there; return the future."""
        assert self._factors is not None
        at = batch.reports
        block = batch.block
        if block.costs is None:
            costs, inside = forest.costs[at], slice(0, batch.last - batch.first)
        else:
            costs, inside = block.costs, slice(batch.first - block.first, batch.last - block.first)
        trees = forest.parents[at], forest.leads[at]
        return self.client.submit(
            price_on_worker, self._factors[1], costs, inside, row_prices, trees, pivots, pure=False
        )

    def _gathered(self, futures: list[Any]) -> list[tuple[float, Trees] | None]:
        """Return the results of futures, None where they failed."""
        whole = [future for future in futures if future.status == "finished"]
        try:
            answers = dict(zip(whole, self.client.gather(whole), strict=True))
        except Exception:  # a worker died with them meanwhile
            answers = {}
        return [answers.get(future) for future in futures]


def price_on_worker(
    factors: Array, costs: Array, inside: slice, row_prices: Array, trees: tuple[Any, Any], pivots: int
) -> tuple[float, Trees]:
    """Price some reports on a worker, in the thread that was given to it: return the seconds, and the trees.

    Of the trees come parents and leads `(k, n + 1)`, which give the columns.
    """
    began = time.perf_counter()
    own, factors, row_prices = (  # Dask's arrays may be read-only; kernels are compiled for writable ones
        np.require(one, np.float64, ["C", "W"]) for one in (costs[inside], factors, row_prices)
    )
    parents, leads = (array.copy() for array in trees)  # a worker may be in the same process
    forest = Forest(own, factors, np.empty(own.shape), parents, leads)
    with without_helpers():
        forest.price(row_prices, pivots, lambda: False)
    return time.perf_counter() - began, forest.trees


def _write_back(forest: Forest, reports: Any, trees: Trees) -> None:
    """Copy the trees of some reports into a forest."""
    for mine, new in zip(forest.trees, trees, strict=True):
        mine[reports] = new


def _finished_futures(done: queue.SimpleQueue[Any]) -> list[Any]:
    """Return the futures that have ended; wait a moment for the first one."""
    found = []
    with suppress(queue.Empty):
        found.append(done.get(timeout=_TICK))
        while True:
            found.append(done.get_nowait())
    return found
