"""The mean errors of the README at one budget: integrals for independent noise, many runs with their error otherwise.

    python -m problems.traces.numbers --budget 240 --runs 4000

With 4,000 runs it takes about half an hour; the README says what came out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dxopt.mechanisms import traces
from problems.traces import settings
from problems.traces.exact import independent_error
from problems.traces.settings import Trace

BUDGET = 240.0
COVERED = 0.99
"""The budget of a fixed utility is what this part of its runs spends at most."""
AMPLE = 1e6
CASES = (("walkers", 1), ("walkers", 3), ("ride", 1), ("ride", 6))


class Measured(NamedTuple):
    """A mean error in km and its standard error, which is 0 where it was integrated."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f"{self.mean:.3f}" if self.error == 0 else f"{self.mean:.3f} ± {self.error:.3f}"


def traces_of(name: str) -> list[Trace]:
    """Return the walkers, or the ride alone."""
    return settings.walkers() if name == "walkers" else [settings.ride()]


def fixed_rate(shown: Sequence[Trace], every: int, runs: int, budget: float = BUDGET, seed: int = 1) -> Measured:
    """Return the predictive mechanism that makes the budget last for the trace."""
    manager = traces.FixedRate(budget, len(shown[0]), every=every)
    found = traces.evaluate(
        traces.PredictiveMechanism(traces.on_plane(), manager),
        shown,
        repetitions=max(2, runs // len(shown)),
        rng=np.random.default_rng(seed),
    )
    return Measured(found.mean_error, found.standard_error)


def fixed_utility(shown: Sequence[Trace], every: int, runs: int, budget: float = BUDGET, seed: int = 1) -> Measured:
    """Return the predictive mechanism whose fixed accuracy of fresh noise covers 99 runs of 100.

    By bisection for the accuracy, with a fifth of the runs each, from accuracies that cost too much and too little.
    """
    low, high = 0.3 * BUDGET / budget, 3.0 * BUDGET / budget
    for step in range(8):
        middle = (low * high) ** 0.5
        _, spent = _at(shown, every, middle, max(runs // 5, 100), seed + 1 + step)
        low, high = (middle, high) if spent > budget else (low, middle)
    return _at(shown, every, (low * high) ** 0.5, runs, seed)[0]


def _at(shown: Sequence[Trace], every: int, accuracy: float, runs: int, seed: int) -> tuple[Measured, float]:
    """Return the mean error at an accuracy, and the budget that covers 99 runs of 100."""
    mechanism = traces.PredictiveMechanism(traces.on_plane(), traces.FixedUtility(AMPLE, accuracy, every=every))
    rng, repetitions = np.random.default_rng(seed), max(2, runs // len(shown))
    means, spent = [], []
    for trace in shown:
        made = [mechanism.run(trace, rng) for _ in range(repetitions)]
        means.append([np.hypot(*(run.reports - trace).T).mean() for run in made])
        spent += [run.spent for run in made]
    off = np.array(means)
    error = float(np.sqrt(off.var(axis=1, ddof=1).sum() / repetitions) / len(off))
    return Measured(float(off.mean()), error), float(np.quantile(spent, COVERED, method="inverted_cdf"))


def main() -> None:
    """Print the rows of the table, one after another."""
    parser = argparse.ArgumentParser(description="Mean errors of mechanisms for traces at one budget, as Markdown.")
    parser.add_argument("--runs", type=int, default=4000, help="of each mechanism for each row, 4000 by default")
    parser.add_argument("--budget", type=float, default=BUDGET, help="per km, 240 by default")
    asked = parser.parse_args()
    runs, budget = int(asked.runs), float(asked.budget)
    print("| | independent noise | fixed rate | fixed utility |\n|---|---|---|---|", flush=True)
    for name, every in CASES:
        shown = traces_of(name)
        exact = Measured(independent_error(shown, budget, every), 0.0)
        cells = (exact, fixed_rate(shown, every, runs, budget), fixed_utility(shown, every, runs, budget))
        print(f"| {name}, every {every} | {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
