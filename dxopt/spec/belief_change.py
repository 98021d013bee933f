"""The key `learns`: how far reports change an adversary's beliefs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dxopt.results.measures import Beliefs
from dxopt.spaces.space import MetricSpace
from dxopt.spec import fields as f
from dxopt.spec.locations import point_named
from dxopt.spec.source import Source

Labels = Annotated[list[f.Named], Field(min_length=1)]
Mapped = Annotated[dict[f.Label, f.Named], Field(min_length=1)]
Pairs = Annotated[list[Annotated[list[f.Named], Field(min_length=2, max_length=2)]], Field(min_length=1)]


Instead = Annotated[Pairs | Mapped, f.Shapes()]


class Learns(f.Section):
    """Most that an adversary learns from a report, and what privacy promises of that."""

    within: Annotated[list[Labels], Field(min_length=1)] = Field(
        [], description="Who knows that the secret is one of some: labels or indices of points, for each of a list."
    )
    hiding: Annotated[list[Instead], Field(min_length=1)] = Field(
        [],
        description="Whether a secret was hidden: what takes the place of some points, for each of a list.",
    )


def build_beliefs(source: Source, asked: Learns | None, space: MetricSpace) -> tuple[Beliefs, ...]:
    """Build the beliefs that are asked about, with the indices of their points; errors point at the labels."""
    if asked is None:
        return ()
    if not space.symmetric:
        raise source.error(("learns",), "needs symmetric distances", "leave it out")
    found = []
    for number, members in enumerate(asked.within):
        with source.within("learns", "within", number):
            indices = [point_named(space, label) for label in members]
        found.append(Beliefs(f"learns.within[{number}]", tuple(indices), hiding=False))
    for number, instead in enumerate(asked.hiding):
        indices = list(range(len(space)))
        with source.within("learns", "hiding", number):
            for one, other in instead.items() if isinstance(instead, dict) else instead:
                indices[point_named(space, one)] = point_named(space, other)
        found.append(Beliefs(f"learns.hiding[{number}]", tuple(indices), hiding=True))
    return tuple(found)
