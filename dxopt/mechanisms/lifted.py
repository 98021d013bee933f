"""From answers back to secrets: the mechanism H∘f, and losses of reports about answers (CABP13 §4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, UnsupportedError, required
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.model.sampling import required_mechanism
from dxopt.numerics.hockey_stick import least_delta
from dxopt.numerics.rounding import SMALLEST, UNIT
from dxopt.spaces.queries import Query, Sensitivity, sensitivity
from dxopt.spaces.space import MetricSpace

_MARGIN = 16 * UNIT


@dataclass(frozen=True, eq=False, repr=False)
class LiftedMechanism(Mechanism):
    """H∘f: a mechanism applied to the answer to a query. Made by `lift`, which proves it private.

    `query` is f, and `base` H, on the answers, which rows and draws are taken from.
    """

    space: MetricSpace
    reports: Reports
    query: Query
    base: Mechanism
    name: str
    privacy: Privacy | None

    def _rows(self, secrets: NDArray[np.int64]) -> NDArray[np.float64]:
        # the answer of each secret, by index; secrets with the same answer share a row
        answers, which = np.unique(self.query.index[secrets], return_inverse=True)
        return self.base.rows(answers)[which]

    def _draw(self, secrets: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        return self.base.sample(index=self.query.index[secrets], rng=rng)[:, 0]


def lift(query: Query, mechanism: Mechanism, secrets: MetricSpace) -> Mechanism:
    """Answer a query privately: report H(f(x)) for the secret x (CABP13 §4).

    If H is proven private for ε·d_Y and f is Δ-sensitive, H∘f is private for εΔ·d_X (CABP13 Fact 5); the level is
    exactly ε where H is about `query.induced(secrets)`. By Thm 6 it can be no lower where H needs all of ε and f is
    uniformly Δ-sensitive. Where H is private up to δ, so is H∘f, up to a δ that is measured again.

    Parameters
    ----------
    query : Query
        f, from n secrets to k answers.
    mechanism : Mechanism
        H, on k points: the answers of the query in their order, under any metric.
    secrets : MetricSpace
        d_X on the universe of the query.

    Returns
    -------
    Mechanism
        With the reports of H, and no more in memory than H. Nothing is proven of it where nothing is of H.

    Raises
    ------
    SpecError
        If H is not about as many answers, or the space not about as many secrets, as the query has.
    UnsupportedError
        If two secrets at a finite distance have answers infinitely further apart, so that no level is proven.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases(["ill", "well"], 2)
    >>> count = dx.queries.count(people, lambda person: person == "ill")
    >>> mechanism = dx.lift(count, dx.classic.geometric(count.space(), epsilon=1.0), people.space())
    >>> print(mechanism.row(label="(ill, well)").round(3).tolist(), round(mechanism.privacy.epsilon, 6))
    [0.269, 0.462, 0.269] 1.0
    """
    required("query", query, Query, "give one of dx.queries")
    required_mechanism(mechanism, Mechanism)
    if len(mechanism.space) != len(query.answers):
        wrong = f"is about {len(mechanism.space):,} points, where the query has {len(query.answers):,} answers"
        raise SpecError("mechanism", wrong, "make it on query.induced(secrets), or query.space()")
    privacy = _lifted_privacy(query, mechanism, sensitivity(query, secrets, mechanism.space))
    name = f"{mechanism.name} of {query.name}"
    # the same reports, not marked as the secrets: they may be the answers to a query
    reports = Reports(mechanism.reports.labels, mechanism.reports.points)
    return LiftedMechanism(secrets, reports, query, mechanism, name, privacy)


def lift_loss(query: Query, loss: LossLike | Loss = "distance", answers: MetricSpace | None = None) -> Loss:
    """Return the losses of reports about an answer for each secret: l(f(x), z).

    With it a `Problem` on the secrets asks for the best mechanism of all, which may use more than the answer. No H∘f
    is better, as each H∘f is one of these mechanisms.

    Parameters
    ----------
    query : Query
        From n secrets to k answers.
    loss : str, array `(k, m)`, callable or Loss
        Of answers and reports, see `Loss.of`; the reports are the answers by default.
    answers : MetricSpace, optional
        The k answers and their distances; `query.space()` by default.

    Returns
    -------
    Loss
        With a matrix `(n, m)`.

    Raises
    ------
    SpecError
        If the loss does not fit the answers, or they are no numbers and have no space.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases(["ill", "well"], 2)
    >>> count = dx.queries.count(people, lambda person: person == "ill")
    >>> print(dx.lift_loss(count).matrix.tolist())
    [[2.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 2.0]]
    """
    required("query", query, Query, "give one of dx.queries")
    losses = Loss.of(loss, query.space() if answers is None else answers)
    if len(losses.matrix) != len(query.answers):
        wrong = f"has {len(losses.matrix):,} rows, where the query has {len(query.answers):,} answers"
        raise SpecError("loss", wrong, "give one row per answer")
    name = f"{losses.name} of {query.name}"
    reports = Reports(losses.reports.labels, losses.reports.points)
    return Loss(losses.matrix[query.index], reports, name, unit=losses.unit)


def _lifted_privacy(query: Query, mechanism: Mechanism, found: Sensitivity) -> Privacy | None:
    """Return the proven privacy of H∘f where `mechanism` is H; None where nothing is proven of H.

    `found` has Δ as `delta`, `widest`, two secrets where Δ is attained, and `nearest` `(k, k)`, the least distance
    between secrets with two answers.
    """
    privacy = mechanism.privacy
    apart = mechanism.space.distances
    if privacy is None:
        return None
    if math.isinf(found.delta):
        places = [query.universe.places[secret] for secret in found.widest]
        x, other = (query.universe.labels[place] for place in places)
        first, second = query.index[places]
        distances = f"{found.nearest[first, second]:.6g} apart, their answers {apart[first, second]:.6g}"
        fix = "make H on query.induced(secrets)"
        raise UnsupportedError("secrets", f"{x} and {other} are {distances}", fix)
    # A double ε' with ε·d_Y(f x, f x') ≤ ε'·d_X(x, x') for all secrets, in real numbers. Quotients of doubles are
    # rounded to 1 only from below, so that ε does where Δ is 1. Elsewhere the quotient of two distances, its product
    # with ε and the one with the margin are each rounded by 2^-53 relative, of which the margin is 16; what could be
    # subnormal counts as the least number that is not.
    epsilon = privacy.epsilon
    if found.delta != 1:
        epsilon = max(epsilon * max(found.delta, SMALLEST), SMALLEST) * (1 + _MARGIN)
    how = f"the query is {found.delta:.6g}-sensitive (CABP13 Fact 5); for its answers, {privacy.how}"
    # δ counts what two rows of H exceed e^{ε'd} by, where d is the least distance between secrets with these answers:
    # no pair of secrets is bound more tightly.
    bound = np.isfinite(found.nearest) & ~np.eye(len(apart), dtype=bool)
    relaxed = least_delta(mechanism.matrix, found.nearest, epsilon, bound) if privacy.delta else 0.0
    return Privacy(epsilon, how, relaxed)
