"""Evaluate a mechanism for traces: error, easy steps, and budget against length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, required
from dxopt.mechanisms.traces.streams import KINDS, Kind, TraceMechanism
from dxopt.numerics.coerce import as_number, checked_count
from dxopt.numerics.number_syntax import SUMS, level_text
from dxopt.runtime.display import Shown


@dataclass(frozen=True, eq=False, repr=False)
class TraceEvaluation(Shown):
    """Means over all runs of all traces.

    Attributes
    ----------
    mean_error : float
        Of the steps that were reported, skipped ones too, in units of distance.
    standard_error : float
        Of `mean_error` over the randomness of the runs, from how the runs of each trace differ; NaN with one run a
        trace. Runs are as many for each trace, and independent.
    error_quantiles : mapping
        From a probability to the error that this part of the reported steps does not exceed.
    shares : mapping
        Of the reported steps, by kind: easy, hard, skipped.
    reported : float
        The part of all points of the traces that was reported; below 1 where runs stopped.
    spent : float
        What a run spends in the mean; `most_spent` is the largest.
    spending : (n,) array
        What is spent up to and with each step, in the mean over the runs of traces that are that long; a run that
        stopped spends no more.
    runs : int

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> mechanism = dx.traces.IndependentNoise(dx.traces.on_line(), epsilon=1.0)
    >>> found = dx.traces.evaluate(mechanism, [[0.0, 1.0, 2.0]], repetitions=4, rng=np.random.default_rng(1))
    >>> print(found.spent, found.spending.tolist(), found.runs, found.shares["hard"])
    3.0 [1.0, 2.0, 3.0] 4 1.0
    """

    mean_error: float
    standard_error: float
    error_quantiles: Mapping[float, float]
    shares: Mapping[Kind, float]
    reported: float
    spent: float
    most_spent: float
    spending: NDArray[np.float64]
    runs: int

    def __str__(self) -> str:
        quantiles = ", ".join(f"{p:.0%} within {error:.4g}" for p, error in self.error_quantiles.items())
        made = ", ".join(f"{share:.0%} {kind}" for kind, share in self.shares.items())
        doubt = "" if np.isnan(self.standard_error) else f" ± {self.standard_error:.1g}"
        spent = level_text(self.spent, 4, SUMS)
        return f"mean error {self.mean_error:.4g}{doubt}, {quantiles}; {made}; spent {spent} in the mean"


def evaluate(
    mechanism: TraceMechanism,
    traces: Sequence[Any],
    *,
    repetitions: int = 1,
    quantiles: Sequence[float] = (0.5, 0.9),
    rng: np.random.Generator | None = None,
) -> TraceEvaluation:
    """Run a mechanism on some traces, several times each.

    Parameters
    ----------
    mechanism : TraceMechanism
    traces : sequence of traces
        Each as for `run`.
    repetitions : int
        Runs of each trace.
    quantiles : sequence of float
        Probabilities, from 0 to 1.
    rng : numpy Generator, optional
        As for `run`.

    Raises
    ------
    SpecError
        If there are no traces, a trace is off the space, or the repetitions or quantiles are out of range.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> walks = [np.zeros((10, 2)), np.ones((10, 2))]
    >>> mechanism = dx.traces.PredictiveMechanism(dx.traces.on_plane(), dx.traces.FixedRate(total=100, steps=10))
    >>> found = dx.traces.evaluate(mechanism, walks, repetitions=3, rng=np.random.default_rng(1))
    >>> print(found.runs, round(found.mean_error, 2), round(found.shares["easy"], 2), round(found.spent, 1))
    6 0.17 0.65 84.0
    """
    required("mechanism", mechanism, TraceMechanism, "give one of dx.traces, such as IndependentNoise(noise, 1.0)")
    repetitions = checked_count("repetitions", repetitions)
    if not isinstance(traces, Sequence | np.ndarray) or not len(traces):
        raise SpecError("traces", "are none, or no sequence", "give a list of at least one trace")
    required("quantiles", quantiles, Sequence, "give a list of probabilities from 0 to 1")
    for one in quantiles:
        as_number(one, "quantiles", "give probabilities from 0 to 1", lambda share: 0 <= share <= 1)
    runs = []
    each = []
    for trace in traces:
        secrets = mechanism.noise.secrets(trace)
        for _ in range(repetitions):
            run = mechanism.run(secrets, rng)
            runs.append(run)
            each.append([mechanism.noise.distance(x, z.report) for x, z in zip(secrets, run.steps, strict=False)])
    errors = np.concatenate(each)
    reported = len(errors)
    mean = float(np.mean(errors))
    doubt = float("nan")
    if repetitions > 1:
        # The mean is the quotient of two sums over runs, of errors and of steps, as runs may stop. Its error is that
        # of Σ (errors of a run - mean · its steps), judged by how runs of the same trace differ.
        off = np.array([sum(run) - mean * len(run) for run in each]).reshape(-1, repetitions)
        doubt = float(np.sqrt(repetitions * off.var(axis=1, ddof=1).sum())) / reported
    # What is spent up to each step, in the mean over the runs of traces that have such a step; what a run has spent
    # that stopped stays as it was.
    spent = np.zeros(max(run.length for run in runs))
    lasting = np.zeros(len(spent))
    for run in runs:
        spent[: run.length] += np.pad(run.spending, (0, run.length - len(run.steps)), mode="edge")
        lasting[: run.length] += 1
    spending = spent / lasting
    spending.flags.writeable = False
    return TraceEvaluation(
        mean_error=mean,
        standard_error=doubt,
        error_quantiles={p: float(np.quantile(errors, p, method="inverted_cdf")) for p in quantiles},
        shares={kind: sum(run.count(kind) for run in runs) / reported for kind in KINDS},
        reported=reported / sum(run.length for run in runs),
        spent=float(np.mean([run.spent for run in runs])),
        most_spent=max(run.spent for run in runs),
        spending=spending,
        runs=len(runs),
    )
