"""The averaging attack: what n independent reports of one secret give away to whoever knows the prior."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.arguments import channel_of
from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.prior import Prior, PriorLike
from dxopt.model.sampling import Sampler
from dxopt.numerics.coerce import checked_count, checked_counts
from dxopt.numerics.draws import generator
from dxopt.runtime.display import Shown, as_html_table, as_html_text

Array = NDArray[np.float64]
MOST_MULTISETS = 100_000
MOST_REPORTS = 100_000
DOUBLINGS = (1, 2, 4, 8, 16, 32, 64)
_BLOCK_CELLS = 4_000_000
_MOST_CELLS = 100_000_000
_MISSED = 0.05
"""The probability that an interval misses."""
_FEWEST_RUNS = 100


@dataclass(frozen=True, repr=False)
class Attack(Shown):
    """Leakage of n reports of one secret.

    Attributes
    ----------
    reports : int
        n.
    named : float
        The probability that the likeliest secret, given the reports, is the true one.
    error : float
        The least expected loss of a guess given the reports, in units of the loss: by default of distance.
    exact : bool
        True where all multisets of n reports were counted, up to rounding.
    named_within, error_within : float
        Otherwise: half the width of an interval about each number, which holds the truth with 95 %; 0 where exact.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> (attack,) = dx.inference.repeated(mechanism, "uniform", 10).attacks
    >>> print(attack.reports, round(attack.named, 3), round(attack.error, 3), attack.exact)
    10 0.913 0.087 True
    """

    reports: int
    named: float
    error: float
    exact: bool
    named_within: float = 0.0
    error_within: float = 0.0


@dataclass(frozen=True, repr=False)
class Repeated(Shown):
    """The averaging attack, for several numbers of reports; prints as a table.

    Attributes
    ----------
    attacks : tuple of Attack
        In the order of the numbers asked for.
    named_before, error_before : float
        The same without any report, from the prior alone.
    name : str
        Of the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> found = dx.inference.repeated(mechanism, "uniform", [1, 4, 16])
    >>> print(round(found.named_before, 3), [round(attack.named, 3) for attack in found.attacks])
    0.333 [0.641, 0.763, 0.964]
    """

    attacks: tuple[Attack, ...]
    named_before: float
    error_before: float
    name: str

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        table = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        last = self.attacks[-1]
        several = "one report" if last.reports == 1 else f"{last.reports:,} reports"
        said = (
            f"Whoever knows the prior and sees {several} of one secret, drawn independently, names it with "
            f"probability {last.named:.2%} ({self.named_before:.2%} before), expected error {last.error:.4g} "
            f"({self.error_before:.4g} before)."
        )
        return "\n".join([self.name, *table, said])

    def _rows(self) -> list[tuple[str, str, str]]:
        """Return the table, the names of its columns first."""
        head = "reports", "secret named", "expected error"
        rows = [head, ("0", f"{self.named_before:.2%}", f"{self.error_before:.4g}")]
        for one in self.attacks:
            named = f"{one.named:.2%}" + ("" if one.exact else f" ± {one.named_within:.2%}")
            error = f"{one.error:.4g}" + ("" if one.exact else f" ± {one.error_within:.2g}")
            rows.append((f"{one.reports:,}", named, error))
        return rows

    def _summary(self) -> str:
        last = self.attacks[-1]
        return f"{self.name}: {last.reports:,} reports name the secret with probability {last.named:.3g}"

    def _repr_html_(self) -> str:
        *_, said = str(self).splitlines()
        return as_html_text([self.name]) + as_html_table(self._rows()) + as_html_text([said])


def repeated(
    mechanism: Sampler,
    prior: PriorLike,
    reports: int | Sequence[int] = DOUBLINGS,
    *,
    loss: LossLike | Loss = "distance",
    guesses: Reports | None = None,
    runs: int = 10_000,
    rng: np.random.Generator | None = None,
) -> Repeated:
    """Attack n independent reports of one secret as the Bayesian adversary who averages.

    Given the reports, the adversary names the likeliest secret, Σ_z max_x π_x K[x, z_1] … K[x, z_n], or makes the
    guess that is expected to lose least (Cha13), Σ_z min_w Σ_x π_x K[x, z_1] … K[x, z_n] l(x, w). Reports count as a
    multiset: all of these are enumerated where there are at most 100,000. Beyond that, secrets and reports are drawn.
    The posterior of each run is exact, so that only the mean over runs is uncertain; its interval is the empirical
    Bernstein bound (Maurer and Pontil 2009, Thm 4), which holds for any number of runs.

    Parameters
    ----------
    mechanism : Mechanism or IntegerTable
        Of n secrets.
    prior : Prior
        What the adversary believes, and how secrets are distributed.
    reports : int or sequence of int
        How many reports of the same secret are seen: 1, 2, 4, … 64 by default.
    loss : str, array `(n, w)`, callable or Loss
        Of each guess, finite; see `Loss.of`.
    guesses : Reports, optional
        For a named loss, what may be guessed; the secrets by default.
    runs : int
        Where reports are drawn.
    rng : numpy.random.Generator, optional
        The operating system's randomness by default.

    Raises
    ------
    SpecError
        If numbers are out of range, the prior is about other secrets, or the loss is infinite somewhere.
    UnsupportedError
        If there are too many runs for so many secrets and reports: 100 million in all.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(5), epsilon=0.5)
    >>> for attack in dx.inference.repeated(mechanism, "uniform", [1, 8]).attacks:
    ...     print(attack.reports, "reports: named with probability", round(attack.named, 3))
    1 reports: named with probability 0.396
    8 reports: named with probability 0.604
    """
    numbers = checked_counts("reports", reports, MOST_REPORTS)
    if not numbers:
        raise SpecError("reports", "are none", "give at least one number")
    channel = channel_of(mechanism)
    believed = Prior.of(prior, mechanism.space).probabilities
    losses = Loss.of(loss, mechanism.space, guesses).matrix
    if not np.isfinite(losses).all():
        raise SpecError("loss", "is infinite for some secret and guess", "give finite losses")
    runs = checked_count("runs", runs, _FEWEST_RUNS)
    if runs * max(*channel.shape, losses.shape[1]) > _MOST_CELLS:
        raise UnsupportedError("runs", f"are {runs:,} of {len(believed):,} secrets", "take fewer")

    # Secrets that are ruled out, and reports that are never made, do not matter.
    possible = believed > 0
    weights, losses = believed[possible], losses[possible]
    channel = channel[possible]
    channel = channel[:, channel.max(axis=0) > 0]
    kinds = channel.shape[1]
    few = [number for number in numbers if math.comb(kinds + number - 1, number) <= MOST_MULTISETS]
    many = [number for number in numbers if number not in few]
    found = {number: _exact_attack(channel, weights, losses, number) for number in few}
    if many:
        found |= _estimated_attacks(channel, weights, losses, many, int(runs), rng)
    # Without any report; an integer table has no name.
    before = float(weights.max()), float((weights @ losses).min())
    return Repeated(tuple(found[number] for number in numbers), *before, getattr(mechanism, "name", "mechanism"))


def _exact_attack(channel: Array, weights: Array, losses: Array, number: int) -> Attack:
    """Return the exact attack on `number` reports, from all multisets of reports and their probabilities."""
    kinds = channel.shape[1]
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, number + 1)))])
    named: list[float] = []
    error: list[float] = []
    for counts in _multisets(kinds, number, max(1, _BLOCK_CELLS // max(kinds, *losses.shape))):
        # ln of how many sequences each of t multisets has; times the probability of one of them and a secret, (t, n).
        sequences = factorials[number] - factorials[counts].sum(axis=1)
        joint = np.exp(_log_likelihoods(counts, channel) + sequences[:, None]) * weights
        named.append(math.fsum(joint.max(axis=1)))
        error.append(math.fsum((joint @ losses).min(axis=1)))
    return Attack(number, min(math.fsum(named), 1.0), math.fsum(error), True)


def _log_likelihoods(counts: NDArray[np.int64], channel: Array) -> Array:
    """Return Σ_z c_z ln K[x, z] for t rows of counts c of m reports, `(t, n)`; minus infinity where impossible."""
    with np.errstate(divide="ignore"):
        logs = np.log(channel)
    never = np.isinf(logs)
    sums = counts @ np.where(never, 0.0, logs).T
    return np.where(counts @ never.T > 0, -np.inf, sums)


def _multisets(kinds: int, number: int, size: int) -> Iterator[NDArray[np.int64]]:
    """Yield all multisets of `number` reports as counts of each kind, `(t, kinds)`, at most `size` at a time."""
    # Each is a row of reports with a bar between one kind and the next: the counts are what lies between two bars.
    end = number + kinds - 1
    placings = combinations(range(end), kinds - 1)
    while some := list(islice(placings, size)):
        bars = np.array(some, dtype=np.int64).reshape(len(some), kinds - 1)
        yield np.diff(bars, axis=1, prepend=-1, append=end) - 1


def _estimated_attacks(
    channel: Array, weights: Array, losses: Array, numbers: Sequence[int], runs: int, rng: np.random.Generator | None
) -> dict[int, Attack]:
    """Estimate the attacks on several numbers of reports, as means over runs.

    Each run draws a secret and its reports, to which those of the next larger number are added; the posterior after
    them is exact.
    """
    source = np.random.default_rng() if rng is None else generator(rng)
    secrets = source.choice(len(weights), size=runs, p=weights / weights.sum())
    reports = channel.shape[1]
    counts = np.zeros((runs, reports), dtype=np.int64)
    rows = channel / channel.sum(axis=1, keepdims=True)
    found: dict[int, Attack] = {}
    before = 0
    for number in sorted(set(numbers)):
        counts += source.multinomial(number - before, rows[secrets])
        before = number
        posterior = _log_likelihoods(counts, channel) + np.log(weights)
        posterior = np.exp(posterior - posterior.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        named = posterior.max(axis=1)
        error = (posterior @ losses).min(axis=1)
        span = float(losses.max() - losses.min())
        within = half_width(named, 1.0), half_width(error, span)
        found[number] = Attack(number, float(named.mean()), float(error.mean()), False, *within)
    return found


def half_width(values: Array, span: float) -> float:
    """Return half the width of the empirical Bernstein interval about the mean of values in a range of this span."""
    runs = len(values)
    # The bound is one-sided; both sides together miss with twice its probability.
    doubt = math.log(4 / _MISSED)
    return math.sqrt(2 * float(values.var(ddof=1)) * doubt / runs) + 7 * span * doubt / (3 * (runs - 1))
