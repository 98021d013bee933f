"""Base class of notions of neighbours, and the table of their names."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from itertools import islice
from typing import Any, ClassVar, Protocol

import numpy as np

from dxopt.errors import SpecError, required
from dxopt.numerics.coerce import as_list, short_repr
from dxopt.runtime.registry import Registry
from dxopt.spaces.space import MetricSpace, space_of_edges
from dxopt.spaces.universes import Universe


class Relation(Protocol):
    """A notion of neighbours: the single steps from a secret to another one.

    `kind` is the kind of universes that it is for, "" for any; `one_way` says that a step back need not be a step.
    """

    kind: ClassVar[str] = ""
    one_way: ClassVar[bool] = False

    def steps(self, universe: Universe, secret: Any) -> Iterable[Hashable]:
        """Yield the neighbours of a secret; others outside the universe, and the secret itself, are passed over."""
        ...


RELATIONS: Registry[type[Relation]] = Registry("neighbours")
MOST_STEPS = 20_000_000
"""Steps of all secrets together: those between any two of 4,472, the most that are solved without structure."""


def neighbours(universe: Universe, relation: str | Relation, *, unit: str = "", **parameters: Any) -> MetricSpace:
    """Make the space in which a distance is the number of steps between neighbours.

    Parameters
    ----------
    universe : Universe
        Steps lead through its secrets only.
    relation : str or Relation
        A registered name, with the parameters of its class; or a relation.
    unit : str
        What a step is, in the plural, such as "records".

    Raises
    ------
    SpecError
        If the name or a parameter is wrong, or the relation does not suit the universe, joins none of it, or has
        more than 20 million steps.

    Examples
    --------
    >>> import dxopt as dx
    >>> friends = dx.Universe.graphs(3)
    >>> space = dx.neighbours(friends, "edge")
    >>> space.row(label="{}").tolist()
    [0.0, 1.0, 1.0, 2.0, 1.0, 2.0, 2.0, 3.0]
    """
    required("universe", universe, Universe, "give a dx.Universe, such as dx.Universe.graphs(3)")
    chosen = _named(relation, parameters) if isinstance(relation, str) else relation
    if not callable(getattr(chosen, "steps", None)):
        wrong = f"are of type {type(relation).__name__}"
        raise SpecError("neighbours", wrong, f"choose one of {', '.join(RELATIONS)}")
    if chosen.kind not in ("", universe.kind):
        raise SpecError("neighbours", f"are about {chosen.kind}, not {universe.kind}", "choose another relation")
    if check := getattr(chosen, "check", None):
        check(universe)
    # a step out of the universe is taken for a step to the secret itself, which is no edge
    indices, size = universe.places, len(universe)
    left = MOST_STEPS
    listed = []
    for index, secret in enumerate(universe.secrets):
        reached = [indices.get(other, index) for other in islice(chosen.steps(universe, secret), left + 1)]
        if (left := left - len(reached)) < 0:
            wrong = f"have more than {MOST_STEPS:,} steps among {size:,} secrets"
            raise SpecError("neighbours", wrong, "make the universe smaller, or choose a relation with fewer")
        listed.append(index * size + np.array(reached, dtype=np.int64))
    pairs = np.stack(np.divmod(np.concatenate(listed), size), axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if len(universe) > 1 and not len(pairs):
        named = [one.name for one in fields(chosen)] if is_dataclass(chosen) else []
        raise SpecError([*named, "neighbours"][0], "are none among these secrets", "choose others")
    if not chosen.one_way:
        pairs.sort(axis=1)
    _, first = np.unique(pairs @ (size, 1), return_index=True)
    edges = pairs[np.sort(first)]
    edges = edges[edges[:, 0].argsort(kind="stable")]
    return space_of_edges(universe.labels, edges, np.ones(len(edges)), directed=chosen.one_way, unit=unit)


def require_known(
    field: str, given: Any, known: Collection[Any], wrong: str = "no record can be", *, pairs: bool = False
) -> None:
    """Raise SpecError unless a relation names several of what is known, such as the values of records, or pairs."""
    required(field, given, Collection, "give a list")  # an iterator is empty after the first secret
    for index, one in enumerate(as_list(given, field, "give a list")):
        place = f"{field}[{index}]"
        if pairs:
            require_known(place, one, known, wrong)
            if len(one) != 2:
                raise SpecError(place, f"has {len(one)} entries", "give pairs")
            continue
        there = False
        with suppress(Exception):  # whatever a type of others raises
            there = one in known
        if not there:
            several = ", ".join(map(str, islice(known, 10))) + ", …" * (len(known) > 10)
            raise SpecError(place, f"is {short_repr(one)}, which {wrong}", f"choose from {several}")


def _named(name: str, parameters: dict[str, Any]) -> Relation:
    """Make a relation by its registered name; SpecError names a parameter that it does not take, or that it lacks."""
    cls = RELATIONS.get(name)
    known = fields(cls)  # pyright: ignore[reportArgumentType]
    for wrong in parameters.keys() - {field.name for field in known}:
        takes = ", ".join(field.name for field in known) or "nothing"
        raise SpecError(wrong, f"does not go with neighbours: {name}", f"leave it out; parameters: {takes}")
    needed = (field.name for field in known if field.default is MISSING)
    for missing in (one for one in needed if one not in parameters):
        raise SpecError("neighbours", f"{name} needs {missing}", "give it")
    return cls(**parameters)
