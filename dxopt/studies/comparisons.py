"""Several mechanisms for one problem, a bound on all of them, and what they are worth under other priors."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis import evaluate
from dxopt.analysis.evaluate import optimal_random_remap
from dxopt.analysis.order.refinement import compared
from dxopt.analysis.order.remaps import proven_worst_case
from dxopt.analysis.regularity import verdict
from dxopt.errors import (
    CertificateError,
    MethodRefused,
    NoTightMechanism,
    SolveError,
    SpecError,
    UnsupportedError,
    required,
)
from dxopt.mechanisms.classic.base import BASELINES
from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.model.moment_sets import Fitting
from dxopt.model.objective import WorstLoss, WorstRegret
from dxopt.model.prior import PriorLike
from dxopt.model.prior_sets import PriorSet
from dxopt.model.problem import Problem, required_problem
from dxopt.numerics.number_syntax import at_most, level_text
from dxopt.proofs.certify import MADE_IMPOSSIBLE, is_optimal
from dxopt.proofs.user_channel import ROUNDING, proven_answer
from dxopt.results.announcing import announcing
from dxopt.results.compared import Refined, Regularity
from dxopt.results.comparison import OPTIMAL, Comparison, Entry, Evidence
from dxopt.results.comparison_folder import difference
from dxopt.results.report import Report
from dxopt.runtime.archive import Arrays
from dxopt.runtime.cluster import using
from dxopt.runtime.progress import showing, step
from dxopt.runtime.stopping import Status, Stop
from dxopt.solving.options import Progress
from dxopt.solving.solve import solve
from dxopt.studies.own import Methods, Own, checked_methods


def _under_others(problem: Problem, priors: Mapping[str, PriorLike]) -> dict[str, Problem]:
    """Return the problem under each other prior, by name; SpecError where one does not fit or is a set.

    UnsupportedError if the problem's own prior is the set of all that fit totals: its worst case is proven for the
    mechanism that was solved for alone, so that others have no value to compare.
    """
    if isinstance(problem.priors, Fitting):
        fix = "give a hull, a ball or a box, or solve without comparing"
        raise UnsupportedError("prior", "is all that fit totals, over which mechanisms are not compared", fix)
    if priors and isinstance(problem.objective, WorstLoss):
        raise SpecError("priors", "do not matter for the worst loss", "leave them out, or ask for expected_loss")
    if not isinstance(priors, Mapping):
        wrong = f"are of type {type(priors).__name__}, not named"
        raise SpecError("priors", wrong, 'give a mapping of names to priors, as {"even": "uniform"}')
    problems = {}
    for name, prior in priors.items():
        if isinstance(prior, PriorSet):
            raise SpecError("priors", f"{name}: is a set of priors", "give one prior, such as its centre")
        try:
            problems[name] = problem.but(prior=prior)
        except SpecError as error:
            raise error.at("priors", f"{name}: the {error.field} {error.wrong}") from None
    return problems


Array = NDArray[np.float64]
MOST_CELLS = 1_000_000
"""Refinement is decided up to this n·m², as it is for every pair: 100 secrets with as many reports."""
REMAP_CELLS = 250_000
"""The best remap in the worst case is looked for up to this n²·m."""


def find_refinements(mechanisms: Mapping[str, Mechanism]) -> dict[Refined, Arrays]:
    """Decide for each ordered pair of mechanisms whether the first refines the second, with the proof of that.

    A remap proves it, gains under which the first is worse refute it, and neither is there where it stays open.
    Mechanisms without a matrix, and pairs of over `MOST_CELLS`, are left out.
    """
    written = {name: one.matrix for name, one in mechanisms.items() if isinstance(one, MatrixMechanism)}
    found: dict[Refined, Arrays] = {}
    for (better, one), (worse, other) in permutations(written.items(), 2):
        if one.size * other.shape[1] > MOST_CELLS:
            continue
        answer = compared(one, other)
        refined = Refined(better, worse, answer.holds)
        if answer.holds:
            found[replace(refined, shortfall=answer.high)] = {"remap": answer.remap}
        elif answer.holds is False and answer.witness is not None:
            found[replace(refined, shortfall=answer.low)] = {"gains": answer.witness.gains}
        else:
            found[refined] = {}
    return found


def _best_remap_for_worst_loss(problem: Problem, mechanism: Mechanism) -> tuple[Array, Array] | None:
    """Return the best remap for the worst loss and the weights that prove it; None for others, or without proof."""
    rows, reports = problem.shape
    written = isinstance(mechanism, MatrixMechanism) and rows * rows * reports <= REMAP_CELLS
    if written and isinstance(problem.objective, WorstLoss):
        with suppress(SpecError, CertificateError):
            found = optimal_random_remap(mechanism, problem.loss)
            proven_worst_case(mechanism.matrix, found.channel, problem.losses, found.weights)
            return found.channel, found.weights
    return None


VERDICT_POINTS = 400
"""For more secrets than that it is not decided whether the prior is regular."""
_NOT_STARTED = "not started, as the run was interrupted"


@announcing()
def compare(
    problem: Problem,
    methods: Methods | None = None,
    *,
    priors: Mapping[str, PriorLike] | None = None,
    reference: Report | None = None,
    solver: str = "auto",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    progress: Progress | bool | None = None,
    partial: bool = False,
    cluster: str | None = None,
    device: str | None = None,
) -> Comparison:
    """Compare mechanisms with the best one and with a proven bound on every private one.

    Each mechanism is made for the problem's space, ε and δ, and proven private; its value is what the problem's
    objective is about. One that does not exist for the problem, or is over its budget, is a row that states
    why. Baselines such as cloaking are no private mechanisms: theirs is the level that they are measured to have.
    Up to 100 secrets it is decided which of them refines which: is better or equal for every prior and every loss.

    Parameters
    ----------
    problem : Problem
    methods : list of names, mechanisms, (n, m) arrays, functions or pairs of a name and one of these, optional
        Names of mechanisms, as for `dx.solve`, and of baselines; all that there are by default. "optimal" is always
        there, and first. A mechanism of one's own, or the matrix of one, is proven as private as the problem asks
        for before it gets figures. What solvers and rounding leave is repaired as by `dx.certify`; a note states by
        how much entries moved. A function makes one from ε. Those that have names keep them. One alone needs no list,
        and a mapping has names.
    priors : mapping of names to priors, optional
        Others that may be the true one. Each mechanism, made for the problem's prior, is evaluated under them, and
        the optimum for each of them is a mechanism as well, evaluated under the problem's prior and the rest (Cha13).
    reference : Report, optional
        What `dx.solve` found for this problem already, for the row "optimal" and its bound.
    solver, tolerance, time_limit, progress, partial, cluster, device
        As for `dx.solve`. The limit is on the solver: mechanisms in closed form take the time that they take.

    Returns
    -------
    Comparison
        After Ctrl-C with the rows that were finished; the others state that they were not started. It is then the
        `answer` of an Interrupted, or with `partial` is returned.

    Raises
    ------
    SpecError
        If there is no mechanism of a name, a method is none, a prior does not fit, the reference answers another
        problem, or an option is wrong.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> problem = dx.Problem(dx.line(4), epsilon=1.0, prior=[0.4, 0.3, 0.2, 0.1])
    >>> own = 0.2 * np.eye(4) + 0.2
    >>> for row in dx.compare(problem, ["geometric", ("my own", own)]).rows:
    ...     print(row.name, round(row.value, 3))
    optimal 0.496
    geometric 0.521
    my own 1.0
    """
    required_problem(problem, "comparison")
    asked = checked_methods(methods)
    required("priors", priors, Mapping | None, "give a dictionary from names to priors")
    others = _under_others(problem, priors or {})
    if reference is not None:
        required("reference", reference, Report, "give what dx.solve found for this problem")
        if differs := difference(problem, reference.problem):
            wrong = f"answers a problem with {differs}"
            raise SpecError("reference", wrong, "solve this problem, or leave it out")
    with showing(progress) as tell, Stop(partial=partial) as stop, using(cluster, device):
        options = {"solver": solver, "tolerance": tolerance, "time_limit": time_limit, "progress": tell}
        if isinstance(problem.objective, WorstRegret) and not problem.objective.reports:
            # regrets are against optima, which any answer to the problem brings along
            reference = reference or solve(problem, **options)
            problem = reference.problem
        entries = _make_entries(problem, asked, reference, options, stop)
        for name, other in others.items():
            try:
                found = _NOT_STARTED if stop.interrupted else _report_or_reason(other, "auto", **options)
            except SpecError as error:  # its loss may be over the budget
                if error.field != "max_loss":
                    raise
                found = f"the budget {error.wrong}"
            entries[f"{OPTIMAL} for {name}"] = _optimum_entry(found, stop, name)
        there = {name: entry.mechanism for name, entry in entries.items() if entry.mechanism is not None}
        drawn = {name: _best_remap_for_worst_loss(problem, one) for name, one in there.items()}
        remaps = {name: remap for name, remap in drawn.items() if remap is not None}
        regular = None
        written = problem.why_coupled is None and problem.loss.is_binary and len(problem.space) <= VERDICT_POINTS
        if written and not stop.interrupted:
            # A regular prior makes the tight-constraints mechanism optimal for binary loss.
            decided = verdict(problem.prior, problem.space, problem.epsilon)
            regular = Regularity(decided.status, decided.reason)
        order = {} if stop.interrupted else find_refinements(there)
    evidence = Evidence(problem, entries, others, remaps, order)
    return stop.delivered(Comparison.of(evidence, regular, interrupted=stop.interrupted))


def _make_entries(
    problem: Problem, asked: list[str | Own], reference: Report | None, options: dict[str, Any], stop: Stop
) -> dict[str, Entry]:
    """Return the rows asked for by name; only a note for what cannot be made, or not be started after Ctrl-C."""
    entries: dict[str, Entry] = {}
    for made, method in enumerate(asked):
        step(options["progress"], made, len(asked))
        name = method if isinstance(method, str) else method.name
        # a reference that was given is the optimum without a solve, also after Ctrl-C
        if stop.interrupted and not (name == OPTIMAL and reference is not None):
            entries[name] = Entry(note=_NOT_STARTED)
        elif isinstance(method, Own):
            entries[name] = _own_entry(problem, method, options["tolerance"])
        elif name in BASELINES:
            entries[name] = _baseline_entry(problem, name)
        elif name == OPTIMAL:
            entries[name] = _optimum_entry(
                _report_or_reason(problem, "auto", **options) if reference is None else reference, stop
            )
        else:
            found = _report_or_reason(problem, name, tolerance=options["tolerance"], progress=options["progress"])
            entries[name] = Entry(note=found) if isinstance(found, str) else Entry(found)
            stop.interrupted |= isinstance(found, Report) and found.status is Status.INTERRUPTED
    return entries


def _optimum_entry(found: Report | str, stop: Stop, prior: str = "") -> Entry:
    """Return the row of an optimum, for another prior if one is named; `found` is its report or why it has none."""
    if isinstance(found, str):
        return Entry(prior=prior, note=found)
    stop.interrupted |= found.status is Status.INTERRUPTED
    status = "" if found.status is Status.OPTIMAL else str(found.status)
    return Entry(found, prior=prior, note="; ".join(filter(None, (found.route, status, found.failed))))


def _report_or_reason(problem: Problem, method: str, **options: Any) -> Report | str:
    """Return the report of a solve, or as text the reason why the method has none for the problem."""
    try:
        return solve(problem, method=method, **options)
    except NoTightMechanism as error:
        found = error.exists_from
        return error.wrong + ("" if found is None else f"; it exists from epsilon = {level_text(found, 7)}")
    except MethodRefused as error:
        return error.reason
    except UnsupportedError as error:
        return error.wrong
    except (SolveError, CertificateError) as error:
        return str(error)


def _own_entry(problem: Problem, own: Own, tolerance: float) -> Entry:
    """Return the row of a user's own mechanism: a report with its proof, or a note why it has none."""
    began = time.perf_counter()
    try:
        mechanism, moved = own.proven(problem)
        found = proven_answer(problem, mechanism)
    except SpecError as error:
        return Entry(note="; ".join(filter(None, (error.wrong, error.fix))))
    except CertificateError as error:
        return Entry(note=str(error))
    proof = found.certificate
    optimal = is_optimal(problem, found.mechanism, proof.value, proof.bound, tolerance)
    report = Report(
        problem,
        found.mechanism,
        proof,
        found.dual,
        Status.OPTIMAL if optimal else Status.FEASIBLE,
        found.claim,
        route="a mechanism of one's own",
        refused={},
        reductions=(),
        seconds=time.perf_counter() - began,
        tolerance=tolerance,
    )
    return Entry(report, note=f"repaired: entries were moved by {at_most(moved)} at most" if moved > ROUNDING else "")


def _baseline_entry(problem: Problem, name: str) -> Entry:
    """Return the row of a baseline, which is no private mechanism, or a note why it does not apply."""
    baseline = BASELINES.get(name)()
    reason = baseline.refuses(problem) if problem.private else "needs an epsilon"
    if reason:
        return Entry(note=reason)
    channel = baseline.channel(problem)
    if (np.isinf(problem.losses) & (channel > 0)).any():
        return Entry(note=MADE_IMPOSSIBLE)
    mechanism = Mechanism.from_matrix(problem.space, channel, problem.reports, name=name)
    spent = evaluate.expected_loss(mechanism, problem.prior, problem.loss)
    if spent > problem.objective.max_loss:
        return Entry(note=f"the expected loss {spent:.6g} is over its budget {problem.objective.max_loss:.6g}")
    return Entry(measured=mechanism)
