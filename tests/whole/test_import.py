"""Importing the package stays light, and its public names are all there."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

import dxopt as dx
from dxopt.errors import not_installed
from tests.material.files import ROOT

SOLVING = (
    "scipy", "cvxpy", "clarabel", "highspy", "numba", "threadpoolctl", "networkx", "matplotlib", "pandas",
)  # fmt: skip
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


def test_solving_loads_only_what_it_needs() -> None:
    problem = "dx.Problem(space, epsilon=1, prior=dx.Prior.uniform(space), loss='distance')"
    modules = loaded_by(f"import dxopt as dx; space = dx.grid((3, 3)); dx.solve({problem})")
    assert sum(name.partition(".")[0] == "dxopt" for name in modules) <= 170


def test_processes_of_batches_load_no_numba_before_they_compile() -> None:
    solved = "import dxopt as dx; dx.solve(dx.Problem(dx.line(4), epsilon=1.0, prior='uniform'))"
    assert "numba" not in loaded_by(f"import dxopt.batch.worker_main; {solved}")


def test_public_names() -> None:
    assert set(dir(dx)) == set(dx.__all__)
    for name in dx.__all__:
        assert getattr(dx, name) is not None
    with pytest.raises(AttributeError, match="nonesuch"):
        _ = dx.nonesuch  # pyright: ignore[reportAttributeAccessIssue]


def extras() -> dict[str, list[str]]:
    """The names under which what each extra brings is imported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {"ruamel.yaml": "ruamel", "cupy-cuda12x": "cupy"}
    needed = {
        extra: [found[0] for one in listed if (found := re.match(r"[\w.-]+", one)) and found[0] != "dxopt"]
        for extra, listed in project["optional-dependencies"].items()
    }
    return {extra: [names.get(one, one) for one in listed] for extra, listed in needed.items()}


def without(packages: Iterable[str], program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a program does in a folder where packages are not installed."""
    refusing = f"""
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {set(packages)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refused())
"""
    command = [sys.executable, "-c", refusing + program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_tables_need_numpy_alone(tmp_path: Path) -> None:
    table = dx.integer_table(dx.classic.geometric(dx.line(4), epsilon=1.0))
    table.save(tmp_path / "table.dxt")
    program = """
import dxopt as dx
from dxopt.verify import verify_table

table = dx.IntegerTable.load("table.dxt")
assert len(table.sample(index=0, size=9)) == 9
table.sample_for(["ann"], index=[1], key=dx.Key.new(), release="r")
assert verify_table("table.dxt").exit_code == 0
dx.export(table, "js", "table.js")
try:
    dx.solve
except dx.UnsupportedError as error:
    assert "dxopt[solve]" in error.fix, error
else:
    raise AssertionError
from dxopt.cli import main
main()
"""
    done = without([*SOLVING, *extras()["cli"]], program, tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr == "typer: is not installed; install dxopt[cli], or dxopt[solve] to solve\n"


def saved_result(folder: Path) -> None:
    space = dx.geo.bounding_grid(45.68, 4.76, 45.74, 4.84, shape=(2, 2))
    dx.solve(dx.Problem(space, epsilon=1.0, prior="uniform")).save(folder / "folder")


def test_published_files_are_verified_without_what_solves(tmp_path: Path) -> None:
    saved_result(tmp_path)
    (tmp_path / "a.csv").write_text("who,lat,lon\nann,45.7,4.8\n", encoding="utf-8")
    dx.apply(dx.load(tmp_path / "folder"), tmp_path / "a.csv", tmp_path / "b.csv", lat="lat", lon="lon")
    program = """
from dxopt.cli import main

sys.argv = ["dxopt", "verify", "b.csv", "--result", "folder"]
main()
"""
    done = without(SOLVING, program, tmp_path)
    assert done.returncode == 0, done.stderr


def test_commands_name_what_is_not_installed(tmp_path: Path) -> None:
    program = """
from dxopt.cli import main

for command in COMMANDS:
    sys.argv = ["dxopt", *command.split()]
    try:
        main()
    except SystemExit as ended:
        print(command.split()[0], ended.code)
"""
    saved_result(tmp_path)
    names = ("solve a.yaml", "compare a.yaml", "explain folder", "map folder", "schema", "warm-up")
    done = without(SOLVING, program.replace("COMMANDS", repr(names)), tmp_path)
    assert done.stdout.split("\n")[:-1] == [f"{name.split()[0]} 2" for name in names], done.stderr
    said = done.stderr.splitlines()
    assert len(said) == len(names)
    assert {line.partition(": ")[2] for line in said} == {"is not installed; install dxopt[solve]"}


@pytest.mark.parametrize("extra", ["cli", "solve", "frames", "geo", "opendp", "distributed", "gpu"])
def test_missing_packages_are_told_with_an_extra_that_brings_them(extra: str) -> None:
    for name in extras()[extra]:
        told = not_installed(ModuleNotFoundError(name=f"{name}.inside"))
        assert told.field == name
        named = re.findall(r"dxopt\[(\w+)\]", told.fix)
        assert named and name in extras()[named[0]]


def test_what_no_extra_brings_is_no_message() -> None:
    with pytest.raises(ModuleNotFoundError, match="theirs"):
        not_installed(ModuleNotFoundError("theirs", name="theirs"))
