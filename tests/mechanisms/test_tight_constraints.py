"""`tight_constraints` at any size: published values, closed forms, verdicts, errors that say where and from when."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import root_scalar

import dxopt as dx
from dxopt.analysis.regularity.weights import Weights
from dxopt.mechanisms.kernel import KernelMechanism
from dxopt.mechanisms.tight import tight_constraints, tight_weights
from dxopt.spaces.kernels import Dense
from tests.judges import exact
from tests.material.structured import tree


def weights(space: dx.MetricSpace, epsilon: float) -> np.ndarray:
    found = tight_constraints(space, epsilon)
    assert isinstance(found, KernelMechanism)
    assert found.privacy is not None
    assert found.privacy.epsilon == epsilon
    return found.weights


def sum_query(answers: int, reach: int) -> dx.MetricSpace:
    numbers = np.arange(answers + 1)
    return dx.MetricSpace.from_distances(np.ceil(np.abs(numbers[:, None] - numbers[None, :]) / reach))


@pytest.mark.parametrize(
    ("space", "epsilon", "utility"),
    [
        (dx.grid((31, 31), metric="chebyshev"), 1.2, 0.18996305),
        (dx.grid((31, 31), metric="chebyshev"), 1.3, 0.21716694),
        (dx.grid((100, 100)), 0.8, 0.1052122),
    ],
    ids=["two counts, 1.2", "two counts, 1.3", "euclidean 100 x 100"],
)
def test_published_utilities(space: dx.MetricSpace, epsilon: float, utility: float) -> None:
    found = tight_constraints(space, epsilon)
    assert isinstance(found, KernelMechanism)
    prior = dx.Prior.uniform(space)
    assert dx.evaluate.utility(found, prior) == pytest.approx(utility, abs=1e-7)
    assert dx.evaluate.expected_loss(found, prior, "binary") == pytest.approx(1 - utility, abs=1e-7)


@pytest.mark.parametrize(("epsilon", "utility"), [(1.0, 0.14832275), (1.2, 0.1900345), (1.3, 0.21241231)])
def test_published_utility_without_structure(epsilon: float, utility: float) -> None:
    """The sum query of ECP14 §7, whose matrix is indefinite at small levels, on classes of like points."""
    space = sum_query(750, 5)
    found = tight_constraints(space, epsilon)
    assert isinstance(found, KernelMechanism)
    assert isinstance(found.kernel, Dense)
    assert dx.evaluate.utility(found, dx.Prior.uniform(space)) == pytest.approx(utility, abs=1e-7)


def test_great_circles() -> None:
    rng = np.random.default_rng(3)
    space = dx.MetricSpace.from_points(
        np.column_stack([rng.uniform(45, 46, 310), rng.uniform(-74, -73, 310)]), "haversine"
    )
    found = tight_constraints(space, 5.0)
    assert isinstance(found, KernelMechanism)
    some = np.arange(0, 310, 31)
    reports = found.matrix[some][:, ::31]
    assert not exact.violations(reports, space.block(some, some), 5.0)
    world = dx.MetricSpace.from_points([[0.0, 20.0 * k] for k in range(18)], "haversine")
    assert not isinstance(tight_constraints(world, 1e-3), KernelMechanism)


@pytest.mark.parametrize(
    ("size", "step", "epsilon"), [(2, 1.0, 0.3), (40, 0.1, 5.0), (2000, 3.0, 0.2), (50_000, 1.0, 1.0)]
)
def test_lines_are_truncated_geometric(size: int, step: float, epsilon: float) -> None:
    ratio = math.exp(-epsilon * step)
    expected = np.full(size, (1 - ratio) / (1 + ratio))
    expected[[0, -1]] = 1 / (1 + ratio)
    assert weights(dx.line(size, step=step), epsilon) == pytest.approx(expected, rel=1e-8)


def test_uneven_lines() -> None:
    points = np.cumsum(np.random.default_rng(1).uniform(0.2, 3.0, 1500)) - 700
    ratio = np.exp(-0.6 * np.diff(points))
    outward = np.concatenate([[0.0], ratio, [0.0]])
    expected = (1 - outward[1:] * outward[:-1]) / ((1 + outward[1:]) * (1 + outward[:-1]))
    assert weights(dx.MetricSpace.from_points(points), 0.6) == pytest.approx(expected, rel=1e-8)
    assert weights(dx.MetricSpace.from_points(-points), 0.6) == pytest.approx(expected, rel=1e-8)


def test_databases_under_the_hamming_distance() -> None:
    """V^5 (ECP14, Thm 3): the utility on the uniform prior is that of one record to the fifth."""
    values = np.stack(np.meshgrid(*[np.arange(4)] * 5, indexing="ij"), axis=-1).reshape(-1, 5)
    space, epsilon = dx.MetricSpace.from_points(values, "hamming"), 0.5
    one = 1 / (1 + 3 * math.exp(-epsilon))
    assert weights(space, epsilon) == pytest.approx(np.full(1024, one**5), rel=1e-8)
    found = tight_constraints(space, epsilon)
    prior = dx.Prior.uniform(space)
    assert dx.evaluate.utility(found, prior) == pytest.approx(one**5, rel=1e-8)
    leakage = 5 * math.log2(4 * math.exp(epsilon) / (3 + math.exp(epsilon)))
    assert dx.evaluate.min_entropy_leakage(found, prior) == pytest.approx(leakage, rel=1e-8)
    product = dx.product(*[dx.MetricSpace.from_points(list("acgt"), "discrete")] * 5)
    assert weights(product, epsilon) == pytest.approx(np.full(1024, one**5), rel=1e-8)


def test_grids_under_the_manhattan_distance_are_products() -> None:
    sides = [weights(dx.line(size), 0.4) for size in (120, 90)]
    assert weights(dx.grid((120, 90), metric="manhattan"), 0.4) == pytest.approx(np.kron(*sides), rel=1e-7)


@pytest.mark.parametrize("shape", [(50, 40), (37, 101), (9, 10, 11)])
def test_tori_weigh_every_point_alike(shape: tuple[int, ...]) -> None:
    space = dx.torus(shape)
    expected = 1 / np.exp(-0.7 * space.row(index=0)).sum()
    assert weights(space, 0.7) == pytest.approx(np.full(len(space), expected), rel=1e-7)


def test_trees() -> None:
    space = tree(3000, np.random.default_rng(2), islands=50)
    ratio = np.exp(-4.0 * space.structure.lengths)
    lost = np.bincount(space.structure.edges.reshape(-1), np.repeat(ratio / (1 + ratio), 2), minlength=3050)
    assert weights(space, 4.0) == pytest.approx(1 - lost, rel=1e-7)


@pytest.mark.parametrize("leaves", [4, 7])
def test_stars_need_a_level_that_the_centre_bears(leaves: int) -> None:
    space = dx.MetricSpace.from_graph(nx.star_graph(leaves))
    threshold = math.log(leaves - 1)
    with pytest.raises(dx.NoTightMechanism, match="the weight of 0 is negative") as caught:
        tight_constraints(space, threshold - 0.01)
    assert caught.value.negative == ("0",)
    assert caught.value.exists_from == pytest.approx(threshold, abs=1e-5)
    assert weights(space, threshold + 0.01)[0] > 0
    assert caught.value.exists_from is not None
    assert weights(space, caught.value.exists_from)[0] >= 0


def test_refusals_of_large_grids_name_the_points_and_the_level() -> None:
    """Euclidean grids have one from 0.66535 (sides of 16 and more)."""
    space = dx.grid((40, 40))
    lines: list[str] = []
    with pytest.raises(dx.NoTightMechanism) as caught:
        tight_constraints(space, 0.64, progress=lines.append)
    assert caught.value.exists_from == pytest.approx(0.66535, abs=2e-5)
    solution = np.linalg.solve(np.exp(-0.64 * space.distances), np.ones(1600))
    assert set(caught.value.negative) == {space.labels[int(point)] for point in np.flatnonzero(solution < 0)}
    assert "epsilon = 0.64" in str(caught.value)
    assert str(caught.value.negative[0]) in str(caught.value)
    assert len(lines) > 2
    with pytest.raises(dx.NoTightMechanism) as quick:
        tight_constraints(space, 0.64, diagnose=False)
    assert quick.value.exists_from is None
    assert quick.value.negative == caught.value.negative


def test_small_and_flat_spaces() -> None:
    assert tight_constraints(dx.grid((1, 1)), 1.0).matrix.tolist() == [[1.0]]
    assert tight_constraints(dx.line(1), 1e-6).matrix.tolist() == [[1.0]]
    for space in (dx.line(2), dx.torus((2, 1)), dx.grid((1, 2, 1)), dx.MetricSpace.from_graph(nx.path_graph(2))):
        for epsilon in (1e-5, 1.0, 1e3):
            found = tight_constraints(space, epsilon)
            assert found.row(index=0) == pytest.approx(
                [1 / (1 + math.exp(-epsilon)), math.exp(-epsilon) / (1 + math.exp(-epsilon))], abs=1e-6
            )


def test_infinite_distances_and_levels() -> None:
    """Points far apart are never mixed up, whether their distance is infinite or only large."""
    apart = dx.MetricSpace.from_distances([[0, np.inf], [np.inf, 0]])
    islands = tight_constraints(dx.product(dx.line(3), apart), 1.0).matrix
    assert islands[0].nonzero()[0].tolist() == [0, 2, 4]
    for far in (1e5, 1e306):
        space = dx.product(dx.line(2), dx.MetricSpace.from_distances([[0, far], [far, 0]]))
        matrix = tight_constraints(space, 1e3).matrix
        assert (matrix > 0).all()
        assert matrix == pytest.approx(np.eye(4), abs=1e-9)


@pytest.mark.parametrize(
    "space",
    [
        dx.MetricSpace.from_points([0.0, 1e-13, 1.0]),
        dx.product(dx.line(3), dx.MetricSpace.from_points([0.0, 0.0, 1.0])),
    ],
    ids=["too close", "twins"],
)
def test_few_points_that_are_nearly_one_are_written_down(space: dx.MetricSpace) -> None:
    found = tight_constraints(space, 1.0)
    assert not exact.violations(found.matrix, space.distances, 1.0)
    assert np.array_equal(found.matrix[0], found.matrix[1])


def test_an_indefinite_kernel_is_decided() -> None:
    with pytest.raises(dx.NoTightMechanism, match="is negative"):
        tight_constraints(dx.grid((3, 4, 5), metric="chebyshev"), 1.0, diagnose=False)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (dx.product(dx.line(3), dx.MetricSpace.from_distances([[0, 1], [2, 0]])), "symmetric"),
        (dx.MetricSpace.from_distances([[0, 1], [2, 0]]), "symmetric"),
        (dx.MetricSpace.from_points(np.random.default_rng(0).random((20_001, 2))), "20,001 points and no structure"),
        (dx.line(1_001, step=1e-13), "too close"),
        (dx.line(1_001, step=1e-200), "too close"),
        (dx.product(dx.line(400), dx.MetricSpace.from_points([0.0, 0.0, 1.0])), "distance 0"),
    ],
    ids=["product of asymmetric factors", "asymmetric", "too many", "too close", "underflow", "twins"],
)
def test_what_cannot_be_done_is_said(space: dx.MetricSpace, message: str) -> None:
    with pytest.raises(dx.UnsupportedError, match=message):
        tight_constraints(space, 1.0)


def test_budgets_that_underflow_are_too_close() -> None:
    """εd is 0 in doubles, though neither ε nor d is."""
    with pytest.raises(dx.UnsupportedError, match="too close"):
        tight_constraints(dx.line(1_001, step=1e-200), 1e-200)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_levels_are_positive_numbers(epsilon: float) -> None:
    with pytest.raises(dx.SpecError, match="epsilon"):
        tight_constraints(dx.line(3), epsilon)


@pytest.mark.parametrize(
    ("space", "low", "high"),
    [(dx.grid((30, 30)), 0.66, 0.67), (tree(2500, np.random.default_rng(3)), 0.5, 3.5), (dx.line(3000), None, 0.05)],
    ids=["grid", "tree", "line"],
)
def test_verdicts_by_structure(space: dx.MetricSpace, low: float | None, high: float) -> None:
    uniform = dx.Prior.uniform(space)
    if low is not None:
        assert dx.regularity.verdict(uniform, space, low).status == "not regular"
    found = dx.regularity.verdict(uniform, space, high)
    assert found.status == "regular"
    assert found.mu is not None
    assert found.mu @ np.exp(-high * space.row(index=5)) == pytest.approx(1 / len(space))
    spike = np.ones(len(space))
    spike[len(space) // 2] = 100.0
    assert dx.regularity.verdict(dx.Prior.from_weights(space, spike), space, 1.0).status == "not regular"


def test_where_phi_is_singular_the_points_in_the_way_are_named() -> None:
    """Those of negative weight in the solution of least norm; with e^{εd} in place of e^{-εd} they are others."""
    edges = [(0, 2), (0, 3), (0, 5), (1, 2), (1, 3), (2, 3), (2, 4), (2, 5), (3, 4), (4, 5)]
    space = dx.MetricSpace.from_graph(nx.Graph(edges))
    found = root_scalar(
        lambda level: np.linalg.det(np.exp(-level * space.distances)), bracket=(0.1, 0.15), xtol=1e-16
    )
    epsilon = float(found.root)
    weight = np.linalg.lstsq(np.exp(-epsilon * space.distances), np.ones(6), rcond=None)[0]
    (wanted,) = np.flatnonzero(weight < -1e-3)
    with pytest.raises(dx.NoTightMechanism, match="the constraint matrix is singular, and the weight of") as caught:
        tight_constraints(space, epsilon, diagnose=False)
    assert caught.value.negative == (space.labels[int(wanted)],)


def line_weights(size: int, step: float) -> np.ndarray:
    """In closed form: tanh(step / 2) inside, and (1 + tanh(step / 2)) / 2 at both ends."""
    inside = np.full(size, math.tanh(step / 2))
    inside[[0, -1]] = (1 + inside[0]) / 2
    return inside


@pytest.mark.parametrize("epsilon", [1e-8, 1e-6, 1e-4])
@pytest.mark.parametrize("shape", [(21,), (2,), (3, 3), (20, 20), (4, 3, 2)])
def test_small_levels_on_products_of_lines(shape: tuple[int, ...], epsilon: float) -> None:
    space = dx.line(shape[0]) if len(shape) == 1 else dx.grid(shape, metric="manhattan")
    expected = np.ones(1)
    for size in shape:
        expected = np.kron(expected, line_weights(size, epsilon))
    found = weights(space, epsilon)
    assert found == pytest.approx(expected, rel=2e-3)
    assert np.abs(found - expected).max() <= 1e-6 * expected.max()
    mechanism = tight_constraints(space, epsilon)
    assert exact.violations(mechanism.matrix, space.distances, epsilon) == []


@pytest.mark.parametrize("epsilon", [1e-300, 1e-15, 1e-12, 1e-10])
@pytest.mark.parametrize(
    "space",
    [dx.grid((6, 6)), dx.line(2), dx.line(21), dx.grid((20, 20), metric="manhattan"), dx.line(3, step=1e-200)],
    ids=str,
)
def test_levels_too_small_for_doubles_are_refused_without_a_claim(space: dx.MetricSpace, epsilon: float) -> None:
    with pytest.raises(dx.UnsupportedError, match="epsilon") as caught:
        tight_constraints(space, epsilon)
    assert not isinstance(caught.value, dx.NoTightMechanism)
    assert "epsilon" in caught.value.fix
    assert "method: tight" not in str(caught.value)


def test_no_mechanism_is_claimed_of_a_singular_matrix_that_only_rounding_makes_so() -> None:
    space = dx.grid((6, 6))
    nothing = Weights(None, None)
    for epsilon in (1e-12, 1e-10):
        with pytest.raises(dx.UnsupportedError, match="cannot tell"):
            tight_weights(space, epsilon, nothing)
    assert tight_weights(space, 1.0, nothing) is not None
    assert tight_weights(space, 0.5, nothing) is None


@pytest.mark.parametrize("epsilon", [2e-8, 1e-6, 1e-3])
def test_below_the_threshold_there_is_none_however_small_the_level(epsilon: float) -> None:
    with pytest.raises(dx.NoTightMechanism):
        tight_constraints(dx.grid((6, 6)), epsilon, diagnose=False)
    with pytest.raises(dx.NoTightMechanism) as caught:
        tight_constraints(dx.MetricSpace.from_graph(nx.star_graph(4)), epsilon)
    assert caught.value.negative == ("0",)


def test_a_rough_solution_is_no_mechanism() -> None:
    """Weights known within their own size, and those that solve the system only roughly, are not taken."""
    space = dx.grid((4, 4))
    exact_weights = np.asarray(np.linalg.solve(np.exp(-space.distances), np.ones(16)), dtype=np.float64)
    sure = Weights(exact_weights, np.full(16, 1e-12))
    assert tight_weights(space, 1.0, sure) is not None
    assert tight_weights(space, 1.0, Weights(exact_weights, np.full(16, np.inf))) is not None
    with pytest.raises(dx.UnsupportedError, match="cannot tell"):
        tight_weights(space, 1.0, Weights(exact_weights * (1 + 1e-4), np.full(16, np.inf)))
    with pytest.raises(dx.UnsupportedError, match="cannot tell"):
        tight_weights(space, 1.0, Weights(exact_weights - 0.5, np.full(16, 1.0)))
