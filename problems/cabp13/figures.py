"""Draw the figures of CABP13 that are curves: Figure 3. Figure 4 is drawn with the traces.

python -m problems.cabp13.figures --output figures
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import dxopt as dx
from dxopt.results.figures import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DAYS, RADIUS, ALPHA = 5000, 5, 10
"""Dates of registration range over 5,000 days; (ε/5)d_1 protects within 5, and an answer is of use within 10."""
Array = NDArray[np.float64]


def usefulness(levels: Array) -> dict[str, Array]:
    """Return P(answer within α of the truth) at each ε `(k,)`: Laplace noise for (ε/5)d_1 and for εd_h.

    The earliest date is 1-sensitive for d_1 and 5,000-sensitive for d_h.
    """
    scaled = {"d_1": RADIUS, "d_h": DAYS}
    return {
        name: np.array([float(dx.noise.Laplace(level / units).error_cdf(ALPHA)) for level in levels])
        for name, units in scaled.items()
    }


def figure_3() -> Figure:
    """Plot the usefulness of the earliest date of registration against ε (Example 1)."""
    levels = np.linspace(0.05, 3, 60)
    curves = usefulness(levels)
    with plots.style():
        drawing = plots.blank(6.0, 4.0)
        axes = drawing.subplots()
        axes.plot(levels, curves["d_1"], color=plots.COLOURS[0], label="(ε/5) d₁")
        axes.plot(levels, curves["d_h"], color=plots.COLOURS[3], label="ε d_h")
        axes.set(
            title=f"As CABP13, Figure 3: within {ALPHA} days by Laplace noise",
            xlabel="ε",
            ylabel="probability 1 - δ",
            ylim=(-0.02, 1.02),
        )
        axes.legend()
    return drawing


def main() -> None:
    """Draw them."""
    parser = argparse.ArgumentParser(description="Draw Figure 3 of CABP13.")
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the figures")
    output: Path = parser.parse_args().output
    print(f"{plots.save(figure_3(), output, 'cabp13-figure-3-usefulness')[1]} and .svg")


if __name__ == "__main__":
    main()
