"""Noise: densities, cumulative distributions and their inverses, privacy point by point, and exact draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import lambertw
from scipy.stats import chisquare, kstest

import dxopt as dx
from dxopt.mechanisms.noise import (
    Geometric,
    Laplace,
    LineNoise,
    ManhattanLaplace,
    MultivariateLaplace,
    Noise,
    PlanarLaplace,
    Staircase,
)
from dxopt.numerics.draws import Coins

ON_LINE = [Laplace(0.7), Staircase(0.7), Staircase(3.0, 5.0), Staircase(1.2, 2.0, 0.8), Staircase(0.5, 1.0, 0.0)]
PROBABILITIES = [1e-12, 1e-3, 0.1, 0.4, 0.5, 0.6, 0.9, 0.999, 1 - 1e-12]


def named(noise: Noise) -> str:
    return repr(noise)


def breaks(noise: LineNoise, low: float, high: float) -> list[float]:
    """Where the density is not smooth."""
    if not isinstance(noise, Staircase):
        return sorted({low, min(max(0.0, low), high), high})
    share = noise.share if noise.share is not None else 1 / (1 + math.exp(noise.epsilon / 2))
    steps = range(int(60 / noise.sensitivity))
    places = [side * noise.sensitivity * (k + part) for k in steps for part in (0, share) for side in (-1, 1)]
    return sorted({low, high, *(place for place in places if low < place < high)})


def integral(noise: LineNoise, low: float, high: float) -> float:
    ends = breaks(noise, low, high)
    return math.fsum(quad(noise.density, a, b, epsabs=1e-15)[0] for a, b in pairwise(ends))


@pytest.mark.parametrize("noise", ON_LINE, ids=named)
def test_on_the_line_the_density_integrates_to_the_cdf(noise: LineNoise) -> None:
    assert integral(noise, -60.0, 60.0) == pytest.approx(1.0, abs=1e-11)
    for offset in (-7.3, -1.0, -0.2, 0.0, 0.35, 2.0, 9.9):
        expected = 0.5 + math.copysign(integral(noise, min(0.0, offset), max(0.0, offset)), offset)
        assert noise.cdf(offset) == pytest.approx(expected, abs=1e-12)
    assert noise.cdf([-np.inf, np.inf]).tolist() == [0.0, 1.0]
    assert noise.error_cdf(2.7) == pytest.approx(integral(noise, -2.7, 2.7), abs=1e-12)
    assert noise.error_cdf([-1.0, np.inf]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("noise", ON_LINE, ids=named)
def test_on_the_line_masses_are_integrals_also_far_out(noise: LineNoise) -> None:
    for low, high in ((-0.4, 0.3), (0.1, 0.6), (-9.0, -6.5), (30.0, 30.2), (-55.05, -55.0), (7.0, 7.0)):
        assert noise.mass_between(low, high) == pytest.approx(integral(noise, low, high), rel=1e-10, abs=1e-300)
    assert noise.mass_between(-np.inf, np.inf) == pytest.approx(1.0, abs=1e-15)
    beyond = noise.mass_between([300.0, -np.inf], [np.inf, -300.0])
    assert beyond[0] == beyond[1] == pytest.approx(math.exp(logarithm_beyond(noise, 300.0)) / 2, rel=1e-11)


def logarithm_beyond(noise: LineNoise, radius: float) -> float:
    """log P(error > radius), where the radius is a whole number of steps."""
    sensitivity = noise.sensitivity if isinstance(noise, Staircase) else 1.0
    return -noise.epsilon * radius / sensitivity


@pytest.mark.parametrize("noise", ON_LINE, ids=named)
def test_on_the_line_quantiles_invert(noise: LineNoise) -> None:
    assert noise.cdf(noise.quantile(PROBABILITIES)) == pytest.approx(np.array(PROBABILITIES), rel=1e-11)
    assert noise.error_cdf(noise.error_quantile(PROBABILITIES)) == pytest.approx(np.array(PROBABILITIES), rel=1e-9)
    assert noise.quantile([0.0, 0.5, 1.0]) == pytest.approx([-np.inf, 0.0, np.inf], abs=1e-15)
    assert noise.cdf(noise.quantile(1e-250)) == pytest.approx(1e-250, rel=1e-9)
    assert noise.error_quantile([0.0, 1.0]).tolist() == [0.0, np.inf]


@pytest.mark.parametrize("noise", [*ON_LINE, PlanarLaplace(0.7), ManhattanLaplace(1.3, 3)], ids=named)
def test_the_mean_error_is_the_integral_of_what_is_beyond(noise: Noise) -> None:
    ends = breaks(noise, 0.0, 59.0) if isinstance(noise, LineNoise) else [0.0, 5.0, 59.0]
    beyond: Callable[[float], float] = lambda radius: 1 - float(noise.error_cdf(radius))  # noqa: E731
    mean = math.fsum(quad(beyond, a, b)[0] for a, b in pairwise(ends))
    assert noise.mean_error == pytest.approx(mean, abs=1e-8)


@pytest.mark.parametrize("noise", [PlanarLaplace(0.7), ManhattanLaplace(0.7)], ids=named)
def test_in_the_plane_the_density_integrates_to_one(noise: PlanarLaplace | ManhattanLaplace) -> None:
    quarter = dblquad(lambda y, x: float(noise.density([x, y])), 0, 60, 0, 60, epsabs=1e-9)[0]
    assert quarter == pytest.approx(0.25, abs=1e-8)
    assert noise.density([[0.3, -0.2], [-0.3, 0.2]])[0] == noise.density([-0.3, 0.2])


def test_in_the_plane_errors_follow_from_the_density() -> None:
    epsilon, radius = 0.7, 2.3
    rings = quad(lambda r: 2 * math.pi * r * float(PlanarLaplace(epsilon).density([0.0, r])), 0, radius)[0]
    assert PlanarLaplace(epsilon).error_cdf(radius) == pytest.approx(rings, abs=1e-12)
    squares = quad(lambda r: 4 * r * float(ManhattanLaplace(epsilon).density([0.0, r])), 0, radius)[0]
    assert ManhattanLaplace(epsilon).error_cdf(radius) == pytest.approx(squares, abs=1e-12)
    assert ManhattanLaplace(epsilon, 1).error_cdf(radius) == pytest.approx(Laplace(epsilon).error_cdf(radius))


@pytest.mark.parametrize("probability", [1e-16, 1e-9, 1e-3, 0.2, 0.5, 0.9, 1 - 2.0**-40, 1 - 2.0**-53])
def test_planar_radii_solve_their_cdf(probability: float) -> None:
    epsilon = 0.7
    radius = float(PlanarLaplace(epsilon).error_quantile(probability))
    with localcontext() as context:
        context.prec = 60
        reach = Decimal(epsilon) * Decimal(radius)
        beyond, asked = (1 + reach) * (-reach).exp(), 1 - Decimal(probability)
        assert abs((beyond - asked) / min(asked, 1 - asked)) < Decimal("1e-13")
    if 1e-3 <= probability < 0.999:
        branch = lambertw((probability - 1) / math.e, -1).real
        assert radius == pytest.approx(-(branch + 1) / epsilon, rel=1e-10)


@pytest.mark.parametrize("epsilon", [0.05, 0.9, 4.0])
def test_the_densities_are_those_of_the_figure(epsilon: float) -> None:
    offsets = np.array([[0.0, 0.0], [1.0, -2.0], [-0.3, 0.4]])
    assert Laplace(epsilon).density(offsets) == pytest.approx(epsilon / 2 * np.exp(-epsilon * abs(offsets)))
    straight = np.array([0.0, math.sqrt(5), 0.5])
    assert PlanarLaplace(epsilon).density(offsets) == pytest.approx(
        epsilon**2 / (2 * math.pi) * np.exp(-epsilon * straight)
    )
    along = np.array([0.0, 3.0, 0.7])
    assert ManhattanLaplace(epsilon).density(offsets) == pytest.approx(epsilon**2 / 4 * np.exp(-epsilon * along))


PLANAR = [
    (PlanarLaplace(1.1), lambda v: math.hypot(*v)),
    (PlanarLaplace(0.2), lambda v: math.hypot(*v)),
    (ManhattanLaplace(1.1), lambda v: abs(v[0]) + abs(v[1])),
    (ManhattanLaplace(0.6, 1), lambda v: abs(v[0])),
]


@pytest.mark.parametrize(("noise", "norm"), PLANAR, ids=[str(noise) for noise, _ in PLANAR])
def test_private_at_every_point_and_no_more(noise: PlanarLaplace, norm: Callable[[np.ndarray], float]) -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        secret, other = rng.uniform(-3, 3, (2, noise.dimensions))
        reports = np.concatenate([rng.uniform(-6, 6, (200, noise.dimensions)), [2 * secret - other]])
        worst = np.log(noise.density(reports - secret) / noise.density(reports - other)).max()
        assert worst == pytest.approx(noise.epsilon * norm(secret - other), rel=1e-12)


@pytest.mark.parametrize("noise", [Laplace(1.1), *ON_LINE[1:]], ids=named)
def test_private_on_the_line_and_no_more(noise: LineNoise) -> None:
    reports = np.linspace(-12, 12, 48_001)
    for apart in (0.3, 1.0, 2.5, 7.0):
        worst = np.log(noise.density(reports) / noise.density(reports - apart)).max()
        steps = math.ceil(apart / noise.sensitivity) if isinstance(noise, Staircase) else apart
        assert worst == pytest.approx(noise.epsilon * steps, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_the_usual_share_of_a_staircase_has_the_least_error(epsilon: float) -> None:
    best = Staircase(epsilon, 3.0).mean_error
    assert best == pytest.approx(3 * math.exp(epsilon / 2) / math.expm1(epsilon), rel=1e-12)
    assert all(Staircase(epsilon, 3.0, share).mean_error > best for share in (0.0, 0.05, 0.6, 1.0))
    assert best < Laplace(epsilon / 3.0).mean_error


@pytest.mark.parametrize("noise", [Laplace(0.7), Staircase(3.0, 5.0), Staircase(0.5)], ids=named)
def test_draws_on_the_line_follow_the_cdf(noise: LineNoise) -> None:
    values = np.full((100, 200), 10.0)
    drawn = noise.sample(values, np.random.default_rng(5))
    assert drawn.shape == values.shape
    assert kstest((drawn - 10.0).ravel(), noise.cdf).pvalue > 0.01


def test_draws_in_the_plane() -> None:
    origin = np.tile([3.0, -1.0], (20_000, 1))
    noise = PlanarLaplace(2.0)
    offsets = noise.sample(origin, np.random.default_rng(5)) - origin
    assert kstest(np.hypot(*offsets.T), noise.error_cdf).pvalue > 0.01
    assert kstest(np.arctan2(*offsets.T), lambda angle: (angle + math.pi) / (2 * math.pi)).pvalue > 0.01
    offsets = ManhattanLaplace(2.0).sample(origin, np.random.default_rng(5)) - origin
    assert kstest(offsets[:, 0], Laplace(2.0).cdf).pvalue > 0.01
    assert kstest(offsets[:, 1], Laplace(2.0).cdf).pvalue > 0.01
    assert abs(np.corrcoef(np.abs(offsets.T))[0, 1]) < 0.03
    assert noise.sample([0.0, 0.0]).shape == (2,)


@pytest.mark.parametrize(("epsilon", "step"), [(0.3, 2.0), (5.0, 1.0), (0.1, 0.7), (1e-3, 1.0), (0.25, 0.5)])
def test_geometric_draws_follow_their_masses(epsilon: float, step: float) -> None:
    noise = Geometric(epsilon, step)
    drawn = noise.sample(np.full(20_000, 7), np.random.default_rng(11)) - 7
    edges = np.unique(noise.quantile(np.linspace(0.05, 0.95, 19)))
    seen = np.bincount(np.searchsorted(edges, drawn), minlength=len(edges) + 1)
    expected = np.diff([0.0, *noise.cdf(edges), 1.0]) * len(drawn)
    assert chisquare(seen[expected > 0], expected[expected > 0]).pvalue > 0.01


@pytest.mark.parametrize(("epsilon", "step"), [(0.3, 2.0), (0.01, 1.0), (2.0, 0.1), (30.0, 1.0)])
def test_geometric_sums(epsilon: float, step: float) -> None:
    noise, reach = Geometric(epsilon, step), 20_000
    indices = np.arange(-reach, reach + 1)
    masses = noise.mass(indices)
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert masses[reach + 1 : reach + 9] / masses[reach : reach + 8] == pytest.approx(math.exp(-epsilon * step))
    assert np.array_equal(masses, masses[::-1])
    assert noise.cdf(indices) == pytest.approx(np.cumsum(masses), abs=1e-12)
    assert noise.mean_error == pytest.approx((masses * np.abs(indices)).sum() * step, rel=1e-9)
    within = [masses[np.abs(indices) <= index].sum() for index in range(6)]
    assert noise.error_cdf(np.arange(6) * step) == pytest.approx(within, abs=1e-12)
    assert noise.error_cdf(step * np.array([-0.1, 0.99, 2.5])) == pytest.approx([0, within[0], within[2]], abs=1e-12)


@pytest.mark.parametrize(("epsilon", "step"), [(0.3, 2.0), (0.01, 1.0), (1.9112481002770414, 0.8823814699152238)])
def test_geometric_quantiles_are_the_least(epsilon: float, step: float) -> None:
    noise = Geometric(epsilon, step)
    asked = np.array([*PROBABILITIES, *noise.cdf(np.arange(-300, 10))])
    asked = np.concatenate([asked, np.nextafter(asked, 1.0)])
    found = noise.quantile(asked)
    assert (noise.cdf(found) >= asked).all()
    assert (noise.cdf(found - 1) < asked).all()
    asked = np.array([*PROBABILITIES, *noise.error_cdf(np.arange(10) * step)])
    found = noise.error_quantile(asked)
    assert (noise.error_cdf(found) >= asked).all()
    assert (noise.error_cdf(found - step / 2) < asked).all()
    assert noise.error_quantile([0.0, 1.0]).tolist() == [0.0, np.inf]


def test_geometric_draws_are_whole_and_the_exponent_is_exact() -> None:
    assert Geometric(0.1, 0.3).exponent == Fraction(0.1) * Fraction(0.3)
    far = 2**60 + 1
    drawn = Geometric(50.0).sample([[far, -far]])
    assert drawn.dtype == np.int64
    assert drawn.tolist() == [[far, -far]]
    assert Geometric(1.0).sample(np.zeros((0,), dtype=int)).shape == (0,)


@pytest.mark.parametrize(
    "noise", [Laplace(1.0), Staircase(1.0), ManhattanLaplace(1.0, 50), Geometric(1e-6)], ids=named
)
def test_the_system_is_random_and_generators_repeat(noise: Noise) -> None:
    values = np.zeros(50, dtype=int)
    assert not np.array_equal(noise.sample(values), noise.sample(values))
    first, second = (noise.sample(values, np.random.default_rng(2)) for _ in range(2))
    assert np.array_equal(first, second)


def test_coins() -> None:
    every = Coins(lambda size: bytes(range(256)) * (size // 256 + 1))
    assert np.bincount([every.below(3) for _ in range(192)]).tolist() == [64, 64, 64]
    assert every.below(1) == 0
    coins = Coins.of(np.random.default_rng(1))
    for numerator, denominator in ((2, 3), (1, 1), (1, 10), (0, 1)):
        falls = sum(coins.falls(numerator, denominator) for _ in range(20_000)) / 20_000
        assert falls == pytest.approx(math.exp(-numerator / denominator), abs=0.01)
    wide = [coins.below(10**30) / 1e30 for _ in range(2_000)]
    assert kstest(wide, "uniform").pvalue > 0.01


@pytest.mark.parametrize("make", [Laplace, ManhattanLaplace, PlanarLaplace, Staircase, Geometric])
@pytest.mark.parametrize("level", [0.0, -1.0, math.nan, math.inf, "one", None, True, 10**400, np.ones(1), np.ones(2)])
def test_levels_that_are_none(make: Callable[..., Noise], level: float) -> None:
    with pytest.raises(dx.SpecError, match=r"^epsilon: "):
        make(level)


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda: Staircase(1.0, 0.0), "^sensitivity: "),
        (lambda: Staircase(1.0, 1.0, 1.5), "^share: "),
        (lambda: ManhattanLaplace(1.0, 0), "^dimensions: "),
        (lambda: Geometric(1.0, -1.0), "^step: "),
        (lambda: Geometric(1e-10, 1e-10), "^step: "),
        (lambda: Geometric(1e200, 1e200), "^step: "),
        (lambda: Geometric(1.0).sample([[1], [2, 3]]), "^values: "),
        (lambda: Geometric(1.0).sample([1], 3), "^rng: "),  # pyright: ignore[reportArgumentType]
        (lambda: Laplace(1.0).sample([1], 3), "^rng: "),  # pyright: ignore[reportArgumentType]
        (lambda: Laplace(1.0).quantile("half"), "^probability: "),
        (lambda: Laplace(1.0).quantile(1.5), "^probability: "),
        (lambda: PlanarLaplace(1.0).error_quantile([0.5, math.nan]), "^probability: "),
        (lambda: Geometric(1.0).error_quantile(-0.1), "^probability: "),
        (lambda: Laplace(1.0).sample([1.0, math.inf]), "^values: "),
        (lambda: Laplace(1.0).sample("word"), "^values: "),
        (lambda: PlanarLaplace(1.0).sample([1.0, 2.0, 3.0]), "^values: "),
        (lambda: Geometric(1.0).sample([0.5]), "^values: "),
        (lambda: Geometric(1.0).sample([2**62 + 1]), "^values: "),
    ],
)
def test_input_that_is_wrong(make: Callable[[], object], wrong: str) -> None:
    with pytest.raises(dx.SpecError, match=wrong):
        make()


def test_multivariate_noise_is_that_of_the_line_and_the_plane_in_one_and_two_dimensions() -> None:
    offsets = np.random.default_rng(2).normal(size=(9, 2))
    assert MultivariateLaplace(0.7, 2).density(offsets) == pytest.approx(
        PlanarLaplace(0.7).density(offsets), rel=1e-13
    )
    assert MultivariateLaplace(0.7, 1).density(offsets[:, :1]) == pytest.approx(
        Laplace(0.7).density(offsets[:, 0]), rel=1e-13
    )
    for radius in (0.1, 3.0, 20.0):
        assert MultivariateLaplace(0.7, 2).error_cdf(radius) == pytest.approx(PlanarLaplace(0.7).error_cdf(radius))


@pytest.mark.parametrize("dimensions", [3, 7])
def test_multivariate_density_integrates_to_the_cdf_of_the_error(dimensions: int) -> None:
    noise = MultivariateLaplace(1.3, dimensions)
    sphere = 2 * math.pi ** (dimensions / 2) / math.gamma(dimensions / 2)

    def shell(radius: float) -> float:
        offset = np.zeros(dimensions)
        offset[0] = radius
        return sphere * radius ** (dimensions - 1) * float(noise.density(offset))

    for radius in (0.5, 4.0, 60.0):
        assert quad(shell, 0, radius, epsabs=1e-13)[0] == pytest.approx(float(noise.error_cdf(radius)), abs=1e-11)
    assert noise.mean_error == dimensions / 1.3


@pytest.mark.parametrize("dimensions", [3, 50, 300])
def test_multivariate_noise_is_private_and_drawn_from_its_distribution(dimensions: int) -> None:
    noise = MultivariateLaplace(4.0, dimensions)
    rng = np.random.default_rng(dimensions)
    offsets, moved = rng.normal(size=(2, 30, dimensions))
    ratio = np.log(noise.density(offsets) / noise.density(offsets + moved))
    assert (ratio <= 4.0 * np.linalg.norm(moved, axis=1) * (1 + 1e-12)).all()
    size = 4_000
    errors = noise.sample(np.full((size, dimensions), 5.0), rng) - 5.0
    radius = np.linalg.norm(errors, axis=1)
    assert kstest(radius, noise.error_cdf).pvalue > 0.001
    # The direction is uniform: means of 0 and a variance of 1/k along each axis.
    directions = errors / radius[:, None]
    assert np.abs(directions.mean(axis=0)).max() < 5 / math.sqrt(size * dimensions)
    assert (directions**2).mean(axis=0) == pytest.approx(1 / dimensions, rel=0.15)
    assert noise.sample(np.zeros(dimensions)).shape == (dimensions,)


@pytest.mark.parametrize("dimensions", [0, -1, 2.0])
def test_multivariate_noise_needs_a_whole_number_of_dimensions(dimensions: int) -> None:
    with pytest.raises(dx.SpecError, match=r"^dimensions: "):
        MultivariateLaplace(1.0, dimensions)


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 30.0])
@pytest.mark.parametrize(
    "make, axes",
    [
        (dx.noise.Laplace, ()),
        (dx.noise.Staircase, ()),
        (lambda epsilon: dx.noise.Staircase(epsilon, sensitivity=1e-5), ()),
        (dx.noise.PlanarLaplace, (2,)),
        (dx.noise.ManhattanLaplace, (2,)),
        (dx.noise.MultivariateLaplace, (3,)),
    ],
)
def test_values_coarser_than_the_noise_are_refused(make: Any, axes: tuple[int, ...], epsilon: float) -> None:
    noise = make(epsilon)
    finest = 2.0**52 * noise.mean_error / 1024
    for value in (0.0, finest / 2, -finest / 2):
        values = np.full((50, *axes), value)
        assert len(np.unique(noise.sample(values, np.random.default_rng(1)))) > 25
    for value in (4 * finest, -4 * finest, 1e308):
        values = np.zeros((2, *axes))
        values[-1] = value
        with pytest.raises(dx.SpecError) as refused:
            noise.sample(values)
        assert refused.value.field == "values" and f"{value:g}" not in str(refused.value)
    assert noise.sample(np.zeros((0, *axes))).size == 0


@pytest.mark.parametrize("make", [dx.traces.on_line, dx.traces.on_plane])
def test_traces_coarser_than_their_noise_are_refused(make: Any) -> None:
    trace = [1e17, 1e17] if make is dx.traces.on_line else [(1e17, 1.0)] * 2
    with pytest.raises(dx.SpecError):
        dx.traces.IndependentNoise(make(), 1.0).run(trace)
