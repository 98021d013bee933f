"""Events: sets of secrets, as they are named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, required
from dxopt.spaces.callables import truth_of
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.universes import Universe

Secrets = MetricSpace | Universe
Event = Callable[[Any], bool] | Iterable[Any]
Named = tuple[str, NDArray[np.bool_]]
"""Return the name of an event, and the mask `(n,)` of its secrets."""
_SHOWN = 3


def required_secrets(space: Any) -> None:
    """SpecError unless a space or a universe is given."""
    required("space", space, Secrets, "give a dx.MetricSpace, such as dx.line(5), or a dx.Universe")


def labels_of(states: Secrets | Iterable[Any]) -> Sequence[str]:
    """Return the names of secrets or states; SpecError where they are none."""
    if isinstance(states, Secrets):
        return states.labels
    required("states", states, Iterable, "give a space, or a list of states")
    return tuple(map(str, states))


def events_of(space: Secrets, pairs: Iterable[tuple[Event, Event]]) -> list[tuple[Named, Named]]:
    """Pairs of events; SpecError about `secrets` where one is none."""
    required_secrets(space)
    required("secrets", pairs, Iterable, "give a list of pairs of events")
    found = []
    for number, pair in enumerate(pairs):
        try:
            one, other = pair
        except (TypeError, ValueError):
            raise SpecError("secrets", f"entry {number} is no pair of events", "give two for each") from None
        found.append((event_of(space, one), event_of(space, other)))
    if not found:
        raise SpecError("secrets", "are none", "give at least one pair of events")
    return found


def event_of(space: Secrets, given: Event) -> Named:
    """The secrets that a predicate holds for, or that are listed: by label or index, or as in a universe."""
    size = len(space)
    if callable(given):
        of = space.secrets if isinstance(space, Universe) else space.labels
        inside = np.array([truth_of(given, secret, "secrets") for secret in of])
        name = getattr(given, "__name__", "")
        return (_listed(space, inside) if name in ("", "<lambda>") else name), inside
    inside = np.zeros(size, dtype=bool)
    if isinstance(given, np.ndarray) and given.dtype == bool:
        if given.shape != (size,):
            raise SpecError("secrets", f"have an event of shape {given.shape}", f"give {size} truth values")
        inside[:] = given
    elif isinstance(given, str) or not isinstance(given, Iterable):
        inside[_index(space, given)] = True
    else:
        for secret in given:
            inside[_index(space, secret)] = True
    if not inside.any():
        raise SpecError("secrets", "have an event with no secret", "name at least one for each")
    return _listed(space, inside), inside


def _index(space: Secrets, secret: Any) -> int:
    if isinstance(space, MetricSpace):
        return space.naming.one(secret, called="secrets")
    try:
        if secret in space.places:
            return space.places[secret]
    except TypeError:
        pass
    if isinstance(secret, str) and secret in space.labels:
        return space.labels.index(secret)
    raise SpecError("secrets", f"{secret!r} is no secret of the universe", "give one of universe.secrets")


def _listed(space: Secrets, inside: NDArray[np.bool_]) -> str:
    """Some labels of an event."""
    members = np.flatnonzero(inside)
    shown = ", ".join(space.labels[int(index)] for index in members[:_SHOWN])
    more = f" and {len(members) - _SHOWN:,} more" if len(members) > _SHOWN else ""
    return f"{{{shown}{more}}}"
