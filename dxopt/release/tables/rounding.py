"""The integers near a channel in doubles.

A component is a set of secrets that finite distances join; g < 1 is at least e^{-εd} for any two different rows of
it. With u = floor(T'K[x, z]) and u' = floor(T'K[x', z]), K[x, z] ≤ e^{εd} K[x', z] gives u < e^{εd}(u' + 1), so that
u + a ≤ e^{εd}(u' + a) for a ≥ 1 / (1 - g). With D = T - T', the rest of a row with k positive entries is from D - a·k
to D - a·k + m, so that rests are private where D(1 - g) ≥ (a + 1) m. Rows of K sum to 1 only within some e: either K
is taken over its row sums, and `certify` leaves room for that in its inequalities, or D(1 - g) must be 2eT larger.

With δ, an entry of 0 cannot be raised for the sake of one that is positive. With a = 2, what a pair exceeds grows by
at most 2 in each report and by what its rests differ, and D is so large that δD pays for both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.numerics.excess import bound_pairs
from dxopt.numerics.partition import Partition
from dxopt.release.tables.proof import Counts
from dxopt.release.tables.rationals import over_power_of_two

Array = NDArray[np.float64]
_UP = 1 + 2.0**-30
_MOST_PART = 2.0**-20


@dataclass(frozen=True)
class _Component:
    """Rows that are different, with the secrets of each.

    Attributes
    ----------
    groups : list of (k,) arrays
        The secrets that share a row.
    least : float
        The least budget εd between two different rows; infinite where there are no two.
    report : int
        The one that gets the rest.
    """

    groups: list[NDArray[np.int64]]
    least: float
    report: int


@dataclass(frozen=True)
class Rounding:
    """A channel `(n, m)` on its way to integers.

    Attributes
    ----------
    closest : str
        The two secrets of the least budget, for an error.
    """

    channel: Array
    components: list[_Component]
    delta: float
    closest: str

    @classmethod
    def of(cls, mechanism: Mechanism, privacy: Privacy, prior: Array, losses: Array | None) -> Rounding:
        """Find components, and in each the report whose expected loss is least, or else the likeliest."""
        space = mechanism.space
        channel = mechanism.matrix
        # One row for each class of secrets that share it, and the least budget between two classes.
        bound = bound_pairs(space.distances, privacy.pairs if privacy.delta else "all")
        distances = np.where(bound, space.distances, np.inf)
        classes = _classes(channel, distances, exact=not privacy.delta)
        apart = classes.least(distances)
        np.fill_diagonal(apart, np.inf)
        budgets = np.multiply(privacy.epsilon, apart, out=apart.copy(), where=np.isfinite(apart))
        # What finite distances join, directly or by a chain.
        joined = Partition.joining(np.isfinite(apart) | np.eye(len(apart), dtype=bool))
        # Privacy binds nothing across components, so that each has constants and a report for the rests of its own.
        components = []
        for which in range(joined.size):
            rows = joined.members(which)
            groups = [classes.members(row) for row in rows]
            members = np.concatenate(groups)
            wanted = _report(channel[members], prior[members], None if losses is None else losses[members])
            components.append(_Component(groups, float(budgets[np.ix_(rows, rows)].min()), wanted))
        one, other = (classes.members(int(row))[0] for row in np.unravel_index(budgets.argmin(), budgets.shape))
        closest = f"{space.labels[one]} and {space.labels[other]}"
        return cls(channel, components, privacy.delta, closest)

    def counts(self, bits: int, normalised: bool) -> Counts | None:
        """Integers `(n, m)` with row sums 2^bits, or None where hardly any of them would be left for the channel.

        Parameters
        ----------
        bits : int
        normalised : bool
            Whether to take K over its row sums.
        """
        counts = np.zeros(self.channel.shape, dtype=object)
        for component in self.components:
            found = self._constant(component, bits, normalised)
            if found is None:
                return None
            constant, left = found
            for group in component.groups:
                # Rounded down on the scale of T' = T - D, and what is left of T to one report.
                row = _row(self.channel[group[0]], (1 << bits) - left, constant, normalised)
                row[component.report] += (1 << bits) - sum(row)
                counts[group] = row
        return counts

    def _constant(self, component: _Component, bits: int, normalised: bool) -> tuple[int, int] | None:
        """a and D, or None where D would be too large a part of T."""
        reports = self.channel.shape[1]
        total = 2.0**bits
        # e, how far row sums are from 1 at most; nothing where rows are taken over their sums.
        rows = self.channel[[group[0] for group in component.groups]]
        error = 0.0 if normalised else max(abs(math.fsum([-1.0, *row])) for row in rows)
        lone = math.isinf(component.least)
        if self.delta:
            # D ≥ 4m/δ: what m reports exceed by rounding, 2 each, is at most half of δD. The other half is for the
            # rests r and r', both near D: r ≤ e^{εd} r' + δD/2 leaves (e^{εd} - 1 + δ/2) D for what they differ by.
            constant = 2.0
            room = self.delta / 2 + (1.0 if lone else min(1.0, math.expm1(min(component.least, 1.0))))
            left = max(4 * reports / self.delta, (4 * error * total + 6 * (constant + 1) * (reports + 1)) / room)
        else:
            # `room` is 1 - g: a ≥ 1 / (1 - g), and D(1 - g) ≥ 2eT + (a + 1) m.
            room = -math.expm1(-component.least) / _UP
            if not room > 1 / total:
                return None
            constant = 0.0 if lone else math.ceil(1 / room)
            left = (2 * error * total + (constant + 1) * reports) / room
        # D of more than 2^-20 of T would move the channel too far.
        return (int(constant), math.ceil(left * _UP)) if left < _MOST_PART * total else None


def _row(row: Array, scale: int, constant: int, normalised: bool) -> list[int]:
    """floor(scale · K[z]) + a where K[z] > 0, with K over its sum where that is asked for."""
    entries, shift = over_power_of_two(row)
    whole = sum(entries) if normalised else 1 << shift
    return [scale * entry // whole + constant if entry else 0 for entry in entries]


def _classes(channel: Array, distances: Array, *, exact: bool) -> Partition:
    """Classes of secrets with equal rows, as those at distance 0, one way or both, have where privacy is `exact`."""
    kinds: dict[bytes, int] = {}
    kind = np.array([kinds.setdefault(row.tobytes(), len(kinds)) for row in channel])
    same = kind[:, None] == kind
    return Partition.joining(same | (distances == 0) if exact else same)


def _report(rows: Array, prior: Array, losses: Array | None) -> int:
    """The report that loses least among those possible for every secret, if any; without losses the likeliest."""
    weights = prior if prior.any() else np.ones(len(prior))
    if losses is None:
        return int((weights @ rows).argmax())
    # A report that is possible for all keeps rests private; where there is none, rests meet at one possible for some.
    possible = (rows > 0).all(axis=0)
    if not possible.any():
        possible = (rows > 0).any(axis=0)
    likely = weights > 0
    return int(np.where(possible, weights[likely] @ losses[likely], np.inf).argmin())
