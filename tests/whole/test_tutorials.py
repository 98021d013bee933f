"""The tutorials as they are saved: whole, without errors and traces of a machine, and with names that exist.

`make test-tutorials` executes them and compares.
"""

from __future__ import annotations

import ast
import json
import math
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

import dxopt as dx
from docs.tutorials import comparing
from tests.material.documents import DOCS, ROOT, resolve

NOTEBOOKS = sorted((DOCS / "tutorials").glob("*.ipynb"))
LARGEST = 300_000
OF_A_MACHINE = re.compile(
    r"/tmp/|/home/|/root|/Users/|[A-Z]:\\\\|site-packages|0x[0-9a-f]{6,}|ipykernel_\d|\\u001b|/work/"
)
every_notebook = pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in NOTEBOOKS])


def cells(file: Path, kind: str) -> list[dict[str, Any]]:
    content = json.loads(file.read_text(encoding="utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == kind]


def code(cell: dict[str, Any]) -> str:
    """The Python of a cell, without commands of the shell."""
    return "\n".join(line for line in "".join(cell["source"]).splitlines() if not line.startswith("!"))


@every_notebook
def test_it_is_a_valid_notebook_that_was_executed_in_order(file: Path) -> None:
    nbformat.validate(nbformat.read(file, as_version=4))
    numbers = [cell["execution_count"] for cell in cells(file, "code")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert any(cell["outputs"] for cell in cells(file, "code"))
    assert len(file.read_bytes()) < LARGEST


@every_notebook
def test_its_outputs_have_no_errors_or_warnings_and_nothing_of_a_machine(file: Path) -> None:
    for cell in cells(file, "code"):
        for output in cell["outputs"]:
            assert output["output_type"] != "error"
            assert output.get("name") != "stderr"
            pictures = {
                kind: content for kind, content in output.get("data", {}).items() if kind.startswith("image/")
            }
            shown = {**output, "data": {k: v for k, v in output.get("data", {}).items() if k not in pictures}}
            assert not OF_A_MACHINE.search(json.dumps(shown, ensure_ascii=True)), cell["id"]


@every_notebook
def test_its_code_parses_and_names_what_exists(file: Path) -> None:
    for cell in cells(file, "code"):
        for node in ast.walk(ast.parse(code(cell))):
            if isinstance(node, ast.Attribute) and (name := dotted(node)).startswith("dx."):
                resolve(name)


def dotted(node: ast.expr) -> str:
    """`dx.evaluate.on` of such an expression; empty where it is another one."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


@every_notebook
def test_readers_see_no_assertions(file: Path) -> None:
    assert not any(
        isinstance(node, ast.Assert) for cell in cells(file, "code") for node in ast.walk(ast.parse(code(cell)))
    )


@every_notebook
def test_its_links_lead_somewhere(file: Path) -> None:
    for cell in cells(file, "markdown"):
        for target in re.findall(r"\]\(([^)\s]+)\)", "".join(cell["source"])):
            found = (file.parent / target.partition("#")[0]).resolve()
            assert re.match(r"\w+:", target) or (found.exists() and ROOT in found.parents), target


def printed(name: str, cell_id: str) -> str:
    """What a cell printed when its notebook was saved."""
    (cell,) = (cell for cell in cells(DOCS / "tutorials" / f"{name}.ipynb", "code") if cell["id"] == cell_id)
    return "".join("".join(output.get("text", ())) for output in cell["outputs"])


def numbers(table: str) -> list[list[float]]:
    """The numbers of each line of a table but its head."""
    return [[*map(float, re.findall(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", row))] for row in table.splitlines()[1:]]


def test_the_levels_of_the_counts_have_their_factors_and_cost_less_than_geometric_noise() -> None:
    (cell,) = (cell for cell in cells(DOCS / "tutorials" / "counts.ipynb", "code") if cell["id"] == "choose")
    html = "".join(cell["outputs"][0]["data"]["text/html"])
    rows = [re.findall(r"<td>(\d[\d.]*)", row) for row in re.findall(r"<tr><td>.*?</tr>", html)]
    assert [row[0] for row in rows] == ["0.1", "0.25", "0.5", "1", "2"]
    for epsilon, factor, loss, bound, worst, _radius in (map(float, row) for row in rows):
        assert factor == pytest.approx(math.exp(epsilon), rel=0.01)
        assert bound <= loss <= min(worst, 1 / math.sinh(epsilon))  # noise that is not cut off


def test_the_colleague_sees_what_holds_and_what_was_changed() -> None:
    assert printed("counts", "verify").startswith("results/cases: holds\n")
    assert re.search(r"^privacy +holds +epsilon 0.5 holds for 3,660 pairs", printed("counts", "verify"), re.MULTILINE)
    changed = re.findall(r"^  (\w+) +fails", printed("counts", "tamper"), flags=re.MULTILINE)
    assert changed == ["digests", "value", "gap"]


def test_customers_without_budget_are_refused_after_four_positions() -> None:
    spent, left, budget = map(float, re.findall(r"\d+\.?\d*", printed("city", "again").splitlines()[0])[1:])
    assert (left, spent) == (0, budget)
    city = dx.geo.bounding_grid(45.41, -73.72, 45.61, -73.48, spacing=2)
    assert budget == pytest.approx(4 * dx.geo.level("ln(4)", 1, space=city), rel=1e-6)


def test_the_paper_is_reproduced() -> None:
    for level, found, formula in re.findall(
        r"ε = (\S+): found (\S+), by the formula (\S+)", printed("ecp14", "optimum")
    ):
        p = math.exp(-float(level))
        assert float(found) == float(formula) == pytest.approx(1 - (3 - p) / (3 * (1 + p)), abs=1e-6)
    assert printed("ecp14", "threshold").startswith("0.968133")


def test_the_levels_of_the_ride_are_those_of_planar_laplace_noise() -> None:
    for budget, epsilon, error, factor in numbers(printed("ride", "independent").replace(" per km", "")):
        assert epsilon == pytest.approx(budget / 147, abs=0.006)
        assert error == pytest.approx(2 / (budget / 147), abs=0.006)
        assert factor == pytest.approx(math.exp(budget / 100), rel=0.01)


def test_every_notebook_is_in_the_table_of_contents() -> None:
    contents = (DOCS / "index.md").read_text(encoding="utf-8")
    assert NOTEBOOKS
    assert all(f"(tutorials/{file.name})" in contents for file in NOTEBOOKS)


def test_numbers_may_differ_by_rounding_and_words_may_not() -> None:
    same = [
        ("loss  1.234 km", "loss 1.235 km"),
        ("gap 3.23e-14", "gap 7.1e-15"),
        ("12,345 pairs, 0.0 off", "12,345 pairs, 0.1 off"),
        ("off by -1.2e-03", "off by -1.19e-03"),
    ]
    others = [
        ("loss 1.234 km", "loss 1.264 km"),
        ("loss 1.234 km", "loss 1.234 m"),
        ("12,345 pairs", "12,346 pairs"),
        ("sum 1", "sum 1.5"),
        ("1.5 of 2", "1.5"),
    ]
    assert all(comparing.alike(*pair) for pair in same)
    assert not any(comparing.alike(*pair) for pair in others)


def test_a_difference_names_the_cell_and_shows_both() -> None:
    before = nbformat.v4.new_notebook(cells=[executed("value 1.50", "b"), executed("x" * 300 + " holds", "c")])
    after = nbformat.v4.new_notebook(cells=[executed("value 1.60", "b"), executed("x" * 300 + " fails", "c")])
    first, second = comparing.differences(before, after)
    assert first == "cell 1 (b): stdout was 'value 1.50', and now is 'value 1.60'"
    assert second.startswith("cell 2 (c): ")
    assert "holds" in second
    assert "fails" in second
    assert list(comparing.differences(before, before)) == []
    without = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(id="b"), before.cells[1]])
    assert list(comparing.differences(before, without)) == ["cell 1 (b): outputs were stdout, and now are none"]


def test_of_a_cell_with_draws_the_words_alone_are_compared() -> None:
    before, after = (nbformat.v4.new_notebook(cells=[executed(text, "b")]) for text in ("cell (3, 2)", "cell (1, 2)"))
    (found,) = comparing.differences(before, after)
    assert found.startswith("cell 1 (b): ")
    after.cells[0].metadata["tags"] = [comparing.DRAWN]
    assert list(comparing.differences(before, after)) == []
    after.cells[0].outputs[0].text = "row (1, 2)"
    assert list(comparing.differences(before, after)) != []


def executed(text: str, name: str) -> Any:
    return nbformat.v4.new_code_cell(id=name, outputs=[nbformat.v4.new_output("stream", name="stdout", text=text)])
