"""The table of what CABP13 claims of the usual queries, and what holds; averages are the rationals that they are."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

import dxopt as dx

q = dx.queries


@pytest.mark.parametrize(("records", "largest"), [(2, 2), (3, 2), (2, 3)])
def test_the_claims_of_the_paper(records: int, largest: int) -> None:
    """CABP13 Props 4, 5 and Thms 9 to 13: all hold but those on the average, with answers that show it."""
    one = dx.Universe.databases(range(largest + 1), records, absent=True, empty=False)
    table = q.claims(one)
    assert [(row.query, row.metric) for row in table.rows[:2]] == [("sum", "hamming"), ("average", "hamming")]
    assert len(table.rows) == 20
    for row in table.rows:
        query = q.QUERIES[row.query](one)
        assert row.family_c.member
        assert row.optimality == q.optimality(query, one.space(row.metric))
        if (row.query, row.metric) == ("sum", "chebyshev"):
            assert (row.statement, row.holds, row.sensitivity.delta) == ("", None, records)
            continue
        assert row.holds == (row.metric == "hamming" or row.query != "average")
        assert row.optimality.status == {True: "optimal", False: "unknown"}[row.query != "average"] or (
            row.metric == "hamming" and row.optimality.status == "none"
        )
        assert (row.sensitivity.apart is None) == (row.metric != "hamming" and row.query != "average")
        if row.query == "average":
            assert row.sensitivity.apart == (0.0, 1 / records)
    lines = str(table).splitlines()
    assert lines[0].startswith("query    metric                in C  sensitivity  uniform  not joined")
    (average,) = [line for line in lines if line.startswith("average  manhattan")]
    assert average.split()[2:5] == ["yes", "1", "no"]
    assert average.endswith("unknown    Thm 12: uniformly 1-sensitive  no")


def test_claims_that_do_not_hold_elsewhere() -> None:
    """Where values are 0, 1 and 3, sums 2 and 3 are 3 apart; where none of two is absent, averages move by half."""
    rows = {(row.query, row.metric): row for row in q.claims(dx.Universe.databases([0, 1, 3], 2)).rows}
    assert rows["sum", "hamming"].sensitivity.delta == 3.0
    assert (rows["sum", "manhattan"].holds, rows["sum", "manhattan"].sensitivity.apart) == (False, (2.0, 3.0))
    assert rows["maximum", "normalised_manhattan"].holds
    halves = {(row.query, row.metric): row for row in q.claims(dx.Universe.databases([0.25, 0.75], 2)).rows}
    assert halves["sum", "hamming"].holds
    assert (halves["average", "hamming"].holds, halves["average", "hamming"].sensitivity.delta) == (False, 0.25)
    assert halves["average", "hamming"].family_c.attained is None
    with pytest.raises(dx.SpecError, match="average of the empty database"):
        q.claims(dx.Universe.databases([0, 1], 2, absent=True))
    with pytest.raises(dx.SpecError, match="is about numbers, not 'a'"):
        q.claims(dx.Universe.databases("ab", 2))


def test_averages_of_tenths_are_exact() -> None:
    """The average of 0.1, 0.2 and 0.3, present or not, in any order, is one answer: the rational, rounded once."""
    one = dx.Universe.databases([0.1, 0.2, 0.3], 3, absent=True, empty=False)
    present = [[value for value in secret if value is not None] for secret in one.secrets]  # pyright: ignore
    exact = [Fraction(sum(round(10 * value) for value in values), 10 * len(values)) for values in present]
    query = q.average(one)
    assert list(query.answers) == sorted({float(mean) for mean in exact})
    assert [query.answers[answer] for answer in query.index] == [float(mean) for mean in exact]
    assert len(query.answers) < len({sum(values) / len(values) for values in present})
    assert any(sum(values) != sum(order) for values in present for order in itertools.permutations(values))
