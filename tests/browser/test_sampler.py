"""Tables as scripts: in a browser the reports are those of Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from tests.material.vectors import FILE, tables

VECTORS = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", VECTORS["tables"])
def test_a_browser_gives_the_reports_of_the_vectors(chromium: Any, name: str, tmp_path: Path) -> None:
    dx.export(tables()[name], "js", tmp_path / "table.js")
    page = tmp_path / "page.html"
    page.write_text('<!doctype html><meta charset="utf-8"><script src="table.js"></script>', encoding="utf-8")
    chromium.get(page.as_uri())
    found = chromium.execute_script(
        """
        const [key, { draws, keyed }] = arguments;
        const bytes = (hex) => Uint8Array.from(hex.match(/../g), (digits) => parseInt(digits, 16));
        const labels = dxoptTable.head.reports;
        return {
            draws: draws.map(([secret, number]) => dxoptTable.at(secret, bytes(number)).label),
            keyed: keyed.map(([who, secret, release]) => dxoptTable.drawFor(key, who, secret, release).label),
            own: draws.every(([secret]) => labels.includes(dxoptTable.draw(secret).label)),
        };
        """,
        VECTORS["key"],
        VECTORS["tables"][name],
    )
    for kind in ("draws", "keyed"):
        assert found[kind] == [entry[-1] for entry in VECTORS["tables"][name][kind]]
    assert found["own"]
