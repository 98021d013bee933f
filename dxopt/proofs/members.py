"""The forms that weights of a dual are on: those of a set of priors, or priors that are shown to be in it."""

from __future__ import annotations

from dxopt.errors import CertificateError
from dxopt.model.fitting_sets import Fitting
from dxopt.model.prior_sets import PriorSet
from dxopt.numerics.weightings import Mixtures
from dxopt.proofs.duals import WorstDual


def forms_of(among: PriorSet, dual: WorstDual | None) -> Mixtures:
    """Return the forms that the weights of a dual are of; CertificateError where some are not priors of the set."""
    if not isinstance(among, Fitting):
        return among.mixtures
    if dual is None or dual.members is None or dual.members.ndim != 2 or dual.members.shape[1] != len(among):
        raise CertificateError("the dual has no priors of the set")
    if not all(among.has(member) for member in dual.members):
        raise CertificateError("the dual has priors that are not of the set")
    return Mixtures.hull(dual.members)
