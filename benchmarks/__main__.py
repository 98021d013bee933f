"""The command line of the benchmarks: python -m benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.contract import CANDIDATES, INSTANCES
from benchmarks.run import run
from benchmarks.table import OURS, table
from dxopt.errors import SpecError


def main(
    instance: Annotated[list[str] | None, typer.Option(help="Repeatable; all of them by default.")] = None,
    candidate: Annotated[list[str] | None, typer.Option(help="Repeatable; all of them by default.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each candidate on each instance.")] = 3,
    limit: Annotated[
        float, typer.Option(min=1.0, help="Seconds for each run, warm-up and scoring included.")
    ] = 180.0,
    output: Annotated[Path, typer.Option(help="Gets one line of JSON for each run, at its end.")] = Path(
        "results/benchmarks.jsonl"
    ),
) -> None:
    """Time dxopt beside its peers. Exit 1 if dxopt failed or the runs were interrupted, 2 for a bad name."""
    try:
        for name in instance or ():
            INSTANCES.get(name)
        for name in candidate or ():
            CANDIDATES.get(name)
        output.parent.mkdir(parents=True, exist_ok=True)
        file = output.open("a", encoding="utf-8")
    except SpecError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    except OSError as error:
        typer.echo(f"output: {error}; name a file that can be written", err=True)
        raise typer.Exit(2) from None
    with file:
        runs, interrupted = run(
            instance or [*INSTANCES],
            candidate or [*CANDIDATES],
            repeat=repeat,
            limit=limit,
            output=file,
            tell=lambda line: typer.echo(line, err=True),
        )
    typer.echo(table(runs))
    if interrupted:
        typer.echo("interrupted; what was done is kept", err=True)
    if interrupted or any(done.candidate == OURS and done.outcome.seconds is None for done in runs):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
