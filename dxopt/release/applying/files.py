"""Apply a plan to a file in two passes: everything is checked before the first report is drawn."""

from __future__ import annotations

import glob
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dxopt.errors import SpecError
from dxopt.release.applying.conversion import Conversion
from dxopt.release.applying.csv_files import CsvFile
from dxopt.release.applying.formats import Chunk
from dxopt.release.applying.formulas import Formulas
from dxopt.release.applying.geojson_files import GeoJsonFile
from dxopt.release.applying.parquet_files import ParquetFile
from dxopt.release.applying.plan import Needed, Payment, Plan, Settled
from dxopt.release.applying.row_checks import Moved, Repeats, Tally
from dxopt.release.applying.sidecar import sidecar
from dxopt.runtime.atomic_write import open_private, put_in_place, replacing, require_free, unwritable
from dxopt.runtime.csv_text import Dialect
from dxopt.runtime.locking import locked
from dxopt.runtime.reading import is_file
from dxopt.verify.files import read_json
from dxopt.verify.published.sidecar import Output, Sidecar, sidecar_of
from dxopt.verify.verdict import Broken

if TYPE_CHECKING:
    from dxopt.release.budgets.budgets import Budgets


def partial_of(file: Path, run: str = "") -> Path:
    """Return the hidden file beside an output into which it is written until it is whole.

    With a ledger each run has its own, so that what one has paid for is there until something is published instead.
    """
    own = run.rpartition(" ")[2][:_OWN]
    return file.with_name(f".{file.name}.{own}.part" if own else f".{file.name}.part")


_OWN = 12
"""Digits of the name of a run that are in the names of its hidden files."""


def _partials(output: Path) -> list[Path]:
    """Return the hidden files of all runs to an output, and of their sidecars."""
    names = [glob.escape(f".{file.name}") for file in _both(output)]
    endings = (".part", f".{'[0-9a-f]' * _OWN}.part")
    return [path for name in names for ending in endings for path in output.parent.glob(f"{name}{ending}")]


@contextmanager
def held(output: Path, data: Path, *, force: bool) -> Iterator[None]:
    """Hold an output, from before it is looked for until it is published; one run at a time has it.

    SpecError unless it may be written, or where another run has it.
    """
    require_output(output, data, force=force)
    partial = partial_of(output)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(partial.with_name(f"{partial.name}.lock")))
        except BlockingIOError:
            raise SpecError("output", f"another run is writing {output}", "wait for it") from None
        except OSError as error:
            raise unwritable("output", output, error) from None
        require_output(output, data, force=force)  # the run that had it until now may have published it
        yield


@contextmanager
def whole(output: Path, paid: Callable[[], Payment | None], run: str = "") -> Iterator[IO[bytes]]:
    """Open a stream to an output that gets its name, after its sidecar, once the context ends well, and not before.

    Both are in hidden files until then, for their owner alone; whoever calls it writes that of the sidecar, and holds
    the output. If it ends badly, the next call publishes them where all is `paid` for and written; that of the output
    is left behind, empty, where the run goes on; else neither is. SpecError if it cannot be written.
    """
    partials = [partial_of(file, run) for file in _both(output)]
    try:
        for partial in partials:
            partial.unlink(missing_ok=True)  # what the run left when it was killed
        stream = open_private(partials[1])
    except OSError as error:
        raise unwritable("output", output, error) from None
    try:
        with stream:
            yield stream
        publish(output, run)
    except BaseException as error:
        payment = paid()
        if payment is None or payment.stage != "written":
            for partial in partials:
                with suppress(OSError):
                    partial.unlink()
            if payment is not None and payment.stage == "drawing":
                with suppress(OSError):
                    partials[1].open("xb").close()
        if isinstance(error, OSError):
            raise unwritable("output", output, error, "name another file" if payment is None else _AGAIN) from None
        if payment is not None and isinstance(error, SpecError) and error.field == "ledger":
            raise payment.told(error, "pays for no row twice") from error
        raise


_AGAIN = "make room, or see to the disk, and call it again: for this output no row is paid for twice"
"""The fix for an output whose rows are paid for, where they would be paid for again in another file."""


def publish(output: Path, run: str) -> None:
    """Give the hidden files of a run their names, which that of the sidecar may have; remove those of other runs."""
    for file in _both(output):
        if partial_of(file, run).exists():
            put_in_place(partial_of(file, run), file)
    for partial in _partials(output):
        with suppress(OSError):
            partial.unlink()


def _both(output: Path) -> tuple[Path, Path]:
    """Return the files of a publication in the order in which they appear: the sidecar, and the output."""
    return sidecar_of(output), output


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write JSON to a file, all at once; SpecError where it cannot be written."""
    with replacing(file, "output") as stream:
        stream.write(_encoded(content))


def _encoded(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False).encode(errors="replace") + b"\n"


def _flush(stream: IO[bytes]) -> None:
    """Write what is buffered to the disk, where it stays after a power cut."""
    stream.flush()
    os.fsync(stream.fileno())


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


Progress = Callable[[str, float], None]
Source = CsvFile | ParquetFile | GeoJsonFile
"""A file of rows. `lines` of its chunks count what its `noun` says; `hidden` are columns that repeat the position."""
FORMATS: dict[str, Any] = {
    ".csv": CsvFile,
    ".tsv": CsvFile,
    ".txt": CsvFile,
    ".parquet": ParquetFile,
    ".geoparquet": ParquetFile,
    ".geojson": GeoJsonFile,
    ".json": GeoJsonFile,
}


def opened(data: Path, said: Dialect, columns: Sequence[str], numbers: Sequence[str]) -> Source:
    """Open a file in the format that its ending says; what is `said` of CSV is guessed by the columns otherwise.

    Raises
    ------
    SpecError
        If there is no such file, its ending is none of those, or it cannot be read.
    """
    build = FORMATS.get(data.suffix.lower())
    if build is None:
        raise SpecError("data", f"{data} has the ending {data.suffix!r}", f"give one of {', '.join(FORMATS)}")
    with _readable(data):
        if not data.is_file():
            raise SpecError("data", f"there is no file {data}", "check its name")
        if build is CsvFile:
            return CsvFile(data, said, columns, numbers)
        require_no_csv(said)
        return build(data, columns)


@contextmanager
def _readable(data: Path) -> Iterator[None]:
    """Turn errors of the disk while data are read into SpecError."""
    try:
        yield
    except OSError as error:
        fix = "check the file, and the disk it is on"
        raise SpecError("data", f"{data} cannot be read: {error.strerror or error}", fix) from None


def require_no_csv(said: Dialect) -> None:
    """Raise SpecError if it is said how a file of CSV is written, for data that are none."""
    usual = {"delimiter": (None,), "encoding": (None,), "header": (None, True)}
    for field, values in usual.items():
        if getattr(said, field) not in values:
            raise SpecError(field, "is given for data that are no CSV", "leave it out")


def require_output(output: Path, data: Path, *, force: bool) -> None:
    """Raise SpecError unless an output may be written, in a format that there is."""
    require_free(output, force=True)  # before it is told to be named otherwise, and before a sidecar is named by it
    if output.suffix.lower() not in FORMATS:
        raise SpecError("output", f"{output} has the ending {output.suffix!r}", f"give one of {', '.join(FORMATS)}")
    # a sidecar without its output is that of a killed run, and may be replaced
    said = _said(sidecar_of(output))
    left = said is not None and said.output is not None and said.output.name == output.name
    for file, replaced in ((output, force), (sidecar_of(output), force or left)):
        if is_file(file) and file.samefile(data):
            raise SpecError("output", f"{file} is the input", "name another file")
        require_free(file, force=replaced)


def _said(file: Path) -> Sidecar | None:
    """Return the sidecar in a file; None where it is none that dxopt wrote."""
    with suppress(Broken, LookupError, TypeError):
        return Sidecar.of_own(read_json(file.parent, file.name))
    return None


def apply_to_file(
    plan: Plan, source: Source, data: Path, output: Path, *, command: Sequence[str] | None, progress: Progress | None
) -> tuple[Sidecar, Moved]:
    """Check the rows of a file, draw a report for each, and write them and the sidecar.

    Return the sidecar, and the values that were moved; none of them if the output is that of an earlier, killed run.

    With a ledger each chunk is paid for before its reports are drawn. A run that is stopped has published nothing:
    the same command again goes on with it, draws anew and pays for no row twice.

    Raises
    ------
    SpecError
        If rows are refused, a budget is exceeded, or the output cannot be written; there is none then.
    """
    tell = progress or (lambda stage, share: None)
    name = _run_of(plan, data, output)
    if (left := _left_behind(plan, name, output)) is not None:
        return left, Moved()
    # 1. everything is checked
    checked = plan.tally(source.noun)
    needed = Needed(plan)
    repeats = Repeats()
    hidden = [*source.hidden]
    if source.geometry is not None and not plan.where.geometry:
        hidden.append(source.geometry)
    beside, formulas = plan.beside(), Formulas(plan.columns.formulas, source)
    kind = FORMATS[output.suffix.lower()]
    conversion = None if isinstance(source, kind) else Conversion(source, kind, output)
    for chunk, settled in _settled(plan, source, data, checked, tell, "checking"):
        if plan.columns.formulas == "refuse":
            formulas.look(chunk, plan.kept(source.names, hidden))
        if conversion is not None:
            conversion.look(chunk, plan.kept(source.names, hidden))
        unnamed = plan.unnamed(source.names, hidden)
        plan.look(beside, source.columns(chunk, unnamed), _secrets(plan, source, chunk), settled)
        needed.add(settled)
        if plan.persons is None:
            repeats.add(source.fingerprints(chunk)[settled.kept])
    plan.require_columns(source.names, named=source.named)
    checked.require()
    beside.require()
    if {*source.names} - {*plan.where.names, *hidden}:
        repeats.warn(source.noun)
    layout = plan.layout(source.names, hidden, None if conversion is None else conversion.placed(plan.where))
    formulas.require_none(layout.order, chain(*layout.made.values()))
    drawn = plan.tally(source.noun)

    # 2. reports are paid for, drawn and written
    payment: Payment | None = None
    own = name()
    with whole(output, lambda: payment, own) as stream:
        payment = Payment.of(plan, needed, own, drawn)
        sink = (conversion or source).sink(stream, layout)
        try:
            for chunk, settled in _settled(plan, source, data, drawn, tell, "drawing"):
                if payment is not None:
                    settled = payment.charge(settled)
                sink.write(chunk, settled.kept, plan.drawn(settled))
        finally:
            # also of an output that is given up, as writers of Parquet end with their file
            sink.close()
        if (checked.rows, checked.dropped, checked.outside) != (drawn.rows, drawn.dropped, drawn.outside):
            if payment is not None:
                payment.give_up()  # with the other data it is another run
            raise SpecError("data", "was changed while it was read", "try again")
        _flush(stream)
        partial = partial_of(output, own)
        written = Output(output.name, partial.stat().st_size, digest_of(partial))
        run = None if payment is None else _claim(payment.ledger, payment.name, payment.run)
        said = sidecar(plan, sink.layout, drawn, source.noun, output=written, command=command, run=run)
        with open_private(partial_of(sidecar_of(output), own)) as beside_it:
            beside_it.write(_encoded(said.content()))
            _flush(beside_it)
        if payment is not None:
            payment.finish()  # what follows is that the output gets its name
    return said, drawn.moved


def _left_behind(plan: Plan, name: Callable[[], str], output: Path) -> Sidecar | None:
    """Publish the output that a run of this name left, if it was killed after all was paid and written.

    Return its sidecar; None if there is no such output, so that everything is still to be done.
    """
    ledger = None if plan.persons is None else plan.persons.ledger
    if ledger is None or not _partials(output):
        return None
    run = name()
    beside_it, partial = (partial_of(file, run) for file in _both(output))
    if not is_file(partial) or partial.is_symlink() or beside_it.is_symlink():
        return None
    try:
        said = _said(beside_it if beside_it.exists() else sidecar_of(output))
        if said is None or said.budgets is None or said.budgets.run is None or said.output is None:
            return None
        claim = tuple(said.budgets.run)
        if claim != _claim(ledger, run, claim[1]) or not ledger.finished(claim[1]):
            return None
        if digest_of(partial) != said.output.sha256:
            return None
    except (OSError, ValueError, LookupError, TypeError) as error:
        if isinstance(error, SpecError) and error.field == "ledger":
            raise
        return None
    try:
        publish(output, run)
    except OSError as error:
        raise unwritable("output", output, error, _AGAIN) from None
    return said


def _claim(ledger: Budgets, name: str, token: str) -> tuple[str, str]:
    """Return what a sidecar says of its run, which never recurs: only the ledger can tell whether it is of a name."""
    return ledger._digest("dxopt published", name, token), token


def _run_of(plan: Plan, data: Path, output: Path) -> Callable[[], str]:
    """Return a function that gives the name of a run: the same for the same data, table, options and output.

    It is called only with a ledger, as it reads all of the data for its digest. Data may be guessed, so that the
    digest is one under the secret of the ledger.
    """

    persons = plan.persons
    ledger = None if persons is None else persons.ledger

    def name() -> str:
        if persons is None or ledger is None:
            return ""
        options = plan.columns, plan.outside, plan.unusable, plan.snapper.within, plan.over_budget
        with _readable(data):
            digest = digest_of(data)
        said = [digest, plan.table.digest, repr(plan.where), repr(options), os.path.realpath(output)]
        key = persons.key
        said += [*persons.columns, persons.release, "" if key is None else key.digest("dxopt run").hex()]
        said += [] if persons.account is None else ["account", persons.account]
        return f"apply {output.name} {ledger._digest('dxopt run', *said)[:32]}"

    return name


def _settled(
    plan: Plan, source: Source, data: Path, tally: Tally, tell: Progress, stage: str
) -> Iterator[tuple[Chunk, Settled]]:
    """Yield each chunk with the rows of it that are kept, and count all in the tally; both passes begin so."""
    for chunk in _chunks(source, data):
        asked = plan.persons
        persons = None if asked is None or asked.column is None else source.values(chunk, asked.column)
        times = None if asked is None or asked.time is None else source.values(chunk, asked.time)
        yield chunk, plan.settle(_secrets(plan, source, chunk), persons, times, chunk.lines, tally)
        tell(f"{stage}, {tally.rows:,} rows", min(1.0, chunk.share))


def _chunks(source: Source, data: Path) -> Iterator[Chunk]:
    with _readable(data):
        yield from source.chunks()


def _secrets(plan: Plan, source: Source, chunk: Chunk) -> list[Any]:
    """Return the columns of a chunk that have the secrets."""
    if plan.where.geometry and not isinstance(source, CsvFile):
        return list(source.places(chunk))
    return [source.values(chunk, name) for name in plan.where.names]
