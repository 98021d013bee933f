"""Where the files of the project are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PROBLEMS = ROOT / "problems"
ZONES = PROBLEMS / "montreal-carshare.csv"
