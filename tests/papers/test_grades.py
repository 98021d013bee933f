"""Every row of the tables of the papers says how much of the statement its test asserts."""

from __future__ import annotations

import re

import pytest

from tests.material.documents import DOCS

TABLES = ("cabp13", "cha13", "des20", "ecp14", "hlm14")
GRADE = re.compile(r"the statement itself|less: \S.*|none: \S.*")


def table(name: str) -> list[list[str]]:
    lines = (DOCS / "theory" / "papers" / f"{name}.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


@pytest.mark.parametrize("name", TABLES)
def test_every_row_has_a_grade(name: str) -> None:
    head, _, *rows = table(name)
    assert head == ["statement", "what it says", "function", "problem file", "what is checked", "tests"]
    for row in rows:
        assert len(row) == 6, row
        *_, function, _, grade, tests = row
        assert GRADE.fullmatch(grade), row
        # a grade of none has no test, and no other grade goes without
        assert (grade.startswith("none: ")) == (not tests), row
        assert (grade.startswith("none: ")) == (function.startswith("none: ")), row


def test_the_grades_of_each_table_are_counted() -> None:
    sources = (DOCS / "theory" / "sources.md").read_text(encoding="utf-8")
    for name in TABLES:
        grades = [row[4].split(":")[0] for row in table(name)[2:]]
        counts = [len(grades), *(grades.count(grade) for grade in ("the statement itself", "less", "none"))]
        assert f"](papers/{name}.md) | {' | '.join(map(str, counts))} |" in sources
