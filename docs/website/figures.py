"""The figures of the pages: `python -m docs.website.figures`."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import dxopt as dx
from docs.website.links import DOCS

EPSILONS = np.geomspace(0.1, 3, 30)
_STYLE: dict[Any, Any] = {"svg.hashsalt": "dxopt", "font.size": 11}


def loss_and_odds() -> Figure:
    """Plot the loss of counts from 0 to 60 against ε, and the factor by which odds may change."""
    counts = dx.line(61)
    losses = [
        dx.solve(dx.Problem(counts, epsilon=float(epsilon), prior="uniform")).certificate.value
        for epsilon in EPSILONS
    ]
    figure = Figure(figsize=(7, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(EPSILONS, losses, color="#1f5fa8")
    left.set(xscale="log", xlabel="ε per person", ylabel="off by, on average (people)", ylim=(0, None))
    right.plot(EPSILONS, np.exp(EPSILONS), color="#b3541e", label="one report")
    right.plot(EPSILONS, np.exp(2 * EPSILONS), color="#b3541e", linestyle="--", label="two reports")
    right.set(xscale="log", yscale="log", xlabel="ε per person", ylabel="odds change by a factor of at most")
    right.set_yticks([1, 2, 4, 10, 100, 400], ["1", "2", "4", "10", "100", "400"])
    right.legend(frameon=False)
    for axes in (left, right):
        axes.set_xticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"])
        axes.minorticks_off()
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    """Draws all of them, byte for byte with the same versions of everything."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        loss_and_odds().savefig(DOCS / "choose" / "epsilon.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
