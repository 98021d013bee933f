"""Commands that solve: one problem, many, comparisons, sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dxopt.cli.shared import Json
from dxopt.runtime.cluster import using

if TYPE_CHECKING:
    from dxopt.batch.answering import Answer
    from dxopt.batch.printing import Show
    from dxopt.spec import Task

commands = typer.Typer()

Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for the result folders.")]
Solver = Annotated[str | None, typer.Option(help="clarabel, highs, or another that cvxpy has installed.")]
Tolerance = Annotated[float | None, typer.Option(help="On the gap between value and bound.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds of search for each problem; proofs come on top.")]
_LEVELS = "Levels instead of the file's own: FROM:TO:STEP, ends included, or A,B,C; also ln(4) or 1/2."
Levels = Annotated[str, typer.Option(help=_LEVELS)]
_METHODS = "Mechanism to put beside the optimum; may be given again. Otherwise those of the file."
Methods = Annotated[list[str] | None, typer.Option("--method", help=_METHODS)]
_LEVEL = "Level instead of the file's own: a number, or ln(4), sqrt(2), 1/2."
Level = Annotated[str | None, typer.Option("--epsilon", help=_LEVEL)]
Cluster = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, or local:N for N workers here.")]
Device = Annotated[str | None, typer.Option(help="gpu, for the master problem of column generation.")]
Files = Annotated[list[Path], typer.Argument(help="Problem files, or folders that are searched for *.yaml.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 2 where a plausibility warning is given.")]
_VERBOSE = "Print all digits, the routes and why others were not taken, and the proofs."
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help=_VERBOSE)]
Force = Annotated[bool, typer.Option("--force", help="Replace a result that is of another problem.")]


def _add_solving_command(name: str, show: Show, help: str) -> None:
    """Add a command that does problem files one after another in this process; `show` is what it prints."""

    @commands.command(name, help=help, epilog=f"Example: dxopt {name} town.yaml -o results --time-limit 60")
    def command(
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
        verbose: Verbose = False,
    ) -> None:
        how = {"show": show, "verbose": verbose, "epsilon": epsilon}
        with using(cluster, device):
            _run_and_print(files, output, solver, tolerance, time_limit, force, as_json, strict, **how)


_add_solving_command("solve", "reports", "Solve problem files and print each report.")


@commands.command("batch", epilog="Example: dxopt batch problems -j 2 --resume")
def batch_files(
    paths: Files,
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
    _run_and_print(paths, output, solver, tolerance, time_limit, force, as_json, strict, show="table", apart=apart)


_add_solving_command(
    "compare",
    "comparisons",
    "Compare the mechanisms that a file names under `compare` (all by default) with a bound on any.",
)


@commands.command("sweep", epilog="Example: dxopt sweep town.yaml --epsilon 0.5:2:0.5 --method tight")
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
    verbose: Verbose = False,
) -> None:
    """Loss and leakage against epsilon: the optimum, its bound, and other mechanisms at the same levels.

    The others are those of --method, or else those that the file names under
    `compare` or in a list of methods, or else all that there are.

    A file is one sweep, or one for each prior that it lists. Each is a folder
    with its picture, its figures as CSV, and a result for every level.
    """
    how = {"show": "reports", "verbose": verbose, "sweep": (epsilon, method)}
    with using(cluster, device):
        _run_and_print(files, output, solver, tolerance, time_limit, force, as_json, strict, **how)


def _run_and_print(
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
    verbose: bool = False,
    apart: dict[str, Any] | None = None,
    epsilon: str | None = None,
    sweep: tuple[str, list[str] | None] | None = None,
) -> None:
    """Run problem files, print the outcome, and exit with its code.

    They run in this process or, with `apart`, which has options of `run_apart`, in processes of their own. `sweep`
    has levels as they were written, and the mechanisms to put beside the optimum, or None for the file's own.
    """

    from dxopt.batch import Overrides, run, run_apart
    from dxopt.batch.printing import print_answer, print_outcome, progress_printer
    from dxopt.runtime.progress import Live
    from dxopt.solving.routes.choice import COMPARABLE
    from dxopt.solving.sizes import large_text
    from dxopt.spec import read_level, read_levels
    from dxopt.studies.questions import AtLevels

    def finished(answer: Answer) -> None:
        if not as_json:
            print_answer(answer, "details" if verbose else show)

    def begun(task: Task) -> None:
        method, solver, spanner = task.how
        method = "optimal" if task.compare else method  # the optimum is what is compared with
        if task.sweep is None and (told := large_text(task.problem, method, solver, spanner)):
            progress.announce(task.problem.name, told)

    overrides = Overrides(
        solver,
        tolerance,
        time_limit,
        compare=COMPARABLE if show == "comparisons" else None,
        epsilon=None if epsilon is None else read_level(epsilon),
        sweep=None if sweep is None else AtLevels(read_levels(sweep[0]), tuple(sweep[1]) if sweep[1] else None),
        strict=strict,
    )
    with Live(several=apart is not None) as progress:
        how = {"overrides": overrides, "force": force, "tell": progress.tell}
        if apart is None:
            outcome = run(paths, output, **how, finished=finished, begun=begun)
        else:
            outcome = run_apart(paths, output, **how, **apart, settled=progress_printer(progress))
    print_outcome(outcome, output, as_json, table=show == "table")
    raise typer.Exit(outcome.exit_code)
