"""Draw the figures of ECP14 again, and write the table of its numbers.

    python -m problems.ecp14.figures --output figures

Each figure comes as SVG and PNG; `ecp14-numbers.md` is the table. See the README of this folder.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dxopt.results.figures import plots
from problems.ecp14 import graphs, leakage, regions, utilities
from problems.ecp14.table import rows, write

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def main() -> None:
    """Draw everything, telling how far it has come."""
    parser = argparse.ArgumentParser(description="Draw the figures of ECP14 and write the table of its numbers.")
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the figures")
    output: Path = parser.parse_args().output
    started = time.monotonic()

    def tell(line: str) -> None:
        print(f"{time.monotonic() - started:5.0f} s  {line}", flush=True)

    drawn: dict[str, Callable[[], Figure]] = {
        "ecp14-figure-1-and-5-graphs": graphs.figure_1,
        "ecp14-figure-2-three-answers": regions.figure_2,
        "ecp14-figure-3-four-answers": regions.figure_3,
        "ecp14-figure-4-leakage": leakage.figure_4,
        "ecp14-figure-6a-sum": lambda: utilities.figure_6a(tell),
        "ecp14-figure-6b-two-counts": lambda: utilities.figure_6b(tell),
        "ecp14-figure-7-locations": lambda: utilities.figure_7(tell),
    }
    for name, draw in drawn.items():
        _, picture = plots.save(draw(), output, name)
        tell(f"{picture} and .svg")
    tell(f"{write(rows(tell), output)}")


if __name__ == "__main__":
    main()
