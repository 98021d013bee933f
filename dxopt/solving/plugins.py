"""All plug-ins: what is installed, what a problem uses, and what texts name."""

from __future__ import annotations

from collections.abc import Container

from dxopt.model.loss import LOSS_PLUGINS, Loss
from dxopt.model.objective import AdversaryError
from dxopt.model.problem import Problem
from dxopt.runtime.plugins import Listed, Plugin
from dxopt.solving.routes.choice import MECHANISM_PLUGINS, METHODS, SPANNER_METHODS
from dxopt.solving.routes.limits import COLUMNS
from dxopt.solving.solvers import SOLVER_PLUGINS, SOLVERS
from dxopt.spaces.callables import Called
from dxopt.spaces.metrics import METRIC_PLUGINS
from dxopt.spaces.space import MetricSpace

KINDS = (METRIC_PLUGINS, LOSS_PLUGINS, SOLVER_PLUGINS, MECHANISM_PLUGINS)


def plugins() -> tuple[Listed, ...]:
    """Return all plug-ins that are installed, by kind and name, each loaded to see whether it can be used.

    Each has `plugin`, with kind, name, package and version, and `wrong`: why it cannot be used, "" where it can. A
    package that fails to load stops none of the others.

    Examples
    --------
    >>> import dxopt as dx
    >>> [str(one.plugin) for one in dx.plugins() if not one.wrong]
    []
    """
    return tuple(line for kind in KINDS for line in kind.listed())


def used_plugins(problem: Problem, method: str, solver: str) -> tuple[Plugin, ...]:
    """Return the plug-ins that a problem, a method and a solver use, each once, for the report to name."""
    guesses = problem.objective.adversary_loss if isinstance(problem.objective, AdversaryError) else None
    losses = [loss.plugin for loss in (problem.loss, guesses) if isinstance(loss, Loss)]
    ways = MECHANISM_PLUGINS.offered(method) if method not in METHODS else []
    if method in SPANNER_METHODS and solver not in ("auto", COLUMNS, *SOLVERS):  # others use no solver
        ways += SOLVER_PLUGINS.offered(solver)
    return tuple(dict.fromkeys(one for one in [*_plugins_of_space(problem.space), *losses, *ways] if one is not None))


def named_plugins(texts: Container[str]) -> list[Plugin]:
    """Return the installed plug-ins whose name is one of some texts; none of them is loaded."""
    return [one for kind in KINDS for name in kind if name in texts for one in kind.offered(name)]


def _plugins_of_space(space: MetricSpace) -> list[Plugin | None]:
    """Return the plug-in of a space's metric and those of its factors; None for a metric of the user's own."""
    own = [space.metric.plugin] if isinstance(space.metric, Called) else []
    return own + [plugin for factor in space.structure.factors for plugin in _plugins_of_space(factor)]
