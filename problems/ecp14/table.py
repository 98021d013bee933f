"""Every number in the text of ECP14 beside what comes out here; everything but the printed column is computed.

python -m problems.ecp14.table
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from problems.ecp14 import case_studies, statements
from problems.ecp14.settings import ACCEPTED
from problems.ecp14.statements import Row

Tell = Callable[[str], None]
HEADER = Row("what", "printed", "reproduced", "exact", f"with μ ≥ {ACCEPTED:.0e} accepted", "source")
PARTS = (
    statements.proposition_1,
    statements.example_1,
    statements.example_2,
    statements.theorem_3,
    statements.example_3,
    statements.counting_query,
    statements.proposition_9,
    case_studies.thresholds,
    case_studies.utilities_at_the_end,
)


def rows(tell: Tell) -> list[Row]:
    """All of them, in the order of the paper."""
    found: list[Row] = []
    for part in PARTS:
        tell(f"numbers: {part.__name__.replace('_', ' ')}")
        found += part()
    return found


def markdown(table: Iterable[Row]) -> str:
    """Return the table as Markdown."""
    rule = Row(*["---"] * len(HEADER))
    lines = (" | ".join(cell.replace("|", "\\|") for cell in row) for row in (HEADER, rule, *table))
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def write(table: Iterable[Row], folder: Path) -> Path:
    """Return the table as a file in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "ecp14-numbers.md"
    file.write_text(markdown(table), encoding="utf-8")
    return file


def main() -> None:
    """Print the table, and write it where asked to."""
    parser = argparse.ArgumentParser(description="The numbers of ECP14 beside what comes out here.")
    parser.add_argument("--output", type=Path, help="folder for ecp14-numbers.md")
    folder: Path | None = parser.parse_args().output
    table = rows(lambda line: print(line, file=sys.stderr, flush=True))
    if folder is not None:
        write(table, folder)
    print(markdown(table), end="")


if __name__ == "__main__":
    main()
