"""Closures and products in the (max, ×) algebra, and points in between: n³ work, the same bits at any size.

Small problems take NumPy; from `COMPILED_FROM` elementary products on, where NumPy would take longer than Numba
takes to load, compiled loops do the same in blocks of columns that stay in cache, one thread a core.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError

Array = NDArray[np.float64]
SLACK = 1e-12
"""Relative slack within which a path over a third point still implies the direct constraint."""
SHORTER = 1 - 1e-9
"""The largest share of the direct way that each leg of a way over a third point may have."""
COMPILED_FROM = 100_000_000
"""Elementary products from which on compiled loops are faster, the time to load them included."""
_WIDTH = 64  # columns of a block for the compiled loops
_PASSES = 100  # passes over the points after which a closure that still changes is given up


def close(rows: Array, factors: Array) -> Array:
    """Return the least columns above `rows` with v_b ≥ fl(factors[a, b] v_a) for all a, b, exactly in doubles.

    In the algebra whose sum is max, that is the closure of the transposed factors, from 0 to 1, times `rows`. Rounded
    products grow with their arguments, so that there is one least solution, whatever the order of the steps.
    CertificateError if 100 passes over the points do not settle it.
    """
    closed = np.array(rows)
    raise_to_closure = _close_compiled if _is_large(*rows.shape, len(rows)) else _close
    if not raise_to_closure(closed, factors):
        raise CertificateError("the closure of the columns did not settle; the distances are numerically degenerate")
    return closed


def product(left: Array, right: Array) -> Array:
    """Return max(0, max_k left[i, k] · right[k, j]), `(p, k)` by `(k, q)` to `(p, q)`; no product may be NaN."""
    # Column blocks of the result depend on the same blocks of the right factor alone.
    found = np.zeros((len(left), right.shape[1]))
    if _is_large(*left.shape, right.shape[1]):
        from dxopt.numerics import tropical_loops as compiled

        whole = _as_compiled(left)

        def multiply(block: slice) -> None:
            found[:, block] = compiled.product(whole, _columns(right, block))

        _in_blocks(multiply, right.shape[1])
        return found
    # One outer product for each inner index.
    for k in range(len(right)):
        np.maximum(found, left[:, k, None] * right[None, k, :], out=found)
    return found


def implied(lengths: Array) -> NDArray[np.bool_]:
    """Return the mask `(n, n)` of pairs with a third point between them, from which their distance follows.

    That is l(a, c) + l(c, b) ≤ l(a, b), up to `SLACK` relative, so that metrics in floating point count as geodesic.
    Both legs must be below `SHORTER` times l(a, b): pairs are replaced by shorter ones only, and so no two pairs by
    each other. Lengths may be infinite.
    """
    allowed = lengths * (1 + SLACK)
    shorter = lengths * SHORTER
    found = np.zeros(lengths.shape, dtype=bool)
    if _is_large(*lengths.shape, len(lengths)):
        from dxopt.numerics import tropical_loops as compiled

        whole = _as_compiled(lengths)

        def search(block: slice) -> None:
            found[:, block] = compiled.between(
                whole, *(_columns(pairs, block) for pairs in (lengths, allowed, shorter))
            )

        _in_blocks(search, len(lengths))
        return found
    # All pairs at once for each third point.
    for via in range(len(lengths)):
        there = lengths[:, via, None]
        back = lengths[None, via, :]
        with np.errstate(over="ignore"):
            found |= (there + back <= allowed) & (there < shorter) & (back < shorter)
    return found


def _close(rows: Array, factors: Array) -> bool:
    """Raise `rows` in place to their closure; return False if they still change in the last pass."""
    # One pass lets every point in turn raise all others, as in the algorithm of Floyd and Warshall. In exact
    # arithmetic, with factors that obey the triangle inequality, one pass settles it; rounding may need a few more.
    # Passes in alternating order carry what is left along chains of rising and of falling indices alike.
    order = range(len(factors))
    for _ in range(_PASSES):
        before = rows.copy()
        for point in order:
            np.maximum(rows, factors[point, :, None] * rows[None, point, :], out=rows)
        if np.array_equal(rows, before):
            return True
        order = order[::-1]
    return False


def _close_compiled(rows: Array, factors: Array) -> bool:
    """Do as `_close` in compiled loops; columns do not depend on each other."""
    from dxopt.numerics import tropical_loops as compiled

    whole = _as_compiled(factors)

    def settle(block: slice) -> bool:
        columns = _columns(rows, block)
        settled = compiled.close(columns, whole, _PASSES)
        rows[:, block] = columns
        return settled

    return all(_in_blocks(settle, rows.shape[1]))


def _is_large(*sizes: int) -> bool:
    """Return True if this many elementary products are worth loading the compiled loops."""
    return float(np.prod(sizes, dtype=float)) >= COMPILED_FROM


def _columns(rows: Array, block: slice) -> Array:
    """Return some columns, copied row by row."""
    return np.array(rows[:, block], order="C")


def _as_compiled(rows: Array) -> Array:
    """Return the array as the loops are compiled for: row by row, and writable; a copy only where it is not so."""
    return np.require(rows, requirements=["C", "W"])


def _in_blocks(work: Callable[[slice], object], columns: int) -> list[object]:
    """Run `work` on every block of columns, in threads, as compiled loops release the GIL; return its results."""
    from numba import config

    blocks = [slice(start, start + _WIDTH) for start in range(0, columns, _WIDTH)]
    with ThreadPoolExecutor(config.NUMBA_NUM_THREADS) as threads:  # pyright: ignore[reportAttributeAccessIssue]
        return list(threads.map(work, blocks))


def scale_into_cone(totals: NDArray[np.float64], factors: NDArray[np.float64], room: float = 0.0) -> float:
    """Return the largest t with 1 - t r_b ≥ factors[a, b] (1 - t r_a) + room for all a ≠ b, and t r ≤ 1 - room.

    Rows with the sums r `(n,)`, or with sums in proportion to r, can be scaled by t: what is left to 1 in each makes
    a private column. The factors are upper bounds on e^{-εd}.
    """
    # t (r_b - f r_a) ≤ (1 - f) - room for each pair with factor f, which binds only where the left side is positive
    scale = float((1 - room) / totals.max())
    for a, factor in enumerate(factors):
        spread = totals - factor * totals[a]
        apart = (factor > 0) & (spread > 0)
        apart[a] = False
        scale = min(scale, float((((1 - factor) - room)[apart] / spread[apart]).min(initial=np.inf)))
    return scale
