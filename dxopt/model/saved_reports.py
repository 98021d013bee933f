"""Reports as arrays, and back."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from dxopt.model.reports import Reports
from dxopt.runtime.archive import Arrays
from dxopt.spaces.space import MetricSpace


def pack_reports(reports: Reports) -> Arrays:
    """Return the arrays from which `unpack_reports` makes the reports again; secrets are in the space."""
    if reports.secrets:
        return {"secrets": True}
    arrays: Arrays = {"reports": list(reports.labels), "secrets": False}
    if reports.points is not None:
        arrays["report_points"] = reports.points.astype(str) if reports.points.dtype == object else reports.points
    return arrays


def unpack_reports(arrays: dict[str, NDArray[Any]], space: MetricSpace) -> Reports:
    """The inverse of `pack_reports`; the secrets of the space where they are the reports."""
    if arrays["secrets"]:
        return Reports.of(space)
    return Reports(tuple(arrays["reports"].tolist()), arrays.get("report_points"))
