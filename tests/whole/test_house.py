"""The house as it is built: fourteen packages and two modules, every import downwards, no circle, no long file."""

from __future__ import annotations

import re
import tomllib

import networkx as nx
import pytest

from tests.material.files import ROOT
from tests.material.imports import PACKAGE, graph, modules

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


def layers_of(container: str) -> list[list[str]]:
    """The layers of a contract, the highest one first; those side by side import nothing of each other."""
    (contract,) = (one for one in CONTRACTS if one.get("containers") == [container])
    return [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]


def test_no_circle_between_files() -> None:
    circles = [sorted(found) for found in nx.strongly_connected_components(graph()) if len(found) > 1]
    assert circles == []


@pytest.mark.parametrize("container", ["dxopt", "dxopt.solving"])
def test_nothing_is_imported_upwards(container: str) -> None:
    height = {name: -floor for floor, layer in enumerate(layers_of(container)) for name in layer}
    depth = container.count(".") + 1

    def room(module: str) -> str | None:
        parts = module.split(".")
        inside = module.startswith(f"{container}.")
        return parts[depth] if inside else None

    wrong = [
        (importer, other)
        for importer, other in graph().edges
        if (here := room(importer)) and (there := room(other)) and here != there and height[here] <= height[there]
    ]
    assert wrong == []


def test_every_room_has_its_layer() -> None:
    rooms = {name.split(".")[1] for name in modules() if name != "dxopt"}
    assert rooms == {name for layer in layers_of("dxopt") for name in layer}


def test_contracts_are_whole() -> None:
    assert all("ignore_imports" not in contract for contract in CONTRACTS)
    assert next(one for one in CONTRACTS if one.get("containers") == ["dxopt"])["exhaustive"] is True


def test_the_package_has_few_entries() -> None:
    entries = {
        path.name
        for path in PACKAGE.iterdir()
        if path.name not in ("__init__.py", "__init__.pyi", "__main__.py", "__pycache__", "py.typed")
    }
    assert len(entries) <= 17


def test_no_file_is_long() -> None:
    assert [name for name, file in modules().items() if len(file.read_bytes().splitlines()) > 600] == []


def test_no_test_imports_a_test() -> None:
    line = re.compile(r"^\s*(?:from|import) [\w.]*\.test_", flags=re.MULTILINE)
    found = [file for file in (ROOT / "tests").rglob("*.py") if line.search(file.read_text(encoding="utf-8"))]
    assert found == []
