"""What problems/README.md and the gallery say is there: every problem file, as editors check it, and pictures."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import jsonschema
from ruamel.yaml import YAML

from dxopt.spec import json_schema, read_levels
from problems.gallery import figures
from tests.material.files import PROBLEMS

FILES = sorted(file.name for file in PROBLEMS.glob("*.yaml"))
PNG = b"\x89PNG\r\n\x1a\n"
MOST_BYTES = 1_500_000
"""Of all pictures together."""
MOST_LINES = 10
"""Of the Python that draws a picture, imports and blank lines apart."""


def test_every_problem_file_is_in_the_table() -> None:
    rows = re.findall(r"^\| `([^`]+\.yaml)` \|", (PROBLEMS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in FILES if not any(fnmatchcase(name, row) for row in rows)] == []
    assert [row for row in rows if not any(fnmatchcase(name, row) for name in FILES)] == []


def test_every_problem_file_fits_the_schema() -> None:
    schema = jsonschema.Draft202012Validator(json_schema())
    for name in FILES:
        schema.validate(YAML(typ="safe").load((PROBLEMS / name).read_text(encoding="utf-8")))


def test_every_picture_is_shown_described_small_and_drawn_by_the_page() -> None:
    text = figures.PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"!\[([^]]{40,})\]\(gallery/([^)]+)\.png\)", text)
    pictures = {file.stem: file.read_bytes() for file in figures.PAGE.with_suffix("").glob("*.*")}
    snippets = figures.snippets()
    assert sorted(name for _, name in shown) == sorted(pictures) == sorted([*figures.PICTURES, *snippets])
    assert len(shown) == text.count("\n## ") == 11
    assert all(content.startswith(PNG) for content in pictures.values())
    assert sum(map(len, pictures.values())) < MOST_BYTES
    for block in snippets.values():
        assert len([line for line in block.splitlines() if line and not line.startswith("import ")]) <= MOST_LINES


def test_the_commands_below_the_pictures_name_their_problems() -> None:
    text = figures.PAGE.read_text(encoding="utf-8")
    named = re.findall(r"^dxopt (?:solve|compare|sweep) problems/(\S+)\.yaml", text, flags=re.MULTILINE)
    assert {f"{name}.yaml" for name in named} <= {*FILES}
    assert sorted(named) == sorted(problem for problem, _, _ in figures.PICTURES.values())
    (options,) = re.findall(r"^dxopt sweep .*", text, flags=re.MULTILINE)
    assert figures.SWEEP.methods is not None
    assert re.findall(r"--method (\w+)", options) == list(figures.SWEEP.methods)
    (levels,) = re.findall(r"--epsilon (\S+)", options)
    assert read_levels(levels) == figures.SWEEP.epsilons


def test_a_picture_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    first, again = (figures.draw("composition", tmp_path / name).read_bytes() for name in ("one", "two"))
    assert first == again and first.startswith(PNG)
