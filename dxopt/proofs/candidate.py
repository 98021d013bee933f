"""Candidates: what routes find, before it is proven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.model.mechanism import Mechanism
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.duals import AnyDual

Claim = Literal["exact", "bound", "valid"]


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
