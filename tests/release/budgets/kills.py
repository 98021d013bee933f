"""Writers that are killed at random moments, and what must hold of their ledger whatever was killed when.

`python -m tests.release.budgets.kills --kills 200` takes a few minutes and prints what it found.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

import dxopt as dx
from tests.release.budgets.reader import overspent, paid

UNIT = "per km"
WRITERS = 2
PERSONS = 60
NEW = 5
ROWS = 120
CHUNK = 15
LEVELS = (0.1, 1 / 3, 1.3862943611198906)
DEFAULT = 15
"""A budget that writers reach: some tables are refused."""
LONGEST = 0.25
"""A writer is killed within so many seconds after it is ready."""


def table(name: str) -> tuple[list[str], float]:
    """The persons of a table's rows, and its level: others from table to table, but each in many tables of both."""
    rng = random.Random(name)
    first = NEW * int(name.split("-")[1])
    return [f"p{first + rng.randrange(PERSONS)}" for _ in range(ROWS)], rng.choice(LEVELS)


def write(folder: Path, writer: int) -> None:
    """Release tables one after another, as `dxopt apply` does, until killed."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    number = 0
    while (folder / f"{writer}-{number}.done").exists():
        number += 1
    with dx.Budgets.open(folder / "budget.sqlite", create=True, unit=UNIT, default=DEFAULT) as budgets:
        while True:
            release(folder, budgets, f"{writer}-{number}")
            number += 1


def release(folder: Path, budgets: dx.Budgets, name: str) -> None:
    """One table: charged chunk by chunk before it is written, finished, and then published by a rename."""
    done = folder / f"{name}.done"
    whole = [file for file in folder.glob(f"{name}.*.partial") if is_finished(budgets, file)]
    if whole:  # killed between the two
        whole[0].rename(done)
        return
    persons, level = table(name)
    run = budgets.begin(name)
    partial = folder / f"{name}.{run}.partial"
    with partial.open("w") as file:
        for first in range(0, ROWS, CHUNK):
            chunk = persons[first : first + CHUNK]
            try:
                budgets.charge(run, first, chunk, level, unit=UNIT)
            except dx.BudgetExceeded:
                budgets.close_runs(name)
                (folder / f"{name}.refused").touch()
                done.touch()
                return
            file.write("".join(f"{person}\n" for person in chunk))
        file.flush()
        os.fsync(file.fileno())
    budgets.finish(run)
    partial.rename(done)


def is_finished(budgets: dx.Budgets, partial: Path) -> bool:
    """Whether the run of a hidden file was finished."""
    try:
        return budgets.finished(partial.name.split(".")[1])
    except dx.SpecError:
        return False


@dataclass
class Found:
    """What a trial found.

    Attributes
    ----------
    kills, journals : int
        Kills, and those after which a journal was there: of the process that was killed, or of the other one.
    published, refused : int
        Tables.
    rows : int
        Rows that were published.
    wrong : list of str
        What does not hold; empty where all is well.
    """

    kills: int
    journals: int
    published: int
    refused: int
    rows: int
    wrong: list[str]


def trial(folder: Path, kills: int, seed: int) -> Found:
    """Kill two writers by turns at random moments, start each again, and check the ledger after each kill."""
    rng = random.Random(seed)
    writers = [start(folder, writer) for writer in range(WRITERS)]
    journals = 0
    wrong: list[str] = []
    for _ in range(kills):
        victim = rng.randrange(WRITERS)
        time.sleep(rng.random() * LONGEST)
        kill(writers[victim])
        journals += (folder / "budget.sqlite-journal").exists()
        wrong += overspent(folder / "budget.sqlite") if (folder / "budget.sqlite").exists() else []
        writers[victim] = start(folder, victim)
    while not list(folder.glob("*.done")):
        time.sleep(0.1)
    for writer in writers:
        kill(writer)
    published, refused, rows = judge(folder, wrong)
    return Found(kills, journals, published, refused, rows, wrong)


def start(folder: Path, writer: int) -> subprocess.Popen[str]:
    """A writer that is ready."""
    command = [sys.executable, "-m", "tests.release.budgets.kills", "--write", str(folder), str(writer)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=(folder / "errors").open("a"), text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", (folder / "errors").read_text()
    return process


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a process with SIGKILL; it has to be alive."""
    assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def judge(folder: Path, wrong: list[str]) -> tuple[int, int, int]:
    """Compare the ledger with what was published, row by row, by plain sqlite3; add what is wrong."""
    ledger = folder / "budget.sqlite"
    wrong += overspent(ledger)
    charged = paid(ledger)
    db = sqlite3.connect(ledger)
    runs = dict(db.execute("SELECT token, name FROM runs WHERE finished IS NOT NULL").fetchall())
    numbered = db.execute("SELECT run, count(*), count(DISTINCT row) FROM rows GROUP BY run").fetchall()
    db.close()
    wrong += [f"run {run} has rows twice" for run, rows, different in numbered if rows != different]

    # Each table that was published has been paid for row by row, once: one finished run of its name pays all.
    published = [file for file in folder.glob("*.done") if not file.with_suffix(".refused").exists()]
    for file in published:
        persons, _ = table(file.stem)
        if file.read_text().split() != persons:
            wrong.append(f"{file.name} has lost rows")
        tokens = [token for token, name in runs.items() if name == file.stem]
        bills = [Counter({who: rows for (run, who), rows in charged.items() if run == token}) for token in tokens]
        if bills != [Counter(persons)]:
            wrong.append(
                f"{file.name} was paid {sum(sum(bill.values()) for bill in bills)} rows in {len(bills)} runs"
            )

    # Nothing else was paid for but tables that were refused or not finished, and of these no row twice.
    for token in {run for run, _ in charged}:
        bill = Counter({who: rows for (run, who), rows in charged.items() if run == token})
        name = runs.get(token)
        if name is not None and bill - Counter(table(name)[0]):
            wrong.append(f"{name} was charged for rows that it does not have")
    return (
        len(published),
        len(list(folder.glob("*.refused"))),
        sum(len(file.read_text().split()) for file in published),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", nargs=2)
    asked = parser.parse_args()
    if asked.write:
        write(Path(asked.write[0]), int(asked.write[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        found = trial(Path(folder), asked.kills, asked.seed)
        most = Fraction(0)
        with dx.Budgets.open(Path(folder) / "budget.sqlite") as budgets:
            budgets.check()
            most = budgets.totals().spent
    found.wrong = found.wrong[:9]
    print(json.dumps(asdict(found) | {"most_spent": float(most), "budget": DEFAULT}))
    sys.exit(bool(found.wrong))


if __name__ == "__main__":
    main()
