"""Files and folders that have no end, claim more than they have, or ask for what nobody can compute."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import struct
import sys
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.errors import DxoptError
from tests.material.endless import boasting, bomb, endless, pipe

LINE = "space: {kind: line, size: 3}\n"
ARRAYS = ("problem.npz", "mechanism.npz", "dual.npz")


def wide(file: Path, size: int = 3_000_000_000) -> None:
    """Let an archive have a directory of so many bytes, a hole on disk."""
    file.unlink(missing_ok=True)
    with file.open("wb") as stream:
        stream.truncate(size)
        stream.seek(size)
        stream.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, size, 0, 0))


def many(file: Path, count: int = 200_000) -> None:
    """Let an archive have so many arrays."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as stored:
        for index in range(count):
            stored.writestr(f"{index}.npy", b"")
    file.write_bytes(held.getvalue())


def hole(file: Path) -> None:
    """A file of a terabyte that takes no room."""
    file.unlink(missing_ok=True)
    with file.open("wb") as stream:
        stream.truncate(1 << 40)


def deep(file: Path) -> None:
    """Lists in lists."""
    file.write_text("[" * 10_000_000, encoding="utf-8")


def aliases(file: Path) -> None:
    """Nine times nine times nine, and so on."""
    lines = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 14)]
    file.write_text("\n".join(["a0: &a0 [x]", *lines, "space: {metric: *a13}"]), encoding="utf-8")


_TEXTS = {
    "scalar": "name: " + "x" * 30_000_000 + "\n" + LINE + "epsilon: 1\n",
    "keys": LINE + "epsilon: 1\n" + "".join(f"k{i}: 1\n" for i in range(300_000)),
    "levels": LINE + f"epsilon: [{', '.join(map(str, range(1, 200_001)))}]\n",
    "resolution": LINE + "epsilon: {from: 0.1, to: 1, resolution: 1e-300}\n",
    "accuracy": LINE + "epsilon: {max_loss: 0.2, accuracy: 1e-300}\n",
    "records": "space: {kind: databases, values: [0, 1], records: 1000000000, metric: hamming}\nepsilon: 1\n",
    "name": f"name: {'n' * 300}\n{LINE}epsilon: 1\n",
    "long-data": f"space: {{kind: points, file: {'a' * 5000}, columns: [x]}}\nepsilon: 1\n",
    "zero-data": "space: {kind: points, file: /dev/zero, columns: [x]}\nepsilon: 1\n",
}
_FILES: dict[str, Callable[[Path], None]] = {
    "zero": endless,
    "pipe": pipe,
    "hole": hole,
    "deep": deep,
    "aliases": aliases,
}


def problem_files(folder: Path) -> dict[str, Path]:
    """Problem files by name."""
    found = {}
    for name, text in _TEXTS.items():
        found[name] = folder / f"{name}.yaml"
        found[name].write_text(text, encoding="utf-8")
    for name, make in _FILES.items():
        found[name] = folder / f"{name}.yaml"
        make(found[name])
    return found


def names() -> dict[str, Path]:
    """Names of no file, and of files that are none to be read."""
    return {
        "5000 letters": Path("a" * 5000),
        "300 letters": Path("a" * 300),
        "device": Path("/dev/zero"),
    }


def results(whole: Path, folder: Path) -> dict[str, Path]:
    """Result folders by name, each a copy of a whole one with one file that is hostile."""
    damages: dict[str, tuple[str, Callable[[Path], None]]] = {}
    for file in ARRAYS:
        for damage in (endless, pipe, boasting, hole, wide, many):
            damages[f"{damage.__name__} {file}"] = (file, damage)
        damages[f"bomb {file}"] = (file, partial(bomb, size=4 << 30))
    for file in ("claims.json", "notes.json", "problem.yaml", "digests.json", "input.json", "table.dxt"):
        for damage in (endless, pipe, hole, deep, aliases):
            damages[f"{damage.__name__} {file}"] = (file, damage)
    found = {}
    made: dict[str, Path] = {}  # those that take long to make, which are alike
    for name, (file, damage) in damages.items():
        found[name] = Path(shutil.copytree(whole, folder / name.replace(" ", "-")))
        kind = name.split()[0]
        if kind in made:
            (found[name] / file).unlink()
            os.link(made[kind], found[name] / file)
            continue
        damage(found[name] / file)
        if kind in ("bomb", "many"):
            made[kind] = found[name] / file
    return found


def _done(command: str, path: Path, output: Path) -> tuple[int, str]:
    """The exit code of a command and what it wrote to standard error; of `dx.load` in Python as if it were one."""
    if command == "load":
        try:
            dx.load(path)
        except DxoptError as error:
            return 2, str(error)
        return 0, ""
    options = {"solve": ["-o", str(output)], "report": ["-o", str(output / "page.html")]}
    done = CliRunner().invoke(app, [command, str(path), *options.get(command, [])])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stderr


def main(command: str, folder: str) -> None:
    """Print, for each path of a list in JSON, what a command does with it, in how many seconds and MB."""
    asked = json.loads(sys.stdin.read())
    for name, path in asked.items():
        started = time.process_time()
        code, error = _done(command, Path(path), Path(folder))
        seconds = time.process_time() - started
        print(json.dumps([name, code, error, seconds, most_memory()]), flush=True)


def most_memory() -> float:
    """The most MiB that this process has had."""
    status = Path("/proc/self/status")
    if status.is_file():
        # what `getrusage` tells begins with the memory of the process that started this one
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="utf-8"))[0]) / 1024
    import resource  # which Windows has not

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
