"""Commands about results: maps, pages, proofs."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from dxopt.cli.shared import Json

commands = typer.Typer()

_PAGE = "Page to write; report.html in the folder by default."
_UNDERLAY = "GeoJSON file to draw under maps: coasts, rivers, roads, points with names."
_TABLE = "A table of what other levels cost, each solved: FROM:TO:STEP, ends included, or A,B,C; also ln(4) or 1/2."
_VALUES = (
    "Published values, as 12 counts, that are told of together: within what all are, and how far off their total is."
)
_DATA_PAGE = "Print three sentences alone, for the page on which data are offered: markdown or html."
_VERIFIED = "A result folder, a folder of them, or a table file *.dxt; with --result a file that `apply` wrote."
_OF_RESULT = "Result folder, or table file *.dxt, whose mechanism made the file PATH."
_SECRET = "Label of a secret; may be given again."


@commands.command("map", epilog="Example: dxopt map results/town --index 3 -o map.svg")
def map_folder(
    folder: Annotated[Path, typer.Argument(metavar="RESULT_FOLDER", help="A result folder that `solve` wrote.")],
    secret: Annotated[list[str] | None, typer.Option(help=_SECRET)] = None,
    label: Annotated[list[str] | None, typer.Option(help="The same as --secret.")] = None,
    index: Annotated[list[int] | None, typer.Option(help="Secret by its index, counted from 0.")] = None,
    point: Annotated[list[str] | None, typer.Option(help="Secret by its coordinates, as LAT,LON or X,Y.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="*.png, *.svg or *.geojson.")] = Path("map.png"),
    underlay: Annotated[Path | None, typer.Option(help=_UNDERLAY)] = None,
) -> None:
    """Draw where reports fall: on average, or from the secrets that are named."""
    from dxopt.results.maps.located import secrets_of
    from dxopt.results.maps.map import require_ending, save_map
    from dxopt.results.reading import load

    require_ending(output)
    typer.echo(save_map(load(folder), output, secret=secrets_of(secret, label, index, point), underlay=underlay))


@commands.command("report", epilog="Example: dxopt report results")
def report_page(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A result folder, or a folder of them.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help=_PAGE)] = None,
    title: Annotated[str, typer.Option(help="Title of a page about several results.")] = "",
    underlay: Annotated[Path | None, typer.Option(help=_UNDERLAY)] = None,
    figures: Annotated[bool, typer.Option(help="Write figures next to the page as well, as SVG and PNG.")] = False,
) -> None:
    """Write one HTML page that shows a result, or all results of a batch, each proven again."""
    from dxopt.results.folder import PAGE
    from dxopt.results.page import save_page
    from dxopt.runtime.progress import Live

    with Live(after=2.0) as progress:
        page = output or folder / PAGE
        written = save_page(
            folder,
            page,
            title=title,
            underlay=underlay,
            figures=figures,
            tell=lambda line: progress.tell(str(folder), line),
        )
    for file in written:
        typer.echo(file)


@commands.command("explain", epilog="Example: dxopt explain results/town --epsilon 0.5:2:0.5")
def explain_results(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT...", help="Result folders, problem files not solved yet, or published files."),
    ],
    epsilon: Annotated[str | None, typer.Option(help=_TABLE)] = None,
    distance: Annotated[
        float | None, typer.Option(help="How far apart the secrets are that factors are for.")
    ] = None,
    reports: Annotated[
        int | None, typer.Option(help="Reports of one person that are told of; 10 by default.")
    ] = None,
    values: Annotated[int | None, typer.Option(help=_VALUES)] = None,
    data_page: Annotated[str | None, typer.Option(metavar="FORM", help=_DATA_PAGE)] = None,
    tolerance: Annotated[float, typer.Option(help="With --epsilon, on the gap between value and bound.")] = 1e-4,
    time_limit: Annotated[float | None, typer.Option(help="With --epsilon, seconds for all levels.")] = None,
    as_json: Json = False,
) -> None:
    """Say in plain words what results and published files promise, what they cost, and whom."""
    from dxopt.errors import SpecError, required_choice
    from dxopt.runtime.progress import Live
    from dxopt.runtime.stopping import Stop
    from dxopt.solving.sizes import size_text
    from dxopt.spec import read_levels
    from dxopt.spec.problems import tasks_asked
    from dxopt.studies.explaining import explain, load_explainable
    from dxopt.words.data_page import FORMS
    from dxopt.words.published import is_published, published

    if data_page is not None:
        required_choice("data-page", data_page, FORMS)
    told = []
    with Live(after=2.0) as progress, Stop() as stop:
        levels = None if epsilon is None else read_levels(epsilon)
        for place in results:
            if is_published(place):
                asked = {"epsilon": epsilon, "distance": distance, "reports": reports, "values": values}
                if (name := next((name for name, value in asked.items() if value is not None), None)) is not None:
                    wrong = f"goes with results, and {place} is a published file"
                    raise SpecError(name, wrong, "leave it out: published files take --data-page and --json alone")
                told.append(published(place))
                continue
            tell = functools.partial(progress.tell, str(place))
            options = {} if levels is None else {"tolerance": tolerance, "time_limit": time_limit, "progress": tell}
            say = functools.partial(explain, distance=distance, reports=reports, values=values, epsilons=levels)
            if place.suffix not in (".yaml", ".yml"):
                told.append(say(load_explainable(place), **options))
                continue
            for task in tasks_asked(place, levels):
                found = say(task.problem, **options)
                if levels is None and (how := task.how) != ("auto", "auto", None):
                    found = replace(found, size=size_text(task.problem, *how))
                told.append(found)
    if data_page is not None:
        typer.echo("\n\n".join(one.data_page.written(data_page) for one in told))
    elif as_json:
        content = {"results": [one.content() for one in told]}
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        typer.echo("\n\n".join(map(str, told)))
    raise typer.Exit(1 if stop.interrupted else 0)


def _made_again(file: Path, result: Path, folder: Path, tell: Callable[[str], None]) -> Path | None:
    """Save the table that a published file names, made of the mechanism of a result folder without one; None if not.

    Whoever applies such a result makes the table, for its prior and loss or without: it is proven as any other.
    """
    from dxopt.errors import DxoptError
    from dxopt.release.tables import integer_table
    from dxopt.results.folder import TABLE, holds_report
    from dxopt.results.reading import load
    from dxopt.verify.published.sidecar import read_sidecar, sidecar_of
    from dxopt.verify.verdict import Broken

    if not holds_report(result) or (result / TABLE).exists():
        return None
    try:
        named, report = read_sidecar(sidecar_of(file)).mechanism.table_sha256, load(result)
        for made in (report.make_table, functools.partial(integer_table, report.mechanism)):
            if (table := made(progress=tell)).digest == named:
                return table.save(folder / TABLE)
    except (DxoptError, Broken):
        pass
    return None


@commands.command("verify", epilog="Example: dxopt verify results/town")
def verify_results(
    path: Annotated[Path, typer.Argument(metavar="PATH", help=_VERIFIED)],
    result: Annotated[Path | None, typer.Option(metavar="RESULT", help=_OF_RESULT)] = None,
    as_json: Json = False,
) -> None:
    """Prove results again from their files alone: 0 if all holds, 1 if a claim fails, 3 if some are left open.

    With --result, PATH is a file that `apply` wrote: the result is proven
    again, and that the file and its sidecar belong to its mechanism. What
    that promises is then said in plain words.
    """
    from dxopt.runtime.progress import Live
    from dxopt.verify import verify_all, verify_published

    with Live(after=2.0) as progress, TemporaryDirectory() as made:
        tell = functools.partial(progress.tell, str(path))
        if result is None:
            verdict = verify_all(path, tell=tell)
        else:
            verdict = verify_published(path, result, table=_made_again(path, result, Path(made), tell), tell=tell)
        promised = ()
        if result is not None and verdict.exit_code == 0:
            from dxopt.words.published import published

            promised = published(path).sentences
    if not as_json:
        typer.echo("\n".join([str(verdict), *(f"{topic}: {text}" for topic, text in promised)]))
    elif promised:
        content = json.loads(verdict.as_json()) | {"sentences": promised}
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        typer.echo(verdict.as_json())
    raise typer.Exit(verdict.exit_code)
