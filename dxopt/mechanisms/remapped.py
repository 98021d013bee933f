"""Kernel mechanisms whose reports are replaced by a table: post-processing that is never written down."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError
from dxopt.mechanisms.kernel import KernelMechanism
from dxopt.mechanisms.kernel import read as read_kernel
from dxopt.mechanisms.lowering import lowered_epsilon
from dxopt.model.loss import Loss, Reports
from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.model.reports import pack_reports, unpack_reports
from dxopt.runtime.archive import Arrays, nested, part
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_ROUNDINGS = 8
"""Relative roundings of 2^-53 for which the ε of the base leaves room."""


@dataclass(frozen=True, eq=False, repr=False)
class RemappedMechanism(Mechanism):
    """A kernel mechanism that reports `table[i]` instead of i. Made by `remapped`, which proves it private.

    Attributes
    ----------
    base : KernelMechanism
        The mechanism before the remap; it reports secrets.
    table : (n,) int64 array
        For each secret that the base may report, the index of the report given instead.
    """

    space: MetricSpace
    reports: Reports
    base: KernelMechanism
    table: Indices
    name: str
    privacy: Privacy | None

    def _rows(self, secrets: Indices) -> Array:
        from dxopt.numerics.row_deficit import grouped

        return grouped(self.base.rows(secrets), self.table, len(self.reports))

    def packed(self) -> Arrays:
        own = {"table": self.table, **pack_reports(self.reports)}
        return self.packed_identity() | own | nested(0, self.base.packed())

    def _draw(self, secrets: Indices, rng: np.random.Generator | None) -> Indices:
        return self.table[self.base.sample(index=secrets, rng=rng)[:, 0]]

    def reported(self) -> NDArray[np.bool_]:
        made = np.zeros(len(self.reports), dtype=bool)
        made[self.table[self.base.reported()]] = True
        return made

    def cost(self, prior: Array, loss: Loss) -> float:
        if (self.table == self.table[0]).all():
            return math.fsum(prior * np.where(prior > 0, loss.column(int(self.table[0])), 0.0))
        same = loss.reports.secrets and np.array_equal(self.table, np.arange(len(self.table)))
        if same and self.base.structured(loss):
            return self.base.cost(prior, loss)
        return self.base.cost_of_remap(prior, loss, self.table)


def epsilon_of_base(space: MetricSpace, epsilon: float) -> float:
    """The ε' at which a kernel mechanism has to be private for its remap to be private at ε."""
    return lowered_epsilon(space, epsilon, _ROUNDINGS)


def remapped(base: KernelMechanism, table: Indices, reports: Reports, epsilon: float) -> RemappedMechanism:
    """A kernel mechanism `(n, n)` with its reports replaced by a table `(n,)`, proven private at ε.

    An entry of the remap is the sum of the base's entries over the reports that become one, and sums obey the same
    inequalities (CABP13 §3). In doubles each sum is off by 2^-53 relative and a little more, for which the ε of the
    base, at most `epsilon_of_base`, leaves room. Row sums stay within 2^-50 of 1, as those of the base are within
    2^-52. No entry of the base underflows.

    Raises
    ------
    CertificateError
        If the ε of the base leaves no such room, or the table does not fit.
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
