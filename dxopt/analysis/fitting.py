"""The loss of a mechanism: one column for each of its reports."""

from __future__ import annotations

from dxopt.errors import SpecError
from dxopt.model.loss import Loss, LossLike
from dxopt.model.mechanism import Mechanism


def loss_of(mechanism: Mechanism, loss: LossLike | Loss) -> Loss:
    """The loss of each report of the mechanism; SpecError where their numbers differ."""
    resolved = Loss.of(loss, mechanism.space, mechanism.reports if isinstance(loss, str) else None)
    if len(resolved.reports) != len(mechanism.reports):
        raise SpecError("loss", f"has {len(resolved.reports)} columns", f"the mechanism has {len(mechanism.reports)}")
    return resolved
