"""What a report, a level, a sweep and a frontier have in common: they can be written to a result folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path

from dxopt.errors import PlausibilityWarning
from dxopt.results.files import PARTS, Contents
from dxopt.results.folder import save_contents, write_contents
from dxopt.runtime.shown import Shown


class Result(Shown, ABC):
    """An answer that can be saved."""

    @abstractmethod
    def contents(self) -> Contents:
        """The files of a result folder by name, as arrays, JSON, text or bytes; all of them are computed here."""

    @property
    def warnings(self) -> tuple[PlausibilityWarning, ...]:
        """What is seldom meant in the question or its answer; docs/guides/plausibility.md has the checks."""
        return ()

    def save(self, folder: str | Path) -> Path:
        """Write a result folder, which holds what `contents` lists.

        An earlier result there is replaced, other files are kept. `dx.load` reads a report back, and
        `EpsilonSweep.load` a sweep.

        Raises
        ------
        SpecError
            If the folder holds something that is no result, or cannot be written.

        Examples
        --------
        >>> import dxopt as dx
        >>> report = dx.solve(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"))
        >>> folder = report.save("results/line")
        >>> print(dx.load(folder).certificate.private)
        True
        """
        return save_contents(Path(folder), self.contents())

    def write(self, folder: Path) -> None:
        """Write the files of a result to a folder that is there."""
        write_contents(folder, self.contents())


def parts(results: Iterable[Result]) -> Contents:
    """The reports that an answer rests on: each is a result folder in `parts`, named by its position."""
    return {f"{PARTS}/{position:03}": result.contents() for position, result in enumerate(results)}
