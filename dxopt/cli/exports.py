"""Commands that take a table elsewhere: other languages, and keys for draws that can be repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dxopt.cli.shared import bad_input

commands = typer.Typer()

_RESULT = "A result folder that `solve` wrote, or the file of a table, *.dxt."
_TO = "js (browser and Node), sql (PostgreSQL), duckdb, json, or dxt (the table file itself)."


@commands.command("export", epilog="Example: dxopt export results/town --to js -o town.js")
def export_table(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help=_RESULT)],
    to: Annotated[str, typer.Option(help=_TO)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="By default named like the mechanism.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write the integer table of a result for another language; its privacy is proven first."""
    from dxopt.release.exports import export
    from dxopt.release.tables import IntegerTable

    with bad_input():
        typer.echo(export(IntegerTable.load(result), to, output, force=force))


@commands.command("key", epilog="Example: dxopt key people.key")
def new_key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file; its owner alone may read it.")],
) -> None:
    """Write a new key for draws that give a person the same report again, and print its fingerprint."""
    from dxopt.release.keys import Key

    with bad_input():
        key = Key.new()
        typer.echo(f"{key.save(file)}: key {key.fingerprint}")
