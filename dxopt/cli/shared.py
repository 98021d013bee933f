"""What commands share: how bad input ends, and an option."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from dxopt.errors import DxoptError
from dxopt.runtime.stopping import terminable

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@contextmanager
def bad_input() -> Iterator[None]:
    """A context that prints what is wrong with its input on one line and exits with 2; with 1 when interrupted."""
    try:
        with terminable():
            yield
    except DxoptError as error:
        typer.echo(" ".join(str(error).split()), err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(1) from None
