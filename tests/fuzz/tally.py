"""Counts of what came of the cases, as a line, a table, and lines of JSON that can be added."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.fuzz.case import Case
from tests.fuzz.trying import Outcome

VERDICTS = ("optimal", "open", "refused", "find")


class Tally:
    """What came of the cases so far, by family and verdict."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.cases: Counter[tuple[str, str]] = Counter()
        self.questions: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.slowest = 0.0
        self.checked: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """The number of cases."""
        return self.cases.total()

    def add(self, case: Case, outcome: Outcome, checked: Iterable[str] = ()) -> None:
        """Count a case, and what else was checked of it."""
        self.cases[case.family, outcome.verdict] += 1
        self.questions[case.question] += 1
        self.kinds.update({find.kind for find in outcome.finds})
        self.checked.update(checked)
        self.slowest = max(self.slowest, outcome.seconds)

    def line(self) -> str:
        """The counts so far in one line."""
        seconds = time.monotonic() - self.began
        each = 1000 * seconds / max(1, self.count)
        verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in self._verdicts().items() if count)
        finds = f" ({', '.join(f'{count} {kind}' for kind, count in self.kinds.most_common())})" if self.kinds else ""
        return f"{self.count:,} cases in {seconds:.0f} s, {each:.0f} ms each: {verdicts}{finds}"

    def table(self) -> str:
        """The counts by family and by objective."""
        families = sorted({family for family, _ in self.cases})
        rows = [["", *VERDICTS]]
        rows += [[one, *(f"{self.cases[one, verdict]:,}" for verdict in VERDICTS)] for one in families]
        rows.append(["all", *(f"{count:,}" for count in self._verdicts().values())])
        lines = ["  ".join(f"{cell:>9}" if at else f"{cell:<14}" for at, cell in enumerate(row)) for row in rows]
        asked = ", ".join(f"{count:,} {name}" for name, count in self.questions.most_common())
        also = ", ".join(f"{count:,} {name}" for name, count in self.checked.most_common())
        return "\n".join([*lines, f"of these: {asked}", f"also: {also}; the slowest took {self.slowest:.1f} s"])

    def content(self) -> dict[str, Any]:
        """The counts as plain data."""
        return {
            "cases": {f"{family}/{verdict}": count for (family, verdict), count in sorted(self.cases.items())},
            "questions": dict(self.questions),
            "kinds": dict(self.kinds),
            "checked": dict(self.checked),
            "slowest": self.slowest,
            "seconds": round(time.monotonic() - self.began, 1),
        }

    def include(self, content: dict[str, Any]) -> None:
        """Add the counts of another run."""
        for name, count in content["cases"].items():
            family, verdict = name.rsplit("/", 1)
            self.cases[family, verdict] += count
        self.questions.update(content["questions"])
        self.kinds.update(content["kinds"])
        self.checked.update(content["checked"])
        self.slowest = max(self.slowest, content["slowest"])
        self.began -= content["seconds"]

    def _verdicts(self) -> dict[str, int]:
        found: Counter[str] = Counter(dict.fromkeys(VERDICTS, 0))
        for (_, verdict), count in self.cases.items():
            found[verdict] += count
        return found


class Log:
    """A file of JSON lines: how the run began, each find, and the counts now and then."""

    def __init__(self, file: Path | None) -> None:
        self.file = file

    def write(self, what: str, **content: Any) -> None:
        """Append a line, if there is a file."""
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"what": what, **content}) + "\n")


def added(files: Iterable[Path]) -> Tally:
    """The counts of several logs; of each run the last ones."""
    total = Tally()
    for file in files:
        last: dict[str, Any] | None = None
        for line in file.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry["what"] == "run" and last is not None:
                total.include(last)
                last = None
            if entry["what"] == "counts":
                last = entry
        if last is not None:
            total.include(last)
    return total
