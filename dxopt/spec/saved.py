"""The problem.yaml of a result folder, by which the arrays beside it are solved again."""

from __future__ import annotations

from pathlib import Path

from dxopt.errors import CertificateError, SpecError
from dxopt.results.claims import read_claims
from dxopt.results.files import CLAIMS, DESCRIPTION, MECHANISM, PROBLEM
from dxopt.results.folder import holds_report
from dxopt.results.measures import MEASURES, Beliefs
from dxopt.results.reading import read_problem
from dxopt.solving.routes.choice import COMPARABLE
from dxopt.spec.source import Source
from dxopt.spec.tasks import Task
from dxopt.studies.questions import AtLevels

_ARRAYS = "arrays"
_ORIGINAL = "solve the file that the result was made from"


def is_saved(source: Source) -> bool:
    """Whether a file describes the problem of the result folder that it is in.

    Raises
    ------
    SpecFileError
        If it is beside no report, or has keys of its own.
    """
    folder = source.path.parent
    if _ARRAYS not in source.root.value:
        return False
    if source.path.name != DESCRIPTION or not holds_report(folder):
        fix = f"leave it out, or solve the {DESCRIPTION} of a result folder"
        raise source.error((_ARRAYS,), "is for result folders", fix)
    for key in source.root.value:
        if key != _ARRAYS:
            raise source.error((key,), "is no key of the problem of a result", f"leave it out, or {_ORIGINAL}")
    return True


def saved_name(source: Source) -> str:
    """The name of the problem."""
    try:
        return read_claims(source.path.parent).problem.name
    except SpecError as error:
        raise source.error((_ARRAYS,), str(error)) from None


def saved_data(source: Source) -> list[Path]:
    """The files that the problem is read from."""
    return [source.resolve(name) for name in (PROBLEM, MECHANISM, CLAIMS)]


def saved_task(source: Source, sweep: AtLevels | None) -> Task:
    """The task of solving the problem of a result again, in the way and to the tolerance of that result.

    A mechanism found through a spanner is looked for without one.

    Raises
    ------
    SpecFileError
        If the files beside it are damaged.
    """
    try:
        problem, claims = read_problem(source.path.parent)
    except (SpecError, CertificateError) as error:
        raise source.error((_ARRAYS,), str(error)) from None
    if sweep is not None and sweep.methods is None:
        sweep = AtLevels(sweep.epsilons, COMPARABLE)
    return Task(
        problem,
        method="auto" if sweep is not None else claims.found.method,
        solver="auto",
        spanner=None,
        tolerance=claims.tolerance,
        time_limit=None,
        evaluate=tuple(name for name in claims.evaluation if name in MEASURES),
        held_out=(),
        compare=(),
        priors={},
        expect=None,
        sweep=sweep,
        beliefs=tuple(Beliefs(one.name, tuple(one.places), one.hiding) for one in claims.beliefs),
        records=None,
        source=source.path,
        origin=source,
    )
