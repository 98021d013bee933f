"""What the objective says of an answer."""

from __future__ import annotations

from dataclasses import dataclass

PROVEN = "proven"


class Rejected(Exception):
    """Why an answer gets no time."""


@dataclass(frozen=True)
class Score:
    """What the objective found.

    Attributes
    ----------
    failure : str or None
        Why the answer does not count; None where it does.
    private : str
        "proven": every row is a probability distribution, every inequality holds, with all rounding counted. Else
        what keeps the answer from that.
    value : float
        Recomputed: binary utility under the uniform prior, or expected loss after the repair.
    bound, gap : float or None
        For optimal mechanisms: a proven lower bound on the optimum, and the relative distance of the value from it.
    note : str
        What was checked.
    """

    failure: str | None
    private: str = ""
    value: float = float("nan")
    bound: float | None = None
    gap: float | None = None
    note: str = ""
