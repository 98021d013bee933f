"""Commands about releases: mechanisms put to use on people's data, tables for other languages, and keys."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dxopt.cli.shared import Json

if TYPE_CHECKING:
    from dxopt.release.keys import Key
    from dxopt.release.tables import IntegerTable
    from dxopt.results.report import Report

commands = typer.Typer()

_DATA = "CSV, Parquet, GeoParquet or GeoJSON."
_OUTPUT = "File to write, in the format of its ending; what was done is written beside it, as OUT.dxopt.json."
_COLUMN = "Column of values on a line, or of labels."
_OUTSIDE = "What becomes of rows too far from every secret: refuse, nearest or drop."
_UNUSABLE = "What becomes of rows without a usable position, person or time, as empty cells: refuse or drop."
_WITHIN = "How far a position may be from its secret, in the unit of positions; otherwise as the space has it."
_KEEP = "Other column to keep; may be given again. All are kept otherwise."
_DROP = "Column to leave out; may be given again. Without that of the secret, `report` alone has the report."
_LEAN = "Add the radius alone; levels and what was done are in OUT.dxopt.json."
_DELIMITER = "Delimiter of CSV: , ; | or tab. It is guessed otherwise."
_DECIMAL = "Decimal mark of numbers in text: . or , and guessed otherwise."
_ENCODING = "Encoding of CSV, such as cp1252; UTF-8, UTF-16 or UTF-32 otherwise."
_HEADER = "Whether the first line of CSV names the columns; otherwise it does, unless it looks like data."
_FORMULAS = "What becomes of cells that a spreadsheet would run as formulas: keep, refuse or neutralise."
_KEY = "Key of draws that give a person at a place the same report again, for places that stay; or that in DXOPT_KEY."
_RELEASE = "Name of what is published: for draws with a key (--key-file or DXOPT_KEY), and in the ledger."
_TIME = "Column of when a row was, for a ledger with a budget by period: 2026-01-31, or 2026-01-31T12:00:00+01:00."
_PER = "Period of the ledger's budgets (day, week, month, year), to be told if it has another one, or none."
_LEDGER = "Ledger of `dxopt budget` that each row is paid from, by --person or --account."
_ACCOUNT = "Account of the ledger that all rows are paid from, such as everybody, where rows are of no persons."
_OVER_BUDGET = "What becomes of rows that a person cannot pay for: refuse, or drop all but the first that are paid."
_PRIOR_LEDGER = 'Ledger of `dxopt budget` in the unit "per person" that everybody in the check-ins pays from.'
_LEDGER_KEY = "Key of a ledger that stores persons as keyed hashes."
_RESULT = "A result folder that `solve` wrote, or the file of a table, *.dxt."
_TO = "js (browser and Node), sql (PostgreSQL), duckdb, json, or dxt (the table file itself)."
_PRIOR = "Prior of the radius: uniform. Otherwise that of the result."


def _load_key(file: Path | None, release: str | None, ledger: Path | None) -> Key | None:
    """Return the key of draws from a file or, where a release is named, from the environment; None to draw without.

    A release without a key is just a name in the ledger; without a ledger it is refused.
    """
    from dxopt.errors import SpecError
    from dxopt.release.keys import VARIABLE, Key

    if file is not None:
        return Key.load(file)
    if release is None:
        return None
    if VARIABLE not in os.environ:
        if ledger is not None:
            return None
        raise SpecError("release", "needs a key", f"leave --release out, or give --key-file FILE or set {VARIABLE}")
    return Key.from_environment()


def _with_table(result: Path) -> Path | Report:
    """Return the path of a table, or a result folder without one as its report, whose table is made now."""
    from dxopt.results.folder import TABLE, holds_report
    from dxopt.results.reading import load
    from dxopt.runtime.progress import Live

    if not holds_report(result) or (result / TABLE).exists():
        return result
    report = load(result)
    with Live(after=2.0) as progress:
        report.make_table(progress=lambda line: progress.tell(str(result), line))
    return report


def _table_of(result: Path) -> IntegerTable:
    """Return the table of a path, made now if a result folder has none."""
    from dxopt.release.tables import IntegerTable

    given = _with_table(result)
    return IntegerTable.load(given) if isinstance(given, Path) else given.make_table()


@commands.command("table", epilog="Example: dxopt table results/town -o town.dxt")
def make_table(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A result folder that `solve` wrote.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="By default RESULT.dxt.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Make the integer table of a result, from which reports are drawn exactly, and prove it.

    What rounding costs in expected loss is printed. `apply`, `export` and
    `verify` take the file in place of the result, and need not make it.
    """
    from dxopt.release.exports import export

    table = _table_of(result)
    written = export(table, "dxt", output or Path(f"{result}.dxt"), force=force)
    typer.echo(f"{written}: {table.bits} bits; rounding costs {table.cost:.1e} of expected loss")


@commands.command("apply", epilog="Example: dxopt apply results/town people.csv -o public.csv --lat lat --lon lon")
def apply_table(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A result folder, or a table *.dxt.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help=_DATA)],
    output: Annotated[Path, typer.Option("--output", "-o", help=_OUTPUT)],
    lat: Annotated[str | None, typer.Option(help="Column of latitudes, in degrees.")] = None,
    lon: Annotated[str | None, typer.Option(help="Column of longitudes, in degrees.")] = None,
    x: Annotated[str | None, typer.Option("--x", help="Column of the first coordinate.")] = None,
    y: Annotated[str | None, typer.Option("--y", help="Column of the second coordinate.")] = None,
    column: Annotated[str | None, typer.Option(help=_COLUMN)] = None,
    label: Annotated[str | None, typer.Option(help="Column of labels of secrets.")] = None,
    outside: Annotated[str, typer.Option(help=_OUTSIDE)] = "refuse",
    unusable: Annotated[str, typer.Option(help=_UNUSABLE)] = "refuse",
    within: Annotated[float | None, typer.Option(help=_WITHIN)] = None,
    worst: Annotated[bool, typer.Option("--worst", help="Add the radius for the worst secret.")] = False,
    lean: Annotated[bool, typer.Option("--lean", help=_LEAN)] = False,
    keep: Annotated[list[str] | None, typer.Option(help=_KEEP)] = None,
    drop: Annotated[list[str] | None, typer.Option(help=_DROP)] = None,
    prior: Annotated[str | None, typer.Option(help=_PRIOR)] = None,
    delimiter: Annotated[str | None, typer.Option(help=_DELIMITER)] = None,
    decimal: Annotated[str | None, typer.Option(help=_DECIMAL)] = None,
    encoding: Annotated[str | None, typer.Option(help=_ENCODING)] = None,
    formulas: Annotated[str, typer.Option(help=_FORMULAS)] = "keep",
    header: Annotated[bool | None, typer.Option("--header/--no-header", help=_HEADER)] = None,
    key_file: Annotated[Path | None, typer.Option(help=_KEY)] = None,
    person: Annotated[str | None, typer.Option(help="Column that says whose row it is.")] = None,
    account: Annotated[str | None, typer.Option(metavar="NAME", help=_ACCOUNT)] = None,
    time: Annotated[str | None, typer.Option(help=_TIME)] = None,
    per: Annotated[str | None, typer.Option(metavar="PERIOD", help=_PER)] = None,
    release: Annotated[str | None, typer.Option(help=_RELEASE)] = None,
    ledger: Annotated[Path | None, typer.Option(help=_LEDGER)] = None,
    ledger_key: Annotated[Path | None, typer.Option(help=_LEDGER_KEY)] = None,
    over_budget: Annotated[str, typer.Option(help=_OVER_BUDGET)] = "refuse",
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    as_json: Json = False,
) -> None:
    """Replace positions, values or labels in a file of people's data by random reports, drawn exactly.

    The file is read twice, in chunks: everything is checked before the
    first report is drawn. Rows stay in their order; nothing is written
    where a row is refused.
    """
    import json

    from dxopt.errors import PlausibilityWarning, required_choice
    from dxopt.release.applying import Columns, Output, apply
    from dxopt.release.budgets import Budgets
    from dxopt.release.keys import Key

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", PlausibilityWarning)
        if prior is not None:
            required_choice("prior", prior, ("uniform",))
        key = _load_key(key_file, release, ledger)
        key_of_ledger = None if ledger_key is None else Key.load(ledger_key)
        with nullcontext() if ledger is None else Budgets.open(ledger, key=key_of_ledger) as budgets:
            done = apply(
                _with_table(result),
                data,
                Output(output, force=force, command=["dxopt", *sys.argv[1:]]),
                lat=lat,
                lon=lon,
                column=column,
                columns=Columns(
                    x=x,
                    y=y,
                    label=label,
                    keep=keep or None,
                    drop=drop or (),
                    worst=worst,
                    lean=lean,
                    prior=prior,
                    delimiter=delimiter,
                    decimal=decimal,
                    encoding=encoding,
                    formulas=formulas,  # pyright: ignore[reportArgumentType]
                    header=header,
                ),
                outside=outside,  # pyright: ignore[reportArgumentType]
                unusable=unusable,  # pyright: ignore[reportArgumentType]
                within=within,
                person=person,
                account=account,
                ledger=budgets,
                over_budget=over_budget,  # pyright: ignore[reportArgumentType]
                time=time,
                per=per,
                key=key,
                release=release,
                progress=True,
            )
        for warning in told:
            typer.echo(f"warning: {warning.message}", err=True)
        typer.echo(json.dumps(done.said, indent=2, ensure_ascii=False) if as_json else str(done))


@commands.command("export", epilog="Example: dxopt export results/town --to js -o town.js")
def export_table(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help=_RESULT)],
    to: Annotated[str, typer.Option(help=_TO)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="By default named like the mechanism.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write the integer table of a result for another language; its privacy is proven first."""
    from dxopt.release.exports import export

    typer.echo(export(_table_of(result), to, output, force=force))


@commands.command("prior", epilog="Example: dxopt prior city.yaml --ledger priors.sqlite")
def draw_prior(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A problem file with a prior of kind: private.")],
    ledger: Annotated[Path | None, typer.Option(help=_PRIOR_LEDGER)] = None,
    ledger_key: Annotated[Path | None, typer.Option(help=_LEDGER_KEY)] = None,
    release: Annotated[str | None, typer.Option(help="Name of the draw in the ledger.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Draw again, which costs the level again.")] = False,
    as_json: Json = False,
) -> None:
    """Count people's check-ins with noise for the private prior of a problem file, once; solving reads the counts.

    Noise is drawn exactly. The file that the prior names gets the noisy
    counts, which may be published.
    """
    import json

    from dxopt.release.budgets import Budgets
    from dxopt.release.keys import Key
    from dxopt.spec.private_priors import draw_private_priors

    key = None if ledger_key is None else Key.load(ledger_key)
    with nullcontext() if ledger is None else Budgets.open(ledger, key=key) as budgets:
        found = draw_private_priors(file, ledger=budgets, release=release, force=force)
    if as_json:
        drawn = [
            {"file": str(path), "epsilon": counts.epsilon, "per_person": counts.per_person}
            for path, counts in found.items()
        ]
        typer.echo(json.dumps(drawn, indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(f"{path}: {counts}" for path, counts in found.items()))


@commands.command("key", epilog="Example: dxopt key people.key")
def new_key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file; its owner alone may read it.")],
) -> None:
    """Write a new key for draws that give a person the same report again, and print its fingerprint."""
    from dxopt.release.keys import Key

    key = Key.new()
    typer.echo(f"{key.save(file)}: key {key.fingerprint}")
