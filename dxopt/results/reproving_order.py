"""The order of the mechanisms of a comparison that was loaded, and the remaps that draw, computed again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.order.evidence import exact_channel, shortfall_above, shortfall_below
from dxopt.analysis.order.remaps import bound_of_weights, worst_case_of
from dxopt.errors import CertificateError
from dxopt.model.problem import Problem
from dxopt.results.evidence import Evidence
from dxopt.results.order import Refined

Array = NDArray[np.float64]
_ROUNDING = 1e-12


def known_of_remap(problem: Problem, channel: Array, remap: Array, weights: Array) -> tuple[float, float]:
    """The worst loss of a channel `(n, m)` with a remap `(m, w)`, and what weights `(n,)` prove of every remap."""
    fits = remap.shape == (channel.shape[1], problem.losses.shape[1]) and weights.shape == channel.shape[:1]
    if not fits or not np.array_equal(exact_channel(remap), remap):
        raise CertificateError("a remap of the comparison is no channel between the reports")
    if not (_are_amounts(weights) and weights.any()):
        raise CertificateError("the weights of a remap of the comparison are all 0, or negative or infinite")
    return worst_case_of(channel, remap, problem.losses), bound_of_weights(channel, problem.losses, weights)


def check_refinements(refinements: tuple[Refined, ...], evidence: Evidence) -> None:
    """Raise CertificateError unless each refinement follows from its remap or its gains."""
    for one, proof in zip(refinements, evidence.refined, strict=True):
        if one.holds is None or one.shortfall is None:
            continue
        where = f"whether {one.better} refines {one.worse}"
        better, worse = (evidence.channels.get(name) for name in (one.better, one.worse))
        found = proof.get("remap" if one.holds else "gains")
        if (
            not isinstance(better, np.ndarray)
            or not isinstance(worse, np.ndarray)
            or not isinstance(found, np.ndarray)
        ):
            raise CertificateError(f"nothing proves {where}")
        if one.holds:
            fits = found.shape == (better.shape[1], worse.shape[1])
            shown = fits and shortfall_above(better, worse, exact_channel(found)) <= one.shortfall + _ROUNDING
        else:
            fits = found.ndim == 2 and len(found) == len(better) and found.size > 0 and _are_amounts(found)
            shown = fits and 0 < one.shortfall <= shortfall_below(better, worse, found) + _ROUNDING
        if not shown:
            raise CertificateError(f"{where}: the shortfall {one.shortfall:.17g} does not follow")


def _are_amounts(numbers: Array) -> bool:
    return bool(np.isfinite(numbers).all() and (numbers >= 0).all())
