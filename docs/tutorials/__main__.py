"""The command line of the tutorials: python -m docs.tutorials."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from docs.tutorials.comparing import differences
from docs.tutorials.running import FOLDER, executed, read, tidied, write

AT_ONCE = 2


def main() -> int:
    """Execute the notebooks, and save their outputs or compare them with the saved ones; 1 where something fails."""
    parser = argparse.ArgumentParser(prog="python -m docs.tutorials", description="Execute the tutorials.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as counts; all by default")
    parser.add_argument("--check", action="store_true", help="compare with the saved outputs and write nothing")
    arguments = parser.parse_args()
    there = sorted(file.stem for file in FOLDER.glob("*.ipynb"))
    for name in set(arguments.names) - set(there):
        parser.error(f"there is no notebook {name!r}; choose among {', '.join(there)}")
    files = [FOLDER / f"{name}.ipynb" for name in arguments.names or there]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = [line for lines in pool.map(checked if arguments.check else saved, files) for line in lines]
    print("\n".join(found) or f"{len(files)} notebooks {'give what was saved' if arguments.check else 'saved'}")
    return 1 if found else 0


def checked(file: Path) -> list[str]:
    """Return a line for each difference between the saved outputs of a notebook and new ones."""
    before = read(file)
    after, failure = executed(before)
    return [f"{file.name}, {line}" for line in ([failure] if failure else differences(before, tidied(after)))]


def saved(file: Path) -> list[str]:
    """Save the outputs of a notebook; a line where it fails, and then nothing is saved."""
    after, failure = executed(read(file))
    if failure:
        return [f"{file.name}, {failure}"]
    write(tidied(after), file)
    return []


if __name__ == "__main__":
    sys.exit(main())
