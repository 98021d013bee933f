"""Randomness: a generator that was passed, or the operating system's; and whose reports are asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError

Indices = NDArray[np.int64]
_BLOCK = 1 << 22


def uniforms(size: int, rng: np.random.Generator | None = None) -> NDArray[np.float64]:
    """Numbers in [0, 1), multiples of 2^-53, `(size,)`: from `rng`, or from the operating system without it."""
    if rng is not None:
        return generator(rng).random(size)
    return (words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def words(size: int, rng: np.random.Generator | None = None) -> NDArray[np.uint64]:
    """Words of 64 random bits, `(size,)`: from `rng`, or from the operating system without it."""
    if rng is not None:
        return generator(rng).integers(0, 2**64, size, dtype=np.uint64)
    return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)


def generator(rng: np.random.Generator) -> np.random.Generator:
    """The generator that was given; SpecError where it is none, as where it is a number."""
    if not isinstance(rng, np.random.Generator):
        raise SpecError("rng", f"is {rng!r}", "give np.random.default_rng(...), or leave it out")
    return rng


def by_rows(secrets: Indices, row: Callable[[int], NDArray[np.float64]], rng: np.random.Generator | None) -> Indices:
    """One index for each of the secrets `(k,)`, in proportion to its row; each row is asked for once."""
    drawn = np.empty(len(secrets), dtype=np.int64)
    uniform = uniforms(len(secrets), rng)
    for secret, which in alike(secrets):
        cumulative = np.cumsum(row(secret))
        drawn[which] = np.searchsorted(cumulative, uniform[which] * cumulative[-1], side="right")
    return drawn


def alike(indices: Indices) -> Iterator[tuple[int, Indices]]:
    """Each of the different indices, with the positions in `indices` `(k,)` where it is found."""
    if not len(indices):
        return
    # NumPy sorts integers of 16 bits by radix, in linear time.
    small = indices.astype(np.uint16) if indices.max() < 2**16 else indices
    order = np.argsort(small, kind="stable")
    ordered = indices[order]
    starts = np.flatnonzero(np.diff(ordered)) + 1
    for which in np.split(order, starts):
        yield int(indices[which[0]]), which


class Named(Protocol):
    """Points with labels, as of a space."""

    @property
    def labels(self) -> Sequence[str]: ...

    def index(self, label: Any) -> int:
        """Position of a point given by its label, or by its index; SpecError where there is none."""
        ...


def draws(space: Named, secret: Any, size: int, draw: Callable[[Indices], Indices]) -> Indices:
    """Reports of one secret `(size,)` or of several `(k, size)`, where `draw` gives one for each of many secrets.

    Parameters
    ----------
    space : Named
        The secrets.
    secret : int, label, or sequence
        One secret, or k of them, all by index or all by label: a list, an array, or a pandas Series.
    size : int
        Draws for each secret.
    draw : callable
        From indices of secrets `(j,)` to reports `(j,)`.

    Raises
    ------
    SpecError
        If there is no such secret, or the size is negative.
    """
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise SpecError("size", f"is {size!r}", "give a number of draws")
    secrets = _indices(space, secret)
    count = int(size)
    try:
        drawn = np.empty(secrets.size * count, dtype=np.int64)
    except (MemoryError, ValueError, OverflowError):
        raise SpecError("size", f"is {count}, more than memory holds", "draw fewer at a time") from None
    # In blocks, so that what `draw` needs for each report does not add up; draw number i is of secret i // count.
    for start in range(0, len(drawn), _BLOCK):
        which = np.arange(start, min(start + _BLOCK, len(drawn))) // count
        drawn[start : start + len(which)] = draw(secrets.ravel()[which])
    return drawn.reshape(*secrets.shape, count)


class _Positions(dict[Any, int]):
    """Positions by label, each looked up when it is first met; all of them at once where labels are written down."""

    def __init__(self, space: Named) -> None:
        super().__init__()
        self.space = space
        if isinstance(space.labels, tuple):
            # The first of equal labels is written last, and so the one that is kept.
            self.update((label, index) for index, label in reversed(list(enumerate(space.labels))))

    def __missing__(self, label: Any) -> int:
        return self.setdefault(label, _index(self.space, label))


def _index(space: Named, secret: Any) -> int:
    if isinstance(secret, bool | np.bool_):
        raise SpecError("secret", f"is {secret}", "give an index or a label")
    return space.index(secret)


def _indices(space: Named, secret: Any) -> Indices:
    """Indices `()` of one secret, or `(k,)` of several."""
    # One secret, or labels as text or any objects; whatever makes no array at all becomes one of a wrong shape.
    try:
        secrets = np.asarray(secret)
        if not secrets.ndim:
            return np.array(_index(space, secret))
        if secrets.ndim == 1 and secrets.dtype.kind in "OUT":
            return np.fromiter(map(_Positions(space).__getitem__, secrets.tolist()), np.int64, len(secrets))
    except (TypeError, ValueError) as error:
        if isinstance(error, SpecError):
            raise
        secrets = np.empty((0, 0))
    # Indices: checked all at once. An empty list has no kind of its own.
    if secrets.ndim != 1 or (secrets.dtype.kind not in "iu" and len(secrets)):
        raise SpecError("secret", "is no list of indices or labels", "give one secret, or an array of them")
    if len(secrets) and (secrets.min() < 0 or secrets.max() >= len(space.labels)):
        raise SpecError("secret", "has an index out of range", f"indices run from 0 to {len(space.labels) - 1}")
    return secrets.astype(np.int64, copy=False)
