"""Fixtures that several test modules use."""

from __future__ import annotations

import inspect
import os
import signal
from pathlib import Path

import pytest
import scipy.linalg  # noqa: F401  # BLAS, which has no threads to limit before it is loaded
from threadpoolctl import threadpool_limits

from tests.material.broken_specs import FILES


def pytest_configure() -> None:
    """Let Ctrl-C be one where the tests were started in the background, which has it ignored; one thread for BLAS.

    More of them wait for work at the cost of the tests that run beside.
    """
    threadpool_limits(limits=1, user_api="blas")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


OF_POSIX = ("mkfifo", "symlink_to", "SIGKILL", "killpg", "os.kill(", "send_signal(", "/dev/", "/proc/", "os.fork")
"""What only POSIX has: tests of it are left out elsewhere."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave tests out that send signals, or make pipes or links, where a system has none of them."""
    if os.name == "posix":
        return
    for item in items:
        text = inspect.getsource(item.obj) if isinstance(item, pytest.Function) else ""
        if any(name in text for name in OF_POSIX):
            item.add_marker(pytest.mark.skip(reason="signals, pipes, links and devices are those of POSIX"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that problem files name."""
    folder = tmp_path_factory.mktemp("spec")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder
