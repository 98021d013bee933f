"""The rows of mechanisms: the matrix they make, and what follows from some of them at a time."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.loss import Loss
from dxopt.model.sampling import Sampler
from dxopt.numerics.draws import by_rows

CHANNEL_CELLS = 200_000_000
"""The most entries of the matrix of a mechanism."""
STRUCTURED_CELLS = 25_000_000
_BLOCK_CELLS = 4_000_000


class Rows(Sampler):
    """The part of `Mechanism` that follows from its rows."""

    def rows(self, secrets: NDArray[np.int64]) -> NDArray[np.float64]:
        """The distributions of reports `(k, m)` for k secrets given by index.

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
        chosen = np.atleast_1d(np.asarray(secrets))
        if chosen.ndim != 1 or not (chosen.dtype.kind in "iu" or not chosen.size):
            raise SpecError("secrets", "are no list of indices", "give whole numbers; `row` takes labels as well")
        if chosen.size and not (chosen.min() >= 0 and chosen.max() < len(self.space)):
            bad = chosen[(chosen < 0) | (chosen >= len(self.space))][0]
            raise SpecError("secrets", f"have the index {bad}", f"indices run from 0 to {len(self.space) - 1}")
        return self._rows(chosen.astype(np.int64, copy=False))

    def apart(self, first: int, second: int) -> float:
        """Bound the distance between the rows of two secrets in all reports together, Σ_z |K[x, z] - K[x', z]|."""
        rows = self._rows(np.array([first, second]))
        return float(np.abs(rows[0] - rows[1]).sum())

    @abstractmethod
    def _rows(self, secrets: NDArray[np.int64]) -> NDArray[np.float64]:
        """The same, of indices that there are."""

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
        step = max(1, _BLOCK_CELLS // len(self.reports))
        for start in range(0, len(self.space), step):
            secrets = np.arange(start, min(start + step, len(self.space)))
            yield secrets, self.rows(secrets)

    def row(
        self, secret: Any = None, *, label: Any = None, index: Any = None, point: Any = None
    ) -> NDArray[np.float64]:
        """The distribution of reports for one secret, given as for `sample`.

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

    def correct(self, prior: NDArray[np.float64]) -> float:
        """Σ_z max_x π_x K[x, z]: the probability that the best guess after the report is right, `prior` `(n,)`.

        Examples
        --------
        >>> import dxopt as dx
        >>> import numpy as np
        >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
        >>> print(round(mechanism.correct(np.array([0.6, 0.2, 0.2])), 3))
        0.687
        """
        # The best joint probability of each report so far; blocks of rows pass one at a time.
        best = np.zeros(len(self.reports))
        for secrets, rows in self.blocks():
            np.maximum(best, (prior[secrets, None] * rows).max(axis=0), out=best)
        return math.fsum(best)

    def losses(self, loss: Loss, secrets: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Σ_z K[x, z] l(x, z) of k secrets, all by default, `(k,)`; reports of probability 0 cost nothing."""
        chosen = np.arange(len(self.space)) if secrets is None else secrets
        step = max(1, _BLOCK_CELLS // len(self.reports))
        found = np.empty(len(chosen))
        for start in range(0, len(chosen), step):
            some = chosen[start : start + step]
            rows = self.rows(some)
            found[start : start + step] = (rows * np.where(rows > 0, loss.rows(some), 0.0)).sum(axis=1)
        return found

    def structured_losses(self, loss: Loss) -> NDArray[np.float64] | None:
        """`losses` of all secrets by structure, or from at most 25 million pairs; None where neither is possible."""
        few = len(self.space) * len(self.reports) <= STRUCTURED_CELLS
        return self.losses(loss) if few else None

    def reported(self) -> NDArray[np.bool_] | None:
        """Mask `(m,)` of the reports of positive probability from some secret; None where structure does not say."""
        return None

    def cost(self, prior: NDArray[np.float64], loss: Loss) -> float:
        """Σ_x π_x Σ_z K[x, z] l(x, z), where reports of probability 0 cost nothing."""
        total = []
        for secrets, rows in self.blocks():
            joint = prior[secrets, None] * rows
            total.append(float((joint * np.where(joint > 0, loss.rows(secrets), 0.0)).sum()))
        return math.fsum(total)
