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

    With `sweep` a file is about its levels, and not about those that it has itself.
    """

    solver: str | None = None
    tolerance: float | None = None
    time_limit: float | None = None
    compare: tuple[str, ...] | None = None
    sweep: AtLevels | None = None

    def apply(self, task: Task) -> Task:
        """The task with every option that was given."""
        given = {key: value for key, value in asdict(self).items() if value is not None and key != "sweep"}
        if task.compare:
            given.pop("compare", None)
        return replace(task, **given)
