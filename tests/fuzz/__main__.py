"""Random problems until the time is up: `python -m tests.fuzz --seconds 60 --seed 1`. Ends with 1 on a find."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import dxopt as dx
from tests.fuzz.case import Case
from tests.fuzz.families import case_of
from tests.fuzz.judging import Find
from tests.fuzz.minimising import minimised
from tests.fuzz.printing import program
from tests.fuzz.tally import Log, Tally, added
from tests.fuzz.trying import Extras, Outcome, outcome_of, solvers_inside

TABLE_EVERY = 20
FOLDER_EVERY = 100
LINES_EVERY = 30.0
"""Seconds between two lines of progress."""
EACH_KIND = 3
"""Of finds alike only so many are minimised and printed."""


def main(given: list[str] | None = None) -> int:
    """Run the fuzz as the arguments say; the exit code."""
    options = _parser().parse_args(given)
    if options.add:
        total = added(options.add)
        print(total.line(), total.table(), sep="\n")
        return 0
    if options.only:
        return _only(*map(int, options.only.split(":")), minimise=not options.whole)
    if options.jobs > 1:
        return _in_processes(options)
    with solvers_inside() if options.inside else nullcontext():
        return 1 if _run(options).kinds else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on (60)")
    parser.add_argument("--count", type=int, help="how many cases at most")
    parser.add_argument("--seed", type=int, default=1, help="which cases (1)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case (0)")
    parser.add_argument("--step", type=int, default=1, help="from each case to the next (1)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--only", metavar="SEED:NUMBER", help="one case alone, with all checks")
    parser.add_argument("--whole", action="store_true", help="finds are printed as they are, not minimised")
    parser.add_argument("--inside", action="store_true", help="general solvers in this process, not in a helper")
    parser.add_argument("--log", type=Path, help="a file that lines of JSON are appended to")
    parser.add_argument("--add", type=Path, nargs="+", metavar="LOG", help="add the counts of logs, and end")
    return parser


def extras_of(number: int, *, inside: bool = False) -> Extras:
    """What is checked of a case beyond its report: the same in every run."""
    return Extras(table=number % TABLE_EVERY == 0, folder=number % FOLDER_EVERY == 0, inside=inside)


def _run(options: argparse.Namespace) -> Tally:
    """Case after case in this process."""
    _warm_up()
    tally = Tally()
    log = Log(options.log)
    log.write("run", seed=options.seed, first=options.first, step=options.step, commit=_commit())
    seen: Counter[str] = Counter()
    told = time.monotonic()
    number = options.first
    while time.monotonic() - tally.began < options.seconds and tally.count != options.count:
        case = case_of(options.seed, number)
        extras = extras_of(number, inside=options.inside)
        outcome = outcome_of(case, extras)
        names = {"integer tables": extras.table, "folders loaded and verified": extras.folder}
        solved = outcome.verdict in ("optimal", "open")
        tally.add(case, outcome, [name for name, done in names.items() if done and solved])
        for find in outcome.finds:
            _tell(case, find, extras, f"{options.seed}:{number}", seen, log, minimise=not options.whole)
        number += options.step
        if time.monotonic() - told > LINES_EVERY:
            told = time.monotonic()
            print(tally.line(), flush=True)
            log.write("counts", next=number, **tally.content())
    print(tally.line(), tally.table(), sep="\n", flush=True)
    log.write("counts", next=number, **tally.content())
    return tally


def _warm_up() -> None:
    """Have compiled code ready, so that no case waits for it."""
    space = dx.line(3)
    for objective in ("expected_loss", "worst_loss"):
        problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), objective=objective)
        dx.solve(problem, method="optimal", solver="columns")


def _tell(case: Case, find: Find, extras: Extras, name: str, seen: Counter[str], log: Log, *, minimise: bool) -> None:
    """Log a find; print it as code, made as simple as it goes, unless enough like it were."""
    alike = f"{find.kind}: {find.detail[:24] if find.kind in ('warning', 'exception') else ''}"
    seen[alike] += 1
    if seen[alike] > EACH_KIND:
        log.write("find", case=name, kind=find.kind, detail=find.detail)
        return

    def shows(simpler: Case) -> bool:
        return any(_alike(find, one) for one in _outcome(simpler, extras).finds)

    code = program(minimised(case, shows) if minimise else case, find, name)
    log.write("find", case=name, kind=find.kind, detail=find.detail, code=code)
    print(f"\n{code}\n", flush=True)


def _outcome(case: Case, extras: Extras) -> Outcome:
    try:
        return outcome_of(case, extras)
    except Exception:  # a case that cannot be judged shows nothing
        return Outcome("refused")


def _alike(find: Find, other: Find) -> bool:
    """Of the same kind; warnings and errors of the same line."""
    same = find.detail.split(": ")[0] == other.detail.split(": ")[0]
    return find.kind == other.kind and (same or find.kind not in ("warning", "exception"))


def _only(seed: int, number: int, *, minimise: bool) -> int:
    case = case_of(seed, number)
    extras = Extras(beside=True, table=True, folder=True)
    outcome = outcome_of(case, extras)
    print("\n".join(case.lines()))
    print(f"{outcome.verdict} {outcome.why} in {outcome.seconds:.3f} s, gap {outcome.gap:.1e}")
    for find in outcome.finds:
        _tell(case, find, extras, f"{seed}:{number}", Counter(), Log(None), minimise=minimise)
    return 1 if outcome.finds else 0


def _in_processes(options: argparse.Namespace) -> int:
    """The same cases in several processes, each with every so-manieth."""
    running = []
    for job in range(options.jobs):
        own = ["--first", str(options.first + job * options.step), "--step", str(options.step * options.jobs)]
        also = ["--seconds", str(options.seconds), "--seed", str(options.seed)]
        also += [f"--{name}" for name in ("whole", "inside") if getattr(options, name)]
        also += ["--count", str(-(-options.count // options.jobs))] if options.count else []
        also += ["--log", f"{options.log}.{job}"] if options.log else []
        running.append(subprocess.Popen([sys.executable, "-m", "tests.fuzz", *own, *also]))
    return max(process.wait() for process in running)


def _commit() -> str:
    said = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return said.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
