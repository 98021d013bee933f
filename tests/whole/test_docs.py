"""What the README shows works as shown."""

from __future__ import annotations

import ast
import re
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from dxopt.spec import load
from tests.material.files import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for example in blocks("python"):
        exec(compile(example, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "private" in printed
    assert "optimal" in printed
    assert "0.68631" in printed
    assert "regular" in printed
    assert (tmp_path / "results" / "my-grid" / "certificate.json").is_file()


def test_the_problem_file_loads(tmp_path: Path) -> None:
    (example,) = blocks("yaml")
    path = tmp_path / "example.yaml"
    path.write_text(example, encoding="utf-8")
    (tmp_path / "montreal-carshare.csv").symlink_to(ROOT / "problems" / "montreal-carshare.csv")
    (task,) = load(path)
    assert len(task.problem.space) == 60


def test_the_files_it_links_to_are_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


NUMBERED = {
    "CABP13": {
        "Definition": range(1, 9),
        "Theorem": (1, 2, 3, 4, 6, 8, 9, 10, 11, 12, 13),
        "Corollary to Theorem": (11, 12, 13),
        "Fact": (5, 7),
        "Proposition": range(1, 6),
        "Example": (1, 2),
        "Figure": range(1, 5),
    },
    "Cha13": {},
    "Des20": {"Definition": range(20, 27)},
    "HLM14": {
        "Definition": (1, 2),
        "Theorem": range(1, 8),
        "Proposition": (1,),
        "Lemma": range(1, 5),
        "Corollary": (1,),
        "Example": range(1, 8),
    },
    "ECP14": {
        "Definition": range(1, 8),
        "Theorem": range(1, 5),
        "Proposition": range(1, 10),
        "Lemma": (1,),
        "Corollary": range(1, 4),
        "Example": range(1, 4),
        "Figure": range(1, 8),
    },
}


def rows(key: str) -> list[list[str]]:
    """The cells of the table of one document: statement, what it says, function, problem file, test."""
    section = README.split("\n## What of the papers is where\n")[1].split("\n## ")[0]
    lines = section.split(f"\n### {key}\n")[1].split("\n### ")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")][2:]


def checks_of(cell: str) -> list[tuple[str, str]]:
    """Files and functions; a file that is not repeated is the one before."""
    found, file = [], ""
    for named, function in re.findall(r"`(\w*(?:\.py)?)::(\w+)`", cell):
        file = named or file
        found.append((file, function))
    return found


def functions_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def resolve(name: str) -> Any:
    """What a dotted name stands for; AttributeError or ImportError where it is nothing."""
    if name.startswith("dx."):
        return reduce(getattr, name.split(".")[1:], dx)
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


@pytest.mark.parametrize("key", NUMBERED)
def test_every_row_of_the_papers_names_what_exists(key: str) -> None:
    for row in rows(key):
        assert len(row) == 5, row
        statement, says, function, problems, tests = row
        assert statement, row
        assert says, row
        names = re.findall(r"`(dx(?:opt)?(?:\.\w+)+)`", function)
        for name in names:
            resolve(name)
        if re.match(r"none: \S", function):
            assert not tests, row
            continue
        assert names, row
        assert checks_of(tests), row
        assert len(checks_of(tests)) == tests.count("`") // 2, row
        for file, name in checks_of(tests):
            assert name in functions_in(file), row
        for problem in re.findall(r"`([^`]+)`", problems):
            assert list((ROOT / "problems").glob(problem)), row


@pytest.mark.parametrize("key", NUMBERED)
def test_no_statement_of_the_papers_is_left_out(key: str) -> None:
    statements = [row[0] for row in rows(key)]
    assert len(set(statements)) == len(statements)
    for kind, numbers in NUMBERED[key].items():
        found = {int(one[1]) for statement in statements if (one := re.match(rf"{kind} (\d+)", statement))}
        assert found == set(numbers), kind
    assert not re.search(r"TODO|LATER", "\n".join("|".join(row) for row in rows(key)))
