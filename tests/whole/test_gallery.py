"""What problems/README.md says is there: every problem file, in the form that editors check, and pictures."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

from dxopt.spec import json_schema, read_levels
from problems.gallery import figures
from tests.material.files import PROBLEMS

FILES = sorted(file.name for file in PROBLEMS.glob("*.yaml"))
PNG = b"\x89PNG\r\n\x1a\n"
MOST_BYTES = 60_000


def test_every_problem_file_is_in_the_table() -> None:
    rows = re.findall(r"^\| `([^`]+\.yaml)` \|", (PROBLEMS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in FILES if not any(fnmatchcase(name, row) for row in rows)] == []
    assert [row for row in rows if not any(fnmatchcase(name, row) for name in FILES)] == []


@pytest.mark.parametrize("name", FILES)
def test_every_problem_file_fits_the_schema(name: str) -> None:
    content = YAML(typ="safe", pure=True).load((PROBLEMS / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(json_schema()).validate(content)


def test_every_picture_is_shown_described_small_and_drawn_by_the_module() -> None:
    shown = re.findall(r"!\[([^]]+)\]\(gallery/([^)]+)\)", (PROBLEMS / "README.md").read_text(encoding="utf-8"))
    pictures = {file.name: file.read_bytes() for file in (PROBLEMS / "gallery").glob("*.*") if file.suffix != ".py"}
    assert sorted(name for _, name in shown) == sorted(pictures)
    assert sorted(f"{name}.png" for name in figures.PICTURES) == sorted(pictures)
    for content in pictures.values():
        assert content.startswith(PNG) and len(content) <= MOST_BYTES


def test_the_commands_below_the_pictures_name_their_problems() -> None:
    text = (PROBLEMS / "README.md").read_text(encoding="utf-8")
    for files in re.findall(r"`dxopt (?:solve|compare|sweep) problems/([^` ]+)", text):
        assert files in FILES
    (options,) = re.findall(r"`dxopt sweep [^`]*", text)
    assert figures.SWEEP.methods is not None
    assert re.findall(r"--method (\w+)", options) == list(figures.SWEEP.methods)
    (levels,) = re.findall(r"--epsilon (\S+)", options)
    assert read_levels(levels) == figures.SWEEP.epsilons


def test_a_picture_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    first, again = (figures.draw("roads", tmp_path / name).read_bytes() for name in ("one", "two"))
    assert first == again and first.startswith(PNG)
