"""The command line: arguments only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from dxopt.batch import Answer, Outcome

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
Show = Literal["reports", "comparisons", "table"]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@app.command("solve")
def solve_files(
    files: Annotated[list[Path], typer.Argument(help="Problem files.")],
    output: Output = Path("results"),
    solver: Solver = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    as_json: Json = False,
) -> None:
    """Solve problem files and print each report."""
    _run(files, output, solver, tolerance, time_limit, as_json, show="reports")


@app.command("batch")
def batch_files(
    paths: Annotated[list[Path], typer.Argument(help="Problem files, or folders that are searched for *.yaml.")],
    output: Output = Path("results"),
    solver: Solver = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    as_json: Json = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="How many problems to solve at once.")] = 1,
    memory_limit: Annotated[float | None, typer.Option(help="MiB for each problem.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Leave what is finished and unchanged.")] = False,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, or local:N for N workers here.")
    ] = None,
) -> None:
    """Solve many problem files in processes of their own and print one table."""
    apart = {"workers": jobs, "memory_limit": memory_limit, "resume": resume, "cluster": cluster}
    _run(paths, output, solver, tolerance, time_limit, as_json, show="table", apart=apart)


@app.command("compare")
def compare_files(
    files: Annotated[list[Path], typer.Argument(help="Problem files.")],
    output: Output = Path("results"),
    solver: Solver = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    as_json: Json = False,
) -> None:
    """Compare the mechanisms that a file names under `compare` (all by default) with a bound on any."""
    _run(files, output, solver, tolerance, time_limit, as_json, show="comparisons")


@app.command("map")
def map_folder(
    folder: Annotated[Path, typer.Argument(metavar="RESULT_FOLDER", help="A result folder that `solve` wrote.")],
    secret: Annotated[list[str] | None, typer.Option(help="Label or index of a secret; may be given again.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write: *.png, *.svg or *.geojson.")] = Path(
        "map.png"
    ),
) -> None:
    """Draw where reports fall: on average, or from the secrets that are named."""
    from dxopt.errors import DxoptError
    from dxopt.report.folder import load
    from dxopt.report.maps import require_ending, save_map

    try:
        require_ending(output)
        typer.echo(save_map(load(folder), output, secret=secret or ()))
    except DxoptError as error:
        typer.echo(" ".join(str(error).split()), err=True)
        raise typer.Exit(2) from None


@app.command("report")
def report_page(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A result folder, or a folder of them.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page to write; report.html in the folder by default.")
    ] = None,
    figures: Annotated[bool, typer.Option(help="Write figures next to the page as well, as SVG and PNG.")] = False,
) -> None:
    """Write one HTML page that shows a result, or all results of a batch, each proven again."""
    from dxopt.errors import DxoptError
    from dxopt.report.page import save_page
    from dxopt.report.places import PAGE

    try:
        for file in save_page(folder, output or folder / PAGE, figures=figures):
            typer.echo(file)
    except DxoptError as error:
        typer.echo(" ".join(str(error).split()), err=True)
        raise typer.Exit(2) from None


@app.command("verify")
def verify_folder(
    folder: Annotated[Path, typer.Argument(metavar="RESULT_FOLDER", help="A result folder that `solve` wrote.")],
    as_json: Json = False,
) -> None:
    """Prove a result again from its files alone: 0 if all holds, 1 if a claim fails, 3 if some are left open."""
    from dxopt.errors import DxoptError
    from dxopt.verify import verify

    try:
        verdict = verify(folder)
    except DxoptError as error:
        typer.echo(" ".join(str(error).split()), err=True)
        raise typer.Exit(2) from None
    typer.echo(verdict.as_json() if as_json else str(verdict))
    raise typer.Exit(verdict.exit_code)


@app.command("schema")
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
    as_json: bool,
    *,
    show: Show,
    apart: dict[str, Any] | None = None,
) -> None:
    from rich.console import Console

    from dxopt.batch import Overrides, problem_files, run, run_apart
    from dxopt.errors import DxoptError, SpecError
    from dxopt.report.progress import Progress
    from dxopt.routes import COMPARABLE

    def finished(answer: Answer) -> None:
        for part in [] if as_json else _parts(answer, show):
            progress.print(part, Console())

    try:
        files = problem_files(paths)
    except SpecError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    compare = COMPARABLE if show == "comparisons" else None
    overrides = Overrides(solver=solver, tolerance=tolerance, time_limit=time_limit, compare=compare)
    with Progress(Console(stderr=True)) as progress:
        how: dict[str, Any] = {"overrides": overrides, "tell": progress.tell}
        try:
            if apart is None:
                outcome = run(files, output, **how, finished=finished)
            else:
                outcome = run_apart(files, output, **how, **apart, settled=progress.settled)
        except DxoptError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(2) from None
    _show(outcome, output, as_json, table=show == "table")
    raise typer.Exit(outcome.exit_code)


def _parts(answer: Answer, show: Show) -> list[object]:
    """What is printed of an answer."""
    from dxopt.levels import Level
    from dxopt.report.result import Report

    if show == "table":
        return []
    if isinstance(answer, Report):
        parts = [answer if show == "reports" else None, answer.comparison]
    elif isinstance(answer, Level):
        parts = [answer.report, f"{answer.problem.name}: {answer}"]
    else:
        parts = [answer]
    return [part for part in parts if part is not None]


def _show(outcome: Outcome, output: Path, as_json: bool, *, table: bool) -> None:
    from dxopt.report.table import summary

    if as_json:
        typer.echo(outcome.as_json())
    elif table:
        typer.echo(summary(outcome.lines))
    for text in outcome.notes + outcome.errors:
        typer.echo(text, err=True)
    if not as_json and any(line.folder for line in outcome.lines):
        typer.echo(f"results in {output}/")


def main() -> None:
    """Entry point: bad arguments exit with 2, an unexpected Ctrl-C with 1."""
    try:
        app()
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
