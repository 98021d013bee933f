"""Mechanisms, priors and the figures of answers as tables of pandas, matched by label.

Columns of coordinates need no help: `dx.MetricSpace.from_points(frame[["lat", "lon"]], "haversine",
labels=frame.index)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, optional
from dxopt.model.loss import Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior
from dxopt.model.reports import required_reports
from dxopt.numerics.coerce import NONNEGATIVE, as_number
from dxopt.runtime.identity import each
from dxopt.spaces.naming import Naming, written
from dxopt.spaces.space import MetricSpace, required_space

if TYPE_CHECKING:
    import pandas as pd


class Tabled(Protocol):
    """An answer with a table: a comparison, a sweep or a frontier."""

    @property
    def figures(self) -> list[dict[str, Any]]: ...


def to_frame(answer: Mechanism | Tabled) -> pd.DataFrame:
    """Return the probabilities of a mechanism, or the table of an answer with all its digits.

    Parameters
    ----------
    answer : Mechanism, Comparison, EpsilonSweep, Frontier or BudgetFrontier

    Returns
    -------
    DataFrame
        Of a mechanism all probabilities `(n, m)`: a row for each secret, a column for each report, by label. Of an
        answer its `figures`, in its units: a row for each mechanism, for each mechanism at each level, or for each
        point of the range. Where a mechanism does not exist its figures are NaN, and the column `reason` states why.

    Raises
    ------
    SpecError
        If it has no table.
    UnsupportedError
        If pandas is not installed, or the mechanism is too large for a matrix.

    Examples
    --------
    >>> import dxopt as dx
    >>> frame = dx.to_frame(dx.classic.geometric(dx.line(2), epsilon="ln(3)"))
    >>> print(frame.loc["0"].round(3).to_dict())
    {'0': 0.75, '1': 0.25}
    >>> found = dx.compare(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"), ["randomised_response"])
    >>> print(dx.to_frame(found)[["method", "value"]].round(2).values.tolist())
    [['optimal', 0.52], ['randomised_response', 0.87]]
    """
    pd = optional("pandas")
    if not isinstance(answer, Mechanism):
        if not hasattr(answer, "figures"):
            fix = "give a mechanism, a comparison, a sweep or a frontier"
            raise SpecError("answer", f"is of type {type(answer).__name__}", fix)
        return pd.DataFrame(answer.figures)
    secrets = pd.Index(list(answer.space.labels))
    reports = pd.Index(list(answer.reports.labels))
    return pd.DataFrame(answer.matrix, index=secrets.rename("secret"), columns=reports.rename("report"), copy=True)


def mechanism_from_frame(
    space: MetricSpace, frame: pd.DataFrame, reports: Reports | None = None, *, name: str = "mechanism"
) -> Mechanism:
    """Make a mechanism, unproven, from probabilities in any order of rows and columns.

    Parameters
    ----------
    space : MetricSpace
        The n secrets; their labels, as text, are those of the rows.
    frame : DataFrame
        A row for each secret, a column for each report.
    reports : Reports, optional
        In their order and with their coordinates; by default the secrets where columns have their labels, else the
        columns as they are.
    name : str

    Raises
    ------
    SpecError
        If a label is missing, unknown or there twice, or the numbers are no probabilities.

    Examples
    --------
    >>> import dxopt as dx
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"yes": [0.25, 0.75], "no": [0.75, 0.25]}, index=["no", "yes"])
    >>> space = dx.MetricSpace.from_points(["yes", "no"], "discrete")
    >>> print(dx.mechanism_from_frame(space, frame).matrix.tolist())
    [[0.75, 0.25], [0.25, 0.75]]
    """
    required_space(space)
    _require_pandas(frame, "frame", "DataFrame", ("index", "columns", "to_numpy"))
    if reports is None:
        same = {*space.naming.rows(frame.columns, "columns")} == {*range(len(space))}
        reports = Reports.of(space) if same else Reports(tuple(map(written, each(frame.columns, "columns"))))
    required_reports(reports)
    rows = _positions(space.labels, frame.index, "index")
    order = _positions(reports.labels, frame.columns, "columns")
    return Mechanism.from_matrix(space, _require_numbers(frame, "frame")[np.ix_(rows, order)], reports, name=name)


def prior_from_frame(
    space: MetricSpace, series: pd.Series, *, name: str = "weights", missing: float | None = None
) -> Prior:
    """Make a prior in proportion to weights in any order, whose labels, as text, are those of the secrets.

    Parameters
    ----------
    space : MetricSpace
    series : Series
        A weight for each secret, such as `frame["place"].value_counts()`.
    name : str
    missing : float, optional
        The weight of secrets that the series does not have, such as 0; by default it is to have all.

    Raises
    ------
    SpecError
        If a label is missing, unknown or there twice, or the weights are no weights.

    Examples
    --------
    >>> import dxopt as dx
    >>> import pandas as pd
    >>> seen = pd.Series(["B", "A", "B", "B"]).value_counts()
    >>> space = dx.MetricSpace.from_points([[0, 0], [1, 0], [2, 0]], labels=["A", "B", "C"])
    >>> print(dx.prior_from_frame(space, seen, missing=0).probabilities.tolist())
    [0.25, 0.75, 0.0]
    """
    required_space(space)
    _require_pandas(series, "series", "Series", ("index", "dtype", "to_numpy"))
    weights = _require_numbers(series, "series")
    fix = "write missing=0 to give weight 0 to what it lacks, or add them" if missing is None else None
    rows = _positions(space.labels, series.index, "index", fix)
    least = np.nan if missing is None else as_number(missing, "missing", *NONNEGATIVE)
    return Prior.from_weights(space, np.append(weights, least)[rows], name=name)  # without `missing` none lacks


def _require_pandas(given: Any, field: str, kind: str, parts: tuple[str, ...]) -> None:
    """Raise SpecError unless something has the attributes of a frame or series: pandas itself need not be loaded."""
    if not all(hasattr(given, part) for part in parts):
        raise SpecError(field, f"is of type {type(given).__name__}", f"give a pandas {kind}")


def _require_numbers(given: Any, field: str) -> NDArray[np.float64]:
    """Return the entries of a frame or series as doubles; SpecError if one is no number."""
    try:
        return given.to_numpy(dtype=float)
    except (TypeError, ValueError):
        raise SpecError(field, "has entries that are not numbers", "give numbers only") from None


_ALL = "give one for each point and no others"


def _positions(labels: Sequence[str], names: Iterable[Any], field: str, fix: str | None = _ALL) -> list[int]:
    """Return the place in `names` of each label, -1 if it is not there; then SpecError if there is a `fix` for that.

    SpecError also if a name is no label, or there twice.
    """
    found = Naming(labels).rows(names, field)
    lacking = [label for point, label in enumerate(labels) if point not in found]
    if lacking and fix is not None:
        more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
        raise SpecError(field, f"lacks label {lacking[0]!r}{more}", fix)
    unknown = next((name for name in found if isinstance(name, str)), None)
    if unknown is not None:
        raise SpecError(field, f"has an unknown label {unknown!r}", _ALL)
    return [found.get(point, -1) for point in range(len(labels))]
