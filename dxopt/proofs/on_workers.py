"""Products and closures of the (max, ×) algebra by the workers of a cluster, where one is open: the same bits.

Columns of a result do not depend on each other, so that each task is a block of them. What the workers do not return
is computed here.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics import tropical
from dxopt.runtime.cluster import current

Array = NDArray[np.float64]
Work = Callable[[Array, Array], Array]
"""Makes columns `(p, w)` of a whole matrix and columns `(k, w)`."""

_FROM = 1e10
"""Elementary products from which on the way to the workers and back is worth it."""
_WIDTH = 64
"""Columns of a task: what one thread works on at a time."""
_AHEAD = 2
"""Tasks under way for each thread of the workers."""
_WAIT = 60.0
"""Seconds in which the workers have to take the whole matrix."""
_QUIET = 2.0
"""Seconds without any answer, after which it is asked whether there still are workers."""


def product(left: Array, right: Array) -> Array:
    """Return max(0, max_k left[i, k] · right[k, j]), `(p, k)` by `(k, q)` to `(p, q)`: see `tropical.product`."""
    return _spread(tropical.product, left, right)


def close(rows: Array, factors: Array) -> Array:
    """Return the closure of columns under factors: see `tropical.close`, also for its error."""
    return _spread(_closed, factors, rows)


def _closed(factors: Array, rows: Array) -> Array:
    """Close columns on a worker."""
    return tropical.close(rows, factors)


def _spread(work: Work, whole: Array, columns: Array) -> Array:
    """Return `work` for all columns, made in blocks by workers if there are any and it is worth it."""
    cluster = current()
    width = columns.shape[1]
    if cluster is None or not cluster.is_open or float(whole.size) * width < _FROM:
        return work(whole, columns)
    found = np.empty((len(whole), width))
    left = np.ones(width, dtype=bool)
    blocks = [slice(start, min(start + _WIDTH, width)) for start in range(0, width, _WIDTH)]
    with suppress(Exception):  # no scheduler, or whatever a lost connection raises
        for block, made in _from_workers(cluster.client(), work, whole, columns, blocks):
            found[:, block] = made
            left[block] = False
    if left.any():
        found[:, left] = work(whole, columns[:, left])
    return found


def _from_workers(
    client: Any, work: Work, whole: Array, columns: Array, blocks: Sequence[slice]
) -> Iterator[tuple[slice, Array]]:
    """Yield blocks as the workers return them, but those whose task failed, and none any more without a worker."""
    kept = client.scatter(whole, broadcast=True, hash=False, timeout=_WAIT)
    pending = iter(blocks)
    waiting: dict[Any, slice] = {}
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    try:
        while True:
            threads = sum(client.nthreads().values())
            if not threads:
                return
            for block in islice(pending, max(0, _AHEAD * threads - len(waiting))):
                future = client.submit(work, kept, np.array(columns[:, block]), pure=False)
                waiting[future] = block
                future.add_done_callback(done.put)
            if not waiting:
                return
            with suppress(queue.Empty):
                future = done.get(timeout=_QUIET)
                block = waiting.pop(future)
                if future.status == "finished":
                    yield block, future.result()
    finally:
        if waiting:
            with suppress(Exception):  # no scheduler
                client.cancel(list(waiting), force=True)
