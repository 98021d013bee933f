"""The checks of a result folder, one after another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import starmap
from pathlib import Path

from dxopt.errors import SpecError, UnsupportedError
from dxopt.verify import claims
from dxopt.verify.comparison import comparison_proofs
from dxopt.verify.files import (
    FRONTIER,
    LEVEL,
    PARTS,
    PROOF,
    QUESTIONS,
    SWEEP,
    check_digests,
    holds_result,
    is_file,
    is_folder,
    unclaimed_files,
)
from dxopt.verify.folder import Result
from dxopt.verify.implicit import claims as implicit
from dxopt.verify.measures import check_measure
from dxopt.verify.parts import (
    COMPARISON,
    Tell,
    check_frontier,
    check_level,
    check_optima,
    check_sweep,
    read_parts,
    require_all,
    varied_by,
)
from dxopt.verify.table_file import SUFFIX, table_checks
from dxopt.verify.tables import check_table
from dxopt.verify.verdict import Broken, Check, Outcome, Unproved, Verdict, Verdicts

_CLAIMS: tuple[tuple[str, Callable[[Result], str]], ...] = (
    ("claims", claims.check_schema),
    ("prior", claims.check_prior),
    ("distances", claims.check_distances),
    ("loss", claims.check_losses),
    ("rows", claims.check_rows),
    ("privacy", claims.check_privacy),
    ("value", claims.check_value),
    ("bound", claims.check_bound),
    ("gap", claims.check_gap),
    ("table", check_table),
)
_AGAIN = 1.0
"""Seconds after which a line is told again."""
_OPTIMA = "optima"
"""The check of the optima that a regret is against, beside the files in `QUESTIONS`."""


def verify(folder: str | Path, *, tell: Tell = lambda line: None) -> Verdict:
    """Prove a result folder again from its files alone, in exact arithmetic.

    Nothing of what made the result is used: no solver, no certificate, no `exp` of any library. Doubles count as the
    rationals that they are; e^{εd} is enclosed by rationals.

    What a problem is given by counts as given: its prior, data that it was tried on, distances without points,
    losses without a name, the guesses of an adversary, pairs of beliefs, levels asked for and tolerances. No claims
    are names, labels, units of losses, cells and streets on a map, the way in which the mechanism was found,
    `rests_on`, which rows of a comparison are baselines, whether it was interrupted, whatever in a dual is not needed
    for its bound, and the files that the note of the verdict lists: notes.json, tables for people, pictures, pages,
    and those of the command line.

    Parameters
    ----------
    folder : path
        That `save` or `dxopt solve` wrote.
    tell : callable, optional
        Given a line of text for each part.

    Returns
    -------
    Verdict
        A check of the digests, then one for each claim: it holds, it fails (with where), or it is not re-proved,
        as for noise on a grid, the masses of which are not in the files. What a level, a frontier or a
        sweep rests on has one check for each part, and one for what follows from the parts.

    Raises
    ------
    SpecError
        If the folder holds no result.
    """
    path = Path(folder)
    if not holds_result(path):
        raise SpecError("folder", f"{path} is no result folder", "name one that `save` or `dxopt solve` wrote")
    left = unclaimed_files(path)
    note = f"not checked, as they claim nothing: {', '.join(left)}" if left else ""
    with _repeated(tell) as told:
        return Verdict(str(path), tuple(_checks(path, told)), note)


def verify_all(folder: str | Path, *, tell: Tell = lambda line: None) -> Verdict | Verdicts:
    """Prove a result folder again, every result in a folder of them, as a batch writes it, or a table file `*.dxt`.

    Parameters and errors are those of `verify`; SpecError also if there is no result at any depth.
    """
    path = Path(folder)
    if path.suffix == SUFFIX and not is_folder(path):
        return verify_table(path)
    if is_file(path):
        fix = "name a result folder or a table *.dxt; for a file that dxopt apply wrote, add --result FOLDER"
        raise SpecError("folder", f"{path} is a file", fix)
    if holds_result(path):
        return verify(path, tell=tell)
    found = list(_results(path))
    if not found:
        raise SpecError("folder", f"{path} holds no result", "name a result folder, or a folder of them")
    verdicts = []
    for count, inner in enumerate(found, 1):
        name = inner.relative_to(path)
        tell(f"{name}, {count} of {len(found)}")
        verdicts.append(verify(inner, tell=lambda line, name=name: tell(f"{name}: {line}")))
    return Verdicts(str(path), tuple(verdicts))


def verify_table(file: str | Path) -> Verdict:
    """Prove a table file `*.dxt` from its bytes alone: names, distances, rows, privacy, prior.

    Raises
    ------
    SpecError
        If there is no such file.
    """
    path = Path(file)
    if not is_file(path):
        raise SpecError("table", f"{path} is no file", "name one that dxopt export wrote")
    return Verdict(str(path), tuple(_caught("file", starmap(check_claim, table_checks(path)))))


@contextmanager
def _repeated(tell: Tell) -> Iterator[Tell]:
    """Yield a function that tells a line, which is told again each second until there is another: a check takes long.

    From a thread of its own, one line at a time.
    """
    telling, ended = threading.Lock(), threading.Event()
    lines: list[str] = []

    def told(line: str) -> None:
        with telling:
            lines[:] = [line]
            tell(line)

    def repeat() -> None:
        while not ended.wait(_AGAIN):
            with telling:
                for line in lines:
                    tell(line)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        ended.set()
        thread.join()


def require_named(result: Result) -> None:
    """Broken where a prior or a loss with a known name is not the one of that name, or has another unit."""
    claims.require_units(result)
    losses = claims.check_losses if result.written else implicit.check_losses
    for check in (claims.check_prior, losses):
        with suppress(Unproved):
            check(result)


def _results(folder: Path) -> Iterator[Path]:
    """Yield the results in a folder, sorted; none that are hidden, inside of results or behind links to folders."""
    waiting = _contents(folder)[::-1]
    while waiting:
        path = waiting.pop()
        if path.name.startswith("."):
            continue
        if holds_result(path):
            yield path
        elif is_folder(path) and not path.is_symlink():
            waiting += _contents(path)[::-1]


def _contents(folder: Path) -> list[Path]:
    """Return the contents of a folder, sorted; none where there is no such folder, or it cannot be read."""
    try:
        return sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError:
        return []


def _checks(folder: Path, tell: Tell) -> Iterator[Check]:
    """Check the digests, the claims of a report if there is one, and what rests on parts if there are such."""
    yield check_claim("digests", lambda: check_digests(folder))
    yield from _caught("files", _content_checks(folder, tell))


def _content_checks(folder: Path, tell: Tell) -> Iterator[Check]:
    reported = any((folder / name).is_file() for name in PROOF)
    result = Result.read(folder) if reported else None
    if result is not None:
        yield from _report_checks(result, tell)
    questions = [name for name in QUESTIONS if (folder / name).is_file()]
    if len(questions) > 1:
        yield Check("files", Outcome.FAILS, f"{' and '.join(questions)} are answers to different questions")
    elif questions:
        yield from _caught(questions[0], _answer_checks(folder, questions[0], result, tell))
    elif result is not None and result.objective == "regret":
        yield from _caught(_OPTIMA, _answer_checks(folder, _OPTIMA, result, tell))
    elif any(path.name != COMPARISON for path in _contents(folder / PARTS)) or is_file(folder / PARTS):
        yield Check("files", Outcome.FAILS, f"there are {PARTS}, but nothing rests on them")
    if (folder / PARTS / COMPARISON).is_dir() and not reported:
        yield Check("files", Outcome.FAILS, "there is a comparison, but no report")


def _report_checks(result: Result, tell: Tell) -> Iterator[Check]:
    """Check the claims of a report: those of the certificate, measures and the comparison."""
    others = {} if result.written else implicit.CLAIMS
    for name, claim in _CLAIMS:
        tell(f"proving {name}, of {result.size:,} secrets")
        yield check_claim(name, partial(others.get(name, claim), result))
    if claims.claims_beliefs(result):
        yield check_claim("beliefs", partial(claims.check_beliefs, result))
    if result.named.get("within") is not None:
        yield check_claim("within", partial(claims.check_within, result))
    evaluation = result.claims.get("evaluation")
    if not isinstance(evaluation, dict):
        yield Check("measures", Outcome.FAILS, "claims.json: evaluation is no object")
    else:
        for name, claimed in evaluation.items():
            tell(f"proving measure {name}")
            yield check_claim(f"measure: {name}", partial(check_measure, result, name, claimed))
    if (result.folder / PARTS / COMPARISON).is_dir():
        yield from _caught("comparison", starmap(check_claim, comparison_proofs(result, _part_checks)))


def _part_checks(folder: Path) -> Iterator[Check]:
    """Check a part, which is a report and rests on nothing else."""
    if any((folder / name).is_file() for name in QUESTIONS):
        yield Check("files", Outcome.FAILS, "it is no report")
    else:
        yield from _checks(folder, lambda line: None)


def _answer_checks(folder: Path, question: str, result: Result | None, tell: Tell) -> Iterator[Check]:
    """Check each part of a level, a frontier, a sweep or a regret, and then what follows from them."""
    # what the parts differ in, which is no difference of their problems; parts of a regret are compared later
    varied = varied_by(folder) if question == FRONTIER else "" if question == _OPTIMA else "epsilon"
    checks, parts = read_parts(folder, _part_checks, varied, result if question == LEVEL else None, tell)
    yield from checks

    def claim() -> str:
        """Check what follows from the parts; Unproved in the end if one of them does not hold."""
        if len(parts) < len(checks):
            raise Unproved("some of its parts cannot be read")
        if question == LEVEL:
            found = check_level(folder, result, parts)
        elif question == FRONTIER:
            found = check_frontier(folder, parts)
        elif question == SWEEP:
            found = check_sweep(folder, parts)
        else:
            found = check_optima(result, parts)
        require_all(checks)
        return found

    yield check_claim(question, claim)


def check_claim(name: str, claim: Callable[[], str]) -> Check:
    """Call a claim and return its check: it holds unless it raises, which tells why it fails or is not re-proved."""
    try:
        return Check(name, Outcome.HOLDS, claim())
    except Exception as error:  # what a damaged file raises is up to its readers
        return failed_check(name, error)


def failed_check(name: str, error: Exception) -> Check:
    """Return the check of a claim that raised: it is not re-proved where that is `Unproved`, and fails elsewhere.

    UnsupportedError, of a missing package, is raised again.
    """
    if isinstance(error, UnsupportedError):
        raise error
    said = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, Unproved):
        return Check(name, Outcome.NOT_REPROVED, said)
    return Check(name, Outcome.FAILS, said if isinstance(error, Broken) else f"damaged: {said}")


def _caught(name: str, checks: Iterator[Check]) -> Iterator[Check]:
    """Yield checks; where finding the next one raises, a failed one of this name is the last."""
    try:
        yield from checks
    except Exception as error:
        yield failed_check(name, error)
