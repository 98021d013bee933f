"""The reference pages name everything there is: public names, keys of problem files, fields of results, modules."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import dxopt as dx
from docs.website.problem_files import PAGE, Reference
from dxopt.spec import json_schema
from tests.material.documents import DOCS, ROOT, public, resolve, shown_signatures


def test_every_public_name_is_in_the_reference() -> None:
    names = {name for name, _ in shown_signatures()}
    assert {f"dx.{name}" for name in dx.__all__} <= names
    for room in (name for name in dx.__all__ if inspect.ismodule(getattr(dx, name))):
        assert {f"dx.{room}.{name}" for name in public(getattr(dx, room))} <= names, room


def test_signatures_in_the_reference_are_true() -> None:
    shown = list(shown_signatures())
    assert len({name for name, _ in shown}) == len(shown)
    for name, parameters in shown:
        found = resolve(name)
        if not parameters:
            continue
        node = ast.parse(f"def shown{parameters}: ...").body[0]
        assert isinstance(node, ast.FunctionDef)
        assert names_in(node.args) == [one for one in inspect.signature(found).parameters if one != "self"], name


def names_in(shown: ast.arguments) -> list[str]:
    """The parameters in their order."""
    several = [one for one in (shown.vararg,) if one], [one for one in (shown.kwarg,) if one]
    return [one.arg for one in (*shown.args, *several[0], *shown.kwonlyargs, *several[1])]


def schema_names() -> Iterator[tuple[str, str]]:
    """Keys of a problem file, and the words that may be written for some of them, with where they are."""

    def words(content: Any) -> Iterator[str]:
        if isinstance(content, dict):
            if content.get("title") == "Kind" and "const" in content:
                yield content["const"]
            yield from (word for word in content.get("enum", ()) if isinstance(word, str))
            for key, part in content.items():
                if key != "properties":
                    yield from words(part)
        elif isinstance(content, list):
            for part in content:
                yield from words(part)

    schema = json_schema()
    for where, section in [("the file", schema), *schema["$defs"].items()]:
        for key, content in section.get("properties", {}).items():
            yield where, key
            for word in words(content):
                yield f"{where}.{key}", word


def test_every_key_of_a_problem_file_is_explained() -> None:
    text = PAGE.read_text(encoding="utf-8")
    code = {word for found in re.findall(r"`([^`\n]+)`", text) for word in re.findall(r"[.\w]+", found)}
    assert not [(where, name) for where, name in schema_names() if name not in code]
    tables = [set(re.findall(r"^\| `(\w+)` \|", part, flags=re.MULTILINE)) for part in text.split("\n\n")]
    schema = json_schema()
    for where, section in [("the file", schema), *schema["$defs"].items()]:
        assert any(set(section["properties"]) <= table for table in tables), where


def test_the_reference_of_problem_files_is_that_of_the_schema() -> None:
    reference = Reference()
    assert reference.lacking() == [], "add an example to docs/guides/problem-files.md"
    assert PAGE.read_text(encoding="utf-8") == reference.page(), "run: python -m docs.website.problem_files"


def answers() -> Iterator[Any]:
    """An answer of every kind that is written to a folder, and mechanisms of every kind."""
    plane, line = dx.grid((2, 3)), dx.line(4)
    problem = dx.Problem(plane, epsilon=1.0, prior=dx.Prior.from_weights(plane, [3, 1, 2, 1, 1, 1]))
    report = dx.solve(problem)
    priors = {"uniform": dx.Prior.uniform(plane)}
    yield replace(
        report, comparison=dx.compare(problem, ["exponential", "cloaking"], priors=priors, reference=report)
    )
    city = dx.grid((80, 80), metric="manhattan")
    cells = dx.geo.bounding_grid(45.4, -73.7, 45.6, -73.5, shape=(2, 2))
    for space in (line, dx.line(300), city, cells):
        yield dx.solve(dx.Problem(space, epsilon=0.1, prior=dx.Prior.uniform(space)))
    yield dx.solve(problem.but(objective="worst_loss"))
    guessing = problem.but(objective=dx.AdversaryError(max_loss=0.8))
    yield dx.solve(guessing)
    yield dx.sweep(problem, [0.5, 1.0], ["exponential"])
    yield dx.frontier(dx.Problem(line, epsilon=1.0, prior=dx.Prior.uniform(line)), 0.5, 1.0, resolution=0.5)
    yield dx.budget_frontier(guessing, 0.8, 1.0, resolution=0.5)
    yield dx.smallest_epsilon(problem, max_loss=0.5, accuracy=0.5)


def stored_names(folder: Path) -> Iterator[tuple[str, str]]:
    """The files of a folder, the fields of JSON in it, and the arrays, without the numbers of parts."""

    def fields(content: Any, *, open_to_any: bool = False) -> Iterator[str]:
        if isinstance(content, dict):
            for key, part in content.items():
                if not open_to_any:
                    yield key
                yield from fields(part, open_to_any=key in ("evaluation", "refused", "sha256", "under", "rests_on"))
        elif isinstance(content, list):
            for part in content:
                yield from fields(part)

    for file in (path for path in folder.rglob("*") if path.is_file()):
        if file.parent != folder:
            yield file.name, file.name
        if file.suffix == ".json":
            for field in fields(json.loads(file.read_text(encoding="utf-8"))):
                yield file.name, field
        elif file.suffix == ".npz":
            with np.load(file) as stored:
                for array in stored.files:
                    yield file.name, re.sub(r"^(\w+/)*|(?<=space)\.\d+(?=\.)", "", array)


def test_every_file_and_field_of_a_result_folder_is_explained(tmp_path: Path) -> None:
    text = (DOCS / "reference" / "result-folder.md").read_text(encoding="utf-8")
    code = " ".join(re.findall(r"`([^`\n]+)`", text))
    named = {*re.findall(r"[.\w]+", code), *re.findall(r"\w+", code)}
    for place, answer in enumerate(answers()):
        answer.save(tmp_path / f"{place}")
    noise = dx.classic.planar_laplace(dx.grid((20, 20)), epsilon=1.0)
    noise.save(tmp_path / "noise.npz")
    dx.tight_constraints(dx.product(dx.line(3), dx.line(4)), 1.0).save(tmp_path / "weights.npz")
    assert not sorted({found for found in stored_names(tmp_path) if found[1] not in named})


def test_files_that_the_pages_for_developers_name_are_there() -> None:
    pages = [*(DOCS / "developers").glob("*.md"), ROOT / "CONTRIBUTING.md"]
    path = re.compile(r"`(\w[\w.-]*/[\w./-]+\.py)`")
    named = {name for page in pages for name in path.findall(page.read_text(encoding="utf-8"))}
    missing = {name for name in named if not (ROOT / name).exists() and not (ROOT / "dxopt" / name).exists()}
    assert missing == set()
