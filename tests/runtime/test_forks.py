"""Copies of a process, made while one of its threads solves: each of them can solve as well."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, random, signal, sys, threading, time
import dxopt as dx

size, solver = int(sys.argv[1]), sys.argv[2]
space = dx.grid((size, size))
prior = dx.Prior.from_weights(space, [1 + i * 7 % 5 for i in range(size * size)])

def solved(epsilon):
    report = dx.solve(dx.Problem(space, epsilon=epsilon, prior=prior), solver=solver)
    return report.certificate.private and report.status == "optimal"

def on_and_on():
    while True:
        for step in range(100):
            solved(0.3 + step / 100)

assert solved(0.3)  # loads what is compiled
threading.Thread(target=on_and_on, daemon=True).start()
seen = []
for copy in range(8):
    time.sleep(random.Random(copy).random() / 4)
    process = os.fork()
    if not process:
        signal.alarm(20)
        os._exit(0 if solved(0.5 + copy / 100) else 3)
    seen.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
print(seen, flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize(("size", "solver"), [(4, "clarabel"), pytest.param(6, "columns", marks=pytest.mark.full)])
def test_copies_made_while_a_thread_solves(size: int, solver: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(size), solver], capture_output=True, text=True, timeout=240
    )
    assert done.stdout == f"{[0] * 8}\n", done.stderr
