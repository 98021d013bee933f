"""Compare mechanisms for traces: figures, and a table of their numbers.

    python -m problems.traces.evaluation --output figures

Each figure comes as SVG and PNG; `traces-numbers.md` is the table. See the README of this folder.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from dxopt.results.figures import plots
from problems.traces import comparison, meters, settings


def main() -> None:
    """Draw everything, telling how far it has come."""
    parser = argparse.ArgumentParser(description="Compare mechanisms for traces: figures, and a table of numbers.")
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the figures")
    output: Path = parser.parse_args().output
    started = time.monotonic()

    def tell(line: str) -> None:
        print(f"{time.monotonic() - started:5.0f} s  {line}", flush=True)

    walkers, ride = settings.walkers(), [settings.ride()]
    shown = (
        ("walkers", "Ten walkers with pauses, a point every 5 minutes", "One of the walkers", walkers, 3, 5.0),
        ("cycling", "A bicycle ride, a point every 30 seconds", "The ride", ride, 6, 0.5),
    )
    tables: list[str] = ["# Mechanisms for traces"]
    for name, title, one, traces, every, minutes in shown:
        series = comparison.compared(traces, every, tell)
        tables += ["", f"## {title}", "", *comparison.table(series)]
        drawings = {
            f"traces-{name}": comparison.figure(series, traces, title, minutes),
            f"traces-{name}-map": comparison.on_a_map(traces[0], 240.0, f"{one}, budget 240 per km"),
        }
        for file, drawing in drawings.items():
            tell(f"{plots.save(drawing, output, file)[1]} and .svg")
    tell(f"{plots.save(meters.figure_4(), output, 'cabp13-figure-4-smart-meter')[1]} and .svg")
    numbers = output / "traces-numbers.md"
    numbers.write_text("\n".join(tables) + "\n", encoding="utf-8")
    tell(str(numbers))


if __name__ == "__main__":
    main()
