"""What the README shows works as shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dxopt.spec import load

ROOT = Path(__file__).parent.parent
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
