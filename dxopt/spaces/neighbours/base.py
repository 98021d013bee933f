"""Base class of notions of neighbours, and the table of their names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import MISSING, fields, replace
from typing import Any, ClassVar, Protocol

from dxopt.errors import SpecError, required
from dxopt.runtime.registry import Registry
from dxopt.spaces.space import MetricSpace
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
        If the name or a parameter is wrong, or the relation does not suit the universe or joins none of it.

    Examples
    --------
    >>> import dxopt as dx
    >>> friends = dx.Universe.graphs(3)
    >>> space = dx.neighbours(friends, "edge")
    >>> space.row(label="{}").tolist()
    [0.0, 1.0, 1.0, 2.0, 1.0, 2.0, 2.0, 3.0]
    """
    import networkx as nx

    required("universe", universe, Universe, "give a dx.Universe, such as dx.Universe.graphs(3)")
    chosen = _named(relation, parameters) if isinstance(relation, str) else relation
    if not callable(getattr(chosen, "steps", None)):
        wrong = f"are of type {type(relation).__name__}"
        raise SpecError("neighbours", wrong, f"choose one of {', '.join(RELATIONS)}")
    if chosen.kind not in ("", universe.kind):
        raise SpecError("neighbours", f"are about {chosen.kind}, not {universe.kind}", "choose another relation")
    graph = nx.DiGraph() if chosen.one_way else nx.Graph()
    graph.add_nodes_from(range(len(universe)))
    # a step out of the universe is taken for a step to the secret itself, which is no edge
    indices = universe.places
    for index, secret in enumerate(universe.secrets):
        reached = (indices.get(other, index) for other in chosen.steps(universe, secret))
        graph.add_edges_from((index, other) for other in reached if other != index)
    if len(universe) > 1 and not graph.size():
        raise SpecError("neighbours", "are none among these secrets", "choose another relation, or other secrets")
    return replace(MetricSpace.from_graph(graph, unit=unit), labels=universe.labels)


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
