"""Kernels with equilibrium weights: the conditions of the weights, and the level that the channel realises."""

from __future__ import annotations

from contextlib import nullcontext

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

import dxopt as dx
from dxopt.mechanisms.equilibrium import equilibrium_kernel, equilibrium_weights


def spaces(kind: str) -> dx.MetricSpace:
    """Return 60 points or so: spread, clustered, doubled, on streets, in taxi-cab distances, or in parts."""
    rng = np.random.default_rng(7)
    spread = rng.random((60, 2)) * 4
    if kind == "clustered":
        return dx.MetricSpace.from_points(rng.normal(size=(60, 2)) * rng.exponential(1.0, (60, 1)))
    if kind == "doubled":
        return dx.MetricSpace.from_points(np.concatenate([spread[:30], spread[:30]]))
    if kind == "taxi-cab":
        return dx.MetricSpace.from_points(spread, "manhattan")
    if kind == "tree":
        return dx.MetricSpace.from_graph(nx.random_labeled_tree(40, seed=2))
    if kind == "parts":
        near = dx.MetricSpace.from_points(spread[:20]).distances
        apart = np.full((40, 40), np.inf)
        apart[:20, :20] = apart[20:, 20:] = near
        return dx.MetricSpace.from_distances(apart)
    return dx.MetricSpace.from_points(spread)


def realised(channel: NDArray[np.float64], budgets: NDArray[np.float64]) -> float:
    """Return the largest (ln K[x, z] - ln K[x', z]) / b(x, x') of pairs that are not doubled."""
    x, other = np.nonzero((budgets > 1e-6) & np.isfinite(budgets))
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.log(channel[x]) - np.log(channel[other])
    return float(np.nanmax(apart.max(axis=1, where=~np.isnan(apart), initial=-np.inf) / budgets[x, other]))


KINDS = ("spread", "clustered", "doubled", "taxi-cab", "tree", "parts")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0, 20.0])
def test_the_level_that_is_realised_is_that_asked_or_a_little_less(kind: str, epsilon: float) -> None:
    budgets = epsilon * spaces(kind).distances
    channel = equilibrium_kernel(budgets)
    assert channel.min() >= 0
    assert np.abs(channel.sum(axis=1) - 1).max() < 1e-12
    assert 0.9 < realised(channel, budgets) <= 1 + 1e-6


@pytest.mark.parametrize("kind", ["spread", "clustered", "taxi-cab", "tree", "parts"])
@pytest.mark.parametrize("guessed", [True, False])
def test_weights_are_an_equilibrium(kind: str, guessed: bool) -> None:
    kernel = np.exp(-0.4 * spaces(kind).distances)
    guess = np.ones(len(kernel), dtype=bool) if guessed else np.arange(len(kernel)) == 3
    weights, held = equilibrium_weights(kernel, guess)
    sums = kernel @ weights
    assert weights.min() >= 0
    assert sums.min() > 1 - 1e-8
    assert np.abs(sums[held] - 1).max() < 1e-9
    assert not weights[~held].any()


def test_it_is_the_tight_mechanism_where_there_is_one() -> None:
    space = spaces("tree")
    tight = dx.tight_constraints(space, 1.5).matrix
    assert np.abs(equilibrium_kernel(1.5 * space.distances) - tight).max() < 1e-9


def test_points_at_distance_0_have_one_row() -> None:
    channel = equilibrium_kernel(2.0 * spaces("doubled").distances)
    assert (channel[:30] == channel[30:]).all()


@pytest.mark.parametrize("kind", [*KINDS, "streets"])
def test_updated_weights_give_a_share_that_is_less(kind: str) -> None:
    """They exist also where the kernel is not positive definite, as on some streets."""
    streets = dx.MetricSpace.from_graph(nx.complete_bipartite_graph(3, 9))
    budgets = 0.05 * streets.distances if kind == "streets" else 2.0 * spaces(kind).distances
    with pytest.raises(np.linalg.LinAlgError) if kind == "streets" else nullcontext():
        equilibrium_weights(np.exp(-budgets + np.eye(len(budgets)) * 1e-9), np.ones(len(budgets), dtype=bool))
    channel = equilibrium_kernel(budgets, roughly=kind != "streets")
    assert np.abs(channel.sum(axis=1) - 1).max() < 1e-12
    assert 0.5 < realised(channel, budgets) <= 1 + 1e-6
