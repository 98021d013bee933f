"""Several mechanisms for one problem, a bound on all of them, and what they are worth under other priors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dxopt.analysis import evaluate
from dxopt.analysis.regularity import verdict
from dxopt.errors import CertificateError, SolveError, SpecError, UnsupportedError
from dxopt.mechanisms.classic.contract import BASELINES
from dxopt.model.mechanism import Mechanism
from dxopt.model.objective import ExpectedLoss, WorstLoss
from dxopt.model.prior import PriorLike
from dxopt.model.problem import Problem, required_problem
from dxopt.proofs.certify import gap
from dxopt.results.announcing import announcing
from dxopt.results.comparison import Compared, Comparison
from dxopt.results.evidence import Evidence, written
from dxopt.results.files import finite
from dxopt.results.report import Report
from dxopt.runtime.machines import using
from dxopt.runtime.stopping import Status, Stop
from dxopt.solving.attempts import Progress
from dxopt.solving.solve import solve
from dxopt.studies.own import REFERENCE, Methods, Own, checked_methods, name_of

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
    progress: Progress | None = None,
    cluster: str | None = None,
    device: str | None = None,
) -> Comparison:
    """Compare mechanisms with the best one and with a proven bound on every private one.

    Each mechanism is made for the problem's space, ε and δ, repaired and proven private; its value is what the
    problem's objective is about. One that does not exist for the problem, or is over its budget, is a row that states
    why. Baselines such as cloaking are no private mechanisms: theirs is the level that they are measured to have.

    Parameters
    ----------
    problem : Problem
    methods : list of names, mechanisms, (n, m) arrays, functions or pairs of a name and one of these, optional
        Names of mechanisms, as for `dx.solve`, and of baselines; all that there are by default. "optimal" is always
        there, and first. A mechanism of one's own, or the matrix of one, is proven as private as the problem asks
        for before it gets figures; a function makes one from ε. One alone needs no list, and a mapping has names.
    priors : mapping of names to priors, optional
        Others that may be the true one. Each mechanism, made for the problem's prior, is evaluated under them, and
        the optimum for each of them is a mechanism as well, evaluated under the problem's prior and the rest (Cha13).
    reference : Report, optional
        The problem solved already, for the row "optimal" and its bound.
    solver, tolerance, time_limit, progress, cluster, device
        As for `dx.solve`. The limit is on the solver: mechanisms in closed form take the time that they take.

    Returns
    -------
    Comparison
        After Ctrl-C with the rows that were finished; the others state that they were not started.

    Raises
    ------
    SpecError
        If there is no mechanism of a name, a method is none, a prior does not fit, or an option is wrong.
    """
    required_problem(problem)
    asked = checked_methods(methods)
    others = _others(problem, priors or {})
    options = {"solver": solver, "tolerance": tolerance, "time_limit": time_limit, "progress": progress}
    with Stop() as stop, using(cluster, device):
        entries, answers = _made(problem, asked, reference, options, stop)
        optima, of_optima = _optima(problem, others, options, stop)
        entries |= of_optima
        regular = None if stop.interrupted else _verdict(problem)
    # Every answer has a bound on all private mechanisms, whatever its own mechanism: the sharpest of them is kept,
    # with the dual that proves it.
    best = max(answers, key=lambda found: problem.objective.sign * found.certificate.bound, default=None)
    bound = best and best.certificate.bound
    return Comparison(
        problem.name,
        epsilon=problem.epsilon if problem.private else None,
        rows=tuple(_rows(problem, others, entries, bound)),
        bound=bound,
        verdict=regular,
        interrupted=stop.interrupted,
        objective=problem.objective.title,
        delta=problem.delta,
        bounds={name: found.certificate.bound for name, found in optima.items()},
        evidence=Evidence(
            channels={name: written(entry.mechanism) for name, entry in entries.items() if isinstance(entry, _Entry)},
            priors={name: other.prior.probabilities for name, other in others.items()},
            dual=best and best.dual,
            duals={name: found.dual for name, found in optima.items()},
        ),
    )


def _others(problem: Problem, priors: Mapping[str, PriorLike]) -> dict[str, Problem]:
    """The problem under each other prior."""
    if priors and isinstance(problem.objective, WorstLoss):
        raise SpecError("priors", "do not matter for the worst loss", "leave them out, or ask for expected_loss")
    problems = {}
    for name, prior in priors.items():
        try:
            problems[name] = problem.but(prior=prior)
        except SpecError as error:
            raise SpecError("priors", f"{name}: the {error.field} {error.wrong}", error.fix) from None
    return problems


@dataclass(frozen=True, eq=False)
class _Entry:
    """A mechanism of a comparison, and what was proven or measured of it."""

    mechanism: Mechanism
    private: bool
    epsilon: float | None
    delta: float | None
    value: float
    note: str = ""
    baseline: bool = False


def _made(
    problem: Problem, methods: Iterable[str | Own], reference: Report | None, options: dict[str, Any], stop: Stop
) -> tuple[dict[str, _Entry | str], list[Report]]:
    """Return the mechanisms by name, or why there are none, and the reports among them, until the first Ctrl-C."""
    entries: dict[str, _Entry | str] = {}
    answers: list[Report] = []
    for method in methods:
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
                answers.append(found)
                stop.interrupted |= found.status is Status.INTERRUPTED
    return entries, answers


def _optima(
    problem: Problem, others: Mapping[str, Problem], options: dict[str, Any], stop: Stop
) -> tuple[dict[str, Report], dict[str, _Entry | str]]:
    """Return the optima for other priors by prior, and the same as mechanisms for the problem by row."""
    optima: dict[str, Report] = {}
    entries: dict[str, _Entry | str] = {}
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


def _entry(problem: Problem, name: str, found: Report | str) -> _Entry | str:
    """A mechanism with its proof, which may be about another prior than the problem's."""
    if isinstance(found, str):
        return found.removeprefix(f"{name} ")
    proof = found.certificate
    story = found.route if found.status is Status.OPTIMAL else f"{found.route}; {found.status}"
    return _Entry(
        found.mechanism,
        private=proof.private,
        epsilon=proof.epsilon if problem.private else None,
        delta=proof.delta if problem.delta else None,
        note=story if name == REFERENCE else "",
        value=proof.value if found.problem.prior is problem.prior else _value(problem, found.mechanism),
    )


def _of_own(problem: Problem, own: Own) -> _Entry | str:
    """A mechanism of one's own with its proof, or why it has none."""
    mechanism = own.proven_or_why(problem)
    if isinstance(mechanism, str):
        return mechanism
    proof = mechanism.privacy if problem.private else None
    return _Entry(
        mechanism,
        private=proof is not None,
        epsilon=proof and proof.epsilon,
        delta=proof and proof.delta if problem.delta else None,
        value=_value(problem, mechanism),
    )


def _measured(problem: Problem, name: str) -> _Entry | str:
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
    return _Entry(
        mechanism,
        private=epsilon <= problem.epsilon,
        epsilon=epsilon,
        delta=problem.delta or None,
        note="" if epsilon <= problem.epsilon else "a baseline, not private at this level",
        value=_value(problem, mechanism),
        baseline=True,
    )


def _rows(
    problem: Problem, others: Mapping[str, Problem], entries: Mapping[str, _Entry | str], bound: float | None
) -> Iterator[Compared]:
    """Yield the rows in order; excesses are relative to the reference, which is the first."""
    best: float | None = None
    for name, entry in entries.items():
        if isinstance(entry, str):
            yield Compared(name, note=entry)
            continue
        mechanism = entry.mechanism
        best = entry.value if name == REFERENCE else best
        averaged = isinstance(problem.objective, ExpectedLoss)
        remapped = evaluate.adversary_error(mechanism, problem.prior, problem.loss) if averaged else None
        yield Compared(
            name,
            value=entry.value,
            remapped=remapped,
            gap=None if bound is None else gap(entry.value, bound),
            private=entry.private,
            epsilon=None if entry.epsilon is None else finite(entry.epsilon),
            leakage=evaluate.min_entropy_leakage(mechanism, problem.prior),
            note=entry.note,
            delta=entry.delta,
            excess=_excess(entry.value, best),
            remapped_excess=None if remapped is None else _excess(remapped, best),
            under={name: _value(other, mechanism) for name, other in others.items()},
            baseline=entry.baseline,
        )


def _value(problem: Problem, mechanism: Mechanism) -> float:
    """What the objective of the problem is about."""
    if isinstance(problem.objective, ExpectedLoss):
        return evaluate.expected_loss(mechanism, problem.prior, problem.loss)
    return problem.objective.value(problem, mechanism.matrix)


def _excess(value: float, best: float | None) -> float | None:
    """How far a value is above the best one, relative to that; None where that is missing or 0."""
    return None if not best else (value - best) / abs(best)


def _verdict(problem: Problem) -> str | None:
    """Whether the prior is regular, which makes the tight-constraints mechanism optimal for binary loss."""
    if problem.why_coupled is not None or not problem.loss.is_binary or len(problem.space) > VERDICT_POINTS:
        return None
    return str(verdict(problem.prior, problem.space, problem.epsilon))
