"""What every format of files offers: rows in chunks, their columns, and a place to write the same rows to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.release.applying.layout import Layout
from dxopt.release.applying.twice import Fingerprints
from dxopt.verify.published.sidecar import Noun

ROWS = 1 << 16
"""How many rows are in memory at once."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows in a row.

    Attributes
    ----------
    rows : object
        As the format has them.
    lines : (k,) array
        Where each of them is: lines of text from 1, or rows and features, counted from 1.
    share : float
        Of the file that is read by now.
    """

    rows: Any
    lines: NDArray[np.int64]
    share: float


class Sink(Protocol):
    """Where the rows of a file are written to, in their order."""

    def write(self, chunk: Chunk, kept: NDArray[np.bool_], drawn: NDArray[np.int64]) -> None:
        """Write the rows of a chunk that are kept `(k,)`, with the reports that were drawn for them."""
        ...

    def close(self) -> None:
        """Write what ends the file."""
        ...


class Source(Protocol):
    """A file of rows."""

    @property
    def names(self) -> Sequence[str]:
        """The columns; of GeoJSON those of the features that were read by now."""
        ...

    @property
    def geometry(self) -> str | None:
        """The column of points, where there is one."""
        ...

    @property
    def hidden(self) -> Sequence[str]:
        """Columns that repeat the position."""
        ...

    @property
    def noun(self) -> Noun:
        """What `lines` count."""
        ...

    def chunks(self) -> Iterator[Chunk]:
        """The rows from the first to the last; SpecError where the file is broken."""
        ...

    def values(self, chunk: Chunk, name: str) -> Any:
        """A column of a chunk `(k,)`."""
        ...

    def places(self, chunk: Chunk) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Latitudes and longitudes of the points of the geometry `(k,)`; NaN where there is no point."""
        ...

    def fingerprints(self, chunk: Chunk) -> Fingerprints:
        """A number for each row `(k,)`, the same for rows that are the same in every column."""
        ...

    def sink(self, stream: IO[bytes], layout: Layout) -> Sink:
        """Where the rows are written to."""
        ...
