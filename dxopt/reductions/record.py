"""What a reduction did to a program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reduction:
    """One line of a report: what was applied, whether it is exact, and the number of pairs before and after."""

    name: str
    exact: bool
    before: int
    after: int
    note: str = ""
