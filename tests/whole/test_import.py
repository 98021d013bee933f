"""Importing the package stays light, and its public names are all there."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest

import dxopt as dx
from tests.material.files import ROOT

HEAVY = ("cvxpy", "numba", "matplotlib", "networkx", "clarabel", "highspy", "pandas")


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("module", ["dxopt", "dxopt.cli"])
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
