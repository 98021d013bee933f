"""Reductions that were applied on the way to a candidate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AppliedReduction:
    """One line of a report: what was applied, and what it did to the size.

    Attributes
    ----------
    exact : bool
        Whether the optimum is the same.
    note : str
        Why it is exact, or what it costs.
    of : str
        What was counted, where the name does not say so.
    """

    name: str
    exact: bool
    before: int
    after: int
    note: str = ""
    of: str = ""

    def __str__(self) -> str:
        sizes = f"{self.before:,} to {self.after:,} {self.of}".rstrip()
        return f"{sizes}{', exact' if self.exact else ''}: {self.note}"
