"""Integrate planar Laplace noise across pieces of lines: the quadrature behind the masses of Voronoi cells.

The density β²/(2π) e^{-βr} has mass G(R) = (1 + βR) e^{-βR} beyond distance R, alike in all directions. A line at
distance h is met at distance h cosh s in the direction of the point on it at length h sinh s from its foot, the point
nearest to the secret, and that direction turns by ds / cosh s. So the noise that crosses a piece of it has the mass

    F = 1/(2π) ∫ G(h cosh s) / cosh s ds        over the piece.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

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
    """1/(2π) ∫ G or, inside, 1 - G over the directions in which pieces `(k,)` of lines are seen.

    That is the mass F beyond each piece or, inside, the mass between it and the secret.

    Parameters
    ----------
    height : (k,) array
        h > 0, the distance of the secret to each line.
    start, end : (k,) arrays
        Where each piece begins and ends, as lengths along its line from the foot; may be infinite.
    rate : float
        β.
    inside : bool
        Whether the mass before the line is meant, 1 - G, instead of that beyond it.
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
    """∫ of G or 1 - G at βR = scale · cosh s, over cosh s, from low to high, `(k,)`."""
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
    """G = (1 + u) e^{-u} at u = βR or, inside, 1 - G, where small u take the series Σ_{k ≥ 2} (-u)^k (k - 1)/k!."""
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
