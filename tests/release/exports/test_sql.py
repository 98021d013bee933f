"""Tables as SQL: in PostgreSQL and DuckDB the reports are those of Python."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.release.exports.export import duckdb, postgresql
from tests.material.documents import ROOT
from tests.material.postgres import Server, programs, server
from tests.material.vectors import FILE, RELEASES, ROUNDED, tables

engine = pytest.importorskip("duckdb")
VECTORS = json.loads(FILE.read_text(encoding="utf-8"))
NAMES = tuple(VECTORS["tables"])


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    """A server with the tables of the vectors; its socket needs a short path."""
    if programs() is None or shutil.which("psql") is None:
        pytest.skip("needs PostgreSQL")
    with tempfile.TemporaryDirectory(prefix="pg") as folder, server(Path(folder)) as found:
        for name, table in tables().items():
            found.ask(postgresql(table, name))
        yield found


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@pytest.mark.parametrize("name", NAMES)
def test_postgresql_gives_the_reports_of_the_vectors(postgres: Server, name: str) -> None:
    draws = VECTORS["tables"][name]["draws"]
    asked = [rf"SELECT {name}_report({quoted(secret)}, '\x{number}');" for secret, number, _ in draws]
    assert postgres.ask("\n".join(asked)) == [[report] for *_, report in draws]


@pytest.mark.parametrize("name", NAMES)
def test_postgresql_repeats_draws(postgres: Server, name: str) -> None:
    keyed = VECTORS["tables"][name]["keyed"]
    key = rf"'\x{VECTORS['key']}'"
    asked = [
        f"SELECT {name}_draw_for({key}, {quoted(person)}, {quoted(secret)}, {quoted(release)});"
        for person, secret, release, _ in keyed
    ]
    assert postgres.ask("\n".join(asked)) == [[report] for *_, report in keyed]


@pytest.mark.parametrize("person", ROUNDED)
def test_postgresql_refuses_floats_without_all_digits(postgres: Server, person: str) -> None:
    assert postgres.run(f"SELECT places_identity({quoted(person)});").returncode != 0


@pytest.mark.parametrize("release", RELEASES)
def test_postgresql_refuses_releases_in_other_spellings(postgres: Server, release: str) -> None:
    done = postgres.run(rf"SELECT line_draw_for('\x{VECTORS['key']}', 'ann', '1', {quoted(release)});")
    assert "the release" in done.stderr


def test_postgresql_draws_by_itself_with_the_probabilities_of_the_table(postgres: Server) -> None:
    size = 20_000
    rows = postgres.ask(
        f"SELECT report, count(*) FROM (SELECT line_draw('1') AS report FROM generate_series(1, {size})) AS drawn"
        " GROUP BY report;"
    )
    found = {report: int(count) for report, count in rows}
    table = tables()["line"]
    expected = np.array([size * float(table.probability(1, z, by="index")) for z in range(5)])
    counts = np.array([found.get(label, 0) for label in table.reports.labels])
    # chi-square with 4 degrees of freedom: above 40 once in 2e7
    assert ((counts - expected) ** 2 / expected).sum() < 40


ROWS = (
    "SELECT {draw} AS r FROM visits",
    "SELECT (SELECT {draw}) AS r FROM visits",
    "SELECT r FROM visits, LATERAL {draw} AS drawn(r)",
    "SELECT r FROM visits CROSS JOIN LATERAL (SELECT {draw} AS r) AS drawn",
    "SELECT r FROM visits LEFT JOIN LATERAL (SELECT {draw} AS r) AS drawn ON true",
    "SELECT r FROM visits, LATERAL (SELECT {draw} AS r LIMIT 1) AS drawn",
    "SELECT report AS r FROM visits, LATERAL (SELECT report FROM (SELECT {draw} AS report) AS one"
    " JOIN line_points USING (report)) AS drawn",
)
"""Queries that draw for each row of visits."""


@pytest.mark.parametrize("secret", ["visits.place", "'1'"])
@pytest.mark.parametrize("row", ["visits.id", "visits.ctid", "visits.id::text", "visits"])
def test_postgresql_draws_once_for_each_row_that_is_named(postgres: Server, secret: str, row: str) -> None:
    """Also where the planner keeps what a subquery gave for a place, as it does of tables that were analysed."""
    made = "CREATE TEMPORARY TABLE visits AS SELECT g AS id, '1' AS place FROM generate_series(1, 2000) AS g;"
    asked = [f"{query.format(draw=f'line_draw({secret}, {row})')};" for query in ROWS]
    found = [label for (label,) in postgres.ask(f"{made} ANALYZE visits; {' '.join(asked)}")]
    for number in range(len(ROWS)):
        check_draws(found[2000 * number : 2000 * (number + 1)])


def test_postgresql_refuses_a_row_that_is_not_named(postgres: Server) -> None:
    assert postgres.run("SELECT line_draw('1', NULL::int);").returncode


def test_the_documents_name_rows(postgres: Server) -> None:
    text = (ROOT / "docs" / "guides" / "deploying.md").read_text(encoding="utf-8")
    (query,) = (block for block in re.findall(r"```sql\n(.*?)```", text, re.DOTALL) if "dxopt_draw(" in block)
    made = "SELECT g AS id, 'a\\b' AS place, 45.7 AS lat FROM generate_series(1, 50) AS g"
    visits = f"CREATE TEMPORARY TABLE visits AS {made};"
    query = query.replace("dxopt_", "places_").replace("SELECT id,", "SELECT id, lat,").rstrip("\n;")
    asked = (query, f"{query} WHERE floor(places_points.c1) = floor(drawn.lat)")
    plans = ("", "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;")
    for plan, one in product(plans, asked):
        rows = postgres.ask(f"{plan} {visits} ANALYZE visits; {one};")
        assert len(rows) == 50 and len({row[0] for row in rows}) == 50 and len({row[1] for row in rows}) > 1


def test_postgresql_has_the_points_of_reports(postgres: Server) -> None:
    rows = postgres.ask("SELECT report, c1, c2 FROM places_points ORDER BY c1;")
    assert rows == [["a\\b", "45.75", "4.84"], ["l'île", "45.76", "4.83"], ['Ω "x"', "45.77", "4.85"]]


def test_the_query_of_the_documents_finds_the_nearest_place(postgres: Server) -> None:
    text = (ROOT / "docs" / "guides" / "deploying.md").read_text(encoding="utf-8")
    query = next(block for block in re.findall(r"```sql\n(.*?)```", text, re.DOTALL) if "CROSS JOIN LATERAL" in block)
    visits = (
        "CREATE TABLE visits (id int, lat float8, lon float8);"
        "INSERT INTO visits VALUES (1, 45.7601, 4.8302), (2, 45.751, 4.84);"
    )
    rows = postgres.ask(visits + query.replace("dxopt_", "places_"))
    assert [(row[0], row[1], float(row[2]) < 0.15) for row in rows] == [("1", "l'île", True), ("2", "a\\b", True)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (r"line_report('1', '\x00')", "give 8 random bytes, not 1"),
        (r"line_report('9', '\x0000000000000000')", "the label is that of no secret"),
        (r"line_draw_for('\x00', 'ann', '1', 'r')", "give a key of 32 bytes, not 1"),
    ],
)
def test_what_postgresql_refuses(postgres: Server, call: str, message: str) -> None:
    done = postgres.run(f"SELECT {call};")
    assert done.returncode
    assert message in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_duckdb_gives_the_reports_of_the_vectors(name: str) -> None:
    draws = VECTORS["tables"][name]["draws"]
    with engine.connect() as database:
        database.execute(duckdb(tables()[name], name))
        database.execute("CREATE TABLE asked (place integer, secret text, bits blob)")
        entries = [(place, secret, bytes.fromhex(number)) for place, (secret, number, _) in enumerate(draws)]
        database.executemany("INSERT INTO asked VALUES (?, ?, ?)", entries)
        found = database.execute(f"SELECT {name}_report(secret, bits) FROM asked ORDER BY place").fetchall()
        assert [report for (report,) in found] == [report for *_, report in draws]
        for call, message in (("'west', from_hex('00')", "random bytes"), (f"'x', {_zeros(name)}", "of no secret")):
            with pytest.raises(engine.Error, match=message):
                database.execute(f"SELECT {name}_report({call})").fetchall()


CALLS = (
    "SELECT report(place, bits()) AS r FROM visits",
    "SELECT report('1', bits()) AS r FROM visits",
    "SELECT report(v.place, bits()) AS r FROM visits v JOIN visits w ON v.id = w.id",
    "SELECT r FROM (SELECT id, report(place, bits()) AS r FROM visits) ORDER BY id",
    "SELECT r FROM drawn",
    "SELECT DISTINCT ON (id) report(place, bits()) AS r FROM visits",
    "SELECT report(place, bits()) AS r FROM visits WHERE id >= 0 ORDER BY id LIMIT 5000",
)
"""Queries that people write, each of which is to draw once for each of 2,000 rows."""


def check_draws(found: list[str]) -> None:
    """Assert that reports of the secret 1 have the probabilities of the table."""
    expected = np.array([len(found) * float(tables()["line"].probability(1, z, by="index")) for z in range(5)])
    counts = np.array([found.count(label) for label in tables()["line"].reports.labels])
    assert len(found) == 2000
    # chi-square with 4 degrees of freedom: above 40 once in 2e7
    assert ((counts - expected) ** 2 / expected).sum() < 40


@pytest.mark.parametrize("query", CALLS)
def test_duckdb_draws_once_for_each_row(query: str) -> None:
    with engine.connect() as database:
        database.execute(duckdb(tables()["line"], "line"))
        database.create_function("bits", lambda: os.urandom(8), [], "BLOB", side_effects=True)
        database.execute("CREATE TABLE visits AS SELECT range AS id, '1' AS place FROM range(2000)")
        database.execute("CREATE VIEW drawn AS SELECT line_report(place, bits()) AS r FROM visits")
        found = database.execute(query.replace("report(", "line_report(")).fetchall()
        grouped = "SELECT line_report(place, bits()) AS r, count(*) FROM visits GROUP BY 1"
        check_draws([row[0] for row in found])
        check_draws([label for label, count in database.execute(grouped).fetchall() for _ in range(count)])


@pytest.mark.parametrize("query", CALLS)
def test_postgresql_draws_once_for_each_row(postgres: Server, query: str) -> None:
    made = (
        "CREATE TEMP TABLE visits AS SELECT id, '1' AS place FROM generate_series(0, 1999) AS id;"
        "CREATE TEMP VIEW drawn AS SELECT line_draw(place) AS r FROM visits;"
    )
    asked = query.replace("report(", "line_draw(").replace(", bits()", "")
    asked = asked.replace("AS r FROM visits) ORDER", "AS r FROM visits) AS them ORDER")
    check_draws([row[0] for row in postgres.ask(f"{made}{asked};")])


def of_cases() -> dx.IntegerTable:
    """Secrets that only differ by case."""
    space = dx.MetricSpace.from_points([0.0, 1.0, 2.0], labels=["a", "A", "b"])
    return dx.integer_table(dx.classic.exponential(space, epsilon=1.0))


def test_postgresql_compares_labels_byte_by_byte(postgres: Server) -> None:
    table = of_cases()
    made = (
        "CREATE COLLATION IF NOT EXISTS ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);"
        "CREATE TEMP TABLE visits (place text COLLATE ci, person text COLLATE ci, release text COLLATE ci);"
    )
    postgres.ask(postgresql(table, "cases"))
    key, zeros = rf"'\x{'07' * 32}'", rf"'\x{'00' * (table.bits // 8)}'"
    for secret in table.space.labels:
        plain = postgres.ask(f"SELECT cases_draw_for({key}, 'P 1', '{secret}', 'r');")
        asked = f"cases_draw_for({key}, person, place, release), cases_report(place, {zeros})"
        found = postgres.ask(f"{made}INSERT INTO visits VALUES ('{secret}', 'P 1', 'r'); SELECT {asked} FROM visits;")
        assert found == [[plain[0][0], "a"]]
    with pytest.raises(AssertionError, match="of no secret"):
        postgres.ask(f"{made}INSERT INTO visits VALUES ('B'); SELECT cases_report(place, {zeros}) FROM visits;")


def test_duckdb_compares_labels_byte_by_byte() -> None:
    table = of_cases()
    with engine.connect() as database:
        database.execute("SET default_collation = nocase")
        database.execute(duckdb(table, "cases"))
        database.execute("CREATE TABLE visits AS SELECT unnest(['a', 'A', 'b']) AS place")
        last = "from_hex('" + "ff" * (table.bits // 8) + "')"
        found = database.execute(f"SELECT place, cases_report(place, {last}) FROM visits").fetchall()
        assert found == [("a", "b"), ("A", "b"), ("b", "b")]
        half = "from_hex('" + "80" + "00" * (table.bits // 8 - 1) + "')"
        found = database.execute(f"SELECT place, cases_report(place, {half}) FROM visits").fetchall()
        assert [report for _, report in found] == [draw_at_half(table, label) for label in ("a", "A", "b")]


@pytest.mark.parametrize("column", ["first", "report", "secret", "bits", "steps", "of_secret"])
def test_duckdb_takes_no_column_of_the_tables_of_a_query(column: str) -> None:
    table = tables()["line"]
    with engine.connect() as database:
        database.execute(duckdb(table, "line"))
        names = {*re.findall(r"\b([a-z_]+)\b", duckdb(table, "line").partition("CREATE MACRO")[2])}
        reserved = "select|from|group|by|order|as|case|when|then|else|end|distinct|is|null|lambda|create|macro|commit"
        zeros = _zeros("line")
        expected = database.execute(f"SELECT line_report('1', {zeros})").fetchall() * 3
        for name in sorted(names - {*reserved.split("|"), "line_steps", "line_report", "line_step", "line_asked"}):
            database.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT range AS id, 'x' AS {column} FROM range(3)")
            found = database.execute(f"SELECT line_report('1', {zeros}) FROM {name}").fetchall()
            assert found == expected, name
            database.execute(f"DROP TABLE {name}")


def draw_at_half(table: dx.IntegerTable, label: str) -> str:
    row = table.counts[table.space.index(label)].tolist()
    sums = [sum(row[: z + 1]) for z in range(len(row))]
    return table.reports.labels[next(z for z, total in enumerate(sums) if total > table.total // 2)]


def _zeros(name: str) -> str:
    return f"from_hex('{'00' * (tables()[name].bits // 8)}')"


def test_names_and_labels_that_sql_cannot_have() -> None:
    table = tables()["line"]
    for name in ("x; DROP TABLE y", "Line", "", "1a", "a" * 60):
        with pytest.raises(dx.SpecError, match="name: is"):
            postgresql(table, name)
    odd = dx.MetricSpace.from_points([0.0, 1.0], labels=["a\0b", "c"])
    with pytest.raises(dx.SpecError, match=r"labels: .* has the character 0"):
        postgresql(dx.integer_table(dx.classic.exponential(odd, epsilon=1.0)))
