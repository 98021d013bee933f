"""What the figures of a comparison are about: channels, other priors and duals, as arrays and back.

The file compared.npz holds, for each row k from 0 that is not about the mechanism of the folder, `k/matrix` `(n, m)`,
or why it is left out as `k/left_out`; the other priors as `priors` (names) and `probabilities` `(k, n)`; the dual of
the bound as `bound/...`, unless that is the bound of the certificate; and the dual of the bound under prior k as
`bounds/k/...`. Arrays of a dual are as in dual.npz. The remap of row k that draws is `k/remap/channel` `(m, w)`, with
the weights of secrets that bound every remap as `k/remap/weights` `(n,)`. Of entry k of the refinements,
`refined/k/remap` `(m, m)` is what makes the worse channel of the better one, or `refined/k/gains` `(n, g)` what shows
that nothing does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.proofs.duals import AnyDual, pack_dual, unpack_dual
from dxopt.runtime.archive import Arrays, nested, part

Array = NDArray[np.float64]
WRITTEN_TRIPLES = 50_000_000
"""Channels are written down up to this n²·m, which is what it takes to prove one private."""


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
    remaps : mapping of names of rows to pairs of (m, w) and (n,) arrays
        Remaps that draw, and the weights of secrets that bound every one.
    refined : tuple of mappings
        What proves each entry of the refinements: `remap` or `gains`; nothing where it is undecided.
    """

    channels: Mapping[str, Array | str]
    priors: Mapping[str, Array]
    dual: AnyDual | None
    duals: Mapping[str, AnyDual | None]
    remaps: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)
    refined: tuple[Arrays, ...] = ()

    def pack(self, names: Sequence[str], matrix: Array | None, size: int, *, certified: bool) -> Arrays:
        """The arrays of compared.npz, without what the other files of the folder hold.

        Parameters
        ----------
        names : sequence of str
            Of the rows, in order.
        matrix : (n, m) array or None
            That of the mechanism of the folder, where it is written down.
        size : int
            n, the number of secrets.
        certified : bool
            Whether the bound is that of the certificate, so that its dual is in dual.npz.
        """
        arrays: Arrays = {}
        for row, name in enumerate(names):
            channel = self.channels.get(name)
            if isinstance(channel, str):
                arrays |= nested(row, {"left_out": channel})
            elif channel is not None and not (matrix is not None and np.array_equal(channel, matrix)):
                arrays |= nested(row, {"matrix": channel})
            if name in self.remaps:
                remap, weights = self.remaps[name]
                arrays |= nested(f"{row}/remap", {"channel": remap, "weights": weights})
        for number, proof in enumerate(self.refined):
            arrays |= nested(f"refined/{number}", proof)
        if self.priors:
            arrays |= {"priors": list(self.priors), "probabilities": np.stack(list(self.priors.values()))}
        if not certified:
            arrays |= nested("bound", pack_dual(self.dual, size))
        for prior, name in enumerate(self.priors):
            if name in self.duals:
                arrays |= nested(f"bounds/{prior}", pack_dual(self.duals[name], size))
        return arrays

    @classmethod
    def unpack(
        cls,
        arrays: Mapping[str, Any],
        rows: Mapping[str, bool],
        mechanism: Mechanism,
        dual: AnyDual | None,
        refinements: int,
    ) -> Evidence:
        """The inverse of `pack`; nothing is proven anew.

        Parameters
        ----------
        arrays : mapping
        rows : mapping of names to bool
            Whether the mechanism of each row exists, in their order.
        mechanism, dual : Mechanism, Dual of any kind or None
            Those of the folder.
        refinements : int
            How many there are.
        """
        channels: dict[str, Array | str] = {}
        for row, (name, exists) in enumerate(rows.items()):
            if f"{row}/left_out" in arrays:
                channels[name] = str(arrays[f"{row}/left_out"])
            elif f"{row}/matrix" in arrays:
                channels[name] = arrays[f"{row}/matrix"]
            elif exists:
                channels[name] = written(mechanism)
        names = [str(name) for name in arrays.get("priors", ())]
        priors = dict(zip(names, arrays.get("probabilities", ()), strict=True))
        packed = {name: part(arrays, f"bounds/{prior}") for prior, name in enumerate(names)}
        best = part(arrays, "bound")
        drawn = {name: part(arrays, f"{row}/remap") for row, name in enumerate(rows)}
        return cls(
            channels,
            priors,
            unpack_dual(best) if best else dual,
            {name: unpack_dual(found) for name, found in packed.items() if found},
            {name: (found["channel"], found["weights"]) for name, found in drawn.items() if found},
            tuple(part(arrays, f"refined/{number}") for number in range(refinements)),
        )


def written(mechanism: Mechanism) -> Array | str:
    """The probabilities of a mechanism, or why they are not to be written down."""
    if not isinstance(mechanism, MatrixMechanism):
        return f"the {mechanism.name} is not written down"
    size, reports = mechanism.matrix.shape
    return mechanism.matrix if size**2 * reports <= WRITTEN_TRIPLES else f"n²·m is over {WRITTEN_TRIPLES:,}"
