"""Pages, versions and columns that documents and code state, against what is there."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

import dxopt as dx
from dxopt.model import mechanism
from dxopt.release.tables import files as table_files
from dxopt.results import claims
from dxopt.verify import files as verified
from dxopt.verify.published import sidecar
from tests.material.documents import DOCS, ROOT

SOURCES = [file for kind in ("py", "js", "css", "html") for file in sorted((ROOT / "dxopt").rglob(f"*.{kind}"))]
FOLDERS = "reference/result-folder.md"
VERSIONS: list[tuple[str, str, int]] = [
    (FOLDERS, r"The format version is (\d+)", claims.FORMAT),
    (FOLDERS, r"\| `format` \| (\d+) \|", claims.FORMAT),
    (FOLDERS, r"\| `format`, `unverified` \| (\d+),", claims.FORMAT),
    (FOLDERS, r"\| `format` \| (\d+) \|", verified.FORMAT),
    (FOLDERS, r"\| `format`, `name` \| version (\d+),", mechanism.FORMAT),
    ("reference/table-file.md", r'\| `format`, `version` \| `"dxopt table"`, (\d+)', table_files.VERSION),
    ("guides/applying.md", r"of the sidecar \((\d+)\)", sidecar.FORMAT),
]


@pytest.mark.parametrize(("page", "pattern", "version"), VERSIONS)
def test_versions(page: str, pattern: str, version: int) -> None:
    found = re.findall(pattern, (DOCS / page).read_text(encoding="utf-8"))
    assert found and set(found) == {str(version)}


def test_the_file_of_a_ledger(tmp_path: Path) -> None:
    """Tables, columns and numbers in its head are those that the page has."""
    page = (DOCS / "guides" / "budgets.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page.partition("## The file")[2], flags=re.MULTILINE))
    dx.Budgets.open(tmp_path / "ledger.sqlite", create=True).close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as db:
        schema = {
            table: [column[1] for column in db.execute(f"PRAGMA table_info({table})")]
            for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        (application,), (version,) = (
            db.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
        )
    db.close()
    assert {*schema} == {*listed}
    for table, columns in schema.items():
        assert [name for name in re.findall(r"`(\w+)`", listed[table]) if name in columns][: len(columns)] == columns
    assert f"(application id {application:#x}, user version {version})" in page


def test_pages_that_the_code_names_are_there() -> None:
    named = {name for file in SOURCES for name in re.findall(r"docs/[\w/.-]+\.md", file.read_text(encoding="utf-8"))}
    assert len(named) > 5
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
