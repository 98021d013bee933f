"""What problems/README.md says is there: every problem file, in the form that editors check."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

from dxopt.spec import json_schema

PROBLEMS = Path(__file__).parent.parent / "problems"
FILES = sorted(file.name for file in PROBLEMS.glob("*.yaml"))


def test_every_problem_file_is_in_the_table() -> None:
    rows = re.findall(r"^\| `([^`]+\.yaml)` \|", (PROBLEMS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in FILES if not any(fnmatchcase(name, row) for row in rows)] == []
    assert [row for row in rows if not any(fnmatchcase(name, row) for name in FILES)] == []


@pytest.mark.parametrize("name", FILES)
def test_every_problem_file_fits_the_schema(name: str) -> None:
    content = YAML(typ="safe", pure=True).load((PROBLEMS / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(json_schema()).validate(content)
