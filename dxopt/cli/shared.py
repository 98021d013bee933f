"""Shared parts of commands: how bad input ends, and an option."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from dxopt.errors import DxoptError, Option, SpecError
from dxopt.runtime.stopping import terminable

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def command_line_message(error: DxoptError) -> str:
    """Write an error on one line, with parameters as options of a command: `--force`, `--outside drop`."""
    if not isinstance(error, SpecError):
        return " ".join(str(error).split())
    # a parameter such as time_limit has another name on the command line; keys of a file have their own
    moved = error.at(Option(error.field).on_command_line()) if "_" in error.field and not error.in_file else error
    return moved.line_in(Option.on_command_line)


@contextmanager
def bad_input() -> Iterator[None]:
    """Print bad input on one line and exit with 2; with 1 when interrupted."""
    try:
        with terminable():
            yield
    except DxoptError as error:
        typer.echo(command_line_message(error), err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(1) from None
