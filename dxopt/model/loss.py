"""Losses: what a report costs its user, one number for each secret and each report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.model.reports import Reports, required_reports
from dxopt.numerics.coerce import as_number, as_numbers
from dxopt.runtime.display import Lines, Shown
from dxopt.runtime.plugins import OrPlugins, Plugin, Plugins, error_text
from dxopt.runtime.registry import Registry
from dxopt.spaces.archive import are_same
from dxopt.spaces.callables import called_number
from dxopt.spaces.distances import Paths, in_blocks
from dxopt.spaces.metrics import OnEarth
from dxopt.spaces.positions import NAME_DEGREES, require_latitude_first, require_same_order
from dxopt.spaces.space import MetricSpace, required_space
from dxopt.spaces.units import checked_unit, squared_unit

NamedLoss = Callable[[MetricSpace, Reports, NDArray[np.int64]], NDArray[np.float64]]
"""A loss that a problem file can name: a function that returns the losses `(k, m)` of k secrets, given by index."""
LOSSES: Registry[NamedLoss] = Registry("loss")
LOSS_PLUGINS = Plugins("loss", LOSSES, "matrix")
LOSS_NAMES = OrPlugins(LOSSES, LOSS_PLUGINS)


@LOSSES.register("distance")
def _distance(space: MetricSpace, reports: Reports, secrets: NDArray[np.int64]) -> NDArray[np.float64]:
    if reports.secrets:
        return space.block(secrets, np.arange(len(space)))
    if reports.points is None:
        raise SpecError("reports", "have no coordinates", "give the loss as a matrix")
    return space.distances_to(reports.points, secrets)


@LOSSES.register("squared")
def _squared(space: MetricSpace, reports: Reports, secrets: NDArray[np.int64]) -> NDArray[np.float64]:
    return _distance(space, reports, secrets) ** 2


@LOSSES.register("binary")
def _binary(space: MetricSpace, reports: Reports, secrets: NDArray[np.int64]) -> NDArray[np.float64]:
    if not reports.secrets:
        raise SpecError("loss", "binary needs the secrets themselves as reports", "give the loss as a matrix")
    return 1.0 - (secrets[:, None] == np.arange(len(space)))


def evaluated(
    loss: Callable[[Any, Any], float], space: MetricSpace, reports: Reports, whose: str = ""
) -> NDArray[np.float64]:
    """Call a user's function for each secret and each report, and return the losses `(n, m)`.

    It is given coordinates, or labels where there are none. `whose` begins the message of an error in it.
    """
    rows = space.labels if space.points is None else space.points
    columns = reports.labels if reports.points is None else reports.points

    about = {"about": "the secret {} and the report {}", "takes": "a secret and a report"}
    return np.array([[called_number(loss, x, w, field="loss", whose=whose, **about) for w in columns] for x in rows])


def plugin_losses(name: str, space: MetricSpace, reports: Reports) -> tuple[Plugin, NDArray[np.float64]]:
    """Return the plug-in of a name, and the losses `(n, m)` that it gives; SpecError where it fails."""
    if not LOSS_PLUGINS.offered(name):
        raise SpecError("loss", f"there is no {name!r}", LOSS_NAMES.fix(name))
    found = LOSS_PLUGINS.find(name)
    whose = f"{name} of {found.plugin.where} "
    if not found.method:
        return found.plugin, evaluated(found.call, space, reports, whose)
    try:
        return found.plugin, as_numbers(found.call(space, reports), "loss", "mend the package")
    except Exception as error:  # whatever a package of others raises
        raise SpecError("loss", f"{whose}gives no losses ({error_text(error)})", "mend the package") from error


LossLike = str | ArrayLike | Callable[[Any, Any], float]
Rows = Callable[[NDArray[np.int64]], NDArray[np.float64]]
ROUNDING = 1e-9
"""Relative slack of limits on a loss: one that equals the limit but for rounding is not above it."""
_ROWS = 64
"""About that many rows of a named loss are computed at a time, to take some columns of them."""


@dataclass(frozen=True, eq=False, repr=False)
class Loss(Shown):
    """Losses l(x, w) of n secrets and the m reports that the columns stand for. May be infinite, not NaN.

    Attributes
    ----------
    source : (n, m) array, or function
        A function of an array of k secrets gives their rows `(k, m)`: named losses are computed where needed.
    reports : Reports
    name : str
    size : int
        n, where `source` is a function.
    unit : str
        What losses are in: for `distance` the unit of the space, for `squared` its square, such as "km²"; else "", or
        what was given, such as "EUR".
    plugin : Plugin or None
        Whose loss it is, where its name is that of a plug-in.
    symmetric : bool
        Whether l(x, w) = l(w, x) for reports that are the secrets; False where that is not known.
    space : MetricSpace or None
        Whose distances a named loss follows from.

    Examples
    --------
    >>> import dxopt as dx
    >>> space = dx.line(3)
    >>> loss = dx.Loss.of("squared", space)
    >>> print(loss.matrix.tolist(), loss.by_distance)
    [[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]] True
    """

    source: NDArray[np.float64] | Rows
    reports: Reports
    name: str = "matrix"
    size: int = 0
    unit: str = ""
    plugin: Plugin | None = None
    symmetric: bool = False
    space: MetricSpace | None = None

    def _summary(self) -> str:
        return f"{self.name}: {self._size()}"

    def _size(self) -> str:
        size = self.size if callable(self.source) else len(self.source)
        return f"{size:,} secrets, {len(self.reports):,} reports"

    def _lines(self) -> Lines:
        return [("loss", self.name), ("of", self._size())]

    @property
    def by_distance(self) -> bool:
        """True for a named loss, a function of the distance between secret and report alone."""
        return callable(self.source)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """All losses, `(n, m)`, read-only."""
        matrix = self.source(np.arange(self.size)) if callable(self.source) else self.source
        matrix.flags.writeable = False
        return matrix

    def rows(self, secrets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the losses `(k, m)` of some secrets, given by index.

        Examples
        --------
        >>> import dxopt as dx
        >>> import numpy as np
        >>> print(dx.Loss.of("distance", dx.line(4)).rows(np.array([0, 3])).tolist())
        [[0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 0.0]]
        """
        return self.source(secrets) if callable(self.source) else self.source[secrets]

    def column(self, report: int) -> NDArray[np.float64]:
        """Return the losses `(n,)` of all secrets at one report, given by index.

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.Loss.of("distance", dx.line(4)).column(1).tolist())
        [1.0, 0.0, 1.0, 2.0]
        """
        return self.columns(np.array([report]))[:, 0]

    def columns(self, reports: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the losses `(n, k)` of all secrets at some reports, given by index.

        Examples
        --------
        >>> import dxopt as dx
        >>> import numpy as np
        >>> print(dx.Loss.of("distance", dx.line(3)).columns(np.array([0, 2])).tolist())
        [[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]]
        """
        if not callable(self.source):
            return self.source[:, reports]
        if self.reports.secrets and self.symmetric:
            return self.source(reports).T
        blocks = np.array_split(np.arange(self.size), self.size // _ROWS + 1)
        return np.concatenate([self.source(secrets)[:, reports] for secrets in blocks])

    def watched(self, look: Callable[[], None]) -> Loss:
        """Return the same losses; `look` is called before rows of them are taken, and may raise.

        Examples
        --------
        >>> import dxopt as dx
        >>> import numpy as np
        >>> watched = dx.Loss.of("distance", dx.line(2)).watched(lambda: print("taken"))
        >>> print(watched.rows(np.array([1])).tolist())
        taken
        [[1.0, 0.0]]
        """
        return _Watched(**{field.name: getattr(self, field.name) for field in fields(Loss)}, look=look)

    def on(self, space: MetricSpace) -> Loss:
        """Return the same losses for the secrets of a space, of as many points.

        A named loss that follows from other distances becomes a matrix. Reports that are the secrets are those of the
        space where their labels are the same, and others elsewhere.

        Examples
        --------
        >>> import dxopt as dx
        >>> town = dx.line(3, step=2.0)
        >>> hops = dx.MetricSpace.from_distances([[0, 1, 1], [1, 0, 1], [1, 1, 0]], labels=town.labels)
        >>> loss = dx.Loss.of("distance", town).on(hops)
        >>> print(loss.name, loss.by_distance, loss.matrix[0].tolist())
        distance of another space False [0.0, 2.0, 4.0]
        """
        required_space(space)
        loss, reports = self, self.reports
        if self.space is not None and not are_same(self.space, space):
            loss = Loss(self.matrix, reports, f"{self.name} of another space", unit=self.unit)
        own = Reports.of(space)
        if not reports.secrets or len(reports) != len(own) or reports.is_same(own):
            return loss
        alike = tuple(reports.labels) == tuple(own.labels)
        return replace(loss, reports=own if alike else replace(reports, secrets=False))

    def up_to(self, most: float) -> Loss:
        """Return the same losses, infinite where they are larger than `most` by more than 1e-9 of it.

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.Loss.of("distance", dx.line(3)).up_to(1.5).matrix[0].tolist())
        [0.0, 1.0, inf]
        """
        most = as_number(most, "most")
        source = np.where(self.matrix > most + ROUNDING * abs(most), np.inf, self.matrix)
        return Loss(source, self.reports, f"{self.name} up to {most:.10g}", unit=self.unit, plugin=self.plugin)

    @cached_property
    def is_binary(self) -> bool:
        """True if the loss is 0 for the secret itself and 1 for any other report."""
        if not self.reports.secrets:
            return False
        if self.by_distance:
            return self.name == "binary"
        return np.array_equal(self.matrix, 1.0 - np.eye(len(self.matrix)))

    @classmethod
    def of(
        cls, loss: LossLike | Loss, space: MetricSpace, reports: Reports | None = None, *, unit: str | None = None
    ) -> Loss:
        """Return a loss from a registered name, an `(n, m)` array, or a function of (secret, report).

        A `Loss` is returned unchanged: it has its own reports, so `reports` is ignored, and its size is not checked.

        Parameters
        ----------
        loss : str, array or callable
            `"distance"` is d(secret, report) unscaled, `"squared"` its square, `"binary"` 0 on the diagonal and
            1 off it; other names are those of plug-ins. A callable gets coordinates (labels where the space has no
            points).
        reports : Reports, optional
            The secrets by default; for a matrix of another width, columns numbered from 0.
        unit : str, optional
            What the losses are in, for texts; a named loss knows its own.

        Raises
        ------
        SpecError
            If the shape does not fit, an entry is NaN or minus infinity, or the unit is no short text, or another
            one than that of the distances that a named loss follows from.

        Examples
        --------
        >>> import dxopt as dx
        >>> space = dx.line(3)
        >>> print(dx.Loss.of("binary", space).matrix.tolist())
        [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
        >>> print(dx.Loss.of(lambda secret, report: float(max(0, secret[0] - report[0])), space).matrix.tolist())
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 1.0, 0.0]]
        """
        if unit is not None:
            found, unit = cls.of(loss, space, reports), checked_unit(unit)
            if found.unit not in ("", unit) and not isinstance(loss, Loss):
                raise SpecError("unit", f"is {unit!r}, but the {found.name} is in {found.unit!r}", "leave it out")
            return replace(found, unit=unit)
        if isinstance(loss, Loss):
            return loss
        required_space(space)
        if reports is not None:
            required_reports(reports)
            if len(reports.axes) == 2 and isinstance(space.metric, OnEarth):
                require_latitude_first(reports.axes, "reports", NAME_DEGREES)
            require_same_order(reports.axes, space.axes, "reports")
        plugin, whose = None, ""
        if isinstance(loss, str):
            reports = reports or Reports.of(space)
            if loss in LOSSES:
                return cls._named(loss, space, reports)
            name = loss
            plugin, matrix = plugin_losses(loss, space, reports)
            whose = f"{plugin.name} of {plugin.where} "
        elif callable(loss):
            reports = reports or Reports.of(space)
            matrix = evaluated(loss, space, reports)
            name = getattr(loss, "__name__", "callable")
            # Saved results are read by name: a user's function called "distance" is not ours.
            name = f"own {name}" if name in LOSSES else name
        else:
            matrix = as_numbers(loss, "loss", "give an (n, m) array of numbers")
            if matrix.ndim != 2 or not matrix.size:
                fix = "give one row per secret and one column per report"
                raise SpecError("loss", f"has shape {matrix.shape}", fix)
            name = "matrix"
            columns = matrix.shape[1]
            are_secrets = columns == len(space)
            reports = reports or (Reports.of(space) if are_secrets else Reports(tuple(map(str, range(columns)))))
        if matrix.shape != (len(space), len(reports)):
            # By a square matrix of another size the user meant the secrets as reports: the message has their number.
            square = name == "matrix" and matrix.shape[0] == matrix.shape[1]
            raise SpecError(
                "loss",
                f"{whose}has shape {matrix.shape}, not {(len(space), len(space if square else reports))}",
                "give one row per secret and one column per report",
            )
        bad = np.argwhere(np.isnan(matrix) | (matrix == -np.inf))
        if len(bad):
            row, column = bad[0]
            wrong = f"{whose}entry [{row}, {column}] is {matrix[row, column]}"
            raise SpecError("loss", wrong, "give a number or inf")
        matrix.flags.writeable = False
        return cls(matrix, reports, name, plugin=plugin)

    @classmethod
    def _named(cls, name: str, space: MetricSpace, reports: Reports) -> Loss:
        """Return a registered loss, whose rows are computed when they are asked for."""
        source = partial(LOSSES.get(name), space, reports)
        source(np.zeros(1, dtype=np.int64))  # fails here rather than later where the reports do not suit the loss
        unit = {"distance": space.unit, "squared": squared_unit(space.unit)}.get(name, "")
        symmetric = name in ("distance", "squared", "binary") and space.symmetric
        return cls(source, reports, name, len(space), unit, symmetric=symmetric, space=space)


@dataclass(frozen=True, eq=False, repr=False)
class _Watched(Loss):
    """A loss that calls `look` before rows are taken, so that a long computation can be stopped there."""

    look: Callable[[], None] = lambda: None

    def rows(self, secrets: NDArray[np.int64]) -> NDArray[np.float64]:
        self.look()
        return super().rows(secrets)


_SHORT = 1e100
"""Losses of paths of shorter edges do not overflow."""


def has_infinite(loss: Loss, space: MetricSpace) -> bool:
    """Tell whether a report costs some secret infinitely much.

    Named losses are infinite only where the distance is, or where they overflow: where all distances are known to be
    finite, the losses of the first and the last point, which are the furthest apart on lattices, are enough; those of
    paths are finite along all edges together.
    """
    everything = np.arange(len(space))
    if loss.by_distance and isinstance(space.given, Paths) and space.given.steps.max() < _SHORT:
        return not space.given.is_connected()
    if loss.by_distance and _has_finite_distances(space) and np.isfinite(loss.rows(everything[[0, -1]])).all():
        return False
    return any(np.isinf(loss.rows(secrets)).any() for secrets in in_blocks(everything, len(loss.reports)))


def _has_finite_distances(space: MetricSpace) -> bool:
    """Return True if structure shows that all distances are finite; of a product it may need those of factors."""
    if space.structure.kind == "product":
        each = space.structure.factors
        return all(_has_finite_distances(one) or np.isfinite(one.distances).all() for one in each)
    return space.structure.kind in ("path", "lattice", "torus")
