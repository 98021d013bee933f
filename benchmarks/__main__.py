"""The command line of the benchmarks: python -m benchmarks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.contract import CANDIDATES, GROUPS, INSTANCES, SMOKE
from benchmarks.growth import plots
from benchmarks.instances.cities import GOWALLA
from benchmarks.page import around, publish
from benchmarks.results import OURS, Run, cells, read
from benchmarks.run import run
from benchmarks.table import document
from dxopt.errors import SpecError

Names = list[str] | None


def main(
    group: Annotated[Names, typer.Option(help=f"Repeatable: {', '.join(GROUPS)}; smoke by default.")] = None,
    family: Annotated[Names, typer.Option(help="Repeatable; instances of these families only.")] = None,
    instance: Annotated[Names, typer.Option(help="Repeatable; these instead of any group or family.")] = None,
    candidate: Annotated[Names, typer.Option(help="Repeatable; all of them by default.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each candidate on each instance.")] = 3,
    limit: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds for each answer; by default what the instance says.")
    ] = None,
    gowalla: Annotated[Path | None, typer.Option(help="Check-ins, a CSV file with lat, lon, checkins.")] = None,
    output: Annotated[Path, typer.Option(help="Gets one line of JSON for each run, at its end.")] = Path(
        "results/benchmarks.jsonl"
    ),
    redraw: Annotated[
        Path | None, typer.Option("--from", help="Only tables and plots, of the last runs in this file.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Markdown that gets the tables of scale and a plot, between its markers.")
    ] = None,
) -> None:
    """Time dxopt beside its peers. Exit 1 if dxopt failed or the runs were interrupted, 2 for a bad name or file.

    Tables and plots go to a folder beside the output, named like it.
    """
    try:
        if page is not None:
            around(page)
        if redraw is not None:
            write(read(redraw), redraw.with_suffix(""), page)
            return
        for name in candidate or ():
            CANDIDATES.get(name)
        chosen = choose(group or [SMOKE], family, instance)
        if gowalla is not None:
            gowalla.open("rb").close()
            os.environ[GOWALLA] = str(gowalla.resolve())
        output.parent.mkdir(parents=True, exist_ok=True)
        file = output.open("a", encoding="utf-8")
    except SpecError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    except OSError as error:
        typer.echo(f"{error.filename}: {error.strerror}; name another file", err=True)
        raise typer.Exit(2) from None
    with file:
        runs, interrupted = run(
            chosen,
            candidate or [*CANDIDATES],
            repeat=repeat,
            limit=limit,
            output=file,
            tell=lambda line: typer.echo(line, err=True),
        )
    write(runs, output.with_suffix(""), page)
    if interrupted:
        typer.echo("interrupted; what was done is kept", err=True)
    if interrupted or any(done.candidate == OURS and done.outcome.seconds is None for done in runs):
        raise typer.Exit(1)


def choose(groups: Sequence[str], families: Sequence[str] | None, instances: Sequence[str] | None) -> list[str]:
    """Return the instances named, or those of a family, or of a group; of a family in a group where both are given.

    Raises
    ------
    SpecError
        If there is no such name, or nothing is left.
    """
    if instances:
        for name in instances:
            INSTANCES.get(name)
        return [*instances]
    for name in groups:
        if name not in GROUPS:
            raise SpecError("group", f"there is no {name!r}", f"choose one of {', '.join(GROUPS)}")
    known = sorted({INSTANCES.get(name).family for name in INSTANCES})
    for name in families or ():
        if name not in known:
            raise SpecError("family", f"there is no {name!r}", f"choose one of {', '.join(known)}")
    found = [
        name
        for name in INSTANCES
        if set(INSTANCES.get(name).groups) & set(groups) and (not families or INSTANCES.get(name).family in families)
    ]
    if not found:
        raise SpecError("family", f"has nothing in {', '.join(groups)}", "add --group full")
    return found


def write(runs: Sequence[Run], folder: Path, page: Path | None = None) -> None:
    """Print the tables; write them and the plots into a folder, and into a page where there is one."""
    text = document(runs)
    typer.echo(text)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text(text + "\n", encoding="utf-8")
    drawn = plots(cells(runs), folder)
    typer.echo(f"wrote {folder / 'table.md'} and {len(drawn) // 2} plots", err=True)
    if page is not None:
        typer.echo(f"wrote {', '.join(map(str, publish(runs, page)))}", err=True)


if __name__ == "__main__":
    typer.run(main)
