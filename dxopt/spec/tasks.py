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
from dxopt.spec.sheet import Expected
from dxopt.spec.source import Source
from dxopt.studies.questions import Sweep


@dataclass(frozen=True)
class Task:
    """A problem and how a file asks for it to be solved.

    Fields without a line here are keys of the file, described in `sheet`.

    Attributes
    ----------
    solver : str
        "auto", or what should be the name of a solver; it is not looked up here.
    held_out : tuple of (Observed, bool)
        Data that the prior was not made of, and whether their positions count as well.
    sweep : SmallestEpsilon, EpsilonFrontier, LossFrontier, AtLevels or None
        The question where one solve does not answer it; the problem is then the first one.
    origin : Source
        The contents of the file, with the position of everything.
    """

    problem: Problem
    tolerance: float
    origin: Source = field(repr=False)
    method: str = "auto"
    solver: str = "auto"
    spanner: float | None = None
    time_limit: float | None = None
    evaluate: tuple[str, ...] = ()
    held_out: tuple[tuple[Observed, bool], ...] = ()
    compare: tuple[str, ...] = ()
    priors: Mapping[str, Prior] = field(default_factory=dict)
    expect: Expected | None = None
    sweep: Sweep | None = None
    beliefs: tuple[Beliefs, ...] = ()
    records: int | None = None

    @property
    def source(self) -> Path:
        """Path of the file."""
        return self.origin.path

    def located(self, error: SpecError) -> SpecError:
        """Return an error met while solving, at its position in the file, if it is about the file."""
        field = error.field
        paths = ((field,), ("epsilon", field), ("objective", field, "from"), ("objective", field))
        written = next(filter(self.origin.has, paths), None)
        if written is None and not isinstance(error, UnsupportedError):
            return error
        return self.origin.error(written or paths[0], error.wrong, error.fix_in(Option.in_file))
