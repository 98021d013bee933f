"""The cells of a finite set of places in the plane, and how much planar Laplace noise falls into each.

The density β²/(2π) e^{-βr} has mass 1 - G(R) within distance R, where G(R) = (1 + βR) e^{-βR}, alike in all
directions. So what crosses a ridge, the border between two cells, as seen from a place at distance h from its line,
is

    F = 1/(2π) ∫ G(h cosh s) / cosh s ds        over the ridge, where h sinh s is the length along it,

and a cell holds what crosses into it less what crosses out of it. The integrand is smooth, the terms are as small as
the mass itself in cells that are far away, and none is lost: the masses sum to 1. For cells that are near, the same
sum is written with 1 - G instead of G and with the share of all directions in which the cell is unbounded, as that
is the way in which nothing cancels there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError, UnsupportedError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

CELLS = 50_000_000
_BLOCK = 1_000_000
_ALIKE = 1e-9
_PARALLEL = 1e-12
_MANY = 400
_EDGE_ON = 1e-15
_NEAR = 2.0
_STEEPEST = 6.0
_LONGEST = 1.0
_SECTIONS = 7
"""Beyond these sections a ridge counts for nothing: G has fallen by more than e^{-38}."""
_NODES, _WEIGHTS = (0.5 * rule for rule in np.polynomial.legendre.leggauss(12))
_UNDERFLOW = 740.0
_OFF = 1e-6


@dataclass(frozen=True, eq=False)
class Voronoi:
    """The nearest-place cells of m places in the plane; of places that coincide, the first has the cell.

    Attributes
    ----------
    centre : (2,) array
    places : (m, 2) array
        From the centre, so that places far from the origin lose nothing.
    pairs : (r, 2) array of int
        The two places between which each ridge lies.
    low, high : (r,) arrays
        Where the ridge begins and ends on the bisector, as lengths from the middle of the two; may be infinite. Along
        is the direction from the first place to the second turned left.
    opening : (m,) array
        The share of all directions in which each cell is unbounded.
    """

    centre: Array
    places: Array
    pairs: Indices
    low: Array
    high: Array
    opening: Array

    @classmethod
    def of(cls, places: Array) -> Voronoi:
        """The cells of places `(m, 2)`, all finite.

        Places nearer to each other than 1e-9 of the extent of all count as one; those that are within 1e-9 of a line
        are moved to it.
        """
        from scipy.spatial import KDTree

        centre, places = places[0], places - places[0]
        extent = float(np.ptp(places, axis=0).max())
        if extent == 0:
            first = (np.arange(len(places)) == 0).astype(float)
            return cls(centre, places, np.empty((0, 2), dtype=np.int64), np.empty(0), np.empty(0), first)
        alike = KDTree(places).query_pairs(_ALIKE * extent, output_type="ndarray")
        kept = np.setdiff1d(np.arange(len(places)), alike.max(axis=1, initial=-1))
        places[kept] = _straightened(places[kept])
        pairs, low, high = _ridges(places[kept])
        pairs = kept[pairs]
        return cls(centre, places, pairs, low, high, _opening(places, pairs, low, high))

    def masses(self, secrets: Array, rate: float) -> Array:
        """The mass `(n, m)` of each cell under noise of rate β around each secret `(n, 2)`; rows sum to 1.

        Where some places are nearer to each other than 1e-5 of the extent of all, corners of cells are known to fewer
        digits, and rows are scaled by up to 1e-6.

        Raises
        ------
        UnsupportedError
            If there are more than 50 million.
        CertificateError
            If those of a secret do not sum to 1 up to that.
        """
        count = len(secrets) * len(self.places)
        if count > CELLS:
            raise UnsupportedError("space", f"asks for {count:,} cells", f"planar_laplace has {CELLS:,} at most")
        high = max(1, _BLOCK // max(len(self.pairs), len(self.places)))
        secrets = secrets - self.centre
        blocks = [self._block(secrets[i : i + high], rate) for i in range(0, len(secrets), high)]
        masses = np.maximum(np.concatenate(blocks), 0.0)
        totals = masses.sum(axis=1, keepdims=True)
        if np.abs(totals - 1).max() > _OFF:
            raise CertificateError("the cells do not cover the plane; the places are numerically degenerate")
        return masses / totals

    def _block(self, secrets: Array, rate: float) -> Array:
        if not len(self.pairs):
            return np.repeat(self.opening[None, :], len(secrets), axis=0)
        from scipy.sparse import csr_array

        first, second = self.places[self.pairs[:, 0]], self.places[self.pairs[:, 1]]
        across = (second - first) / np.hypot(*(second - first).T)[:, None]
        offset = secrets[:, None, :] - 0.5 * (first + second)
        beyond = (offset * across).sum(axis=2)
        along = offset[:, :, 1] * across[:, 0] - offset[:, :, 0] * across[:, 1]
        beyond[np.abs(beyond) <= _EDGE_ON * np.abs(along)] = 0.0
        start, end = self.low - along, self.high - along
        distance = np.hypot(beyond, np.maximum(np.maximum(start, -end), 0.0))
        near = self._distances(secrets, distance) < _NEAR / rate
        beside = near[:, self.pairs]
        faces = (beyond != 0) & (rate * distance < _UNDERFLOW)
        ones = np.ones(len(self.pairs))
        places = np.arange(len(self.pairs))
        into = csr_array(
            (np.concatenate([ones, -ones]), (np.tile(places, 2), self.pairs.T.ravel())),
            shape=(len(self.pairs), len(self.places)),
        )
        sums = []
        for inside, wanted in ((False, ~beside.all(axis=2) & faces), (True, beside.any(axis=2) & (beyond != 0))):
            shares = np.zeros(beyond.shape)
            shares[wanted] = np.sign(beyond[wanted]) * _seen(
                np.abs(beyond[wanted]), start[wanted], end[wanted], rate, inside=inside
            )
            sums.append(shares @ into)
        return np.where(near, self.opening - sums[1], sums[0])

    def _distances(self, secrets: Array, ridges: Array) -> Array:
        """From each secret to each cell `(n, m)`, given those to the ridges; ∞ for cells that are empty."""
        cells = self.pairs.T.ravel()
        order = np.argsort(cells, kind="stable")
        occupied, starts = np.unique(cells[order], return_index=True)
        distances = np.full((len(secrets), len(self.places)), np.inf)
        distances[:, occupied] = np.minimum.reduceat(ridges[:, order % len(self.pairs)], starts, axis=1)
        offset = secrets[:, None, :] - self.places[occupied]
        own = occupied[(offset**2).sum(axis=2).argmin(axis=1)]
        distances[np.arange(len(secrets)), own] = 0.0
        return distances


def _seen(height: Array, start: Array, end: Array, rate: float, *, inside: bool) -> Array:
    """1/(2π) ∫ G or, inside, 1 - G over the directions in which pieces `(k,)` of lines at some height are seen.

    On either side of the nearest point the panels end where βR has grown by a multiple of 6, or after 1 in s.
    """
    with np.errstate(over="ignore"):
        start, end = np.arcsinh(start / height), np.arcsinh(end / height)
    steepness, found = rate * height, np.zeros(len(height))
    for low, high in ((np.maximum(start, 0.0), end), (np.maximum(-end, 0.0), -start)):
        piece = np.flatnonzero(high > low)
        scale, low, high = steepness[piece], low[piece], high[piece]
        least = scale * np.cosh(low)
        for section in range(1, _SECTIONS + 1):
            upper = np.minimum(np.arccosh((least + section * _STEEPEST) / scale), high)
            found[piece] += _panels(scale, low, upper, inside=inside)
            more = upper < high
            piece, scale, least, low, high = piece[more], scale[more], least[more], upper[more], high[more]
        if inside:
            found[piece] += 2 * (np.arctan(np.tanh(0.5 * high)) - np.arctan(np.tanh(0.5 * low)))
    return found / (2 * math.pi)


def _panels(scale: Array, low: Array, high: Array, *, inside: bool) -> Array:
    """∫ of the density of βR = scale · cosh s, over cosh s, from low to high, `(k,)`."""
    count = np.ceil((high - low) / _LONGEST).astype(np.int64)
    width = (high - low) / np.maximum(count, 1)
    piece = np.repeat(np.arange(len(low)), count)
    place = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
    middle = low[piece] + (place + 0.5) * width[piece]
    stretch = np.cosh(middle[:, None] + width[piece, None] * _NODES)
    values = _density(scale[piece, None] * stretch, inside=inside) / stretch
    return np.bincount(piece, values @ _WEIGHTS, minlength=len(low)) * width


def _density(reach: Array, *, inside: bool) -> Array:
    """G = (1 + u) e^{-u} or, inside, 1 - G, which is a series where u is small."""
    if not inside:
        return (1 + reach) * np.exp(-reach)
    values = -np.expm1(-reach) - reach * np.exp(-reach)
    small = reach < 0.5
    part, series = reach[small], np.zeros(int(small.sum()))
    for order in range(16, 1, -1):
        series = series * part + (-1) ** order * (order - 1) / math.factorial(order)
    values[small] = series * part**2
    return values


def _ridges(places: Array) -> tuple[Indices, Array, Array]:
    """The ridges between places `(k, 2)` that are all different: pairs, and where they begin and end."""
    neighbours = _neighbours(places)
    found, low, high = [], [], []
    for a, near in enumerate(neighbours):
        apart = places[near] - places[a]
        ahead = apart / np.hypot(*apart.T)[:, None]
        turned = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
        slopes = 2 * (turned @ apart.T)
        room = (apart * (apart - apart[:, None, :])).sum(axis=2)
        parallel = np.abs(slopes) <= _PARALLEL * np.hypot(*apart.T)
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = room / slopes
        lowest = np.where(~parallel & (slopes < 0), meets, -np.inf).max(axis=1, initial=-np.inf)
        highest = np.where(~parallel & (slopes > 0), meets, np.inf).min(axis=1, initial=np.inf)
        lowest[(parallel & (room < 0)).any(axis=1)] = np.inf
        kept = (near > a) & (lowest < highest)
        found.append(np.stack([np.full(int(kept.sum()), a), near[kept]], axis=1))
        low.append(lowest[kept])
        high.append(highest[kept])
    return np.concatenate(found), np.concatenate(low), np.concatenate(high)


def _neighbours(places: Array) -> list[Indices]:
    """For each of k places others, among which are all whose cells touch its cell.

    Qhull leaves out some that are nearer to each other than about 1e-7 of the extent; then it is all, if not many.
    """
    axis, thin = _main_axis(places)
    if thin:
        order = np.argsort(places @ axis, kind="stable")
        pairs = np.stack([order[:-1], order[1:]], axis=1)
    else:
        from scipy.spatial import Voronoi as Diagram

        pairs = Diagram(places - places.mean(axis=0)).ridge_points
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    ends = ends[np.lexsort(ends.T[::-1])].astype(np.int64)
    counts = np.bincount(ends[:, 0], minlength=len(places))
    if counts.min() == 0 and len(places) < _MANY:
        return [np.delete(np.arange(len(places)), a) for a in range(len(places))]
    return np.split(ends[:, 1], np.cumsum(counts)[:-1])


def _main_axis(places: Array) -> tuple[Array, bool]:
    """The direction `(2,)` in which places spread most, and whether they are on a line."""
    _, spread, axes = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    return axes[0], len(places) == 2 or bool(spread[1] <= _ALIKE * spread[0])


def _straightened(places: Array) -> Array:
    """Places on a line up to rounding, moved to that line."""
    axis, thin = _main_axis(places)
    middle = places.mean(axis=0)
    return middle + np.outer((places - middle) @ axis, axis) if thin and len(places) > 2 else places


def _opening(places: Array, pairs: Indices, low: Array, high: Array) -> Array:
    """The angle between the two rays that bound an unbounded cell, over 2π; cells between parallel lines have 0."""
    across = places[pairs[:, 1]] - places[pairs[:, 0]]
    turned = np.arctan2(across[:, 0], -across[:, 1])
    rays = np.concatenate([turned[np.isinf(high)], turned[np.isinf(low)] + math.pi])
    cells = np.concatenate([pairs[np.isinf(high)], pairs[np.isinf(low)]])
    opening = np.zeros(len(places))
    for cell in np.unique(cells):
        ends = rays[(cells == cell).any(axis=1)]
        if len(ends) == 2:
            opening[cell] = abs((ends[1] - ends[0] + math.pi) % (2 * math.pi) - math.pi)
    return opening / opening.sum()
