"""Mechanisms that need no solver: by name, and the best of some with their optimal remap."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.order.remaps import optimal_random_remap
from dxopt.errors import DxoptError, MethodRefused, UnsupportedError
from dxopt.mechanisms.classic.base import CLASSICS, titled
from dxopt.mechanisms.classic.exponential import budgets_to_reports
from dxopt.mechanisms.equilibrium import equilibrium_kernel
from dxopt.mechanisms.tight import refuses_tight, tight_candidate
from dxopt.model.loss import Reports
from dxopt.model.mechanism import Mechanism, post_processed
from dxopt.model.objective import ExpectedLoss, WorstLoss
from dxopt.model.prior_sets import PriorSet
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import ordered_texts
from dxopt.numerics.partition import Partition
from dxopt.proofs.candidate import Candidate, Claim
from dxopt.proofs.certify import MADE_IMPOSSIBLE, makes_impossible
from dxopt.proofs.repair import expected_above, repair
from dxopt.runtime.stopping import Stop, StoppedError
from dxopt.solving.options import Options
from dxopt.solving.routes.limits import is_written

Array = NDArray[np.float64]
TIGHT = "tight-constraints mechanism"
_KERNEL, _ROUGH = "kernel mechanism", "kernel mechanism of rough weights"
_WORTH = {_KERNEL: 2, _ROUGH: 1}
MIXTURE = "mixture of kernels"
_SOON = 0.25
"""Seconds: a mechanism that takes longer to make is not left until a solve is stopped."""
_SHARE = 0.5
"""The part of a time limit that all such mechanisms may take."""
_CHEAP = 0.05
"""A mechanism that takes no more seconds is made ahead in any case."""
_PRODUCT = 4e-11
_SYSTEMS = 4e-10
_UPDATES = 1.4e-7
_PROGRAM = 7e-6
"""Seconds for each product of a multiplication of matrices, for each triple of points in the linear systems of a
kernel, for each pair of points in the updates of one, and for each number of the linear program of a remap."""
_LONG = 5.0
"""Seconds of systems beyond which there is a kernel without them first."""
_REMAP_CELLS = 250_000
_SAME = 1e-9
"""Channels whose entries differ by no more are the same."""
_BETTER = {"laplace": "planar_laplace", "randomised_response": "exponential"}
_LEFT_OUT = ("graph_exponential", "multivariate_laplace", "truncated_exponential")
"""Not tried unasked: the exponential mechanism, which is tried, is close, and two of them search for their rate."""


def by_tight(problem: Problem, options: Options) -> Iterator[Candidate]:
    """Find the tight-constraints mechanism where it is proven optimal."""
    reason = _why_not_exact(problem, options)
    if reason is not None:
        options.refused["tight"] = reason
        return
    try:
        candidate = tight_candidate(problem, diagnose=False)
    except UnsupportedError as error:
        options.refused["tight"] = error.wrong
        return
    if candidate.claim != "exact":
        options.refused["tight"] = "the prior is not regular, so it need not be optimal"
        return
    options.refused["optimal"] = f"the {TIGHT} is optimal here"  # holds unless another candidate is asked for
    yield replace(candidate, route=TIGHT)
    del options.refused["optimal"]
    options.refused["tight"] = "its gap stayed above the tolerance"


def by_closed_form(problem: Problem, options: Options) -> Iterator[Candidate]:
    """Find the best mechanism that needs no solver, which `auto` tries before the programs on a spanner."""
    yield ClosedForms(problem).candidate("valid")


def _why_not_exact(problem: Problem, options: Options) -> str | None:
    """Return why the tight-constraints mechanism is not tried as an optimum; None where it is."""
    if options.spanner is not None:
        return "not proven optimal where a spanner is asked for"
    if not problem.loss.is_binary:
        return f"proven optimal for binary loss only, not for {problem.loss.name}"
    reason = refuses_tight(problem)
    if reason is None and not is_written(problem):
        return "not written down for so many points; dx.tight_constraints makes it without a matrix"
    return reason


def classic_candidate(problem: Problem, name: str) -> Candidate:
    """Return a mechanism of `dx.classic` as it is, implicit where the channel is large."""
    mechanism = CLASSICS.get(name)()
    reason = mechanism.refuses(problem)
    if reason:
        raise MethodRefused(name, reason)
    implicit = None
    if problem.why_coupled is None and not is_written(problem):
        implicit = mechanism.implicit(problem)
    if implicit is not None:
        return require_allowed(problem, name, Candidate(implicit, route=titled(name)))
    return require_allowed(problem, name, Candidate(mechanism.channel(problem), route=titled(name)))


def require_allowed(problem: Problem, name: str, candidate: Candidate) -> Candidate:
    """Return the candidate of a mechanism by name; MethodRefused where its losses, or their mean, are too large."""
    channel = candidate.channel
    if problem.impossible is not None and makes_impossible(
        problem, channel.matrix if isinstance(channel, Mechanism) else channel
    ):
        raise MethodRefused(name, MADE_IMPOSSIBLE, "use method: optimal, or finite losses")
    budget = problem.objective.max_loss
    if not math.isfinite(budget) or isinstance(candidate.channel, Mechanism):
        return candidate
    loss = expected_above(problem, repair(problem, candidate.channel))
    if loss > budget:
        low, high = ordered_texts(budget, loss)
        wrong = f"has an expected loss of {high}, above the budget of {low}"
        raise MethodRefused(name, wrong, "raise max_loss, or use method: optimal")
    return candidate


def constant_by_group(problem: Problem) -> NDArray[np.float64]:
    """Return the channel `(n, m)` with one report for each group of secrets that finite distances, or beliefs, join.

    It costs least of all such channels, on average or in the worst case: the optimum where no distance is finite.
    """
    # beliefs may join any secrets, so that all of them are one group
    together = np.isfinite(problem.separations) if problem.beliefs is None else np.ones((len(problem.space),) * 2)
    groups = Partition.joining(together > 0)
    channel = np.zeros(problem.shape)
    among = problem.objective.among(problem.shape[0])
    for which in range(groups.size):
        members = groups.members(which)
        report = problem.costs[members].sum(axis=0).argmin() if among is None else _safest(problem, among, members)
        channel[members, int(report)] = 1.0
    return channel


def _safest(problem: Problem, among: PriorSet, members: NDArray[np.int64]) -> int:
    """Return the report that costs a group of secrets least under the worst prior."""
    if among.mixtures.is_everyone:  # then the worst prior is one secret
        return int(problem.losses[members].max(axis=0).argmin())
    losses = np.zeros(problem.shape)  # other secrets lose nothing, so that only the group counts
    losses[members] = problem.losses[members]
    return int(np.argmin([among.largest(column) for column in losses.T]))


@dataclass(frozen=True, eq=False)
class Simple:
    """A mechanism that needs no solver: its value before any repair, and its channel before and after the remap."""

    name: str
    value: float
    before: Array
    channel: Array


@dataclass(frozen=True, eq=False)
class _Form:
    """A mechanism to be made: its name, about how many seconds that takes with its remap, and how."""

    name: str
    seconds: float
    make: Callable[[], Array]


class ClosedForms:
    """The best mechanism that needs no solver, with its optimal remap, made when it is asked for.

    What takes little time is made once a solver was stopped or left a gap, so that other solves do without. Where
    the objective has a loss budget, channels above it are left out, and one within it is given. Where they are to be
    `mixed`, the kernel is made roughly as well, and exactly only if that is soon done.

    Attributes
    ----------
    to_mix : (n, k) array or None
        The best but for the exact kernel, whose columns add least to kernels, before its remap; None without any.
    """

    def __init__(self, problem: Problem, within_budget: Array | None = None, *, mixed: bool = False) -> None:
        self.problem = problem
        self.mixed = mixed
        self.to_mix: Array | None = None
        self.within_budget = within_budget  # only passed on, to the candidate
        self._best: Simple | None = None
        self._left: list[_Form] | None = None

    @property
    def value(self) -> float:
        """The value of the best of those that were made; infinitely bad where none was."""
        return self.problem.objective.sign * math.inf if self._best is None else self._best.value

    def make_ahead(self, stop: Stop) -> None:
        """Make the mechanisms that take next to no time; and, if there is time, those too slow for after a stop.

        The fastest first, so that there is something to deliver early. Ctrl-C leaves the one that is being made.
        """
        remaining = stop.remaining()
        end = math.inf if remaining is None else time.monotonic() + _SHARE * remaining
        for form in reversed(self._forms()):
            in_time = time.monotonic() + form.seconds <= end
            now = self.mixed or not _CHEAP < form.seconds <= _SOON
            if now and in_time and not stop.requested:
                with suppress(StoppedError), stop.breaking():
                    self._make(form)

    def best(self, seconds: float = 0.0) -> Simple:
        """Return the best of those made, and, the first time, of those that can be made in so many seconds."""
        left = seconds
        for form in self._forms():
            if form.seconds <= left:
                left -= form.seconds
                self._make(form)
        if seconds > 0:  # later calls make no more
            self._left = []
        return self._best or self._constant()

    def is_best(self, channel: Array | Mechanism) -> bool:
        """Tell whether a channel is the best of those that were made, up to rounding."""
        return not isinstance(channel, Mechanism) and bool(np.abs(channel - self.best().channel).max() <= _SAME)

    def candidate(self, claim: Claim, seconds: float = 1.0) -> Candidate:
        """Return the best one, as a candidate."""
        best = self.best(seconds)
        return Candidate(best.channel, claim=claim, route=best.name, within_budget=self.within_budget)

    def _constant(self) -> Simple:
        """Return the cheapest constant report of each group, which takes no time to make."""
        channel = constant_by_group(self.problem)
        return Simple("constant report", self.problem.objective.value(self.problem, channel), channel, channel)

    def _forms(self) -> list[_Form]:
        """Return a copy of the forms left to be made, what is worth most first: kernels, then what takes long."""
        if self._left is None:
            forms = list(_forms(self.problem, mixed=self.mixed))
            self._left = sorted(forms, key=lambda form: (_WORTH.get(form.name, 0), form.seconds), reverse=True)
            if self._allowed(self._constant().channel):
                self._best = self._constant()
        return self._left[:]

    def _allowed(self, channel: Array) -> bool:
        """Tell whether a channel is within the loss budget, where there is one."""
        budget = self.problem.objective.max_loss
        return math.isinf(budget) or expected_above(self.problem, channel) <= budget

    def _make(self, form: _Form) -> None:
        """Make a mechanism; keep it, as it is or with its optimal remap, if it is better than the best so far."""
        assert self._left is not None
        self._left.remove(form)
        problem = self.problem
        try:
            before = form.make()
        except DxoptError:  # it does not suit the problem after all
            return
        if not np.isfinite(before).all():
            return
        made = {f"{form.name} with optimal remap": _remapped(problem, before)}
        if not isinstance(problem.objective, ExpectedLoss) and before.shape == problem.shape:  # a remap may cost more
            made[form.name] = before
        for name, channel in made.items():
            self.keep_better(name, before, channel)
        if form.name != _KERNEL and self._best is not None:
            self.to_mix = self._best.before

    def keep_better(self, name: str, before: Array, channel: Array) -> None:
        """Keep a channel `(n, m)`, and what it was before its remap, if it is allowed and better than the best."""
        value = self.problem.objective.value(self.problem, channel)
        sign = self.problem.objective.sign
        if self._allowed(channel) and (self._best is None or sign * value < sign * self._best.value):
            self._best = Simple(name, value, before, channel)


def _forms(problem: Problem, *, mixed: bool) -> Iterator[_Form]:
    """Yield the mechanisms for a problem: those that report its reports, and those that report its secrets."""
    if not problem.private:
        return
    yield from _forms_of(problem, problem, mixed=mixed)
    if not problem.reports.secrets:
        yield from _forms_of(_reporting_secrets(problem), problem, mixed=mixed)


def _reporting_secrets(problem: Problem) -> Problem:
    """Return a problem of the same privacy whose reports are the secrets."""
    level = problem.within or problem.epsilon
    return Problem(problem.space, epsilon=level, prior=problem.prior, loss="binary", delta=problem.delta)


def _forms_of(made: Problem, problem: Problem, *, mixed: bool) -> Iterator[_Form]:
    """Yield the mechanisms for one problem, to be remapped to the reports of another.

    Those that take long are left out where there are better ones.
    """
    rows, between = made.shape
    remap_seconds = (_PROGRAM if _is_remap_random(problem) else _PRODUCT) * rows * between * problem.shape[1]
    there = {name: CLASSICS.get(name)() for name in CLASSICS if name not in _LEFT_OUT}
    there = {name: classic for name, classic in there.items() if classic.refuses(made) is None}
    for name, classic in there.items():
        seconds = classic.expected_seconds(made) + remap_seconds
        if name == "exponential" and made.reports.secrets and seconds > _LONG:  # the kernel is as fast, and better
            continue
        if seconds < _CHEAP or _BETTER.get(name) not in there:
            yield _Form(titled(name), seconds, lambda classic=classic: classic.channel(made))
    if made.reports.secrets:
        exactly = _SYSTEMS * rows**3
        if mixed or exactly > _LONG:
            seconds = _UPDATES * rows**2 + remap_seconds
            yield _Form(_ROUGH, seconds, lambda: equilibrium_kernel(budgets_to_reports(made), roughly=True))
        if not (mixed and exactly > _LONG):
            yield _Form(_KERNEL, exactly + remap_seconds, lambda: equilibrium_kernel(budgets_to_reports(made)))


def _is_remap_random(problem: Problem) -> bool:
    """Tell whether the best remap draws what is reported, as for the worst loss, and is found by a small program."""
    rows, reports = problem.shape
    finite = bool(np.isfinite(problem.losses).all())
    return isinstance(problem.objective, WorstLoss) and finite and rows * rows * reports <= _REMAP_CELLS


def _remapped(problem: Problem, before: Array) -> Array:
    """Return a channel `(n, k)` followed by a remap, `(n, m)`: the best that draws, or the best for expected loss."""
    if _is_remap_random(problem):
        reports = Reports(tuple(map(str, range(before.shape[1]))))
        mechanism = Mechanism.from_matrix(problem.space, before, reports)
        return before @ optimal_random_remap(mechanism, problem.loss).channel
    return post_processed(before, (problem.costs.T @ before).argmin(axis=0), problem.shape[1])
