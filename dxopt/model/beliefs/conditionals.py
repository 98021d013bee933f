"""Pairs of conditional distributions, which `BeliefPairs` collects: given events, in Markov chains, of records."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, UnsupportedError, required
from dxopt.model.prior import Prior
from dxopt.numerics.coerce import (
    NONNEGATIVE,
    as_distributions,
    as_list,
    as_number,
    as_numbers,
    as_weights,
    checked_count,
)
from dxopt.spaces.callables import truth_of
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.universes import Universe

Secrets = MetricSpace | Universe
Event = Callable[[Any], bool] | Iterable[Any]
Named = tuple[str, NDArray[np.bool_]]
"""Name of an event, and the mask `(n,)` of its secrets."""
_SHOWN = 3  # labels of an event in a name
_SECRETS = "give a dx.MetricSpace, such as dx.line(5), or a dx.Universe"


def labels_of(states: Secrets | Iterable[Any]) -> Sequence[str]:
    """Return the names of secrets or states; SpecError where they are none."""
    if isinstance(states, Secrets):
        return states.labels
    required("states", states, Iterable, "give a space, or a list of states")
    return tuple(map(str, states))


def events_of(space: Secrets, pairs: Iterable[tuple[Event, Event]]) -> list[tuple[Named, Named]]:
    """Return pairs of events with their names and masks; SpecError about `secrets` where one is no event."""
    required("space", space, Secrets, _SECRETS)
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
    """Return name and mask of an event: a predicate, or secrets listed by label or index, or as in a universe."""
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
    else:
        for secret in [given] if isinstance(given, str) or not isinstance(given, Iterable) else given:
            inside[_index(space, secret)] = True
    if not inside.any():
        raise SpecError("secrets", "have an event with no secret", "name at least one for each")
    return _listed(space, inside), inside


def _index(space: Secrets, secret: Any) -> int:
    """Return the index of a secret; of a universe it may be given as it is, or by its label."""
    if isinstance(space, MetricSpace):
        return space.naming.one(secret, called="secrets")
    try:
        if secret in space.places:
            return space.places[secret]
    except TypeError:  # a list, say, which cannot be looked up
        pass
    if isinstance(secret, str) and secret in space.labels:
        return space.labels.index(secret)
    raise SpecError("secrets", f"{secret!r} is no secret of the universe", "give one of universe.secrets")


def _listed(space: Secrets, inside: NDArray[np.bool_]) -> str:
    """Name an event by its first labels, and the number of the others."""
    members = np.flatnonzero(inside)
    shown = ", ".join(space.labels[int(index)] for index in members[:_SHOWN])
    more = f" and {len(members) - _SHOWN:,} more" if len(members) > _SHOWN else ""
    return f"{{{shown}{more}}}"


Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Conditional:
    """Two beliefs `(n,)` that must not be told apart, and what they are given, `one` and `other`.

    A belief is None if what it is given has probability 0. `under` is the rest of the name, such as the prior.
    """

    one: str
    other: str
    under: str
    first: Array | None
    second: Array | None
    distance: float = 1.0


def priors_of(space: Secrets, given: Any, field: str = "beliefs") -> list[Prior]:
    """Return a list of priors over the secrets from one belief or several; SpecError where one is no prior."""
    if isinstance(given, Prior | str) or _is_row(given):
        return [prior_of(space, given)]
    required(field, given, Iterable, "give a prior, or a list of priors")
    listed = [prior_of(space, one) for one in given]
    if not listed:
        raise SpecError("beliefs", "are none", "give at least one prior")
    return listed


def prior_of(space: Secrets, given: Any) -> Prior:
    """Return a prior over a space, as by `Prior.of`, or over a universe; SpecError if it is about other secrets."""
    if isinstance(space, MetricSpace):
        return Prior.of(given, space)
    size = len(space)
    if isinstance(given, str) and given == "uniform":
        return Prior(np.full(size, 1.0 / size), "uniform")
    fix = "give a prior, or one probability for each secret"
    found = given if isinstance(given, Prior) else Prior(as_numbers(given, "beliefs", fix))
    if len(found) != size:
        raise SpecError("beliefs", f"have {len(found)} entries for {size} secrets", "give one probability for each")
    if found.space is not None and tuple(found.space.labels) != tuple(space.labels):
        raise SpecError("beliefs", "are about other secrets", "make them on a space of this universe")
    return found


def as_given(space: Secrets, pairs: Iterable[Any], distances: ArrayLike | None) -> list[Conditional]:
    """Return pairs of beliefs that a user gave, each at its distance; SpecError where one is no such pair."""
    required("space", space, Secrets, _SECRETS)
    required("pairs", pairs, Iterable, fix := "give two beliefs for each")
    listed = [tuple(priors_of(space, pair, "pairs")) for pair in pairs]
    if any(len(pair) != 2 for pair in listed):
        raise SpecError("pairs", "have an entry that is no pair of beliefs", fix)
    apart = np.ones(len(listed)) if distances is None else as_numbers(distances, "distances", "give numbers")
    if apart.shape != (len(listed),):
        raise SpecError("distances", f"are {apart.size} for {len(listed)} pairs", "give one for each")
    return [
        Conditional(one.name, other.name, "", one.probabilities, other.probabilities, float(distance))
        for (one, other), distance in zip(listed, apart, strict=True)
    ]


def _is_row(given: Any) -> bool:
    """Return True for a single belief: numbers on one axis."""
    try:
        return np.asarray(given, dtype=float).ndim == 1
    except (TypeError, ValueError, OverflowError):
        return False


def given_event(belief: Array, inside: NDArray[np.bool_]) -> Array | None:
    """Condition a belief on an event, `(n,)`; None where the event has probability 0."""
    likely = np.where(inside, belief, 0.0)
    # dividing by the largest first keeps tiny probabilities from underflowing
    largest = likely.max()
    if not largest > 0:
        return None
    likely = likely / largest
    return likely / math.fsum(likely)


def conditionals(events: Sequence[tuple[Named, Named]], beliefs: Iterable[Prior]) -> Iterator[Conditional]:
    """Yield, for each belief and each pair of events, the belief given the one event and given the other."""
    for belief in beliefs:
        for (one, inside), (other, elsewhere) in events:
            given = given_event(belief.probabilities, inside)
            against = given_event(belief.probabilities, elsewhere)
            yield Conditional(one, other, f", under {belief.name}", given, against)


TRACES = 20_000
"""The most traces of a chain."""


def markov_conditionals(
    labels: Sequence[str], length: int, transition: ArrayLike, start: ArrayLike | None, times: Iterable[int] | None
) -> Iterator[Conditional]:
    """Yield, for each time and each two states, the distribution of traces `(k^length,)` given either state then.

    There may be at most 20,000 traces.
    """
    states = len(labels)
    if states < 2:
        raise SpecError("states", f"are {states}", "give two or more")
    length = checked_count("length", length)
    if length > 100 or states**length > TRACES:
        raise UnsupportedError("length", f"makes more than {TRACES:,} traces", "give fewer times or states")
    begins, moves = chain_of(states, transition, start)
    some = as_list(range(length) if times is None else times, "times", fix := f"give some from 0 to {length - 1}")
    if not some:
        raise SpecError("times", "are none", fix)
    chosen = [checked_count("times", time, 0, length - 1) for time in some]
    # 1. traces, and how likely each step of each is, given the one before
    traces = traces_of(states, length)
    steps = moves[traces[:, :-1], traces[:, 1:]]
    # 2. where the chain is at each time
    where = [begins]
    for _ in range(length - 1):
        where.append(where[-1] @ moves)
    for time in chosen:
        # 3. given the state at that time: how the chain got there, from the joint probability of the steps before,
        #    times how it goes on
        got = begins[traces[:, 0]] * steps[:, :time].prod(axis=1)
        goes = steps[:, time:].prod(axis=1)
        each: list[Array | None] = []
        for state in range(states):
            here = np.where(traces[:, time] == state, got, 0.0) * goes
            total = here.sum()
            each.append(here / total if where[time][state] > 0 and total > 0 else None)
        for one, other in itertools.combinations(range(states), 2):
            names = f"at {labels[one]}", f"at {labels[other]}"
            yield Conditional(*names, f", time {time}", each[one], each[other])


def chain_of(states: int, transition: ArrayLike, start: ArrayLike | None) -> tuple[Array, Array]:
    """Return the probabilities of the first of so many states, `(k,)`, and of the next after each, `(k, k)`.

    The first are those that the chain keeps where none are given; SpecError where they are none.
    """
    moves = _stochastic(transition, "transition", states, states)
    return (stationary(moves) if start is None else _stochastic(start, "start", states)), moves


def traces_of(states: int, length: int) -> NDArray[np.int64]:
    """Return all traces `(k^length, length)` of so many states, the last time fastest."""
    return np.stack([axis.ravel() for axis in np.indices((states,) * length)], axis=1)


def stationary(transition: Array) -> Array:
    """Return the stationary distribution π = πP of a chain, `(k,)`; SpecError where there are several."""
    states = len(transition)
    # π (P - 1) = 0 and Σ π = 1 have one solution where P - 1 has rank k - 1
    equations = np.concatenate([transition.T - np.eye(states), np.ones((1, states))])
    if np.linalg.matrix_rank(equations[:-1], tol=1e-10) < states - 1:
        raise SpecError("start", "is missing, and the chain keeps several distributions", "give one")
    found = np.linalg.lstsq(equations, np.append(np.zeros(states), 1.0), rcond=None)[0]
    found = np.where(found > 1e-12, found, 0.0)  # rounding of 0
    return found / found.sum()


def _stochastic(given: ArrayLike, field: str, *shape: int) -> Array:
    """Check probabilities, and return them with each row divided by its sum, which may be off by rounding."""
    array = as_distributions(given, field, f"give probabilities of shape {shape}", *shape)
    return array / array.sum(axis=-1, keepdims=True)


EVENTS = 200_000
"""The most events that `by_records` conditions on."""


def by_records(universe: Universe, beliefs: Iterable[Prior], known: int | None) -> Iterator[Conditional]:
    """Yield, for each two values of a person's record, the distribution of databases given either value.

    Both are also given the records of up to `known` other persons, any number by default: one pair for each choice of
    these persons and of their values (Yang et al. 2015).
    """
    codes = _codes(universe)
    records = codes.shape[1]
    most = records - 1 if known is None else checked_count("known", known, 0)
    if most >= records:
        fix = f"give how many other records are known, from 0 to {records - 1}"
        raise SpecError("known", f"is {known}", fix)
    values = len(universe.values)
    subsets = sum(math.comb(records - 1, size) * values**size for size in range(most + 1))
    if records * subsets * values**2 > EVENTS:
        raise UnsupportedError("known", f"makes over {EVENTS:,} events", "give a smaller number, or fewer records")
    written = _names_of_values(universe)
    for belief, person in itertools.product(beliefs, range(records)):
        for others, theirs in _known_records(records, person, most, values):
            inside = (codes[:, others] == theirs).all(axis=1)
            if not belief.probabilities[inside].any():
                continue  # these known records are impossible
            also = "".join(f", record {x} = {written[value]}" for x, value in zip(others, theirs, strict=True))
            each = [given_event(belief.probabilities, inside & (codes[:, person] == v)) for v in range(values)]
            for one, other in itertools.combinations(range(values), 2):
                names = f"record {person} = {written[one]}", f"record {person} = {written[other]}"
                yield Conditional(*names, f", under {belief.name}{also}", each[one], each[other])


def _known_records(records: int, person: int, most: int, values: int) -> Iterator[tuple[list[int], tuple[int, ...]]]:
    """Yield each choice of up to `most` records other than a person's, with each combination of their values."""
    others = [other for other in range(records) if other != person]
    for size in range(most + 1):
        for some in itertools.combinations(others, size):
            for theirs in itertools.product(range(values), repeat=size):
                yield list(some), theirs


def without_records(universe: Universe, beliefs: Iterable[Prior]) -> Iterator[Conditional]:
    """Yield, for each value of a person's record, the distribution of databases given it, and that with it removed.

    Raises
    ------
    SpecError
        If no record may be absent.
    """
    codes = _codes(universe)
    if None not in universe.values:
        raise SpecError("universe", "has no absent records", "make it with absent=True")
    # for each person, the index of what each database becomes without that record
    images = []
    for person in range(codes.shape[1]):
        without = [(*one[:person], None, *one[person + 1 :]) for one in _databases(universe)]
        gone = [universe.places.get(one, -1) for one in without]
        if min(gone) < 0:
            wrong = f"lacks {without[gone.index(-1)]}, a database without record {person}"
            raise SpecError("universe", wrong, "keep the databases that are left when a record is taken out")
        images.append(np.array(gone, dtype=np.int64))
    written = _names_of_values(universe)
    present = [value for value, name in enumerate(universe.values) if name is not None]
    for belief, (person, image), value in itertools.product(beliefs, enumerate(images), present):
        given = given_event(belief.probabilities, codes[:, person] == value)
        moved = None if given is None else np.bincount(image, given, minlength=len(given)).astype(float)
        name = f"record {person} = {written[value]}"
        yield Conditional(name, "its absence", f", under {belief.name}", given, moved)


def observed_prior(universe: Universe, observed: Iterable[Any], smoothing: float) -> Prior:
    """Return the prior of relative frequencies of observed databases; SpecError where one is none of the universe."""
    required("observed", observed, Iterable, "give a list of databases")
    counts = np.full(len(universe), as_number(smoothing, "smoothing", *NONNEGATIVE))
    seen = 0
    for one in observed:
        try:
            index = universe.places.get(tuple(one), -1)
        except TypeError:
            index = -1
        if index < 0:
            raise SpecError("observed", f"{one!r} is no database of the universe", "leave it out, or widen that")
        counts[index] += 1
        seen += 1
    if not counts.any():
        raise SpecError("observed", "are no databases", "give at least one, or smoothing")
    weights = as_weights(counts, "smoothing", "give a smaller number")
    return Prior(weights / math.fsum(weights), f"{seen:,} observed databases")


def _databases(universe: Universe) -> list[tuple[Any, ...]]:
    """Return the secrets as tuples of records; SpecError unless they are databases."""
    if universe.kind != "databases":
        raise SpecError("universe", f"has {universe.kind}, no databases", "use pufferfish, with predicates")
    return [tuple(one) for one in universe.secrets]  # pyright: ignore[reportArgumentType]


def _codes(universe: Universe) -> NDArray[np.int64]:
    """Return each record of each database as the index of its value in the universe, `(n, records)`."""
    number = {value: index for index, value in enumerate(universe.values)}
    return np.array([[number[value] for value in one] for one in _databases(universe)])


def _names_of_values(universe: Universe) -> list[str]:
    return ["absent" if value is None else str(value) for value in universe.values]
