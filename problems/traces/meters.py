"""A smart meter that reports every 10 seconds, as in CABP13, Example 2 and Figure 4."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dxopt.mechanisms import traces
from dxopt.results.figures import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SECONDS, EVERY_S = 300, 10
LEVELS = (0.1, 0.5)


def signature(seed: int = 11) -> NDArray[np.float64]:
    """Return the power of a television in watts, each second of five minutes `(300,)`: scenes of random brightness.

    It stands for the recording behind Figure 4, which is not printed.
    """
    rng = np.random.default_rng(seed)
    power = np.empty(SECONDS)
    start = 0
    while start < SECONDS:
        scene = int(rng.integers(4, 35))
        power[start : start + scene] = rng.uniform(95, 130)
        start += scene
    return np.convolve(np.pad(power, 2, mode="edge"), np.full(5, 0.2), mode="valid") + rng.normal(0, 0.8, SECONDS)


def figure_4() -> Figure:
    """Return the signature with its readings, and the readings under independent Laplace noise."""
    power, at = signature(), np.arange(0, SECONDS, EVERY_S)
    readings = power[at]
    with plots.style():
        drawing = plots.blank(10.0, 4.4)
        left, right = drawing.subplots(1, 2, sharey=True)
        left.plot(np.arange(SECONDS), power, color="#AAAAAA", label="power")
        left.plot(at, readings, "o-", color="#000000", markersize=3.5, label=f"{len(at)} readings")
        left.set(title="(a) signature", xlabel="seconds", ylabel="watts")
        right.plot(at, readings, color="#000000", label="readings")
        for level, colour in zip(LEVELS, (0, 3), strict=True):
            run = traces.IndependentNoise(traces.on_line(), level).run(readings, np.random.default_rng(4))
            label = f"ε = {level} per W: together {run.spent:.3g} per W, mean error {1 / level:.0f} W"
            right.plot(at, run.reports[:, 0], "o", color=plots.COLOURS[colour], markersize=4, label=label)
        right.set(title="(b) reported with Laplace noise", xlabel="seconds")
        drawing.suptitle("A smart meter as in CABP13, Figure 4; the signature is made by a script")
        for axes in (left, right):
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2 if axes is left else 1)
    return drawing
