"""What terminals and notebooks show of answers: one line, and a table with figures to three digits."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.runtime.display import Shown, value_text


@cache
def report() -> dx.Report:
    return dx.solve(dx.Problem(dx.line(3), epsilon=0.8, prior="uniform", name="a<b"))


@cache
def guessing() -> dx.Problem:
    return dx.Problem(dx.line(3), epsilon=1.0, prior="uniform", objective=dx.AdversaryError(max_loss=0.5))


def applied(folder: Path) -> dx.Applied:
    (folder / "in.csv").write_text("value\n0\n2\n")
    return dx.apply(report(), folder / "in.csv", folder / "out.csv", column="value")


def ledger(folder: Path) -> dx.Budgets:
    budgets = dx.Budgets.open(folder / "ledger.sqlite", create=True, unit="per km")
    budgets.set(2)
    return budgets


ANSWERS: dict[str, tuple[Callable[[], Any], str]] = {
    "mechanism": (
        lambda: report().mechanism,
        "<Mechanism line: truncated geometric mechanism with optimal remap: 3 secrets, 3 reports, ε 0.8>",
    ),
    "implicit mechanism": (
        lambda: dx.tight_constraints(dx.line(10_000), 1.0),
        "<Mechanism tight-constraints: 10,000 secrets, 10,000 reports, ε 1>",
    ),
    "mechanism without a proof": (
        lambda: dx.Mechanism.from_matrix(dx.line(2), np.eye(2), name="mine"),
        "<Mechanism mine: 2 secrets, 2 reports, no privacy proven>",
    ),
    "table": (
        lambda: report().table,
        "<IntegerTable line: truncated geometric mechanism with optimal remap: 3 secrets, 3 reports, ε 0.8, "
        "out of 2^64>",
    ),
    "sweep": (
        lambda: dx.sweep(report().problem, [0.5, 1.25], ["geometric"]),
        "<EpsilonSweep a<b: ε from 0.5 to 1.25, 2 levels, optimal, geometric, optimal>",
    ),
    "frontier": (
        lambda: dx.frontier(report().problem, 0.5, 1.0, resolution=0.9),
        "<Frontier a<b: 3 levels from 0.5 to 1, resolution 0.54, optimal>",
    ),
    "budget frontier": (
        lambda: dx.budget_frontier(guessing(), 0.5, 0.6, resolution=0.9),
        "<BudgetFrontier problem: 2 budgets from 0.5 to 0.6, resolution ",
    ),
    "level": (
        lambda: dx.smallest_epsilon(report().problem, 0.5, accuracy=0.5),
        "<Level a<b: a loss of at most ",
    ),
    "comparison": (
        lambda: dx.compare(report().problem, ["geometric"], reference=report()),
        "<Comparison a<b: optimal, geometric; ε 0.8>",
    ),
    "composed": (
        lambda: dx.compose([report().mechanism] * 2).epsilon(1e-3),
        "<Composed 2 releases together, for all pairs of secrets: epsilon at most 1.59",
    ),
    "threshold": (lambda: dx.regularity.threshold(dx.line(3)), "<Threshold 0: regular at every level"),
    "verdict": (lambda: dx.regularity.verdict("uniform", dx.line(3), 1.0), "<Verdict regular: every entry"),
    "prior recovered": (
        lambda: dx.inference.iterative_update(report().mechanism, [3, 1, 2], tolerance=1e-3),
        "<Recovered prior on 3 points: optimal, gap ",
    ),
    "attack": (
        lambda: dx.inference.repeated(report().mechanism, "uniform", [1, 2]),
        "<Repeated line: truncated geometric mechanism with optimal remap: 2 reports name the secret with ",
    ),
    "on data": (
        lambda: dx.evaluate.on(report(), [0, 1, 1]),
        "<HeldOut data: mean loss 0.563 ± 0.057 over 3 rows",
    ),
    "refinement": (
        lambda: dx.evaluate.refines(report().mechanism, report().mechanism),
        "<Refinement refines: for no prior",
    ),
    "certificate": (lambda: report().certificate, "<Certificate private, ε 0.8, value 0.506, bound 0.506, gap "),
    "loss": (lambda: report().problem.loss, "<Loss distance: 3 secrets, 3 reports>"),
    "explanation": (lambda: dx.explain(report()), "<Explanation a<b: Seeing one report, nobody can change the odds "),
    "reports": (lambda: report().problem.reports, "<Reports 3, the secrets: 0, 1, 2>"),
}


def test_units_stand_where_they_are_known() -> None:
    space = dx.line(3, unit="people")
    found = dx.smallest_epsilon(dx.Problem(space, epsilon=1.0, prior="uniform"), 0.5, accuracy=0.5)
    assert re.search(r"at most 0.5 people is possible at ε [\d.]+ per person", repr(found))
    assert re.search(r"with a loss of 0[.\d]+ people", found._repr_html_())
    assert found.report is not None
    assert repr(found.report.mechanism).endswith(" per person>")
    assert " per person, out of 2^64>" in repr(found.report.table)


class Balanced(HTMLParser):
    """Notes the tags that are open, and the text of cells."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


def require_shown(answer: Any, line: str) -> None:
    """One line for a terminal, and HTML for a notebook that escapes names and has no more than four digits."""
    assert repr(answer).startswith(line)
    assert "\n" not in repr(answer)
    page = Balanced()
    page.feed(answer._repr_html_())
    assert page.open == []
    assert "<table" in answer._repr_html_()
    assert not [cell for cell in page.cells if re.fullmatch(r"-?\d+\.0*[1-9]\d{5,}(e-?\d+)?", cell)]


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(name: str) -> None:
    make, line = ANSWERS[name]
    require_shown(make(), line)


def test_what_became_of_a_file(tmp_path: Path) -> None:
    done = applied(tmp_path)
    require_shown(done, "<Applied out.csv: 2 rows>")
    assert "<td style='text-align:left'>2 of 2</td>" in done._repr_html_()


def test_a_ledger_that_is_open_and_one_that_is_closed(tmp_path: Path) -> None:
    budgets = ledger(tmp_path)
    require_shown(budgets, f"<Budgets {tmp_path / 'ledger.sqlite'}>")
    assert "per km" in budgets._repr_html_()
    budgets.close()
    require_shown(budgets, f"<Budgets {tmp_path / 'ledger.sqlite'}>")
    assert "is closed" in budgets._repr_html_()


def test_a_large_mechanism_shows_its_corner() -> None:
    found = dx.tight_constraints(dx.line(20), 1.0)._repr_html_()
    assert found.count("<tr>") == 4 + 1 + 8 + 1
    assert "0.731" in found
    assert "probability" not in dx.tight_constraints(dx.line(10_000), 1.0)._repr_html_()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (0.123456, "0.123"),
        (True, "yes"),
        (None, "none"),
        (np.zeros((2, 3)), "array of 2 by 3"),
        (tuple(range(9)), "0, 1, 2, 3, 4, 5, … (9 in all)"),
        ({"a": 0.51234}, "a: 0.512"),
    ],
)
def test_values(value: Any, text: str) -> None:
    assert value_text(value) == text


def test_every_answer_of_the_public_names_is_shown() -> None:
    shown = [dx.Applied, dx.BudgetFrontier, dx.Budgets, dx.Comparison, dx.Composed, dx.Composition, dx.EpsilonSweep]
    shown += [dx.Frontier, dx.IntegerTable, dx.Level, dx.Loss, dx.Mechanism, dx.Privacy, dx.Reports]
    assert all(issubclass(one, Shown) for one in shown)


def test_how_privacy_was_proven_is_called_a_proof() -> None:
    privacy = dx.classic.geometric(dx.line(4), epsilon=1.0).privacy
    assert re.match(r"epsilon 1; proof \S.*; delta 0; pairs all$", str(privacy))
    assert repr(privacy) == "<Privacy ε 1>"
