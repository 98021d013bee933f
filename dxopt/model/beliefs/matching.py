"""Check pairs of beliefs against the rest of a problem."""

from __future__ import annotations

from typing import Any

from dxopt.errors import SpecError
from dxopt.model.beliefs.pairs import Pairs
from dxopt.model.fitting_sets import Fitting
from dxopt.model.objective import ExpectedLoss, Objective, WorstExpectedLoss, WorstLoss
from dxopt.spaces.space import MetricSpace


def require_match(beliefs: Any, space: MetricSpace, delta: float, objective: Objective) -> None:
    """Raise SpecError unless these are pairs of beliefs about a space, with a level, that a problem may have."""
    if not isinstance(beliefs, Pairs):
        raise SpecError("beliefs", f"are of type {type(beliefs).__name__}", "give dx.BeliefPairs")
    if beliefs.epsilon is None:
        raise SpecError("beliefs", "have no level", "give one, as in pairs.at(epsilon)")
    if beliefs.secrets != len(space):
        wrong = f"are about {beliefs.secrets} secrets, the space about {len(space)}"
        raise SpecError("beliefs", wrong, "make them for this space")
    if beliefs.labels is not None and tuple(beliefs.labels) != tuple(space.labels):
        raise SpecError("beliefs", "are about secrets of other labels", "make them for this space")
    if delta:
        raise SpecError("delta", "does not go with beliefs", "leave out one of the two")
    if type(objective) not in (ExpectedLoss, WorstExpectedLoss, WorstLoss):
        raise SpecError("beliefs", f"do not go with {objective.name}", "ask for expected_loss or worst_loss")
    if isinstance(objective, WorstExpectedLoss) and isinstance(objective.priors, Fitting):
        raise SpecError("beliefs", "do not go with all priors that fit totals", "give another set, or one prior")
