"""The application: all commands."""

from __future__ import annotations

import errno
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dxopt import __version__
from dxopt.cli import budgets, installation, releases, results, solving
from dxopt.cli.shared import bad_input


class _Commands(TyperGroup):
    """Commands that all end alike at bad input and at Ctrl-C, also while they load what they need."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Read the arguments."""
        with bad_input():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        with bad_input():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Commands,
    help="Optimal mechanisms for metric differential privacy, with proofs.",
    epilog="Example: dxopt solve town.yaml",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


for _room in (solving, results, releases, budgets, installation):
    app.add_typer(_room.commands)


def _print_version(wanted: bool) -> None:
    """Print the version and end, before a command is looked for."""
    if wanted:
        typer.echo(f"dxopt {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
]


@app.callback()
def options(version: Version = False) -> None:
    """Options of dxopt itself."""


def run() -> None:
    """Run a command: bad arguments exit with 2, a full disk with 1."""
    if "" in sys.argv[1:]:  # a path that is empty would be this folder
        typer.echo("arguments: one is empty; name what is meant, or write an option of no text as --unit=", err=True)
        sys.exit(2)
    try:
        app()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        typer.echo(f"output: cannot be written: {error.strerror}", err=True)
        sys.exit(1)
