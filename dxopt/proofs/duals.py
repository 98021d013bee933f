"""Duals, which prove bounds: multipliers of one kind for each kind of problem, and their arrays in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.runtime.archive import Arrays, distinct, indices_of, nested, part


@dataclass(frozen=True, eq=False)
class Dual:
    """Multipliers that prove a lower bound on the optimum: row prices y, and a sparse λ per report.

    Entry i of λ belongs to the constraint `v[second[i]] ≥ e^{-εd(first[i], second[i])} v[first[i]]` on the
    column of report `report[i]`; it is unscaled and 0 or more.
    """

    prices: NDArray[np.float64]
    report: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    first: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    second: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    multiplier: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @property
    def entries(self) -> tuple[NDArray[Any], ...]:
        """The report, the pair and the multiplier of each entry of λ."""
        return self.report, self.first, self.second, self.multiplier

    def parts(self, size: int) -> Iterator[Dual]:
        """Yield the dual with so many entries of λ at a time."""
        for start in range(0, len(self.multiplier), size):
            yield Dual(self.prices, *(entry[start : start + size] for entry in self.entries))


@dataclass(frozen=True, eq=False)
class WorstDual:
    """Proves a bound on the worst loss: it is no less than the expected one under any prior of the set.

    Attributes
    ----------
    weights : (r,) array
        Of such a prior: on the forms of the set, which are the secrets where all priors count.
    inner : Dual or None
        Bounds the expected loss under it from below.
    members : (k, n) array or None
        Priors of the set that the weights are of; None where the set itself says which forms they are of.
    """

    weights: NDArray[np.float64]
    inner: Dual | None = None
    members: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class AdversaryDual:
    """Proves a bound on the adversary's error under a budget: some guesses, and what the user's loss is worth.

    Attributes
    ----------
    guesses : (m, g) array
        How the adversary guesses after each report: weights of any sum.
    price : float
        Of a unit of expected loss, in units of the error.
    inner : Dual or None
        Bounds price times loss minus error from below.
    """

    guesses: NDArray[np.float64]
    price: float
    inner: Dual | None = None


@dataclass(frozen=True, eq=False)
class ProductDual:
    """Proves a bound on a product: a dual for each factor, None where there is none."""

    factors: tuple[Dual | LineDual | ProductDual | None, ...]


@dataclass(frozen=True, eq=False)
class LineDual:
    """Proves a bound on a line; the multipliers between neighbours follow from it (`proofs.bounds.line_bound`).

    There is a row price y for each of n secrets, and a root for each of m reports: the secret at which what is left
    of its reduced cost is gathered.
    """

    prices: NDArray[np.float64]
    roots: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BeliefDual:
    """Proves a bound where pairs of beliefs must not be told apart: multipliers of these, beside another dual.

    Attributes
    ----------
    belief, report : (t,) array
        Entry i of λ belongs to the constraint θ'K ≥ e^{-εd} θK of pair `belief[i]` in report `report[i]`.
    multiplier : (t,) array
        0 or more, unscaled.
    inner : Dual, WorstDual or None
        Bounds what is wanted, at costs that these multipliers were taken from.
    """

    belief: NDArray[np.int64]
    report: NDArray[np.int64]
    multiplier: NDArray[np.float64]
    inner: Dual | WorstDual | None = None


AnyDual = Dual | LineDual | ProductDual | WorstDual | AdversaryDual | BeliefDual


def pack_dual(dual: AnyDual | None, size: int) -> Arrays:
    """Pack a dual into arrays for dual.npz; equal factors are kept once. None becomes n = `size` row prices of 0."""
    if isinstance(dual, WorstDual | BeliefDual | AdversaryDual):
        own = {field.name: getattr(dual, field.name) for field in fields(dual) if field.name != "inner"}
        known = {name: value for name, value in own.items() if value is not None}
        return {**known, **nested(0, pack_dual(dual.inner, size))}
    if not isinstance(dual, ProductDual):
        dual = dual or Dual(np.zeros(size))
        return {field.name: getattr(dual, field.name) for field in fields(dual)}
    kept = distinct(dual.factors)
    packed: Arrays = {"which": indices_of(dual.factors, kept)}
    for position, factor in enumerate(kept):
        packed |= nested(position, pack_dual(factor, 0))
    return packed


def unpack_dual(arrays: Mapping[str, Any]) -> AnyDual:
    """Return the dual that `pack_dual` packed, of the kind that has such arrays; KeyError or TypeError for others."""
    if "which" in arrays:
        positions = arrays["which"].tolist()
        kept = [unpack_dual(part(arrays, position)) for position in range(max(positions) + 1)]
        return ProductDual(tuple(kept[position] for position in positions))
    if "belief" in arrays:
        inner = unpack_dual(part(arrays, 0))
        if not isinstance(inner, Dual | WorstDual):
            raise KeyError("prices")
        return BeliefDual(arrays["belief"], arrays["report"], arrays["multiplier"], inner)
    if "weights" in arrays:
        return WorstDual(arrays["weights"], Dual(**part(arrays, 0)), arrays.get("members"))
    if "guesses" in arrays:
        return AdversaryDual(arrays["guesses"], float(arrays["price"]), Dual(**part(arrays, 0)))
    return LineDual(**arrays) if "roots" in arrays else Dual(**arrays)
