"""Loss against ε over a batch: problems that differ in ε alone are one curve."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dxopt.model.problem import Problem
from dxopt.results.figures import plots
from dxopt.results.figures.panels import Panel, panels
from dxopt.results.page.entries import Entry
from dxopt.results.page.inline import drawn
from dxopt.results.page.markup import Markup, element, folded
from dxopt.results.page.plainly import level_table
from dxopt.results.report import Report
from dxopt.results.units import level_axis, value_axis
from dxopt.runtime.stopping import Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def families(entries: Sequence[Entry]) -> list[list[Report]]:
    """Reports of problems that are alike but for ε, in the order of ε; those alone are left out."""
    found: dict[str, list[Report]] = {}
    for entry in entries:
        if entry.report is not None and entry.report.problem.private:
            found.setdefault(_alike(entry.report.problem), []).append(entry.report)
    several = (group for group in found.values() if len({report.problem.epsilon for report in group}) > 1)
    return [sorted(group, key=lambda report: report.problem.epsilon) for group in several]


def _alike(problem: Problem) -> str:
    """Return a digest of everything but ε and the name; distances count by a few of their rows."""
    space = problem.space
    reports = problem.reports
    digest = hashlib.sha256()
    digest.update(problem.prior.probabilities.tobytes())
    for row in sorted({0, len(space) // 2, len(space) - 1}):
        digest.update(space.row(index=row).tobytes())
    settings = (len(reports), problem.loss.name, problem.objective.name, problem.objective.max_loss)
    digest.update(repr((*settings, problem.delta, problem.pairs, space.labels[0], space.labels[-1])).encode())
    return digest.hexdigest()


def curves(group: Sequence[Report]) -> Panel:
    """Values against ε: of the mechanism itself, of those it is compared with, and the bound on all."""
    points: dict[str, dict[float, float]] = {}
    bounds: dict[float, float] = {}
    sign = group[0].problem.objective.sign
    for report in group:
        epsilon = report.problem.epsilon
        bound = report.certificate.bound
        found = {_name(report): report.certificate.value}
        if report.comparison is not None:
            found |= {row.name: row.value for row in report.comparison.rows[1:] if row.value is not None}
        for name, value in found.items():
            points.setdefault(name, {})[epsilon] = value
        # Several reports at one ε have bounds on the same optimum: the sharpest counts.
        bounds[epsilon] = sign * max(sign * bound, sign * bounds.get(epsilon, bound))
    lines = [plots.Curve(name, sorted(at), [at[level] for level in sorted(at)]) for name, at in points.items()]
    bound = plots.Curve("bound on every private mechanism", list(bounds), list(bounds.values()))
    return Panel(value_axis(group[0].problem), lines, bound)


def _name(report: Report) -> str:
    return "optimal" if report.status is Status.OPTIMAL else report.mechanism.name


def family_figure(group: Sequence[Report]) -> Figure:
    """Loss against ε of problems that differ in ε alone."""
    problem = group[0].problem
    names = list(dict.fromkeys(report.problem.name.partition(" [")[0] for report in group))
    about = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    levels = len({report.problem.epsilon for report in group})
    title = f"{about}: {problem.objective.title} at {levels} levels"
    return panels(title, level_axis(problem), curves(group))


def family_chart(group: Sequence[Report], name: str) -> Markup:
    """The figure of a family, and what each of its levels promises."""
    told = folded("What each ε promises and costs", level_table(group))
    return element("div", drawn(family_figure(group), name), told)
