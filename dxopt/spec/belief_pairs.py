"""The key `beliefs`: pairs of beliefs that reports must not tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from dxopt.model.beliefs.pairs import BeliefPairs
from dxopt.model.prior import Prior as ModelPrior
from dxopt.model.prior_sets import PriorSet
from dxopt.spaces.universes import Universe
from dxopt.spec import fields as f
from dxopt.spec.locations import Secrets, point_named
from dxopt.spec.priors import CornerPrior, Prior, build_priors
from dxopt.spec.source import Source
from dxopt.spec.spaces import Space
from dxopt.spec.universes import Database, Databases

Event = Annotated[list[f.Named], Field(min_length=1)]
Events = Annotated[list[Annotated[list[Event], Field(min_length=2, max_length=2)]], Field(min_length=1)]
Two = Annotated[f.Rows[f.NonNegative], Field(min_length=2, max_length=2)]
Believed = Annotated[Annotated[list[Prior], Field(min_length=1)] | Prior, f.Shapes()]


State = Annotated[f.Label, AfterValidator(str)]


class _Leveled(f.Section):
    """The key that every kind has."""

    epsilon: f.Positive = Field(description="How far reports may move the odds between the beliefs of a pair.")


class _WithPriors(_Leveled):
    """Kinds whose pairs are made from priors over the secrets."""

    under: Believed | None = Field(
        None,
        description="What adversaries may believe: a prior, or a list of them; the prior of the file by default.",
    )


class Pufferfish(_WithPriors):
    """Each belief given one event against the same belief given another one."""

    kind: Literal["pufferfish"] = Field(description="Beliefs given one event against beliefs given another.")
    secrets: Events = Field(description="Pairs of events that must not be told apart, each a list of points.")


class Bayesian(_WithPriors):
    """The record of one person, while others follow from correlations."""

    kind: Literal["bayesian"] = Field(description="The record of one person; the others follow from correlations.")
    known: Annotated[int, Field(ge=0)] | None = Field(
        None, description="How many other records the adversary knows at most; any number by default."
    )


class CoupledWorlds(_WithPriors):
    """The data with and without the record of one person."""

    kind: Literal["coupled_worlds"] = Field(description="The data with and without the record of one person.")


class Correlated(_Leveled):
    """Dependence between records as it was observed on other datasets."""

    kind: Literal["correlated"] = Field(description="As bayesian, with what was observed on other datasets.")
    observed: Annotated[list[Database], Field(min_length=1)] = Field(
        description="Databases from elsewhere, each a list of records; ~ is an absent one."
    )
    smoothing: f.NonNegative = Field(0.0, description="Pseudo-counts for each database.")
    known: Annotated[int, Field(ge=0)] | None = Field(None, description="As for bayesian.")


class Markov(_Leveled):
    """State of a Markov chain at one time, given its transitions."""

    kind: Literal["markov"] = Field(description="Where a Markov chain is at one time; the secrets are its traces.")
    states: Annotated[list[State], Field(min_length=2)] = Field(description="What the states are called.")
    length: f.Count = Field(description="How many times a trace has.")
    transition: f.Rows[f.NonNegative] = Field(description="Row a has the probabilities of the next state after a.")
    start: list[f.NonNegative] | None = Field(
        None, description="Probabilities of the first state; by default those that the chain keeps."
    )
    times: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = Field(
        None, description="Which times are secret, counted from 0; all by default."
    )


class Given(_Leveled):
    """Pairs of beliefs written out."""

    kind: Literal["pairs"] = Field(description="Pairs of beliefs written out.")
    pairs: Annotated[list[Two], Field(min_length=1)] = Field(
        description="Pairs of rows, each with one probability per point; meant both ways."
    )
    distances: list[f.Positive] | None = Field(None, description="Of each pair; 1 by default.")


Beliefs = Annotated[Pufferfish | Bayesian | CoupledWorlds | Correlated | Markov | Given, f.Kinds()]


def build_pairs(
    source: Source, asked: Beliefs | None, space: Space, secrets: Secrets, prior: ModelPrior | PriorSet
) -> Any:
    """Build the pairs of the key `beliefs` at their level, None without that key; errors point at its entries."""
    if asked is None:
        return None
    with source.within("beliefs"):
        return _pairs_of_kind(source, asked, space, secrets, prior).at(asked.epsilon)


def _pairs_of_kind(
    source: Source, asked: Beliefs, space: Space, secrets: Secrets, prior: ModelPrior | PriorSet
) -> BeliefPairs:
    """Build the pairs of one kind, at distances that are still to be multiplied by the level."""
    match asked:
        case Pufferfish():
            events = [
                (
                    _event_points(source, secrets, pair[0], number, 0),
                    _event_points(source, secrets, pair[1], number, 1),
                )
                for number, pair in enumerate(asked.secrets)
            ]
            return BeliefPairs.pufferfish(secrets.space, events, _adversary_priors(source, asked, secrets, prior))
        case Markov():
            return BeliefPairs.markov(asked.states, asked.length, asked.transition, asked.start, times=asked.times)
        case Given():
            pairs = [(first, second) for first, second in asked.pairs]
            return BeliefPairs.of(secrets.space, pairs, distances=asked.distances)
        case Correlated():
            universe = _require_universe(source, asked.kind, space, secrets)
            return BeliefPairs.correlated(universe, asked.observed, smoothing=asked.smoothing, known=asked.known)
        case Bayesian():
            universe = _require_universe(source, asked.kind, space, secrets)
            return BeliefPairs.bayesian(universe, _adversary_priors(source, asked, secrets, prior), known=asked.known)
        case CoupledWorlds():
            universe = _require_universe(source, asked.kind, space, secrets)
            return BeliefPairs.coupled_worlds(universe, _adversary_priors(source, asked, secrets, prior))


def _event_points(source: Source, secrets: Secrets, named: Sequence[Any], *where: int) -> NDArray[np.bool_]:
    """Return a mask `(n,)` of the points of an event; an error points at the event, by the indices `where`."""
    inside = np.zeros(len(secrets.space), dtype=bool)
    with source.within("beliefs", "secrets", *where):
        for name in named:
            inside[point_named(secrets.space, name)] = True
    return inside


def _adversary_priors(
    source: Source, asked: _WithPriors, secrets: Secrets, prior: ModelPrior | PriorSet
) -> list[ModelPrior]:
    """Build the priors that adversaries may have: those under `under`, or else the prior of the problem itself."""
    if asked.under is None:
        if isinstance(prior, PriorSet):
            raise source.error(("beliefs",), "need priors where prior is a set", "add under: with these priors")
        return [prior]
    several = isinstance(asked.under, list)
    found = []
    for number, one in enumerate(asked.under if isinstance(asked.under, list) else [asked.under]):
        where = ("beliefs", "under", *([number] if several else []))
        # these priors belong to no level, and a corner prior needs one
        if isinstance(one, CornerPrior):
            raise source.error(where, "corner depends on the level of the problem", "give another prior")
        found += build_priors(source, one, secrets, [None], *where)
    return found


def _require_universe(source: Source, kind: str, space: Space, secrets: Secrets) -> Universe:
    """Return the universe of databases of the space; refuse a space of another kind, which has no records."""
    if not isinstance(space, Databases):
        raise source.error(("beliefs", "kind"), f"{kind} is about databases", "use a space of kind databases")
    return space.universe()
