"""What is compiled: ahead by `warm_up`, once, for one kind of arguments; a solve that has to compile says so."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dxopt.cli.application import app
from dxopt.numerics import kernels
from dxopt.numerics.kernels import COMPILING, KERNELS
from tests.material.files import ROOT

AHEAD = """
import json
import networkx as nx
import numpy as np
import dxopt as dx
from dxopt.numerics import tropical
from dxopt.spaces.kernels import trees
from dxopt.numerics.kernels import KERNELS

told, lines = [], []
first = dx.warm_up(progress=told.append)
again = dx.warm_up()
compiled = {one.name: [str(kind) for kind in one.dispatcher.signatures] for one in KERNELS}

def solve(space, weights=None, **options):
    prior = dx.Prior.uniform(space) if weights is None else dx.Prior.from_weights(space, weights)
    objective = options.pop("objective", "expected_loss")
    problem = dx.Problem(space, epsilon=0.7, prior=prior, loss="distance", objective=objective)
    return dx.solve(problem, progress=lines.append, **options)

weights = np.random.default_rng(1).random(36)
space = dx.grid((6, 6))
directed = np.random.default_rng(2).random((25, 25))
solve(space, weights)
solve(space, solver="columns")  # with symmetry
solve(space, weights, solver="columns", spanner=1.5)
solve(space, weights, objective="worst_loss")
solve(dx.MetricSpace.from_distances(np.where(np.eye(25, dtype=bool), 0, 1 + directed)), solver="columns")
solve(dx.line(2000))  # implicit, and so with sums of rows
trees.COMPILED_FROM = 0
star = dx.MetricSpace.from_graph(nx.star_graph(5))
dx.tight_constraints(star, epsilon=2.0)
dx.tight_constraints(dx.line(9), epsilon=2.0)
tropical.COMPILED_FROM = 0
solve(space, weights, solver="columns")
solve(dx.grid((3, 3)), solver="clarabel")
print(json.dumps({
    "told": told, "first": str(first), "again": str(again), "there": again.there, "lines": lines,
    "before": compiled,
    "after": {one.name: [str(kind) for kind in one.dispatcher.signatures] for one in KERNELS},
}))
"""
INTERRUPTED = """
import json, os, signal
import numpy as np
import dxopt as dx

lines = []
def tell(line):
    lines.append(line)
    if line.startswith("compiling"):
        os.kill(os.getpid(), signal.SIGINT)

space = dx.grid((5, 5))
prior = dx.Prior.from_weights(space, np.random.default_rng(1).random(25))
problem = dx.Problem(space, epsilon=0.7, prior=prior, loss="distance")
report = dx.solve(problem, solver="columns", progress=tell, partial=True)
print(json.dumps({"lines": lines, "status": report.status, "private": report.certificate.private,
                  "route": report.route, "refused": report.refused["columns"]}))
"""
REFUSED = """
import tempfile
def refuse(*arguments, **options):
    raise OSError("read-only")
tempfile.TemporaryFile = refuse
import dxopt as dx
"""
NOWHERE = """
from dxopt.numerics.row_deficit import row_deficits
import numpy as np
assert abs(row_deficits(np.full((1, 4), 0.125))[0] - 0.5) < 1e-15
from dxopt.solving.warm_up import WarmUp
from dxopt.numerics.kernels import KERNELS
print(WarmUp({}, len(KERNELS), tuple(one.folder for one in KERNELS if one.folder)))
"""


def run(code: str, cache: Path) -> str:
    """What a new process prints, whose machine code is to be kept in one folder."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def ahead(cache: Path) -> dict[str, Any]:
    return json.loads(run(AHEAD, cache))


@pytest.mark.full
def test_everything_is_compiled_ahead(ahead: dict[str, Any], cache: Path) -> None:
    kernels = len(ahead["before"])
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "dxopt").rglob("*.py")]
    assert kernels == sum(len(re.findall(r"(?:^@|= )kernel\(", text, re.MULTILINE)) for text in sources) > 15
    assert sum(text.count("numba.njit") for text in sources) == 2
    assert len(ahead["told"]) == kernels
    assert re.fullmatch(rf"1 of {kernels}: .+, .+: compiled in \d+\.\d s", ahead["told"][0])
    assert ahead["first"].startswith(f"compiled {kernels} of {kernels} kernels in ")
    assert ahead["again"].startswith(f"all {kernels} kernels are there already; kept in\n{cache}")


@pytest.mark.full
def test_no_solve_compiles_anything_afterwards(ahead: dict[str, Any]) -> None:
    assert len(ahead["lines"]) > 20
    assert [line for line in ahead["lines"] if line.startswith(COMPILING)] == []
    assert ahead["after"] == ahead["before"]


@pytest.mark.full
def test_each_is_compiled_for_one_kind_of_arguments(ahead: dict[str, Any]) -> None:
    """Two processes that compile at once then write the same files."""
    assert {name: kinds for name, kinds in ahead["before"].items() if len(kinds) != 1} == {}


@pytest.mark.full
def test_it_is_there_for_other_processes(ahead: dict[str, Any], cache: Path) -> None:
    del ahead
    assert run("import dxopt as dx; print(dx.warm_up(progress=print))", cache).startswith("all ")


def test_a_solve_says_that_it_compiles_and_can_be_stopped_meanwhile(tmp_path: Path) -> None:
    found = json.loads(run(INTERRUPTED, tmp_path))
    assert sum(line.startswith(COMPILING) for line in found["lines"]) == 1
    assert found["status"] == "interrupted"
    assert found["private"]
    assert found["refused"] == "stopped while its loops were compiled"
    assert not found["route"].startswith("column")


@pytest.mark.full
def test_what_is_there_is_read_where_nothing_can_be_written(ahead: dict[str, Any], cache: Path) -> None:
    """As in a container whose file system is read-only, or that another user has made."""
    del ahead
    assert run(f"{REFUSED}\nprint(dx.warm_up(progress=print))", cache).startswith("all ")


@pytest.mark.full
def test_what_is_compiled_into_others_is_compiled_into_them_again(tmp_path: Path) -> None:
    folder = tmp_path / "dxopt"
    shutil.copytree(ROOT / "dxopt", folder, ignore=shutil.ignore_patterns("__pycache__"))
    code = f"""
import sys
sys.path.insert(0, "{tmp_path}")
from dxopt.numerics.kernels import KERNELS
from dxopt.solving.solvers.columns import basis
inner = [one for one in KERNELS if one.name.startswith("basis, ")]
print(basis.__file__, [one.name for one in inner if one.load() is not None])
"""
    first, second = (run(code, tmp_path / "cache") for _ in range(2))
    basis = folder / "solving" / "solvers" / "columns" / "basis.py"
    basis.write_text(basis.read_text(encoding="utf-8") + "\n# another version\n", encoding="utf-8")
    assert str(folder) in first
    assert "'basis, " in first
    assert second.endswith("[]\n")
    assert run(code, tmp_path / "cache") == first


def test_where_nothing_can_be_kept(tmp_path: Path) -> None:
    assert "kept nowhere, as no folder can be written: set NUMBA_CACHE_DIR" in run(f"{REFUSED}{NOWHERE}", tmp_path)


def test_the_command_says_where_they_are() -> None:
    done = CliRunner().invoke(app, ["warm-up"])
    assert done.exit_code == 0
    assert "kept in\n" in done.stdout
    assert f"all {len(KERNELS)} kernels are there already; " in CliRunner().invoke(app, ["warm-up"]).stdout


def test_the_inner_of_nested_contexts_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a function without a file, which nothing is kept of."""
    monkeypatch.setattr(kernels, "KERNELS", [])
    made: dict[str, Any] = {"__name__": "some.big_room"}
    exec("def double_of(x): return 2 * x", made)
    double_of = kernels.kernel(kernels.WHOLE)(made["double_of"])
    outer: list[str] = []
    inner: list[str] = []
    with kernels.telling(outer.append), kernels.telling(inner.append):
        assert double_of(4) == 8
        assert double_of(5) == 10
    double_of(4.0)
    assert outer == []
    assert inner == [f"{COMPILING}: big room, double of"]
    assert kernels.KERNELS[0].folder is None
