"""The problem.yaml of a result folder: its keys are for people, and the arrays beside it are what is solved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dxopt.errors import CertificateError, SpecError
from dxopt.mechanisms.classic.contract import CLASSICS, title, titled
from dxopt.model.problem import Problem
from dxopt.results.beliefs import described
from dxopt.results.files import DESCRIPTION, MECHANISM, PROBLEM, REPORT, finite
from dxopt.results.folder import holds_report, is_result
from dxopt.results.measures import MEASURES, Beliefs
from dxopt.results.plugged import plugins_of_content
from dxopt.results.reading import read_problem
from dxopt.solving.routes.choice import COMPARABLE, TIGHT
from dxopt.spec.source import Source
from dxopt.spec.tasks import Task
from dxopt.studies.questions import AtLevels

_ARRAYS = "arrays"
_KEYS = (
    "name",
    "epsilon",
    "delta",
    "objective",
    "space",
    "prior",
    "loss",
    "belief_pairs",
    "belief_epsilon",
    _ARRAYS,
)
_ORIGINAL = "solve the file that the result was made from"


def is_saved(source: Source) -> bool:
    """Whether a file describes the problem of the result folder that it is in.

    Raises
    ------
    SpecFileError
        If it describes what cannot be solved from the files of its folder, or has keys of its own.
    """
    folder = source.path.parent
    if _ARRAYS not in source.root.value:
        if source.path.name == DESCRIPTION and is_result(folder):
            part = "solve a part, as parts/000/problem.yaml"
            raise source.error(("space",), "is that of a result of many solves", f"{part}, or {_ORIGINAL}")
        return False
    if source.path.name != DESCRIPTION or not holds_report(folder):
        fix = f"leave it out, or solve the {DESCRIPTION} of a result folder"
        raise source.error((_ARRAYS,), "is for result folders", fix)
    for key in source.root.value:
        if key not in _KEYS:
            raise source.error((key,), "is no key of the problem of a result", f"leave it out, or {_ORIGINAL}")
    return True


def saved_name(source: Source) -> str:
    """The name of the problem."""
    return str(source.root.value.get("name", "problem"))


def saved_data(source: Source) -> list[Path]:
    """The files that the problem is read from."""
    return [source.resolve(name) for name in (PROBLEM, MECHANISM, REPORT)]


def saved_task(source: Source, sweep: AtLevels | None) -> Task:
    """The task of solving the problem of a result again, in the way and to the tolerance of that result.

    A mechanism found through a spanner is looked for without one.

    Raises
    ------
    SpecFileError
        If the files beside it are damaged, or are about something else than it says.
    """
    try:
        problem, summary = read_problem(source.path.parent)
        beliefs = tuple(Beliefs.read(entry) for entry in summary.get("beliefs", ()))
    except (SpecError, CertificateError) as error:
        raise source.error((_ARRAYS,), str(error)) from None
    for key, known in _known(problem).items():
        if key in source.root.value and source.root.value[key] != known:
            wrong = f"is not that of {PROBLEM}, which is {known!r}"
            raise source.error((key,), wrong, f"leave it as it was, or {_ORIGINAL}")
    if sweep is not None and sweep.methods is None:
        sweep = AtLevels(sweep.epsilons, COMPARABLE)
    return Task(
        problem,
        method="auto" if sweep is not None else _method(summary),
        solver="auto",
        spanner=None,
        tolerance=float(summary["tolerance"]),
        time_limit=None,
        evaluate=tuple(name for name in summary["evaluation"] if name in MEASURES),
        held_out=(),
        compare=(),
        priors={},
        expect=None,
        sweep=sweep,
        beliefs=beliefs,
        records=None,
        source=source.path,
        origin=source,
    )


def _known(problem: Problem) -> dict[str, Any]:
    """What the arrays say under the keys that repeat them."""
    return {
        "name": problem.name,
        "epsilon": finite(problem.epsilon),
        "delta": problem.delta,
        "objective": problem.objective.name,
        "prior": problem.prior.name,
        "loss": problem.loss.name,
        **described(problem),
    }


def _method(summary: dict[str, Any]) -> str:
    """The method that a result was found by, as far as its route tells."""
    if summary["claim"] == "exact":
        return "auto"
    named = {title(CLASSICS.get(name)): name for name in CLASSICS} | {TIGHT: "tight"}
    plugins = plugins_of_content(summary.get("plugins", []))
    named |= {titled(one.name): one.name for one in plugins if one.kind == "mechanism"}
    return named.get(summary["route"], "auto")
