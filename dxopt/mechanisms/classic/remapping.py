"""A mechanism followed by the best remap for a prior and a loss."""

from __future__ import annotations

from dxopt.analysis.evaluate import optimal_remap
from dxopt.errors import SpecError
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import PriorLike
from dxopt.model.problem import Problem
from dxopt.numerics.rounding import SMALLEST
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import certify


def remapped(
    mechanism: Mechanism,
    prior: PriorLike,
    loss: LossLike | Loss = "distance",
    *,
    reports: Reports | None = None,
) -> Mechanism:
    """Replace each report by the best one for a prior and a loss, proven private as before (ECP14 §3.4; CABP13 §3).

    Post-processing keeps privacy. On a line, the geometric mechanism remapped for a prior and a monotone loss is the
    optimum (Ghosh, Roughgarden and Sundararajan 2009).

    Parameters
    ----------
    mechanism : Mechanism
        With a proof of its privacy.
    prior : Prior
    loss : str, array `(n, w)`, callable or Loss
        See `Loss.of`.
    reports : Reports, optional
        For a named loss, the w reports that may replace others; the secrets by default.

    Raises
    ------
    SpecError
        If nothing is proven of the mechanism, or prior or loss do not fit.
    """
    privacy = mechanism.privacy
    if privacy is None:
        fix = "give dx.certify(mechanism, space, epsilon), or use Mechanism.remap, which proves nothing"
        raise SpecError("mechanism", f"{mechanism.name} has no proof of privacy", fix)
    losses = Loss.of(loss, mechanism.space, reports)
    problem = Problem(
        mechanism.space,
        epsilon=max(privacy.epsilon, SMALLEST),
        prior=prior,
        loss=losses,
        delta=privacy.delta,
        pairs=privacy.pairs,
    )
    raw = mechanism.remap(optimal_remap(mechanism, prior, losses), losses.reports)
    return certify(problem, Candidate(raw.matrix, name=raw.name)).mechanism
