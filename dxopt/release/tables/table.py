"""A mechanism as integers, sampled exactly."""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError, SpecError, required, required_choice
from dxopt.model.loss import Reports
from dxopt.model.prior import Prior
from dxopt.model.sampling import Returns, Sampler
from dxopt.numerics.coerce import as_flag, require_same_rows
from dxopt.numerics.draws import places_of_each, words
from dxopt.numerics.hockey_stick import bound_pairs
from dxopt.numerics.number_syntax import digits_up, level_text
from dxopt.release.keys import Key, require_release
from dxopt.release.tables import files as portable
from dxopt.release.tables.files import DXT, load_table
from dxopt.release.tables.proof import Counts, violation
from dxopt.runtime.atomic_write import replacing
from dxopt.runtime.display import Lines
from dxopt.runtime.identity import identities
from dxopt.runtime.reading import as_path
from dxopt.spaces.naming import Naming
from dxopt.spaces.space import MetricSpace

Indices = NDArray[np.int64]
WORD = 64


class Stairs:
    """Draws from counts `(n, m)` out of 2^bits, exactly: a random number is compared with the steps of a secret.

    Steps are the sums of counts at which reports change; those of a secret are made when it is first drawn from.
    """

    def __init__(self, counts: Counts, bits: int) -> None:
        self.counts = counts
        self.bits = bits
        self._made: dict[int, tuple[list[int], NDArray[np.uint64]]] = {}

    def draw(self, secrets: Indices, rng: np.random.Generator | None) -> Indices:
        """Draw one report for each of the secrets `(k,)`, from `rng` or the operating system's randomness."""
        first = words(len(secrets), rng)

        def number(i: int) -> int:
            found = int(first[i])
            for word in words(self.bits // WORD - 1, rng).tolist():
                found = found << WORD | word
            return found

        return self._reports_at(secrets, first, number)

    def repeat(self, secrets: Indices, digests: list[bytes]) -> Indices:
        """Return a report for each of the secrets `(k,)`; its random number is the first bits of its digest."""
        first = np.frombuffer(b"".join(digest[: WORD // 8] for digest in digests), dtype=">u8").astype(np.uint64)
        return self._reports_at(secrets, first, lambda i: int.from_bytes(digests[i][: self.bits // 8], "big"))

    def _reports_at(self, secrets: Indices, first: NDArray[np.uint64], number: Callable[[int], int]) -> Indices:
        """Return the report of each of the secrets `(k,)`: the number of steps that its random number is not below.

        Usually the first word (64 bits) of a random number decides. Where it is equal to that of a step,
        `number(i)` is asked for all bits of the i-th.
        """
        found = np.empty(len(secrets), dtype=np.int64)
        for secret, which in places_of_each(secrets):
            steps, tops = self._steps_of(secret)
            word = first[which]
            below = np.searchsorted(tops, word, side="right")
            if self.bits > WORD and len(tops):
                for tied in np.flatnonzero(tops[below - 1] == word):
                    below[tied] = bisect_right(steps, number(int(which[tied])))
            found[which] = below
        return found

    def _steps_of(self, secret: int) -> tuple[list[int], NDArray[np.uint64]]:
        """Return the steps of a secret x, the sums Σ_{w ≤ z} N[x, w] that are below T, and the first word of each."""
        if secret not in self._made:
            steps = [step for step in accumulate(self.counts[secret]) if step < 1 << self.bits]
            tops = np.array([step >> self.bits - WORD for step in steps], dtype=np.uint64)
            self._made[secret] = steps, tops
        return self._made[secret]


BITS = (64, 128, 192, 256)
"""The T that a table may have, as powers of two."""


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
        Its expected loss less that of the mechanism: the exact difference, rounded to a double. Where
        both may lose infinitely much, the finite losses are compared. NaN without a loss.
    variation : float
        The distance of a row from the mechanism's in total variation, at most.
    name : str

    Raises
    ------
    SpecError
        If counts are no integers from 0 `(n, m)` with these row sums, T is another power than 2^64, 2^128, 2^192 and
        2^256, ε or δ is negative or not finite, or the prior is none of n secrets.

    Examples
    --------
    >>> import dxopt as dx
    >>> table = dx.integer_table(dx.classic.geometric(dx.line(3), epsilon="ln(2)"))
    >>> table.check()  # says nothing where the proof holds
    >>> print(table.bits, table.cost < 1e-12, round(float(table.probability("0", "0", by="label")), 3))
    64 True 0.667
    >>> print(dx.IntegerTable.load(table.save("noise.dxt")).encoded() == table.encoded())
    True
    """

    DRAW: ClassVar[str] = "dxopt draw 1"
    """Prefix of the keyed digest of a draw, which keeps it apart from all other uses of the key."""

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
    prior: NDArray[np.float64] | None = None

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
        for name, most in (("epsilon", sys.float_info.max), ("delta", 1.0), ("variation", 1.0)):
            value = getattr(self, name)
            unknown = name == "variation" and value != value
            if not unknown and not (isinstance(value, int | float) and 0 <= value <= most):
                raise SpecError(name, f"is {value!r}", f"give a number from 0 to {most:g}")
        required_choice("pairs", self.pairs, ("all", "adjacent"))
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)
        if self.prior is not None:
            object.__setattr__(self, "prior", Prior.of(self.prior, self.space).probabilities)

    @property
    def total(self) -> int:
        """T, which every row sums to."""
        return 1 << self.bits

    def probability(
        self, secret: Any, report: Any, *, by: Literal["label", "index", "point"] | None = None
    ) -> Fraction:
        """Return N[x, z] / T for a secret and a report.

        Parameters
        ----------
        secret, report
            As a bare secret of `sample`, or as `by` says.
        by : {"label", "index", "point"}, optional
            The way in which both are given.

        Raises
        ------
        SpecError
            If there is no such secret or report, or one of them may be two.
        """
        kind = "bare" if by is None else by
        required_choice("by", kind, ("bare", "label", "index", "point"))
        reports = Naming(self.reports.labels, self.reports.points, "report")
        x = self.space.naming.one(**{kind: secret})
        return Fraction(self.counts[x, reports.one(**{kind: report}, called="report")], self.total)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the file `*.dxt` of the table, in hexadecimal digits: the name of what is drawn from."""
        return self.encoded()[-32:].hex()

    @property
    def head(self) -> dict[str, Any]:
        """Head of the file `*.dxt` in JSON (docs/reference/table-file.md)."""
        return portable.head(self._parts)

    def encoded(self, *, small: bool = False) -> bytes:
        """Return the bytes of the file `*.dxt`; a small one has only what draws need, and so cannot be proven."""
        return portable.encoded(self._parts, self.digest if as_flag(small, "small") else None)

    @property
    def _parts(self) -> dict[str, Any]:
        """The fields by name, as what writes files takes them: it cannot import this class."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def check(self, progress: Callable[[str], None] | None = None) -> None:
        """Prove by integers alone that the table is private; takes n²·m steps. Rows sum to T in any table.

        Raises
        ------
        CertificateError
            If it is not; the error names a pair of secrets and a report.
        """
        required("progress", progress, Callable | None, "give a function of a line of text")
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
        """Write the table to a file `*.dxt`, which `load` and other languages read.

        Raises
        ------
        SpecError
            If the name has another ending, or the file cannot be written.
        """
        path = as_path(file, "file")
        if path.suffix != DXT:
            raise SpecError("file", f"{path} has no ending {DXT}", f"name it {path.stem}{DXT}")
        with replacing(path, "file") as stream:
            stream.write(self.encoded())
        return path

    @staticmethod
    def load(file: str | Path) -> IntegerTable:
        """Read a table that `save` wrote, or that of a result folder, and check it again.

        Raises
        ------
        SpecError
            If the file is no saved table, or damaged.
        CertificateError
            If the privacy that it claims does not hold.
        """
        table = IntegerTable(**load_table(as_path(file, "file")))
        try:
            table.check()
        except CertificateError as error:
            raise CertificateError(f"table: {file} was altered: {error}") from None
        return table

    def sample_for(
        self,
        persons: Sequence[str],
        secret: Any = None,
        *,
        key: Key,
        release: str,
        label: Any = None,
        index: Any = None,
        point: Any = None,
        returns: Returns = "index",
    ) -> NDArray[Any]:
        """Draw reports `(k,)` that are the same whenever they are asked for again.

        The random number of a person at a secret is HMAC-SHA256 of the key, over the texts "dxopt draw 1", the digest
        of the table, release, person and the label of the secret (see `Key.digest`), its first bits. So
        nothing averages out. The distribution is that of `sample` for whoever cannot tell HMAC-SHA256 from a random
        function: privacy is computational, and lost to whoever has the key. A secret that stays costs ε once. But two
        different reports of a person prove two different secrets, however close: see docs/theory/proofs.md.

        Parameters
        ----------
        persons : sequence of k texts or numbers
            Whose secrets they are, by their identity: 7, 7.0 and "7" are one person.
        secret, label, index, point
            Their k secrets, as in `sample`.
        key : Key
        release : str
            The name of what is published: with another one, everything is drawn anew, and costs again.
        returns : {"index", "label", "point"}

        Raises
        ------
        SpecError
            As in `sample`; if a person is nobody, or there are not as many as secrets; if it is no key, or release is
            "".

        Examples
        --------
        >>> import dxopt as dx
        >>> table = dx.integer_table(dx.classic.geometric(dx.line(9, step=5), epsilon=0.2))
        >>> key = dx.Key(bytes(32))  # dx.Key.new() for what is published
        >>> print(table.sample_for(["ann", "bob", "ann"], label=["10", "10", "10"], key=key, release="May").tolist())
        [1, 2, 1]
        """
        self._check_returns(returns)
        found = self.space.naming.find(secret, label=label, index=index, point=point, quoted=False)
        secrets = np.atleast_1d(found)
        names = identities(persons)
        for asked in (secret, label, index, point):
            require_same_rows(asked, persons, "persons")
        if len(names) != len(secrets):
            raise SpecError("persons", f"are {len(names):,} for {len(secrets):,} secrets", "give one for each")
        required("key", key, Key, "give dx.Key.new(), or dx.Key.load(file)")
        require_release(release)
        labels = self.space.labels
        pairs = zip(names, secrets.tolist(), strict=True)
        digests = [key.digest(self.DRAW, self.digest, release, person, str(labels[x])) for person, x in pairs]
        drawn = self._stairs.repeat(secrets, digests)
        return self._named(drawn, returns)

    def __str__(self) -> str:
        relaxed = f", delta {level_text(self.delta)}" if self.delta else ""
        promise = f"epsilon {level_text(self.epsilon, 6)}{relaxed}"
        cost = "" if math.isnan(self.cost) else f", expected loss within {digits_up(abs(self.cost), 2):.1e}"
        size = f"{len(self.space):,} secrets, {len(self.reports):,} reports"
        return (
            f"{self.name}: {size} in integers out of 2^{self.bits}\n"
            f"private at {promise}; rows within {digits_up(self.variation, 2):.1e} of the mechanism{cost}"
        )

    def _summary(self) -> str:
        return f"{super()._summary()}, out of 2^{self.bits}"

    def _promise(self) -> tuple[float, float]:
        return self.epsilon, self.delta

    def _lines(self) -> Lines:
        lines = [
            *super()._lines(),
            ("integers", f"each row sums to 2^{self.bits}"),
            ("rows", f"within {digits_up(self.variation, 2):.1e} of the mechanism"),
        ]
        cost = (
            []
            if math.isnan(self.cost)
            else [("expected loss", f"within {digits_up(abs(self.cost), 2):.1e} of the mechanism's")]
        )
        return [*lines, *cost]

    def _corner(self, secrets: int, reports: int) -> NDArray[np.float64]:
        return np.asarray(self.counts[:secrets, :reports] / self.total, dtype=float)

    def _draw(self, secrets: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        return self._stairs.draw(secrets, rng)

    @cached_property
    def _stairs(self) -> Stairs:
        return Stairs(self.counts, self.bits)
