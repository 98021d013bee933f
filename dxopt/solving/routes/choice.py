"""The automatic choice: which ways to an answer are tried, and in which order.

A route is left as soon as its answer is proven within the tolerance; otherwise the next one is tried, and the best
mechanism and the best bound are kept. The report says why each other route was not taken.

Methods
    A mechanism by name (`tight`, one of `dx.classic`, or one of a plug-in) is made and proven as it is.
    `optimal` asks for the best private channel. `auto` does too, but first takes the tight-constraints mechanism
    where that is proven optimal: binary loss, regular prior, secrets as reports, no spanner.

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

import numpy as np

from dxopt.errors import SpecError, UnsupportedError
from dxopt.mechanisms.classic.contract import BASELINES, CLASSICS
from dxopt.mechanisms.tight import tight_candidate
from dxopt.model.objective import AdversaryError
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate
from dxopt.runtime.plugins import OrPlugins, Plugins
from dxopt.solving.attempts import Attempt, Options, Refusal
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.reductions.geodesic import GeodesicPairs
from dxopt.solving.routes import limits
from dxopt.solving.routes.closed_form import ClosedForms, classic, tight_if_exact, within_budget
from dxopt.solving.routes.coupled import by_coupled_program
from dxopt.solving.routes.limits import COLUMNS, GENERAL
from dxopt.solving.routes.line import by_line
from dxopt.solving.routes.linear import by_linear_program
from dxopt.solving.routes.plugged import plugged
from dxopt.solving.routes.product import by_product
from dxopt.solving.routes.spanner import by_spanner

METHODS = ("auto", "optimal", "tight", *CLASSICS)
COMPARABLE = (*METHODS[1:], *BASELINES)
MECHANISM_PLUGINS = Plugins("mechanism", (*METHODS, *BASELINES))
METHOD_NAMES = OrPlugins(METHODS, MECHANISM_PLUGINS)
COMPARABLE_NAMES = OrPlugins(COMPARABLE, MECHANISM_PLUGINS)
SPANNER_METHODS = ("auto", "optimal")
TIGHT = "tight-constraints mechanism"


def require_method(method: str) -> None:
    """Raise SpecError unless there is a mechanism of a name, or that of a plug-in which loads."""
    if not isinstance(method, str):
        own = "; dx.compare takes a mechanism of your own, and dx.certify proves one"
        raise SpecError("method", f"is of type {type(method).__name__}", METHOD_NAMES.fix() + own)
    if method in METHODS:
        return
    if not MECHANISM_PLUGINS.offered(method):
        raise SpecError("method", f"there is no {method!r}", METHOD_NAMES.fix())
    MECHANISM_PLUGINS.find(method)


def attempts(problem: Problem, method: str, options: Options) -> Iterator[Attempt | Refusal]:
    """Answers and refusals, the preferred answer first; the next one is asked for while the gap is open."""
    if method == "tight":
        if problem.beliefs is not None:
            raise UnsupportedError("method", "knows of no beliefs", "use method: optimal", of=method)
        yield within_budget(problem, "tight", Attempt(tight_candidate(problem), TIGHT))
    elif method in CLASSICS:
        yield classic(problem, method)
    elif method not in METHODS:
        yield plugged(problem, MECHANISM_PLUGINS.find(method))
    elif problem.why_coupled is not None:
        for name in ("tight", "product", "line"):
            yield Refusal(name, f"does not apply, as {problem.why_coupled}")
        yield from by_coupled_program(problem, solvers_of_coupled(problem, options), options)
    else:
        if method == "auto":
            yield from _before_optimal(problem, options)
        yield from _optimal(problem, options)


def _before_optimal(problem: Problem, options: Options) -> Iterator[Attempt | Refusal]:
    tight = tight_if_exact(problem, options)
    if isinstance(tight, Candidate):
        yield Attempt(tight, TIGHT, needless={"optimal": f"the {TIGHT} is optimal here"})
        tight = Refusal("tight", "its gap stayed above the tolerance")
    yield tight
    if options.spanner is not None:
        yield ClosedForms(problem).attempt("valid")


def _optimal(problem: Problem, options: Options) -> Iterator[Attempt | Refusal]:
    answered = False
    if options.spanner is None and options.solver == "auto":
        for route in (by_product, by_line):
            for step in route(problem, options):
                answered |= isinstance(step, Attempt)
                yield step
    if answered and (options.stop.requested or problem.variables > limits.COLUMNS_LIMIT):
        return
    if options.spanner is not None:
        yield from by_spanner(problem, options.spanner, lambda pairs: solvers_of_spanner(options, pairs), options)
        return
    yield from by_linear_program(problem, lambda program: solvers_of_linear(options, program), options)


def solvers_of_linear(options: Options, program: ChannelProgram) -> tuple[str, ...]:
    """Solvers for the expected loss in the order in which they are tried."""
    variables = program.costs.size
    if options.solver != "auto":
        return (options.solver,)
    if variables < limits.COLUMNS_FROM:
        return GENERAL
    if variables > limits.GENERAL_TO:
        return (COLUMNS,)
    return (GENERAL[0], COLUMNS, *GENERAL[1:]) if _is_sparse(program) else (COLUMNS, *GENERAL)


def _is_sparse(program: ChannelProgram) -> bool:
    """Whether few inequalities are left without the pairs that follow from others, and none of them is steep."""
    points, reports = program.costs.shape
    # Points that are joined have two pairs for each but one of them at least.
    if 2 * (points - 1) * reports > limits.ROWS_TO:
        return False
    reduced = GeodesicPairs().apply(program)
    left = program if isinstance(reduced, str) else reduced.smaller
    pairs = left.pairs
    return len(pairs[0]) * reports <= limits.ROWS_TO and bool((left.budgets[pairs] <= limits.STEEPEST).all())


def solvers_of_spanner(options: Options, pairs: int) -> tuple[str, ...]:
    """Solvers on a spanner that keeps so many pairs, in the order in which they are tried."""
    if options.solver != "auto":
        return (options.solver,)
    return GENERAL if pairs < limits.SPANNER_FROM else (COLUMNS, *GENERAL)


def solvers_of_coupled(problem: Problem, options: Options) -> tuple[str, ...]:
    """Solvers for other objectives and δ in the order in which they are tried.

    Raises
    ------
    UnsupportedError
        If columns are asked for where columns lie in no cone, or a spanner is asked for.
    """
    if options.spanner is not None:
        raise UnsupportedError("spanner", f"does not go with this problem: {problem.why_coupled}", "take all pairs")
    in_cone = problem.private and not problem.delta and problem.beliefs is None
    if options.solver == COLUMNS and not in_cone:
        raise UnsupportedError("solver", f"columns does not apply, as {problem.why_coupled}", "use solver: clarabel")
    if options.solver != "auto":
        return (options.solver,)
    guessed = isinstance(problem.objective, AdversaryError)
    enough = limits.GUESSES_FROM if guessed else limits.COLUMNS_FROM
    if not in_cone or problem.variables < enough:
        return GENERAL
    if problem.variables <= limits.GENERAL_TO and _wins_in_few_secrets(problem):
        return (GENERAL[0], COLUMNS, *GENERAL[1:])
    return (COLUMNS, *GENERAL) if problem.variables <= limits.GENERAL_TO else (COLUMNS,)


def _wins_in_few_secrets(problem: Problem) -> bool:
    """Whether each guess of an adversary wins something in few secrets, as where he has to be right.

    Then nearly all guesses may be the best one after a report, and each is a sparse row of a linear program.
    """
    if not isinstance(problem.objective, AdversaryError):
        return False
    guesses = problem.objective.guesses
    wins = np.count_nonzero(guesses < guesses.max(axis=1, keepdims=True))
    return bool(wins <= limits.WINS_TO * guesses.shape[1])
