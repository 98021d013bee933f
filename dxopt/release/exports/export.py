"""Write a table in another language, as one file that draws the same reports from the same random bits.

Random numbers and steps are compared as strings of bytes, which PostgreSQL (bytea) and DuckDB (blob) compare alike.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import accumulate, islice
from pathlib import Path

import numpy as np

from dxopt.errors import SpecError, required, required_choice
from dxopt.release.tables import IntegerTable
from dxopt.runtime.atomic_write import replacing, require_free
from dxopt.runtime.identity import ROUNDED, UNSEEN
from dxopt.runtime.reading import as_path
from dxopt.spaces.units import per


def rows(table: IntegerTable) -> Iterator[tuple[int, list[tuple[str, int]]]]:
    """Yield each secret's index and row: pairs of the first random number that gives a report, and the report.

    Numbers have `bits` bits, in hexadecimal digits; those between two first numbers give the report of the lower one.
    """
    digits = table.bits // 4
    for x, row in enumerate(table.counts):
        reports = np.flatnonzero(row).tolist()
        firsts = [0, *accumulate(row[reports].tolist())][:-1]
        yield x, [(f"{first:0{digits}x}", report) for first, report in zip(firsts, reports, strict=True)]


def heading(table: IntegerTable) -> str:
    """Return the name of a table and its level in one line, for comments: "town: epsilon 0.5 per km"."""
    relaxed = f", delta {table.delta!r}" if table.delta else ""
    return " ".join(f"{table.name}: epsilon {table.epsilon!r} {per(table.space.unit)}{relaxed}".split())


def as_json(table: IntegerTable) -> str:
    """Write a table as JSON: its head, its digest, and for each secret the first numbers and reports of its row."""
    content = {
        **table.head,
        "unit": table.space.unit or None,
        "sha256": table.digest,
        "rows": [{"from": [first for first, _ in row], "reports": [z for _, z in row]} for _, row in rows(table)],
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


_END = """
const dxoptTable = new dxopt.Table(dxopt.fromBase64("{content}"));
if (typeof module === "object" && module.exports) module.exports = {{ dxopt, table: dxoptTable }};
else Object.assign(globalThis, {{ dxopt, dxoptTable }});
"""


def sampler() -> str:
    """Return the script for browsers and Node that draws from tables; it has no table yet."""
    return files("dxopt.release.exports").joinpath("assets", "sampler.js").read_text(encoding="utf-8")


def javascript(table: IntegerTable) -> str:
    """Return the script with a table in it: `dxoptTable` in a browser, `require(file).table` in Node.

    Distances and prior, which only a proof needs, are left out; the head has the digest of the whole file.
    """
    content = b64encode(table.encoded(small=True)).decode("ascii")
    return f"// {heading(table)}, made of the table {table.digest}\n{sampler()}{_END.format(content=content)}"


_ROWS_OF_INSERT = 1000
"""Rows of one statement, far fewer than what is too long for a database."""
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,47}")

_TABLES = """-- {about}, made of the table {digest}
CREATE TABLE {name}_steps (secret {text} NOT NULL, first {bytes} NOT NULL, report {text} NOT NULL, \
PRIMARY KEY (secret, first));
CREATE TABLE {name}_points (report {text} PRIMARY KEY{coordinates});
"""

_POSTGRESQL = """
-- The report of a secret at {width} random bytes.
CREATE FUNCTION {name}_report(of_secret text, bits bytea) RETURNS text LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
    found text;
BEGIN
    IF octet_length(bits) <> {width} THEN
        RAISE EXCEPTION 'dxopt: give {width} random bytes, not %', octet_length(bits);
    END IF;
    SELECT report INTO found FROM {name}_steps
        WHERE secret = of_secret COLLATE "C" AND first <= bits ORDER BY first DESC LIMIT 1;
    IF found IS NULL THEN
        RAISE EXCEPTION 'dxopt: the label is that of no secret';
    END IF;
    RETURN found;
END $$;

-- {width} random bytes of the server: the first four bytes of a random UUID are all random.
CREATE FUNCTION {name}_random() RETURNS bytea LANGUAGE sql VOLATILE AS $$
    SELECT string_agg(substring(uuid_send(gen_random_uuid()) FROM 1 FOR 4), ''::bytea)
        FROM generate_series(1, {width} / 4)
$$;

-- A new report of a secret. Where a query draws for many rows, name what is different in each of them, such as
-- visits.id: without it the planner may draw once in LATERAL and subqueries, and give all rows one report. Draw in
-- the select list of a MATERIALIZED query, and join and filter afterwards: else the planner may draw for each pair.
CREATE FUNCTION {name}_draw(of_secret text, of_row anyelement) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF of_row IS NULL THEN
        RAISE EXCEPTION 'dxopt: name what is different in each row';
    END IF;
    RETURN {name}_report(of_secret, {name}_random());
END $$;
CREATE FUNCTION {name}_draw(of_secret text) RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT {name}_report(of_secret, {name}_random())
$$;

-- A text as the message of a keyed draw has it: four bytes of length, and its UTF-8.
CREATE FUNCTION {name}_field(content text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT int4send(octet_length(convert_to(content, 'UTF8'))) || convert_to(content, 'UTF8')
$$;

-- A text in NFC with single blanks, without marks that nobody sees.
CREATE FUNCTION {name}_composed(content text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT btrim(regexp_replace(normalize(regexp_replace(regexp_replace(
        content COLLATE "C", '{unseen}', '', 'g'), '{control}', ' ', 'g'), NFC), '{blank}', ' ', 'g'))
$$;

-- The text that stands for a person in every file and language: docs/reference/table-file.md
CREATE FUNCTION {name}_identity(person text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    found text COLLATE "C" := {name}_composed(person);
    zone text COLLATE "C" := substring(found FROM '^{moment}(?:[.][0-9]*)?(Z|[+-][0-9]{{2}}(?::?[0-9]{{2}})?)$');
BEGIN
    IF found = '' THEN
        RAISE EXCEPTION 'dxopt: there is no person';
    END IF;
    IF found ~ '^{rounded}$' THEN
        RAISE EXCEPTION 'dxopt: the person is a float without all digits';
    END IF;
    IF found ~ '^{moment}([.][0-9]*)?$' THEN
        found := regexp_replace(replace(found, 'T', ' '), ' 00:00:00([.]0*)?$', '');
    END IF;
    found := coalesce(replace(left(found, -length(zone)), 'T', ' '), found);
    zone := replace(rpad(replace(replace(zone, 'Z', '+'), ':', ''), 5, '0'), '-0000', '+0000');
    IF found ~ '^(-?(0|[1-9][0-9]*)|{moment})([.][0-9]*)?$' THEN
        found := regexp_replace(regexp_replace(found, '([.][0-9]*[1-9])0*$', '\\1'), '[.]0*$', '');
    END IF;
    RETURN CASE WHEN found = '-0' THEN '0' ELSE found || coalesce(regexp_replace(zone, '..$', ':\\&'), '') END;
END $$;

-- The report that a person gets at a secret whenever it is asked for: HMAC-SHA256 of a key of 32 bytes.
-- For secrets that stay: different reports of a person prove different secrets, however close these are.
CREATE FUNCTION {name}_draw_for(key bytea, person text, of_secret text, release text) RETURNS text
LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
    inner_pad bytea := decode(repeat('36', 64), 'hex');
    outer_pad bytea := decode(repeat('5c', 64), 'hex');
    message bytea := {name}_field('{draw}') || {name}_field('{digest}') || {name}_field(release)
        || {name}_field({name}_identity(person)) || {name}_field(of_secret);
BEGIN
    IF octet_length(key) <> 32 THEN
        RAISE EXCEPTION 'dxopt: give a key of 32 bytes, not %', octet_length(key);
    END IF;
    IF release = '' OR release <> {name}_composed(release) COLLATE "C" THEN
        RAISE EXCEPTION 'dxopt: the release has no name, or is not written "%"', {name}_composed(release);
    END IF;
    FOR i IN 0..31 LOOP
        inner_pad := set_byte(inner_pad, i, get_byte(inner_pad, i) # get_byte(key, i));
        outer_pad := set_byte(outer_pad, i, get_byte(outer_pad, i) # get_byte(key, i));
    END LOOP;
    RETURN {name}_report(of_secret, substring(sha256(outer_pad || sha256(inner_pad || message)) FROM 1 FOR {width}));
END $$;
"""

_MOMENT = "[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}"
_CONTROL = r"[\u0001-\u001f\u007f-\u009f]"
_BLANK = r"[\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"

_DUCKDB = """
-- The report of a secret at {width} random bytes, from a source fit for cryptography. They are bound
-- to a variable, so that an expression which draws them is evaluated once for each row. Variables have names that
-- no table has: a column of a table of the same name would be taken in their place.
CREATE MACRO {name}_report(of_secret, bits) AS (
    list_transform(
        [{{
            'secret': of_secret,
            'bits': bits::BLOB,
            'steps': (
                SELECT map_from_entries(list((secret, steps))) FROM (
                    SELECT secret, list({{'first': first, 'report': report}} ORDER BY first) AS steps
                    FROM {name}_steps GROUP BY secret
                )
            )[of_secret]
        }}],
        lambda {name}_asked: CASE
            WHEN {name}_asked.secret IS NULL THEN NULL
            WHEN octet_length({name}_asked.bits) IS DISTINCT FROM {width}
            THEN error('dxopt: give {width} random bytes')
            ELSE coalesce(
                list_last(
                    list_filter({name}_asked.steps, lambda {name}_step: {name}_step.first <= {name}_asked.bits)
                ).report,
                error('dxopt: the label is that of no secret')
            )
        END
    )[1]
);
"""


def postgresql(table: IntegerTable, name: str = "dxopt") -> str:
    """Write tables and functions for PostgreSQL 13 or later, without extensions, in one transaction.

    Their names begin with `name`. SpecError if that needs quotes in SQL, or a label has the character 0.
    """
    script = _script(table, name, _POSTGRESQL, lambda digits: rf"'\x{digits}'", "bytea", "double precision")
    return f"BEGIN;\n{script}COMMIT;\n"


def duckdb(table: IntegerTable, name: str = "dxopt") -> str:
    """Write tables and a macro for DuckDB, in one transaction; see `postgresql`."""
    script = _script(table, name, _DUCKDB, lambda digits: f"from_hex('{digits}')", "BLOB", "DOUBLE")
    return f"BEGIN TRANSACTION;\n{script}COMMIT;\n"


def _script(
    table: IntegerTable, name: str, functions: str, literal: Callable[[str], str], blob: str, double: str
) -> str:
    """Return the SQL that makes the tables of steps and of points, fills them, and defines the `functions`.

    A step is a secret, the first number that it draws a report by, and the report; see `rows`. `literal` writes
    hexadecimal digits as bytes; `blob` and `double` are the types of bytes and of coordinates.
    """
    if not _NAME.fullmatch(name):
        raise SpecError("name", f"is {name!r}", "give small letters, digits and underscores, 48 at most")
    points = table.head["report_points"]
    axes = len(points[0]) if points else 0
    known = {
        "name": name,
        "about": heading(table),
        "digest": table.digest,
        "text": 'text COLLATE "C"',  # a type of both dialects: labels are compared byte by byte, whatever is usual
        "bytes": blob,
        "coordinates": "".join(f", c{axis + 1} {double}" for axis in range(axes)),
        "width": table.bits // 8,
        "draw": table.DRAW,  # begins the message that keyed draws hash
        "unseen": UNSEEN,
        "rounded": ROUNDED,
        "moment": _MOMENT,
        "control": _CONTROL,
        "blank": _BLANK,
    }
    labels = [_quoted(str(label)) for label in table.reports.labels]
    secrets = [_quoted(str(label)) for label in table.space.labels]
    steps = (f"({secrets[x]}, {literal(first)}, {labels[z]})" for x, row in rows(table) for first, z in row)
    places = (f"({', '.join([label, *map(repr, points[z] if points else ())])})" for z, label in enumerate(labels))
    inserts = [*_inserts(f"{name}_steps", steps), *_inserts(f"{name}_points", places)]
    return _TABLES.format(**known) + "\n".join(inserts) + "\n" + functions.format(**known)


def _inserts(name: str, entries: Iterator[str]) -> Iterator[str]:
    """Yield statements that insert entries into the table `name`, many at a time, as one by one is slow."""
    while some := list(islice(entries, _ROWS_OF_INSERT)):
        values = ",\n".join(some)
        yield f"INSERT INTO {name} VALUES\n{values};"


def _quoted(text: str) -> str:
    """Return text as a literal of SQL; SpecError for the character 0, which PostgreSQL cannot store."""
    if "\0" in text:
        raise SpecError("labels", f"{text!r} has the character 0", "give labels without it")
    return "'" + text.replace("'", "''") + "'"


Writer = Callable[[IntegerTable], str]
# for each target the ending of its files and what writes them; None for the bytes of the table file itself
_WRITERS: dict[str, tuple[str, Writer | None]] = {
    "js": (".js", javascript),
    "sql": (".sql", postgresql),
    "duckdb": (".duckdb.sql", duckdb),
    "json": (".json", as_json),
    "dxt": (".dxt", None),
}
TARGETS = tuple(_WRITERS)


def export(table: IntegerTable, to: str, file: str | Path | None = None, *, force: bool = False) -> Path:
    """Write a table for another language; all of them draw the same report for the same random bits.

    Parameters
    ----------
    table : IntegerTable
    to : {"js", "sql", "duckdb", "json", "dxt"}
        A script for browsers and Node that has the table in it, tables and a function for PostgreSQL, or for DuckDB,
        JSON with the steps in hexadecimal digits, or the table file itself, which `dxopt verify` proves.
    file : path, optional
        By default the name of the mechanism with the ending of the target, in the current folder.
    force : bool
        Replace a file that is there.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    SpecError
        If there is no such target, the file is there or cannot be written, or a label has what a language lacks.

    Examples
    --------
    >>> import dxopt as dx
    >>> table = dx.integer_table(dx.classic.geometric(dx.line(3), epsilon=1.0))
    >>> print(dx.export(table, "js", "noise.js"))
    noise.js
    """
    required("table", table, IntegerTable, "give dx.integer_table(mechanism)")
    required_choice("to", to, TARGETS)
    ending, writer = _WRITERS[to]
    path = as_path(_file_name(table.name) + ending if file is None else file, "output")
    require_free(path, force=force)
    content = table.encoded() if writer is None else writer(table).encode("utf-8")
    with replacing(path, "output") as stream:
        stream.write(content)
    return path


def _file_name(name: str) -> str:
    """Return the name of a table as that of a file: its letters and digits, with dashes for anything else."""
    return "-".join("".join(letter if letter.isalnum() else " " for letter in name).split()) or "table"
