"""Runs as lines of JSON, and what several runs of a candidate on an instance come to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.contract import Role
from benchmarks.once import Outcome
from dxopt.errors import SpecError

OURS = "dxopt"
EVERYONE = "(all)"


@dataclass(frozen=True)
class Run:
    """A run and its outcome.

    Attributes
    ----------
    limit : float or None
        Seconds that the answer could take.
    tolerance : float or None
        On the gap, where the instance has one.
    load : float or None
        Processes that waited for a core or had one when it ended, this run included, as an average of a minute.
    """

    instance: str
    family: str
    candidate: str
    role: Role
    repeat: int
    outcome: Outcome
    limit: float | None = None
    tolerance: float | None = None
    load: float | None = None

    def flat(self) -> dict[str, Any]:
        """One level of names, for a line of JSON."""
        described = asdict(self)
        return {**described, **described.pop("outcome")}


_LATER = {"limit", "tolerance", "load", "epsilon", "rounds"}
"""What files have had since they were first written."""
_RUN = {field.name for field in fields(Run)} - {"outcome"}
_OUTCOME = {field.name for field in fields(Outcome)}


def read(file: Path) -> list[Run]:
    """Return the runs of a file of lines; of each candidate on each instance, those of the last time it was run.

    Raises
    ------
    SpecError
        If the file cannot be read, or a line is no run.
    """
    kept: dict[tuple[str, str], tuple[str, list[Run]]] = {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise SpecError("from", str(error), "name a file that the benchmarks have written") from None
    for number, line in enumerate(lines, start=1):
        try:
            found = json.loads(line)
            run, started = _run(found), found["started"]
        except (ValueError, KeyError, TypeError) as error:
            raise SpecError("from", f"line {number} is no run: {error!r}", "name a file of runs") from None
        before, runs = kept.pop((run.instance, run.candidate), (started, []))
        kept[run.instance, run.candidate] = (started, [*(runs if before == started else []), run])
    return [run for _, runs in kept.values() for run in runs]


def _run(found: Mapping[str, Any]) -> Run:
    def named(names: set[str]) -> dict[str, Any]:
        return {name: found[name] for name in names if name in found or name not in _LATER}

    return Run(**named(_RUN), outcome=Outcome(**named(_OUTCOME)))


@dataclass(frozen=True)
class Cell:
    """The runs of one candidate on one instance together.

    Attributes
    ----------
    seconds : float or None
        Median; None unless every run counts.
    last : Outcome
        One that tells of the failure, where there is one.
    limit, tolerance : float or None
        As the last run had them.
    load : float or None
        The largest.
    """

    instance: str
    family: str
    candidate: str
    role: Role
    runs: int
    seconds: float | None
    cpu: float
    memory: float
    last: Outcome
    limit: float | None = None
    tolerance: float | None = None
    load: float | None = None

    @property
    def points(self) -> int | None:
        return self.last.points

    @property
    def spent(self) -> float | None:
        """The seconds, whether they count or not."""
        return self.last.spent if self.seconds is None else self.seconds


def cells(runs: Iterable[Run]) -> list[Cell]:
    """One for each candidate on each instance, in the order of the runs."""
    together: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        together.setdefault((run.instance, run.candidate), []).append(run)
    return [_cell(mine) for mine in together.values()]


def _cell(runs: Sequence[Run]) -> Cell:
    outcomes = [run.outcome for run in runs]
    worst = next((outcome for outcome in outcomes if outcome.seconds is None), outcomes[-1])
    times = [outcome.seconds for outcome in outcomes if outcome.seconds is not None]
    return Cell(
        runs[0].instance,
        runs[0].family,
        runs[0].candidate,
        runs[0].role,
        len(runs),
        median(times) if worst.seconds is not None else None,
        median(outcome.cpu or 0.0 for outcome in outcomes),
        max(outcome.memory or 0.0 for outcome in outcomes),
        worst,
        runs[-1].limit,
        runs[-1].tolerance,
        max((run.load for run in runs if run.load is not None), default=None),
    )
