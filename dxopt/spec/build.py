"""The tasks of a problem file: problems, and how each is to be solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from numpy.typing import ArrayLike

from dxopt.analysis.held_out import Observed
from dxopt.errors import CertificateError, Option, SpecError, UnsupportedError
from dxopt.model.loss import ROUNDING, Loss, Reports
from dxopt.model.objective import AdversaryError, Objective
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.results.measures import ERROR_BOUND, MEASURES, Beliefs
from dxopt.results.reading import read_problem
from dxopt.runtime.stopping import stopping_at_once
from dxopt.solving.routes.choice import COMPARABLE, COMPARABLE_NAMES
from dxopt.spaces.elastic import density_levels, elastic
from dxopt.spaces.geo.reach import across
from dxopt.spaces.naming import checked_labels
from dxopt.spaces.space import MetricSpace
from dxopt.spec import objectives as o
from dxopt.spec import sheet as s
from dxopt.spec.belief_pairs import build_pairs
from dxopt.spec.family import ARRAYS, Member, ProblemFile, read_problems
from dxopt.spec.fields import MAX_LOCATIONS
from dxopt.spec.levels import DensityLevels, PlaceLevels, Privacy
from dxopt.spec.locations import Secrets, build_reports, build_space
from dxopt.spec.objectives import build_beliefs, build_held_out, placed_entries
from dxopt.spec.priors import build_believed, build_priors, depends_on_level
from dxopt.spec.source import Source
from dxopt.spec.tables import Matrix
from dxopt.studies.questions import AtLevels, LossFrontier, Sweep


@dataclass(frozen=True)
class Task:
    """A problem and how a file asks for it to be solved.

    Fields without a line here are keys of the file, described in `sheet`.

    Attributes
    ----------
    solver : str
        "auto", or what should be the name of a solver; it is not looked up here.
    held_out : tuple of (Observed, bool)
        Data that the prior was not made of, and whether their positions count as well.
    sweep : SmallestEpsilon, EpsilonFrontier, LossFrontier, AtLevels or None
        The question where one solve does not answer it; the problem is then the first one.
    origin : Source
        The contents of the file, with the position of everything.
    """

    problem: Problem
    tolerance: float
    origin: Source = field(repr=False)
    method: str = "auto"
    solver: str = "auto"
    spanner: float | None = None
    time_limit: float | None = None
    evaluate: tuple[str, ...] = ()
    held_out: tuple[tuple[Observed, bool], ...] = ()
    compare: tuple[str, ...] = ()
    priors: Mapping[str, Prior] = field(default_factory=dict)
    expect: s.Expected | None = None
    sweep: Sweep | None = None
    beliefs: tuple[Beliefs, ...] = ()
    records: int | None = None

    @property
    def how(self) -> tuple[str, str, float | None]:
        """Method, solver and spanner."""
        return self.method, self.solver, self.spanner

    def located(self, error: SpecError) -> SpecError:
        """Return an error met while solving with the position of its key; as it is where the file cannot mend it."""
        field = error.field
        # a field of `Problem` may be written in the file under another key
        paths = ((field,), ("epsilon", field), ("objective", field, "from"), ("objective", field))
        written = next(filter(self.origin.has, paths), None)
        # what is not supported may follow from a default: its error has the position of the file even so
        if written is None and not isinstance(error, UnsupportedError):
            return error
        return self.origin.error(written or paths[0], error.wrong, error.fix_in(Option.in_file))


def load(path: str | Path, sweep: AtLevels | None = None) -> list[Task]:
    """Return the tasks of a problem file: one, or one for each problem of a family, in the order of their names.

    With a sweep, whose levels replace those of the file, there is one task for each prior. Its mechanisms
    are those that the sweep names, or else those that the file has in `compare` or in a list of methods, or else all.

    Raises
    ------
    SpecFileError
        If anything is wrong with the file or the files it names; the first thing in file order.
    """
    return build_tasks(read_problems(Path(path), sweep))


@stopping_at_once()
def build_tasks(file: ProblemFile) -> list[Task]:
    """Return the tasks of a problem file that was read; see `load`. They share one space.

    Raises
    ------
    SpecFileError
        If the problems cannot be built, or anything is wrong with the data files.
    """
    if file.saved is not None:
        return [_saved_task(file.saved, file.sweep)]
    first = file.members[0]
    secrets = build_space(first.source, first.sheet.space)
    if file.sweep is not None:
        return [_sweep_task(member, secrets, file.sweep) for member in file.members]
    return [task for member in file.members for task in _tasks_of_member(member, secrets)]


def _saved_task(source: Source, sweep: AtLevels | None) -> Task:
    """Return the task of solving the problem of a result again, by its method and to its tolerance.

    A mechanism found through a spanner is looked for without one.
    """
    try:
        problem, claims = read_problem(source.path.parent)
    except (SpecError, CertificateError) as error:
        raise source.error((ARRAYS,), str(error)) from None
    if sweep is not None and sweep.methods is None:  # the problem.yaml of a result names none
        sweep = AtLevels(sweep.epsilons, COMPARABLE)
    return Task(
        problem,
        method="auto" if sweep is not None else claims.found.method,
        tolerance=claims.tolerance,
        evaluate=tuple(name for name in claims.evaluation if name in MEASURES),
        sweep=sweep,
        beliefs=tuple(Beliefs(one.name, tuple(one.places), one.hiding) for one in claims.beliefs),
        origin=source,
    )


def _sweep_task(member: Member, secrets: Secrets, sweep: AtLevels) -> Task:
    """Return the task of a sweep: that of its first level, without options that fit one mechanism or level only."""
    source = member.source
    sheet = member.sheet
    unsuited = {
        "prior": (depends_on_level(sheet.prior), "give another one, as a corner prior changes with the level"),
        "objective": (isinstance(sheet.sweep, LossFrontier), "give one max_loss"),
        "spanner": (sheet.spanner is not None, "leave it out"),
        "priors": (bool(sheet.priors), "leave it out"),
    }
    for name, (given, fix) in unsuited.items():
        if given:
            raise source.error((name,), f"does not go with a {sweep}", fix)
    task = _tasks_of_member(member, secrets)[0]
    asked = source.root.value.get("method")
    several = asked if isinstance(asked, list) else []
    named = [name for name in [*sheet.compare, *several] if name in COMPARABLE_NAMES]
    methods = sweep.methods or tuple(dict.fromkeys(named)) or COMPARABLE
    return replace(
        task,
        problem=task.problem.but(name=member.sweep_name),
        method="auto",
        compare=(),
        sweep=replace(sweep, methods=methods),
    )


def _tasks_of_member(member: Member, secrets: Secrets) -> list[Task]:
    """Return the tasks of a member, one per level; what does not depend on the level is built once for all."""
    source = member.source
    sheet = member.sheet
    places = secrets.space
    if isinstance(sheet.privacy, PlaceLevels | DensityLevels):
        secrets = replace(secrets, space=_elastic_space(source, sheet.privacy, secrets))
    if not secrets.space.symmetric:
        _refuse_symmetric_only(source, sheet)
    epsilons = _levels(source, sheet, secrets)
    priors = build_believed(source, sheet.prior, secrets, epsilons)
    others = {
        name: build_priors(source, asked, secrets, epsilons, "priors", name) for name, asked in sheet.priors.items()
    }
    reports = build_reports(source, sheet.reports, places) if sheet.reports else None
    loss = _build_loss(source, sheet.loss, places, reports, "loss")
    objective = _build_objective(source, sheet.objective, places)
    expected = sheet.expect if isinstance(sheet.expect, list) else [sheet.expect] * len(epsilons)
    measures = tuple(entry for _, entry in placed_entries(sheet.evaluate) if isinstance(entry, str))
    held_out = build_held_out(source, sheet.evaluate, places)
    beliefs = build_beliefs(source, sheet.learns, secrets.space)
    tasks: list[Task] = []
    each = zip(epsilons, member.names, priors, expected, strict=True)
    for index, (epsilon, title, prior, expect) in enumerate(each):
        # of each level, as the prior is: adversaries may believe it, and a corner prior differs between levels
        pairs = build_pairs(source, sheet.beliefs, sheet.space, secrets, prior)
        with source.within():  # what `Problem` refuses gets the position of its key
            problem = Problem(
                secrets.space,
                epsilon=epsilon,
                prior=prior,
                loss=loss,
                max_loss=sheet.max_loss,
                objective=objective,
                delta=sheet.delta,
                pairs=sheet.pairs,
                beliefs=pairs,
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
                evaluate=measures,
                held_out=held_out,
                compare=tuple(sheet.compare),
                priors={name: of_each[index] for name, of_each in others.items()},
                expect=expect,
                sweep=sheet.sweep,
                beliefs=beliefs,
                records=sheet.records,
                origin=source,
            )
        )
    return tasks


def _levels(source: Source, sheet: s.Sheet, secrets: Secrets) -> Sequence[float | None]:
    """Return the levels that the file asks for; one for positions is lowered by what their cells require."""
    if not isinstance(sheet.privacy, Privacy):
        return sheet.epsilons()
    if sheet.privacy.between == "positions" and across(secrets.space, sheet.privacy.radius) is None:
        fix = "take a bounding_box or h3 space, or leave it out for a level between its points"
        raise source.error(("privacy", "for"), "is positions, but the space has no cells that they lie in", fix)
    return [sheet.privacy.on(secrets.space)]


def _elastic_space(source: Source, asked: PlaceLevels | DensityLevels, secrets: Secrets) -> MetricSpace:
    """Build the space in which each place has a level of its own."""

    def of_each(key: str, given: str | list[float]) -> ArrayLike:
        if isinstance(given, list):
            return given
        blame = source.blame("privacy", key)
        if secrets.table is None:
            raise blame("names a column, but the space has no CSV file", "give a list of numbers")
        return secrets.table.weights(given, blame, secrets.rows)

    with source.within("privacy"):
        if isinstance(asked, PlaceLevels):
            return elastic(secrets.space, of_each("levels", asked.levels))
        weights = of_each("weights", asked.weights)
        return elastic(secrets.space, density_levels(secrets.space, weights, asked.people, asked.level))


def _refuse_symmetric_only(source: Source, sheet: s.Sheet) -> None:
    """Refuse a method and a measure that are defined for symmetric distances only, as the space has others."""
    if sheet.method == "tight":
        raise source.error(("method",), "tight needs symmetric distances", "use method: optimal")
    for where, measure in placed_entries(sheet.evaluate):
        if measure == ERROR_BOUND:
            raise source.error(("evaluate", *where), f"{ERROR_BOUND} needs symmetric distances", "leave it out")


def _build_objective(source: Source, asked: o.Objective, places: MetricSpace) -> str | Objective:
    """Return the objective, by its name where it has no parameters."""
    if isinstance(asked, str):
        return asked
    if isinstance(asked, o.LeastLoss):
        return asked.kind
    where = ("objective", "adversary_loss")
    loss = _build_loss(source, asked.adversary_loss, places, None, *where)
    with source.within(*where):
        return AdversaryError(asked.budget, loss).on(places)


def _build_loss(source: Source, asked: o.Loss, places: MetricSpace, reports: Reports | None, *where: str) -> Loss:
    """Build the loss of the key at `where`; without `reports` a named loss is between points of the space."""
    with source.within(*where):
        match asked:
            case str() as name:
                return Loss.of(name, places, reports)
            case o.Beyond():
                near = asked.distance * (1 + ROUNDING)
                distances = Loss.of("distance", places, reports)
                return Loss.of(distances.matrix > near, places, distances.reports)
            case o.MatrixValues():
                return Loss.of(asked.values, places, reports, unit=asked.unit)
            case o.MatrixFile():
                blame = source.blame(*where, "file")
                matrix = Matrix.read(source.resolve(asked.file), blame, asked, most_rows=MAX_LOCATIONS)
                loss = Loss.of(matrix.numbers, places, reports, unit=asked.unit)
                matrix.require_names("row", places.labels, blame)
                if reports is None and not loss.reports.secrets and matrix.columns is not None:
                    return replace(loss, reports=Reports(checked_labels(matrix.columns, len(loss.reports))))
                matrix.require_names("column", loss.reports.labels, blame)
                return loss
