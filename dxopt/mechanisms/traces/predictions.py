"""Predictions of the next report from earlier reports; they cost nothing, whatever they are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from dxopt.mechanisms.traces.runs import Step
from dxopt.mechanisms.traces.sources import StepNoise

Prediction = Callable[[Sequence[Step], StepNoise], Hashable | None]
"""From the steps so far and the noise source, which knows the space, to a report; None where there is none."""


def repeat(steps: Sequence[Step], noise: StepNoise) -> Hashable | None:
    """The last report, which is right for a user who stays (Cha13).

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> manager = dx.traces.FixedUtility(total=200, error=0.3)
    >>> mechanism = dx.traces.PredictiveMechanism(dx.traces.on_plane(), manager, dx.traces.repeat)
    >>> print(mechanism.run(np.zeros((6, 2)), np.random.default_rng(2)).kinds)
    ('hard', 'easy', 'hard', 'hard', 'easy', 'easy')
    """
    return steps[-1].report if steps else None


def extrapolate(steps: Sequence[Step], noise: StepNoise) -> Hashable | None:
    """The continuation of the straight line through the last two reports that were not skipped.

    Where there is only one such report, that report. In a finite space, the nearest point to the continuation; among
    equally near ones, the first.

    Raises
    ------
    UnsupportedError
        If the points of a finite space have no coordinates.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> manager = dx.traces.FixedUtility(total=200, error=0.3)
    >>> mechanism = dx.traces.PredictiveMechanism(dx.traces.on_plane(), manager, dx.traces.extrapolate)
    >>> ride = np.column_stack([np.arange(6.0), np.zeros(6)])
    >>> print(mechanism.run(ride, np.random.default_rng(2)).kinds)
    ('hard', 'hard', 'easy', 'easy', 'easy', 'hard')
    """
    made = [at for at in range(len(steps)) if steps[at].kind != "skipped"][-2:]
    if len(made) < 2:
        return repeat(steps, noise)
    before, last = (np.asarray(noise.position(steps[at].report)) for at in made)
    # As far in the steps since the last one as between the two, in proportion.
    return noise.nearest(last + (last - before) * (len(steps) - made[1]) / (made[1] - made[0]))
