"""A mechanism followed by a remap: to the best report for a prior and a loss, or to the nearest of some reports."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.evaluate import optimal_random_remap, optimal_remap
from dxopt.errors import SpecError, required_choice
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.objective import ExpectedLoss, WorstLoss
from dxopt.model.prior import Prior, PriorLike
from dxopt.model.privacy import level_to_prove
from dxopt.model.problem import Problem
from dxopt.model.reports import required_reports
from dxopt.model.sampling import required_mechanism
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import certify
from dxopt.spaces.distances import between
from dxopt.spaces.space import MetricSpace


def remapped(
    mechanism: Mechanism,
    prior: PriorLike | None = None,
    loss: LossLike | Loss = "distance",
    *,
    reports: Reports | None = None,
    objective: str = "expected_loss",
) -> Mechanism:
    """Replace each report by the best one for a prior and a loss, proven private as before (ECP14 §3.4; HLM14 Thm 4).

    Post-processing keeps privacy. On a line, the geometric mechanism remapped for a prior and a monotone loss is the
    optimum (Ghosh, Roughgarden and Sundararajan 2009); so it is for the worst loss, where the best remap draws what
    is reported instead (CABP13 §4.2; Gupte and Sundararajan 2010).

    Parameters
    ----------
    mechanism : Mechanism
        With a proof of its privacy.
    prior : Prior, optional
        For the worst loss none is needed.
    loss : str, array `(n, w)`, callable or Loss
        See `Loss.of`.
    reports : Reports, optional
        For a named loss, the w reports that may replace others; the secrets by default.
    objective : {"expected_loss", "worst_loss"}
        What the remap is best for; see `dx.evaluate.optimal_remap` and `dx.evaluate.optimal_random_remap`.

    Raises
    ------
    SpecError
        If nothing is proven of the mechanism, the prior is missing, or prior, loss or objective do not fit.
    UnsupportedError
        If the mechanism is too large for the linear program of the worst loss.

    Examples
    --------
    >>> import dxopt as dx
    >>> line = dx.line(3)
    >>> noisy = dx.classic.geometric(line, epsilon=0.5)
    >>> better = dx.classic.remapped(noisy, [0.1, 0.2, 0.7])
    >>> prior = [0.1, 0.2, 0.7]
    >>> print([round(dx.evaluate.expected_loss(one, prior), 3) for one in (noisy, better)])
    [0.636, 0.4]
    """
    _require_proof(mechanism)
    required_choice("objective", objective, (ExpectedLoss.name, WorstLoss.name))
    losses = Loss.of(loss, mechanism.space, reports)
    if objective == WorstLoss.name:
        drawn = mechanism.matrix @ optimal_random_remap(mechanism, losses).channel
        made = Candidate(drawn, name=f"{mechanism.name}, remapped at random")
    elif prior is None:
        raise SpecError("prior", "is missing", "give one, or objective='worst_loss', which needs none")
    else:
        made = _replaced(mechanism, optimal_remap(mechanism, prior, losses), losses)
    return _prove(mechanism, made, losses, prior, objective)


def moved_to_nearest(mechanism: Mechanism, reports: Reports | None = None) -> Mechanism:
    """Replace each report by the nearest of some others, private as before (HLM14 Thm 4; Feyisetan et al. 2020).

    Post-processing keeps privacy, whatever the others are: the words of a vocabulary, say, where a mechanism reports
    points between them.

    Parameters
    ----------
    mechanism : Mechanism
        With a proof of its privacy, and reports that have coordinates.
    reports : Reports, optional
        With coordinates, those to move to: the secrets by default. Nearest is meant by the metric of the space; of
        equally near ones it is the first.

    Raises
    ------
    SpecError
        If nothing is proven of the mechanism, or reports have no coordinates or others than the space.

    Examples
    --------
    >>> import dxopt as dx
    >>> line = dx.line(4)
    >>> halves = dx.Reports.at([[0.5], [2.5]])
    >>> mechanism = dx.classic.moved_to_nearest(dx.classic.geometric(line, epsilon=1.0), halves)
    >>> print(mechanism.row(label="0").round(3).tolist())
    [0.901, 0.099]
    """
    _require_proof(mechanism)
    space = mechanism.space
    targets = Reports.of(space) if reports is None else reports
    required_reports(targets)
    if space.metric is None:
        raise SpecError("space", "has no metric between points", "use remapped, for a prior and a loss")
    table = between(_points_of(mechanism.reports, space), _points_of(targets, space), space.metric).argmin(axis=1)
    losses = Loss.of("binary" if targets.secrets else np.zeros((len(space), len(targets))), space, targets)
    return _prove(mechanism, _replaced(mechanism, table, losses), losses, Prior.uniform(space), ExpectedLoss.name)


def _points_of(reports: Reports, space: MetricSpace) -> NDArray:
    """Return the coordinates of reports; SpecError unless they are like those of the space."""
    if reports.points is None or space.points is None or reports.points.shape[1:] != space.points.shape[1:]:
        fix = "give reports with coordinates, or use Mechanism.remap"
        raise SpecError("reports", "have no coordinates as the space has", fix)
    return reports.points


def _require_proof(mechanism: Mechanism) -> None:
    """Raise SpecError where nothing is proven of a mechanism."""
    required_mechanism(mechanism, Mechanism)
    if mechanism.privacy is None:
        fix = "give dx.certify(mechanism, space, epsilon), or use Mechanism.remap, which proves nothing"
        raise SpecError("mechanism", f"{mechanism.name} has no proof of privacy", fix)


def _replaced(mechanism: Mechanism, table: NDArray[np.int64], losses: Loss) -> Candidate:
    """Replace each report of a mechanism by the one that a table `(m,)` has for it; nothing is proven yet."""
    made = mechanism.remap(table, losses.reports)
    return Candidate(made.matrix, name=made.name)


def _prove(mechanism: Mechanism, made: Candidate, losses: Loss, prior: PriorLike | None, objective: str) -> Mechanism:
    """Prove the result of post-processing at the level of its mechanism, as rounding may have changed it."""
    privacy = mechanism.privacy
    assert privacy is not None
    level = {"epsilon": level_to_prove(privacy.epsilon), "delta": privacy.delta, "pairs": privacy.pairs}
    problem = Problem(mechanism.space, prior=prior, loss=losses, objective=objective, **level)
    return certify(problem, made).mechanism
