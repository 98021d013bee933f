"""Commands about the installation: compiled kernels, the schema for editors, and plug-ins."""

from __future__ import annotations

import typer

from dxopt.cli.shared import Json

commands = typer.Typer()


@commands.command("warm-up", epilog="Example: dxopt warm-up")
def compile_ahead() -> None:
    """Compile ahead what solves need, once after installation, and say where it is kept."""
    from dxopt.solving.warm_up import warm_up

    typer.echo(warm_up(progress=typer.echo))


@commands.command("schema", epilog="Example: dxopt schema > problem.schema.json")
def schema() -> None:
    """Print the JSON Schema of a problem file, for editors."""
    import json

    from dxopt.spec import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


@commands.command("plugins", epilog="Example: dxopt plugins")
def list_plugins(as_json: Json = False) -> None:
    """List the metrics, losses, solvers and mechanisms of other packages.

    Each is loaded to see whether it can be used. Exits with 1 where one
    cannot, with the reason; problems that do not name it are not affected.
    """
    import json

    from dxopt.solving.plugins import plugins

    found = plugins()
    if as_json:
        typer.echo(json.dumps([{**one.plugin.content(), "wrong": one.wrong} for one in found], indent=2))
    else:
        for one in found:
            typer.echo(f"{one.plugin}" + (f": cannot be used: {one.wrong}" if one.wrong else ""))
        if not found:
            typer.echo("no plug-ins are installed")
    raise typer.Exit(1 if any(one.wrong for one in found) else 0)
