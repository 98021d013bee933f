"""Randomness: a generator that was passed, or the operating system's; and whose reports are asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError

Places = NDArray[np.int64]


def uniforms(size: int, rng: np.random.Generator | None = None) -> NDArray[np.float64]:
    """Numbers in [0, 1), multiples of 2^-53, `(size,)`: from `rng`, or from the operating system without it."""
    if rng is not None:
        return rng.random(size)
    return (words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def words(size: int, rng: np.random.Generator | None = None) -> NDArray[np.uint64]:
    """Words of 64 random bits, `(size,)`: from `rng`, or from the operating system without it."""
    if rng is not None:
        return rng.integers(0, 2**64, size, dtype=np.uint64)
    return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)


def by_rows(places: Places, row: Callable[[int], NDArray[np.float64]], rng: np.random.Generator | None) -> Places:
    """For each of the places `(k,)` one index in proportion to its row; a row is asked for once."""
    drawn, uniform = np.empty(len(places), dtype=np.int64), uniforms(len(places), rng)
    for place, which in alike(places):
        cumulative = np.cumsum(row(place))
        drawn[which] = np.searchsorted(cumulative, uniform[which] * cumulative[-1], side="right")
    return drawn


def alike(places: Places) -> Iterator[tuple[int, Places]]:
    """Each of the different places, with where among `places` `(k,)` it stands."""
    if not len(places):
        return
    small = places.astype(np.uint16) if places.max() < 2**16 else places
    order = np.argsort(small, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.diff(ordered)) + 1
    for which in np.split(order, starts):
        yield int(places[which[0]]), which


class Named(Protocol):
    """Points with labels, as of a space."""

    @property
    def labels(self) -> Sequence[str]: ...

    def index(self, label: Any) -> int:
        """Position of a point given by its label, or by its index; SpecError where there is none."""
        ...


def draws(space: Named, secret: Any, size: int, draw: Callable[[Places], Places]) -> Places:
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
    if size != int(size) or size < 0:
        raise SpecError("size", f"is {size}", "give a number of draws")
    if np.ndim(secret) == 0:
        return draw(np.full(int(size), space.index(secret)))
    places = _places(space, np.asarray(secret))
    return draw(np.repeat(places, int(size))).reshape(len(places), int(size))


class _Positions(dict[Any, int]):
    """Positions by label, each looked up when it is first met; all of them at once where labels are written down."""

    def __init__(self, space: Named) -> None:
        super().__init__()
        self.space = space
        if isinstance(space.labels, tuple):
            self.update((label, place) for place, label in reversed(list(enumerate(space.labels))))

    def __missing__(self, label: Any) -> int:
        return self.setdefault(label, self.space.index(label))


def _places(space: Named, secrets: NDArray[Any]) -> Places:
    if secrets.ndim != 1 or secrets.dtype.kind not in "iuOUT":
        raise SpecError("secret", "is no list of indices or labels", "give one secret, or an array of them")
    if secrets.dtype.kind not in "iu":
        return np.fromiter(map(_Positions(space).__getitem__, secrets.tolist()), np.int64, len(secrets))
    if len(secrets) and (secrets.min() < 0 or secrets.max() >= len(space.labels)):
        raise SpecError("secret", "has an index out of range", f"indices run from 0 to {len(space.labels) - 1}")
    return secrets.astype(np.int64, copy=False)
