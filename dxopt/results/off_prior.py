"""What a report says of secrets off its prior, as plain content."""

from __future__ import annotations

from typing import Any

from dxopt.analysis.off_prior import OffPrior
from dxopt.model.loss import Reports
from dxopt.results.files import finite
from dxopt.spaces.space import MetricSpace

KEPT = 20
"""Labels in report.json."""


def content(found: OffPrior, space: MetricSpace, reports: Reports, *, written: bool) -> dict[str, Any]:
    """What report.json holds; of a mechanism that is not written down only what `verify` derives from structure."""
    losses = found.losses if written else None
    worst = found.worst if written else None
    unlikely = found.worst_unlikely if written else None
    named = found.not_reported
    return {
        "worst_loss": None if losses is None or worst is None else finite(float(losses[worst])),
        "worst_at": None if worst is None else space.labels[worst],
        "prior_zero": len(found.unlikely),
        "prior_zero_mean": None if found.mean_unlikely is None or not written else finite(found.mean_unlikely),
        "prior_zero_worst": None if losses is None or unlikely is None else finite(float(losses[unlikely])),
        "prior_zero_at": None if unlikely is None else space.labels[unlikely],
        "never": None if found.never is None else len(found.never),
        "hardly": None if found.hardly is None else len(found.hardly),
        "not_reported": [reports.labels[z] for z in named[:KEPT]] if written and named is not None else [],
    }
