"""Mechanisms as measurements of OpenDP, sampled exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from dxopt.errors import DxoptError, SpecError, UnsupportedError, optional
from dxopt.model.mechanism import Mechanism
from dxopt.model.sampling import required_mechanism
from dxopt.numerics.exact_rational import float_above
from dxopt.release.tables import IntegerTable, integer_table
from dxopt.spaces.space import MetricSpace

if TYPE_CHECKING:
    from opendp.mod import Measurement


def to_opendp(mechanism: Mechanism | IntegerTable) -> Measurement:
    """Make a measurement of OpenDP that takes a secret, by label or index, and draws the label of a report.

    Its distances are those of the space, unscaled, or the larger one of d(x, x') and d(x', x); it maps a distance d
    to ε·d, rounded up, under the max-divergence, or to (ε·d, δ) under the approximate one. What it draws has the
    probabilities of an integer table exactly, with the operating system's random bits. Domain and metric carry a
    digest of labels and distances, so that only measurements of the same space are composed.

    Parameters
    ----------
    mechanism : Mechanism or IntegerTable
        A mechanism needs a proof of privacy; `dx.integer_table` is made of it. A table is checked again.

    Raises
    ------
    UnsupportedError
        If OpenDP is not installed, or δ binds only adjacent secrets: chains of them are not bound by δ.
    SpecError
        If nothing is proven of the mechanism.
    CertificateError
        If the privacy that is claimed does not hold.
    opendp.mod.OpenDPException
        Unless `opendp.mod.enable_features("contrib", "honest-but-curious")` was called: OpenDP cannot see the proof.

    Examples
    --------
    >>> import dxopt as dx
    >>> import opendp.prelude as dp
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> measurement = dx.to_opendp(dx.classic.geometric(dx.line(3), epsilon=1.0))
    >>> print(round(measurement.map(1.0), 6), measurement("0") in ("0", "1", "2"))
    1.0 True
    """
    optional("opendp")
    from opendp.domains import user_domain
    from opendp.measurements import make_user_measurement
    from opendp.measures import approximate, max_divergence
    from opendp.metrics import user_distance
    from opendp.mod import assert_features

    required_mechanism(mechanism)
    assert_features("contrib", "honest-but-curious")
    if isinstance(mechanism, IntegerTable):
        mechanism.check()
    table = mechanism if isinstance(mechanism, IntegerTable) else integer_table(mechanism)
    if table.delta and table.pairs != "all":
        raise UnsupportedError("pairs", f"are {table.pairs}", "prove delta for all pairs of secrets")
    digest = _digest(table.space)
    pure = max_divergence()
    return make_user_measurement(
        user_domain(f"dxopt secrets {digest}", lambda secret: _is_secret(table.space, secret)),
        user_distance(f"dxopt distance {digest}"),
        approximate(pure) if table.delta else pure,
        lambda secret: str(table.reports.labels[int(table.sample(_require_one(secret))[0])]),
        lambda distance: (_budget(table, distance), table.delta) if table.delta else _budget(table, distance),
        TO="String",
    )


def _require_one(secret: Any) -> Any:
    """Return a secret; SpecError for a list or array of several, of which only the first report would be drawn."""
    if not isinstance(secret, tuple) and np.ndim(secret):
        raise SpecError("secret", "is several", "give one label")
    return secret


def _is_secret(space: MetricSpace, secret: Any) -> bool:
    try:
        space.index(secret)
    except DxoptError:
        return False
    return True


def _budget(table: IntegerTable, distance: float) -> float:
    """Return ε·d, rounded up so that it is never less than what is spent; infinite for an infinite distance."""
    if not distance >= 0:
        raise SpecError("d_in", f"is {distance!r}", "give a distance of 0 or more")
    return math.inf if math.isinf(distance) else float_above(Fraction(table.epsilon) * Fraction(distance))


def _digest(space: MetricSpace) -> str:
    """Return a digest of labels and distances, so that OpenDP tells spaces apart that differ in either."""
    parts = sha256(repr(list(space.labels)).encode())
    parts.update(np.ascontiguousarray(space.distances, dtype="<f8").tobytes())
    return parts.hexdigest()[:32]
