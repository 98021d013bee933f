"""Progress that goes to the logger "dxopt" as well."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

LOGGER = logging.getLogger("dxopt")


@dataclass(frozen=True)
class Logged:
    """Progress whose lines are logged at level INFO, and then passed on.

    Attributes
    ----------
    progress : callable, optional
        Given each line.
    prefix : str
        Put before each line.
    """

    progress: Callable[[str], None] | None = None
    prefix: str = ""

    @classmethod
    def of(cls, progress: Callable[[str], None] | None) -> Logged:
        """The progress itself where it is logged already, so that no line is logged twice."""
        return progress if isinstance(progress, Logged) else cls(progress)

    def under(self, prefix: str) -> Logged:
        """The progress of a part, whose lines begin with a prefix."""
        return Logged(self.progress, self.prefix + prefix)

    def __call__(self, line: str) -> None:
        text = self.prefix + line
        LOGGER.info("%s", text)
        if self.progress is not None:
            self.progress(text)
