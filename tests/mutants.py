"""Mutants in the rooms of proof: `python -m tests.mutants --number 200 --seed 1 [--room proofs]`.

A mutant is the source with one change (`mutating.operators`), drawn at random; it should make a test fail. Each is
tried in a copy of the tree with the tests that see its line, quickest first. What became of it is kept in
`.mutants/`, so that a run goes on where it was stopped. Ends with 1 if a mutant lived.

mutmut and cosmic-ray serve for less: neither draws at random or chooses tests by line, so that a mutant would cost
the whole suite; one wraps each function, which Numba cannot compile, and the other changes the working tree.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.material.files import ROOT
from tests.mutating.operators import Mutant, mutants_of, sound
from tests.mutating.rooms import ROOMS, files_of, watched
from tests.mutating.sight import lines_of, measured
from tests.mutating.trying import KILLED, LIVED, TIME, Copy, Sight, load

KEPT = ROOT / ".mutants"
"""What was measured and tried; git does not see it."""


def main(given: list[str] | None = None) -> int:
    """Try mutants as the arguments say; the exit code."""
    parser = _parser()
    options = parser.parse_args(given)
    if find_spec("coverage") is None:
        parser.error("coverage is not installed; install it with pip install '.[test]'")
    KEPT.mkdir(exist_ok=True)
    sources = {file: (ROOT / file).read_bytes() for file in watched()}
    drawn = draw(options.number, options.seed, options.room or list(ROOMS), sources)
    outcomes = KEPT / "outcomes.jsonl"
    stamps = {file: sha256(source).hexdigest()[:16] for file, source in sources.items()}
    done = {line["name"]: line for line in lines_of(outcomes) if line["source"] == stamps.get(line["file"])}
    again = {name for name, line in done.items() if options.again and line["status"] == LIVED}
    left = [mutant for mutant in drawn if mutant.name not in done or mutant.name in again]
    print(f"{_commit()}: {len(drawn)} mutants, {len(left)} to try", flush=True)
    if left:
        sight = Sight(measured(KEPT, watched()))
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            copy = Copy(Path(folder))
            load()
            for place, mutant in enumerate(left, 1):
                source = sources[mutant.file]
                outcome = copy.tried(mutant, sight.of(mutant, source), options.seconds)
                before, after = mutant.shown(source)
                line = {"name": mutant.name, "source": stamps[mutant.file], **asdict(mutant)}
                line |= {"before": before, "after": after, **asdict(outcome), "commit": _commit()}
                with outcomes.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(line) + "\n")
                done[mutant.name] = line
                print(f"{place}/{len(left)} {_told(line)}", flush=True)
    lines = [done[mutant.name] for mutant in drawn]
    print(table(lines))
    return 1 if any(line["status"] == LIVED for line in lines) else 0


def draw(number: int, seed: int, rooms: Sequence[str], sources: Mapping[str, bytes]) -> list[Mutant]:
    """So many mutants of some rooms, each equally likely."""
    every = [mutant for room in rooms for file in files_of(room) for mutant in mutants_of(file, sources[file])]
    random.Random(seed).shuffle(every)
    found = []
    for mutant in every:
        if len(found) == number:
            break
        if sound(mutant, sources[mutant.file]):
            found.append(mutant)
    return found


def table(lines: Sequence[Mapping[str, Any]]) -> str:
    """A line for each room, and those who lived."""
    shown = [f"{'room':12}{'mutants':>8}{'killed':>8}{'by time':>8}{'lived':>8}{'seconds':>9}"]
    for room in ROOMS:
        files = set(files_of(room))
        some = [line for line in lines if line["file"] in files]
        counts = Counter(line["status"] for line in some)
        took = sum(line["seconds"] for line in some)
        killed = f"{counts[KILLED]:>8}{counts[TIME]:>8}{counts[LIVED]:>8}"
        shown.append(f"{room:12}{len(some):>8}{killed}{took:>9.0f}")
    return "\n".join([*shown, *(_told(line) for line in lines if line["status"] == LIVED)])


def _told(line: Mapping[str, Any]) -> str:
    """What became of a mutant; of one that lived, what it is."""
    told = f"{line['status']}: {line['file']}:{line['line']}, {line['kind']}, {line['seconds']:.0f} s"
    if line["status"] != LIVED:
        return f"{told}, {line['killer']}"
    return f"{told}, {line['tried']} of {line['seeing']} tests\n  - {line['before']}\n  + {line['after']}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--number", type=int, default=200, help="how many mutants (200)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (1)")
    parser.add_argument("--room", choices=list(ROOMS), action="append", help="of this room alone; may be repeated")
    parser.add_argument("--seconds", type=float, default=20.0, help="of tests for each mutant at most (20)")
    parser.add_argument("--again", action="store_true", help="try those again that lived")
    return parser


def _commit() -> str:
    asked = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
