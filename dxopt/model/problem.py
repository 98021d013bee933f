"""Problems: a space, a privacy level, a prior, a loss and an objective, checked when one is made."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, UnsupportedError, required, required_choice
from dxopt.model.beliefs.pairs import BeliefPairs, require_match
from dxopt.model.impossible import impossible_reports, require_reports
from dxopt.model.loss import Loss, LossLike, Reports, has_infinite
from dxopt.model.objective import AdversaryError, ExpectedLoss, Objective, WorstLoss, resolved
from dxopt.model.prior import Prior, PriorLike
from dxopt.model.prior_sets import PriorSet
from dxopt.model.privacy import checked_delta, checked_level
from dxopt.model.reports import required_reports
from dxopt.numerics.coerce import as_number
from dxopt.numerics.hockey_stick import PAIRS
from dxopt.numerics.number_syntax import Written, level_text, shortened
from dxopt.spaces.distances import FEWER
from dxopt.spaces.geo.levels import Level
from dxopt.spaces.space import MetricSpace

PROBLEM_CELLS = 100_000_000
"""The most entries of a matrix of a problem: of distances, budgets, losses or costs."""
_COST_CELLS = 2_000_000
"""About that many entries of the costs are in memory at once in `cost_blocks`."""


@dataclass(frozen=True, eq=False, init=False)
class Problem:
    """Find the best ε·d-private channel (CABP13 §4.2, Cha13).

    Parameters
    ----------
    space : MetricSpace
        n secrets and their unscaled distances.
    epsilon : float, str or None
        Privacy level per unit of distance (`space.unit`); text for how it is written, such as "ln(4)". A pair's
        budget is the real product of the doubles `epsilon` and `space.distances[x, x']`. Of what `dx.geo.level`
        gives, level and radius are kept as `within`. None asks for no privacy but what `AdversaryError` or `beliefs`
        ask for; it is kept as infinity.
    prior : Prior, "uniform", (n,) array, PriorSet or None
        See `Prior.of`. Left out only for the worst loss, which no prior enters; then measures that need one take the
        uniform one. With a set of priors (`Prior.hull`, `Prior.ball`, `Prior.box`) the expected loss is the largest
        over the set, which is kept as `priors`; `prior` is then its centre, which measures take.
    loss : str, array, callable or Loss
        See `Loss.of`. Where it is infinite, whatever the prior, that report is never made: not for this secret, nor
        for those that finite distances join with it.
    max_loss : float, optional
        No report may cost its secret more: larger losses become infinite. (That of `AdversaryError` and
        `dx.smallest_epsilon` limits the mean of them.)
    reports : Reports, optional
        What may be reported; the secrets by default, or the reports of a given `Loss`, which has its own.
    objective : {"expected_loss", "worst_loss", "regret"} or Objective
        What is wanted: little expected loss, little loss in the worst case, little regret over a hull of priors
        against the optimum for each, or `AdversaryError(max_loss=...)`.
    delta : float
        Relaxes privacy: Σ_z max(0, K[x, z] - e^{εd(x, x')} K[x', z]) ≤ δ (HLM14 Def 1).
    pairs : {"all", "adjacent"}
        Which ordered pairs of secrets a positive δ binds: all at finite distance, or only those with no third secret
        between them, such as neighbouring databases. Without δ the two are the same.
    beliefs : BeliefPairs, optional
        Pairs of beliefs that reports must not tell apart, at their own level (`pairs.at(epsilon)`): beside ε, or
        instead of it. For the expected and the worst loss, without δ.
    name : str

    Raises
    ------
    SpecError
        If ε or δ is out of range, sizes differ, or losses leave no report to a secret; UnsupportedError if they leave
        other reports to secrets that δ, beliefs, an adversary or one-way distances join.

    Examples
    --------
    >>> import dxopt as dx
    >>> town = dx.grid((2, 2))
    >>> problem = dx.Problem(town, epsilon="ln(4)", prior=[0.4, 0.3, 0.2, 0.1], loss="squared")
    >>> print(problem.shape, problem.variables, round(problem.epsilon, 3))
    (4, 4) 16 1.386
    >>> problem.budgets[0].round(3).tolist()
    [0.0, 1.386, 1.386, 1.961]
    """

    space: MetricSpace
    epsilon: float
    within: Level | None
    prior: Prior
    priors: PriorSet | None
    loss: Loss
    objective: Objective
    delta: float
    pairs: str
    beliefs: BeliefPairs | None
    name: str

    def __init__(
        self,
        space: MetricSpace,
        *,
        epsilon: Written | None,
        prior: PriorLike | PriorSet | None = None,
        loss: LossLike | Loss = "distance",
        max_loss: float | None = None,
        reports: Reports | None = None,
        objective: str | Objective = "expected_loss",
        delta: float = 0.0,
        pairs: str = "all",
        beliefs: BeliefPairs | None = None,
        name: str = "problem",
    ) -> None:
        if reports is not None and isinstance(loss, Loss):
            _require_same_reports(reports, loss.reports)
        losses = Loss.of(loss, space, reports).on(space)
        if max_loss is not None:
            losses = _up_to(losses, max_loss, space)
        several = prior if isinstance(prior, PriorSet) else None
        wanted = resolved(objective, space, several)
        if prior is None and not isinstance(wanted, WorstLoss):
            raise SpecError("prior", f"is missing, which {wanted.name} needs", 'give one, such as prior="uniform"')
        # Without ε a channel that tells everything would be the best, unless something else bounds it.
        epsilon_optional = isinstance(wanted, AdversaryError) or beliefs is not None
        if epsilon is None and not epsilon_optional:
            raise SpecError("epsilon", f"is missing, which {wanted.name} needs", "give a positive number")
        level = math.inf if epsilon_optional and epsilon in (None, math.inf) else checked_level(epsilon)
        within = epsilon if isinstance(epsilon, Level) else None
        # set in the dictionary, as a frozen class refuses assignment
        vars(self).update(space=space, epsilon=level, within=within, prior=_one_prior(prior, space), priors=several)
        vars(self).update(loss=losses, objective=wanted, delta=checked_delta(delta), pairs=pairs, beliefs=beliefs)
        vars(self).update(name=name)
        self._check(None if max_loss is None else float(max_loss))

    def _check(self, max_loss: float | None) -> None:
        """Raise SpecError where parts that are sound by themselves do not fit together or the space."""
        space = self.space
        loss = self.loss
        if self.within is not None and not self.within.holds(space):
            raise SpecError("epsilon", "was made by dx.geo.level for another space", "give dx.geo.level this one")
        required_choice("pairs", self.pairs, PAIRS)
        if self.delta and not self.private:
            raise SpecError("delta", f"is {self.delta:g} without an epsilon to relax", "give epsilon as well")
        if self.beliefs is not None:
            require_match(self.beliefs, space, self.delta, self.objective)
        # A given Loss may be for another space; that of a named one is told without building its matrix.
        rows = loss.size if loss.by_distance else len(loss.matrix)
        if rows != len(space):
            raise SpecError("loss", f"has {rows} rows for {len(space)} points", "match them")
        if self.impossible is not None:
            require_reports(self, self.impossible, max_loss)

    def __repr__(self) -> str:
        asked = f"epsilon {level_text(self.epsilon, 6)}"
        asked += f", delta {level_text(self.delta, 6)}" if self.delta else ""
        if self.beliefs is not None:
            asked += f", {len(self.beliefs)} pairs of beliefs at {level_text(self.beliefs.level, 6)}"
        wanted = "" if isinstance(self.objective, ExpectedLoss) else f", {self.objective.name}"
        return f"<Problem {self.name}: {len(self.space)} secrets, {asked}, {self.loss.name} loss{wanted}>"

    @property
    def private(self) -> bool:
        """True if privacy of the secrets from each other is asked for: ε is finite."""
        return math.isfinite(self.epsilon)

    @property
    def why_coupled(self) -> str | None:
        """Reason why methods for the least expected loss of a private channel alone do not apply; None if they do."""
        if self.beliefs is not None:
            return "beliefs are given"
        if not self.private:
            return "no privacy is asked for"
        if self.delta:
            return "delta is positive"
        return None if isinstance(self.objective, ExpectedLoss) else f"the objective is {self.objective.name}"

    def at(self, epsilon: Written) -> Problem:
        """Return the same problem at another ε.

        Examples
        --------
        >>> import dxopt as dx
        >>> problem = dx.Problem(dx.line(3), epsilon=1.0, prior="uniform")
        >>> problem.at(2.0).epsilon
        2.0
        """
        return self.but(epsilon=epsilon)

    def but(self, **changes: Any) -> Problem:
        """Return the same problem with some of its parameters changed.

        Examples
        --------
        >>> import dxopt as dx
        >>> problem = dx.Problem(dx.line(3), epsilon=1.0, prior="uniform")
        >>> print(problem.but(loss="squared", epsilon=2.0).losses[0].tolist())
        [0.0, 1.0, 4.0]
        """
        names = ("space", "loss", "delta", "pairs", "beliefs", "name")
        same = {name: getattr(self, name) for name in names}
        same["objective"] = self.objective.anew()
        same["epsilon"] = self.epsilon if self.within is None else self.within
        same["prior"] = self.prior if self.priors is None else self.priors
        return Problem(**{**same, **changes})

    @property
    def reports(self) -> Reports:
        """Reports, the columns of a channel."""
        return self.loss.reports

    @property
    def unit(self) -> str:
        """Unit of the value of a mechanism, such as "km"; "" where it is not known."""
        return self.objective.unit(self.loss)

    @property
    def reach(self) -> NDArray[np.bool_]:
        """Mask `(n,)` of the secrets whose losses count: all for the worst loss, else those a prior reaches."""
        among = self.objective.among(len(self.space))
        return self.prior.probabilities > 0 if among is None else among.reach

    @property
    def losses(self) -> NDArray[np.float64]:
        """Losses l(x, w), `(n, m)`; UnsupportedError above 100 million entries, as for `costs` and `budgets`."""
        self._require_cells(*self.shape)
        return self.loss.matrix

    @cached_property
    def impossible(self) -> NDArray[np.bool_] | None:
        """Mask `(n, m)` of the reports that must not be made, as losses are infinite; None where all are finite."""
        return impossible_reports(self) if has_infinite(self.loss, self.space) else None

    @cached_property
    def finite_losses(self) -> NDArray[np.float64]:
        """Losses `(n, m)`; for reports that must not be made the largest of all others."""
        if self.impossible is None:
            return self.losses
        return np.where(self.impossible, self.losses[~self.impossible].max(), self.losses)

    @property
    def shape(self) -> tuple[int, int]:
        """Secrets n and reports m."""
        return len(self.space), len(self.reports)

    @property
    def variables(self) -> int:
        """The number n·m of entries of a channel."""
        return math.prod(self.shape)

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """π_x l(x, w), `(n, m)`; for reports that must not be made more than all others cost together."""
        costs = self.prior.probabilities[:, None] * self.finite_losses
        if self.impossible is not None:
            costs[self.impossible] = 1.0 + 2.0 * np.abs(costs).sum()
        costs.flags.writeable = False
        return costs

    @property
    def level(self) -> float:
        """The factor from `separations` to budgets: ε, or 1 without ε, where all separations are infinite or 0."""
        return self.epsilon if self.private else 1.0

    @property
    def separations(self) -> NDArray[np.float64]:
        """The distances that privacy is about, `(n, n)`: those of the space; infinite where none is asked for."""
        if self.private:
            return self.space.distances
        apart = np.full((len(self.space), len(self.space)), np.inf)
        np.fill_diagonal(apart, 0.0)
        return apart

    @cached_property
    def budgets(self) -> NDArray[np.float64]:
        """ε·d(x, x') rounded to doubles, `(n, n)`."""
        self._require_cells(len(self.space), len(self.space))
        with np.errstate(over="ignore"):
            budgets = self.level * self.separations
        budgets.flags.writeable = False
        return budgets

    def cost_blocks(self, *, backwards: bool = False) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Yield blocks: indices of secrets and their costs π_x l(x, z), `(k, m)`; all may be too many for memory."""
        size, reports = self.shape
        step = max(math.isqrt(size) + 1, _COST_CELLS // reports)
        prior = self.prior.probabilities
        for start in range(0, size, step)[:: -1 if backwards else 1]:
            rows = np.arange(start, min(start + step, size))
            yield rows, prior[rows, None] * self.loss.rows(rows)

    def _require_cells(self, rows: int, columns: int) -> None:
        """Raise UnsupportedError if a matrix of that shape would be too large for memory."""
        if rows * columns > PROBLEM_CELLS:
            raise UnsupportedError(
                "space",
                f"needs a matrix of {rows:,} by {columns:,}, over the limit of {PROBLEM_CELLS:,} entries",
                FEWER,
            )


def _one_prior(prior: PriorLike | PriorSet | None, space: MetricSpace) -> Prior:
    """Return the one prior that measures take: the given one, the centre of a set, or the uniform one."""
    if not isinstance(prior, PriorSet):
        return Prior.of("uniform" if prior is None else prior, space)
    return Prior.of(Prior(prior.centre, prior.name, space=prior.space), space)


def _up_to(loss: Loss, max_loss: float, space: MetricSpace) -> Loss:
    """Return a loss that is infinite above a number; UnsupportedError where it takes too large a matrix."""
    most = as_number(max_loss, "max_loss", "give a number", lambda number: not math.isnan(number))
    if len(space) * len(loss.reports) > PROBLEM_CELLS:
        raise UnsupportedError(
            "max_loss", f"needs a matrix of {len(space):,} by {len(loss.reports):,}", "take fewer points"
        )
    return loss.up_to(most)


def _require_same_reports(given: Reports, of_loss: Reports) -> None:
    """Raise SpecError unless the given reports are those of a `Loss`, which would be taken instead."""
    required_reports(given)
    if not given.is_same(of_loss):
        fix = "leave them out, or make the loss for them by dx.Loss.of"
        raise SpecError("reports", "are others than those of the loss", fix)


def required_problem(problem: Any, study: str = "") -> None:
    """Raise SpecError unless a problem is given; where the name of a file is, the error says how to read it.

    A study of many solves takes none with pairs of beliefs: UnsupportedError names it.
    """
    if isinstance(problem, Problem):
        if study and problem.beliefs is not None:
            raise UnsupportedError("beliefs", f"do not go with a {study}", "solve the problem at one level at a time")
        return
    if isinstance(problem, str | PurePath):
        name = str(problem)
        wrong = f"is the name of a file, {shortened(name)}"
        raise SpecError("problem", wrong, f"read it with dx.read({shortened(name)}), or run `dxopt solve` on it")
    required("problem", problem, Problem, "give a dx.Problem")
