"""Proofs by structure, of mechanisms that are never written down."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dxopt.certify import Certificate, gap
from dxopt.duality import AnyDual, proven_bound
from dxopt.errors import CertificateError
from dxopt.formulations.contract import Claim
from dxopt.mechanism import Mechanism
from dxopt.problem import Problem


@dataclass(frozen=True, eq=False)
class Proven:
    """A mechanism with its proof; see `formulations.contract.Candidate` for what is still to be proven."""

    mechanism: Mechanism
    certificate: Certificate
    dual: AnyDual | None
    claim: Claim


def prove(problem: Problem, mechanism: Mechanism, dual: AnyDual | None) -> Certificate:
    """The certificate of a mechanism whose privacy was proven when it was made.

    Value and bound are computed anew.

    Raises
    ------
    CertificateError
        If the mechanism is not proven private at the problem's ε.
    """
    if mechanism.privacy is None or mechanism.privacy.epsilon > problem.epsilon:
        raise CertificateError(f"{mechanism.name} is not proven private at {problem.epsilon:g}")
    value = mechanism.cost(problem.prior.probabilities, problem.loss)
    bound, how = proven_bound(problem, dual)
    if not (math.isfinite(value) and math.isfinite(bound)):
        raise CertificateError(f"the value is {value}, the bound {bound}")
    proofs = {"privacy": mechanism.privacy.how, "bound": how}
    return Certificate(True, mechanism.privacy.epsilon, value, bound, gap(value, bound), proofs)
