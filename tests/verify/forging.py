"""A forger who changes one entry of one file at a time, any of them, and writes the digests anew.

Every number, name, array, row and entry of every file of a result is changed in every way that may claim more. What
still passes is a forgery, unless `harmless` has a reason why it claims nothing that is not true.

    python -m tests.verify.forging            one kind of result after another, all entries
    python -m tests.verify.forging --kind map --reader load
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from ruamel.yaml import YAML

import dxopt as dx
from dxopt.release.tables import IntegerTable
from dxopt.results.folder import write_digests
from dxopt.verify import verify_all
from tests.judges.result import contents, packed
from tests.material.forged_kinds import KINDS
from tests.verify.changes import changes
from tests.verify.harmless import reason
from tests.verify.jointly import Files, repeated, scalings


@dataclass(frozen=True)
class Forgery:
    """One entry of a file changed.

    Attributes
    ----------
    file : str
        Within the folder.
    path : str
        The entry, its keys joined by dots.
    change : str
        In a word or two.
    names : tuple of str
        The files that are changed.
    contents : callable
        What these have then, by name.
    """

    file: str
    path: str
    change: str
    names: tuple[str, ...]
    contents: Callable[[], dict[str, bytes]]

    def __str__(self) -> str:
        return f"{self.file}: {self.path}, {self.change}"


def forgeries(folder: Path) -> Iterator[Forgery]:
    """All forgeries of a single entry of a folder, and of its first and last part."""
    parts = sorted(folder.glob("parts/*"))[1:-1]
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "digests.json"):
        if file.parent in parts:
            continue
        name = str(file.relative_to(folder))
        for path, change, content in changes(file):
            yield Forgery(name, path, change, (name,), partial(_single, name, content))


def _single(name: str, content: Callable[[], bytes]) -> dict[str, bytes]:
    return {name: content()}


def redigest(folder: Path) -> None:
    """Write all digests of a folder again, those of parts first."""
    for file in sorted(folder.rglob("digests.json"), key=lambda path: -len(path.parts)):
        write_digests(file.parent)


def verified(folder: Path) -> bool:
    """Whether all is proven."""
    return verify_all(folder).exit_code == 0


def loaded(folder: Path) -> bool:
    """Whether `dx.load`, or the reader of sweeps, takes it; True as well for what has no reader."""
    read: Callable[[Path], object] = dx.EpsilonSweep.load if (folder / "sweep.json").is_file() else dx.load
    try:
        read(folder)
    except (dx.SpecError, dx.CertificateError):
        return False
    return True


def tabled(folder: Path) -> bool:
    """Whether `IntegerTable.load` takes the table of a result."""
    try:
        IntegerTable.load(folder / "table.dxt")
    except (dx.SpecError, dx.CertificateError):
        return False
    return True


READERS = {"verify": verified, "load": loaded, "table": tabled}
READ = {
    "verify": lambda name: True,
    "load": lambda name: (
        name.rsplit("/")[-1] in ("claims.json", "comparison.json")
        or name.endswith(("problem.npz", "mechanism.npz", "dual.npz", "comparison.npz"))
    ),
    "table": lambda name: name == "table.dxt",
}
"""The files that each of them reads."""


def together(folder: Path) -> Iterator[Forgery]:
    """All entries that repeat each other changed alike."""
    for path, change, names, changed in repeated(Files.of(folder)):
        yield Forgery("together", path, change, names, changed)


def scaled(folder: Path) -> Iterator[Forgery]:
    """All quantities of some kinds scaled alike."""
    for change, names, changed in scalings(Files.of(folder)):
        yield Forgery("scaled", "", change, names, changed)


def every_forgery(folder: Path) -> Iterator[Forgery]:
    """Those of a single entry, of all that repeat it, and of all quantities of a kind."""
    yield from forgeries(folder)
    yield from together(folder)
    yield from scaled(folder)


def accepted(
    honest: Path, scratch: Path, reader: str = "verify", every: int = 1, start: int = 0
) -> Iterator[Forgery]:
    """The forgeries of an honest result that a reader takes; one of `every`, from `start` on."""
    folder = Path(shutil.copytree(honest, scratch / "forged", dirs_exist_ok=True))
    takes = READERS[reader]
    assert takes(folder)
    for count, forgery in enumerate(every_forgery(honest)):
        if (count - start) % every or not any(map(READ[reader], forgery.names)):
            continue
        changed = forgery.contents()
        if all(_alike(honest / name, content) for name, content in changed.items()):
            continue
        for name, content in changed.items():
            (folder / name).write_bytes(content)
        redigest(folder)
        if takes(folder):
            yield forgery
        for name in forgery.names:
            shutil.copyfile(honest / name, folder / name)


def _alike(file: Path, content: bytes) -> bool:
    """Whether a file says the same with another content."""
    if file.suffix == ".npz":
        with np.load(file) as stored, np.load(io.BytesIO(content)) as other:
            return sorted(stored) == sorted(other) and all(
                stored[key].dtype == other[key].dtype and stored[key].tobytes() == other[key].tobytes()
                for key in other
            )
    if file.suffix == ".dxt":
        return packed(contents(file), ".dxt") == content
    if file.suffix in (".json", ".yaml"):
        before, after = (YAML(typ="safe").load(text) for text in (file.read_text(encoding="utf-8"), content.decode()))
        return json.dumps(before) == json.dumps(after)
    return file.read_bytes() == content


def main() -> int:
    """Forge all kinds of results; 1 if something passes without a reason."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=[*KINDS], nargs="*", default=[*KINDS])
    parser.add_argument("--reader", choices=[*READERS], nargs="*", default=[*READERS])
    parser.add_argument("--every", type=int, default=1, help="one forgery of so many")
    chosen = parser.parse_args()
    left = 0
    for kind in chosen.kind:
        with tempfile.TemporaryDirectory() as scratch:
            base = Path(scratch)
            honest = KINDS[kind](base / "honest")
            total = sum(1 for _ in every_forgery(honest))
            for reader in chosen.reader:
                if (reader == "table" and not (honest / "table.dxt").is_file()) or not READERS[reader](honest):
                    continue
                found = [*accepted(honest, base / reader, reader, chosen.every)]
                unexplained = [one for one in found if reason(kind, reader, one.file, one.path, one.change) is None]
                left += len(unexplained)
                said = f"{total} forgeries, {len(found)} pass, {len(unexplained)} without a reason"
                print(f"{kind}, {reader}: {said}", flush=True)
                for one in unexplained:
                    print(f"  {one}", flush=True)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
