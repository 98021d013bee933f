"""Compute the golden corpus and the public signatures, and write them or compare them with those that are kept.

python -m tests.golden                       # writes corpus.json and signatures.json
python -m tests.golden --compare             # prints every difference; ends with 1 on any
python -m tests.golden --compare --only 'file/cha13*'
"""

from __future__ import annotations

import argparse
import sys
import time
from fnmatch import fnmatchcase
from typing import Any

from tests.golden import frozen
from tests.golden.entries import ENTRIES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden")
    parser.add_argument("--compare", action="store_true", help="Compare with what is kept; write nothing.")
    parser.add_argument("--only", default="*", help="The entries of a pattern, or `signatures`.")
    parser.add_argument("--times", action="store_true", help="Print the CPU seconds of each entry.")
    asked = parser.parse_args()
    found: dict[str, Any] = {}
    began = time.process_time()
    for name in sorted(ENTRIES):
        if fnmatchcase(name, asked.only):
            since = time.process_time()
            found[name] = frozen.computed(name)
            if asked.times:
                print(f"{time.process_time() - since:7.2f} s  {name}", flush=True)
    print(f"{len(found)} entries in {time.process_time() - began:.1f} s of CPU")
    signed = frozen.signatures() if asked.only in ("*", "signatures") else None
    return compare(found, signed) if asked.compare else write(found, signed, whole=asked.only == "*")


def compare(found: dict[str, Any], signed: dict[str, str] | None) -> int:
    kept = frozen.read(frozen.CORPUS)
    here, there = frozen.machine(), kept["machine"]
    if here != there:
        print(f"made on {there}, run on {here}: digests and last digits are not compared")
    lines = [line for name in found for line in frozen.differences(kept.get(name), found[name], name, here == there)]
    if signed is not None:
        lines += [f"kept, but gone: {name}" for name in sorted(kept.keys() - ENTRIES.keys() - {"machine"})]
        lines += frozen.changed_signatures(frozen.read(frozen.SIGNATURES), signed)
    print("\n".join([*lines, f"{len(lines)} differences"]))
    return 1 if lines else 0


def write(found: dict[str, Any], signed: dict[str, str] | None, *, whole: bool) -> int:
    kept = {} if whole or not frozen.CORPUS.is_file() else frozen.read(frozen.CORPUS)
    if found:
        frozen.write(frozen.CORPUS, {**kept, **found, "machine": frozen.machine()})
    if signed is not None:
        frozen.write(frozen.SIGNATURES, signed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
