"""Options of the command line that replace a file's."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dxopt.spec import Task
    from dxopt.studies.questions import AtLevels


@dataclass(frozen=True)
class Overrides:
    """Options of the command line that replace a file's; `compare` only where the file has none.

    With `sweep`, or with `epsilon`, a file is about these levels, and not about those that it has itself.
    With `strict` a plausibility warning is bad input.
    """

    solver: str | None = None
    tolerance: float | None = None
    time_limit: float | None = None
    compare: tuple[str, ...] | None = None
    epsilon: float | None = None
    sweep: AtLevels | None = None
    strict: bool = False

    @property
    def suffix(self) -> str:
        """Ending of the name of a result folder: a comparison or a sweep is beside the file's own result."""
        if self.sweep is not None:
            return "-sweep"
        return "-compare" if self.compare else ""

    def apply(self, task: Task) -> Task:
        """Return the task with the options that were given; its file was read with `epsilon` and `sweep` already."""
        about = ("epsilon", "sweep", "strict")
        given = {key: value for key, value in asdict(self).items() if value is not None and key not in about}
        if task.compare:
            given.pop("compare", None)
        return replace(task, **given)
