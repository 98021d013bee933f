"""Code reacts to an error by its class or its data, and never reads text that is made for people."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from fractions import Fraction

import pytest

from dxopt.cli.shared import command_line_message
from dxopt.errors import BudgetExceeded, MethodRefused, NoTightMechanism, Option, SpecError, UnsupportedError
from dxopt.spec import SpecFileError
from tests.material.imports import modules

_NEAR = Option("index")

_TEXTS = ("fix", "message", "route", "wrong")
_READING = {
    *("count", "endswith", "find", "index", "partition", "removeprefix", "removesuffix", "replace", "rfind"),
    *("rpartition", "split", "startswith", "lower", "casefold"),
}
_PATTERNS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")


def _is_text(node: ast.AST, caught: set[str]) -> bool:
    """Return whether an expression is the text of an error or of a route."""
    if isinstance(node, ast.Attribute):
        return node.attr in _TEXTS
    if isinstance(node, ast.JoinedStr | ast.FormattedValue):
        return any(_is_text(part, caught) for part in ast.iter_child_nodes(node))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("str", "repr"):
        return any(isinstance(one, ast.Name) and one.id in caught for one in node.args)
    return False


def _reads(node: ast.AST, caught: set[str]) -> bool:
    """Return whether an expression compares such a text, or looks into it."""
    if isinstance(node, ast.Compare):
        return any(_is_text(side, caught) for side in (node.left, *node.comparators))
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    # without arguments, `split` makes one line of a message
    looked_at = node.func.attr in _READING and bool(node.args) and _is_text(node.func.value, caught)
    return looked_at or (node.func.attr in _PATTERNS and any(_is_text(one, caught) for one in node.args))


def found(text: str) -> Iterator[int]:
    """Yield the lines of a module that read text of errors or routes."""
    tree = ast.parse(text)
    caught = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name}
    yield from (node.lineno for node in ast.walk(tree) if isinstance(node, ast.expr) and _reads(node, caught))


def test_no_code_reads_the_text_of_an_error() -> None:
    reading = {(name, line) for name, file in modules().items() for line in found(file.read_text(encoding="utf-8"))}
    assert reading == set()


def test_what_reads_the_text_of_an_error_is_found() -> None:
    handled = "try: f()\nexcept E as error:\n    {}"
    for reading in (
        '"index=" in error.fix',
        'error.wrong.startswith("is ")',
        're.sub("a", "b", str(error))',
        '"closed" in str(error)',
        'str(error).split(":")',
        'f"{name} is taken" == error.wrong',
        '"columns" in report.route',
    ):
        assert list(found(handled.format(reading))) == [3], reading
    for fine in ('" ".join(str(error).split())', "f(str(error))", 'error.field == "loss"', "isinstance(error, E)"):
        assert list(found(handled.format(fine))) == [], fine


def test_a_fix_is_written_where_it_is_read() -> None:
    error = SpecError(
        "over_budget", "is short", "leave it out, or give ", Option("over_budget", "drop"), " or ", _NEAR
    )
    assert error.fix == "leave it out, or give over_budget='drop' or index="
    assert error.fix_in(Option.in_file) == 'leave it out, or give {over_budget: "drop"} or {index: …}'
    assert (
        command_line_message(error) == "--over-budget: is short; leave it out, or give --over-budget drop or --index"
    )
    assert error.options == {"over_budget", "index"}
    in_file = SpecFileError("a.yaml", 2, 1, "time_limit", "is 0", "raise it")
    assert command_line_message(in_file) == "a.yaml:2:1: time_limit: is 0; raise it"


@pytest.mark.parametrize(
    "error",
    [
        UnsupportedError("field", "is wrong", "mend it, or give ", Option("force", True)),
        BudgetExceeded("ann", Fraction(1), Fraction(1, 2), "has too little", "stop"),
        NoTightMechanism("epsilon", "is small", "raise it", negative=("a",), exists_from=0.5),
        MethodRefused("tight", "needs an epsilon"),
        SpecFileError("a.yaml", 2, 1, "space.kind", "is missing", "add it"),
    ],
)
def test_errors_are_the_same_after_another_process(error: SpecError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), vars(again), str(again)) == (type(error), vars(error), str(error))
    moved = error.at("elsewhere")
    assert (type(moved), moved.field, moved.wrong) == (type(error), "elsewhere", error.wrong)
    assert error.field != "elsewhere"
