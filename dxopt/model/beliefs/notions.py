"""Notions of privacy that are pairs of beliefs: `BeliefPairs`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.beliefs.conditionals import (
    Conditional,
    Event,
    Secrets,
    as_given,
    by_records,
    conditionals,
    events_of,
    images,
    labels_of,
    markov_conditionals,
    observed_prior,
    priors_of,
    removals,
)
from dxopt.model.beliefs.pairs import Pairs, why
from dxopt.model.prior import PriorLike
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.universes import Universe, required_universe

PAIR_CELLS = 20_000_000
"""The most entries of the beliefs of all pairs."""


class BeliefPairs(Pairs):
    """Ordered pairs of beliefs θ, θ' over the secrets that reports must not tell apart: θK ≤ e^{εd} θ'K.

    Whoever holds θ and whoever holds θ' then expect any report with probabilities that differ by a factor of e^{εd}
    at most. So where θ and θ' are one belief given that something is so, or is not so, no report changes the odds of
    that by more than this factor (Kifer and Machanavajjhala 2014, Pufferfish). Beliefs that are certain of one secret
    each give the ordinary constraints of privacy. Other beliefs than these are promised nothing.

    Made by `of`, `pufferfish`, `bayesian`, `correlated`, `coupled_worlds` or `markov`, or from arrays:

    Parameters
    ----------
    first, second : (p, n) array
        θ and θ' of each pair, over n secrets: probabilities that sum to 1 (up to 1e-9), taken as they are.
    distances : (p,) array, optional
        d of each pair, positive and finite; 1 by default.
    epsilon : float, str or None
        Level per unit of these distances. A problem needs one; `at` gives it.
    names : sequence of str, optional
        What each pair is about.
    labels : sequence of str, optional
        Of the n secrets, where a problem is to make sure that they are the same.
    left_out : sequence of str
        What was asked for, but holds with probability 0 in a belief, so that nothing is conditioned on it.

    Raises
    ------
    SpecError
        If shapes differ, a belief is no distribution, a distance is not positive, or there is no pair.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> rain = dx.BeliefPairs([[0.8, 0.2]], [[0.4, 0.6]], names=["rain or not"])
    >>> answers = np.array([[0.7, 0.3], [0.3, 0.7]])
    >>> print(rain.described())
    rain or not
    >>> print(round(dx.evaluate.belief_level(answers, rain).epsilon, 3))
    0.298
    """

    @classmethod
    def of(
        cls,
        space: Secrets,
        pairs: Iterable[tuple[PriorLike, PriorLike]],
        *,
        distances: ArrayLike | None = None,
        both_ways: bool = True,
    ) -> BeliefPairs:
        """Return pairs of beliefs as they are given: priors, or arrays of n probabilities.

        Parameters
        ----------
        space : MetricSpace or Universe
            The n secrets.
        pairs : iterable of (prior, prior)
        distances : sequence of float, optional
            One for each of the pairs given; 1 by default.
        both_ways : bool
            Whether each is meant in both orders.

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.BeliefPairs.of(dx.line(2), [([0.9, 0.1], [0.5, 0.5])]).first.tolist())
        [[0.9, 0.1], [0.5, 0.5]]
        """
        return cls._made(space, as_given(space, pairs, distances), (), both_ways=both_ways)

    @classmethod
    def pufferfish(
        cls,
        space: Secrets,
        secrets: Iterable[tuple[Event, Event]],
        beliefs: PriorLike | Iterable[PriorLike],
    ) -> BeliefPairs:
        """Make pairs for Pufferfish privacy (Kifer and Machanavajjhala 2014; Des20 Def 35): a belief given S or T.

        Parameters
        ----------
        space : MetricSpace or Universe
            The n secrets x.
        secrets : iterable of (S, T)
            Pairs of events that must not be told apart, both ways. An event is a set of labels or indices of
            points, or a predicate: of a label, or of a secret of a universe.
        beliefs : prior, or iterable of priors
            What adversaries may believe of x. A pair is left out under a belief that gives S or T no probability,
            which `left_out` tells.

        Examples
        --------
        >>> import dxopt as dx
        >>> count = dx.line(3)
        >>> pairs = dx.BeliefPairs.pufferfish(count, [([0], [1, 2])], [dx.Prior.uniform(count), [0.5, 0.5, 0]])
        >>> print(pairs.second.tolist())
        [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
        """
        found, missing = conditionals(space, events_of(space, secrets), priors_of(space, beliefs))
        return cls._made(space, found, missing)

    @classmethod
    def bayesian(
        cls, universe: Universe, beliefs: PriorLike | Iterable[PriorLike], *, known: int | None = None
    ) -> BeliefPairs:
        """Make pairs for Bayesian differential privacy (Yang et al. 2015, Des20): the record of one person is v or w.

        The other records follow what the adversary believes of correlations, given v or w and those records that he
        knows. Several beliefs make the family of adversaries of prior differential privacy (Des20).

        Parameters
        ----------
        universe : Universe
            Databases.
        beliefs : prior, or iterable of priors
            Over the databases.
        known : int, optional
            How many other records the adversary knows at most; any number by default. 0 is Pufferfish for the value
            of each record.

        Examples
        --------
        >>> import dxopt as dx
        >>> flu = dx.Universe.databases(["ill", "well"], 2)
        >>> household = [0.4, 0.1, 0.1, 0.4]
        >>> pairs = dx.BeliefPairs.bayesian(flu, household, known=0)
        >>> print(len(pairs.first), pairs.names[0])
        4 record 0 = ill against record 0 = well, under explicit
        >>> print(pairs.first[0].round(2).tolist(), pairs.second[0].round(2).tolist())
        [0.8, 0.2, 0.0, 0.0] [0.0, 0.0, 0.2, 0.8]
        """
        required_universe(universe)
        found, missing = by_records(universe, priors_of(universe, beliefs), known)
        return cls._made(universe, found, missing)

    @classmethod
    def correlated(
        cls, universe: Universe, observed: Iterable[Any], *, smoothing: float = 0.0, known: int | None = None
    ) -> BeliefPairs:
        """Make pairs for correlated differential privacy (Zhu et al. 2015, Des20): dependence from other datasets.

        The belief is how often each database of the universe is among those observed; the pairs are those of
        `bayesian`.

        Parameters
        ----------
        universe : Universe
            Databases.
        observed : iterable
            Databases of the universe, from elsewhere.
        smoothing : float
            Pseudo-counts for each database of the universe.
        known : int, optional
            As for `bayesian`.

        Examples
        --------
        >>> import dxopt as dx
        >>> flu = dx.Universe.databases(["ill", "well"], 2)
        >>> elsewhere = [("ill", "ill"), ("ill", "ill"), ("well", "well"), ("ill", "well"), ("well", "ill")]
        >>> pairs = dx.BeliefPairs.correlated(flu, elsewhere, known=0)
        >>> print(pairs.first[0].round(2).tolist())
        [0.67, 0.33, 0.0, 0.0]
        """
        required_universe(universe)
        found, missing = by_records(universe, [observed_prior(universe, observed, smoothing)], known)
        return cls._made(universe, found, missing)

    @classmethod
    def coupled_worlds(cls, universe: Universe, beliefs: PriorLike | Iterable[PriorLike]) -> BeliefPairs:
        """Make pairs for coupled-worlds privacy (Bassily et al. 2013; Des20 Def 44): one person's record taken out.

        For each belief, each person and each value of the record: the databases given that value against the same
        databases with that record absent. The definition asks for some simulator that sees the data without the
        person; here it is the mechanism itself, so that what is proven implies the definition.

        Parameters
        ----------
        universe : Universe
            Databases where records may be absent.
        beliefs : prior, or iterable of priors
            Over the databases.

        Examples
        --------
        >>> import dxopt as dx
        >>> flu = dx.Universe.databases(["ill"], 2, absent=True)
        >>> pairs = dx.BeliefPairs.coupled_worlds(flu, "uniform")
        >>> print(flu.labels[2:], pairs.second[0].tolist())
        ('(∅, ill)', '(∅, ∅)') [0.0, 0.0, 0.5, 0.5]
        """
        required_universe(universe)
        found, missing = images(universe, removals(universe), priors_of(universe, beliefs))
        return cls._made(universe, found, missing)

    @classmethod
    def markov(
        cls,
        states: MetricSpace | Sequence[Any],
        length: int,
        transition: ArrayLike,
        start: ArrayLike | None = None,
        *,
        times: Iterable[int] | None = None,
    ) -> BeliefPairs:
        """Make pairs of traces of a Markov chain: being at a against being at b at one time.

        The secrets are all traces of so many steps, in the order of `dx.product` of as many spaces of states, and of
        `dx.Universe.streams`: the last time fastest. Pufferfish for Markov chains (Song, Wang and Chaudhuri 2017).

        Parameters
        ----------
        states : MetricSpace or sequence
            The k states, or what they are called.
        length : int
            How many times there are.
        transition : (k, k) array
            Row a has the probabilities of the next state after a.
        start : (k,) array, optional
            Probabilities of the first state; by default those that the chain keeps.
        times : iterable of int, optional
            Which times are secret, from 0 on; all by default.

        Examples
        --------
        >>> import dxopt as dx
        >>> pairs = dx.BeliefPairs.markov(["home", "work"], 2, [[0.9, 0.1], [0.1, 0.9]])
        >>> print(pairs.names[0], pairs.first[0].tolist(), pairs.second[0].tolist())
        at home against at work, time 0 [0.9, 0.1, 0.0, 0.0] [0.0, 0.0, 0.1, 0.9]
        """
        found, missing = markov_conditionals(labels_of(states), length, transition, start, times)
        return cls._made(None, found, missing)

    @classmethod
    def _made(
        cls,
        space: Secrets | None,
        found: Iterable[Conditional],
        left_out: Iterable[str],
        *,
        both_ways: bool = True,
    ) -> BeliefPairs:
        """Collect the pairs, each once, both ways unless `both` is False; those of equal beliefs ask for nothing."""
        kept: dict[tuple[bytes, bytes], Conditional] = {}
        cells = 0
        for one in found:
            for pair in (one, one.reversed) if both_ways else (one,):
                key = pair.first.tobytes(), pair.second.tobytes()
                if np.array_equal(pair.first, pair.second) or (key in kept and kept[key].distance <= pair.distance):
                    continue
                cells += 0 if key in kept else 2 * len(pair.first)
                kept[key] = pair
                if cells > PAIR_CELLS:
                    wrong = f"have more than {PAIR_CELLS:,} entries over {len(pair.first):,} secrets"
                    raise UnsupportedError("beliefs", wrong, "ask for fewer pairs, or take fewer secrets")
        missing = tuple(left_out)
        if not kept:
            raise SpecError("beliefs", "are no pairs" + why(missing), "give events that some belief deems possible")
        pairs = kept.values()
        return cls(
            np.array([pair.first for pair in pairs]),
            np.array([pair.second for pair in pairs]),
            distances=[pair.distance for pair in pairs],
            names=[pair.name for pair in pairs],
            labels=None if space is None else labels_of(space),
            left_out=missing,
        )
