"""The cells of a finite set of sites in the plane, and how much planar Laplace noise falls into each.

The density β²/(2π) e^{-βr} has mass G(R) = (1 + βR) e^{-βR} beyond distance R, alike in all directions. A line at
distance h is met at distance h cosh s in the direction of the point on it at length h sinh s from its foot, the point
nearest to the secret, and that direction turns by ds / cosh s. So the noise that crosses a piece of it has the mass

    F = 1/(2π) ∫ G(h cosh s) / cosh s ds        over the piece.

A ridge is the border between two cells: a piece of the line that is as near to one site as to the other. Two numbers
belong to each ridge: a, the share of all directions in which the secret sees it, and F ≤ a, the probability that the
noise crosses it. `crossing` computes F, and a - F as well, from the smooth integrands G and 1 - G.

A cell holds what crosses its ridges into it less what crosses them out of it, Σ ±F, and 1 more if the secret is in
it, where the noise starts. What one cell loses through a ridge another gains, so that the masses sum to 1. In a cell
that is far away the F are small, as its mass is. For cells that are near, the same sum is written with a - F, which
is small for ridges close to the secret, where F is nearly a (see `_masses_of_block`). Rounding is in proportion to
the numbers that are summed: the mass of a cell much narrower than 1/β has fewer digits than they have.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError, UnsupportedError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

_STEEPEST = 6.0
"""A section ends where βR has grown by this, so that a polynomial of low degree follows e^{-βR} on it."""
_SECTIONS = 7
"""Beyond these sections a piece counts for nothing: G has fallen by more than e^{-38}."""
_LONGEST = 1.0
"""A panel is at most this long in s."""
_NODES, _WEIGHTS = (0.5 * rule for rule in np.polynomial.legendre.leggauss(12))
"""Gauss-Legendre nodes and weights on [-1/2, 1/2]."""
_SMALL = 0.5
_LAST_ORDER = 16


def crossing(height: Array, start: Array, end: Array, rate: float, *, inside: bool) -> Array:
    """Return the probability F that noise crosses pieces `(k,)` of lines, or a - F if `inside`.

    That is 1/(2π) ∫ of G or 1 - G over the directions in which the secret sees a piece, whose share is a.

    The secret is at a `height` h > 0 from each line; `start` and `end` are lengths along it from the foot, which may
    be infinite; the rate is β.
    """
    # From lengths along the line to s.
    with np.errstate(over="ignore"):
        start = np.arcsinh(start / height)
        end = np.arcsinh(end / height)
    steepness = rate * height
    found = np.zeros(len(height))

    # The two sides of the foot are alike, as cosh is even. On either side, pieces are integrated section by section
    # away from the foot, and those that a section does not end go on to the next.
    for low, high in ((np.maximum(start, 0.0), end), (np.maximum(-end, 0.0), -start)):
        piece = np.flatnonzero(high > low)
        scale = steepness[piece]
        low = low[piece]
        high = high[piece]
        least = scale * np.cosh(low)
        for section in range(1, _SECTIONS + 1):
            upper = np.minimum(np.arccosh((least + section * _STEEPEST) / scale), high)
            found[piece] += _integral(scale, low, upper, inside=inside)
            more = upper < high
            piece = piece[more]
            scale = scale[more]
            least = least[more]
            low = upper[more]
            high = high[more]

        # What is left has G = 0. There 1 - G is 1, and ∫ ds / cosh s = 2 arctan(tanh(s/2)).
        if inside:
            found[piece] += 2 * (np.arctan(np.tanh(0.5 * high)) - np.arctan(np.tanh(0.5 * low)))
    return found / (2 * math.pi)


def _integral(scale: Array, low: Array, high: Array, *, inside: bool) -> Array:
    """Return ∫ G / cosh s ds from low to high, `(k,)`, with G at βR = scale · cosh s; of 1 - G if `inside`."""
    # Each interval is cut into panels of equal width; all panels of all intervals are one array.
    count = np.ceil((high - low) / _LONGEST).astype(np.int64)
    width = (high - low) / np.maximum(count, 1)
    interval = np.repeat(np.arange(len(low)), count)
    number = np.arange(len(interval)) - np.repeat(np.cumsum(count) - count, count)
    middle = low[interval] + (number + 0.5) * width[interval]

    # Gauss-Legendre on each panel, then the sum over the panels of each interval.
    stretch = np.cosh(middle[:, None] + width[interval, None] * _NODES)
    values = _mass(scale[interval, None] * stretch, inside=inside) / stretch
    return np.bincount(interval, values @ _WEIGHTS, minlength=len(low)) * width


def _mass(reach: Array, *, inside: bool) -> Array:
    """Return G = (1 + u) e^{-u} at u = βR or, inside, 1 - G, for small u as the series Σ_{k≥2} (-u)^k (k - 1)/k!."""
    if not inside:
        return (1 + reach) * np.exp(-reach)
    values = -np.expm1(-reach) - reach * np.exp(-reach)
    # Near 0 the two terms cancel: the series, by Horner's rule.
    small = reach < _SMALL
    part = reach[small]
    series = np.zeros(int(small.sum()))
    for order in range(_LAST_ORDER, 1, -1):
        series = series * part + (-1) ** order * (order - 1) / math.factorial(order)
    values[small] = series * part**2
    return values


ALIKE = 1e-9
"""Lengths below this part of the extent of all sites count as 0."""
_PARALLEL = 1e-12
_MANY = 400


def ridges(sites: Array) -> tuple[Indices, Array, Array]:
    """Find the borders of the cells of sites `(k, 2)`, all different: `pairs`, `low` and `high` of `Voronoi`."""
    found = []
    low = []
    high = []
    for a, near in enumerate(neighbours(sites)):
        # A point of the bisector of a and b is (b - a)/2 + t·n from a, where n is the direction to b turned left.
        to_neighbours = sites[near] - sites[a]
        direction = to_neighbours / np.hypot(*to_neighbours.T)[:, None]
        normal = np.stack([-direction[:, 1], direction[:, 0]], axis=1)

        # This point is at least as near to a as to c, for c another neighbour, if
        # t · 2n·(c - a) ≤ (c - a)·((c - a) - (b - a)): one inequality t · slopes[b, c] ≤ room[b, c] for each c.
        slopes = 2 * (normal @ to_neighbours.T)
        room = (to_neighbours * (to_neighbours - to_neighbours[:, None, :])).sum(axis=2)

        # Positive slopes bound t from above, negative ones from below. If the slope is 0, the bisectors are parallel,
        # and c excludes the whole bisector with b (room < 0) or none of it; c = b has slope 0 and room 0.
        parallel = np.abs(slopes) <= _PARALLEL * np.hypot(*to_neighbours.T)
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = room / slopes
        lowest = np.where(~parallel & (slopes < 0), meets, -np.inf).max(axis=1, initial=-np.inf)
        highest = np.where(~parallel & (slopes > 0), meets, np.inf).min(axis=1, initial=np.inf)
        lowest[(parallel & (room < 0)).any(axis=1)] = np.inf

        # Each ridge is kept once, from its first site.
        kept = (near > a) & (lowest < highest)
        found.append(np.stack([np.full(int(kept.sum()), a), near[kept]], axis=1))
        low.append(lowest[kept])
        high.append(highest[kept])
    return np.concatenate(found), np.concatenate(low), np.concatenate(high)


def neighbours(sites: Array) -> list[Indices]:
    """Return for each of k sites other sites, among which are all whose cells touch its cell.

    Qhull leaves out some that are nearer to each other than about 1e-7 of the extent; then, of fewer than 400 sites,
    all others are returned.
    """
    # On a line, neighbours are next to each other; elsewhere Qhull finds them, by the Delaunay triangulation.
    axis, thin = _main_axis(sites)
    if thin:
        order = np.argsort(sites @ axis, kind="stable")
        pairs = np.stack([order[:-1], order[1:]], axis=1)
    else:
        from scipy.spatial import Voronoi as Diagram

        pairs = Diagram(sites - sites.mean(axis=0)).ridge_points

    # Both directions of each pair, sorted by the first site and then by the second, cut where the first one changes.
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    ends = ends[np.lexsort(ends.T[::-1])].astype(np.int64)
    counts = np.bincount(ends[:, 0], minlength=len(sites))
    if counts.min() == 0 and len(sites) < _MANY:
        return [np.delete(np.arange(len(sites)), a) for a in range(len(sites))]
    return np.split(ends[:, 1], np.cumsum(counts)[:-1])


def _main_axis(sites: Array) -> tuple[Array, bool]:
    """Return the direction `(2,)` in which sites spread most, and whether they are on a line."""
    _, spread, axes = np.linalg.svd(sites - sites.mean(axis=0), full_matrices=False)
    return axes[0], len(sites) == 2 or bool(spread[1] <= ALIKE * spread[0])


def openings(sites: Array, pairs: Indices, low: Array, high: Array) -> Array:
    """Return the share `(m,)` of all directions in which each cell is unbounded.

    It is the angle between the two rays that bound the cell, over 2π; for cells between parallel lines it is 0.
    """
    # A ridge without an end is a ray in the direction from its first site to its second turned left; one without a
    # beginning is a ray the other way.
    across = sites[pairs[:, 1]] - sites[pairs[:, 0]]
    angles = np.arctan2(across[:, 0], -across[:, 1])
    rays = np.concatenate([angles[np.isinf(high)], angles[np.isinf(low)] + math.pi])
    cells = np.concatenate([pairs[np.isinf(high)], pairs[np.isinf(low)]])

    # Each unbounded cell has two rays, at an angle of less than π.
    opening = np.zeros(len(sites))
    for cell in np.unique(cells):
        ends = rays[(cells == cell).any(axis=1)]
        if len(ends) == 2:
            opening[cell] = abs((ends[1] - ends[0] + math.pi) % (2 * math.pi) - math.pi)
    return opening / opening.sum()


CELLS = 100_000_000
"""The most masses that `planar_laplace` computes: secrets times sites."""
_BLOCK = 1_000_000
"""About as many pairs of a secret and a ridge, or of a secret and a site, are treated at a time."""
_EDGE_ON = 1e-15
"""A secret whose distance to a line is below this part of its distance along it, from the middle of the two sites, is
on the line up to rounding, and sees it edge-on."""
_NEAR = 2.0
"""Cells at a distance of less than this over β count as near. There G = 0.41, so that F and a - F are about alike."""
_UNDERFLOW = 740.0
"""Beyond this over β, e^{-βr} is 0 or subnormal in doubles."""
_OFF = 1e-6
"""The most by which the masses of a secret may miss a sum of 1; they are scaled to it."""


@dataclass(frozen=True, eq=False)
class Voronoi:
    """The nearest-site cells of m sites in the plane; of sites that coincide, the first has the cell.

    Attributes
    ----------
    centre : (2,) array
    sites : (m, 2) array
        From the centre, so that sites far from the origin lose nothing.
    pairs : (r, 2) array of int
        The two sites between which each ridge lies, the first below the second.
    low, high : (r,) arrays
        Where the ridge begins and ends on the bisector, as lengths from the middle of the two; may be infinite.
        Lengths count in the direction from the first site to the second, turned left by 90 degrees.
    opening : (m,) array
        The share of all directions in which each cell is unbounded; they sum to 1.
    """

    centre: Array
    sites: Array
    pairs: Indices
    low: Array
    high: Array
    opening: Array

    @classmethod
    def of(cls, sites: Array) -> Voronoi:
        """Find the cells of sites `(m, 2)`, of finite coordinates.

        Sites nearer to each other than 1e-9 of the extent of all count as one, which has the place of the first; if a
        and b, and b and c, are that close, b and c both go. Where all sites are within 1e-9 of a line, they are moved
        to it, and the masses are those of the moved sites.
        """
        from scipy.spatial import KDTree

        centre = sites[0]
        sites = sites - centre
        extent = float(np.ptp(sites, axis=0).max())

        # All sites are the same point: its cell is the plane.
        if extent == 0:
            opening = (np.arange(len(sites)) == 0).astype(float)
            return cls(centre, sites, np.empty((0, 2), dtype=np.int64), np.empty(0), np.empty(0), opening)

        # Ridges are those of the first site of each group of sites that count as one; `pairs` has indices among all.
        # The other sites of a group have no ridge and no opening, and so a mass of 0.
        alike = KDTree(sites).query_pairs(ALIKE * extent, output_type="ndarray")
        kept = np.setdiff1d(np.arange(len(sites)), alike.max(axis=1, initial=-1))
        # Sites on a line up to rounding are moved to it.
        axis, thin = _main_axis(sites[kept])
        if thin and len(kept) > 2:
            middle = sites[kept].mean(axis=0)
            sites[kept] = middle + np.outer((sites[kept] - middle) @ axis, axis)
        pairs, low, high = ridges(sites[kept])
        pairs = kept[pairs]
        return cls(centre, sites, pairs, low, high, openings(sites, pairs, low, high))

    def masses(self, secrets: Array, rate: float) -> Array:
        """Return the mass `(n, m)` of each cell under noise of rate β around each secret `(n, 2)`; rows sum to 1.

        Where some sites are nearer to each other than 1e-5 of the extent of all, corners of cells are known to fewer
        digits, and rows may sum to 1 only up to 1e-6; they are scaled. Beyond that it is a CertificateError.
        """
        count = len(secrets) * len(self.sites)
        if count > CELLS:
            raise UnsupportedError("space", f"asks for {count:,} cells", f"planar_laplace has {CELLS:,} at most")
        step = max(1, _BLOCK // max(len(self.pairs), len(self.sites)))
        secrets = secrets - self.centre
        parts = [secrets[i : i + step] for i in range(0, len(secrets), step)]
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as threads:
            blocks = list(threads.map(lambda part: self._masses_of_block(part, rate), parts))
        masses = np.maximum(np.concatenate(blocks), 0.0)
        totals = masses.sum(axis=1, keepdims=True)
        if np.abs(totals - 1).max() > _OFF:
            raise CertificateError("the cells do not cover the plane; the places are numerically degenerate")
        return masses / totals

    def _masses_of_block(self, secrets: Array, rate: float) -> Array:
        """Return the masses `(b, m)` for b secrets, whose coordinates count from the centre, up to rounding."""
        from scipy.sparse import csr_array

        if not len(self.pairs):
            return np.repeat(self.opening[None, :], len(secrets), axis=0)

        # Each ridge as each secret sees it, `(n, r)`: how far the secret is beyond the line, on the side of the
        # second site if positive, and where the ridge starts and ends along the line, from the secret's foot on it.
        first = self.sites[self.pairs[:, 0]]
        second = self.sites[self.pairs[:, 1]]
        across = (second - first) / np.hypot(*(second - first).T)[:, None]
        offset = secrets[:, None, :] - 0.5 * (first + second)
        beyond = (offset * across).sum(axis=2)
        along = offset[:, :, 1] * across[:, 0] - offset[:, :, 0] * across[:, 1]
        beyond[np.abs(beyond) <= _EDGE_ON * np.abs(along)] = 0.0
        start = self.low - along
        end = self.high - along

        # The sum with a - F is for near cells, the one with F for the others. A ridge counts in a sum if one of its
        # two cells takes that sum. Where G underflows, F is 0. Edge-on, a and F are 0, unless the secret is on the
        # ridge itself: then both its cells are near, and a - F is 0, as 1 - G(0) is.
        distance = np.hypot(beyond, np.maximum(np.maximum(start, -end), 0.0))
        # A cell is as far as the nearest of its ridges, a minimum over groups of ridges sorted by cell. It is at
        # 0 where its site is the nearest one to the secret, and infinitely far where it is empty. Entries i and i + r
        # of `cells` are the two cells of ridge i.
        cells = self.pairs.T.ravel()
        order = np.argsort(cells, kind="stable")
        occupied, starts = np.unique(cells[order], return_index=True)
        cell_distance = np.full((len(secrets), len(self.sites)), np.inf)
        cell_distance[:, occupied] = np.minimum.reduceat(distance[:, order % len(self.pairs)], starts, axis=1)
        offset = secrets[:, None, :] - self.sites[occupied]
        own = occupied[(offset**2).sum(axis=2).argmin(axis=1)]
        cell_distance[np.arange(len(secrets)), own] = 0.0
        near = cell_distance < _NEAR / rate
        of_near = near[:, self.pairs]
        for_far = ~of_near.all(axis=2) & (beyond != 0) & (rate * distance < _UNDERFLOW)
        for_near = of_near.any(axis=2) & (beyond != 0)
        # From ridges to cells, `(r, m)`: 1 for the first site of a ridge and -1 for the second. Noise around a secret
        # beyond the line, on the side of the second site, crosses into the cell of the first and out of that of the
        # second; around others it is the other way round, for which `flow` has the sign.
        ones = np.ones(len(self.pairs))
        rows = np.tile(np.arange(len(self.pairs)), 2)
        entries = (np.concatenate([ones, -ones]), (rows, self.pairs.T.ravel()))
        into = csr_array(entries, shape=(len(self.pairs), len(self.sites)))

        def flow(wanted: Mask, *, inside: bool) -> Array:
            """Return Σ ±F over the wanted ridges of each cell, or Σ ±(a - F) if `inside`, `(n, m)`.

            The sign is + where the ridge is crossed into the cell, and - where out of it.
            """
            shares = np.zeros(beyond.shape)
            shares[wanted] = np.sign(beyond[wanted]) * crossing(
                np.abs(beyond[wanted]), start[wanted], end[wanted], rate, inside=inside
            )
            return shares @ into

        # Every direction that crosses into a cell crosses out of it again, except for the share `opening`. So in a
        # cell without the secret Σ ±a = opening, and its mass is Σ ±F. In the cell of the secret every direction
        # starts, so that Σ ±a = opening - 1, and its mass is 1 + Σ ±F. In either case it is opening - Σ ±(a - F).
        far_masses = flow(for_far, inside=False)
        near_masses = self.opening - flow(for_near, inside=True)
        return np.where(near, near_masses, far_masses)
