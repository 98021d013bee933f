"""Several mechanisms for one problem, a bound on all of them, and what they are worth under other priors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dxopt.analysis import evaluate
from dxopt.errors import CertificateError, MethodRefused, NoTightMechanism, SolveError, SpecError, UnsupportedError
from dxopt.mechanisms.classic.contract import BASELINES
from dxopt.model.mechanism import Mechanism
from dxopt.model.objective import WorstRegret
from dxopt.model.prior import PriorLike
from dxopt.model.problem import Problem
from dxopt.model.required import required_problem
from dxopt.results.announcing import announcing
from dxopt.results.comparison import Comparison
from dxopt.results.evidence import Evidence, written
from dxopt.results.report import Report
from dxopt.runtime.live import showing, step
from dxopt.runtime.machines import using
from dxopt.runtime.stopping import Status, Stop
from dxopt.solving.attempts import Progress
from dxopt.solving.solve import solve
from dxopt.studies.ordering import ordered, remap_in_the_worst_case
from dxopt.studies.own import REFERENCE, Methods, Own, checked_methods, name_of
from dxopt.studies.references import require_answer
from dxopt.studies.rows import Entry, rows_of, value_of, verdict_of
from dxopt.studies.under_others import under_others

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
        for before it gets figures, moved by 1e-9 at most where rounding keeps it from that; a function makes one
        from ε. Those that have names keep them. One alone needs no list, and a mapping has names.
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
    others = under_others(problem, priors or {})
    if reference is not None:
        require_answer(reference, problem)
    with showing(progress) as tell, Stop(partial=partial) as stop, using(cluster, device):
        options = {"solver": solver, "tolerance": tolerance, "time_limit": time_limit, "progress": tell}
        if isinstance(problem.objective, WorstRegret) and not problem.objective.reports:
            # regrets are against optima, which any answer to the problem brings along
            reference = reference or solve(problem, **options)
            problem = reference.problem
        entries, answers = _made(problem, asked, reference, options, stop)
        optima, of_optima = _optima(problem, others, options, stop)
        entries |= of_optima
        regular = None if stop.interrupted else verdict_of(problem)
        there = {name: entry.mechanism for name, entry in entries.items() if isinstance(entry, Entry)}
        drawn = {name: remap_in_the_worst_case(problem, one) for name, one in there.items()}
        remaps = {name: remap for name, remap in drawn.items() if remap is not None}
        channels = {name: written(mechanism) for name, mechanism in there.items()}
        order = {} if stop.interrupted else ordered(channels)
    # Every answer has a bound on all private mechanisms, whatever its own mechanism: the sharpest of them is kept,
    # with the dual that proves it.
    best = max(answers.values(), key=lambda found: problem.objective.sign * found.certificate.bound, default=None)
    bound = best and best.certificate.bound
    found = Comparison(
        problem.name,
        epsilon=problem.epsilon if problem.private else None,
        rows=tuple(rows_of(problem, others, entries, bound, remaps)),
        bound=bound,
        verdict=regular,
        interrupted=stop.interrupted,
        objective=problem.objective.title,
        delta=problem.delta,
        bounds={name: found.certificate.bound for name, found in optima.items()},
        refinements=tuple(order),
        unit=problem.unit,
        distance_unit=problem.space.unit,
        plugins=tuple(dict.fromkeys(plugin for found in answers.values() for plugin in found.plugins)),
        report=answers.get(REFERENCE),
        evidence=Evidence(
            channels=channels,
            priors={name: other.prior.probabilities for name, other in others.items()},
            dual=best and best.dual,
            duals={name: found.dual for name, found in optima.items()},
            remaps={name: (remap.channel, remap.weights) for name, remap in remaps.items()},
            refined=tuple(order.values()),
        ),
    )
    return stop.delivered(found)


def _made(
    problem: Problem, methods: Iterable[str | Own], reference: Report | None, options: dict[str, Any], stop: Stop
) -> tuple[dict[str, Entry | str], dict[str, Report]]:
    """Return the mechanisms by name, or why there are none, and the reports among them, until the first Ctrl-C."""
    entries: dict[str, Entry | str] = {}
    answers: dict[str, Report] = {}
    asked = list(methods)
    for made, method in enumerate(asked):
        step(options["progress"], made, len(asked))
        name = name_of(method)
        if stop.interrupted and not (name == REFERENCE and reference is not None):
            entries[name] = _NOT_STARTED
        elif isinstance(method, Own):
            entries[name] = _of_own(problem, method)
        elif name in BASELINES:
            entries[name] = _measured(problem, name)
        else:
            found = _report(problem, name, reference, options)
            entries[name] = _entry(problem, name, found)
            if isinstance(found, Report):
                answers[name] = found
                stop.interrupted |= found.status is Status.INTERRUPTED
    return entries, answers


def _optima(
    problem: Problem, others: Mapping[str, Problem], options: dict[str, Any], stop: Stop
) -> tuple[dict[str, Report], dict[str, Entry | str]]:
    """Return the optima for other priors by prior, and the same as mechanisms for the problem by row."""
    optima: dict[str, Report] = {}
    entries: dict[str, Entry | str] = {}
    for name, other in others.items():
        found = _NOT_STARTED if stop.interrupted else _under(other, **options)
        entries[f"{REFERENCE} for {name}"] = _entry(problem, REFERENCE, found)
        if isinstance(found, Report):
            optima[name] = found
            stop.interrupted |= found.status is Status.INTERRUPTED
    return optima, entries


def _report(problem: Problem, name: str, reference: Report | None, options: dict[str, Any]) -> Report | str:
    """The answer to the problem by the name of a method."""
    if name != REFERENCE:
        return _solved(problem, name, tolerance=options["tolerance"], progress=options["progress"])
    return _solved(problem, "auto", **options) if reference is None else reference


def _solved(problem: Problem, method: str, **options: Any) -> Report | str:
    """The report, or why there is none."""
    try:
        return solve(problem, method=method, **options)
    except NoTightMechanism as error:
        return (
            error.wrong
            if error.exists_from is None
            else f"{error.wrong}; it exists from epsilon = {error.exists_from:.7g}"
        )
    except MethodRefused as error:
        return error.reason
    except (UnsupportedError, SolveError, CertificateError) as error:
        return error.wrong if isinstance(error, UnsupportedError) else str(error)


def _under(problem: Problem, **options: Any) -> Report | str:
    """The optimum for another prior, or why there is none: its loss may be over the budget."""
    try:
        return _solved(problem, "auto", **options)
    except SpecError as error:
        if error.field != "max_loss":
            raise
        return f"the budget {error.wrong}"


def _entry(problem: Problem, name: str, found: Report | str) -> Entry | str:
    """A mechanism with its proof, which may be about another prior than the problem's."""
    if isinstance(found, str):
        return found
    proof = found.certificate
    status = "" if found.status is Status.OPTIMAL else str(found.status)
    story = "; ".join(filter(None, (found.route, status, found.failed)))
    return Entry(
        found.mechanism,
        private=proof.private,
        epsilon=proof.epsilon if problem.private else None,
        delta=proof.delta if problem.delta else None,
        note=story if name == REFERENCE else "",
        value=proof.value if found.problem.prior is problem.prior else value_of(problem, found.mechanism),
    )


def _of_own(problem: Problem, own: Own) -> Entry | str:
    """A mechanism of one's own with its proof, or why it has none."""
    mechanism = own.proven_or_why(problem)
    if isinstance(mechanism, str):
        return mechanism
    proof = mechanism.privacy if problem.private else None
    return Entry(
        mechanism,
        private=proof is not None,
        epsilon=proof and proof.epsilon,
        delta=proof and proof.delta if problem.delta else None,
        value=value_of(problem, mechanism),
    )


def _measured(problem: Problem, name: str) -> Entry | str:
    """A baseline with the level that it happens to have."""
    baseline = BASELINES.get(name)()
    reason = baseline.refuses(problem) if problem.private else "needs an epsilon"
    if reason:
        return reason
    channel = baseline.channel(problem)
    mechanism = Mechanism.from_matrix(problem.space, channel, problem.reports, name=name)
    spent = evaluate.expected_loss(mechanism, problem.prior, problem.loss)
    if spent > problem.objective.max_loss:
        return f"the expected loss {spent:.6g} is over its budget {problem.objective.max_loss:.6g}"
    epsilon = evaluate.smallest_epsilon(mechanism, problem.delta, pairs=problem.pairs)
    return Entry(
        mechanism,
        private=epsilon <= problem.epsilon,
        epsilon=epsilon,
        delta=problem.delta or None,
        note="" if epsilon <= problem.epsilon else "a baseline, not private at this level",
        value=value_of(problem, mechanism),
        baseline=True,
    )
