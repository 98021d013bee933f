"""The command line: arguments only."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dxopt import __version__
from dxopt.errors import DxoptError
from dxopt.runtime.machines import using
from dxopt.runtime.stopping import terminable

if TYPE_CHECKING:
    from dxopt.batch.answering import Answer
    from dxopt.batch.printing import Show

app = typer.Typer(
    help="Optimal mechanisms for metric differential privacy, with proofs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for the result folders.")]
Solver = Annotated[str | None, typer.Option(help="clarabel, highs, or another that cvxpy has installed.")]
Tolerance = Annotated[float | None, typer.Option(help="On the gap between value and bound.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds for each problem.")]
_LEVELS = "Levels instead of the file's own: FROM:TO:STEP, ends included, or A,B,C; also ln(4) or 1/2."
Levels = Annotated[str, typer.Option(help=_LEVELS)]
_METHODS = "Mechanism to put beside the optimum; may be given again. Otherwise those of the file."
Methods = Annotated[list[str] | None, typer.Option("--method", help=_METHODS)]
_LEVEL = "Level instead of the file's own: a number, or ln(4), sqrt(2), 1/2."
Level = Annotated[str | None, typer.Option("--epsilon", help=_LEVEL)]
Cluster = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, or local:N for N workers here.")]
Device = Annotated[str | None, typer.Option(help="gpu, for the master problem of column generation.")]
_PAGE = "Page to write; report.html in the folder by default."
_SECRET = "Label of a secret, or its index where no label is a number; may be given again."
Files = Annotated[list[Path], typer.Argument(help="Problem files.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 2 where a plausibility warning is given.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a result that is of another problem.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dxopt {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
]


@app.callback()
def options(version: Version = False) -> None:
    """Options of dxopt itself."""


@app.command("solve", epilog="Example: dxopt solve town.yaml -o results --time-limit 60")
def solve_files(
    files: Files,
    output: Output = Path("results"),
    epsilon: Level = None,
    solver: Solver = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    force: Force = False,
    as_json: Json = False,
    cluster: Cluster = None,
    device: Device = None,
    strict: Strict = False,
) -> None:
    """Solve problem files and print each report."""
    with _bad_input(), using(cluster, device):
        _run(files, output, solver, tolerance, time_limit, force, as_json, strict, show="reports", epsilon=epsilon)


@app.command("batch", epilog="Example: dxopt batch problems -j 2 --resume")
def batch_files(
    paths: Annotated[list[Path], typer.Argument(help="Problem files, or folders that are searched for *.yaml.")],
    output: Output = Path("results"),
    solver: Solver = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    force: Force = False,
    as_json: Json = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="How many problems to solve at once.")] = 1,
    memory_limit: Annotated[float | None, typer.Option(help="MiB for each problem.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Leave what is finished and unchanged.")] = False,
    cluster: Cluster = None,
    strict: Strict = False,
) -> None:
    """Solve many problem files in processes of their own and print one table."""
    apart = {"workers": jobs, "memory_limit": memory_limit, "resume": resume, "cluster": cluster}
    _run(paths, output, solver, tolerance, time_limit, force, as_json, strict, show="table", apart=apart)


@app.command("compare", epilog="Example: dxopt compare town.yaml")
def compare_files(
    files: Files,
    output: Output = Path("results"),
    epsilon: Level = None,
    solver: Solver = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    force: Force = False,
    as_json: Json = False,
    cluster: Cluster = None,
    device: Device = None,
    strict: Strict = False,
) -> None:
    """Compare the mechanisms that a file names under `compare` (all by default) with a bound on any."""
    with _bad_input(), using(cluster, device):
        _run(
            files, output, solver, tolerance, time_limit, force, as_json, strict, show="comparisons", epsilon=epsilon
        )


@app.command("sweep", epilog="Example: dxopt sweep town.yaml --epsilon 0.5:2:0.5 --method tight")
def sweep_files(
    files: Files,
    epsilon: Levels,
    method: Methods = None,
    output: Output = Path("results"),
    solver: Solver = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    force: Force = False,
    as_json: Json = False,
    cluster: Cluster = None,
    device: Device = None,
    strict: Strict = False,
) -> None:
    """Loss and leakage against epsilon: the optimum, its bound, and other mechanisms at the same levels.

    The others are those of --method, or else those that the file names under
    `compare` or in a list of methods, or else all that there are.

    A file is one sweep, or one for each prior that it lists. Each is a folder
    with its picture, its figures as CSV, and a result for every level.
    """
    swept = (epsilon, method)
    with _bad_input(), using(cluster, device):
        _run(files, output, solver, tolerance, time_limit, force, as_json, strict, show="reports", sweep=swept)


@app.command("map", epilog="Example: dxopt map results/town --index 3 -o map.svg")
def map_folder(
    folder: Annotated[Path, typer.Argument(metavar="RESULT_FOLDER", help="A result folder that `solve` wrote.")],
    secret: Annotated[list[str] | None, typer.Option(help=_SECRET)] = None,
    label: Annotated[list[str] | None, typer.Option(help="Secret by its label, whatever that looks like.")] = None,
    index: Annotated[list[int] | None, typer.Option(help="Secret by its index, counted from 0.")] = None,
    point: Annotated[list[str] | None, typer.Option(help="Secret by its coordinates, as LAT,LON or X,Y.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="*.png, *.svg or *.geojson.")] = Path("map.png"),
) -> None:
    """Draw where reports fall: on average, or from the secrets that are named."""
    from dxopt.results.maps.located import secrets_of
    from dxopt.results.maps.map import require_ending, save_map
    from dxopt.results.reading import load

    with _bad_input():
        require_ending(output)
        typer.echo(save_map(load(folder), output, secret=secrets_of(secret, label, index, point)))


@app.command("report", epilog="Example: dxopt report results")
def report_page(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A result folder, or a folder of them.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help=_PAGE)] = None,
    figures: Annotated[bool, typer.Option(help="Write figures next to the page as well, as SVG and PNG.")] = False,
) -> None:
    """Write one HTML page that shows a result, or all results of a batch, each proven again."""
    from rich.console import Console

    from dxopt.batch.progress import Progress
    from dxopt.results.files import PAGE
    from dxopt.results.page import save_page

    with _bad_input():
        with Progress(Console(stderr=True), after=2.0) as progress:
            page = output or folder / PAGE
            written = save_page(folder, page, figures=figures, tell=lambda line: progress.tell(str(folder), line))
        for file in written:
            typer.echo(file)


@app.command("verify", epilog="Example: dxopt verify results/town")
def verify_folder(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A result folder, or a folder of them.")],
    as_json: Json = False,
) -> None:
    """Prove results again from their files alone: 0 if all holds, 1 if a claim fails, 3 if some are left open."""
    from rich.console import Console

    from dxopt.batch.progress import Progress
    from dxopt.verify import verify_all

    with _bad_input(), Progress(Console(stderr=True), after=2.0) as progress:
        verdict = verify_all(folder, tell=lambda line: progress.tell(str(folder), line))
    typer.echo(verdict.as_json() if as_json else str(verdict))
    raise typer.Exit(verdict.exit_code)


@app.command("warm-up", epilog="Example: dxopt warm-up")
def compile_ahead() -> None:
    """Compile ahead what solves need, once after installation, and say where it is kept."""
    from dxopt.solving.warm_up import warm_up

    with _bad_input():
        typer.echo(warm_up(progress=typer.echo))


@app.command("schema", epilog="Example: dxopt schema > problem.schema.json")
def schema() -> None:
    """Print the JSON Schema of a problem file, for editors."""
    import json

    from dxopt.spec import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


def _run(
    paths: list[Path],
    output: Path,
    solver: str | None,
    tolerance: float | None,
    time_limit: float | None,
    force: bool,
    as_json: bool,
    strict: bool,
    *,
    show: Show,
    apart: dict[str, Any] | None = None,
    epsilon: str | None = None,
    sweep: tuple[str, list[str] | None] | None = None,
) -> None:
    from rich.console import Console

    from dxopt.batch import Overrides, run, run_apart
    from dxopt.batch.overrides import asked
    from dxopt.batch.printing import print_outcome, printed_parts
    from dxopt.batch.progress import Progress
    from dxopt.spec import read_level

    def finished(answer: Answer) -> None:
        for part in [] if as_json else printed_parts(answer, show):
            progress.print(part, Console())

    with _bad_input():
        level = None if epsilon is None else read_level(epsilon)
        overrides = Overrides(solver, tolerance, time_limit, epsilon=level, **asked(show, sweep), strict=strict)
        with Progress(Console(stderr=True), several=apart is not None) as progress:
            how = {"overrides": overrides, "force": force, "tell": progress.tell}
            if apart is None:
                outcome = run(paths, output, **how, finished=finished)
            else:
                outcome = run_apart(paths, output, **how, **apart, settled=progress.settled)
    print_outcome(outcome, output, as_json, table=show == "table")
    raise typer.Exit(outcome.exit_code)


@contextmanager
def _bad_input() -> Iterator[None]:
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


def main() -> None:
    """Entry point: bad arguments exit with 2, an unexpected Ctrl-C and a full disk with 1."""
    try:
        app()
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        typer.echo(f"output: cannot be written: {error.strerror}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
