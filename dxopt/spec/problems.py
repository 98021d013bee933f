"""The problems of a problem file, for Python and for explanations."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from dxopt.errors import Option, SpecError
from dxopt.model.objective import AdversaryError
from dxopt.model.problem import Problem
from dxopt.spec.build import Task, load
from dxopt.spec.family import LISTED
from dxopt.spec.fields import EditorSchema
from dxopt.spec.sheet import Sheet
from dxopt.studies.questions import AtLevels, EpsilonFrontier, SmallestEpsilon

# without a level only beliefs, or the error of an adversary, can protect the secrets
_WITHOUT_LEVEL = {
    "not": {"anyOf": [{"required": ["epsilon"]}, {"required": ["privacy"]}]},
    "anyOf": [
        {"required": ["beliefs"]},
        {
            "required": ["objective"],
            "properties": {"objective": {"type": "object", "properties": {"kind": {"const": AdversaryError.name}}}},
        },
    ],
}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a problem file, for editors."""
    schema = Sheet.model_json_schema(schema_generator=EditorSchema)
    schema["title"] = "dxopt problem"
    for key in LISTED:
        schema["properties"][key] = _entry_or_list(schema["properties"][key])
    schema["oneOf"] = [{"required": ["epsilon"]}, {"required": ["privacy"]}, _WITHOUT_LEVEL]
    schema["dependentRequired"] = {"pairs": ["delta"]}
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema}


def _entry_or_list(one: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a key that may have a list instead of one value, which makes a family of problems."""
    about = {name: one[name] for name in ("description", "default", "title") if name in one}
    entry = {name: value for name, value in one.items() if name not in about}
    several = {"type": "array", "items": entry, "minItems": 1, "uniqueItems": True}
    return {**about, "anyOf": [entry, several]}


_SHOWN = 5


def read(file: str | Path, *, name: str | None = None) -> Problem:
    """Return the problem that a problem file describes: its space, level, prior, loss and objective.

    How the file asks for it to be solved (`method`, `solver`, `evaluate` and the like) is not part of the problem;
    `dxopt solve` on the command line does all of that. A file that searches for a level gives the problem at the
    first one.

    Parameters
    ----------
    file : str or Path
        A YAML file.
    name : str, optional
        Which one, where lists of levels, methods or priors make several problems of the file.

    Raises
    ------
    SpecError
        If anything is wrong with the file, with its position; or it has several problems and none is named, or none
        of that name.

    Examples
    --------
    >>> import dxopt as dx
    >>> from pathlib import Path
    >>> file = Path("answers.yaml")
    >>> size = file.write_text("{space: {kind: line, size: 4}, epsilon: ln(2), prior: {kind: uniform}}")
    >>> problem = dx.read(file)
    >>> print(problem.shape, round(problem.epsilon, 3))
    (4, 4) 0.693
    """
    if not isinstance(file, str | Path):
        raise SpecError("file", f"is of type {type(file).__name__}", "give the name of a YAML file")
    problems = {task.problem.name: task.problem for task in tasks_asked(file)}
    if name is None and len(problems) == 1:
        return next(iter(problems.values()))
    if name in problems:
        return problems[name]
    names = ", ".join(map(repr, list(problems)[:_SHOWN])) + (", ..." if len(problems) > _SHOWN else "")
    wrong = f"is missing, and {file} has {len(problems)} problems" if name is None else f"there is no {name!r}"
    raise SpecError("name", wrong, f"give one of {names}")


def tasks_asked(file: str | Path, levels: Iterable[float] | None = None) -> list[Task]:
    """Return the tasks of a problem file in their order, for an explanation.

    An explanation with `levels` makes its own table over them, so that a family of levels, or a search for one, is
    replaced by one problem for each prior, at the first of them.

    Raises
    ------
    SpecError
        If anything is wrong with the file, with its position, or it searches for a level and none are given.
    """
    tasks = load(file)
    searches = any(isinstance(task.sweep, SmallestEpsilon | EpsilonFrontier) for task in tasks)
    if searches and levels is None:
        levels_given = Option("epsilons", command="--epsilon 0.5,1")
        fix = "solve the file and explain its result folder, or give levels as ", levels_given
        raise SpecError("epsilon", f"is searched for by {file}, and not known before", *fix)
    if levels is not None and (searches or len(tasks) > 1):
        tasks = load(file, AtLevels(tuple(levels)))
    return tasks
