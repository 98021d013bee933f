"""Error against budget of independent noise and of the predictive mechanism, and budget against length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dxopt.mechanisms import traces
from dxopt.results.figures import plots
from problems.traces.exact import independent_error
from problems.traces.settings import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BUDGETS = (30.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0)
ERRORS_KM = (6.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.75, 0.5, 0.25, 0.125)
SHOWN_ERROR_KM = 1.0
AMPLE = 1e6
REPETITIONS = 40
KINDS: tuple[traces.Kind, ...] = ("easy", "hard", "skipped")


@dataclass(frozen=True, eq=False)
class Series:
    """A mechanism at several budgets; a fixed utility at several accuracies, each with a budget for all its runs.

    Of independent noise the mean errors are integrals, of others means of runs.
    """

    label: str
    line: plots.Line
    colour: int
    budgets: tuple[float, ...]
    results: tuple[traces.TraceEvaluation, ...]
    exact: tuple[float, ...] | None = None

    @property
    def errors(self) -> tuple[float, ...]:
        """Mean errors in km."""
        return self.exact or tuple(result.mean_error for result in self.results)

    @property
    def curve(self) -> plots.Curve:
        """Mean error against budget."""
        return plots.Curve(self.label, self.budgets, self.errors, self.line, self.colour)

    def error_as_text(self, place: int) -> str:
        """Return a mean error, with the standard error that runs leave."""
        if self.exact:
            return f"{self.exact[place]:.3g}"
        found = self.results[place]
        return f"{found.mean_error:.3g} ± {found.standard_error:.1g}"


def evaluated(mechanism: traces.TraceMechanism, shown: Sequence[Trace]) -> traces.TraceEvaluation:
    """With the same randomness every time."""
    repetitions = max(2, REPETITIONS // len(shown))
    return traces.evaluate(mechanism, shown, repetitions=repetitions, rng=np.random.default_rng(1))


def compared(shown: Sequence[Trace], every: int, tell: Callable[[str], None]) -> list[Series]:
    """Independent noise, a fixed rate and a fixed utility, at every point and at every so-manyth."""
    noise, length = traces.on_plane(), len(shown[0])
    made: list[Series] = []
    paces: tuple[tuple[int, plots.Line, str], ...] = (
        (1, "solid", ""),
        (every, "dashed", f", every {every} points"),
    )
    for pace, line, prefix in paces:
        points = -(-length // pace)
        independent = [traces.IndependentNoise(noise, total / points, every=pace) for total in BUDGETS]
        rate = [traces.PredictiveMechanism(noise, traces.FixedRate(t, length, every=pace)) for t in BUDGETS]
        utility = [
            traces.PredictiveMechanism(noise, traces.FixedUtility(AMPLE, error, every=pace)) for error in ERRORS_KM
        ]
        named = (("independent noise", independent), ("fixed rate", rate), ("fixed utility", utility))
        for colour, (name, mechanisms) in enumerate(named):
            results = tuple(evaluated(mechanism, shown) for mechanism in mechanisms)
            covering = tuple(result.most_spent for result in results)
            budgets = covering if mechanisms is utility else BUDGETS
            exact = tuple(independent_error(shown, total, pace) for total in BUDGETS)
            drawn = exact if mechanisms is independent else None
            made.append(Series(f"{name}{prefix}", line, colour, budgets, results, drawn))
            tell(f"{name}{prefix}")
    moving = [
        traces.PredictiveMechanism(noise, traces.FixedRate(total, length), traces.extrapolate) for total in BUDGETS
    ]
    results = tuple(evaluated(mechanism, shown) for mechanism in moving)
    return [*made, Series("fixed rate, extrapolating", "dotted", 1, BUDGETS, results)]


def figure(series: Sequence[Series], shown: Sequence[Trace], title: str, minutes: float) -> Figure:
    """Error against budget, and budget against length at equal mean error."""
    utility = next(one for one in series if one.label == "fixed utility")
    result = utility.results[ERRORS_KM.index(SHOWN_ERROR_KM)]
    steps = np.arange(1, len(shown[0]) + 1)
    level = 2 / result.mean_error  # the mean error of planar Laplace noise is 2/ε
    with plots.style():
        drawing = plots.blank(10.0, 5.0)
        left, right = drawing.subplots(1, 2)
        plots.draw(left, [one.curve for one in series])
        left.set(xscale="log", yscale="log", xlim=(15, 2500), ylim=(0.08, 12))
        for axis in (left.xaxis, left.yaxis):
            plots.logarithmic(axis)
        left.set(xlabel="budget (per km)", ylabel="mean error (km)", title="Error against budget")
        plots.draw(
            right,
            [
                plots.Curve("independent noise", steps * minutes, level * steps, "solid", 0),
                plots.Curve("fixed utility", steps * minutes, result.spending, "solid", 2),
            ],
        )
        right.set(xlabel="minutes reported", ylabel="spent in the mean (per km)")
        right.set_title(f"Budget against length, mean error {result.mean_error:.2f} km")
        drawing.suptitle(title)
        drawing.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return drawing


def table(series: Sequence[Series]) -> list[str]:
    """Rows of Markdown: budget, error and kinds of steps."""
    titles = ("mechanism", "budget (1/km)", "spent in the mean", "mean error (km)", "90% within (km)", *KINDS)
    rows = [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]
    for one in series:
        for place, (budget, result) in enumerate(zip(one.budgets, one.results, strict=True)):
            cells = [f"{budget:.3g}", f"{result.spent:.3g}", one.error_as_text(place)]
            cells.append(f"{result.error_quantiles[0.9]:.3g}")
            cells += [f"{result.shares[kind]:.0%}" for kind in KINDS]
            rows.append(f"| {' | '.join([one.label, *cells])} |")
    return rows


def on_a_map(trace: Trace, total: float, title: str) -> Figure:
    """One trace with its reports under both mechanisms, at the same budget."""
    noise = traces.on_plane()
    mechanisms: dict[str, traces.TraceMechanism] = {
        "Independent noise": traces.IndependentNoise(noise, total / len(trace)),
        "Predictive mechanism, fixed rate": traces.PredictiveMechanism(noise, traces.FixedRate(total, len(trace))),
    }
    with plots.style():
        drawing = plots.blank(10.0, 5.4)
        panels = drawing.subplots(1, 2, sharex=True, sharey=True)
        for axes, (name, mechanism) in zip(panels, mechanisms.items(), strict=True):
            run = mechanism.run(trace, np.random.default_rng(2))
            axes.plot(*trace.T, color="#000000", linewidth=1.5, label="true path")
            kinds: tuple[tuple[traces.Kind, int, str], ...] = (("easy", 2, "s"), ("hard", 1, "o"))
            for kind, colour, marker in kinds:
                made = [place for place, how in enumerate(run.kinds) if how == kind]
                if made:
                    label = f"{run.count(kind)} {kind} steps"
                    size = 6 if kind == "easy" else 3.5
                    axes.plot(*run.reports[made].T, marker, color=plots.COLOURS[colour], markersize=size, label=label)
            mean = np.hypot(*(run.reports - trace).T).mean()
            axes.set(title=f"{name}\nmean error {mean:.2f} km, spent {run.spent:.0f} per km", xlabel="east (km)")
            axes.set_aspect("equal")
            axes.legend(loc="best")
        panels[0].set_ylabel("north (km)")
        drawing.suptitle(title)
    return drawing
