"""What commands share: how bad input ends, the spelling of options, and an option."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from dxopt.errors import DxoptError
from dxopt.runtime.stopping import terminable

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]

SPELT_IN_PYTHON = ("force", "outside", "over_budget", "within")
"""The parameters that messages name as Python writes them: `force=True`, `outside='drop'`, or `within=`."""
_PARAMETER = re.compile(rf"\b({'|'.join(SPELT_IN_PYTHON)})=(?:True\b|'(\w+)'|(?![\w'\"]))")


def in_options(message: str) -> str:
    """A message with parameters as they are written on the command line: `--force`, `--outside drop`, `--within`."""
    spelt = _PARAMETER.sub(lambda found: " ".join(filter(None, (_option(found[1]), found[2]))), message)
    field, colon, rest = spelt.partition(":")
    return f"{_option(field)}{colon}{rest}" if "_" in field and field in SPELT_IN_PYTHON else spelt


def _option(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


@contextmanager
def bad_input() -> Iterator[None]:
    """A context that prints what is wrong with its input on one line and exits with 2; with 1 when interrupted."""
    try:
        with terminable():
            yield
    except DxoptError as error:
        typer.echo(in_options(" ".join(str(error).split())), err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(1) from None
