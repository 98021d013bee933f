"""A mechanism as integers, sampled exactly."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError, SpecError
from dxopt.model.loss import Reports, pack_reports, unpack_reports
from dxopt.model.sampling import Sampler
from dxopt.numerics.draws import alike, words
from dxopt.numerics.excess import bound_pairs
from dxopt.release.tables.proof import Counts, violation
from dxopt.runtime.archive import read, write
from dxopt.spaces.archive import pack, unpack
from dxopt.spaces.naming import Naming
from dxopt.spaces.space import MetricSpace

FORMAT = 1
"""The version of files of tables."""
WORD = 64
BITS = (64, 128, 192, 256)
"""The T that a table may have, as powers of two."""
_CLAIMS = {"epsilon": float, "delta": float, "pairs": str, "cost": float, "variation": float, "name": str}


@dataclass(frozen=True, eq=False, repr=False)
class IntegerTable(Sampler):
    """Probabilities N[x, z] / T of n secrets and m reports in integers, every row of which sums to T exactly.

    `dx.integer_table` makes one of a mechanism. Where the random bits are uniform, `sample` draws with exactly these
    probabilities, so that the privacy proven of the table is that of the reports (Mironov 2012 on what rounding can
    leak).

    Attributes
    ----------
    space : MetricSpace
    reports : Reports
    counts : (n, m) array of int, read-only
        N, as Python integers.
    bits : int
        T is 2^bits.
    epsilon : float
        N[x, z] ≤ e^{εd(x, x')} N[x', z] for all pairs and reports; εd is the real product of two doubles.
    delta : float
        Where positive, Σ_z max(0, N[x, z] - e^{εd(x, x')} N[x', z]) ≤ δT instead, for the pairs that are bound.
    pairs : {"all", "adjacent"}
        See `Privacy`.
    cost : float
        How much more than the mechanism it is expected to lose: the exact difference, rounded to a double. Where
        both may lose infinitely much, the finite losses are compared. NaN without a loss.
    variation : float
        The distance of a row from the mechanism's in total variation, at most.
    name : str

    Raises
    ------
    SpecError
        If counts are no integers from 0 `(n, m)` with these row sums, T is another power than 2^64, 2^128, 2^192 and
        2^256, or ε or δ is negative or not finite.
    """

    space: MetricSpace
    reports: Reports
    counts: Counts
    bits: int
    epsilon: float
    delta: float = 0.0
    pairs: str = "all"
    cost: float = math.nan
    variation: float = math.nan
    name: str = "mechanism"
    _steps: dict[int, tuple[list[int], NDArray[np.uint64]]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        counts = np.array(self.counts, dtype=object)
        if counts.shape != (len(self.space), len(self.reports)):
            raise SpecError("counts", f"have shape {counts.shape}", "give one row per secret, one column per report")
        if type(self.bits) is not int or self.bits not in BITS:
            raise SpecError("bits", f"are {self.bits!r}", f"choose one of {', '.join(map(str, BITS))}")
        for label, row in zip(self.space.labels, counts.tolist(), strict=True):
            if not all(type(count) is int and count >= 0 for count in row):
                raise SpecError("counts", f"of secret {label} are not all integers from 0", "give integers from 0")
            if sum(row) != self.total:
                off = f"of secret {label} sum to {sum(row) - self.total:+} off 2^{self.bits}"
                raise SpecError("counts", off, f"give rows that sum to 2^{self.bits}")
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and math.isfinite(value) and value >= 0):
                raise SpecError(name, f"is {value!r}", "give a finite number from 0")
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)

    @property
    def total(self) -> int:
        """T, which every row sums to."""
        return 1 << self.bits

    def probability(
        self, secret: Any, report: Any, *, by: Literal["label", "index", "point"] | None = None
    ) -> Fraction:
        """N[x, z] / T for a secret and a report.

        Parameters
        ----------
        secret, report
            As a bare secret of `sample`, or as `by` says.
        by : {"label", "index", "point"}, optional
            What both are given by.

        Raises
        ------
        SpecError
            If there is no such secret or report, or one of them may be two.
        """
        if by not in (None, "label", "index", "point"):
            raise SpecError("by", f"is {by!r}", 'give "label", "index" or "point"')
        kind = by or "bare"
        reports = Naming.of(self.reports.labels, self.reports.points, "report")
        x = self.space.naming.one(**{kind: secret})
        return Fraction(self.counts[x, reports.one(**{kind: report}, called="report")], self.total)

    def check(self, progress: Callable[[str], None] | None = None) -> None:
        """Prove by integers alone that the table is private; takes n²·m steps. Rows sum to T in any table.

        Raises
        ------
        CertificateError
            Naming a pair of secrets and a report.
        """
        labels = self.space.labels
        reports = self.reports.labels
        bound = bound_pairs(self.space.distances, self.pairs if self.delta else "all")
        allowed = Fraction(self.delta) * self.total
        tell = progress or (lambda line: None)
        found = violation(self.counts, self.space.distances, bound, self.epsilon, allowed, tell)
        if found is not None:
            x, other, report = found
            raise CertificateError(
                f"secrets {labels[x]} and {labels[other]} are told apart by report {reports[report]}: "
                f"{self.counts[x, report]} against {self.counts[other, report]} out of 2^{self.bits} "
                f"at a distance of {self.space.distances[x, other]:g}"
            )

    def save(self, file: str | Path) -> Path:
        """Write the table to a file `*.npz`, which `load` reads back.

        Raises
        ------
        SpecError
            If the name has another ending, or the file cannot be written.
        """
        return save_table(self, Path(file))

    @staticmethod
    def load(file: str | Path) -> IntegerTable:
        """Read a table that `save` wrote, and check it again.

        Raises
        ------
        SpecError
            If the file is no saved table, or damaged.
        CertificateError
            If the privacy that it claims does not hold.
        """
        return load_table(Path(file))

    def __str__(self) -> str:
        promise = f"epsilon {self.epsilon:.6g}" + (f", delta {self.delta:.3g}" if self.delta else "")
        cost = "" if math.isnan(self.cost) else f", expected loss within {abs(self.cost):.1e}"
        size = f"{len(self.space):,} secrets, {len(self.reports):,} reports"
        return (
            f"{self.name}: {size} in integers out of 2^{self.bits}\n"
            f"private at {promise}; rows within {self.variation:.1e} of the mechanism{cost}"
        )

    def __repr__(self) -> str:
        return f"<IntegerTable {self.name}: {len(self.space)} secrets, {len(self.reports)} reports, 2^{self.bits}>"

    def _draw(self, secrets: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        """One report for each of the secrets `(k,)`: the number of steps that a random number is not below."""
        drawn = np.empty(len(secrets), dtype=np.int64)
        first = words(len(secrets), rng)
        for secret, which in alike(secrets):
            # The first word of the number decides, unless it is equal to that of a step. Then the others are drawn.
            steps, tops = self._stairs(secret)
            word = first[which]
            below = np.searchsorted(tops, word, side="right")
            if self.bits > WORD and len(tops):
                for tied in np.flatnonzero(tops[below - 1] == word):
                    below[tied] = bisect_right(steps, self._number(int(word[tied]), rng))
            drawn[which] = below
        return drawn

    def _number(self, number: int, rng: np.random.Generator | None) -> int:
        """A number of `bits` random bits, the first word of which is given."""
        for word in words(self.bits // WORD - 1, rng).tolist():
            number = number << WORD | word
        return number

    def _stairs(self, secret: int) -> tuple[list[int], NDArray[np.uint64]]:
        """The sums Σ_{w ≤ z} N[x, w] below T, where z gives way to the next report, and their first words."""
        if secret not in self._steps:
            steps = [step for step in accumulate(self.counts[secret]) if step < self.total]
            tops = np.array([step >> self.bits - WORD for step in steps], dtype=np.uint64)
            self._steps[secret] = steps, tops
        return self._steps[secret]


def save_table(table: IntegerTable, file: Path) -> Path:
    """Write a table to a file; see `IntegerTable.save`."""
    claims = {name: getattr(table, name) for name in _CLAIMS}
    counts = {"bits": table.bits, "counts": _bytes(table)}
    return write(file, counts | claims | pack(table.space) | pack_reports(table.reports), FORMAT)


def load_table(file: Path) -> IntegerTable:
    """Read a table that `save_table` wrote, and check it again; see `IntegerTable.load`."""
    table = read(file, _unpacked, FORMAT, "table")
    table.check()
    return table


def _unpacked(arrays: dict[str, NDArray[Any]]) -> IntegerTable:
    space = unpack(arrays)
    claims: dict[str, Any] = {name: kind(arrays[name]) for name, kind in _CLAIMS.items()}
    counts = _counts(arrays["counts"])
    return IntegerTable(space, unpack_reports(arrays, space), counts, int(arrays["bits"]), **claims)


def _bytes(table: IntegerTable) -> NDArray[np.uint8]:
    """The counts as bytes `(n, m, k)`, the highest first."""
    width = table.bits // 8 + 1
    written = b"".join(count.to_bytes(width, "big") for count in table.counts.ravel().tolist())
    return np.frombuffer(written, dtype=np.uint8).reshape(*table.counts.shape, width)


def _counts(stored: NDArray[np.uint8]) -> Counts:
    """The counts `(n, m)` from their bytes."""
    *shape, width = stored.shape
    written = stored.astype(np.uint8, copy=False).tobytes()
    counts = [int.from_bytes(written[i : i + width], "big") for i in range(0, len(written), width)]
    return np.array(counts, dtype=object).reshape(shape)
