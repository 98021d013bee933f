"""Tasks: what a problem file makes, and what is solved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dxopt.analysis.held_out import Observed
from dxopt.errors import Option, SpecError, UnsupportedError
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.results.measures import Beliefs
from dxopt.spec.source import Source
from dxopt.studies.questions import Sweep


@dataclass(frozen=True)
class Expect:
    """A value that is known.

    Attributes
    ----------
    value : float
    tolerance : float
        How far off, absolutely, the value may be.
    source : str
        Where the value is from.
    """

    value: float
    tolerance: float = 1e-6
    source: str = field(kw_only=True)


@dataclass(frozen=True)
class Task:
    """A problem and how a file asks for it to be solved.

    Attributes
    ----------
    problem : Problem
    method : str
    solver : str
        "auto", or what should be the name of a solver; it is not looked up here.
    spanner : float or None
        Dilation of at least 1.
    tolerance : float
        Largest relative gap, above 0 and below 1.
    time_limit : float or None
        Seconds.
    evaluate : tuple of str
        Measures by name.
    held_out : tuple of (Observed, bool)
        Data that the prior was not made of, and whether their positions count as well.
    compare : tuple of str
        Mechanisms to compare with.
    priors : dict
        Others that may be the true one, by name.
    expect : Expect or None
        Of the report, or of the smallest epsilon where that is asked for.
    sweep : SmallestEpsilon, EpsilonFrontier, LossFrontier, AtLevels or None
        What is asked where one solve does not answer it; the problem is then the first one.
    beliefs : tuple of Beliefs
        What to report of an adversary's beliefs.
    records : int or None
        How many records databases have that are evaluated besides.
    source : Path
        The file.
    origin : Source
        What was read from it, with the position of everything.
    """

    problem: Problem
    method: str
    solver: str
    spanner: float | None
    tolerance: float
    time_limit: float | None
    evaluate: tuple[str, ...]
    held_out: tuple[tuple[Observed, bool], ...]
    compare: tuple[str, ...]
    priors: Mapping[str, Prior]
    expect: Expect | None
    sweep: Sweep | None
    beliefs: tuple[Beliefs, ...]
    records: int | None
    source: Path
    origin: Source = field(repr=False)

    def located(self, error: SpecError) -> SpecError:
        """Return an error met while solving, at its position in the file, if it is about the file."""
        field = error.field
        paths = ((field,), ("epsilon", field), ("objective", field, "from"), ("objective", field))
        written = next(filter(self.origin.has, paths), None)
        if written is None and not isinstance(error, UnsupportedError):
            return error
        return self.origin.error(written or paths[0], error.wrong, error.fix_in(Option.in_file))
