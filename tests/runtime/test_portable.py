"""The ways that every system has, tried beside those of Linux: processes, locks, memory."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection
from pathlib import Path

import psutil
import pytest

from dxopt.errors import UnsupportedError
from dxopt.release.applying.writing import publish, write_json
from dxopt.runtime import dialled, locking, platform
from dxopt.runtime.dialled import Dialled
from dxopt.runtime.locking import file_held, folder_held
from tests.material.batches import gone

ECHO = "tests.material.echo"


@pytest.fixture(params=[False, True], ids=["Linux", "portable"])
def portable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Both ways, whatever this system has."""
    if not request.param and sys.platform != "linux":
        pytest.skip("this way is that of Linux")
    monkeypatch.setattr(locking, "PORTABLE", request.param)
    monkeypatch.setattr(platform, "PORTABLE", request.param)
    return request.param


def test_a_process_answers_is_interrupted_and_ends() -> None:
    one, other = (Dialled(ECHO, {"DXOPT_ECHO": "1"}, None, guarded=False) for _ in range(2))
    try:
        one.connection.send({"a": "é" * 100_000})
        number, said = one.connection.recv()
        assert said == {"a": "é" * 100_000}
        assert psutil.Process(number).environ()["DXOPT_ECHO"] == "1"
        one.connection.send("wait")
        assert one.connection.recv()[1] == "wait"
        one.interrupt()
        assert one.connection.recv() == "interrupted"
    finally:
        one.end()
        other.end()
    assert one.connection.closed
    assert other.connection.closed
    assert gone([number, other.process.pid])


def test_a_process_waits_for_the_one_that_knows_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def after_others(address: tuple[str, int], authkey: bytes) -> Connection:
        socket.create_connection(address).close()
        with pytest.raises(AuthenticationError):
            Client(address, authkey=authkey[::-1])
        return Client(address, authkey=authkey)

    monkeypatch.setattr(dialled, "Client", after_others)
    process = Dialled(ECHO, {}, None, guarded=False)
    process.connection.send("a")
    assert process.connection.recv()[1] == "a"
    process.end()


def test_a_process_that_does_not_start_is_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    process = Dialled(ECHO, {}, None, guarded=True)
    with pytest.raises(EOFError):
        process.connection.recv()
    process.interrupt()
    process.end()


@pytest.mark.parametrize("asked", ["wait", "hang"])
def test_a_process_ends_with_its_parent_even_in_compiled_code(asked: str) -> None:
    program = (
        "from dxopt.runtime.dialled import Dialled\n"
        f"process = Dialled('{ECHO}', {{}}, None, guarded={asked == 'hang'})\n"
        f"process.connection.send({asked!r})\n"
        "print(process.connection.recv()[0], flush=True)\n"
        "process.connection.recv()"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    number = int(parent.stdout.readline())
    assert not gone([number], 0.2)
    parent.kill()
    parent.communicate()
    assert gone([number])


def test_a_folder_and_a_file_are_held_by_one(tmp_path: Path, portable: bool) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"before")
    for _ in range(2):
        with folder_held(tmp_path) as descriptors:
            assert bool(descriptors) is not portable
            with pytest.raises(BlockingIOError), folder_held(tmp_path):
                pass
        with file_held(file):
            assert file.read_bytes() == b"before"
            with pytest.raises(BlockingIOError), file_held(file):
                pass
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    with pytest.raises(OSError, match="No such file"), file_held(tmp_path / "no" / "data"):
        pass


def test_what_a_killed_run_left_is_published_once(tmp_path: Path, portable: bool) -> None:
    write_json(tmp_path / "a.json", {"b": 1})
    (tmp_path / ".c.json.part").write_bytes(b"")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    with file_held(tmp_path / ".c.json.part"):
        assert not publish(tmp_path / "c.json", empty)
    assert not publish(tmp_path / "c.json", empty[::-1])
    assert publish(tmp_path / "c.json", empty)
    assert not publish(tmp_path / "c.json", empty)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "c.json"]


def test_memory_is_that_of_a_process_and_those_it_started(portable: bool) -> None:
    inner = "x = '-' * (60 << 20); input()"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    until = time.monotonic() + 20
    while platform.resident(process.pid) < 60 << 20 and time.monotonic() < until:
        time.sleep(0.02)
    assert 60 << 20 < platform.resident(process.pid) < 200 << 20
    process.communicate(b"\n")
    assert platform.resident(process.pid) == 0
    assert platform.memory() == psutil.virtual_memory().total


def test_memory_is_counted_without_what_has_just_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = psutil.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr(platform, "PORTABLE", True)
    monkeypatch.setattr(psutil.Process, "children", lambda self, recursive: [ended])
    assert platform.resident(os.getpid()) > 1 << 20


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "filelock", None)
    with pytest.raises(UnsupportedError, match=r"filelock: is not installed; install dxopt\[solve\]"):
        platform.library("filelock")


def test_the_ways_are_chosen_by_the_system_and_a_variable() -> None:
    program = "from dxopt.runtime.platform import PORTABLE; print(PORTABLE)"
    for value, found in {"1": True, "0": sys.platform != "linux"}.items():
        environment = {**os.environ, "DXOPT_PORTABLE": value}
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
        assert done.stdout == f"{found}\n"
