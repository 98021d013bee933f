"""Check the rows of the data: count what cannot be used, refuse data for it, and warn of repeated rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, PlausibilityWarning, SpecError, optional
from dxopt.release.applying.column_mapping import (
    BAD,
    CODES,
    COMMA,
    GOOD,
    NO_DEGREES,
    OUTSIDE,
    ROUNDED,
    UNKNOWN,
    Snapped,
    Snapper,
)
from dxopt.runtime.arrow import plain_array
from dxopt.spaces.naming import text_of

_DROP = Option("outside", "drop")
_DROP_UNUSABLE = Option("unusable", "drop")
_WIDER = ("give a larger ", Option("within"))
_OTHERWISE = (", or ", Option("outside", "nearest"), " or ", _DROP)
_SHOWN = 5
_SWAPPED = 0.95
"""Coordinates are swapped where most rows are outside and this share of them fits the other way round."""


@dataclass(frozen=True)
class Moved:
    """Rows that were taken for the nearest secret, for whoever applies alone: what is published tells none of it.

    Attributes
    ----------
    values : int
        Number of values on a line that are no secrets themselves.
    furthest : float
        Largest distance of one of them to its nearest secret, in the unit of distances.
    outside : int
        Number of rows outside of the space.
    """

    values: int = 0
    furthest: float = 0.0
    outside: int = 0


class Tally:
    """Counter of rows by the code of their secret, with the first lines of each code, for errors.

    Says by `policy` which rows are kept as they are added, and once all are, refuses the data by `require`. Where
    `unusable` is "drop", rows without a usable secret, person or time are left out.
    """

    def __init__(self, snapper: Snapper, policy: str, unusable: str, noun: str) -> None:
        self._snapper = snapper
        self._policy = policy
        self.drops_unusable = unusable == "drop"
        self.noun = noun
        self.rows = 0
        self._dropped: list[int] = []
        self._values = 0
        self._furthest = 0.0
        self._counts = np.zeros(len(CODES), dtype=np.int64)
        self._first: dict[int, list[int]] = {}
        self._swapped = 0
        self._nameless: list[int] = []
        self._without = 0
        self._left_out = 0
        self.unpaid_rows = 0
        self.unpaid_persons = 0

    @property
    def outside(self) -> int:
        """Number of rows too far from every secret, or with a label of none."""
        return int(self._counts[OUTSIDE] + self._counts[UNKNOWN])

    @property
    def moved(self) -> Moved:
        """Rows that were taken for the nearest secret."""
        return Moved(self._values, self._furthest, self.outside if self._policy == "nearest" else 0)

    @property
    def bad(self) -> int:
        """Number of rows without a usable secret, and of those left out as they have no usable person or time."""
        return int(self._counts[BAD] + self._counts[NO_DEGREES]) + self._left_out

    @property
    def dropped(self) -> list[int]:
        """Lines of the rows that are left out, but for those that are not paid for, rising."""
        return sorted(self._dropped)

    def add(self, lines: NDArray[np.int64], values: list, snapped: Snapped) -> NDArray[np.bool_]:
        """Count rows, and return a mask `(k,)` of those that are kept."""
        self.rows += len(lines)
        code = snapped.code
        self._counts += np.bincount(code, minlength=len(CODES))
        for kind in np.unique(code[code != GOOD]).tolist():
            first = self._first.setdefault(kind, [])
            first += lines[code == kind][: _SHOWN - len(first)].tolist()
        off = (code == OUTSIDE) | (code == NO_DEGREES)
        if len(values) == 2 and off.any():
            # rows that fit with their coordinates swapped explain what is wrong with the data
            tried = self._snapper.snap([np.asarray(column)[off] for column in values], swapped=True)
            self._swapped += int((tried.code == GOOD).sum())
        kept = code == GOOD
        if self._policy == "nearest":
            kept |= code == OUTSIDE
        if self._snapper.where.kind == "value":
            apart = snapped.apart[kept & self._snapper.off(snapped)]
            self._values += len(apart)
            self._furthest = max(self._furthest, float(apart.max(initial=0.0)))
        bad = (code == BAD) | (code == NO_DEGREES)
        if self._policy == "drop":
            self._dropped += lines[~kept].tolist()
        elif self.drops_unusable:
            self._dropped += lines[bad].tolist()
        return kept

    def add_nameless(self, lines: list[int]) -> None:
        """Count rows that are kept, but do not say whose they are; `require` refuses them."""
        self._without += len(lines)
        self._nameless += lines[: _SHOWN - len(self._nameless)]

    def leave_out(self, lines: list[int], outside: int) -> None:
        """Count rows that were kept, but have no usable person or time, and are left out; some had been `outside`."""
        self._left_out += len(lines)
        self._dropped += lines
        self._counts[OUTSIDE] -= outside

    def add_unpaid(self, rows: list[int]) -> None:
        """Count rows that are left out for want of budget, `rows` of each person who loses some."""
        self.unpaid_rows += sum(rows)
        self.unpaid_persons += len(rows)

    def require(self) -> None:
        """Raise SpecError if the data is refused, with the first reason that applies."""
        if not self.rows:
            raise SpecError("data", "has no rows", "give at least one")
        off = int(self._counts[OUTSIDE] + self._counts[NO_DEGREES])
        if off > self.rows / 2 and self._swapped >= _SWAPPED * off:
            wrong = f"{off:,} of {self.rows:,} rows lie outside of the space, but fit with their coordinates swapped"
            swap = "exchange the names of the two columns"
            if self._snapper.where.geometry:
                swap = "write longitude before latitude in the coordinates of each point"
            raise SpecError("data", wrong, swap)
        if self._counts[COMMA]:
            fix = "write numbers without comma, or, where it is their decimal mark: "
            raise SpecError("data", f"{self._share(COMMA)} written with a comma", fix, Option("decimal", ","))
        if self._counts[ROUNDED]:
            wrong = f"{self._share(ROUNDED)} written as a float without all its digits"
            raise SpecError("data", wrong, "write labels as integers or as text")
        unwanted = self._policy != "drop"
        bad = unwanted and not self.drops_unusable
        if bad and self._counts[NO_DEGREES]:
            wrong = f"{self._share(NO_DEGREES)} no latitude and longitude in degrees"
            raise SpecError("data", wrong, "convert them to WGS 84 (EPSG:4326) first, or mend them")
        if bad and self._counts[BAD]:
            where = self._snapper.where
            kind = "point" if where.geometry else "label" if where.kind == "label" else "number"
            fix = "mend them, or leave them out: "
            raise SpecError("data", f"{self._share(BAD)} empty or no {kind}", fix, _DROP_UNUSABLE)
        if unwanted and self._counts[UNKNOWN]:
            fix = "mend them, or leave them out: "
            raise SpecError("data", f"{self._share(UNKNOWN)} no label of a secret", fix, _DROP)
        if self._policy == "refuse" and self._counts[OUTSIDE]:
            raise self._outside()
        if self._without:
            rows = listed(self._nameless, self.noun, self._without)
            wrong = f"{self._without:,} of {self.rows:,} rows ({rows}) name nobody"
            raise SpecError("person", wrong, "name a person in each row, or leave them out: ", _DROP_UNUSABLE)
        if not self._counts[GOOD]:
            what = self._snapper.where.noun
            raise SpecError("data", f"has no row whose {what} is within the space", "check columns, unit and space")

    def _outside(self) -> SpecError:
        """Return the error about rows too far from every secret, with what would mend it for their kind."""
        snapper = self._snapper
        points = snapper.space.points
        share = self._share(OUTSIDE)
        reach = f"{snapper.within:,.4g} {snapper.unit}".rstrip()
        wrong = f"{share} further than {reach} from every secret"
        if snapper.where.kind != "value" or points is None:
            return SpecError("data", wrong, "check their columns and unit, ", *_WIDER, *_OTHERWISE)
        fix: tuple[str | Option, ...] = ("take a line of all values that may be, or ", *_WIDER)
        if not snapper.within:
            wrong = f"{share} none of the secrets"
            meaning = " (how far a value may be from the secret that stands for it)"
            fix = ("mend them, take a line that has them, or ", *_WIDER, meaning)
        # the values of the space alone are named: how far a row is off would tell its value
        whole = len(points) > 1 and bool((np.diff(np.sort(points[:, 0])) == 1).all() and points[0, 0] % 1 == 0)
        run = "are the whole numbers" if whole else "run"
        wrong += f", which {run} from {points.min():.10g} to {points.max():.10g}"
        return SpecError("data", wrong, *fix, *_OTHERWISE)

    def _share(self, kind: int) -> str:
        """Return the start of a sentence about rows of one kind: "2 of 9 rows (lines 3, 5) are"."""
        count = int(self._counts[kind])
        verb = "is" if count == 1 else "are"
        return f"{count:,} of {self.rows:,} rows ({listed(self._first[kind], self.noun, count)}) {verb}"


def listed(lines: Iterable[int], noun: str, count: int) -> str:
    """Return lines as text, "lines 3, 5, …", where they are the first of `count`."""
    first = [f"{line:,}" for line in lines]
    more = ", …" if count > len(first) else ""
    return f"{noun}{'s' if count > 1 else ''} {', '.join(first)}{more}"


LOOKED_AT = 1 << 22
"""Largest number of rows that are compared, as each takes 8 bytes."""
Fingerprints = NDArray[np.uint64]


class Repeats:
    """Counter of rows that equal earlier ones by their fingerprints, to warn of data that was joined twice."""

    def __init__(self) -> None:
        self._seen: list[Fingerprints] = []
        self._rows = 0
        self._all = True

    def add(self, found: Fingerprints) -> None:
        """Take the fingerprints of rows `(k,)`, up to `LOOKED_AT` of all."""
        room = LOOKED_AT - self._rows
        self._all &= len(found) <= room
        self._seen.append(found[:room])
        self._rows += len(self._seen[-1])

    def warn(self, noun: str) -> None:
        """Warn of rows that equal earlier ones. The warning names the caller of `apply`, 3 calls further up."""
        count = self._rows - len(np.unique(np.concatenate(self._seen))) if self._seen else 0
        if not count:
            return
        what = f"{noun} is the same as an earlier one" if count == 1 else f"{noun}s are the same as earlier ones"
        among = "" if self._all else f" among the first {self._rows:,}"
        seen = (
            f"{count:,} {what} in every column{among}: each gets a report of its own, and n reports of a secret "
            "protect it n times less"
        )
        fix = f"often data that were appended or joined twice: remove such {noun}s, unless each is somebody else's"
        warnings.warn(PlausibilityWarning("rows_twice", "data", seen, fix), stacklevel=4)


def fingerprints(columns: Iterable[Any]) -> Fingerprints:
    """Return fingerprints of rows `(k,)`, alike where rows are, by columns: bare ones of Arrow, or of pandas."""
    pd, util = optional("pandas"), optional("pandas.util")
    hashed = pd.DataFrame({place: _hashed(column) for place, column in enumerate(columns)})
    return util.hash_pandas_object(hashed, index=False).to_numpy()


def _hashed(column: Any) -> Fingerprints:
    pd, util = optional("pandas"), optional("pandas.util")
    if not isinstance(column, pd.Series):
        import pyarrow as pa

        column = plain_array(column)
        if pa.types.is_primitive(column.type) and not pa.types.is_interval(column.type):
            missing = column.is_null().to_numpy(zero_copy_only=False)
            whole = column.fill_null(pa.scalar(0).cast(column.type)).to_numpy(zero_copy_only=False)
            return util.hash_array(whole) + missing
        if str(column.type) in ("binary", "large_binary"):
            return util.hash_array(column.to_numpy(zero_copy_only=False))
        column = pd.Series(column.to_pylist(), dtype=object)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if column.dtype in (object, np.longdouble, np.clongdouble):
        # by the text of objects, as lists have no hash; arrays are lists first, as the text of long ones is cut
        texts = [text_of(value.tolist() if isinstance(value, np.ndarray) else value) for value in column]
        return util.hash_array(np.array(texts, dtype=object))
    return util.hash_pandas_object(column, index=False).to_numpy()
