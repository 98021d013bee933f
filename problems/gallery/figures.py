"""Draw the pictures of docs/gallery.md again: by its Python, or as its commands do.

    python -m problems.gallery.figures --output docs/gallery

What it solves is left in no folder; the same versions of all packages give the same bytes.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dxopt.batch import Overrides, run
from dxopt.results.figures import plots
from dxopt.results.maps.map import draw_map
from dxopt.spec import read_levels
from dxopt.studies.questions import AtLevels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEMS = Path(__file__).parents[1]
PAGE = PROBLEMS.parent / "docs" / "gallery.md"
SWEEP = AtLevels(read_levels("0.5:3:0.25"), ("tight", "planar_laplace", "exponential"))
DOTS_PER_INCH = 100
PICTURES: dict[str, tuple[str, AtLevels | None, Callable[[Any], Figure]]] = {
    "map": ("montreal-60", None, draw_map),
    "roads": ("nauru", None, draw_map),
    "comparison": ("cha13-comparison-montreal", None, lambda report: report.comparison.figure()),
    "sweep": ("montreal-60", SWEEP, lambda sweep: sweep.figure()),
    "frontier": ("cha13-frontier", None, lambda frontier: frontier.figure()),
}
"""Of each name that has commands: a problem, the levels of a sweep, and how its answer is drawn."""


def snippets() -> dict[str, str]:
    """Return the Python of the page, by the name of the picture that it saves."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return {re.findall(r'savefig\("(\w+)\.png"\)', block)[0]: block for block in blocks}


def main() -> None:
    """Draw everything, telling how far it has come."""
    parser = argparse.ArgumentParser(description="Draw the pictures of the gallery.")
    parser.add_argument("--output", type=Path, default=PAGE.with_suffix(""), help="folder for the pictures")
    output: Path = parser.parse_args().output
    started = time.monotonic()
    for name in (*PICTURES, *snippets()):
        print(f"{time.monotonic() - started:5.0f} s  {draw(name, output)}", flush=True)


def draw(name: str, folder: Path) -> Path:
    """Draw a picture of the gallery as PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    return _by_commands(name, folder) if name in PICTURES else _by_python(name, folder)


def _by_commands(name: str, folder: Path) -> Path:
    """Solve a problem and write its picture."""
    problem, sweep, drawn = PICTURES[name]
    answers: list[Any] = []
    with tempfile.TemporaryDirectory() as results:
        run([PROBLEMS / f"{problem}.yaml"], Path(results), overrides=Overrides(sweep=sweep), finished=answers.append)
    (answer,) = answers
    file = folder / f"{name}.png"
    with plots.style():
        small = {"optimize": True, "compress_level": 9}
        drawn(answer).savefig(file, dpi=DOTS_PER_INCH, metadata={"Software": None}, pil_kwargs=small)
    return file


def _by_python(name: str, folder: Path) -> Path:
    """Run the Python of the page where the data is, and keep the picture that it saves."""
    import matplotlib

    settings: dict[Any, Any] = {
        "savefig.dpi": DOTS_PER_INCH,
        "savefig.bbox": "tight",
        "figure.constrained_layout.use": True,
        "backend": "agg",
        "text.parse_math": True,
    }
    with tempfile.TemporaryDirectory() as data:
        for part in ("*.csv", "*.txt", "traces/*.csv"):
            for file in PROBLEMS.glob(part):
                copy = Path(data) / file.relative_to(PROBLEMS)
                copy.parent.mkdir(exist_ok=True)
                shutil.copy(file, copy)
        with plots.style(), matplotlib.rc_context(settings), contextlib.chdir(data):
            exec(compile(snippets()[name], f"{PAGE.name}: {name}", "exec"), {})
        return Path(shutil.copy(Path(data) / f"{name}.png", folder))


if __name__ == "__main__":
    main()
