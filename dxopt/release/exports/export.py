"""A table in another language, in one file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dxopt.errors import Option, SpecError
from dxopt.release.exports.javascript import javascript
from dxopt.release.exports.rows import as_json
from dxopt.release.exports.sql import duckdb, postgresql
from dxopt.release.tables import IntegerTable
from dxopt.runtime.whole import replacing

Writer = Callable[[IntegerTable], str]
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
    if to not in _WRITERS:
        raise SpecError("to", f"there is no {to!r}", f"choose one of {', '.join(TARGETS)}")
    ending, writer = _WRITERS[to]
    path = Path(file) if file is not None else Path(_plain(table.name) + ending)
    if path.exists() and not force:
        wrong = f"{path} is there already"
        raise SpecError("output", wrong, "name another file, or replace it with ", Option("force", True))
    content = table.encoded() if writer is None else writer(table).encode("utf-8")
    with replacing(path, "output") as stream:
        stream.write(content)
    return path


def _plain(name: str) -> str:
    """A name as that of a file: letters, digits and dashes."""
    return "-".join("".join(letter if letter.isalnum() else " " for letter in name).split()) or "table"
