"""Fixtures that several test modules use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.material.broken_specs import FILES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that problem files name."""
    folder = tmp_path_factory.mktemp("spec")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder
