"""From a problem file to the tasks it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.loss import Loss, Reports
from dxopt.model.objective import AdversaryError, Objective
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.results.measures import ERROR_BOUND, Beliefs
from dxopt.solving.routes.choice import COMPARABLE
from dxopt.spec import objectives as o
from dxopt.spec import sheet as s
from dxopt.spec.beliefs import build_beliefs
from dxopt.spec.family import Member, read_members, read_swept
from dxopt.spec.fields import MAX_LOCATIONS
from dxopt.spec.locations import Secrets, build_reports, build_space
from dxopt.spec.priors import CornerPrior, build_priors
from dxopt.spec.source import Source
from dxopt.spec.tables import read_matrix
from dxopt.studies.questions import AtLevels, LossFrontier, Sweep

_FIXES = {
    "prior": "give another one, as a corner prior changes with the level",
    "objective": "give one max_loss",
}


@dataclass(frozen=True)
class Expect:
    """A value that is known.

    Attributes
    ----------
    value : float
    tolerance : float
        How far off, absolutely, the value may be.
    source : str
        Where the value is from.
    """

    value: float
    tolerance: float = 1e-6
    source: str = field(kw_only=True)


@dataclass(frozen=True)
class Task:
    """A problem and how a file asks for it to be solved.

    Attributes
    ----------
    problem : Problem
    method : str
    solver : str
        "auto", or what should be the name of a solver; it is not looked up here.
    spanner : float or None
        Dilation of at least 1.
    tolerance : float
        Largest relative gap, above 0 and below 1.
    time_limit : float or None
        Seconds.
    evaluate : tuple of str
    compare : tuple of str
        Mechanisms to compare with.
    priors : dict
        Others that may be the true one, by name.
    expect : Expect or None
        Of the report, or of the smallest epsilon where that is asked for.
    sweep : SmallestEpsilon, EpsilonFrontier, LossFrontier, AtLevels or None
        What is asked where one solve does not answer it; the problem is then the first one.
    beliefs : tuple of Beliefs
        What to say of an adversary's beliefs.
    records : int or None
        How many records databases have that are evaluated besides.
    source : Path
        The file.
    origin : Source
        What was read from it, with the place of everything.
    """

    problem: Problem
    method: str
    solver: str
    spanner: float | None
    tolerance: float
    time_limit: float | None
    evaluate: tuple[str, ...]
    compare: tuple[str, ...]
    priors: Mapping[str, Prior]
    expect: Expect | None
    sweep: Sweep | None
    beliefs: tuple[Beliefs, ...]
    records: int | None
    source: Path
    origin: Source = field(repr=False)

    def located(self, error: SpecError) -> SpecError:
        """An error met while solving, at the place in the file that it speaks of, if it speaks of the file."""
        field = error.field
        paths = ((field,), ("epsilon", field), ("objective", field, "from"), ("objective", field))
        written = next(filter(self.origin.has, paths), None)
        if written is None and not isinstance(error, UnsupportedError):
            return error
        return self.origin.error(written or paths[0], error.wrong, error.fix)


def load(path: str | Path, sweep: AtLevels | None = None) -> list[Task]:
    """The tasks of a problem file: one, or one for each problem of a family, in the order of `names_and_files`.

    With a sweep, whose levels take the place of those of the file, there is one task for each prior. Its mechanisms
    are those that the sweep names, or else those that the file has in `compare` or in a list of methods, or else all.

    Raises
    ------
    SpecFileError
        If anything is wrong with the file or the files it names; the first thing in file order.
    """
    members = read_members(Path(path)) if sweep is None else read_swept(Path(path), sweep)
    secrets = build_space(members[0].source, members[0].sheet.space)
    if sweep is not None:
        return [_swept(member, secrets, sweep) for member in members]
    return [task for member in members for task in _tasks(member, secrets)]


def _swept(member: Member, secrets: Secrets, sweep: AtLevels) -> Task:
    source, sheet = member.source, member.sheet
    unsuited = {
        "prior": isinstance(sheet.prior, CornerPrior),
        "objective": isinstance(sheet.sweep, LossFrontier),
        "spanner": sheet.spanner is not None,
        "priors": bool(sheet.priors),
    }
    for name, given in unsuited.items():
        if given:
            raise source.error((name,), f"does not go with a {sweep}", _FIXES.get(name, "leave it out"))
    task = _tasks(member, secrets)[0]
    named = [name for name in [*sheet.compare, *member.methods] if name in COMPARABLE]
    methods = sweep.methods or tuple(dict.fromkeys(named)) or COMPARABLE
    return replace(
        task,
        problem=task.problem.but(name=member.together),
        method="auto",
        compare=(),
        sweep=replace(sweep, methods=methods),
    )


def _tasks(member: Member, secrets: Secrets) -> list[Task]:
    source, sheet = member.source, member.sheet
    if sheet.method == "tight" and not secrets.space.symmetric:
        raise source.error(("method",), "tight needs symmetric distances", "use method: optimal")
    if ERROR_BOUND in sheet.evaluate and not secrets.space.symmetric:
        place = sheet.evaluate.index(ERROR_BOUND)
        raise source.error(("evaluate", place), f"{ERROR_BOUND} needs symmetric distances", "leave it out")
    epsilons = sheet.epsilons()
    priors = build_priors(source, sheet.prior, secrets, epsilons, "prior")
    others = {
        name: build_priors(source, asked, secrets, epsilons, "priors", name) for name, asked in sheet.priors.items()
    }
    loss, objective = _loss(source, sheet, secrets), _objective(source, sheet.objective, secrets)
    expected = sheet.expect if isinstance(sheet.expect, list) else [sheet.expect] * len(epsilons)
    beliefs = build_beliefs(source, sheet.learns, secrets.space)
    tasks: list[Task] = []
    each = zip(epsilons, member.names, priors, expected, strict=True)
    for place, (epsilon, title, prior, expect) in enumerate(each):
        with source.within("loss"):
            problem = Problem(
                secrets.space,
                epsilon=epsilon,
                prior=prior,
                loss=loss,
                objective=objective,
                delta=sheet.delta,
                pairs=sheet.pairs,
                name=title,
            )
        tasks.append(
            Task(
                problem,
                method=sheet.method,
                solver=sheet.solver,
                spanner=sheet.spanner,
                tolerance=sheet.gap,
                time_limit=sheet.time_limit,
                evaluate=tuple(sheet.evaluate),
                compare=tuple(sheet.compare),
                priors={name: of_each[place] for name, of_each in others.items()},
                expect=expect and Expect(expect.value, expect.tolerance, source=expect.source),
                sweep=sheet.sweep,
                beliefs=beliefs,
                records=sheet.records,
                source=source.path,
                origin=source,
            )
        )
    return tasks


def _loss(source: Source, sheet: s.Sheet, secrets: Secrets) -> Loss:
    reports = build_reports(source, sheet.reports, secrets.space) if sheet.reports else None
    return _losses(source, sheet.loss, secrets, reports, "loss")


def _objective(source: Source, asked: o.Objective, secrets: Secrets) -> str | Objective:
    if isinstance(asked, str):
        return asked
    if isinstance(asked, o.LeastLoss):
        return asked.kind
    where = ("objective", "adversary_loss")
    loss = _losses(source, asked.adversary_loss, secrets, None, *where)
    with source.within(*where):
        return AdversaryError(asked.budget, loss).on(secrets.space)


def _losses(source: Source, asked: o.Loss, secrets: Secrets, reports: Reports | None, *where: str) -> Loss:
    """The losses that the key at `where` asks for."""
    with source.within(*where):
        match asked:
            case str() as name:
                return Loss.of(name, secrets.space, reports)
            case o.MatrixValues():
                return Loss.of(asked.values, secrets.space, reports)
            case o.MatrixFile():
                blame = source.blame(*where, "file")
                matrix = read_matrix(source.beside(asked.file), blame, most_rows=MAX_LOCATIONS)
                return Loss.of(matrix, secrets.space, reports)
