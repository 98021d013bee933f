"""Apply a plan to a file in two passes: everything is checked before the first report is drawn."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from dxopt.errors import BudgetExceeded, SpecError
from dxopt.release.applying.csv_files import CsvFile
from dxopt.release.applying.formats import Chunk
from dxopt.release.applying.geojson_files import GeoJsonFile
from dxopt.release.applying.parquet_files import ParquetFile
from dxopt.release.applying.place_like import Beside
from dxopt.release.applying.plan import Payment, Plan, Settled
from dxopt.release.applying.row_checks import Moved, Repeats, Tally
from dxopt.release.applying.sidecar import sidecar
from dxopt.runtime.atomic_write import replacing, require_free, unwritable
from dxopt.runtime.csv_text import Dialect
from dxopt.runtime.locking import locked
from dxopt.runtime.reading import is_file
from dxopt.verify.published.sidecar import Output, Sidecar, sidecar_of


def partial_of(file: Path) -> Path:
    """Return the hidden file beside an output into which it is written until it is whole."""
    return file.with_name(f".{file.name}.part")


@contextmanager
def whole(file: Path, resumes: Callable[[], bool]) -> Iterator[IO[bytes]]:
    """Open a stream to a file that gets its name once the context ends well, and not before.

    If it ends badly and the run `resumes`, its hidden file is left behind, empty, which says that a run was paid for
    and can go on; not after BudgetExceeded, as that run cannot. SpecError if it cannot be written, or another run is
    writing it.
    """
    partial = partial_of(file)
    with ExitStack() as stack:
        try:
            stack.enter_context(_held(partial))
            partial.unlink(missing_ok=True)  # what a run that was killed left
        except BlockingIOError:
            raise SpecError("output", f"another run is writing {file}", "wait for it, or name another file") from None
        except OSError as error:
            raise unwritable("output", file, error) from None
        try:
            with replacing(file, "output", hidden=partial) as stream:
                yield stream
        except BaseException as error:
            if resumes() and not isinstance(error, BudgetExceeded):
                with suppress(OSError):
                    partial.open("xb").close()
            raise


def publish(file: Path, sha256: str) -> bool:
    """Give the hidden file of a killed run its name if it has this digest and nobody writes it; True if it did."""
    partial = partial_of(file)
    if not is_file(partial) or partial.is_symlink():
        return False
    try:
        with _held(partial):
            with partial.open("r+b") as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != sha256:
                    return False
                os.fsync(stream.fileno())
            partial.replace(file)
    except OSError:
        return False
    return True


def _held(partial: Path) -> AbstractContextManager[None]:
    """Return a lock that one run has at a time; BlockingIOError if another has it."""
    return locked(partial.with_name(f"{partial.name}.lock"))


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write JSON to a file, all at once; SpecError where it cannot be written."""
    with replacing(file, "output") as stream:
        stream.write(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n")


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
    try:
        if not data.is_file():
            raise SpecError("data", f"there is no file {data}", "check its name")
        if build is CsvFile:
            return CsvFile(data, said, columns, numbers)
        require_no_csv(said)
        return build(data)
    except OSError as error:
        raise _unreadable(error) from None


def _unreadable(error: OSError) -> SpecError:
    return SpecError("data", f"cannot be read: {error.strerror or error}", "check the file, and the disk it is on")


def _chunks(source: Source) -> Iterator[Any]:
    """Yield the chunks of a file; SpecError where the disk does not give one."""
    try:
        yield from source.chunks()
    except OSError as error:
        raise _unreadable(error) from None


def require_no_csv(said: Dialect) -> None:
    """Raise SpecError if it is said how a file of CSV is written, for data that are none."""
    usual = {"delimiter": (None,), "encoding": (None,), "header": (None, True)}
    for field, values in usual.items():
        if getattr(said, field) not in values:
            raise SpecError(field, "is given for data that are no CSV", "leave it out")


def require_output(output: Path, data: Path, *, force: bool) -> None:
    """Raise SpecError unless an output may be written, in the format of the data."""
    if FORMATS.get(output.suffix.lower()) is not FORMATS.get(data.suffix.lower()):
        fix = f"name it {output.stem}{data.suffix}"
        raise SpecError("output", f"apply cannot convert {data.name} to {output.name}", fix)
    # a sidecar without its output is that of a killed run, and may be replaced
    for file, replaced in ((output, force), (sidecar_of(output), force or not is_file(output))):
        if is_file(file) and file.samefile(data):
            raise SpecError("output", f"{file} is the input", "name another file")
        require_free(file, force=replaced)


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
    needed: Counter[str] = Counter()
    repeats = Repeats()
    hidden = [*source.hidden]
    if source.geometry is not None and not plan.where.geometry:
        hidden.append(source.geometry)
    beside = Beside()
    for chunk, settled in _settled(plan, source, checked, tell, "checking"):
        unnamed = plan.unnamed(source.names, hidden)
        beside.look(source.columns(chunk, unnamed), _secrets(plan, source, chunk))
        needed.update(settled.persons)
        if plan.persons is None:
            repeats.add(source.fingerprints(chunk)[settled.kept])
    plan.require_columns(source.names, named=source.named)
    checked.require()
    beside.require()
    if {*source.names} - {*plan.where.names, *hidden}:
        repeats.warn(source.noun)
    layout = plan.layout(source.names, hidden)
    drawn = plan.tally(source.noun)

    # 2. reports are paid for, drawn and written; whoever writes the output is alone, and may take over its run
    payment: Payment | None = None
    with whole(output, lambda: payment is not None) as stream:
        payment = Payment.of(plan, needed, name, drawn)
        sink = source.sink(stream, layout)
        try:
            for chunk, settled in _settled(plan, source, drawn, tell, "drawing"):
                if payment is not None:
                    settled = payment.charge(settled)
                sink.write(chunk, settled.kept, plan.drawn(settled))
        finally:
            # also of an output that is given up, as writers of Parquet end with their file
            sink.close()
        if (checked.rows, checked.dropped, checked.outside) != (drawn.rows, drawn.dropped, drawn.outside):
            raise SpecError("data", "was changed while it was read", "try again")
        stream.flush()
        partial = partial_of(output)
        written = Output(output.name, partial.stat().st_size, digest_of(partial))
        run = None if payment is None else (payment.name, payment.run)
        said = sidecar(plan, layout, drawn, source.noun, output=written, command=command, run=run)
        write_json(sidecar_of(output), said.content())
        if payment is not None:
            payment.ledger.finish(payment.run)  # what follows is that the output gets its name
    return said, drawn.moved


def _left_behind(plan: Plan, name: Callable[[], str], output: Path) -> Sidecar | None:
    """Publish the output that a run of this name left, if it was killed after all was paid and written.

    Return its sidecar; None if there is no such output, so that everything is still to be done.
    """
    if plan.persons is None or plan.persons.ledger is None or not partial_of(output).exists():
        return None
    try:
        said = Sidecar.of_own(json.loads(sidecar_of(output).read_text(encoding="utf-8")))
        if said.budgets is None or said.budgets.run is None or said.output is None:
            return None
        asked, token = said.budgets.run
        whole_one = asked == name() and plan.persons.ledger.finished(token)
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return said if whole_one and publish(output, said.output.sha256) else None


def _run_of(plan: Plan, data: Path, output: Path) -> Callable[[], str]:
    """Return a function that gives the name of a run: the same for the same data, table, options and output.

    It is called only with a ledger, as it reads all of the data for its digest.
    """

    def name() -> str:
        options = plan.columns, plan.outside, plan.snapper.within, plan.over_budget
        said = [digest_of(data), plan.table.digest, repr(plan.where), repr(options), str(output.resolve())]
        if plan.persons is not None:
            key = plan.persons.key
            said += [plan.persons.column, plan.persons.release, "" if key is None else key.digest("dxopt run").hex()]
        return f"apply {output.name} {hashlib.sha256(chr(0).join(said).encode()).hexdigest()[:32]}"

    return name


def _settled(plan: Plan, source: Source, tally: Tally, tell: Progress, stage: str) -> Iterator[tuple[Chunk, Settled]]:
    """Yield each chunk with the rows of it that are kept, and count all in the tally; both passes begin so."""
    for chunk in _chunks(source):
        persons = None if plan.persons is None else source.values(chunk, plan.persons.column)
        yield chunk, plan.settle(_secrets(plan, source, chunk), persons, chunk.lines, tally)
        tell(f"{stage}, {tally.rows:,} rows", min(1.0, chunk.share))


def _secrets(plan: Plan, source: Source, chunk: Chunk) -> list[Any]:
    """Return the columns of a chunk that have the secrets."""
    if plan.where.geometry and not isinstance(source, CsvFile):
        return list(source.places(chunk))
    return [source.values(chunk, name) for name in plan.where.names]
