"""The arrays and numbers of a result folder, checked as those of a user are, before anything is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError, SpecError
from dxopt.proofs.candidate import Claim
from dxopt.results.files import CERTIFICATE, REPORT
from dxopt.spaces.matrices import checked_matrix, require_triangles
from dxopt.spaces.space import Kind

CHEAP_POINTS = 500
"""The triangle inequality takes n³ steps: it is checked up to this n, and by `verify` beyond."""
_AGAIN = "solve the problem again"


def check_certificate(content: object) -> None:
    """Raise CertificateError unless the entries of certificate.json are of their kinds and finite."""
    if not isinstance(content, dict):
        raise CertificateError(f"{CERTIFICATE}: holds no object; {_AGAIN}")
    if not isinstance(content.get("private"), bool):
        raise CertificateError(f"{CERTIFICATE}: private is {_shown(content.get('private'))}, not true or false")
    for name in ("epsilon", "value", "bound", "gap", "delta"):
        number = content.get(name, 0.0 if name == "delta" else "missing")
        # an ε that was not asked for is infinite, which JSON writes as null
        if not (name == "epsilon" and number is None) and not _is_number(number):
            raise CertificateError(f"{CERTIFICATE}: {name} is {_shown(number)}, no finite number; {_AGAIN}")
    if "belief_level" in content and not _is_number(content["belief_level"]):
        shown = _shown(content["belief_level"])
        raise CertificateError(f"{CERTIFICATE}: belief_level is {shown}, no finite number; {_AGAIN}")
    how = content.get("how")
    if not isinstance(how, dict) or not all(isinstance(text, str) for text in how.values()):
        raise CertificateError(f"{CERTIFICATE}: how is {_shown(how)}, no texts by name; {_AGAIN}")


def check_summary(content: object) -> None:
    """Raise SpecError unless the numbers of report.json are finite numbers."""
    if not isinstance(content, dict):
        raise SpecError(REPORT, "holds no object", _AGAIN)
    evaluation = content.get("evaluation")
    if not isinstance(evaluation, dict):
        raise SpecError(REPORT, f"evaluation is {_shown(evaluation)}, no numbers by name", _AGAIN)
    _check_structure(content.get("structure"))
    if content.get("claim") not in get_args(Claim):
        raise SpecError(REPORT, f"the claim is {_shown(content.get('claim'))}, none that there is", _AGAIN)
    numbers = {name: content.get(name) for name in ("seconds", "tolerance")}
    for name, number in numbers.items():
        if not _is_number(number):
            raise SpecError(REPORT, f"{name} is {_shown(number)}, no finite number", _AGAIN)
    for name, number in evaluation.items():
        # measures may be infinite, which JSON has as a number here
        if isinstance(number, bool) or not isinstance(number, int | float) or not _fits(number):
            raise SpecError(REPORT, f"evaluation {name!r} is {_shown(number)}, no number", _AGAIN)


def _check_structure(content: object) -> None:
    """Raise SpecError unless the structure has a kind, positive whole sizes and a positive spacing."""
    if not isinstance(content, dict) or not {*content} == {"kind", "shape", "spacing"}:
        raise SpecError(REPORT, f"structure is {_shown(content)}", _AGAIN)
    kind, shape, spacing = content["kind"], content["shape"], content["spacing"]
    if kind not in get_args(Kind):
        raise SpecError(REPORT, f"the structure is {_shown(kind)}, none that there is", _AGAIN)
    if not isinstance(shape, list) or not all(type(size) is int and size > 0 for size in shape):
        raise SpecError(REPORT, f"the shape is {_shown(shape)}, no list of sizes", _AGAIN)
    if not _is_number(spacing) or spacing <= 0:
        raise SpecError(REPORT, f"the spacing is {_shown(spacing)}, no positive number", _AGAIN)


def check_prior(name: str, probabilities: NDArray[np.float64]) -> None:
    """Raise SpecError where a prior is called uniform, but is not."""
    if name == "uniform" and np.ptp(probabilities) > 1e-12 * np.max(probabilities):
        raise SpecError("prior", "is called uniform, but is not", _AGAIN)


def check_arrays(asked: Mapping[str, NDArray[Any]], described: Mapping[str, NDArray[Any]], *, secrets: bool) -> None:
    """Raise SpecError unless problem.npz and mechanism.npz have what a problem and a channel are made of.

    Distances are 0 or more, 0 on the diagonal, and obey the triangle inequality, which is left to `verify` beyond
    500 points; coordinates are finite; there are as many labels as secrets and reports. Where the reports are the
    secrets, they have their labels and places.
    """
    distances = asked["distances"]
    if distances.dtype.kind not in "fiu":
        raise SpecError("distances", f"are of {distances.dtype}", _AGAIN)
    size = len(checked_matrix(distances))
    if size <= CHEAP_POINTS:
        require_triangles(distances.astype(float), [str(label) for label in described["labels"]])
    reports = len(described["report_labels"])
    wanted = {"labels": (size,), "matrix": (size, reports), "loss": (size, reports), "prior": (size,)}
    for name, shape in wanted.items():
        array = described[name] if name in ("labels", "matrix") else asked[name]
        if array.shape != shape:
            raise SpecError(name, f"have shape {array.shape}, not {shape}", _AGAIN)
        if name != "labels" and (array.dtype.kind not in "fiu" or np.isnan(array).any()):
            raise SpecError(name, "has an entry that is no number", _AGAIN)
    for name, count in (("points", size), ("report_points", reports)):
        if name in described:
            _check_points(name, described[name], count)
    for name, known in (("report_labels", "labels"), ("report_points", "points")):
        if secrets and name in described and not _alike(described[name], described.get(known)):
            raise SpecError(name, "are not those of the secrets, which the reports are", _AGAIN)


def _alike(array: NDArray[Any], other: NDArray[Any] | None) -> bool:
    """Whether they are the same, null values included."""
    if other is None or array.dtype.kind != other.dtype.kind:
        return False
    return np.array_equal(array, other, equal_nan=array.dtype.kind == "f")


def _check_points(name: str, points: NDArray[Any], size: int) -> None:
    """Raise SpecError unless there are coordinates for each point; NaN alone is the null value of `WithNull`."""
    if points.ndim != 2 or len(points) != size:
        raise SpecError(name, f"have shape {points.shape} for {size} points", _AGAIN)
    if points.dtype.kind != "f":
        return
    null = np.isnan(points).all(axis=1)
    bad = np.flatnonzero(~(np.isfinite(points).all(axis=1) | null))
    if len(bad):
        raise SpecError(name, f"point {bad[0]} has a coordinate that is not finite", _AGAIN)


def _is_number(content: object) -> bool:
    """Whether it is a finite number that a double can hold."""
    if isinstance(content, bool) or not isinstance(content, int | float):
        return False
    return _fits(content) and bool(np.isfinite(float(content)))


def _fits(number: float) -> bool:
    """Whether a double can hold it, as any but large integers."""
    try:
        float(number)
    except OverflowError:
        return False
    return True


def _shown(content: object) -> str:
    """The content in a few letters."""
    if isinstance(content, int) and not _fits(content):
        return "an integer too large"
    text = repr(content)
    return text if len(text) <= 40 else f"{text[:37]}..."
