"""What is asked: a space, a privacy level, a prior and a loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, UnsupportedError
from dxopt.loss import Loss, LossLike, Reports
from dxopt.prior import Prior
from dxopt.spaces.space import MetricSpace

MATRIX_CELLS = 50_000_000
_BLOCK_CELLS = 4_000_000


@dataclass(frozen=True, eq=False, init=False)
class Problem:
    """Find the ε·d-private channel of least expected loss (CABP13 §4.2, Cha13).

    Parameters
    ----------
    space : MetricSpace
        n secrets and their unscaled distances.
    epsilon : float
        Privacy level per unit of distance. A pair's budget is the real product of the doubles `epsilon` and
        `space.distances[x, x']`.
    prior : Prior
    loss : str, array, callable or Loss
        See `Loss.of`.
    reports : Reports, optional
        What may be reported; the secrets by default.
    name : str

    Raises
    ------
    SpecError
        If ε is not positive, sizes differ, or the loss is infinite where the prior is positive.
    """

    space: MetricSpace
    epsilon: float
    prior: Prior
    loss: Loss
    name: str

    def __init__(
        self,
        space: MetricSpace,
        *,
        epsilon: float,
        prior: Prior,
        loss: LossLike | Loss = "distance",
        reports: Reports | None = None,
        name: str = "problem",
    ) -> None:
        resolved = Loss.of(loss, space, reports)
        fields = {
            "space": space,
            "epsilon": checked_level(epsilon),
            "prior": prior,
            "loss": resolved,
            "name": name,
        }
        for key, value in fields.items():
            object.__setattr__(self, key, value)
        if len(prior) != len(space):
            raise SpecError("prior", f"has {len(prior)} entries for {len(space)} points", "match them")
        rows = resolved.size if resolved.by_distance else len(resolved.matrix)
        if rows != len(space):
            raise SpecError("loss", f"has {rows} rows for {len(space)} points", "match them")
        infinite = _infinite(space, prior, resolved)
        if infinite is not None:
            row, column = infinite
            raise SpecError(
                "loss",
                f"is infinite for secret {space.labels[row]} and report {resolved.reports.labels[column]}, "
                "where the prior is positive",
                "give finite losses",
            )

    def __repr__(self) -> str:
        return f"<Problem {self.name}: {len(self.space)} secrets, epsilon {self.epsilon:g}, {self.loss.name} loss>"

    def at(self, epsilon: float) -> Problem:
        """The same problem at another level."""
        return Problem(self.space, epsilon=epsilon, prior=self.prior, loss=self.loss, name=self.name)

    @property
    def reports(self) -> Reports:
        """What the m columns of a channel stand for."""
        return self.loss.reports

    @property
    def losses(self) -> NDArray[np.float64]:
        """Losses l(x, w), `(n, m)`; UnsupportedError above 50 million, as for `costs` and `budgets`."""
        self._require_cells(*self.shape)
        return self.loss.matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Secrets n and reports m."""
        return len(self.space), len(self.reports)

    @property
    def variables(self) -> int:
        """The number n·m of entries of a channel."""
        return math.prod(self.shape)

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """π_x l(x, w), `(n, m)`; 0 where the prior is 0, whatever the loss."""
        weights = self.prior.probabilities[:, None]
        costs = np.where(weights > 0, weights * np.where(weights > 0, self.losses, 0.0), 0.0)
        costs.flags.writeable = False
        return costs

    @cached_property
    def budgets(self) -> NDArray[np.float64]:
        """ε·d(x, x') rounded to doubles, `(n, n)`."""
        self._require_cells(len(self.space), len(self.space))
        with np.errstate(over="ignore"):
            budgets = self.epsilon * self.space.distances
        budgets.flags.writeable = False
        return budgets

    def _require_cells(self, rows: int, columns: int) -> None:
        if rows * columns > MATRIX_CELLS:
            raise UnsupportedError(
                "space",
                f"needs a matrix of {rows:,} by {columns:,}, over the limit of {MATRIX_CELLS:,} entries",
                "take fewer points, or a line or product, which need no matrix",
            )


def _infinite(space: MetricSpace, prior: Prior, loss: Loss) -> tuple[int, int] | None:
    """A secret of positive prior and a report with an infinite loss, or None.

    Named losses are infinite only where the distance is, or where they overflow: where all distances are known to be
    finite, the losses of the first and the last point, which are the furthest apart on lattices, are enough.
    """
    everything = np.arange(len(space))
    if loss.by_distance and _bounded(space) and np.isfinite(loss.rows(everything[[0, -1]])).all():
        return None
    step = max(1, _BLOCK_CELLS // len(loss.reports))
    for secrets in np.split(everything, range(step, len(space), step)):
        found = np.argwhere(np.isinf(loss.rows(secrets)) & (prior.probabilities[secrets] > 0)[:, None])
        if len(found):
            return int(secrets[found[0, 0]]), int(found[0, 1])
    return None


def _bounded(space: MetricSpace) -> bool:
    """Whether all distances are finite as far as structure tells; factors of a product are looked at."""
    if space.structure.kind == "product":
        return all(_bounded(factor) or np.isfinite(factor.distances).all() for factor in space.structure.factors)
    return space.structure.kind in ("path", "lattice", "torus")


def checked_level(epsilon: float) -> float:
    """ε as a float; SpecError unless it is positive and finite."""
    try:
        level = float(epsilon)
    except (TypeError, ValueError):
        raise SpecError("epsilon", f"{epsilon!r} is not a number", "give a positive number") from None
    if not (np.isfinite(level) and level > 0):
        raise SpecError("epsilon", f"is {level:g}", "give a positive finite number")
    return level
