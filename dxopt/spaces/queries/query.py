"""Queries: questions about secrets, and their answers (CABP13 §4, §5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, required
from dxopt.numerics.coerce import as_number, short_repr
from dxopt.numerics.partition import Partition
from dxopt.runtime.plugins import error_text
from dxopt.spaces.distances import in_blocks
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.universes import Universe, required_universe


@dataclass(frozen=True, eq=False)
class Query:
    """The answer to every secret.

    Attributes
    ----------
    answers : tuple
        The different ones, Y, in order.
    index : (n,) array
        The index of each secret's answer among them.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases([0, 1], 2)
    >>> query = dx.queries.total(people)
    >>> print(query.answers, query.index.tolist())
    (0.0, 1.0, 2.0) [0, 1, 1, 2]
    """

    name: str
    universe: Universe
    answers: tuple[Any, ...]
    index: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"<Query {self.name} on {self.universe!r}, {len(self.answers):,} answers>"

    @classmethod
    def of(cls, universe: Universe, function: Callable[[Any], Hashable], name: str = "query") -> Query:
        """Ask for any function of a secret; answers are sorted where they can be compared.

        Raises
        ------
        SpecError
            If the function raises, or gives a list or an array, which is no answer.
        """
        required_universe(universe)
        required("function", function, Callable, "give a function of a secret")
        every = [_answer(function, secret) for secret in universe.secrets]
        answers = list(dict.fromkeys(every))
        with suppress(TypeError):
            answers.sort()  # pyright: ignore[reportCallIssue]
        place = {answer: i for i, answer in enumerate(answers)}
        index = np.array([place[answer] for answer in every])
        index.flags.writeable = False
        return cls(name, universe, tuple(answers), index)

    def nearest(self, secrets: MetricSpace) -> NDArray[np.float64]:
        """Return for each two answers the least distance between secrets that have them, `(k, k)`.

        SpecError as for `induced`.
        """
        require_size(secrets, len(self.index), "secrets")
        # columns are sorted by answer, so that each answer is one run of them, and each minimum one of `reduceat`
        groups = Partition(self.index)
        order = np.argsort(self.index, kind="stable")
        starts = np.searchsorted(self.index[order], np.arange(groups.size))
        found = np.empty((groups.size, groups.size))
        for answer in range(groups.size):
            members = groups.members(answer)
            blocks = [secrets.block(some, order) for some in in_blocks(members, len(order))]
            # to each secret from the nearest secret that has this answer
            to_secrets = np.min([block.min(axis=0) for block in blocks], axis=0)
            found[answer] = np.minimum.reduceat(to_secrets, starts)
        return found

    def induced(self, secrets: MetricSpace) -> MetricSpace:
        """Put answers under the metric of a space of secrets: H∘f is d_X-private if and only if H is d-private.

        The distance of two answers is the least one between secrets that have them, or shorter by way of other
        answers: these are all the constraints that d_X puts on H.

        Raises
        ------
        SpecError
            If the space is not about as many secrets as the query.
        """
        labels = list(map(str, self.answers))
        return MetricSpace.from_distances(self.nearest(secrets), close=True, labels=labels, unit=secrets.unit)

    def space(self, metric: str = "euclidean", *, unit: str = "") -> MetricSpace:
        """Put answers under a metric between numbers, or between tuples of them, in a unit; d_R by default.

        Raises
        ------
        SpecError
            If the answers are neither, or there is no such metric.
        """
        numbers = np.array(np.nan)
        with suppress(TypeError, ValueError):
            numbers = np.array(self.answers, dtype=float)
        if not np.isfinite(numbers).all():
            raise SpecError("metric", "is for answers that are numbers", "take the induced one")
        return MetricSpace.from_points(numbers, metric, unit=unit)


def count(universe: Universe, holds: Callable[[Any], bool]) -> Query:
    """Count the records that have a property; absent ones have none (CABP13 Thm 8).

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases(["ill", "well"], 3)
    >>> print(dx.queries.count(people, lambda person: person == "ill").answers)
    (0, 1, 2, 3)
    """
    return Query.of(universe, lambda database: sum(holds(value) for value in _present(database)), "count")


def counts(universe: Universe, *properties: Callable[[Any], bool]) -> Query:
    """Count the records that have each of several properties, as a tuple (ECP14 §7).

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases(range(3), 2)
    >>> query = dx.queries.counts(people, lambda age: age > 0, lambda age: age > 1)
    >>> print(query.answers)
    ((0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2))
    """
    return Query.of(
        universe,
        lambda database: tuple(sum(holds(value) for value in _present(database)) for holds in properties),
        "counts",
    )


def total(universe: Universe) -> Query:
    """Sum the records that are present (CABP13 §5.1).

    Raises
    ------
    SpecError
        If records are no finite numbers.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases([0, 5], 2, absent=True)
    >>> print(dx.queries.total(people).answers)
    (0.0, 5.0, 10.0)
    """
    return Query.of(universe, lambda database: float(sum(map(exact_number, _present(database)))), "sum")


def average(universe: Universe) -> Query:
    """Average the records that are present (CABP13 §5.1); the empty database has no mean.

    Raises
    ------
    SpecError
        If records are no finite numbers, or the empty database is among the secrets.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.queries.average(dx.Universe.databases([0, 1], 2)).answers)
    (0.0, 0.5, 1.0)
    """

    def mean(database: tuple) -> float:
        values = _require_present(database, "average")
        return float(sum(map(exact_number, values)) / len(values))

    return Query.of(universe, mean, "average")


def percentile(universe: Universe, p: float) -> Query:
    """Find the least record no less than p % of those present (CABP13 §5.1): 0 minimum, 50 median, 100 maximum.

    Raises
    ------
    SpecError
        If records are no finite numbers, the empty database is among the secrets, or p is not from 0 to 100.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases([0, 10, 50], 2)
    >>> print(dx.queries.percentile(people, 50).answers)
    (0.0, 10.0, 50.0)
    """
    p = as_number(p, "percentile", "give a number from 0 to 100", lambda number: 0 <= number <= 100)

    def ranked(database: tuple) -> float:
        values = _require_present(database, "percentile")
        rank = max(1, math.ceil(Fraction(p) * len(values) / 100))
        return float(sorted(map(exact_number, values))[rank - 1])

    return Query.of(universe, ranked, f"percentile {p:g}")


def identity(universe: Universe) -> Query:
    """Ask for the secret itself.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.queries.identity(dx.Universe.databases([0, 1], 1)).answers)
    ((0,), (1,))
    """
    return Query.of(universe, lambda secret: secret, "identity")


def require_size(space: MetricSpace, wanted: int, name: str) -> None:
    """Raise SpecError unless a space is given with as many points as the query has secrets, or answers."""
    required(name, space, MetricSpace, "give a space, such as universe.space() or query.space()")
    if len(space) != wanted:
        raise SpecError(name, f"are {len(space):,}, those of the query {wanted:,}", "take the space of the query")


def required_query(query: Any) -> None:
    """Raise SpecError unless a query is given."""
    required("query", query, Query, "give a query, such as dx.queries.total(universe)")


def _answer(function: Callable[[Any], Hashable], secret: Any) -> Hashable:
    """Return the answer of a user's function; raise SpecError if it raises, or gives what cannot be told apart."""
    try:
        answer = function(secret)
    except SpecError:
        raise
    except Exception as error:  # whatever a function of the user raises
        wrong = f"gives no answer for the secret {short_repr(secret)} ({error_text(error)})"
        raise SpecError("query", wrong, "give a function of a secret") from error
    try:
        hash(answer)
    except TypeError:
        wrong = f"gives an answer of type {type(answer).__name__} for the secret {short_repr(secret)}"
        raise SpecError("query", wrong, "give numbers, text or tuples as answers") from None
    return answer


def _present(database: Any) -> list[Any]:
    """Return the records that are not absent."""
    return [value for value in database if value is not None]


def _require_present(database: Any, name: str) -> list[Any]:
    """Return the records that are not absent; SpecError where all of them are."""
    values = _present(database)
    if not values:
        raise SpecError("query", f"{name} of the empty database is not defined", "set empty to false")
    return values


def exact_number(value: Any) -> Fraction:
    """Return a number as the fraction that it is written as: 0.1 is a tenth, so that equal sums are equal answers."""
    with suppress(ValueError):
        if isinstance(value, Real):
            return Fraction(str(value))
    raise SpecError("query", f"is about numbers, not {value!r}", "give records that are finite numbers")
