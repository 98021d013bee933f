"""What a mutant changes: one operator, number, name, condition or statement of a file; all else stays as it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

COMPARISONS = {
    ast.Lt: ("<", ("<=", ">")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
}
MARGINS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
"""Of a sum or product by these, the left side alone is kept: a margin that is dropped."""
_TWINS = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("fmin", "fmax"),
    ("floor", "ceil"),
    ("any", "all"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("factor_below", "factor_above"),
    ("ROUND_FLOOR", "ROUND_CEILING"),
    ("logical_and", "logical_or"),
)
NAMES = {**dict(_TWINS), **{other: one for one, other in _TWINS}, "fsum": "fmean"}
"""Names that mean the contrary, and a sum that is no longer one."""
_SIZES = ("abs", "fabs", "absolute")
_FILTERS = ("where", "initial")
_FIXED = {"bool": ("True", "False"), "float": ("0.0",), "int": ("0",), "Fraction": ("Fraction(0)",)}
_COUNT = 3
"""Larger numbers are sizes or margins; smaller ones places, counts, powers and terms."""


@dataclass(frozen=True)
class Mutant:
    """A file with one change.

    Attributes
    ----------
    file : str
        From the root of the repository.
    line : int
        From 1 on: where the change begins.
    first, last : int
        The bytes of the file that are replaced, up to `last` exclusively.
    new : str
        What stands there instead.
    kind : str
        The operator, in words.
    """

    file: str
    line: int
    first: int
    last: int
    new: str
    kind: str

    @property
    def name(self) -> str:
        """What tells it from all others of the same source."""
        return f"{self.file}:{self.first}-{self.last}:{self.new}"

    def applied(self, source: bytes) -> bytes:
        """The file with the change."""
        return source[: self.first] + self.new.encode() + source[self.last :]

    def shown(self, source: bytes) -> tuple[str, str]:
        """The lines that are changed, before and after, without what they begin and end with."""
        start = source.rfind(b"\n", 0, self.first) + 1
        end = source.find(b"\n", self.last)
        end = len(source) if end < 0 else end
        after = source[start : self.first] + self.new.encode() + source[self.last : end]
        return source[start:end].decode().strip(), after.decode().strip()


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    """All mutants of a Python file, by their place in it; some may be no Python, or the same program: see `sound`."""
    distinct = {one.name: one for one in _Finder(file, source).found()}
    return sorted(distinct.values(), key=lambda one: (one.first, one.last, one.new))


def sound(mutant: Mutant, source: bytes) -> bool:
    """Whether the file still compiles, to another tree."""
    try:
        tree = ast.parse(mutant.applied(source))
    except SyntaxError:
        return False
    return ast.dump(tree) != ast.dump(ast.parse(source))


def runs_at_import(source: bytes, line: int) -> bool:
    """Whether a line is in no function, so that the test that imports the file first is the only one to run it."""
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    return not any(node.body[0].lineno <= line <= (node.end_lineno or 0) for node in functions)


class _Finder:
    """Looks for places to change; messages, annotations, imports and decorators are not looked at."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file = file
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def found(self) -> Iterator[Mutant]:
        """The mutants in the order of the tree."""
        yield from self._within(ast.parse(self.source), None)

    def _within(self, node: ast.AST, returns: ast.expr | None) -> Iterator[Mutant]:
        yield from self._at(node, returns)
        if isinstance(node, ast.FunctionDef):
            returns = node.returns
        for part in _looked_at(node):
            yield from self._within(part, returns)

    def _at(self, node: ast.AST, returns: ast.expr | None) -> Iterator[Mutant]:
        match node:
            case ast.Compare():
                for place, op in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
                    old, others = COMPARISONS[type(op)]
                    for new in others:
                        yield from self._between(*place, old, new, "comparison")
            case ast.BinOp():
                if type(node.op) in ARITHMETIC:
                    old, new = ARITHMETIC[type(node.op)]
                    yield from self._between(node.left, node.right, old, new, "arithmetic")
                if isinstance(node.op, MARGINS):
                    yield self._instead(node, self._text(node.left), "right side dropped")
            case ast.AugAssign() if type(node.op) in ARITHMETIC:
                old, new = (f"{sign}=" for sign in ARITHMETIC[type(node.op)])
                yield from self._between(node.target, node.value, old, new, "arithmetic")
                yield self._instead(node, "pass", "statement dropped")
            case ast.BoolOp():
                old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for place in pairwise(node.values):
                    yield from self._between(*place, old, new, "and, or")
            case ast.UnaryOp():
                yield self._instead(node, f"({self._text(node.operand)})", "sign or not dropped")
            case ast.Constant():
                for new in _numbers(node.value):
                    yield self._instead(node, new, "constant")
            case ast.Name() | ast.Attribute():
                yield from self._renamed(node)
            case ast.Call():
                yield from self._called(node)
            case ast.Return() if node.value is not None:
                declared = ast.unparse(returns) if returns else ""
                for new in _FIXED.get(declared, ("None",) if declared.endswith("| None") else ()):
                    yield self._instead(node.value, new, "return of a constant")
            case ast.If() | ast.While():
                yield self._instead(node.test, "False", "condition never holds")
                if isinstance(node, ast.If):
                    yield self._instead(node.test, "True", "condition always holds")
            case ast.comprehension():
                for test in node.ifs:
                    yield self._instead(test, "True", "condition always holds")
            case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Break() | ast.Continue():
                yield self._instead(node, "pass", "statement dropped")
            case ast.Assign(targets=[ast.Subscript()]):
                yield self._instead(node, "pass", "statement dropped")

    def _called(self, node: ast.Call) -> Iterator[Mutant]:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _SIZES and len(node.args) == 1:
            yield self._instead(node, f"({self._text(node.args[0])})", "abs dropped")
        if name == "nextafter" and len(node.args) == 2:
            up = "inf" in self._text(node.args[1]) and "-" not in self._text(node.args[1])
            yield self._instead(node.args[1], "-np.inf" if up else "np.inf", "nextafter turned")
            yield self._instead(node, f"({self._text(node.args[0])})", "nextafter dropped")
        if len(node.args) + len(node.keywords) > 1:
            for keyword in node.keywords:
                if keyword.arg in _FILTERS:
                    first, last = self._span(keyword)
                    before = self.source[:first].rstrip()
                    yield self._made(len(before) - before.endswith(b","), last, "", "argument dropped")

    def _renamed(self, node: ast.Name | ast.Attribute) -> Iterator[Mutant]:
        old = node.id if isinstance(node, ast.Name) else node.attr
        if old in NAMES and isinstance(node.ctx, ast.Load):
            last = self._span(node)[1]
            yield self._made(last - len(old), last, NAMES[old], "name")

    def _between(self, left: ast.AST, right: ast.AST, old: str, new: str, kind: str) -> Iterator[Mutant]:
        """The operator that stands between two expressions."""
        first = self._span(left)[1]
        text = self.source[first : self._span(right)[0]].decode()
        pattern = r"\s+".join(map(re.escape, old.split()))
        if old.isalpha() or " " in old:
            pattern = rf"\b{pattern}\b"
        found = re.search(pattern, text)
        if found:
            before = len(text[: found.start()].encode())
            yield self._made(first + before, first + before + len(found.group().encode()), new, kind)

    def _instead(self, node: ast.AST, new: str, kind: str) -> Mutant:
        return self._made(*self._span(node), new, kind)

    def _made(self, first: int, last: int, new: str, kind: str) -> Mutant:
        return Mutant(self.file, self.source.count(b"\n", 0, first) + 1, first, last, new, kind)

    def _span(self, node: ast.AST) -> tuple[int, int]:
        place: ast.expr = node  # pyright: ignore[reportAssignmentType]
        last_line, last = place.end_lineno or 0, place.end_col_offset or 0
        return self.starts[place.lineno - 1] + place.col_offset, self.starts[last_line - 1] + last

    def _text(self, node: ast.AST) -> str:
        first, last = self._span(node)
        return self.source[first:last].decode()


def _looked_at(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node in which a change would be one of what is computed."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Assert():
            return
        case ast.FunctionDef():
            yield from (*node.args.defaults, *(one for one in node.args.kw_defaults if one), *node.body)
        case ast.ClassDef():
            yield from node.body
        case ast.AnnAssign():
            yield from [node.value] if node.value else []
        case ast.If() if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return
        case _:
            yield from ast.iter_child_nodes(node)


def _numbers(value: object) -> tuple[str, ...]:
    """What a number is changed to: those next to it where it is a count, else nothing and its contrary."""
    if isinstance(value, bool):
        return (str(not value),)
    if isinstance(value, int):
        return (str(value + 1), str(value - 1)) if abs(value) <= _COUNT else ("0", f"-{value}")
    if isinstance(value, float):
        return ("1.0",) if value == 0 else ("0.0", repr(-value))
    return ()
