"""From a mechanism in doubles to a private table of integers near it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.evaluate import matching
from dxopt.errors import CertificateError, SpecError, UnsupportedError
from dxopt.model.loss import Loss, LossLike
from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.model.prior import PriorLike
from dxopt.release.tables.difference import Difference
from dxopt.release.tables.proof import Counts
from dxopt.release.tables.rounding import Rounding
from dxopt.release.tables.table import BITS, IntegerTable
from dxopt.runtime.live import Progress, shows, told

MOST_COST = 1e-12
"""The most that rounding may cost, relative to the expected loss, or to 1 where that is smaller."""
MOST_TRIPLES = 8_000_000_000
"""The most triples (x, x', z) that are proven."""
_CERTIFIED = "one of dx.solve or dx.classic, or dx.certify(mechanism, space, epsilon)"


@shows
def integer_table(
    mechanism: Mechanism,
    *,
    prior: PriorLike | None = None,
    loss: LossLike | Loss | None = None,
    progress: Progress | bool | None = None,
) -> IntegerTable:
    """The mechanism as integers with equal row totals, private at the same ε and δ: proven by integers alone.

    Its entries are floor(T'·K[x, z]) + a where K is positive, and 0 elsewhere; the rest of a row up to T goes to one
    report. The constant a pays for rounding down, and T' leaves so much that what goes to that report is private
    as well. The entries of K count as the rationals that the doubles are.

    Parameters
    ----------
    mechanism : Mechanism
        With n secrets, m reports and a proof of privacy; n²·m is at most 8e9, which takes minutes.
    prior : Prior, optional
        Uniform by default.
    loss : str, array `(n, m)`, callable or Loss, optional
        What the cost is measured in, and which report gets the rest of each row: the one that loses least. By
        default the distance, where reports are secrets or have coordinates; else the likeliest report gets it.
    progress : bool or callable, optional
        True shows a bar, as in `dx.solve`; a callable is given lines that report how far it is.

    Returns
    -------
    IntegerTable
        With T = 2^64 where that costs at most 1e-12 in accuracy: in expected loss, relative where that is above 1.
        Else with the smallest of 2^128, 2^192 and 2^256 that does.

    Raises
    ------
    SpecError
        If nothing is proven of the mechanism, or prior or loss do not fit it.
    UnsupportedError
        If it is too large, or some secrets are too close for that cost, or no report can get the rest of the rows
        without infinite loss, as where some secrets have no report in common.
    CertificateError
        If the privacy that the mechanism claims does not hold.

    Examples
    --------
    >>> import dxopt as dx
    >>> table = dx.integer_table(dx.classic.geometric(dx.line(3), epsilon=1.0))
    >>> print(table.total == 2**64, sum(table.counts[0]) == table.total, table.epsilon)
    True True 1.0
    """
    privacy = _claimed(mechanism)
    beliefs = matching(mechanism, "uniform" if prior is None else prior)
    losses = _losses(mechanism, loss)
    rounding = Rounding.of(mechanism, privacy, beliefs, losses)
    difference = Difference(mechanism.matrix, beliefs, losses)
    tell = told(progress)
    refused = None
    # First over the row sums, which leaves more to the channel; without δ, and where the proof fails, as it is.
    # Larger T cost less: the first that costs little enough is taken.
    for normalised in (False,) if privacy.delta else (True, False):
        for bits in BITS:
            tell(f"rounding to integers out of 2^{bits}")
            table = _table_within_cost(mechanism, privacy, rounding.counts(bits, normalised), difference, bits)
            if table is None:
                continue
            try:
                table.check(tell)
            except CertificateError as error:
                refused = error
                break
            return table
    if refused is not None:
        raise refused
    raise UnsupportedError(
        "mechanism",
        f"tells {rounding.closest} apart, which are too close for integers of {BITS[-1]} bits that cost "
        f"at most {MOST_COST:g}",
        "merge them, or allow more epsilon or delta",
    )


def _claimed(mechanism: Mechanism) -> Privacy:
    """The privacy of a mechanism that can be made a table; SpecError or UnsupportedError of another."""
    if not isinstance(mechanism, Mechanism):
        raise SpecError("mechanism", f"is of type {type(mechanism).__name__}", f"give {_CERTIFIED}")
    privacy = mechanism.privacy
    secrets = len(mechanism.space)
    reports = len(mechanism.reports)
    if privacy is None or not math.isfinite(privacy.epsilon):
        raise SpecError("mechanism", "has no proof of privacy", f"give {_CERTIFIED}")
    if secrets**2 * reports > MOST_TRIPLES:
        raise UnsupportedError(
            "mechanism", f"has {secrets:,} secrets and {reports:,} reports", f"n²·m is at most {MOST_TRIPLES:.0e}"
        )
    return privacy


def _table_within_cost(
    mechanism: Mechanism, privacy: Privacy, counts: Counts | None, difference: Difference, bits: int
) -> IntegerTable | None:
    """The table of these counts, not yet proven, or None where there are none or they cost too much."""
    if counts is None:
        return None
    cost = difference.cost(counts, bits)
    variation = difference.variation(counts, bits)
    if math.isinf(cost):
        raise UnsupportedError(
            "loss", "is infinite for each report that could get the rest of the rows", "give a finite one"
        )
    if abs(variation if math.isnan(cost) else cost) > MOST_COST * max(1.0, abs(difference.expected)):
        return None
    return IntegerTable(
        mechanism.space,
        mechanism.reports,
        counts,
        bits,
        privacy.epsilon,
        privacy.delta,
        privacy.pairs,
        cost,
        variation,
        mechanism.name,
        difference.prior,
    )


def _losses(mechanism: Mechanism, loss: LossLike | Loss | None) -> NDArray[np.float64] | None:
    """What reports lose, `(n, m)`, or None where nothing was given and no distance is known."""
    space = mechanism.space
    reports = mechanism.reports
    if loss is None:
        if not (reports.secrets or (reports.points is not None and space.metric is not None)):
            return None
        loss = "distance"
    losses = Loss.of(loss, space, reports).matrix
    if losses.shape != (len(space), len(reports)):
        raise SpecError("loss", f"has {losses.shape[1]} columns", f"the mechanism has {len(reports)} reports")
    return losses
