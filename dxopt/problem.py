"""What is asked: a space, a privacy level, a prior and a loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.loss import Loss, LossLike, Reports
from dxopt.prior import Prior
from dxopt.spaces.space import MetricSpace


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
        if len(resolved.matrix) != len(space):
            raise SpecError("loss", f"has {len(resolved.matrix)} rows for {len(space)} points", "match them")
        infinite = np.argwhere(np.isinf(resolved.matrix) & (prior.probabilities > 0)[:, None])
        if len(infinite):
            row, column = infinite[0]
            raise SpecError(
                "loss",
                f"is infinite for secret {space.labels[row]} and report {resolved.reports.labels[column]}, "
                "where the prior is positive",
                "give finite losses",
            )

    def __repr__(self) -> str:
        return f"<Problem {self.name}: {len(self.space)} secrets, epsilon {self.epsilon:g}, {self.loss.name} loss>"

    @property
    def reports(self) -> Reports:
        """What the m columns of a channel stand for."""
        return self.loss.reports

    @property
    def losses(self) -> NDArray[np.float64]:
        """Losses l(x, w), `(n, m)`."""
        return self.loss.matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Secrets n and reports m."""
        return len(self.space), len(self.reports)

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
        with np.errstate(over="ignore"):
            budgets = self.epsilon * self.space.distances
        budgets.flags.writeable = False
        return budgets


def checked_level(epsilon: float) -> float:
    """ε as a float; SpecError unless it is positive and finite."""
    try:
        level = float(epsilon)
    except (TypeError, ValueError):
        raise SpecError("epsilon", f"{epsilon!r} is not a number", "give a positive number") from None
    if not (np.isfinite(level) and level > 0):
        raise SpecError("epsilon", f"is {level:g}", "give a positive finite number")
    return level
