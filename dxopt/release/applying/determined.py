"""Kept columns whose values fix the secret, such as the number of a stop beside its position."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from dxopt.spaces.naming import text_of

_HELD = 1 << 18
"""Values that are remembered, of all columns together, as each takes some 200 bytes."""
_EXPECTED = 8
"""Pairs of rows that would differ by accident: so many are none where nearly all are the same."""
_SHARE = 0.2
"""Share of this that may differ, as where positions vary about a border between two secrets."""
_ENOUGH = 100


class _Pairs:
    """Counter of pairs of rows with one value, and of those of them that have two secrets.

    Of a value the rows 2, 3, 5, 9, … are compared, each with the one before it of these, so that rows next to each
    other count little more than others. Each value counts alike, that of missing cells as well.
    """

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, int, int]] = {}
        self._secrets: Counter[int] = Counter()
        self._pairs = 0
        self._compared = 0
        self._differ = 0.0

    def add(self, values: Iterable[Any], secrets: Iterable[int], room: int) -> int:
        """Take values with their secrets, -1 of rows that are left out; return how many new ones are remembered.

        There is `room` for so many.
        """
        seen, before = self._seen, len(self._seen)
        for value, secret in zip(values, secrets, strict=True):
            if secret < 0 or (key := _key(value)) is None:
                continue
            if (found := seen.get(key)) is None:
                if len(seen) - before < room:
                    seen[key] = 1, secret, 0
                continue
            rows, last, differ = found
            if rows & (rows - 1) == 0:
                pairs = rows.bit_length()
                now = differ + (secret != last)
                self._differ += now / pairs - differ / max(1, pairs - 1)
                self._compared += pairs == 1
                self._pairs += 1
                self._secrets[secret] += 1
                last, differ = secret, now
            seen[key] = rows + 1, last, differ
        return len(seen) - before

    def forget(self) -> int:
        """Forget the values, as enough were seen; return how many these were."""
        held = len(self._seen)
        self._seen.clear()
        return held

    @property
    def fix(self) -> bool:
        """True if nearly all pairs have one secret, and not by accident."""
        return self._by_accident * self._pairs >= _EXPECTED and self._share <= _SHARE * self._by_accident

    @property
    def vary(self) -> bool:
        """True if the values until now are enough to tell that they do not fix the secret."""
        return self._compared >= _ENOUGH and self._share >= 0.5 * self._by_accident

    @property
    def _share(self) -> float:
        """Share of pairs that differ, on average over values."""
        return self._differ / max(1, self._compared)

    @property
    def _by_accident(self) -> float:
        """Share of pairs that would differ if the column said nothing of the secret."""
        return 1 - sum(rows * rows for rows in self._secrets.values()) / max(1, self._pairs) ** 2


class Determined:
    """Columns whose values may each go with one secret."""

    def __init__(self) -> None:
        self._columns: defaultdict[str, _Pairs] = defaultdict(_Pairs)
        self._room = _HELD

    def look(self, name: str, values: Iterable[Any], secrets: Iterable[int]) -> None:
        """Look at some rows of a column, with their secrets; -1 of rows that are left out."""
        pairs = self._columns[name]
        if pairs.vary:
            return
        plain = values.tolist() if isinstance(values, np.ndarray) else values
        self._room -= pairs.add(plain, secrets, self._room)
        if pairs.vary:
            self._room += pairs.forget()

    def found(self) -> list[str]:
        """Return the columns that fix the secret."""
        return [name for name, pairs in self._columns.items() if pairs.fix]


def _key(value: Any) -> int | None:
    """Return a number for a value, the same for the same ones; None where it is missing."""
    if isinstance(value, str | int | float):
        return None if value == "" or value != value else hash(value)
    return None if value is None else hash(text_of(value.tolist() if isinstance(value, np.ndarray) else value))
