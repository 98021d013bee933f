"""Commands about the installation: compiled kernels, and the schema for editors."""

from __future__ import annotations

import typer

from dxopt.cli.shared import bad_input

commands = typer.Typer()


@commands.command("warm-up", epilog="Example: dxopt warm-up")
def compile_ahead() -> None:
    """Compile ahead what solves need, once after installation, and say where it is kept."""
    from dxopt.solving.warm_up import warm_up

    with bad_input():
        typer.echo(warm_up(progress=typer.echo))


@commands.command("schema", epilog="Example: dxopt schema > problem.schema.json")
def schema() -> None:
    """Print the JSON Schema of a problem file, for editors."""
    import json

    from dxopt.spec import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))
