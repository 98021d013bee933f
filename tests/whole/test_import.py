"""Importing the package stays light, and its public names are all there."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import dxopt as dx
from tests.material.files import ROOT

HEAVY = ("cvxpy", "numba", "matplotlib", "networkx", "clarabel", "highspy", "pandas")


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("module", ["dxopt", "dxopt.cli.application"])
def test_light(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"there is no {module}")
    modules = loaded_by(f"import {module}")
    assert module in modules
    assert [name for name in HEAVY if name in modules] == []


def test_the_check_can_see_a_heavy_module() -> None:
    assert "networkx" in loaded_by("import networkx")


def test_importing_does_no_numerics() -> None:
    modules = loaded_by("import dxopt")
    assert "scipy" not in modules
    assert "dxopt.solving.solve" not in modules


def test_public_names() -> None:
    assert set(dir(dx)) == set(dx.__all__)
    for name in dx.__all__:
        assert getattr(dx, name) is not None
    with pytest.raises(AttributeError, match="nonesuch"):
        _ = dx.nonesuch


def test_tables_need_numpy_alone(tmp_path: Path) -> None:
    table = dx.integer_table(dx.classic.geometric(dx.line(4), epsilon=1.0))
    for ending in ("dxt", "npz"):
        table.save(tmp_path / f"table.{ending}")
    program = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in OTHERS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

OTHERS = {
    "scipy", "cvxpy", "clarabel", "highspy", "numba", "threadpoolctl", "networkx", "matplotlib", "pydantic", "ruamel",
    "typer", "rich", "pandas",
}
sys.meta_path.insert(0, Refused())
import dxopt as dx
from dxopt.verify import verify_table

for ending in ("dxt", "npz"):
    table = dx.IntegerTable.load(f"table.{ending}")
    assert len(table.sample(index=0, size=9)) == 9
    table.sample_for(["ann"], index=[1], key=dx.Key.new(), release="r")
assert verify_table("table.dxt").exit_code == 0
dx.export(table, "js", "table.js")
try:
    dx.solve
except dx.UnsupportedError as error:
    assert str(error).endswith("is not installed; install dxopt[solve]"), error
else:
    raise AssertionError
from dxopt.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr == "dxopt: typer is not installed; install dxopt[cli], or dxopt[solve] to solve\n"
