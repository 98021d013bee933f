"""The page of numbers, from the problem files and what ECP14 prints: `python -m docs.website.numbers`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence

from docs.website.links import DOCS, ROOT
from dxopt.spec import read_problems
from dxopt.spec.levels import Smallest
from problems.ecp14 import table
from problems.ecp14.statements import Row

PAGE = DOCS / "theory" / "numbers.md"
PAPERS = ("CABP13", "Cha13", "Des20", "ECP14", "HLM14")
_HEAD = """# Printed numbers beside ours

Written by `python -m docs.website.numbers`; nothing here is typed by hand but what the papers print.

## ECP14: printed against ours

Every number in the text, and every statement that has one. `make figures`, or `python -m problems.ecp14.table` for
the table alone, computes all of it again, in half a minute, in a clone of the repository. The column before the last
has what comes out where small negative entries of μ pass as 0, which explains most of what differs;
[Corrections](corrections.md) has the rest.

"""
_KNOWN = """
## Known values of the problem files

Known apart from dxopt, by the formula or the way that stands in the last column. Each line is reproduced by
`dxopt solve problems/FILE.yaml`, which compares its value with the known one, and all of them by `make solve`: ours
is the known value, to within the number beside it.
"""
_NOISE = re.compile(r"within \d\S*e-\d+")


def page(rows: Sequence[Row]) -> str:
    """Return the page in Markdown, with the rows of ECP14's table."""
    return _HEAD + printed(rows) + _KNOWN + "".join(map(known, PAPERS))


def printed(rows: Sequence[Row]) -> str:
    """Return the table of ECP14, without differences by rounding, which are other ones on another machine."""
    return table.markdown(Row(*(_NOISE.sub("within rounding", cell) for cell in row)) for row in rows)


def known(paper: str) -> str:
    """Return the section of the problem files of a paper."""
    lines = ["| file | ε | value | to within | known from |", "|---|---|---|---|---|"]
    lines += [
        "| " + " | ".join(cell.replace("|", "\\\\|") for cell in cells) + " |" for cells in _values(paper.lower())
    ]
    return f"\n### {paper}\n\n" + "\n".join(lines) + "\n"


def _values(paper: str) -> Iterator[list[str]]:
    for file in sorted((ROOT / "problems").glob(f"*{paper}-*.yaml")):
        for member in read_problems(file).members:
            given = member.sheet.expect
            expected = given if isinstance(given, list) else [given] if given else []
            for level, one in zip(member.sheet.epsilons(), expected, strict=False):
                asked = isinstance(member.sheet.epsilon, Smallest)
                shown = "the value" if asked else "none" if level is None else f"{level:.6g}"
                yield [f"`{file.stem}`", shown, f"{one.value:.10g}", f"{one.tolerance:.0e}", one.source]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(table.rows(lambda line: print(line, file=sys.stderr, flush=True))), encoding="utf-8")


if __name__ == "__main__":
    main()
