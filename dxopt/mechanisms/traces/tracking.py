"""Follow a trace by its reports under a Markov prior: posteriors, remaps, errors, and what is best of all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.arguments import channel_of
from dxopt.analysis.averaging_attack import half_width
from dxopt.errors import SpecError, UnsupportedError, required_choice
from dxopt.model.beliefs.conditionals import chain_of, traces_of
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.model.sampling import Sampler, required_mechanism
from dxopt.numerics.coerce import checked_count
from dxopt.numerics.draws import generator
from dxopt.numerics.number_syntax import Written
from dxopt.runtime.display import Lines, Shown
from dxopt.spaces.labels import Tuples
from dxopt.spaces.space import MetricSpace, required_space

Array = NDArray[np.float64]
Known = Literal["past", "all"]
MOST_CELLS = 20_000_000
"""The most probabilities of sequences of reports, times secrets, that are counted one by one."""
MOST_TRACES = 2_000
"""The most traces of a problem about whole traces."""
_FEWEST_RUNS = 100
_BLOCK = 4_000_000


class Tracker(Shown):
    """Posteriors and best guesses along a trace, for who sees its reports and knows how people move.

    People are at one of n places at each time, and go on as a Markov chain; each place is reported with fresh
    randomness. The posterior is that of hidden Markov models,
    P[x_t | z_1 … z_t] ∝ K[x_t, z_t] Σ_y P[y | z_1 … z_{t-1}] T[y, x_t]. The guess is the optimal remap of the report
    given those before: of use to whoever works with the reports, and the adversary's tracking. It takes n² at each
    step, and keeps the reports.

    Parameters
    ----------
    mechanism : Mechanism or IntegerTable
        Of n places.
    transition : (n, n) array
        Row a has the probabilities of the next place after a.
    start : (n,) array, optional
        Probabilities of the first place; by default those that the chain keeps.
    loss : str, array `(n, w)`, callable or Loss
        What each guess costs, finite; guesses are the places by default.

    Raises
    ------
    SpecError
        If probabilities or losses do not fit the places.

    Examples
    --------
    >>> import dxopt as dx
    >>> noisy = dx.classic.randomised_response(dx.line(2), epsilon=0.5)
    >>> tracker = dx.traces.Tracker(noisy, [[0.9, 0.1], [0.1, 0.9]])
    >>> for report in ("1", "1", "0", "1"):
    ...     print(tracker.step(report), tracker.posterior.round(3).tolist(), round(tracker.error, 3))
    1 [0.378, 0.622] 0.378
    1 [0.29, 0.71] 0.29
    1 [0.45, 0.55] 0.45
    1 [0.341, 0.659] 0.341
    """

    def __init__(
        self,
        mechanism: Sampler,
        transition: ArrayLike,
        start: ArrayLike | None = None,
        *,
        loss: LossLike | Loss = "distance",
    ) -> None:
        self._chain = _Chain.of(mechanism, transition, start, loss)
        self.reports: list[int] = []
        self._before = self._chain.start
        self.posterior = self._chain.start
        self.log_likelihood = 0.0

    def step(self, report: Any) -> str:
        """Take the next report, by its label or index, and return the label of the best guess.

        Raises
        ------
        SpecError
            If there is no such report, or it cannot come after those before.
        """
        index = self._chain.index(report)
        joint = self._before * self._chain.channel[:, index]
        likely = float(joint.sum())
        if not likely > 0:
            raise SpecError(
                "report", "has probability 0 after those before", "check the order of reports and the chain"
            )
        self.reports.append(index)
        self.posterior = joint / likely
        self.log_likelihood += math.log(likely)
        self._before = self.posterior @ self._chain.moves
        return self.guess

    @property
    def guess(self) -> str:
        """Label of the guess of the present place that is expected to cost least."""
        return str(self._chain.guesses[int((self.posterior @ self._chain.losses).argmin())])

    @property
    def error(self) -> float:
        """Expected loss of that guess, given the reports."""
        return float((self.posterior @ self._chain.losses).min())

    def smoothed(self) -> Array:
        """Return the posterior of the place at each time given all reports so far, `(t, n)`: forward–backward.

        Examples
        --------
        >>> import dxopt as dx
        >>> noisy = dx.classic.randomised_response(dx.line(2), epsilon=0.5)
        >>> tracker = dx.traces.Tracker(noisy, [[0.9, 0.1], [0.1, 0.9]])
        >>> print([tracker.step(report) for report in "101"], tracker.smoothed().round(3).tolist())
        ['1', '0', '1'] [[0.397, 0.603], [0.427, 0.573], [0.397, 0.603]]
        """
        chosen = self._chain.channel[:, self.reports].T
        return _smoothed(self._chain, chosen[None])[0] if len(chosen) else np.empty((0, len(self.posterior)))

    def _summary(self) -> str:
        return f"{len(self.reports):,} reports of {len(self.posterior):,} places"

    def _lines(self) -> Lines:
        return [("reports", f"{len(self.reports):,}"), ("guess", self.guess), ("expected error", f"{self.error:.4g}")]


@dataclass(frozen=True, eq=False)
class _Chain:
    """A mechanism K `(n, m)` on a Markov chain: first places `(n,)`, next ones `(n, n)`, and losses `(n, w)`."""

    channel: Array
    start: Array
    moves: Array
    losses: Array
    guesses: Sequence[str]
    names: Sequence[str]

    @classmethod
    def of(cls, mechanism: Sampler, transition: ArrayLike, start: ArrayLike | None, loss: LossLike | Loss) -> _Chain:
        required_mechanism(mechanism)
        channel = channel_of(mechanism)
        begins, moves = chain_of(len(channel), transition, start)
        found = Loss.of(loss, mechanism.space)
        if found.matrix.shape[0] != len(channel) or not np.isfinite(found.matrix).all():
            raise SpecError(
                "loss", "is infinite, or not for these places", "give finite losses, a row for each place"
            )
        return cls(channel, begins, moves, found.matrix, found.reports.labels, mechanism.reports.labels)

    def index(self, report: Any) -> int:
        """Return the index of a report that is given by label or index; SpecError where there is none."""
        if isinstance(report, str):
            if report not in self.names:
                raise SpecError("report", "is none of the mechanism", "give a label, or an index from 0")
            return list(self.names).index(report)
        return checked_count("report", report, 0, len(self.names) - 1)


@dataclass(frozen=True, eq=False, repr=False)
class TrackingError(Shown):
    """Mean errors of the best guesses of the places of a trace, over traces and reports.

    Attributes
    ----------
    errors : (t,) array
        The expected loss of the best guess at each time.
    before : (t,) array
        The same without any report.
    exact : bool
        True where all sequences of reports were counted, up to rounding.
    within : (t,) array
        Otherwise half the width of an interval about each error that holds the truth with 95 %; 0 where exact.

    Examples
    --------
    >>> import dxopt as dx
    >>> noisy = dx.classic.randomised_response(dx.line(2), epsilon=0.5)
    >>> found = dx.traces.tracking_error(noisy, 3, [[0.9, 0.1], [0.1, 0.9]])
    >>> print(found.errors.round(4).tolist(), found.exact)
    [0.3775, 0.3775, 0.3535] True
    """

    errors: Array
    before: Array
    exact: bool
    within: Array

    def _summary(self) -> str:
        about = "" if self.exact else f" ± {self.within.mean():.2g}"
        times = f"over {len(self.errors):,} times, {self.before.mean():.4g} before"
        return f"mean error {self.errors.mean():.4g}{about} {times}"


def tracking_error(
    mechanism: Sampler,
    steps: int,
    transition: ArrayLike,
    start: ArrayLike | None = None,
    *,
    loss: LossLike | Loss = "distance",
    known: Known = "past",
    runs: int = 10_000,
    rng: np.random.Generator | None = None,
) -> TrackingError:
    """Return how far whoever knows the chain is off at each time, with the best guess given the reports.

    Small ones are counted: Σ_z min_w Σ_x P[x_t = x, z] l(x, w) over all sequences z of reports. Beyond 20 million
    probabilities traces and their reports are drawn; the posterior of each is exact, so that only the mean over runs
    is uncertain (empirical Bernstein bound, Maurer and Pontil 2009, Thm 4).

    Parameters
    ----------
    mechanism : Mechanism or IntegerTable
        Of n places; it reports each with fresh randomness.
    steps : int
        How many times there are.
    transition, start, loss
        See `Tracker`.
    known : {"past", "all"}
        Which reports are known at each time: up to it, as to who follows, or all, as to who looks back.
    runs : int
        Where reports are drawn.
    rng : numpy.random.Generator, optional
        The operating system's randomness by default.

    Raises
    ------
    SpecError
        If numbers are out of range, or probabilities or losses do not fit.

    Examples
    --------
    >>> import dxopt as dx
    >>> noisy = dx.classic.randomised_response(dx.line(2), epsilon=0.5)
    >>> found = dx.traces.tracking_error(noisy, 3, [[0.9, 0.1], [0.1, 0.9]], known="all")
    >>> print(found.errors.round(4).tolist())
    [0.3535, 0.3432, 0.3535]
    """
    chain = _Chain.of(mechanism, transition, start, loss)
    steps = checked_count("steps", steps)
    required_choice("known", known, ("past", "all"))
    where = [chain.start]
    for _ in range(steps - 1):
        where.append(where[-1] @ chain.moves)
    before = np.array([float((place @ chain.losses).min()) for place in where])
    places, reports = chain.channel.shape
    if places * reports**steps <= MOST_CELLS:
        return TrackingError(_counted(chain, steps, known), before, True, np.zeros(steps))
    number = checked_count("runs", runs, _FEWEST_RUNS)
    source = np.random.default_rng() if rng is None else generator(rng)
    size = max(1, _BLOCK // (places * (steps if known == "all" else 1)))
    found = [_drawn(chain, steps, min(size, number - done), known, source) for done in range(0, number, size)]
    errors = np.concatenate(found)
    span = float(np.ptp(chain.losses))
    within = np.array([half_width(column, span) for column in errors.T])
    return TrackingError(errors.mean(axis=0), before, False, within)


def _counted(chain: _Chain, steps: int, known: Known) -> Array:
    """Return the exact errors `(t,)`, from all sequences of reports."""
    places = len(chain.channel)
    # 1. P[z_1 … z_t, x_t] of all beginnings, (m^t, n)
    joint = (chain.start[:, None] * chain.channel).T
    firsts = [joint]
    for _ in range(steps - 1):
        joint = ((joint @ chain.moves)[:, None, :] * chain.channel.T[None]).reshape(-1, places)
        firsts.append(joint)
    if known == "past":
        return np.array([math.fsum((one @ chain.losses).min(axis=1)) for one in firsts])
    # 2. P[z_{t+1} … z_T | x_t] of all ends, (m^{T-t}, n), from the last time on
    ends, errors = np.ones((1, places)), []
    for one in firsts[::-1]:
        # in blocks of beginnings, as all sequences times guesses may be too many
        size = max(1, _BLOCK // (len(ends) * max(places, chain.losses.shape[1])))
        blocks = (one[place : place + size] for place in range(0, len(one), size))
        each = (((block[:, None, :] * ends[None]) @ chain.losses).min(axis=2).sum() for block in blocks)
        errors.append(math.fsum(each))
        ends = ((chain.channel.T[:, None, :] * ends[None]) @ chain.moves.T).reshape(-1, places)
    return np.array(errors[::-1])


def _drawn(chain: _Chain, steps: int, runs: int, known: Known, source: np.random.Generator) -> Array:
    """Return the errors `(runs, t)` of the best guesses after reports that are drawn."""
    rows, moves = (np.cumsum(one, axis=1) / one.sum(axis=1, keepdims=True) for one in (chain.channel, chain.moves))

    def draw(sums: Array) -> NDArray[np.int64]:
        return (sums < source.random((len(sums), 1))).sum(axis=1).clip(max=sums.shape[1] - 1)

    place = draw(np.broadcast_to(np.cumsum(chain.start), (runs, len(chain.start))))
    chosen, errors = [], []
    before = np.broadcast_to(chain.start, (runs, len(chain.start)))
    for _ in range(steps):
        chosen.append(chain.channel[:, draw(rows[place])].T)
        posterior = before * chosen[-1]
        posterior /= posterior.sum(axis=1, keepdims=True)
        errors.append((posterior @ chain.losses).min(axis=1))
        before = posterior @ chain.moves
        place = draw(moves[place])
    if known == "all":
        smooth = _smoothed(chain, np.stack(chosen, axis=1))
        errors = [(smooth[:, time] @ chain.losses).min(axis=1) for time in range(steps)]
    return np.stack(errors, axis=1)


def _smoothed(chain: _Chain, chosen: Array) -> Array:
    """Return P[x_t | all reports] `(r, t, n)` from K[x_t, z_t] of the reports of r traces, forwards and backwards."""
    forwards, before = [], np.broadcast_to(chain.start, chosen[:, 0].shape)
    for time in range(chosen.shape[1]):
        posterior = before * chosen[:, time]
        posterior = posterior / posterior.sum(axis=1, keepdims=True)
        forwards.append(posterior)
        before = posterior @ chain.moves
    found, later = [], np.ones_like(chosen[:, 0])
    for time in range(chosen.shape[1])[::-1]:
        posterior = forwards[time] * later
        found.append(posterior / posterior.sum(axis=1, keepdims=True))
        later = (chosen[:, time] * later) @ chain.moves.T
        later = later / later.max(axis=1, keepdims=True)
    return np.stack(found[::-1], axis=1)


def whole_trace(
    space: MetricSpace,
    steps: int,
    epsilon: Written,
    transition: ArrayLike,
    start: ArrayLike | None = None,
    *,
    loss: LossLike | Loss = "distance",
    metric: Literal["maximum", "sum"] = "maximum",
) -> Problem:
    """Return the problem of reporting a whole trace at once, under the prior of a Markov chain.

    Its optimum is a yardstick: no mechanism that reports traces point by point, and is private at ε for the same
    metric of traces, has a smaller mean loss, as this one knows the whole trace at its first report. Solve it with
    `dx.solve`: the bound is proven.

    Parameters
    ----------
    space : MetricSpace
        The n places.
    steps : int
        How many times there are: two or three, as there are n^steps traces, up to 2,000.
    epsilon : float or str
        Level of the whole trace.
    transition, start
        See `Tracker`.
    loss : str, array `(n, w)`, callable or Loss
        Of one place; that of a trace is the mean over its times.
    metric : {"maximum", "sum"}
        The distance of two traces: the largest of places at the same time, as of `PredictiveMechanism`, or their sum.

    Raises
    ------
    SpecError
        If probabilities or losses do not fit the places.
    UnsupportedError
        If there are more than 2,000 traces.

    Examples
    --------
    >>> import dxopt as dx
    >>> street = dx.line(3)
    >>> walk = [[0.8, 0.2, 0], [0.1, 0.8, 0.1], [0, 0.2, 0.8]]
    >>> best = dx.solve(dx.traces.whole_trace(street, 2, 1.0, walk))
    >>> print(round(best.value, 4), best.mechanism.reports.labels[1])
    0.4764 (0, 1)
    """
    required_space(space)
    steps = checked_count("steps", steps)
    required_choice("metric", metric, ("maximum", "sum"))
    begins, moves = chain_of(len(space), transition, start)
    costs = Loss.of(loss, space)
    if max(len(space), len(costs.reports)) ** steps > MOST_TRACES:
        wrong = f"make {max(len(space), len(costs.reports)) ** steps:,} traces"
        raise UnsupportedError("steps", wrong, f"take fewer steps or places: {MOST_TRACES:,} traces at most")
    traces, guesses = traces_of(len(space), steps), traces_of(len(costs.reports), steps)
    apart = [space.distances[np.ix_(one, one)] for one in traces.T]
    distances = np.maximum.reduce(apart) if metric == "maximum" else np.add.reduce(apart)
    distances.flags.writeable = False
    whole = MetricSpace(Tuples((tuple(space.labels),) * steps), given=distances, unit=space.unit)
    likely = begins[traces[:, 0]] * moves[traces[:, :-1], traces[:, 1:]].prod(axis=1)
    each = [costs.matrix[np.ix_(one, other)] for one, other in zip(traces.T, guesses.T, strict=True)]
    named = Reports(Tuples((tuple(costs.reports.labels),) * steps), secrets=costs.reports.secrets)
    total = Loss.of(sum(each[1:], each[0]) / steps, whole, named, unit=costs.unit)
    return Problem(whole, epsilon=epsilon, prior=Prior.from_weights(whole, likely, name="chain"), loss=total)
