"""What installs and checks dxopt elsewhere says the same as pyproject.toml and the Makefile."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import dxopt
from tests.material.documents import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
RECIPE = ROOT / "packaging" / "conda" / "recipe.yaml"
CONTAINER = (ROOT / "packaging" / "Containerfile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SERVICES = [*WORKFLOWS, ROOT / ".gitlab-ci.yml"]
IN_CONDA = {"matplotlib": "matplotlib-base"}
"""Other names that conda has."""


def read(file: Path) -> Any:
    return YAML(typ="safe").load(file.read_text(encoding="utf-8"))


def parted(needed: str) -> tuple[str, frozenset[str]]:
    """The name and the bounds of a dependency, without its marker."""
    found = re.fullmatch(r"([\w.-]+)\s*(.*)", needed.partition(";")[0].strip())
    assert found, needed
    return IN_CONDA.get(found[1], found[1]), frozenset(found[2].replace(" ", "").split(",")) - {""}


def commands(content: Any) -> list[str]:
    """What a service runs."""
    if isinstance(content, dict):
        own = [content[key] for key in ("run", "script") if isinstance(content.get(key), str)]
        return own + [line for value in content.values() for line in commands(value)]
    if isinstance(content, list):
        return [line for value in content for line in ([value] if isinstance(value, str) else commands(value))]
    return []


def test_conda_has_the_dependencies_of_the_project() -> None:
    needed = [*PROJECT["dependencies"], *EXTRAS["cli"], *EXTRAS["solve"]]
    wanted = dict(parted(one) for one in reversed(needed) if one != "dxopt[cli]")
    wanted["python"] = frozenset({PROJECT["requires-python"]})
    recipe = read(RECIPE)
    assert dict(map(parted, recipe["requirements"]["run"])) == wanted
    assert "!=1.16.0" in wanted["highspy"]
    assert recipe["context"]["version"] == dxopt.__version__
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["build"]["python"]["entry_points"] == [f"dxopt = {PROJECT['scripts']['dxopt']}"]


def test_what_is_declared_is_what_is_tried() -> None:
    matrix = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    declared = [one.rpartition(" :: ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert matrix["python"] == declared
    systems = {one.partition(" :: ")[2] for one in PROJECT["classifiers"] if one.startswith("Operating System")}
    assert systems == {"POSIX :: Linux", "MacOS", "Microsoft :: Windows"}
    assert [one.partition("-")[0] for one in matrix["system"]] == ["ubuntu", "macos", "windows"]


@pytest.mark.parametrize("service", SERVICES, ids=lambda file: file.name)
def test_services_run_what_is_there(service: Path) -> None:
    text = service.read_text(encoding="utf-8")
    content = read(service)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    run = commands(content)
    assert run
    for line in run:
        for target in re.findall(r"^make ([\w-]+)", line):
            assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
        for name in re.findall(r"\.\[([\w,]+)\]", line):
            assert set(name.split(",")) <= set(EXTRAS)
        for program in re.findall(r"python (\.ci/\S+)", line):
            assert (ROOT / program).is_file()
    for action in re.findall(r"uses: (\S+)", text):
        assert re.fullmatch(r"actions/[\w-]+@v\d+", action), action


def test_the_container_copies_what_is_there_and_gives_up_its_rights() -> None:
    for line in re.findall(r"^COPY (.*)$", CONTAINER, flags=re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split()[:-1])
    for names in re.findall(r"\.\[([\w,]+)\]", CONTAINER):
        assert set(names.split(",")) <= set(EXTRAS)
    assert "dxopt warm-up" in CONTAINER
    assert CONTAINER.index("useradd") < CONTAINER.index("USER dxopt") < CONTAINER.index("ENTRYPOINT")
