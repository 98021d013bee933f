"""What a reduction is: from a program or problem to a smaller one, and from an answer to that one back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from dxopt.proofs.candidate import AppliedReduction
from dxopt.runtime.registry import Registry

Whole = TypeVar("Whole")
Smaller = TypeVar("Smaller")


@dataclass(frozen=True, eq=False)
class Reduced(Generic[Smaller]):
    """Something smaller to solve, and the way back.

    Attributes
    ----------
    smaller : ChannelProgram, or problems
    lift : callable
        From a solution of the smaller one to one of the whole. It changes nothing in the value.
    record : AppliedReduction
        What was applied, whether it is exact, and what it saved or costs.
    """

    smaller: Smaller
    lift: Callable[[Any], Any]
    record: AppliedReduction


class Reduction(Protocol[Whole, Smaller]):
    """One way to make a program or a problem smaller.

    Attributes
    ----------
    name : str
    exact : bool
        Whether the optimum is the same.
    """

    name: ClassVar[str]
    exact: ClassVar[bool]

    def apply(self, whole: Whole) -> Reduced[Smaller] | str:
        """Something smaller with the way back, or why there is nothing to gain."""
        ...

    @classmethod
    def examples(cls) -> list[tuple[Reduction[Whole, Smaller], Whole]]:
        """Reductions with what they make smaller, for the contract test."""
        ...


REDUCTIONS: Registry[type[Reduction[Any, Any]]] = Registry("reduction")
