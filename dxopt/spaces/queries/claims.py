"""Check by brute force the claims of CABP13 §5 and §6.1 about the usual queries on databases of numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Real

from dxopt.spaces.chains import EQUAL
from dxopt.spaces.queries.optimality import FamilyC, Optimality, family_c, optimality_given
from dxopt.spaces.queries.query import Query, average, percentile, total
from dxopt.spaces.queries.sensitivity import Sensitivity, sensitivity
from dxopt.spaces.universes import RECORD_METRICS, Universe

QUERIES: dict[str, Callable[[Universe], Query]] = {
    "sum": total,
    "average": average,
    "minimum": partial(percentile, p=0),
    "median": partial(percentile, p=50),
    "maximum": partial(percentile, p=100),
}
_STATEMENTS = {
    "hamming": "Props 4, 5",
    "normalised_manhattan": "Thm 11",
    "manhattan": "Thm 12",
    "chebyshev": "Thm 13",
}
_HEADER = ("query", "metric", "in C", "sensitivity", "uniform", "not joined", "geometric", "claimed", "holds")


@dataclass(frozen=True, eq=False)
class Claim:
    """One query under one metric between databases, answers under d_R.

    Attributes
    ----------
    family_c : FamilyC
        Whether the query is in the family C (Prop 5), with witnesses.
    sensitivity : Sensitivity
        Found by brute force.
    optimality : Optimality
        What Thms 8 to 10 prove of the truncated geometric mechanism, given that sensitivity.
    statement : str
        What CABP13 claims of the sensitivity; empty where it claims nothing.
    holds : bool or None
        Whether that is what was found; None where nothing is claimed.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases([0, 1], 2, absent=True, empty=False)
    >>> claim = dx.queries.claims(people).rows[0]
    >>> print(claim.query, claim.metric, claim.sensitivity.delta, claim.holds)
    sum hamming 1.0 True
    """

    query: str
    metric: str
    family_c: FamilyC
    sensitivity: Sensitivity
    optimality: Optimality
    statement: str
    holds: bool | None

    def cells(self) -> tuple[str, ...]:
        """Write one line of the table."""
        apart = self.sensitivity.apart
        return (
            self.query,
            self.metric,
            _yes(self.family_c.member),
            f"{self.sensitivity.delta:.6g}",
            _yes(self.sensitivity.uniform),
            "" if apart is None else "{:.6g}, {:.6g}".format(*apart),
            self.optimality.status,
            self.statement,
            "" if self.holds is None else _yes(self.holds),
        )


@dataclass(frozen=True, eq=False)
class Claims:
    """All claims on one universe, metric by metric; prints as a table.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases([0, 1], 2, absent=True, empty=False)
    >>> claims = dx.queries.claims(people)
    >>> print(len(claims.rows), [row.query for row in claims.rows[:5]])
    20 ['sum', 'average', 'minimum', 'median', 'maximum']
    """

    universe: Universe
    rows: tuple[Claim, ...]

    def __str__(self) -> str:
        lines = [_HEADER, *(row.cells() for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )


def claims(universe: Universe) -> Claims:
    """Compare sum, average, minimum, median and maximum under every metric between databases with CABP13.

    The claims are about V = q[0..k] with absent records, the empty database excluded (CABP13 §5.1): all five are in
    the family C and d_V(V)-sensitive for d_h (Props 4, 5), uniformly d_V(V)-sensitive for the normalised Manhattan
    distance (Thm 11), uniformly 1-sensitive for d_1 (Thm 12) and, but for the sum, for d_∞ (Thm 13). The average
    turns out not to be uniformly sensitive. On other universes the table shows whether they would hold there.

    The universe has databases of numbers; thousands take seconds.

    Raises
    ------
    SpecError
        If these are no databases of numbers, or the empty one is among them.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases([0, 1], 2, absent=True, empty=False)
    >>> print([(row.query, row.metric) for row in dx.queries.claims(people).rows if row.holds is False])
    [('average', 'manhattan'), ('average', 'normalised_manhattan'), ('average', 'chebyshev')]
    """
    queries = {name: make(universe) for name, make in QUERIES.items()}
    families = {name: family_c(query) for name, query in queries.items()}
    values = [float(value) for value in universe.values if isinstance(value, Real)]
    widest = max(values) - min(values)
    rows = []
    for metric in RECORD_METRICS:
        secrets = universe.space(metric)
        for name, query in queries.items():
            found = sensitivity(query, secrets, query.space())
            delta = 1.0 if metric in ("manhattan", "chebyshev") else widest  # claimed: d_V(V) is `widest`
            optimal = optimality_given(query, secrets, found)
            rows.append(Claim(name, metric, families[name], found, optimal, *_compared(name, metric, delta, found)))
    return Claims(universe, tuple(rows))


def _compared(name: str, metric: str, delta: float, found: Sensitivity) -> tuple[str, bool | None]:
    """Return what CABP13 claims of the sensitivity, as text, and True if that was found; "" and None for no claim."""
    if (name, metric) == ("sum", "chebyshev"):
        return "", None
    uniformly = metric != "hamming"
    holds = abs(found.delta - delta) <= EQUAL * delta and (found.uniform or not uniformly)
    return f"{_STATEMENTS[metric]}: {'uniformly ' * uniformly}{delta:.6g}-sensitive", holds


def _yes(true: bool) -> str:
    return "yes" if true else "no"
