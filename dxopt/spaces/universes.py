"""Sets of secrets that are no points: databases, graphs, streams and words.

What must look alike among them is given by a relation (`neighbours`), or on databases by a metric between records.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, required
from dxopt.numerics.coerce import as_flag, checked_count
from dxopt.spaces.callables import Distance, truth_of, value_distances
from dxopt.spaces.distances import MATRIX_POINTS
from dxopt.spaces.products import product
from dxopt.spaces.space import MetricSpace

Kind = Literal["databases", "graphs", "streams", "words"]
RECORD_METRICS = ("hamming", "manhattan", "normalised_manhattan", "chebyshev")
_ABSENT = "∅"


@dataclass(frozen=True, eq=False)
class Universe:
    """The secrets, as Python objects, in the order of the points of every space that is made of them.

    Attributes
    ----------
    secrets : tuple
        Databases and words are tuples of values, streams tuples over times of tuples over users, graphs frozen sets
        of edges (a, b) with a < b.
    values : tuple
        What a record, an event or a letter may be, with `None` where a record may be absent; the nodes of graphs.

    Examples
    --------
    >>> import dxopt as dx
    >>> people = dx.Universe.databases(["ill", "well"], 2)
    >>> print(people.labels)
    ('(ill, ill)', '(ill, well)', '(well, ill)', '(well, well)')
    >>> people.space().distances.tolist()
    [[0.0, 1.0, 1.0, 2.0], [1.0, 0.0, 2.0, 1.0], [1.0, 2.0, 0.0, 1.0], [2.0, 1.0, 1.0, 0.0]]
    """

    kind: Kind
    secrets: tuple[Hashable, ...]
    values: tuple[Hashable, ...]

    def __len__(self) -> int:
        return len(self.secrets)

    def __repr__(self) -> str:
        return f"<Universe of {len(self):,} {self.kind}>"

    @classmethod
    def databases(
        cls, values: Iterable[Hashable], records: int, *, absent: bool = False, empty: bool = True
    ) -> Universe:
        """List all databases V^n, the last record fastest (CABP13 §2).

        Parameters
        ----------
        values : iterable
            V: numbers, text, or tuples of attributes.
        absent : bool
            Whether a record may be absent, as one more value `None` after the others.
        empty : bool
            Whether all records may be absent at once.

        Raises
        ------
        SpecError
            If there are no values, one of them is there twice, or the databases are more than 20,000.

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.Universe.databases([0, 1], 2).secrets)
        ((0, 0), (0, 1), (1, 0), (1, 1))
        >>> print(dx.Universe.databases([0, 1], 2, absent=True, empty=False).labels)
        ('(0, 0)', '(0, 1)', '(0, ∅)', '(1, 0)', '(1, 1)', '(1, ∅)', '(∅, 0)', '(∅, 1)')
        """
        listed = (*_checked_values(values, "values"), *([None] if as_flag(absent, "absent") else []))
        databases = _tuples(listed, checked_count("records", records), "records")
        nobody = None if as_flag(empty, "empty") else (None,) * records
        return cls("databases", tuple(one for one in databases if one != nobody), listed)

    @classmethod
    def graphs(cls, nodes: int) -> Universe:
        """List all simple graphs on the nodes 0, 1, … (Des20 §2.2.3).

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.Universe.graphs(3).labels[:5])
        ('{}', '{1-2}', '{0-2}', '{0-2, 1-2}', '{0-1}')
        """
        _require_few(2, math.comb(checked_count("nodes", nodes), 2), "nodes")
        pairs = list(itertools.combinations(range(nodes), 2))
        chosen = _tuples((False, True), len(pairs), "nodes")
        graphs = (frozenset(pair for pair, there in zip(pairs, which, strict=True) if there) for which in chosen)
        return cls("graphs", tuple(graphs), tuple(range(nodes)))

    @classmethod
    def streams(cls, values: Iterable[Hashable], times: int, *, users: int = 1) -> Universe:
        """List all streams of one event for each user at each time (Des20 §2.2.3).

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.Universe.streams("ab", 2, users=2).labels[:3])
        ('aa|aa', 'aa|ab', 'aa|ba')
        """
        listed = _checked_values(values, "values")
        users = checked_count("users", users)
        starts = range(0, checked_count("times", times) * users, users)
        entries = _tuples(listed, times * users, "times")
        return cls("streams", tuple(tuple(one[i : i + users] for i in starts) for one in entries), listed)

    @classmethod
    def words(cls, alphabet: Iterable[Hashable], longest: int, *, shortest: int | None = None) -> Universe:
        """List all words of some lengths; of one length where no shortest is given (Des20 §2.2.3).

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.Universe.words("ab", 2, shortest=1).labels)
        ('a', 'b', 'aa', 'ab', 'ba', 'bb')
        """
        letters = _checked_values(alphabet, "alphabet")
        longest = checked_count("longest", longest)
        shortest = longest if shortest is None else shortest
        shortest = checked_count("shortest", shortest, 0, longest)
        _require_few(len(letters), longest, "longest")
        sizes = range(shortest, longest + 1)
        _require_few_secrets(sum(len(letters) ** size for size in sizes))
        words = itertools.chain.from_iterable(_tuples(letters, size, "longest") for size in sizes)
        return cls("words", tuple(words), letters)

    def where(self, holds: Callable[[Any], bool]) -> Universe:
        """Keep the secrets for which a predicate holds: those the adversary deems possible.

        Examples
        --------
        >>> import dxopt as dx
        >>> triangles = dx.Universe.graphs(3).where(lambda edges: len(edges) >= 2)
        >>> print(triangles.labels)
        ('{0-2, 1-2}', '{0-1, 1-2}', '{0-1, 0-2}', '{0-1, 0-2, 1-2}')
        """
        required("holds", holds, Callable, "give a function of a secret")
        kept = tuple(secret for secret in self.secrets if truth_of(holds, secret, "holds"))
        if not kept:
            raise SpecError("universe", "has no secret for which that holds", "weaken the predicate")
        return Universe(self.kind, kept, self.values)

    @cached_property
    def places(self) -> dict[Hashable, int]:
        """The index of each secret."""
        return {secret: index for index, secret in enumerate(self.secrets)}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The secrets as text: `(0, ∅)`, `{0-1, 1-2}`, `ab|ba`, `abba`; `10,2` where values are long."""
        between = "" if all(len(_value_label(value)) == 1 for value in self.values) else ","
        return tuple(self._label(secret, between) for secret in self.secrets)

    def _label(self, secret: Any, between: str) -> str:
        """Write a secret as text, with `between` between the letters of a word or the events of a stream."""
        match self.kind:
            case "databases":
                return f"({', '.join(map(_value_label, secret))})" if len(secret) > 1 else _value_label(secret[0])
            case "graphs":
                return f"{{{', '.join(f'{a}-{b}' for a, b in sorted(secret))}}}"
            case "streams":
                return "|".join(between.join(map(_value_label, events)) for events in secret)
            case "words":
                return between.join(map(_value_label, secret)) or "ε"

    def space(self, metric: str = "hamming", *, distance: Distance | None = None, unit: str = "") -> MetricSpace:
        """Put databases under a metric that sums over records, or takes their maximum (CABP13 §2, §5, §6.1).

        An absent record is as far from every value as two values can be. All databases under a sum are an implicit
        product of their records.

        Parameters
        ----------
        metric : {"hamming", "manhattan", "normalised_manhattan", "chebyshev"}
            d_h, d_1, d_1 / d_V(V), d_∞.
        distance : callable, optional
            d_V between two values; |v - w| without it. Not for d_h.
        unit : str
            Of the distances, such as "records" for d_h.

        Raises
        ------
        SpecError
            If these are no databases, or the values no numbers where a distance is needed.

        Examples
        --------
        >>> import dxopt as dx
        >>> salaries = dx.Universe.databases([0, 10, 30], 2)
        >>> salaries.space("manhattan").row(label="(0, 10)").tolist()
        [10.0, 0.0, 20.0, 20.0, 10.0, 30.0, 40.0, 30.0, 50.0]
        """
        if self.kind != "databases":
            raise SpecError("metric", f"is for databases, not for {self.kind}", "use dx.neighbours")
        if not (isinstance(metric, str) and metric in RECORD_METRICS):
            raise SpecError("metric", f"there is no {metric!r}", f"choose one of {', '.join(RECORD_METRICS)}")
        steps = self._between_values(metric, distance)
        records = len(self.secrets[0])  # pyright: ignore[reportArgumentType]
        one = MetricSpace.from_distances(steps, labels=list(map(_value_label, self.values)), unit=unit)
        # all databases, under a sum over records
        if metric != "chebyshev" and len(self) == len(self.values) ** records:
            return product(*[one] * records)
        # otherwise record by record: each record adds its distances, or raises them to its own
        codes = np.array([[self.values.index(value) for value in secret] for secret in self.secrets])  # pyright: ignore
        distances = np.zeros((len(self), len(self)))
        join = np.maximum if metric == "chebyshev" else np.add
        for column in codes.T:
            join(distances, np.take(steps[column], column, axis=1), out=distances)
        distances.flags.writeable = False
        return MetricSpace(self.labels, given=distances, unit=unit)

    def _between_values(self, metric: str, distance: Distance | None) -> NDArray[np.float64]:
        """Return the distances between the values of a record, `(v, v)`."""
        present = [value for value in self.values if value is not None]
        steps = 1.0 - np.eye(len(self.values))
        if metric == "hamming":
            return steps
        inner = value_distances(present, distance)
        # an absent record is the diameter of the values away from each of them
        steps *= inner.max(initial=0.0)
        steps[: len(present), : len(present)] = inner
        widest = steps.max()
        if not widest > 0:
            raise SpecError("values", "are at distance 0 from each other", "give two that differ")
        return steps / widest if metric == "normalised_manhattan" else steps


def required_universe(universe: Any) -> None:
    """Raise SpecError unless a universe is given."""
    required("universe", universe, Universe, "give a dx.Universe, such as dx.Universe.databases([0, 1], 2)")


def _value_label(value: Hashable) -> str:
    return _ABSENT if value is None else str(value)


def _checked_values(values: Iterable[Hashable], field: str) -> tuple[Hashable, ...]:
    """List values; SpecError where there are none, one is twice, or one is None, which stands for absent records."""
    required(field, values, Iterable, "give a list of values")
    listed = tuple(values)
    if not all(isinstance(value, Hashable) for value in listed):
        raise SpecError(field, "contain lists or arrays", "give numbers, text, or tuples of attributes")
    if not listed or None in listed:
        raise SpecError(field, "are none" if not listed else "contain None", "give them; None is an absent record")
    if len(set(listed)) < len(listed):
        raise SpecError(field, "contain the same twice", "give each once")
    return listed


def _require_few(values: int, size: int, field: str) -> None:
    """Refuse more tuples of a size than a matrix has points, and tuples of more entries than that.

    Those would make values**size too large to compute.
    """
    if size > MATRIX_POINTS:
        raise SpecError(field, f"makes secrets of {size:,} entries, over the {MATRIX_POINTS:,} allowed", "give fewer")
    _require_few_secrets(values**size)


def _require_few_secrets(count: int) -> None:
    if count > MATRIX_POINTS:
        counted = f"{count:,}" if count < 10**12 else "over 10^12"
        raise SpecError("universe", f"has {counted} secrets, over the {MATRIX_POINTS:,} allowed", "make it smaller")


def _tuples(values: Sequence[Hashable], size: int, field: str) -> Iterable[tuple[Hashable, ...]]:
    """Yield all tuples of a size, the last entry fastest; SpecError where they are too many for a universe."""
    _require_few(len(values), size, field)
    return itertools.product(values, repeat=size)
