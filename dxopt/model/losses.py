"""Losses by name, of dxopt and of plug-ins, and losses by functions of a secret and a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.model.reports import Reports
from dxopt.runtime.plugins import OrPlugins, Plugin, Plugins, said
from dxopt.runtime.registry import Registry
from dxopt.spaces.callables import number_of
from dxopt.spaces.space import MetricSpace


class NamedLoss(Protocol):
    """A loss that a problem file can name: a function of the distance between secret and report."""

    def __call__(self, space: MetricSpace, reports: Reports, secrets: NDArray[np.int64]) -> NDArray[np.float64]:
        """The losses `(k, m)` of k secrets, given by index."""
        ...


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
    """The numbers `(n, m)` that a function gives, each for a secret and a report."""
    rows = space.labels if space.points is None else space.points
    columns = reports.labels if reports.points is None else reports.points

    about = {"about": "the secret {} and the report {}", "takes": "a secret and a report"}
    return np.array([[number_of(loss, x, w, field="loss", whose=whose, **about) for w in columns] for x in rows])


def whose_is(plugin: Plugin | None) -> str:
    """Return the prefix of errors: the name and the package of a plug-in."""
    return "" if plugin is None else f"{plugin.name} of {plugin.where} "


def plugged(name: str, space: MetricSpace, reports: Reports) -> tuple[Plugin, NDArray[np.float64]]:
    """The losses `(n, m)` that a plug-in gives, as numbers, and whose they are."""
    if not LOSS_PLUGINS.offered(name):
        raise SpecError("loss", f"there is no {name!r}", LOSS_NAMES.fix())
    found = LOSS_PLUGINS.find(name)
    whose = whose_is(found.plugin)
    if not found.method:
        return found.plugin, evaluated(found.call, space, reports, whose)
    try:
        return found.plugin, np.array(found.call(space, reports), dtype=float)
    except Exception as error:  # whatever a package of others raises
        raise SpecError("loss", f"{whose}gives no losses ({said(error)})", "mend the package") from error
