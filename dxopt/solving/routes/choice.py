"""The automatic choice: which ways to an answer are tried, and in which order.

A route is left as soon as its answer is proven within the tolerance; otherwise the next one is tried, and the best
mechanism and the best bound are kept. The report says why each other route was not taken.

Methods by name
    A mechanism by name (`tight`, one of `dx.classic`, or one of a plug-in) is made and proven as it is.
    `optimal` asks for the best private channel. `auto` does too, but first takes the tight-constraints mechanism
    where that is proven optimal: binary loss, regular prior, secrets as reports, no spanner.

Infinite losses
    `auto` and `optimal` solve the problem without the reports that they forbid (`reductions.possible_reports`), with
    the routes below, but for that of lines.

Expected loss, without δ
    1. Product: independent coordinates and a loss that is a sum over them; each factor is a problem of its own.
    2. Line: the truncated geometric mechanism with its optimal remap, proven by its own dual.
    3. A linear program over all private channels, by the solvers below; after the first of them, the best mechanism
       in closed form with its optimal remap. Column generation that is stopped mixes that with its columns.
    Products and lines are tried with `solver="auto"` and without a spanner. They are implicit above 100,000 entries.
    With a spanner, `auto` tries mechanisms in closed form first.

Solvers for the linear program
    from 400 variables on (20 points with themselves as reports): column generation; below, general solvers are
    faster than loading compiled code. Up to 20,000 variables general solvers (Clarabel, then HiGHS) follow where
    column generation leaves a gap. Clarabel comes first where at most 15,000 inequalities are left of all pairs, as
    on roads and streets with up to some 60 crossings.
    With a spanner: general solvers where it keeps less than 450 pairs; column generation, on shortest paths along its
    edges, from there on. The first answer counts.

Other objectives, δ, and pairs of beliefs
    First, where the expected loss has a budget: the constant report if the budget allows it; the optimum in closed
    form where an adversary's guesses cost what reports do, or a multiple of it; else the channel of least loss. With
    δ the optimum for δ = 0, which the rounds of the linear program start from where it is large. Then the linear
    program: with column generation from 400 variables on for worst losses, from 5,000 on for an adversary's error
    (up to 20,000 after Clarabel where each guess wins in few secrets, as under the binary loss); never with δ, with
    pairs of beliefs or without ε, whose columns lie in no cone that it knows. Then the best mechanism in closed form,
    of those that the budget allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dxopt.errors import MethodRefused, SpecError
from dxopt.mechanisms.classic.base import BASELINES, CLASSICS, titled
from dxopt.mechanisms.tight import refuses_tight, tight_candidate, tight_constraints
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.user_channel import proven_or_mended
from dxopt.runtime.plugins import Found, OrPlugins, Plugins, error_text
from dxopt.solving.options import Options, Route
from dxopt.solving.reductions.possible_reports import without_impossible
from dxopt.solving.routes import limits
from dxopt.solving.routes.closed_form import TIGHT, by_closed_form, by_tight, classic_candidate, require_allowed
from dxopt.solving.routes.limits import COLUMNS, GENERAL
from dxopt.solving.routes.linear import by_linear_program, by_spanner
from dxopt.solving.routes.structured import by_line, by_product


def plugged_candidate(problem: Problem, found: Found) -> Candidate:
    """Make the mechanism of a plug-in for a problem, private once what solvers and rounding leave is repaired.

    MethodRefused names the package where it makes none, none that fits, or one that is not private enough.
    """
    name = found.plugin.name
    whose = f"of {found.plugin.where}"
    try:
        made = found.call(problem)
    except Exception as error:  # whatever a package of others raises
        reason = error.wrong if isinstance(error, SpecError) else error_text(error)
        raise MethodRefused(name, f"{whose} makes none: {reason}") from error
    try:
        mechanism, _ = proven_or_mended(problem, made)
    except SpecError as error:
        raise MethodRefused(name, f"{whose}: its {error.field} {error.wrong}") from error
    return require_allowed(problem, name, Candidate(mechanism.matrix, route=titled(name)))


METHODS = ("auto", "optimal", "tight", *CLASSICS)
COMPARABLE = (*METHODS[1:], *BASELINES)
MECHANISM_PLUGINS = Plugins("mechanism", (*METHODS, *BASELINES))
METHOD_NAMES = OrPlugins(METHODS, MECHANISM_PLUGINS)
COMPARABLE_NAMES = OrPlugins(COMPARABLE, MECHANISM_PLUGINS)
SPANNER_METHODS = ("auto", "optimal")
"""The methods that use a solver, and may be given a spanner."""


def require_method(method: str) -> None:
    """Raise SpecError unless there is a mechanism of a name, or that of a plug-in which loads."""
    if not isinstance(method, str):
        own = "; dx.compare takes a mechanism of your own, and dx.certify proves one"
        raise SpecError("method", f"is of type {type(method).__name__}", METHOD_NAMES.fix(method) + own)
    if method in METHODS:
        return
    if not MECHANISM_PLUGINS.offered(method):
        raise SpecError("method", f"there is no {method!r}", METHOD_NAMES.fix(method))
    MECHANISM_PLUGINS.find(method)


def routes(problem: Problem, options: Options) -> tuple[Route, ...]:
    """Return the routes for a problem, in the order in which they are tried."""
    if options.method not in SPANNER_METHODS:
        return (by_name,)
    if problem.impossible is not None:
        return (by_possible_reports,)
    if problem.why_coupled is not None:
        from dxopt.solving.routes.coupled import by_coupled_program

        for name in ("tight", "product", "line"):
            options.refused[name] = f"does not apply, as {problem.why_coupled}"
        return (by_coupled_program,)
    auto = options.method == "auto"
    whole = options.spanner is None
    table = (
        (by_tight, auto),
        (by_closed_form, auto and not whole),
        (by_product, whole and options.solver == "auto"),
        (by_line, whole and options.solver == "auto"),
        (by_linear_program, whole),
        (by_spanner, not whole),
    )
    return tuple(route for route, applies in table if applies)


def is_enough(problem: Problem, options: Options) -> bool:
    """Tell whether any answer will do: a stop was asked for, or the program is too large for an optimum."""
    return options.spanner is None and (options.stop.requested or problem.variables > limits.OPTIMAL_TO)


def by_possible_reports(problem: Problem, options: Options) -> Iterator[Candidate]:
    """Solve the problem without the reports that must not be made, whose losses are infinite."""
    reduced = without_impossible(problem)
    smaller = reduced.smaller
    solver = options.solver
    if solver == "auto" and limits.is_line(smaller):  # the dual of a line says nothing of more reports than it has
        solver = GENERAL[0] if smaller.variables < limits.COLUMNS_FROM else COLUMNS
    how = {"method": options.method, "solver": solver, "spanner": options.spanner}
    found = options.part(smaller, "", **how)
    options.refused.update(found.refused)
    yield reduced.lift(found)


def by_name(problem: Problem, options: Options) -> Iterator[Candidate]:
    """Make the mechanism that the method names."""
    method = options.method
    if problem.beliefs is not None:
        raise MethodRefused(method, "knows of no beliefs")
    if method == "tight" and problem.variables > limits.OPTIMAL_TO and refuses_tight(problem) is None:
        mechanism = tight_constraints(problem.space, problem.epsilon)
        yield require_allowed(problem, method, Candidate(mechanism, route=TIGHT))
    elif method == "tight":
        yield require_allowed(problem, method, replace(tight_candidate(problem), route=TIGHT))
    elif not problem.private:
        raise MethodRefused(method, "needs an epsilon")
    elif method in CLASSICS:
        yield classic_candidate(problem, method)
    else:
        yield plugged_candidate(problem, MECHANISM_PLUGINS.find(method))
