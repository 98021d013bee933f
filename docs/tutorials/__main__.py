"""The command line of the tutorials: python -m docs.tutorials."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs.tutorials.comparing import differences
from docs.tutorials.running import FOLDER, executed, read, tidied, write


def main() -> int:
    """Execute the notebooks, and save their outputs or compare them with the saved ones; 1 where something fails."""
    parser = argparse.ArgumentParser(prog="python -m docs.tutorials", description="Execute the tutorials.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as counts; all by default")
    parser.add_argument("--check", action="store_true", help="compare with the saved outputs and write nothing")
    arguments = parser.parse_args()
    files = [FOLDER / f"{name}.ipynb" for name in arguments.names] or sorted(FOLDER.glob("*.ipynb"))
    found = [line for file in files for line in (checked(file) if arguments.check else saved(file))]
    print("\n".join(found) or f"{len(files)} notebooks {'give what was saved' if arguments.check else 'saved'}")
    return 1 if found else 0


def checked(file: Path) -> list[str]:
    """What a notebook gives now and did not when it was saved, a line each."""
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
