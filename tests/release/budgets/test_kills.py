"""kill -9 at random moments under two writers; `kills.py` does it 200 times when asked."""

from __future__ import annotations

from pathlib import Path

from tests.release.budgets.kills import trial


def test_killed_writers_never_overspend_lose_or_count_twice(tmp_path: Path) -> None:
    found = trial(tmp_path, kills=10, seed=20)
    assert found.wrong == []
    assert found.rows > 0
    assert (tmp_path / "errors").read_text() == ""
