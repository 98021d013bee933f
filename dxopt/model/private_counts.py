"""Check-ins of people, counted for each place with exact noise that hides whether any one person is among them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, SpecError, required, required_choice
from dxopt.model.observations import are_numbers, check_ins_near, labelled, numbers_of, points_at
from dxopt.numerics.coerce import POSITIVE, as_list, as_number, as_written, checked_count, require_same_rows
from dxopt.numerics.draws import Coins, words
from dxopt.runtime.atomic_write import replacing, require_free
from dxopt.runtime.identity import each, identity
from dxopt.runtime.reading import as_path, read_json
from dxopt.spaces.geo.points import known
from dxopt.spaces.positions import has_geometry
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.units import per

UNIT = per("people")
"""Unit of the level: a person more or less is a distance of 1."""
_LEAST = 2.0**-50
"""Least level of one check-in, with which noise fits 64 bits."""
_FORMAT = "dxopt private counts 1"


@runtime_checkable
class Ledger(Protocol):
    """Method that a private prior needs of a ledger; `dx.Budgets` has it."""

    def pay_each(self, persons: Sequence[str], level: float, *, unit: str, release: str) -> None: ...


@dataclass(frozen=True, eq=False)
class PrivateCounts:
    """Counts of check-ins at each place with noise; `dx.Prior.private` draws them, and has them as `counts`.

    With any one person more or less among those whose check-ins they are, counts are at most e^ε times as likely.
    They tell nothing beyond that, and may be published and used again: only another draw is to be paid for.

    Attributes
    ----------
    counts : (n,) array of int64, read-only
        As they were drawn, some of them perhaps negative.
    epsilon : float
        Level per person, which is what each of them has paid.
    per_person : int
        Largest number of check-ins of one person that were counted.
    labels : tuple of str
        Labels of the places.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> places = dx.line(3)
    >>> rng = np.random.default_rng(1)
    >>> prior = dx.Prior.private(places, [[0], [0], [2]], ["ann", "bob", "ann"], epsilon=2, per_person=1, rng=rng)
    >>> file = prior.counts.save("prior.json")
    >>> again = dx.Prior.from_private_counts(places, dx.PrivateCounts.load(file))
    >>> print(np.array_equal(again.probabilities, prior.probabilities), again.counts.epsilon)
    True 2.0
    """

    counts: NDArray[np.int64]
    epsilon: float
    per_person: int
    labels: tuple[str, ...] = field(repr=False)

    def __post_init__(self) -> None:
        labels = tuple(as_list(self.labels, "labels", "give the labels of the places"))
        if not all(isinstance(label, str) for label in labels):
            raise SpecError("labels", "are not all text", "give the labels of the places")
        object.__setattr__(self, "labels", labels)
        fix = "give a whole number for each place"
        try:
            counts = np.array(self.counts)
        except ValueError:
            raise SpecError("counts", "are no array", fix) from None
        if counts.shape != (len(labels),) or not np.issubdtype(counts.dtype, np.signedinteger):
            raise SpecError("counts", f"are of shape {counts.shape} and type {counts.dtype}", fix)
        counts = counts.astype(np.int64)
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "epsilon", as_number(self.epsilon, "epsilon", *POSITIVE))
        object.__setattr__(self, "per_person", checked_count("per_person", self.per_person))

    @property
    def weights(self) -> NDArray[np.float64]:
        """Counts without those below 0, `(n,)`; 1 everywhere where none is above."""
        found = np.maximum(self.counts, 0).astype(float)
        return found if found.any() else np.ones(len(found))

    def __str__(self) -> str:
        level = f"{self.epsilon:g}" if float(f"{self.epsilon:g}") == self.epsilon else repr(self.epsilon)
        return f"check-ins with noise, epsilon {level} {UNIT}, {self.per_person} at most of each"

    def save(self, file: str | Path, *, force: bool = False) -> Path:
        """Write them to a file of JSON: level, check-ins per person, labels of places, and counts.

        Raises
        ------
        SpecError
            If the file cannot be written, or is there already and not to be replaced (`force`).
        """
        path = as_path(file, "file")
        require_free(path, force=force)
        content = {
            "format": _FORMAT,
            "epsilon": self.epsilon,
            "unit": UNIT,
            "per_person": self.per_person,
            "labels": self.labels,
            "counts": self.counts.tolist(),
        }
        with replacing(path, "file") as stream:
            stream.write(json.dumps(content, ensure_ascii=False).encode())
        return path

    @classmethod
    def load(cls, file: str | Path) -> Self:
        """Read a file that `save` wrote; SpecError if it is none."""
        path = as_path(file, "file")
        fix = "name a file that `save` or `dxopt prior` has written"
        try:
            content = read_json(path)
        except FileNotFoundError:
            raise SpecError("file", f"there is no {path}", fix) from None
        except (OSError, ValueError) as error:
            raise SpecError("file", f"{path} cannot be read: {error}", fix) from None
        if not isinstance(content, dict) or (content.get("format"), content.get("unit")) != (_FORMAT, UNIT):
            raise SpecError("file", f"{path} has no private counts", fix)
        try:
            return cls(*(content[key] for key in ("counts", "epsilon", "per_person", "labels")))
        except KeyError:
            raise SpecError("file", f"{path} is damaged", fix) from None


def counts_by_label(space: MetricSpace) -> bool:
    """Return whether check-ins count by label alone, as the points of a space have no coordinates."""
    return known(space) is None and numbers_of(space) is None


def are_labels(space: MetricSpace, given: Any) -> bool:
    """Return whether check-ins are labels: those of a space without coordinates, and one list or column of any."""
    if counts_by_label(space):
        return True
    try:
        return not has_geometry(given) and np.ndim(given) == 1
    except ValueError:  # rows of different lengths
        return False


def count_check_ins(
    space: MetricSpace,
    points: Any,
    persons: Any,
    *,
    per_person: int,
    within: float | None,
    unusable: str = "refuse",
    rng: np.random.Generator | None = None,
    at: Callable[[int], str] | None = None,
) -> tuple[NDArray[np.int64], list[str]]:
    """Count check-ins `(n,)`, each for the nearest point and `per_person` of a person at most, chosen at random.

    Those that are labels `(m,)` are counted for the points that they name; `at` says in errors where one stands.
    Those without a coordinate, label or person are refused, or left out where `unusable` is "drop".

    A person more or less changes the counts by `per_person` in all at most, in either direction: each check-in is in
    one count, and which ones of a person are taken has nothing to do with others. All persons are returned as well,
    also those none of whose check-ins counts, so that who pays tells no place. See `Prior.private`.
    """
    most = checked_count("per_person", per_person)
    require_same_rows(points, persons, "persons")
    required_choice("unusable", unusable, ("refuse", "drop"))
    by_label = are_labels(space, points)
    if by_label and within is not None:
        raise SpecError("within", "is a distance from coordinates, and labels have none", "leave it out")
    at = at or "number {}".format
    points = each(points, "labels") if by_label else points
    names = [identity(person, "persons") for person in each(persons, "persons")]
    rows = np.arange(len(names))
    if unusable == "drop":
        rows = _usable_rows(points, names, by_label)
        points = [points[row] for row in rows] if by_label else points_at(points, rows)
    elif "" in names:
        fix = ("name a person in each row, or leave such rows out: ", Option("unusable", "drop"))
        raise SpecError("persons", f"{at(names.index(''))} is nobody", *fix)
    if by_label:
        index = labelled(space, points, "labels", lambda place: at(int(rows[place])))
        near = np.ones(len(index), dtype=bool)
        if not len(index):
            raise SpecError("labels", "are empty", "give some")
    else:
        found, _, near = check_ins_near(space, points, None, within)
        index = found.index
    _require_one_each(rows, near)
    numbers: dict[str, int] = {}
    everybody = np.array([numbers.setdefault(name, len(numbers)) if name else -1 for name in names])
    whose = everybody[rows][near]
    taken = at_most(whose, most, words(len(whose), rng))
    return np.bincount(index[near][taken], minlength=len(space)), list(numbers)


def _usable_rows(points: Any, names: Sequence[str], by_label: bool) -> NDArray[np.int64]:
    """Return the rows that have coordinates, or a label, and a person; SpecError where none has."""
    if by_label:
        usable = np.array([identity(one, "labels") != "" for one in points], dtype=bool)
    else:
        usable = are_numbers(points)
    _require_one_each(names, usable)
    rows = np.flatnonzero(usable & np.array([name != "" for name in names], dtype=bool))
    if not len(rows):
        field = "labels" if by_label else "points"
        raise SpecError(field, "have no check-in without an empty or unusable entry", "check the columns")
    return rows


def _require_one_each(persons: Sized, check_ins: Sized) -> None:
    """Raise SpecError unless there are as many persons as check-ins."""
    if len(persons) != len(check_ins):
        raise SpecError("persons", f"are {len(persons):,} for {len(check_ins):,} check-ins", "name one for each")


def with_noise(
    space: MetricSpace,
    counted: tuple[NDArray[np.int64], list[str]],
    *,
    epsilon: float | str,
    per_person: int,
    ledger: Ledger | None,
    release: str,
    rng: np.random.Generator | None = None,
) -> PrivateCounts:
    """Add noise to what `count_check_ins` counted with the same `per_person`, once all persons have paid.

    Noise of i has a probability proportional to e^{-|i|·epsilon/per_person}, where the ratio is the rational number
    that it is. See `Prior.private`.
    """
    exact, persons = counted
    level = as_written(epsilon, "epsilon", *POSITIVE)
    exponent = Fraction(level) / per_person
    if exponent < _LEAST:
        wrong = f"is {level:.3g} for {per_person:,} check-ins of a person, with more noise than numbers hold"
        raise SpecError("epsilon", wrong, "give a larger one, or a smaller per_person")
    coins = Coins.of(rng)
    if ledger is not None:
        required("ledger", ledger, Ledger, "give a dx.Budgets")
        ledger.pay_each(persons, level, unit=UNIT, release=release)
    noise = np.array([coins.laplace(exponent) for _ in exact], dtype=np.int64)
    return PrivateCounts(exact + noise, level, per_person, tuple(space.labels))


def at_most(whose: NDArray[np.int64], most: int, random: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Choose so many rows of each person at random, all of those who have fewer; return the mask of rows `(m,)`.

    Rows are those of persons given by number, and each has a random number, by which those of a person are ordered.
    """
    order = np.lexsort((random, whose))
    first = np.flatnonzero(np.diff(whose[order], prepend=-1))
    rank = np.arange(len(whose)) - np.repeat(first, np.diff(first, append=len(whose)))
    taken = np.zeros(len(whose), dtype=bool)
    taken[order] = rank < most
    return taken
