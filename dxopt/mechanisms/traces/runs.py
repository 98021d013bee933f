"""Runs: the reports of a trace, how they were made, and what they cost."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.amounts import float_above
from dxopt.runtime.shown import Shown

Kind = Literal["easy", "hard", "skipped"]
KINDS: tuple[Kind, ...] = ("easy", "hard", "skipped")


@dataclass(frozen=True)
class Step:
    """One step of a run.

    Attributes
    ----------
    kind : {"easy", "hard", "skipped"}
        The prediction, fresh noise, or the last report again without a test.
    report : point
        A tuple of coordinates, or an index in a finite space.
    tested : bool
        Whether the prediction was tested. The kind states the outcome: easy where it was close.
    cost : Fraction
        The privacy level paid.

    Examples
    --------
    >>> import dxopt as dx
    >>> step = dx.traces.IndependentNoise(dx.traces.on_line(), epsilon=1.0).stream().step(5.0)
    >>> print(step.kind, step.tested, float(step.cost))
    hard False 1.0
    """

    kind: Kind
    report: Hashable
    tested: bool
    cost: Fraction


@dataclass(frozen=True, repr=False)
class Run(Shown):
    """The reports of one trace, with how they were made.

    A run r as a whole, tests included, is private: P[r | x] ≤ e^{ε(r)·d_∞(x, x')} P[r | x'], where ε(r) is what it
    spent.

    Attributes
    ----------
    steps : tuple of Step
        Shorter than the trace where the mechanism stopped.
    length : int
        Points of the trace.
    total : Fraction
        The budget.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> run = dx.traces.IndependentNoise(dx.traces.on_line(), epsilon=1.0).run([5.0, 6.0], np.random.default_rng(1))
    >>> print(len(run.steps), run.kinds, run.spending.tolist())
    2 ('hard', 'hard') [1.0, 2.0]
    """

    steps: tuple[Step, ...]
    length: int
    total: Fraction

    @cached_property
    def reports(self) -> NDArray:
        """View of an observer: `(s, k)` coordinates, or `(s,)` indices in a finite space, of s steps."""
        reports = np.array([step.report for step in self.steps])
        reports.flags.writeable = False
        return reports

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Origin of each report."""
        return tuple(step.kind for step in self.steps)

    @property
    def tests(self) -> tuple[bool | None, ...]:
        """The outcome of each test, True where the prediction was close; None where there was none."""
        return tuple(step.kind == "easy" if step.tested else None for step in self.steps)

    @property
    def exactly_spent(self) -> Fraction:
        """ε(r), exactly."""
        return sum((step.cost for step in self.steps), Fraction(0))

    @property
    def spent(self) -> float:
        """ε(r) per unit of distance, rounded up."""
        return float_above(self.exactly_spent)

    @cached_property
    def spending(self) -> NDArray[np.float64]:
        """Amounts spent up to and with each step, `(s,)`, rounded up."""
        spending = np.array([float_above(paid) for paid in accumulate(step.cost for step in self.steps)])
        spending.flags.writeable = False
        return spending

    def count(self, kind: Kind) -> int:
        """The number of steps of a kind."""
        return sum(step.kind == kind for step in self.steps)

    def __str__(self) -> str:
        made = ", ".join(f"{self.count(kind)} {kind}" for kind in KINDS)
        ended = f", stopped before {self.length}" if len(self.steps) < self.length else ""
        return f"{len(self.steps)} steps{ended}: {made}; spent {self.spent:.6g} of {float(self.total):.6g}"
