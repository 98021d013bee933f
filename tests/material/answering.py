"""A candidate of the benchmarks that answers what it is told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.contract import Candidate, DrawsInstance, Instance, OptimalInstance, TightInstance


class Says(Candidate[Any]):
    """Answers what it is told to."""

    kinds = (TightInstance, DrawsInstance, OptimalInstance)

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.says = answer

    def refuses(self, instance: Instance[Any], question: Any) -> str | None:
        return None

    def prepare(self, instance: Instance[Any], question: Any) -> Callable[[], Any]:
        return lambda: self.says(question)
