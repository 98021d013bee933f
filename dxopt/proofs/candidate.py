"""Candidates: what routes find, before it is proven, and the reductions that were applied on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.model.mechanism import Mechanism
from dxopt.proofs.duals import AnyDual

Claim = Literal["exact", "bound", "valid"]


@dataclass(frozen=True)
class AppliedReduction:
    """One line of a report: what was applied, and what it did to the size.

    Attributes
    ----------
    exact : bool
        Whether the optimum is the same.
    note : str
        Why it is exact, or what it costs.
    of : str
        What was counted, where the name does not say so.
    """

    name: str
    exact: bool
    before: int
    after: int
    note: str = ""
    of: str = ""

    def __str__(self) -> str:
        sizes = f"{self.before:,} to {self.after:,} {self.of}".rstrip()
        return f"{sizes}{', exact' if self.exact else ''}: {self.note}"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mechanism found by a route, still to be proven by `proofs.certify`.

    Attributes
    ----------
    channel : (n, m) array or Mechanism
        A channel from anywhere, to be repaired; or a mechanism that is never written down, private by its making.
    dual : Dual of any kind, or None
        What bounds its distance from the optimum; multipliers of any quality.
    claim : {"exact", "bound", "valid"}
        What theory promises: the optimum ("exact"), or only a private channel ("valid").
    route : str
        How it was found.
    name : str
        Of the mechanism; by default the route.
    within_budget : (n, m) array, optional
        A private channel well within the loss budget of an objective, to be mixed in where `channel` exceeds it.
    """

    channel: NDArray[np.float64] | Mechanism
    dual: AnyDual | None = None
    claim: Claim = "valid"
    route: str = ""
    reductions: tuple[AppliedReduction, ...] = ()
    name: str = ""
    within_budget: NDArray[np.float64] | None = None
