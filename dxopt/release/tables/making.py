"""Round a mechanism in doubles to a private table of integers near it.

Symbols (and their names in the code):

    K   the private channel, with m reports (`channel`)
    T   the sum of each row of integers, 2^bits (`total`)
    D   the part of T that is kept back for the rests of rows (`reserved`)
    T'  T - D, what K is multiplied by (`scale`)
    a   what is added to each positive entry against rounding down (`raised`)
    r   the rest of a row: what its entries are short of T
    N   the table: N[x, z] = floor(T'K[x, z]) + a where K[x, z] > 0, else 0; r is added to one report of each row

What follows says which a and D make N private. Every table is proven by integers afterwards all the same.

A component is a set of secrets that finite distances join; g < 1 is at least e^{-εd} for any two different rows of
it. With u = floor(T'K[x, z]) and u' = floor(T'K[x', z]), K[x, z] ≤ e^{εd} K[x', z] gives u < e^{εd}(u' + 1), so that
u + a ≤ e^{εd}(u' + a) for a ≥ 1 / (1 - g). In a row with k positive entries these are rounded down by 0 to k in all,
so that its rest r has D - a·k ≤ r ≤ D - a·k + k. Hence rests are private where D(1 - g) ≥ (a + 1) m:

    r ≤ D + m ≤ e^{εd} (D - a·m) ≤ e^{εd} r'.

Where the entries of a report and the rests are private, so are their sums.

Rows of K sum to 1 only within some e, which moves each rest by up to eT: D(1 - g) must be 2eT larger. Or else K is
divided by its row sums, so that e is 0. That changes quotients of entries by up to about 2e, for which the channels
of `certify` usually leave room; where they do not, the proof by integers fails, and the table is made the first way.

With δ, Σ_z max(0, K[x, z] - e^{εd} K[x', z]) ≤ δ, so that T' times this leaves δT - δT' = δD for what rounding adds.
Where both entries are positive it adds at most 1, for every a ≥ 1:

    u + a - e^{εd}(u' + a) ≤ T'(K[x, z] - e^{εd} K[x', z]) + 1.

Where only the first one is positive, it adds up to a, as an entry of 0 stays 0. With a = 2 (1 would do) that is at
most 2 in each report. The rests add max(0, r - e^{εd} r'). `_constants` has the D at which δD pays for both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.evaluate import matching
from dxopt.errors import CertificateError, SpecError, UnsupportedError
from dxopt.model.loss import Loss, LossLike
from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.model.prior import PriorLike
from dxopt.model.sampling import required_mechanism
from dxopt.numerics.hockey_stick import bound_pairs
from dxopt.numerics.partition import Partition
from dxopt.release.tables.proof import Counts, Difference, over_power_of_two
from dxopt.release.tables.table import BITS, IntegerTable
from dxopt.runtime.progress import Progress, or_silence, shows

Array = NDArray[np.float64]
_UP = 1 + 2.0**-30
"""More than the relative rounding of the few operations on doubles that give a and D."""
_MOST_PART = 2.0**-20
"""The largest D, as a part of T: more would move the channel too far."""


@dataclass(frozen=True)
class _Component:
    """Rows that are different: groups of secrets `(k,)` that share one, and the report that gets all of their rests.

    `least` is the least budget εd between two of them, so that g = e^{-least}; infinite where there are no two.
    """

    groups: list[NDArray[np.int64]]
    least: float
    report: int


@dataclass(frozen=True)
class Rounding:
    """A channel K `(n, m)` on its way to integers: its components, each secret in one, and δ, 0 for plain privacy.

    `closest` names the two secrets of the least budget, for the error that no T is large enough.
    """

    channel: Array
    components: list[_Component]
    delta: float
    closest: str

    @classmethod
    def of(cls, mechanism: Mechanism, privacy: Privacy, prior: Array, losses: Array | None) -> Rounding:
        """Find the components of a mechanism, each with the report that gets its rests (`_report_for_rests`)."""
        space = mechanism.space
        channel = mechanism.matrix
        # One row for each class of secrets that share it, and the least budget between two classes. Without δ what
        # holds for adjacent pairs holds for all at finite distance, by chains; with δ it does not.
        bound = bound_pairs(space.distances, privacy.pairs if privacy.delta else "all")
        distances = np.where(bound, space.distances, np.inf)
        classes = _classes(channel, distances, exact=not privacy.delta)
        apart = classes.least(distances)
        np.fill_diagonal(apart, np.inf)
        # Infinite ones stay so at ε = 0.
        budgets = np.multiply(privacy.epsilon, apart, out=apart.copy(), where=np.isfinite(apart))
        # Classes that finite distances join, directly or by a chain.
        joined = Partition.joining(np.isfinite(apart) | np.eye(len(apart), dtype=bool))
        # Privacy binds nothing across components, so that each has constants and a report for the rests of its own.
        components = []
        for which in range(joined.size):
            rows = joined.members(which)
            groups = [classes.members(row) for row in rows]
            members = np.concatenate(groups)
            wanted = _report_for_rests(channel[members], prior[members], None if losses is None else losses[members])
            components.append(_Component(groups, float(budgets[np.ix_(rows, rows)].min()), wanted))
        # (If no two rows are bound, both are the first secret; nothing is too close then, and none is named.)
        one, other = (classes.members(int(row))[0] for row in np.unravel_index(budgets.argmin(), budgets.shape))
        closest = f"{space.labels[one]} and {space.labels[other]}"
        return cls(channel, components, privacy.delta, closest)

    def rounded_counts(self, bits: int, normalised: bool) -> Counts | None:
        """Round the channel to integers `(n, m)` with row sums T = 2^bits.

        Return None if more than 2^-20 of T would have to be reserved for the rests of rows (D, see `_constants`).
        The channel is divided by its row sums first where it is to be `normalised`.
        """
        counts = np.zeros(self.channel.shape, dtype=object)
        for component in self.components:
            found = self._constants(component, bits, normalised)
            if found is None:
                return None
            raised, reserved = found
            for group in component.groups:
                # Rounded down on the scale of T' = T - D and raised by a, and the rest of the row to one report.
                # Secrets of a group that are at distance 0 may differ by rounding; the row of the first is for all.
                row = _rounded_row(self.channel[group[0]], (1 << bits) - reserved, raised, normalised)
                row[component.report] += (1 << bits) - sum(row)
                counts[group] = row
        return counts

    def _constants(self, component: _Component, bits: int, normalised: bool) -> tuple[int, int] | None:
        """Return `raised` (a, added to each positive entry) and `reserved` (D, the part of T kept for the rests).

        The header proves a component private with them. None if D would move the channel too far (`_MOST_PART`).
        """
        reports = self.channel.shape[1]
        total = 2.0**bits
        # e, how far row sums are from 1 at most; nothing where rows are divided by their sums.
        rows = self.channel[[group[0] for group in component.groups]]
        error = 0.0 if normalised else max(abs(math.fsum([-1.0, *row])) for row in rows)
        lone = math.isinf(component.least)
        if self.delta:
            # D ≥ 4m/δ: what m reports exceed by rounding, 2 each, is at most half of δD. The other half is for the
            # rests r and r'. Both are within s = eT + (a + 1)(m + 1) of D, and so r ≤ e^{εd} r' + δD/2 holds if
            # s (1 + e^{εd}) ≤ (e^{εd} - 1 + δ/2) D. D ≥ 3s / (min(1, e^{εd} - 1) + δ/2) is enough: if e^{εd} ≤ 2, as
            # 1 + e^{εd} ≤ 3; else as it is so at e^{εd} = 2, and the right side then rises faster than the left one,
            # by D ≥ 3s / (1 + δ/2) ≥ s. The D taken here is larger still, up to twice. (`least` is cut at 1 against
            # overflow, as e^1 - 1 > 1.)
            raised = 2.0
            room = self.delta / 2 + (1.0 if lone else min(1.0, math.expm1(min(component.least, 1.0))))
            reserved = max(4 * reports / self.delta, (4 * error * total + 6 * (raised + 1) * (reports + 1)) / room)
        else:
            # `room` is 1 - g: a ≥ 1 / (1 - g), and D(1 - g) ≥ 2eT + (a + 1) m. A lone row has none to be compared
            # with, so that a is 0, and entries of less than 1 / T' become 0.
            room = -math.expm1(-component.least) / _UP
            if not room > 1 / total:
                return None
            raised = 0.0 if lone else math.ceil(1 / room)
            reserved = (2 * error * total + (raised + 1) * reports) / room
        return (int(raised), math.ceil(reserved * _UP)) if reserved < _MOST_PART * total else None


def _rounded_row(row: Array, scale: int, raised: int, normalised: bool) -> list[int]:
    """Return floor(scale · K[z]) + raised for each K[z] > 0, else 0; if `normalised`, of K divided by its sum."""
    entries, shift = over_power_of_two(row)
    whole = sum(entries) if normalised else 1 << shift
    return [scale * entry // whole + raised if entry else 0 for entry in entries]


def _classes(channel: Array, distances: Array, *, exact: bool) -> Partition:
    """Return classes of secrets that are to get the same row of integers: those with equal rows of the channel.

    If privacy is `exact` (without δ), secrets at distance 0, in one direction or both, share a class as well:
    d(x, x') = 0 says that K[x, z] ≤ K[x', z] in every report, and both rows sum to 1, so that they are equal.
    """
    kinds: dict[bytes, int] = {}
    kind = np.array([kinds.setdefault(row.tobytes(), len(kinds)) for row in channel])
    same = kind[:, None] == kind
    return Partition.joining(same | (distances == 0) if exact else same)


def _report_for_rests(rows: Array, prior: Array, losses: Array | None) -> int:
    """Return the report that is to get the rests of a component's rows, where they cost least.

    It is that of least expected loss among those possible for every secret; without losses the likeliest.
    """
    weights = prior if prior.any() else np.ones(len(prior))
    if losses is None:
        return int((weights @ rows).argmax())
    # Rests are private in any report that all secrets share for them. In one that is possible for all, they also make
    # nothing possible that was not; where there is none, they go to one that is possible for some.
    possible = (rows > 0).all(axis=0)
    if not possible.any():
        possible = (rows > 0).any(axis=0)
    # Secrets of weight 0 are left out, as 0 times an infinite loss is no number.
    likely = weights > 0
    return int(np.where(possible, weights[likely] @ losses[likely], np.inf).argmin())


MOST_COST = 1e-12
"""The most that rounding may cost, relative to the expected loss, or to 1 where that is smaller."""
MOST_TRIPLES = 100_000_000_000
"""The most triples (x, x', z) that are proven."""
_TRIPLE, _PAIR = 6e-9, 1e-5
"""Seconds to prove a triple by leading bits, and to enclose the power of a pair, on a core of 2 to 3 GHz."""
_CERTIFIED = "one of dx.solve or dx.classic, or dx.certify(mechanism, space, epsilon)"


@shows
def integer_table(
    mechanism: Mechanism,
    *,
    prior: PriorLike | None = None,
    loss: LossLike | Loss | None = None,
    progress: Progress | bool | None = None,
) -> IntegerTable:
    """Round a mechanism to integers with equal row totals, private at the same ε and δ: proven by integers alone.

    Its entries are floor(T'·K[x, z]) + a where K is positive, and 0 elsewhere; the rest of a row up to T goes to one
    report. The constant a pays for rounding down, and T' leaves so much that what goes to that report is private
    as well. The entries of K count as the rationals that the doubles are.

    Parameters
    ----------
    mechanism : Mechanism
        With n secrets, m reports and a proof of privacy; n²·m is at most 1e11, which takes ten minutes.
    prior : Prior, optional
        Uniform by default.
    loss : str, array `(n, m)`, callable or Loss, optional
        Measure of the cost; the rest of each row goes to the report that loses least by it. By default the distance,
        where reports are secrets or have coordinates; else the likeliest report gets it.
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
    privacy = _claimed_privacy(mechanism)
    beliefs = matching(mechanism, "uniform" if prior is None else prior)
    losses = _losses(mechanism, loss)
    rounding = Rounding.of(mechanism, privacy, beliefs, losses)
    difference = Difference(mechanism.matrix, beliefs, losses)
    tell = or_silence(progress)
    refused = None
    # Without δ, first with the channel divided by its row sums, which needs a smaller D. With δ, or if that gives no
    # proven table, with the channel as it is. Larger T cost less: the first that costs little enough is taken.
    for normalised in (False,) if privacy.delta else (True, False):
        for bits in BITS:
            tell(f"rounding to integers out of 2^{bits}")
            counts = rounding.rounded_counts(bits, normalised)
            table = _table_within_cost(mechanism, privacy, counts, difference, bits)
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


def seconds_to_make(secrets: int, reports: int) -> float:
    """Return about how long a table takes, nearly all of it for the proof."""
    return secrets**2 * (_TRIPLE * reports + _PAIR / 2)


def _claimed_privacy(mechanism: Mechanism) -> Privacy:
    """Return the privacy that the table is to have; an error if the mechanism has none proven, or is too large."""
    required_mechanism(mechanism, Mechanism)
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
    """Return the table of these counts, not yet proven; None if there are no counts, or they cost too much.

    UnsupportedError if they cost infinitely much, as no larger T would help.
    """
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
    """Return the losses of reports `(n, m)`; None if no loss is given, and reports have no distance to secrets."""
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
