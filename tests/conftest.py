"""Fixtures that several test modules use."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.material.broken_specs import FILES


def pytest_configure() -> None:
    """Let Ctrl-C be one where the tests were started in the background, which has it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that problem files name."""
    folder = tmp_path_factory.mktemp("spec")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder
