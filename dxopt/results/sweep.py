"""Loss and leakage against ε: the optimum and other mechanisms at several levels, and what its folder holds."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dxopt.errors import CertificateError, SpecError
from dxopt.numerics.number_syntax import level_text
from dxopt.proofs.certify import gap
from dxopt.results.claims import FORMAT, SweepFile, read_typed
from dxopt.results.compared import FIGURES, Compared
from dxopt.results.comparison import OPTIMAL
from dxopt.results.comparison_folder import difference
from dxopt.results.figures import plots
from dxopt.results.figures.panels import Panel, panels
from dxopt.results.figures.tables import Grid, cell
from dxopt.results.folder import PARTS, SWEEP, SWEEP_TABLE, Contents, parts
from dxopt.results.packing import level_axis, unit_names, value_axis
from dxopt.results.reading import load
from dxopt.results.series import Array, Series
from dxopt.runtime.reading import as_path, is_file
from dxopt.runtime.stopping import Status
from dxopt.spaces.units import in_unit, per
from dxopt.words.phrases import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class EpsilonSweep(Series):
    """The optimum and other mechanisms at several levels.

    Attributes
    ----------
    problem : Problem
        As it was given, at its own ε.
    reports : tuple of k Report
        The optimum at each level that was reached, increasing, with its comparison.
    asked : tuple of float
        The levels that were asked for, increasing.
    status : Status
        `optimal`: every level was reached, and its report is optimal. `feasible`: every level was reached.
        `interrupted` and `time limit`: stopped before.

    Examples
    --------
    >>> import dxopt as dx
    >>> sweep = dx.sweep(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"), [0.5, 1.0, 2.0])
    >>> print(sweep.epsilons.tolist(), sweep.values["optimal"].round(3).tolist())
    [0.5, 1.0, 2.0] [0.803, 0.521, 0.196]
    >>> print(len(sweep.figure().axes), "panels")
    2 panels
    """

    asked: tuple[float, ...]
    status: Status

    @property
    def reached(self) -> str:
        """Number of the levels that were reached, in words."""
        count, asked = len(self.reports), counted(len(self.asked), "levels")
        return f"{count} of {asked}" if count < len(self.asked) else asked

    @property
    def methods(self) -> tuple[str, ...]:
        """The mechanisms that exist at some level, in the order asked for; the optimum is the first."""
        asked = [row.name for level in self._rows for row in level.values()]
        exist = {row.name for level in self._rows for row in level.values() if row.value is not None}
        return tuple(dict.fromkeys([OPTIMAL, *(name for name in asked if name in exist)]))

    @property
    def values(self) -> dict[str, Array]:
        """Values of the objective, by mechanism, `(k,)` each; nan at levels without a mechanism."""
        return self._each("value")

    @property
    def leakage(self) -> dict[str, Array]:
        """Min-entropy leakage in bits, by mechanism, `(k,)` each; nan at levels where there is none."""
        return self._each("leakage")

    @property
    def baselines(self) -> frozenset[str]:
        """Names of mechanisms that are baselines, not private at some level: their ε is measured there."""
        every = (row for level in self._rows for row in level.values())
        return frozenset(row.name for row in every if row.unproven)

    @property
    def gap(self) -> float:
        """The largest gap of the optimum, |value - bound| / max(|value|, 1e-12), over the levels."""
        return max(report.certificate.gap for report in self.reports)

    @property
    def figures(self) -> list[dict[str, Any]]:
        """Figures of each mechanism at each level, by level and mechanism.

        `epsilon` is the level asked for and `realised` that of the mechanism, measured where it is not private. A
        mechanism that does not exist at a level has None for figures, and `reason` states why.
        """
        return [
            row.figures(report.problem.epsilon, bound, None if row.value is None else gap(row.value, bound))
            for report, rows in zip(self.reports, self._rows, strict=True)
            for bound in [report.certificate.bound]
            for row in rows.values()
        ]

    def figure(self) -> Figure:
        """Two panels over the same levels: the loss of each mechanism with the bound, and the leakage in bits.

        Each mechanism has its colour and symbol in both panels; what is not private is dotted, the bound dashed.
        """
        bound = plots.Curve("bound on every private mechanism", self.epsilons, self.bounds)
        return panels(
            self.problem.name,
            level_axis(self.problem),
            Panel(value_axis(self.problem), self._curves(self.values), bound),
            Panel("min-entropy leakage (bits)", self._curves(self.leakage)),
        )

    def contents(self) -> Contents:
        """Return the files of a result folder: sweep.json, sweep.csv, the figure, and its reports in `parts`."""
        levels = {
            "format": FORMAT,
            "problem": self.problem.name,
            "status": str(self.status),
            "asked": list(self.asked),
            "epsilons": self.epsilons.tolist(),
        }
        text = StringIO(newline="")
        writer = csv.DictWriter(text, FIGURES, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.figures)
        pictures = plots.pictures("sweep", self.figure())
        return {SWEEP: levels, SWEEP_TABLE: text.getvalue(), **pictures, **parts(self.reports)}

    @classmethod
    def load(cls, folder: str | Path) -> EpsilonSweep:
        """Read a result folder, proving the report of each level again; `problem` is then at the first level.

        Raises
        ------
        SpecError
            If the folder is no result of a sweep, misses a file, or has another format version.
        CertificateError
            If a report does not hold, or is about another problem than that of the first level.

        Examples
        --------
        >>> import dxopt as dx
        >>> sweep = dx.sweep(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"), [0.5, 1.0])
        >>> print(dx.EpsilonSweep.load(sweep.save("results/sweep")).epsilons.tolist())
        [0.5, 1.0]
        """
        folder = as_path(folder, "folder")
        if not is_file(folder / SWEEP):
            raise SpecError("folder", f"{folder} is no result folder of a sweep", "name one that `sweep` wrote")
        content = read_typed(folder / SWEEP, SweepFile)
        reports = tuple(load(folder / PARTS / f"{position:03}") for position in range(len(content.epsilons)))
        if not reports or [report.problem.epsilon for report in reports] != content.epsilons:
            raise SpecError("folder", f"{folder} has other levels than sweep.json says", "make the sweep again")
        first = reports[0].problem
        for report in reports[1:]:
            level = report.problem.epsilon
            differs = difference(first.at(level), report.problem.at(level))
            if differs or unit_names(first) != unit_names(report.problem):
                raise CertificateError(f"{folder} has levels of problems with {differs or 'other units'}")
        return cls(reports[0].problem, reports, tuple(content.asked), Status(content.status))

    def _summary(self) -> str:
        span = f"ε from {level_text(self.asked[0])} to {level_text(self.asked[-1])}, {self.reached}"
        return f"{self.problem.name}: {span}, {', '.join(self.methods)}, {self.status}"

    def _parts(self, digits: str) -> Iterable[str | Grid]:
        title = f"{self.problem.objective.title}{in_unit(self.problem.unit)}"
        yield f"{self.problem.name}: {title} at {self.reached} ({self.status})"
        yield self._table(digits)
        yield from self._notes()

    @property
    def _rows(self) -> list[dict[str, Compared]]:
        """The mechanisms of each level by name."""
        compared = (report.comparison for report in self.reports)
        return [{row.name: row for row in found.rows} if found else {} for found in compared]

    def _each(self, what: str) -> dict[str, Array]:
        """Return one field of `Compared` by mechanism, `(k,)` each; nan at levels where it is missing."""
        every = {name: [getattr(rows.get(name), what, None) for rows in self._rows] for name in self.methods}
        return {name: np.array(values, dtype=float) for name, values in every.items()}

    def _curves(self, quantities: dict[str, Array]) -> list[plots.Curve]:
        """Return one curve for each mechanism, dotted for those that are not private at some level."""
        return [
            plots.Curve(f"{name} (not private)", self.epsilons, values, "dotted")
            if name in self.baselines
            else plots.Curve(name, self.epsilons, values)
            for name, values in quantities.items()
        ]

    def _table(self, digits: str) -> list[list[str]]:
        """Return a row for each level: the optimum with its bound and leakage, and the values of the others."""
        others = self.methods[1:]
        level = f"epsilon {per(self.problem.space.unit)}" if self.problem.space.unit else "epsilon"
        table = [[level, OPTIMAL, "bound", "gap", "leakage (bits)", *others]]
        for report, rows in zip(self.reports, self._rows, strict=True):
            proof = report.certificate
            best = rows.get(OPTIMAL)
            values = (rows[name].value if name in rows else None for name in others)
            table.append(
                [
                    level_text(report.problem.epsilon, 8),
                    cell(proof.value, digits),
                    cell(proof.bound, digits),
                    cell(proof.gap, ".1e"),
                    cell(best and best.leakage, ".4f"),
                    *(cell(value, digits) for value in values),
                ]
            )
        return table

    def _notes(self) -> Iterator[str]:
        """Yield the lines below the table: warnings, solvers that failed, and notes on the other mechanisms.

        A note, such as why a mechanism is missing, is given once, as it is at the first level that has one.
        """
        yield from (f"warning: {warning}" for warning in self.warnings)
        yield from dict.fromkeys(f"solver: {report.failed}" for report in self.reports if report.failed)
        notes: dict[tuple[str, str], list[str]] = {}
        for rows in self._rows:
            for row in rows.values():
                if row.note and row.name != OPTIMAL:
                    notes.setdefault((row.name, " is missing" if row.reason else ""), []).append(row.note)
        for (name, what), found in notes.items():
            everywhere = len(found) == len(self.reports)
            where = "" if everywhere else f"{what} at {len(found)} of {len(self.reports)} levels"
            yield f"{name}{where}: {found[0]}"
