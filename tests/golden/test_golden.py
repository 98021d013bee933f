"""The golden corpus: the quick entries in every run, all of them in `make test-full`."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.golden import frozen
from tests.golden.entries import ENTRIES, SLOW


@cache
def corpus() -> dict[str, Any]:
    return frozen.read(frozen.CORPUS)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name in SLOW else ()) for name in sorted(ENTRIES)]
)
def test_entry(name: str) -> None:
    exactly = frozen.machine() == corpus()["machine"]
    assert frozen.differences(corpus()[name], frozen.computed(name), name, exactly) == []


def test_problem_files_state_the_values_that_they_have() -> None:
    files = [entry for name, entry in corpus().items() if name.startswith("file/")]
    assert {problem["expected"] for entry in files for problem in entry["problems"]} == {"", "agrees"}


def test_every_entry_is_kept() -> None:
    assert corpus().keys() - {"machine"} == ENTRIES.keys()


def test_public_signatures() -> None:
    assert frozen.changed_signatures(frozen.read(frozen.SIGNATURES), frozen.signatures()) == []


def test_differences_are_seen() -> None:
    old = {"value": 1.0, "digest": "a", "rows": [["x", 1]], "status": "optimal"}
    assert frozen.differences(old, old, "entry", True) == []
    for change in ({"value": 1 + 2e-12}, {"digest": "b"}, {"rows": [["x", 2]]}, {"rows": []}, {"status": "feasible"}):
        assert len(frozen.differences(old, old | change, "entry", True)) == 1
    assert frozen.differences(old, old | {"value": 1 + 1e-9, "digest": "b"}, "entry", False) == []
    assert len(frozen.differences(old, old | {"value": 1.1}, "entry", False)) == 1
    assert len(frozen.changed_signatures({"dx.a": "(b)", "dx.c": "()"}, {"dx.a": "(d)", "dx.e": "()"})) == 3
