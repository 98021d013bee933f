"""Whether a row of a comparison has the channel that its name promises, for names that are derived here.

With distances d that are symmetric and reports that are the secrets, ratios of entries are known:

- exponential: K[x, z] / K[x, x] = e^{-εd(x, z)/2} (McSherry and Talwar 2007);
- tight: K[x, z] / K[z, z] = e^{-εd(x, z)} (CABP13 §6);
- geometric: K[x, z] / K[z, z] = e^{-c d₁(x, z)}, c the least εd / d₁ of two points, d₁ their Manhattan distance;
- randomised_response: K[x, z] is the same for all z other than x;
- truncated_exponential: K[x, z] / K[x, x] = e^{-ε min(d(x, z), γ)/2}, γ = (2/ε) ln(999 (n - 1)) (Carvalho, Vasiloudis
  and Feyisetan 2021);
- graph_exponential: K[x, z] / K[x, x] = e^{-c d(x, z)} for one c ≥ ε/2 (Takagi et al. 2019).

They are compared in doubles, up to 1e-6 and to what a repair may move: this is about names, not about proofs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.folder import Result
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.verdict import Unproved

Array = NDArray[np.float64]
_CLOSE = 1e-6
_REPAIRED = 1e-10
_CLEAR = 1e-3
"""Entries above this part of the diagonal are far above what a repair moves: the rate is read from them."""


def check_named(result: Result, name: str) -> str:
    """What the name says of the channel; Unproved where the channel is another one."""
    distances = result.distances
    square = result.matrix.shape == distances.shape and result.secrets
    if name not in _RATIOS or not result.private or not square or not np.array_equal(distances, distances.T):
        return "its name is that which its owner gave it"
    matrix = result.matrix
    with np.errstate(invalid="ignore"):
        known = _RATIOS[name](result, matrix)
    off = np.abs(matrix - known) > _CLOSE * known + _REPAIRED
    if off.any():
        x, z = np.argwhere(off)[0].tolist()
        raise Unproved(
            f"it is called {name}, but is not that for secret {result.secret(x)} and report {result.report(z)}"
        )
    return f"it is {name}"


def _exponential(result: Result, matrix: Array) -> Array:
    return matrix.diagonal()[:, None] * np.exp(-result.epsilon * result.distances / 2)


def _tight(result: Result, matrix: Array) -> Array:
    return matrix.diagonal()[None, :] * np.exp(-result.epsilon * result.distances)


def _geometric(result: Result, matrix: Array) -> Array:
    points = _coordinates(result)
    if points is None:
        return matrix
    apart = np.abs(points[:, None, :] - points[None, :, :]).sum(axis=2)
    rates = result.epsilon * result.distances / np.where(apart > 0, apart, 1.0)
    rate = float(np.min(rates, where=apart > 0, initial=np.inf))
    return matrix.diagonal()[None, :] * np.where(apart > 0, np.exp(-rate * apart), 1.0)


def _response(result: Result, matrix: Array) -> Array:
    others = ~np.eye(len(matrix), dtype=bool)
    return np.where(others, matrix.max(where=others, initial=0.0), matrix)


def _truncated(result: Result, matrix: Array) -> Array:
    furthest = 2 * np.log(999.0 * max(len(matrix) - 1, 1))
    return matrix.diagonal()[:, None] * np.exp(-np.minimum(result.epsilon * result.distances, furthest) / 2)


def _graph(result: Result, matrix: Array) -> Array:
    distances = result.distances
    own = np.broadcast_to(matrix.diagonal()[:, None], matrix.shape)
    clear = (distances > 0) & np.isfinite(distances) & (matrix > _CLEAR * own)
    if not clear.any():
        return matrix
    rate = float(np.median(np.log(own[clear] / matrix[clear]) / distances[clear]))
    return own * np.exp(-max(rate, result.epsilon / 2) * distances)


_RATIOS = {
    "exponential": _exponential,
    "tight": _tight,
    "geometric": _geometric,
    "randomised_response": _response,
    "truncated_exponential": _truncated,
    "graph_exponential": _graph,
}


def _coordinates(result: Result) -> Array | None:
    """The coordinates of the secrets, where these are finite numbers."""
    kind = str(result.mechanism["space.kind"])
    found = result.mechanism["space.points"] if kind == "points" else None
    if kind in ("lattice", "torus"):
        found = Space.read(result.mechanism).points
    numeric = found is not None and found.dtype.kind in "fiu" and found.ndim == 2 and np.isfinite(found).all()
    return found.astype(np.float64) if found is not None and numeric else None
