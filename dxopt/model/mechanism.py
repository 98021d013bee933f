"""Mechanisms: channels from secrets to reports; saving, and finding the reader of a saved one."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.loss import Loss, Reports
from dxopt.model.privacy import Privacy
from dxopt.model.reports import pack_reports
from dxopt.model.sampling import Sampler
from dxopt.numerics.coerce import as_distributions, as_numbers, as_weights, require_values
from dxopt.numerics.draws import by_rows
from dxopt.numerics.hockey_stick import bound_pairs, least_delta, least_epsilon
from dxopt.runtime.archive import Arrays, read, write
from dxopt.runtime.reading import as_path
from dxopt.spaces.archive import pack
from dxopt.spaces.distances import in_blocks
from dxopt.spaces.space import MetricSpace

CHANNEL_CELLS = 200_000_000
"""The most entries of the matrix of a mechanism."""
STRUCTURED_CELLS = 25_000_000
"""The most pairs of a secret and a report whose losses are added up where no structure gives the sums."""
_PROVEN_TRIPLES = 50_000_000
"""The most pairs of secrets times reports for which the level of what is post-processed is proven."""
FORMAT = 1
"""The version of files of mechanisms."""
# Reading a mechanism is proving it again, so the package that proves a kind reads it. That package is above this one:
# the name is looked up when a file is read, as `dxopt` looks up its public names. Of these arrays, the first that is
# in a file decides.
READERS = {
    "which": "dxopt.mechanisms.product:read",
    "table": "dxopt.mechanisms.kernel:read_remapped",
    "noise": "dxopt.mechanisms.classic.on_grid:read",
    "weights": "dxopt.mechanisms.kernel:read",
    "matrix": "dxopt.proofs.certify:read_matrix",
}


class Mechanism(Sampler):
    """The probability of each report for each secret: an explicit matrix, or rows on demand.

    Make one from a matrix with `from_matrix`; solvers and `tight_constraints` make the others.

    Attributes
    ----------
    space : MetricSpace
        The n secrets.
    reports : Reports
        The m reports.
    name : str
    privacy : Privacy or None
        None where nothing was proven, as for a matrix that a user gave.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> print(mechanism.matrix.round(3).tolist()[0], mechanism.name)
    [0.731, 0.17, 0.099] geometric mechanism
    >>> print(mechanism.privacy.epsilon <= 1.0, list(mechanism.reports.labels))
    True ['0', '1', '2']
    """

    name: str
    privacy: Privacy | None

    @staticmethod
    def from_matrix(
        space: MetricSpace,
        matrix: ArrayLike,
        reports: Reports | None = None,
        *,
        name: str = "mechanism",
        privacy: Privacy | None = None,
    ) -> Mechanism:
        """Return a mechanism from its probabilities `(n, m)`; the reports are the secrets by default.

        Parameters
        ----------
        space : MetricSpace
            The n secrets.
        matrix : (n, m) array
            Entry [x, z] is the probability of reporting z for the secret x.
        reports : Reports, optional
        name : str
        privacy : Privacy, optional
            What was proven of it; see `dx.certify`.

        Raises
        ------
        SpecError
            If the shape does not fit, an entry is negative or not finite, or a row sum is off by more than 1e-9.

        Examples
        --------
        >>> import dxopt as dx
        >>> mechanism = dx.Mechanism.from_matrix(dx.line(2), [[0.75, 0.25], [0.25, 0.75]], name="coin")
        >>> print(mechanism.privacy, round(dx.certify(mechanism, mechanism.space, 1.1).privacy.epsilon, 4))
        None 1.0986
        """
        fix = "give rows of probabilities"
        return MatrixMechanism(space, reports or Reports.of(space), as_numbers(matrix, "matrix", fix), name, privacy)

    def save(self, file: str | Path) -> Path:
        """Write the mechanism to a file `*.npz`: its matrix, or what its rows follow from. `load` reads it back.

        Raises
        ------
        SpecError
            If the name has another ending, or the file cannot be written.
        """
        return write(as_path(file, "file"), self.packed(), FORMAT)

    @staticmethod
    def load(file: str | Path) -> Mechanism:
        """Read a mechanism that `save` wrote, and prove its privacy again.

        Raises
        ------
        SpecError
            If the file is no saved mechanism, or damaged.
        CertificateError
            If the privacy that it claims cannot be proven.

        Examples
        --------
        >>> import dxopt as dx
        >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
        >>> print(dx.Mechanism.load(mechanism.save("noise.npz")).row(label="0").round(3).tolist())
        [0.731, 0.17, 0.099]
        """
        return read(as_path(file, "file"), unpacked, FORMAT, "mechanism")

    def packed(self) -> Arrays:
        """Return the arrays of a file, from which the reader in `READERS` makes the mechanism again.

        Raises
        ------
        UnsupportedError
            If mechanisms of this kind cannot be saved.
        """
        raise UnsupportedError("mechanism", f"{self.name} cannot be saved", "save its matrix")

    def packed_common(self) -> Arrays:
        """Return the entries of a saved file that all kinds share: name, space, and what was proven."""
        arrays: Arrays = {"name": self.name, **pack(self.space)}
        if self.privacy is not None:
            arrays |= {name: getattr(self.privacy, name) for name in ("epsilon", "how", "delta", "pairs")}
        return arrays

    def remap(self, table: ArrayLike, reports: Reports | None = None) -> Mechanism:
        """Post-process: report `table[z]`, an index among `reports`, for z; prove the level anew (HLM14 Thm 4).

        Raises
        ------
        SpecError
            If the table has not one index for each report, or one is out of range.

        Examples
        --------
        >>> import dxopt as dx
        >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
        >>> print(mechanism.remap([0, 0, 2]).row(label="0").round(3).tolist())
        [0.901, 0.0, 0.099]
        """
        fix = "give one index per report"
        shape = as_numbers(table, "table", fix).shape
        target = np.asarray(table)
        reports = reports or self.reports
        if shape != (len(self.reports),) or not np.issubdtype(target.dtype, np.integer):
            raise SpecError("table", f"has shape {shape} and numbers of type {target.dtype}", fix)
        if target.min() < 0 or target.max() >= len(reports):
            raise SpecError("table", "has an index out of range", f"indices run from 0 to {len(reports) - 1}")
        remapped = post_processed(self.matrix, target, len(reports))
        privacy = self._proven_again(remapped)
        return Mechanism.from_matrix(self.space, remapped, reports, name=f"{self.name}, remapped", privacy=privacy)

    def compose(self, then: ArrayLike, reports: Reports | None = None) -> Mechanism:
        """Post-process with a channel `(m, k)` from reports to new reports, and prove the level anew.

        Raises
        ------
        SpecError
            If the channel has not one row for each report, or rows are no probabilities.

        Examples
        --------
        >>> import dxopt as dx
        >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
        >>> yes_or_no = dx.Reports(["zero", "more"])
        >>> print(mechanism.compose([[1, 0], [0, 1], [0, 1]], yes_or_no).matrix.round(3).tolist())
        [[0.731, 0.269], [0.269, 0.731], [0.099, 0.901]]
        """
        fix = f"give a matrix with {len(self.reports)} rows of probabilities"
        channel = as_distributions(then, "then", fix, len(self.reports), None)
        if reports is None:
            columns = channel.shape[1]
            reports = self.reports if columns == len(self.reports) else Reports(tuple(map(str, range(columns))))
        found = self.matrix @ channel
        privacy = self._proven_again(found)
        return Mechanism.from_matrix(self.space, found, reports, name=f"{self.name}, composed", privacy=privacy)

    def _proven_again(self, channel: NDArray[np.float64]) -> Privacy | None:
        """Prove the level of this mechanism for what was made of its reports, which rounding may raise a little.

        Of a positive δ and ε that one is raised which is raised by the smaller part: where excesses hardly fall with
        ε, roundings would multiply it. None where this one has no level, or the channel has more entries for each
        secret than are looked at.
        """
        if self.privacy is None or len(self.space) * channel.size > _PROVEN_TRIPLES:
            return None
        distances, before = self.space.distances, self.privacy
        bound = bound_pairs(distances, before.pairs)
        epsilon, delta = least_epsilon(channel, distances, before.delta, bound), before.delta
        if delta and epsilon > before.epsilon:
            raised = least_delta(channel, distances, before.epsilon, bound)
            if raised < 1 and raised * before.epsilon < epsilon * delta:
                epsilon, delta = before.epsilon, raised
        how = "post-processing, proven again with rounding counted"
        return Privacy(epsilon, how, delta, before.pairs) if math.isfinite(epsilon) else None

    def __repr__(self) -> str:
        return f"<Mechanism {self._summary()}>"

    def _corner(self, secrets: int, reports: int) -> NDArray[np.float64]:
        return self.rows(np.arange(secrets))[:, :reports]

    def _promise(self) -> tuple[float, float] | None:
        return None if self.privacy is None else (self.privacy.epsilon, self.privacy.delta)

    def rows(self, secrets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distributions of reports `(k, m)` for k secrets given by index.

        Raises
        ------
        SpecError
            If there is no secret of an index, or these are no whole numbers.

        Examples
        --------
        >>> import dxopt as dx
        >>> import numpy as np
        >>> print(dx.classic.geometric(dx.line(9), epsilon=1.0).rows(np.array([0, 8])).shape)
        (2, 9)
        """
        require_values(secrets, "secrets")
        chosen = np.atleast_1d(np.asarray(secrets))
        if chosen.ndim != 1 or not (chosen.dtype.kind in "iu" or not chosen.size):
            raise SpecError("secrets", "are no list of indices", "give whole numbers; `row` takes labels as well")
        if chosen.size and not (chosen.min() >= 0 and chosen.max() < len(self.space)):
            bad = chosen[(chosen < 0) | (chosen >= len(self.space))][0]
            raise SpecError("secrets", f"have the index {bad}", f"indices run from 0 to {len(self.space) - 1}")
        return self._rows(chosen.astype(np.int64, copy=False))

    def apart(self, first: int, second: int) -> float:
        """Return a lower bound on Σ_z |K[x, z] - K[x', z]|, the distance of the rows of two secrets.

        Here it is the distance itself. Subclasses may bound it without making the rows.
        """
        rows = self._rows(np.array([first, second]))
        return float(np.abs(rows[0] - rows[1]).sum())

    @abstractmethod
    def _rows(self, secrets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return `rows` of indices that were checked."""

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """All probabilities, `(n, m)`, read-only. Entry [x, z] is the probability of reporting z for the secret x.

        Raises
        ------
        UnsupportedError
            Where it would have more than 200 million entries.
        """
        secrets, reports = len(self.space), len(self.reports)
        if secrets * reports > CHANNEL_CELLS:
            raise UnsupportedError("matrix", f"would be {secrets:,} by {reports:,}", "use row, sample or dx.evaluate")
        matrix = np.concatenate([rows for _, rows in self.blocks()])
        matrix.flags.writeable = False
        return matrix

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Yield all rows, some at a time: indices of secrets and their distributions.

        Examples
        --------
        >>> import dxopt as dx
        >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
        >>> for secrets, rows in mechanism.blocks():
        ...     print(secrets.tolist(), rows.shape)
        [0, 1, 2] (3, 3)
        """
        for secrets in in_blocks(np.arange(len(self.space)), len(self.reports)):
            yield secrets, self.rows(secrets)

    def row(
        self, secret: Any = None, *, label: Any = None, index: Any = None, point: Any = None
    ) -> NDArray[np.float64]:
        """Return the distribution of reports for one secret, given as for `sample`.

        Examples
        --------
        >>> import dxopt as dx
        >>> mechanism = dx.classic.geometric(dx.line(4, step=5), epsilon=0.2)
        >>> print(mechanism.row(label="10").round(3).tolist())
        [0.099, 0.17, 0.462, 0.269]
        """
        return self.rows(np.array([self.space.naming.one(secret, label=label, index=index, point=point)]))[0]

    def _draw(self, secrets: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        return by_rows(secrets, lambda secret: self.rows(np.array([secret]))[0], rng)

    def correct(self, prior: ArrayLike) -> float:
        """Return Σ_z max_x π_x K[x, z]: the probability that the best guess after the report is right.

        Examples
        --------
        >>> import dxopt as dx
        >>> import numpy as np
        >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
        >>> print(round(mechanism.correct(np.array([0.6, 0.2, 0.2])), 3))
        0.687
        """
        prior = as_weights(prior, "prior", "give a probability for each secret", len(self.space))
        # The best joint probability of each report so far; blocks of rows pass one at a time.
        best = np.zeros(len(self.reports))
        for secrets, rows in self.blocks():
            np.maximum(best, (prior[secrets, None] * rows).max(axis=0), out=best)
        return math.fsum(best)

    def losses(self, loss: Loss, secrets: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Return Σ_z K[x, z] l(x, z) of k secrets, all by default, `(k,)`; reports of probability 0 cost nothing."""
        chosen = np.arange(len(self.space)) if secrets is None else secrets
        found = []
        for some in in_blocks(chosen, len(self.reports)):
            rows = self.rows(some)
            found.append((rows * np.where(rows > 0, loss.rows(some), 0.0)).sum(axis=1))
        return np.concatenate(found)

    def structured_losses(self, loss: Loss) -> NDArray[np.float64] | None:
        """Return `losses` of all secrets `(n,)` where that is cheap; else None.

        It is where the structure of the mechanism gives them, or with at most 25 million entries, which are added up.
        """
        few = len(self.space) * len(self.reports) <= STRUCTURED_CELLS
        return self.losses(loss) if few else None

    def reported(self) -> NDArray[np.bool_] | None:
        """Mask the reports that some secret makes with positive probability, `(m,)`.

        None of kinds without a matrix, unless their structure tells it.
        """
        return None

    def cost(self, prior: NDArray[np.float64], loss: Loss) -> float:
        """Return Σ_x π_x Σ_z K[x, z] l(x, z), where reports of probability 0 cost nothing."""
        total = []
        for secrets, rows in self.blocks():
            joint = prior[secrets, None] * rows
            total.append(float((joint * np.where(joint > 0, loss.rows(secrets), 0.0)).sum()))
        return math.fsum(total)


@dataclass(frozen=True, eq=False, repr=False)
class MatrixMechanism(Mechanism):
    """A mechanism with all its probabilities in memory."""

    space: MetricSpace
    reports: Reports
    matrix: NDArray[np.float64] = field()  # pyright: ignore[reportIncompatibleVariableOverride]
    name: str = "mechanism"
    privacy: Privacy | None = None

    def __post_init__(self) -> None:
        secrets, reports = len(self.space), len(self.reports)
        fix = f"give {secrets} rows of probabilities, {reports} columns"
        mend = "write dx.certify(matrix, space, repair=True), which mends what solvers leave below 0"
        matrix = as_distributions(self.matrix, "matrix", fix, secrets, reports, mend=mend)
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)

    def _rows(self, secrets: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.matrix[secrets]

    def reported(self) -> NDArray[np.bool_]:
        return np.asarray(self.matrix.max(axis=0) > 0)

    def packed(self) -> Arrays:
        return self.packed_common() | {"matrix": self.matrix, **pack_reports(self.reports)}


def is_matrix(arrays: Arrays) -> bool:
    """Return whether the arrays of a file are those of a matrix, and not of what its rows follow from."""
    return _kind(arrays) == "matrix"


def _kind(arrays: Arrays) -> str:
    """Return the first key of `READERS` that is among the arrays of a file; "matrix" where none is."""
    return next((kind for kind in READERS if kind in arrays), "matrix")


def unpacked(arrays: Arrays) -> Mechanism:
    """Make a mechanism from the arrays of a file, by the reader of its kind, which proves its privacy again.

    Raises
    ------
    KeyError
        If they are of no known kind, or one of its arrays is missing.
    """
    module, _, name = READERS[_kind(arrays)].partition(":")
    return getattr(import_module(module), name)(arrays)


def post_processed(channel: NDArray[np.float64], table: NDArray[np.int64], reports: int) -> NDArray[np.float64]:
    """Return the channel `(n, reports)` that reports `table[z]` where `channel` `(n, m)` reports z. Keeps privacy."""
    # Columns of equal targets are added up, which `+=` with an index would not do.
    remapped = np.zeros((len(channel), reports))
    np.add.at(remapped.T, table, channel.T)
    return remapped
