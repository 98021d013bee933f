"""A sweep as a figure: loss above, leakage below, against the same levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dxopt.results.figures import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dxopt.results.sweep import EpsilonSweep

_BOUND = 6
"""Place of the colour of the bound; the first is that of the optimum, and others take those between in turn."""
_WIDE = 100.0
"""An axis is logarithmic where its largest number is that many times its smallest."""


def draw(sweep: EpsilonSweep) -> Figure:
    """Each mechanism has its colour and symbol in both panels; what is not private is dotted, the bound dashed."""
    levels, problem = sweep.epsilons, sweep.problem
    bound = plots.Curve("bound on every private mechanism", levels, sweep.bounds, "dashed", _BOUND)
    with plots.style():
        figure = plots.blank(7.2, 7.4)
        loss, leakage = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        plots.draw(loss, [*_curves(sweep, sweep.values), bound])
        plots.draw(leakage, _curves(sweep, sweep.leakage))
        loss.set(title=problem.name, ylabel=f"{problem.objective.title} ({problem.loss.name})")
        leakage.set(xlabel="ε per unit of distance", ylabel="min-entropy leakage (bits)")
        if _wide(levels):
            loss.set_xscale("log")
        if _wide(np.concatenate([sweep.bounds, *sweep.values.values()])):
            loss.set_yscale("log")
        figure.legend(*loss.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _curves(sweep: EpsilonSweep, figures: dict[str, NDArray[np.float64]]) -> list[plots.Curve]:
    baselines = sweep.baselines
    return [
        plots.Curve(
            f"{name} (not private)" if name in baselines else name,
            sweep.epsilons,
            figures[name],
            "dotted" if name in baselines else "solid",
            1 + (place - 1) % (_BOUND - 1) if place else 0,
            "os^Dv"[max(place - 1, 0) // (_BOUND - 1) % 5],
        )
        for place, name in enumerate(sweep.methods)
    ]


def _wide(numbers: NDArray[np.float64]) -> bool:
    kept = numbers[np.isfinite(numbers)]
    return len(kept) > 0 and bool(0 < kept.min() <= kept.max() / _WIDE)
