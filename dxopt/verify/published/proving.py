"""A published file and its sidecar, tied to the result whose mechanism made them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dxopt.errors import SpecError
from dxopt.verify.encoding import table_bytes
from dxopt.verify.files import DAMAGED, is_file, plain_file
from dxopt.verify.folder import Result
from dxopt.verify.parts.reading import Tell, in_one
from dxopt.verify.proving import checked, verify, verify_table
from dxopt.verify.published.claims import Published, published_checks
from dxopt.verify.published.rows import require_readable
from dxopt.verify.published.sidecar import read_sidecar, sidecar_of
from dxopt.verify.table_file import SUFFIX
from dxopt.verify.verdict import Broken, Check, Outcome, Unproved, Verdict

_LEFT = (
    "columns that were kept, how many rows there were, the words in dataGeneralizations, and what the sidecar says "
    "of keys, budgets and the command"
)


def verify_published(file: str | Path, result: str | Path, *, tell: Tell = lambda line: None) -> Verdict:
    """Prove a result again, and that a published file and its sidecar belong to its mechanism.

    The table that the sidecar names by a digest is made anew from the files of the result, after these were proven.
    What is proven is told in `note`: that reports were drawn honestly is not, as no file can show it. The sidecar may
    promise no more than the table proves: the factor between positions, and the radii. It holds data alone, and a
    field that is unknown is refused. What it says of keys and ledgers is no claim.

    Parameters
    ----------
    file : path
        That `dx.apply` or `dxopt apply` wrote: CSV, Parquet, GeoParquet or GeoJSON; its sidecar is beside it.
    result : path
        A result folder, or a table file `*.dxt`.
    tell : callable, optional
        Given a line of text for each part of the result.

    Returns
    -------
    Verdict
        One check for the result, and one for each claim of the file and the sidecar.

    Raises
    ------
    SpecError
        If there is no such file, sidecar or result, or the file has another ending.
    UnsupportedError
        If a package that reads the file is missing.
    """
    path, proven = Path(file), Path(result)
    if not is_file(path):
        raise SpecError("file", f"{path} is no file", "name one that dxopt apply wrote; the result by --result")
    require_readable(path)
    if not is_file(sidecar_of(path)):
        raise SpecError(
            "sidecar", f"{sidecar_of(path)} is missing", "put it there: dxopt apply wrote it beside the file"
        )
    verdict = verify_table(proven) if proven.suffix == SUFFIX else verify(proven, tell=tell)
    one = in_one("result", verdict.checks)
    told = f"{proven}: all {one.detail} proven again" if one.status is Outcome.HOLDS else f"{proven}: {one.detail}"
    checks = (Check(one.name, one.status, told), *_checks(path, proven))
    found = Verdict(str(path), checks)
    return Verdict(str(path), checks, _note(path, proven)) if found.outcome is Outcome.HOLDS else found


def _checks(file: Path, result: Path) -> Iterator[Check]:
    """The checks of a file and its sidecar; the table is made anew first."""
    try:
        said = read_sidecar(sidecar_of(file))
    except Broken as error:
        yield Check("sidecar", Outcome.FAILS, str(error))
        return
    try:
        written = _table(result)
    except (Broken, *DAMAGED) as error:
        yield Check("table", Outcome.FAILS, str(error) or type(error).__name__)
        return
    except Unproved as error:
        yield Check("table", Outcome.NOT_REPROVED, str(error))
        return
    for name, claim in published_checks(Published(file, said, str(result), written)):
        yield checked(name, claim)


def _table(result: Path) -> bytes:
    """The bytes of the table file of a result."""
    return (
        plain_file(result.parent, result.name).read_bytes()
        if result.suffix == SUFFIX
        else table_bytes(Result.read(result))
    )


def _note(file: Path, result: Path) -> str:
    """What is proven, and what is not, in a line each."""
    said = read_sidecar(sidecar_of(file))
    note = (
        f"proven: the reports of {file.name} all lie in the outputs of the mechanism that {result} proves, and the "
        "sidecar names its table; that they were drawn from it honestly cannot be proven from a file"
    )
    if said.draws.keyed:
        note += f"; whoever has key {said.draws.key} and the secrets can draw them again"
    if said.budgets is not None:
        note += "; what was paid for them is in the ledger alone"
    return f"{note}\nnot proven again: {_LEFT}"
