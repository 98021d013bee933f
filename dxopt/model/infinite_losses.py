"""Infinite losses: where they would count, without a matrix of losses where none is needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.model.loss import Loss
from dxopt.spaces.space import MetricSpace

_BLOCK_CELLS = 4_000_000


def require_finite(space: MetricSpace, reach: NDArray[np.bool_], loss: Loss, where: str) -> None:
    """Raise SpecError where a secret that is reached has an infinite loss; `where` says which secrets these are."""
    found = _infinite(space, reach, loss)
    if found is None:
        return
    row, column = found
    wrong = f"is infinite for secret {space.labels[row]} and report {loss.reports.labels[column]}{where}"
    if loss.by_distance and loss.reports.secrets and np.isinf(space.block(np.array([row]), np.array([column]))).all():
        wrong = f"{wrong}, as no path of finite length leads from one to the other"
        raise SpecError("loss", wrong, "join them, or use loss: binary")
    raise SpecError("loss", wrong, "give finite losses")


def _infinite(space: MetricSpace, reach: NDArray[np.bool_], loss: Loss) -> tuple[int, int] | None:
    """A secret that is reached and a report with an infinite loss, or None.

    Named losses are infinite only where the distance is, or where they overflow: where all distances are known to be
    finite, the losses of the first and the last point, which are the furthest apart on lattices, are enough.
    """
    everything = np.arange(len(space))
    if loss.by_distance and _bounded(space) and np.isfinite(loss.rows(everything[[0, -1]])).all():
        return None
    step = max(1, _BLOCK_CELLS // len(loss.reports))
    for secrets in np.split(everything, range(step, len(space), step)):
        found = np.argwhere(np.isinf(loss.rows(secrets)) & reach[secrets][:, None])
        if len(found):
            return int(secrets[found[0, 0]]), int(found[0, 1])
    return None


def _bounded(space: MetricSpace) -> bool:
    """Return True if structure tells that all distances are finite; factors of a product may need their distances."""
    if space.structure.kind == "product":
        return all(_bounded(factor) or np.isfinite(factor.distances).all() for factor in space.structure.factors)
    return space.structure.kind in ("path", "lattice", "torus")
