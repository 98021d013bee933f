"""What the figures of a comparison are about: channels, other priors and duals, as arrays and back.

The file compared.npz holds, for the row of each place k from 0 that is not about the mechanism of the folder,
`k/matrix` `(n, m)`, or why it is left out as `k/left_out`; the other priors as `priors` (names) and `probabilities`
`(k, n)`; the dual of the bound as `bound/...`, unless that is the bound of the certificate; and the dual of the bound
under the prior of each place k as `bounds/k/...`. Arrays of a dual are as in dual.npz.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.proofs.duals import AnyDual, pack_dual, unpack_dual
from dxopt.results.comparison import Comparison
from dxopt.runtime.archive import Arrays, nested, part

if TYPE_CHECKING:
    from dxopt.results.report import Report

Array = NDArray[np.float64]
WRITTEN_TRIPLES = 50_000_000


@dataclass(frozen=True, eq=False)
class Evidence:
    """What proves the figures of a comparison.

    Attributes
    ----------
    channels : mapping of names of rows to (n, m) arrays or str
        Or why a channel is not written down.
    priors : mapping of names to (n,) arrays
        The other priors.
    dual : Dual of any kind or None
        What proves the bound.
    duals : mapping of names of priors to duals
        What proves the bounds under them.
    """

    channels: Mapping[str, Array | str]
    priors: Mapping[str, Array]
    dual: AnyDual | None
    duals: Mapping[str, AnyDual | None]

    def pack(self, report: Report, comparison: Comparison) -> Arrays:
        """The arrays of compared.npz, without what the other files of the report hold."""
        size, arrays = len(report.problem.space), {}
        for place, row in enumerate(comparison.rows):
            channel = self.channels.get(row.name)
            if isinstance(channel, str):
                arrays |= nested(place, {"left_out": channel})
            elif channel is not None and not _is_of(channel, report.mechanism):
                arrays |= nested(place, {"matrix": channel})
        if self.priors:
            arrays |= {"priors": list(self.priors), "probabilities": np.stack(list(self.priors.values()))}
        if comparison.bound not in (None, report.certificate.bound):
            arrays |= nested("bound", pack_dual(self.dual, size))
        for place, name in enumerate(self.priors):
            if name in self.duals:
                arrays |= nested(f"bounds/{place}", pack_dual(self.duals[name], size))
        return arrays

    @classmethod
    def unpack(
        cls, arrays: Mapping[str, Any], comparison: Comparison, mechanism: Mechanism, dual: AnyDual | None
    ) -> Evidence:
        """The inverse of `pack`, where mechanism and dual are those of the report; nothing is proven anew."""
        channels: dict[str, Array | str] = {}
        for place, row in enumerate(comparison.rows):
            if f"{place}/left_out" in arrays:
                channels[row.name] = str(arrays[f"{place}/left_out"])
            elif f"{place}/matrix" in arrays:
                channels[row.name] = arrays[f"{place}/matrix"]
            elif row.value is not None:
                channels[row.name] = written(mechanism)
        names = [str(name) for name in arrays.get("priors", ())]
        priors = dict(zip(names, arrays.get("probabilities", ()), strict=True))
        packed = {name: part(arrays, f"bounds/{place}") for place, name in enumerate(names)}
        best = part(arrays, "bound")
        return cls(
            channels,
            priors,
            unpack_dual(best) if best else dual,
            {name: unpack_dual(found) for name, found in packed.items() if found},
        )


def written(mechanism: Mechanism) -> Array | str:
    """The probabilities of a mechanism, or why they are not to be written down."""
    if not isinstance(mechanism, MatrixMechanism):
        return f"the {mechanism.name} is not written down"
    size, reports = mechanism.matrix.shape
    return mechanism.matrix if size**2 * reports <= WRITTEN_TRIPLES else f"n²·m is over {WRITTEN_TRIPLES:,}"


def _is_of(channel: Array, mechanism: Mechanism) -> bool:
    return isinstance(mechanism, MatrixMechanism) and np.array_equal(channel, mechanism.matrix)
