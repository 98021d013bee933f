"""Verdicts on priors against exact rational arithmetic, and the corners of the region (ECP14 §4)."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.analysis import regularity
from dxopt.analysis.regularity import weights as solving
from dxopt.analysis.regularity.weights import Quotient
from dxopt.spaces.kernels.systems import system
from tests.judges.systems import Row, feasible, solved
from tests.material.few import few

MARGIN = Fraction(1, 10**9)


def exact_phi(distances: np.ndarray, base: int) -> list[Row]:
    return [[Fraction(0) if np.isinf(d) else Fraction(1, base ** int(d)) for d in row] for row in distances]


def structured(rng: np.random.Generator) -> list[dx.MetricSpace]:
    """Small spaces that a solver by structure answers, with whole distances."""
    size = int(rng.integers(2, 10))
    gaps = rng.integers(1, 4, 6)
    tree = nx.random_labeled_tree(size, seed=int(rng.integers(10**6)))
    for edge in tree.edges:
        tree.edges[edge]["length"] = int(rng.integers(1, 4))
    found = [dx.line(size), dx.MetricSpace.from_points(np.cumsum(gaps)), dx.MetricSpace.from_graph(tree, "length")]
    found += [dx.grid((3, 3), metric=metric) for metric in ("manhattan", "chebyshev")]
    found += [dx.torus((size,)), dx.torus((3, 3), metric="manhattan"), dx.torus((2, 4), metric="chebyshev")]
    found.append(dx.product(dx.line(2), dx.MetricSpace.from_points(range(4), "discrete")))
    found.append(dx.MetricSpace.from_points(list(itertools.product(range(2), repeat=3)), "hamming"))
    return found


def graphs(rng: np.random.Generator) -> list[np.ndarray]:
    """Distances of small spaces of every kind, singular and indefinite ones included."""
    m, n, size = (int(k) for k in rng.integers((2, 2, 4), (5, 5, 9)))
    random = nx.gnp_random_graph(size, 0.5, seed=int(rng.integers(10**6)))
    directed = nx.gnp_random_graph(size, 0.35, seed=int(rng.integers(10**6)), directed=True)
    found = [nx.cycle_graph(size), nx.complete_bipartite_graph(m, n), nx.hypercube_graph(int(rng.integers(2, 4)))]
    found += [random, directed, nx.random_labeled_tree(size, seed=int(rng.integers(10**6)))]
    for edge in directed.edges:
        directed.edges[edge]["length"] = int(rng.integers(1, 4))
    matrices = [dx.MetricSpace.from_graph(graph).distances for graph in found[:4]]
    matrices.append(dx.MetricSpace.from_graph(directed, weight="length").distances)
    matrices.append(dx.MetricSpace.from_graph(found[5]).distances)
    twins = np.concatenate([np.arange(5), rng.integers(0, 5, 3)])
    matrices.append(dx.MetricSpace.from_graph(nx.cycle_graph(5)).distances[np.ix_(twins, twins)])
    points = rng.integers(0, 4, (size, 2))
    matrices.append(np.abs(points[:, None] - points[None]).max(axis=2).astype(float))
    return matrices


def priors(rng: np.random.Generator, phi: list[Row]) -> list[Row]:
    size = len(phi)
    near = [Fraction(int(k)) for k in rng.integers(8, 13, size)]
    far = [Fraction(int(k)) for k in rng.integers(1, 40, size)]
    mu = [int(k) for k in rng.integers(0, 6, size)]
    mixed = [
        sum((a * b for a, b in zip(row, mu, strict=True)), Fraction(0)) + Fraction(int(sum(mu) == 0)) for row in phi
    ]
    return [[Fraction(1)] * size, near, far, mixed]


@pytest.mark.parametrize("seed", few(range(25)))
def test_verdicts_agree_with_exact_arithmetic(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for space in (*map(dx.MetricSpace.from_distances, graphs(rng)), *structured(rng)):
        base = int(rng.integers(2, 5))
        phi = exact_phi(space.distances, base)
        for weights in priors(rng, phi):
            if min(weights) == 0:
                continue
            prior = dx.Prior.from_weights(space, [float(w) for w in weights])
            found = regularity.verdict(prior, space, math.log(base))
            truth = feasible(phi, weights)
            mu = solved(phi, weights)
            assert found.status in ("undecided", "regular" if truth else "not regular"), str(found)
            decidable = min(map(abs, mu)) > MARGIN * max(map(abs, mu)) if mu else not truth
            if decidable:
                assert found.status != "undecided", str(found)
            if mu is not None and found.mu is not None and found.error is not None:
                total = sum(weights)
                off = [abs(a - float(b / total)) for a, b in zip(found.mu, mu, strict=True)]
                assert (np.array(off) <= found.error + 1e-14).all()
                assert found.error.max() < 1e-9


def test_errors_bound_the_distance_to_the_exact_solution() -> None:
    space = dx.MetricSpace.from_graph(nx.hypercube_graph(3))
    rng = np.random.default_rng(1)
    phi = exact_phi(space.distances, 2)
    for _ in range(20):
        prior = dx.Prior.from_weights(space, rng.integers(5, 9, 8))
        found = regularity.verdict(prior, space, math.log(2))
        exact = solved(phi, [Fraction(float(p)) for p in prior.probabilities])
        assert exact is not None
        assert found.mu is not None
        assert found.error is not None
        off = np.array([float(abs(Fraction(float(a)) - b)) for a, b in zip(found.mu, exact, strict=True)])
        assert (off <= found.error).all()


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.68, math.log(2), 0.7, 0.8, 2.0])
def test_indefinite_spaces(epsilon: float) -> None:
    """Φ of K_{3,3} is singular at ln 2 and indefinite below."""
    space = dx.MetricSpace.from_graph(nx.complete_bipartite_graph(3, 3))
    uniform = regularity.verdict(dx.Prior.uniform(space), space, epsilon)
    assert uniform.status == "regular"
    assert uniform.mu == pytest.approx(1 / 6 / np.exp(-epsilon * space.distances).sum(axis=0))
    tilted = dx.Prior.from_weights(space, [1.0] * 3 + [1.01] * 3)
    found = regularity.verdict(tilted, space, epsilon)
    ratio = math.exp(-epsilon)
    odd = abs((1 - ratio) * (1 - 2 * ratio))
    small = 0.01 / 2.01 * (1 + 3 * ratio + 2 * ratio**2) <= odd
    assert found.status == ("regular" if small else "not regular")


def test_singular_and_consistent_is_left_undecided() -> None:
    space = dx.MetricSpace.from_graph(nx.complete_bipartite_graph(3, 3))
    mixed = dx.Prior.from_weights(space, np.array([1.0, 2, 6, 3, 4, 5]) @ 0.5**space.distances)
    found = regularity.verdict(mixed, space, math.log(2))
    assert found.status == "undecided"
    assert found.mu is None
    assert "singular" in str(found)


def test_equal_points_need_equal_probabilities() -> None:
    space = dx.MetricSpace.from_points([0.0, 0.0, 1.0])
    close = np.nextafter(0.3, 1.0)
    assert regularity.verdict(dx.Prior([0.3, close, 0.4]), space, 1.0).status == "not regular"  # pyright: ignore[reportArgumentType]
    assert regularity.verdict(dx.Prior([0.3, 0.3, 0.4]), space, 1.0).status == "regular"  # pyright: ignore[reportArgumentType]


def test_islands_and_empty_ones() -> None:
    distances = np.full((4, 4), np.inf)
    distances[:2, :2] = distances[2:, 2:] = dx.line(2).distances
    space = dx.MetricSpace.from_distances(distances)
    assert regularity.verdict(dx.Prior.from_weights(space, [1, 1, 9, 10]), space, 1.0).status == "regular"
    assert regularity.verdict(dx.Prior.from_weights(space, [0, 0, 9, 10]), space, 1.0).status == "regular"
    assert regularity.verdict(dx.Prior.from_weights(space, [0, 1, 9, 10]), space, 1.0).status == "not regular"


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 40.0])
def test_corner_priors_sit_at_their_corner(epsilon: float) -> None:
    one_way = dx.MetricSpace.from_distances([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [2.0, 3.0, 0.0]])
    for space in (dx.line(6), dx.grid((3, 3)), one_way):
        for point, corner in enumerate(regularity.corner_priors(space, epsilon)):
            found = regularity.verdict(corner, space, epsilon)
            assert found.status != "not regular"
            assert found.gamma == pytest.approx(np.eye(len(space))[point], abs=1e-9)
            assert corner.probabilities.argmax() == point
            column = np.exp(-epsilon * space.distances[:, point])
            assert corner.probabilities == pytest.approx(column / column.sum(), rel=1e-12)
            alone = regularity.corner_prior(space, epsilon, index=point)
            assert np.array_equal(alone.probabilities, corner.probabilities)


def test_mixtures_of_corners_are_regular_and_obey_the_necessary_conditions() -> None:
    """ECP14, Props 1 to 3; in the orientation of one-sided privacy."""
    rng = np.random.default_rng(5)
    one_way = dx.MetricSpace.from_distances([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [2.0, 3.0, 0.0]])
    for space in (dx.grid((3, 3)), dx.line(7), one_way):
        epsilon = 0.9
        corners = np.array([corner.probabilities for corner in regularity.corner_priors(space, epsilon)])
        grown = np.exp(epsilon * space.distances)
        for _ in range(10):
            gamma = rng.dirichlet(np.ones(len(space)))
            prior = dx.Prior.from_weights(space, gamma @ corners)
            found = regularity.verdict(prior, space, epsilon)
            assert found.status == "regular"
            assert found.gamma == pytest.approx(gamma, abs=1e-9)
            shares = prior.probabilities
            assert (shares[None, :] <= grown * shares[:, None] * (1 + 1e-12)).all()
            assert (1 / grown.sum(axis=1) <= shares * (1 + 1e-12)).all()
            assert (shares <= (1 + 1e-12) / (1 / grown).sum(axis=0)).all()


def test_an_unlikely_neighbour_is_named() -> None:
    space = dx.line(5)
    found = regularity.verdict(dx.Prior.from_weights(space, [1, 1, 1, 5, 1]), space, 1.0)
    assert found.status == "not regular"
    assert "Prop 1" in found.reason
    assert regularity.verdict(dx.Prior.from_weights(space, [1, 1.4, 1, 1.4, 1]), space, 0.4).status == "not regular"


def test_bad_input() -> None:
    space = dx.line(3)
    prior = dx.Prior.uniform(space)
    for epsilon in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(dx.SpecError, match="epsilon"):
            regularity.verdict(prior, space, epsilon)
    with pytest.raises(dx.SpecError, match="prior"):
        regularity.verdict(prior, dx.line(4), 1.0)
    with pytest.raises(dx.SpecError, match="point"):
        regularity.corner_prior(space, 1.0, "nowhere")


@pytest.mark.parametrize(("epsilon", "definite"), [(1.0, True), (0.3, False)])
def test_spaces_without_structure_by_cholesky_or_by_classes(epsilon: float, definite: bool) -> None:
    """Answers that one person changes by up to 5: Φ is indefinite at small levels, which leaves them to classes."""
    answers = np.arange(621)
    space = dx.MetricSpace.from_distances(np.ceil(np.abs(answers[:, None] - answers) / 5))
    ones = np.ones(621)
    kernel = system(space, epsilon)
    assert math.isfinite(kernel.inverse_norm) is definite
    found = solving.weights(space, epsilon, ones, kernel)
    by_classes = solving.classed(space, Quotient.of(space.distances, ones), epsilon)
    assert found.decided
    assert found.proven is by_classes.proven
    assert found.values is not None
    assert found.error is not None
    assert by_classes.values is not None
    assert by_classes.error is not None
    assert (np.abs(found.values - by_classes.values) <= found.error + by_classes.error).all()
    assert np.array_equal(found.values, by_classes.values) is not definite


@pytest.mark.parametrize("epsilon", [0.4, 0.9, 1.7])
def test_numbers_in_reasons_are_true_and_close(epsilon: float) -> None:
    """What is printed of μ at the centre of a star of 5 is 1 - 5 / (1 + e^ε), of a prior of 1 / 6 at each point."""
    space = dx.MetricSpace.from_graph(nx.star_graph(5))
    found = regularity.verdict(dx.Prior.uniform(space), space, epsilon)
    assert found.mu is not None
    assert found.error is not None
    if found.status == "regular":
        least = Fraction(found.reason.removeprefix("every entry of μ is at least "))
        true = min(
            Fraction(float(mu)) - Fraction(float(error)) for mu, error in zip(found.mu, found.error, strict=True)
        )
        assert Fraction(99, 100) * true <= least <= true
        return
    matched = re.fullmatch(r"μ is (\S+) at (\S+), within (\S+)", found.reason)
    assert matched is not None
    shown, place, within = matched.groups()
    x = space.labels.index(place)
    off = abs(Fraction(shown) - Fraction(float(found.mu[x]))) + Fraction(float(found.error[x]))
    assert off <= Fraction(within) <= Fraction(1, 10**6)
