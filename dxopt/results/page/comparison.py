"""The section of a page about mechanisms side by side."""

from __future__ import annotations

from collections.abc import Iterator

from dxopt.numerics.digits import three_digits
from dxopt.results.compared import Compared, excess_cell
from dxopt.results.comparison import Comparison
from dxopt.results.order import lines_of
from dxopt.results.page.inline import drawn
from dxopt.results.page.markup import Cell, Markup, element, folded, number, table, told
from dxopt.spaces.units import in_unit


def compared(found: Comparison, unit: str, name: str) -> Iterator[Markup]:
    """Bars, tables, what refines what, and why some are missing; values are in the unit."""
    found = found.told
    rows = [row for row in found.rows if row.value is not None]
    header = [
        "mechanism",
        f"{found.objective}{in_unit(unit)}",
        "excess",
        "remapped",
        "excess remapped",
        "gap to bound",
        "leakage (bits)",
    ]
    yield drawn(found.figure(), name)
    yield table("Mechanisms side by side", [*header, "privacy"], [_compared(row) for row in rows])
    if found.bound is not None:
        yield element(
            "p", told("No mechanism of that privacy is better than {bound}.", bound=number(found.bound, unit))
        )
    if found.verdict is not None:
        yield element("p", f"The prior is {found.verdict}.")
    priors = list(rows[0].under) if rows else []
    if priors:
        under = [_under(row, priors) for row in rows]
        bounds = [found.bound, *(found.bounds.get(prior) for prior in priors)]
        under.append([Cell("bound"), *(Cell.number(bound) for bound in bounds)])
        heads = ["mechanism", "as asked", *(f"under {prior}" for prior in priors)]
        yield table(f"{found.objective.capitalize()}{in_unit(unit)} under other priors", heads, under)
    order = [element("li", line) for line in lines_of(found.refinements)]
    if order:
        yield element(
            "p", "One mechanism refines another if, after the best remaps, it is no worse for any prior and loss:"
        )
        yield element("ul", *order)
    notes = [element("li", f"{row.name}: {row.note}") for row in found.rows if row.note]
    if notes:
        yield folded("Notes", element("ul", *notes))


def _compared(row: Compared) -> list[Cell]:
    return [
        Cell(row.name),
        Cell.number(row.value),
        _share(row.excess),
        Cell.number(row.remapped),
        _share(row.remapped_excess),
        Cell.number(row.gap),
        Cell.number(row.leakage),
        Cell(privacy(row)),
    ]


def _share(excess: float | None) -> Cell:
    return Cell("") if excess is None else Cell(excess_cell(excess), excess)


def _under(row: Compared, priors: list[str]) -> list[Cell]:
    values = [row.value, *(row.under.get(prior) for prior in priors)]
    return [Cell(row.name), *(Cell.number(value) for value in values)]


def privacy(row: Compared) -> str:
    """How private a mechanism is, in words."""
    realised = three_digits(row.epsilon) if row.epsilon is not None else ""
    realised += f", δ {three_digits(row.delta)}" if row.delta else ""
    if row.private:
        return f"proven, ε {realised}"
    if row.baseline:
        return f"not private, ε {realised or '∞'}"
    return "not asked"
