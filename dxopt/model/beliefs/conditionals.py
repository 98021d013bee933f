"""Beliefs given events: pairs of conditional distributions, and what is left out as nothing is conditioned on it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, required
from dxopt.model.beliefs.events import Named, Secrets, required_secrets
from dxopt.model.beliefs.pairs import numbers
from dxopt.model.prior import Prior
from dxopt.numerics.given import as_numbers
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.universes import Universe

Array = NDArray[np.float64]
ABSENCE = "its absence"


@dataclass(frozen=True, eq=False)
class Conditional:
    """A pair of beliefs: what is so in the one and in the other, and under which circumstances."""

    one: str
    other: str
    under: str
    first: Array
    second: Array
    distance: float = 1.0

    @property
    def name(self) -> str:
        """Describe the pair."""
        return f"{self.one} against {self.other}{self.under}"

    @property
    def reversed(self) -> Conditional:
        """The pair in the other order."""
        return Conditional(self.other, self.one, self.under, self.second, self.first, self.distance)


def priors_of(space: Secrets, given: Any, field: str = "beliefs") -> list[Prior]:
    """One belief or several, as priors over the secrets; SpecError where one is none."""
    if isinstance(given, Prior | str) or _is_row(given):
        return [prior_of(space, given)]
    required(field, given, Iterable, "give a prior, or a list of priors")
    listed = [prior_of(space, one) for one in given]
    if not listed:
        raise SpecError("beliefs", "are none", "give at least one prior")
    return listed


def prior_of(space: Secrets, given: Any) -> Prior:
    """A prior over a space as `Prior.of` reads it, or over a universe, whose secrets it must be about."""
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
    """Pairs of beliefs over the secrets, each at its distance; SpecError where one is none."""
    required_secrets(space)
    required("pairs", pairs, Iterable, fix := "give two beliefs for each")
    listed = [tuple(priors_of(space, pair, "pairs")) for pair in pairs]
    if any(len(pair) != 2 for pair in listed):
        raise SpecError("pairs", "have an entry that is no pair of beliefs", fix)
    apart = np.ones(len(listed)) if distances is None else numbers(distances, "distances")
    if apart.shape != (len(listed),):
        raise SpecError("distances", f"are {apart.size} for {len(listed)} pairs", "give one for each")
    return [
        Conditional(one.name, other.name, "", one.probabilities, other.probabilities, float(distance))
        for (one, other), distance in zip(listed, apart, strict=True)
    ]


def given_event(belief: Array, inside: NDArray[np.bool_]) -> Array | None:
    """A belief given an event, `(n,)`; None where that has probability 0."""
    likely = np.where(inside, belief, 0.0)
    # dividing by the largest first keeps tiny probabilities from underflowing
    largest = likely.max()
    if not largest > 0:
        return None
    likely = likely / largest
    return likely / math.fsum(likely)


def conditionals(
    space: Secrets, events: Sequence[tuple[Named, Named]], beliefs: Iterable[Prior]
) -> tuple[list[Conditional], list[str]]:
    """Each belief given the one event against the other one, and what is left out."""
    found: list[Conditional] = []
    missing: list[str] = []
    for belief in beliefs:
        for (one, inside), (other, elsewhere) in events:
            given = given_event(belief.probabilities, inside)
            against = given_event(belief.probabilities, elsewhere)
            under = f", under {belief.name}"
            if given is None or against is None:
                impossible = one if given is None else other
                missing.append(f"{one} against {other}{under}: {impossible} has probability 0")
            else:
                found.append(Conditional(one, other, under, given, against))
    return found, missing


def images(
    universe: Universe, removed: Sequence[tuple[str, NDArray[np.bool_], NDArray[np.int64]]], beliefs: Iterable[Prior]
) -> tuple[list[Conditional], list[str]]:
    """Each belief given an event against its image under a map of the secrets, `(n,)` indices; what is left out."""
    found: list[Conditional] = []
    missing: list[str] = []
    for belief in beliefs:
        for name, inside, to in removed:
            given = given_event(belief.probabilities, inside)
            under = f", under {belief.name}"
            if given is None:
                missing.append(f"{name} against {ABSENCE}{under}: {name} has probability 0")
            else:
                moved = np.bincount(to, given, minlength=len(universe)).astype(float)
                found.append(Conditional(name, ABSENCE, under, given, moved))
    return found, missing


def _is_row(given: Any) -> bool:
    """True for a single belief: numbers on one axis."""
    try:
        return np.asarray(given, dtype=float).ndim == 1
    except (TypeError, ValueError):
        return False
