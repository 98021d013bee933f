"""The page of printed and known numbers is what the problem files and the table of ECP14 say."""

from __future__ import annotations

from docs.website import numbers
from problems.ecp14 import statements, table
from problems.ecp14.settings import PRINTED

PAGE = numbers.PAGE.read_text(encoding="utf-8")
AGAIN = "run: python -m docs.website.numbers"


def test_every_known_value_of_the_papers_is_on_the_page() -> None:
    for paper in numbers.PAPERS:
        section = numbers.known(paper)
        assert section.count("\n") > 6
        assert section in PAGE, AGAIN


def test_rows_of_ecp14_are_those_that_are_computed() -> None:
    rows = [*statements.proposition_1(), *statements.proposition_9(), *statements.counting_query()]
    for line in numbers.printed(rows).splitlines():
        assert line in PAGE, AGAIN


def test_every_printed_number_of_ecp14_is_on_the_page() -> None:
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]
    cells = {row[1] for row in rows}
    wanted = (
        PRINTED.sum_threshold,
        PRINTED.counts_threshold,
        PRINTED.locations_from,
        PRINTED.example_3_threshold,
        PRINTED.example_3_bound,
        PRINTED.example_3_every_prior,
    )
    assert {str(one) for one in wanted} <= cells
    assert PAGE.count("\n| ") > len(table.PARTS)
