"""Processes that answer, are interrupted, end with their parent, and are counted with what they started."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import psutil
import pytest

from dxopt.batch.pool import resident
from dxopt.runtime.process import Process
from tests.material.batches import gone

ECHO = "tests.material.echo"


def test_a_process_answers_is_interrupted_and_ends() -> None:
    arrived = threading.Event()
    one, other = (Process(ECHO, environment={"DXOPT_ECHO": "1"}, arrived=arrived) for _ in range(2))
    try:
        one.line.send({"a": "é" * 1_000_000})
        assert arrived.wait(30)
        number, said = one.line.recv()
        assert said == {"a": "é" * 1_000_000}
        assert not one.line.poll(0.01)
        assert psutil.Process(number).environ()["DXOPT_ECHO"] == "1"
        one.line.send("wait")
        assert one.line.recv()[1] == "wait"
        one.interrupt()
        assert one.line.recv() == "interrupted"
        with pytest.raises(EOFError):
            one.line.recv()
        one.interrupt()
    finally:
        one.end()
        other.end()
    assert one.line.closed and other.line.closed
    assert gone([number, other.process.pid])


def test_what_a_process_prints_is_no_message() -> None:
    process = Process(ECHO)
    try:
        process.line.send("print")
        assert process.line.recv() == (process.process.pid, "print")
        process.line.send("more")
        assert process.line.recv() == (process.process.pid, "more")
    finally:
        process.end()


def test_a_process_that_does_not_start_is_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    process = Process(ECHO, guarded=True)
    with pytest.raises(EOFError):
        process.line.recv()
    process.process.wait()
    with pytest.raises(OSError):
        process.line.send("a")
    process.interrupt()
    process.end()


@pytest.mark.parametrize("asked", ["wait", "hang"])
def test_a_process_ends_with_its_parent_even_in_compiled_code(asked: str) -> None:
    program = (
        "from dxopt.runtime.process import Process\n"
        f"process = Process('{ECHO}', guarded={asked == 'hang'})\n"
        f"process.line.send({asked!r})\n"
        "print(process.line.recv()[0], flush=True)\n"
        "process.line.recv()"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    number = int(parent.stdout.readline())
    assert not gone([number], 0.2)
    parent.kill()
    parent.communicate()
    assert gone([number])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_copy_that_lets_go_of_a_process_does_not_keep_it() -> None:
    program = (
        "import os, time\n"
        "from dxopt.runtime.process import Process\n"
        f"process = Process('{ECHO}', guarded=True)\n"
        "process.line.send('a')\n"
        "number = process.line.recv()[0]\n"
        "copy = os.fork()\n"
        "if copy:\n"
        "    print(number, copy, flush=True)\n"
        "else:\n"
        "    process.forget()\n"
        "time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    number, copy = map(int, parent.stdout.readline().split())
    parent.kill()
    try:
        assert gone([number])
        assert not gone([copy], 0.1)
    finally:
        psutil.Process(copy).kill()
        parent.communicate()


def test_memory_is_that_of_a_process_and_those_it_started() -> None:
    inner = "x = '-' * (60 << 20); input()"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    until = time.monotonic() + 20
    while resident(process.pid) < 60 << 20 and time.monotonic() < until:
        time.sleep(0.02)
    assert 60 << 20 < resident(process.pid) < 200 << 20
    process.communicate(b"\n")
    assert resident(process.pid) == 0


def test_memory_is_counted_without_what_has_just_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = psutil.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr(psutil.Process, "children", lambda self, recursive: [ended])
    assert resident(os.getpid()) > 1 << 20
