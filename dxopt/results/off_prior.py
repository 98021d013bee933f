"""Lines of a report on secrets off its prior."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.off_prior import HARDLY, OffPrior
from dxopt.model.loss import Reports
from dxopt.spaces.space import MetricSpace

SHOWN = 8
"""Labels in a line of text."""


def lines_off_prior(found: OffPrior, space: MetricSpace, reports: Reports) -> list[tuple[str, str]]:
    """Lines of a name and a text: the worst secret, secrets of prior 0, and what is never reported."""
    lines = []
    worst = found.worst
    if worst is not None and found.losses is not None:
        lines.append(("worst secret", f"{space.labels[worst]}: expected loss {found.losses[worst]:.10g}"))
    if len(found.unlikely):
        lines.append(("prior 0", _unlikely(found, space)))
    named = found.not_reported
    if named is not None and len(named):
        often = f"{len(named):,} of {len(reports):,} reports"
        if found.hardly is not None and len(found.hardly):
            often += f", {len(found.hardly):,} of them with a probability below {HARDLY:g} instead of 0"
        lines.append(("never reported", f"{often}: {_listed(reports.labels, named)}"))
    return lines


def _unlikely(found: OffPrior, space: MetricSpace) -> str:
    many = f"{len(found.unlikely):,} of {len(space):,} secrets"
    worst = found.worst_unlikely
    if worst is None or found.losses is None:
        return many
    mean = f"mean loss there {found.mean_unlikely:.6g}"
    return f"{many}; {mean}, worst {found.losses[worst]:.6g} at {space.labels[worst]}"


def _listed(labels: Sequence[str], chosen: NDArray[np.int64]) -> str:
    """The first labels, and how many more there are."""
    first = ", ".join(str(labels[index]) for index in chosen[:SHOWN].tolist())
    more = len(chosen) - SHOWN
    return f"{first} and {more:,} more" if more > 0 else first
