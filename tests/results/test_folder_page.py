"""The page on result folders, held against folders of every kind of space and mechanism."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "result-folder.md"


def tables(section: str) -> list[list[list[str]]]:
    """The rows of each table of a section, without its head."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    found = re.findall(r"(?:^\|.*\n)+", text + "\n", flags=re.MULTILINE)
    return [[re.split(r"(?<!\\) \| ", row.strip("| \n")) for row in table.splitlines()[2:]] for table in found]


def names(cell: str) -> list[str]:
    return re.findall(r"`([\w.]+)`", cell)


def shaped(rows: list[list[str]]) -> dict[str, tuple[str, ...]]:
    """The arrays of a table, and their shapes in letters and digits."""
    found = {}
    for row in rows:
        shapes = re.findall(r"\(([^)]*)\)", row[1])
        found |= {
            name: tuple(re.findall(r"\w+", shapes[min(place, len(shapes) - 1)]))
            for place, name in enumerate(names(row[0]))
        }
    return found


SAVED, OWN = tables("mechanism.npz")
ASKED = shaped(tables("problem.npz")[0])
KINDS = {
    "lattice": {"shape", "spacing", "metric"},
    "torus": {"shape", "spacing", "metric"},
    "points": {"points", "metric", "parameters", "labels"},
    "distances": {"distances", "labels"},
    "product": {"factors"},
    "tree": {"edges", "lengths", "labels"},
}


def spaces() -> dict[str, dx.MetricSpace]:
    return {
        "line": dx.line(4, unit="people"),
        "points": dx.MetricSpace.from_points([0.0, 1.0, 5.0]),
        "grid": dx.grid((2, 3)),
        "ring": dx.torus((5,)),
        "city": dx.geo.bounding_grid(45.68, 4.76, 45.74, 4.84, shape=(2, 3)),
        "places": dx.MetricSpace.from_points([[45.0, 4.0], [45.1, 4.0], [45.0, 4.2]], "haversine"),
        "words": dx.MetricSpace.from_points(["yes", "no", "maybe"], "discrete"),
        "matrix": dx.MetricSpace.from_distances([[0, 1, 4], [1, 0, 3], [4, 3, 0]]),
        "product": dx.product(dx.line(2), dx.line(3)),
        "large": dx.grid((80, 80), metric="manhattan"),
    }


BY_STRUCTURE = {("line", None), ("points", None), ("product", None), ("large", None)}
"""Of which the bound is proven by structure."""


def arrays(file: Path) -> dict[str, Any]:
    with np.load(file) as stored:
        return {name: stored[name] for name in stored.files}


def require_shapes(found: dict[str, Any], said: dict[str, tuple[str, ...]], size: dict[str, int]) -> None:
    for name, array in found.items():
        wanted = [int(part) if part.isdigit() else size.get(part) for part in said[name]]
        assert len(wanted) == array.ndim, name
        assert all(one in (None, other) for one, other in zip(wanted, array.shape, strict=True)), name


def require_saved(found: dict[str, Any]) -> None:
    """A file as `mechanism.save` writes it has what the page says, by its space and by what it is."""
    general = {name for row in SAVED for name in names(row[0])}
    own = {name for row in OWN for name in names(row[1])}
    bare = {re.sub(r"^(\d+/)*|(?<=space)(\.\d+)+(?=\.)", "", name) for name in found}
    assert bare <= general | own
    for name in [name for name in found if name.endswith(".kind")]:
        there = {other.removeprefix(name[:-4]) for other in found if re.fullmatch(name[:-4] + r"\w+", other)}
        assert there - {"kind", "unit"} == KINDS[str(found[name])]
    assert any(set(names(row[1])) & set(found) for row in OWN)
    # reports of their own are those of a matrix, and of a remap
    assert ("secrets" in found) is bool({"matrix", "table"} & set(found))


@pytest.mark.parametrize(
    ("space", "method"),
    [*product(spaces(), [None]), *product([name for name in spaces() if name != "large"], ["exponential"])],
)
def test_folders_have_the_arrays_of_the_page(tmp_path: Path, space: str, method: str | None) -> None:
    made = spaces()[space]
    problem = dx.Problem(made, epsilon=0.2 if space == "large" else 0.7, prior="uniform")
    folder = dx.solve(problem, method=method or "auto").save(tmp_path / "result")
    found, asked, dual = (arrays(folder / f"{name}.npz") for name in ("mechanism", "problem", "dual"))
    by_structure = bool({"roots", "which"} & set(dual))
    assert by_structure is ((space, method) in BY_STRUCTURE)
    require_shapes(asked, ASKED, {"n": len(made), "m": len(problem.reports)})
    require_saved(found)
    assert ("distances" in asked) is ("matrix" in found and str(found["space.kind"]) != "distances")
    assert ("losses" in asked) is ("matrix" in found)


def test_saved_mechanisms_have_the_arrays_of_the_page(tmp_path: Path) -> None:
    grid = dx.grid((20, 20))
    noise = dx.classic.planar_laplace(grid, epsilon=1.0)
    tight = dx.tight_constraints(dx.product(dx.line(3), dx.line(4)), 1.0)
    small = dx.classic.exponential(dx.grid((2, 2)), epsilon=1.0)
    words = dx.classic.exponential(spaces()["words"], epsilon=1.0)
    apart = dx.classic.exponential(spaces()["matrix"], epsilon=1.0)
    geometric = dx.classic.geometric(dx.line(400), epsilon=0.5)
    for given in (noise, tight, small, words, apart, geometric, tight.remap([0] * 12)):
        require_saved(arrays(given.save(tmp_path / "mechanism.npz")))
