"""A kernel mechanism whose reports are replaced by a table: post-processing that is never written down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError
from dxopt.mechanisms.kernel import KernelMechanism, lowered_epsilon
from dxopt.mechanisms.kernel import read as read_kernel
from dxopt.model.loss import Loss, Reports, pack_reports, unpack_reports
from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.runtime.archive import Arrays, nested, part
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Places = NDArray[np.int64]

_REMAPPED = 8


@dataclass(frozen=True, eq=False, repr=False)
class RemappedMechanism(Mechanism):
    """A kernel mechanism that says `table[i]` instead of i. Make it with `remapped`.

    Attributes
    ----------
    base : KernelMechanism
    table : (n,) int64 array
        Indices among the reports.
    """

    space: MetricSpace
    reports: Reports
    base: KernelMechanism
    table: Places
    name: str
    privacy: Privacy | None

    def rows(self, secrets: Places) -> Array:
        from dxopt.numerics.sums import grouped

        return grouped(self.base.rows(secrets), self.table, len(self.reports))

    def packed(self) -> Arrays:
        own = {"table": self.table, **pack_reports(self.reports)}
        return self.packed_identity() | own | nested(0, self.base.packed())

    def _draw(self, places: Places, rng: np.random.Generator | None) -> Places:
        return self.table[self.base.sample(places, 1, rng)[:, 0]]

    def cost(self, prior: Array, loss: Loss) -> float:
        return self.base.cost_by_rows(prior, lambda secrets: loss.rows(secrets)[:, self.table])


def epsilon_of_base(space: MetricSpace, epsilon: float) -> float:
    """The level to ask of a kernel mechanism that is to be remapped at ε."""
    return lowered_epsilon(space, epsilon, _REMAPPED)


def remapped(base: KernelMechanism, table: Places, reports: Reports, epsilon: float) -> RemappedMechanism:
    """Post-process a kernel mechanism `(n, n)` by a table `(n,)` into the reports, and prove it private at ε.

    Sums of its entries obey the same inequalities (CABP13 §3). In doubles each sum is off by 2^-53 relative and a
    little more, which the level of the base, below `epsilon_of_base`, leaves room for; it also keeps row sums within
    2^-50 of 1, as those of the base are within 2^-52. No entry of the base underflows.

    Raises
    ------
    CertificateError
        If the level of the base leaves no such room, or the table does not fit.
    """
    if base.privacy is None or base.privacy.epsilon > epsilon_of_base(base.space, epsilon):
        raise CertificateError("the level of the mechanism to remap leaves no room for rounding")
    if table.shape != (len(base.space),) or table.min() < 0 or table.max() >= len(reports):
        raise CertificateError("the remap does not fit the reports")
    how = f"post-processing keeps privacy; before it, {base.privacy.how}"
    return RemappedMechanism(base.space, reports, base, table, f"{base.name}, remapped", Privacy(epsilon, how))


def read(arrays: Arrays) -> Mechanism:
    """The mechanism of `RemappedMechanism.packed`, proven again; SpecError or CertificateError where that fails."""
    base = read_kernel(part(arrays, 0))
    return remapped(base, arrays["table"], unpack_reports(arrays, base.space), float(arrays["epsilon"]))
