"""What mutants are made of a piece of source, and which tests are chosen for one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.material.files import ROOT
from tests.mutants import draw, table
from tests.mutating import trying
from tests.mutating.operators import Mutant, mutants_of, sound
from tests.mutating.rooms import ROOMS, files_of, watched
from tests.mutating.sight import Seen
from tests.mutating.trying import LIVED, Copy, Sight, chosen

SOURCE = '''"""A text."""

import numpy as np

LEAST = 1e-12


def bound(values: "list[float] | None", *, room: float = 8.0) -> float:
    """The least value, µ, rounded down."""
    if values is None or not len(values):
        raise ValueError(f"{len(values) + 1} are too few")
    low = np.nextafter(min(abs(v) for v in values if v > 0), 0.0)
    return low * (1 + room) - LEAST
'''


def made(kind: str) -> set[str]:
    """The changed parts of the mutants of one kind."""
    source = SOURCE.encode()
    return {one.shown(source)[1] for one in mutants_of("bound.py", source) if one.kind == kind}


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("comparison", {"values if v >= 0), 0.0)", "values if v < 0), 0.0)", "if values is not None or not"}),
        ("and, or", {"if values is None and not len(values):"}),
        ("sign or not dropped", {"if values is None or (len(values)):"}),
        ("name", {"np.nextafter(max(abs(v)"}),
        ("abs dropped", {"min((v) for v"}),
        ("nextafter turned", {"if v > 0), np.inf)"}),
        ("nextafter dropped", {"low = (min(abs(v) for v in values if v > 0))"}),
        ("right side dropped", {"return low * (1 + room)", "return low * (1) - LEAST", "return low - LEAST"}),
        ("arithmetic", {"return low / (1 + room) - LEAST", "low * (1 - room) - LEAST", "(1 + room) + LEAST"}),
        ("constant", {"LEAST = 0.0", "LEAST = -1e-12", "room: float = 0.0", "low * (2 + room)", "low * (0 + room)"}),
        ("condition never holds", {"if False:"}),
        ("condition always holds", {"if True:", "min(abs(v) for v in values if True)"}),
        ("statement dropped", {"pass"}),
        ("return of a constant", {"return 0.0"}),
    ],
)
def test_what_is_changed(kind: str, lines: set[str]) -> None:
    found = made(kind)
    for line in lines:
        assert any(line in one for one in found), (line, found)


def test_what_is_left_alone() -> None:
    """Texts, messages, imports and annotations; and one change alone, beside letters of several bytes."""
    source = SOURCE.encode()
    for mutant in mutants_of("bound.py", source):
        after = mutant.applied(source).decode()
        assert '"""The least value, µ, rounded down."""' in after
        assert '"list[float] | None"' in after
        assert "len(values) + 1} are" in after or "pass" in after
        assert source.startswith(after.encode()[: mutant.first])
        assert mutant.line == source[: mutant.first].count(b"\n") + 1


def test_mutants_that_are_no_python_or_the_same_are_not_drawn() -> None:
    source = b"x = (1)\n"
    assert not sound(Mutant("x.py", 1, 4, 5, "", "constant"), source)
    assert not sound(Mutant("x.py", 1, 4, 7, "1", "constant"), source)
    assert sound(Mutant("x.py", 1, 5, 6, "2", "constant"), source)


def test_draws_are_repeated_by_their_seed() -> None:
    sources = {file: (ROOT / file).read_bytes() for file in watched()}
    one = draw(20, 1, ["tables"], sources)
    assert one == draw(20, 1, ["tables"], sources)
    assert one[:10] == draw(10, 1, ["tables"], sources)
    assert one != draw(20, 2, ["tables"], sources)
    assert {mutant.file for mutant in one} <= set(files_of("tables"))
    for mutant in one:
        ast.parse(mutant.applied(sources[mutant.file]))


def seen(test: str, seconds: float, *lines: int) -> Seen:
    return Seen(test, seconds, {"dxopt/proofs/repair.py": frozenset(lines)} if lines else {})


def test_tests_that_see_a_line_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "_importers", lambda files: ["dxopt/proofs/repair.py"])
    source = b"ONE = 1\n\n\ndef two() -> int:\n    return (\n        ONE\n        + 1\n    )\n"
    every = [seen("a::one", 1.0, 1, 7), seen("b::two", 0.1, 8), seen("c::three", 0.2, 6, 7)]

    def found(file: str, line: int, start: int, end: int) -> set[str]:
        return {one.test for one in Sight(every).of(Mutant(file, line, start, end, "", "constant"), source)}

    last = len(source) - 1
    assert found("dxopt/proofs/repair.py", 7, last - 8, last - 6) == {"a::one", "c::three"}
    assert found("dxopt/proofs/repair.py", 7, last - 8, last) == {"a::one", "b::two", "c::three"}
    # constants are seen by all that run the file; a file that none runs, through its importers
    assert len(found("dxopt/proofs/repair.py", 1, 6, 7)) == 3
    assert len(found("dxopt/numerics/tropical.py", 7, last - 8, last - 6)) == 3


def test_compiled_loops_are_seen_by_all_that_may_call_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by those alone that import them first."""
    monkeypatch.setattr(trying, "_importers", lambda files: ["dxopt/numerics/tropical.py"])
    first = Seen("a::one", 1.0, {"dxopt/numerics/tropical_loops.py": frozenset({1})})
    caller = Seen("b::two", 1.0, {"dxopt/numerics/tropical.py": frozenset({30})})
    source = (ROOT / "dxopt/numerics/tropical_loops.py").read_bytes()
    last = len(source) - 2
    mutant = Mutant("dxopt/numerics/tropical_loops.py", source.count(b"\n"), last, last + 1, "", "constant")
    assert {one.test for one in Sight([first, caller]).of(mutant, source)} == {"a::one", "b::two"}


def test_tests_are_quick_ones_of_each_kind_within_the_time() -> None:
    cases = [seen(f"tests/verify/a.py::one[{place}]", 1.0 + place, 7) for place in range(9)]
    other = [seen("tests/proofs/b.py::two", 4.0, 7), seen("tests/verify/c.py::three", 90.0, 7)]
    names = chosen([*cases, *other], "dxopt/proofs/repair.py", 12.0)
    assert names[0] == "tests/verify/a.py::one[0]"
    assert set(names) == {"tests/proofs/b.py::two", *(f"tests/verify/a.py::one[{place}]" for place in range(3))}
    assert chosen([], "dxopt/proofs/repair.py", 12.0) == []


def test_no_test_that_sees_it_is_a_mutant_that_lived(tmp_path: Path) -> None:
    copy = Copy.__new__(Copy)
    copy.root = tmp_path
    assert copy.tried(Mutant("dxopt/proofs/repair.py", 7, 0, 1, "", "constant"), [], 1.0).status == LIVED


def test_the_table_names_rooms_and_those_who_lived() -> None:
    line = {"file": "dxopt/proofs/repair.py", "line": 7, "kind": "constant", "seconds": 2.0, "status": LIVED}
    line |= {"tried": 3, "seeing": 4, "before": "a = 1", "after": "a = 2"}
    shown = table([line])
    assert all(room in shown for room in ROOMS)
    assert "lived: dxopt/proofs/repair.py:7, constant, 2 s, 3 of 4 tests\n  - a = 1\n  + a = 2" in shown
