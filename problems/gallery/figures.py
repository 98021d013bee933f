"""Draw the pictures of the gallery in the README of `problems` again.

    python -m problems.gallery.figures --output problems/gallery

What it solves is left in no folder; the same versions of all packages give the same bytes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dxopt.batch import Overrides, run
from dxopt.results.figures import plots
from dxopt.results.maps.map import draw_map
from dxopt.results.page.figures import channel_figure
from dxopt.spec import read_levels
from dxopt.studies.questions import AtLevels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEMS = Path(__file__).parents[1]
SWEEP = AtLevels(read_levels("0.5:3:0.25"), ("tight", "planar_laplace", "exponential"))
DOTS_PER_INCH = 75
PICTURES: dict[str, tuple[str, AtLevels | None, Callable[[Any], Figure]]] = {
    "map": ("montreal-60", None, draw_map),
    "roads": ("town-roads", None, lambda report: draw_map(report, secret="102")),
    "channel": ("montreal-grid", None, channel_figure),
    "comparison": ("cha13-comparison-montreal", None, lambda report: report.comparison.figure()),
    "sweep": ("montreal-60", SWEEP, lambda sweep: sweep.figure()),
    "frontier": ("cha13-frontier", None, lambda frontier: frontier.figure()),
}
"""Of each name: a problem, the levels of a sweep, and how its answer is drawn."""


def main() -> None:
    """Draw everything, telling how far it has come."""
    parser = argparse.ArgumentParser(description="Draw the pictures of the gallery.")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="folder for the pictures")
    output: Path = parser.parse_args().output
    started = time.monotonic()
    for name in PICTURES:
        print(f"{time.monotonic() - started:5.0f} s  {draw(name, output)}", flush=True)


def draw(name: str, folder: Path) -> Path:
    """Solve a problem and write its picture as PNG."""
    problem, sweep, drawn = PICTURES[name]
    answers: list[Any] = []
    with tempfile.TemporaryDirectory() as results:
        run([PROBLEMS / f"{problem}.yaml"], Path(results), overrides=Overrides(sweep=sweep), finished=answers.append)
    (answer,) = answers
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.png"
    with plots.style():
        small = {"optimize": True, "compress_level": 9}
        drawn(answer).savefig(file, dpi=DOTS_PER_INCH, metadata={"Software": None}, pil_kwargs=small)
    return file


if __name__ == "__main__":
    main()
