"""The record in each result folder of what it answers, for `--resume` and against replacing another result."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import dxopt
from dxopt.batch.jobs import Job, Question, keep_key
from dxopt.batch.outcome import Done, Line
from dxopt.errors import Option, PlausibilityWarning, SpecError
from dxopt.results.folder import DIGESTS, PARTS, is_result, write_json
from dxopt.runtime.reading import read_json
from dxopt.verify.files import check_digests
from dxopt.verify.verdict import Broken, Unproved

_BESIDES = frozenset({"compare", "priors", "evaluate", "learns", "records"})
"""Keys that add to a result: an answer that has more of them still has all that the earlier one had."""


def why_other(earlier: Question, now: Question) -> str:
    """Name the keys under which an answer to `now` lacks something of one to `earlier`; "" if it lacks nothing."""
    keys = [key for key in sorted({*earlier, *now}) if earlier.get(key) != now.get(key)]
    missed = [key for key in keys if key in earlier or key not in _BESIDES]
    return f"{', '.join(missed)} {'differs' if len(missed) == 1 else 'differ'}" if missed else ""


def require_replaceable(folder: Path, why_other: str) -> None:
    """Refuse to replace a result folder that answers another question; `why_other` says why it does, "" if not."""
    if why_other:
        wrong = f"{folder} holds the result of another problem ({why_other})"
        raise SpecError("output", wrong, "name another folder, or replace it with ", Option("force", True))


RECORD = "input.json"
_FORMAT = 1


def write_record(job: Job, done: Done, folder: Path) -> None:
    """Write into a result folder what it was made from; no digest where interrupted, to be done again on resuming."""
    content = {
        "format": _FORMAT,
        "version": dxopt.__version__,
        "digest": None if done.interrupted else job.digest,
        "question": dict(job.question),
        "line": asdict(done.line),
        "error": done.error,
    }
    keep_key(job)
    write_json(folder / RECORD, content)


def finished_before(job: Job) -> Done | None:
    """Return the outcome of a job in an earlier run; None unless that finished it, and no file has changed since."""
    recorded = _read_record(job.folder)
    if recorded.get("digest") != job.digest or recorded.get("version") != dxopt.__version__:
        return None
    try:
        for folder in (job.folder, *(file.parent for file in job.folder.glob(f"{PARTS}/**/{DIGESTS}"))):
            check_digests(folder)
        line = Line(**recorded["line"])
        # whoever wrote the record: a warning without its parts is found here, not where it is printed
        line = replace(
            line, warnings=[{part: str(one[part]) for part in PlausibilityWarning.PARTS} for one in line.warnings]
        )
        return Done(line, recorded["error"]).strictly(job.overrides.strict)
    except (Broken, Unproved, OSError, KeyError, TypeError, ValueError):
        return None


def was_better(job: Job, line: Line) -> bool:
    """Return whether the folder of a job has a finished result of the same problem, at least as good as a line."""
    recorded = _read_record(job.folder)
    earlier = recorded.get("line")
    if recorded.get("digest") is None or not isinstance(earlier, dict) or why_other_result(job):
        return False
    gap = earlier.get("gap")
    known = isinstance(gap, float) and (line.gap is None or gap <= line.gap)
    return earlier.get("delivered") is True or known


def other_version(job: Job) -> str | None:
    """Return the version of dxopt that an earlier result is from, where it is another one."""
    version = _read_record(job.folder).get("version", dxopt.__version__)
    return None if version == dxopt.__version__ else str(version)


def why_other_result(job: Job) -> str:
    """Return why the earlier result in the folder of a job is of another problem; "" where it is not, or is missing.

    A folder with no record of a question is of the same problem only where all that it was made from is the same.
    """
    if not is_result(job.folder):
        return ""
    recorded = _read_record(job.folder)
    question = recorded.get("question")
    if isinstance(question, dict):
        return why_other(question, job.question)
    return "" if recorded.get("digest") == job.digest else "it does not say of which"


def _read_record(folder: Path) -> dict[str, Any]:
    """Return the record in a result folder; empty where there is none that can be read in this format."""
    try:
        content = read_json(folder / RECORD) if is_result(folder) else {}
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) and content.get("format") == _FORMAT else {}
