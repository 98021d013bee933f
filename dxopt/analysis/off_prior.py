"""Evaluate a mechanism off its prior: the worst loss, secrets of prior 0, reports never made."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.arguments import loss_of, matching
from dxopt.model.loss import Loss, LossLike
from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.model.prior import PriorLike
from dxopt.model.sampling import required_mechanism
from dxopt.runtime.display import Shown

HARDLY = 1e-6
"""A report that no secret makes with this probability is hardly ever made."""


@dataclass(frozen=True, eq=False, repr=False)
class OffPrior(Shown):
    """Costs of a mechanism off its prior, and the reports that it never makes.

    An optimum for a prior owes nothing to secrets of prior 0: they may lose much more than the value promises.

    Attributes
    ----------
    losses : (n,) array or None
        Σ_z K[x, z] l(x, z) of each secret x, perhaps infinite; None where that is not known from structure.
    unlikely : (u,) int64 array
        The secrets of prior 0, by index.
    never : (v,) int64 array or None
        The reports of probability 0 whatever the secret, by index; None where that is not known from structure.
    hardly : (w,) int64 array or None
        The reports that are made with a positive probability, but below 1e-6 whatever the secret; None likewise.
    """

    losses: NDArray[np.float64] | None
    unlikely: NDArray[np.int64]
    never: NDArray[np.int64] | None
    hardly: NDArray[np.int64] | None

    @property
    def worst(self) -> int | None:
        """The secret that loses most, by index; the first of several."""
        return None if self.losses is None else int(self.losses.argmax())

    @property
    def worst_unlikely(self) -> int | None:
        """The secret of prior 0 that loses most, by index; None where there is none."""
        if self.losses is None or not len(self.unlikely):
            return None
        return int(self.unlikely[self.losses[self.unlikely].argmax()])

    @property
    def mean_unlikely(self) -> float | None:
        """The mean loss of the secrets of prior 0, each counted once; None where there is none."""
        if self.losses is None or not len(self.unlikely):
            return None
        return math.fsum(self.losses[self.unlikely]) / len(self.unlikely)

    @property
    def not_reported(self) -> NDArray[np.int64] | None:
        """The reports that are never or hardly ever made, by index and in order."""
        parts = [part for part in (self.never, self.hardly) if part is not None]
        return np.sort(np.concatenate(parts)) if parts else None


def off_prior(mechanism: Mechanism, prior: PriorLike, loss: LossLike | Loss = "distance") -> OffPrior:
    """Find the costs of secrets of prior 0, the secret with the largest cost, and the reports that are never made.

    For a mechanism that is not written down, it finds only what follows from its structure, or from at most 25
    million pairs of a secret and a report.

    Parameters
    ----------
    mechanism, prior, loss
        As for `expected_loss`.

    Raises
    ------
    SpecError
        If prior or loss do not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> space = dx.line(3)
    >>> prior = dx.Prior.from_weights(space, [1, 1, 0])
    >>> found = dx.evaluate.off_prior(dx.classic.remapped(dx.classic.geometric(space, epsilon=1.0), prior), prior)
    >>> print(found.losses.round(2).tolist(), found.never.tolist())
    [0.27, 0.27, 1.1] [2]
    """
    required_mechanism(mechanism, Mechanism)
    probabilities = matching(mechanism, prior)
    resolved = loss_of(mechanism, loss)
    written = isinstance(mechanism, MatrixMechanism)
    losses = mechanism.losses(resolved) if written else mechanism.structured_losses(resolved)
    never = hardly = None
    if written:
        most = mechanism.matrix.max(axis=0)
        never = np.flatnonzero(most == 0)
        hardly = np.flatnonzero((most > 0) & (most < HARDLY))
    elif (reported := mechanism.reported()) is not None:
        never = np.flatnonzero(~reported)
    return OffPrior(losses, np.flatnonzero(probabilities == 0), never, hardly)


def unreported_ends(
    mechanism: Mechanism, silent: NDArray[np.int64]
) -> tuple[tuple[str, str] | None, tuple[str, str] | None]:
    """Return the labels of the lowest secret of a line and of the nearest one that is reported; likewise the highest.

    They are for a warning that answers never reach an end. `silent` are the reports that are never or hardly ever
    made, by index. Each pair is None where that end is reported; both are None where secrets are not numbers on a
    line, or not the reports.
    """
    space = mechanism.space
    if space.structure.kind != "path" or not mechanism.reports.secrets or space.points is None:
        return None, None
    order = np.argsort(space.points[:, 0])
    spoken = order[~np.isin(order, silent)]
    found = [(int(order[end]), int(spoken[end])) for end in (0, -1)]
    labels = {place: str(space.labels[place]) for pair in found for place in pair}
    # Labels that are not the numbers of their points would not say which end is meant.
    if any(_number(label) != space.points[place, 0] for place, label in labels.items()):
        return None, None
    lowest, highest = (None if end == nearest else (labels[end], labels[nearest]) for end, nearest in found)
    return lowest, highest


def _number(label: str) -> float:
    """Return the number that a label is; NaN, which is equal to nothing, where it is none."""
    try:
        return float(label)
    except ValueError:
        return math.nan
