"""Public names have an example that runs as shown, and say first, in one sentence, what they are."""

from __future__ import annotations

import doctest
import inspect
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from tests.material.documents import public, resolve, shown_signatures

PUBLIC = {name: resolve(name) for name, _ in shown_signatures()}
CALLED = {
    name: found
    for name, found in PUBLIC.items()
    if (inspect.isroutine(found) or inspect.isclass(found)) and not isinstance(found, cached_property)
}
"""Functions, classes and methods: all but modules, properties, tables of names and aliases of types."""
FIRST = ">>> import dxopt as dx"


def shown(found: Any) -> str:
    return inspect.getdoc(found) or ""


EXAMPLES = [*{shown(found): name for name, found in CALLED.items() if ">>>" in shown(found)}.values()]
"""Names with an example, those that inherit one left out."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs_as_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(shown(CALLED[name]), {}, name, None, None)
    assert example.examples[0].source == f"{FIRST.removeprefix('>>> ')}\n"
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        failed = doctest.DocTestRunner(verbose=False).run(example, out=said.append).failed
    assert not failed, "".join(said)
    assert not any(capfd.readouterr())


def shown_by_another(name: str) -> bool:
    """Whether an example of its class, or of another method of that, calls a method."""
    owner, _, last = name.rpartition(".")
    if not inspect.isclass(CALLED.get(owner)):
        return False
    near = [shown(found) for one, found in CALLED.items() if owner in (one, one.rpartition(".")[0])]
    lines = [line for text in near for line in text.splitlines() if line.startswith((">>> ", "... "))]
    return any(f".{last}(" in line for line in lines)


def test_everything_that_is_called_has_an_example() -> None:
    assert not [name for name, found in CALLED.items() if ">>>" not in shown(found) and not shown_by_another(name)]


def test_examples_come_last_under_their_heading() -> None:
    wrong = []
    for name in EXAMPLES:
        before, heading, after = shown(CALLED[name]).partition("\n\nExamples\n--------\n")
        if not heading or not after.startswith(FIRST) or ">>>" in before or "\n\n" in after:
            wrong.append(name)
    assert wrong == []


def test_the_first_line_is_a_sentence() -> None:
    lines = {name: shown(found).partition("\n")[0] for name, found in CALLED.items()}
    assert not [name for name, line in lines.items() if not line.endswith(".") or not line[:-1].strip()]


def test_help_on_solving_names_every_method() -> None:
    names = {"auto", "optimal", "tight", *set(dx.classic.CLASSICS).intersection(public(dx.classic))}
    assert not [name for name in names if f'"{name}"' not in shown(dx.solve)]
