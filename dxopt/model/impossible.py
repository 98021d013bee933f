"""Reports that must not be made: those of infinite loss, for the secret itself or one that privacy joins with it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.beliefs.pairs import BeliefPairs
from dxopt.model.objective import AdversaryError, Objective
from dxopt.model.reports import Reports
from dxopt.numerics.partition import Partition
from dxopt.spaces.space import MetricSpace

Mask = NDArray[np.bool_]


class Posed(Protocol):
    """The parts of a problem that say which reports may be made; `Problem` itself imports this module."""

    @property
    def space(self) -> MetricSpace: ...

    @property
    def objective(self) -> Objective: ...

    @property
    def delta(self) -> float: ...

    @property
    def beliefs(self) -> BeliefPairs | None: ...

    @property
    def reports(self) -> Reports: ...

    @property
    def losses(self) -> NDArray[np.float64]: ...

    @property
    def separations(self) -> NDArray[np.float64]: ...


def joined_secrets(problem: Posed) -> Partition:
    """Return the groups of secrets that privacy joins; all are one where reports matter for secrets of all groups."""
    if problem.beliefs is not None or isinstance(problem.objective, AdversaryError):
        return Partition(np.zeros(len(problem.space), dtype=np.int64))
    return Partition.joining(np.isfinite(problem.separations))


def impossible_reports(problem: Posed) -> Mask:
    """Return the mask `(n, m)` of the reports that must not be made.

    K[x, z] ≤ e^{εd(x, x')} K[x', z] = 0 where x' loses infinitely much by z, along chains of finite distances. With δ
    only the losses of the secret itself count.
    """
    mask = np.isinf(problem.losses)
    if problem.delta:
        return mask
    finite = np.isfinite(problem.separations)
    groups = Partition.joining(finite)
    for which in np.unique(groups.index[mask.any(axis=1)]):
        members = groups.members(int(which))
        near = finite[np.ix_(members, members)].astype(np.float32)
        found = mask[members]
        while not np.array_equal(wider := near @ found > 0, found):
            found = wider
        mask[members] = found
    return mask


def require_reports(problem: Posed, mask: Mask, max_loss: float | None) -> None:
    """Raise SpecError unless every secret is left a report, and secrets that are joined are left the same ones."""
    labels = problem.space.labels
    without = np.flatnonzero(mask.all(axis=1))
    if len(without):
        wrong = f"leaves no report to secret {labels[without[0]]}: each costs it, or one that privacy joins with it"
        if max_loss is None:
            fix = "give a finite loss to some report for all of them"
            raise SpecError("loss", f"{wrong}, infinitely much", fix)
        raise SpecError("max_loss", f"of {max_loss:.10g} {wrong}, more", "raise it")
    groups = joined_secrets(problem)
    differing = np.argwhere(mask != mask[groups.representatives][groups.index])
    if len(differing):
        x, z = differing[0].tolist()
        other = int(groups.representatives[groups.index[x]])
        one, two = (x, other) if mask[x, z] else (other, x)
        wrong = f"forbids report {problem.reports.labels[z]} to secret {labels[one]}, but not to {labels[two]}"
        field, fix = ("loss", "give finite losses") if max_loss is None else ("max_loss", "raise it")
        raise UnsupportedError(field, f"{wrong}, which does not go with {_why_alike(problem)}", fix)


def _why_alike(problem: Posed) -> str:
    """Return what asks that the secrets of a group have the same reports."""
    if problem.beliefs is not None:
        return "pairs of beliefs"
    if isinstance(problem.objective, AdversaryError):
        return "an adversary's error"
    return "delta" if problem.delta else "distances that are finite one way only"
