"""Lines: the truncated geometric mechanism with its optimal remap, written down and implicit, and its own bound."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import dxopt as dx
from dxopt.mechanisms import kernel as line_costs
from dxopt.mechanisms.kernel import RemappedMechanism, epsilon_of_base, remapped
from dxopt.model import problem as problems
from dxopt.proofs.bounds import line_bound
from dxopt.proofs.duals import LineDual
from dxopt.solving.reductions import line as reduction
from dxopt.solving.reductions.line import best_remap
from dxopt.solving.routes import limits
from tests.judges.exact import infinite_leakage, row_sum_errors, violations
from tests.judges.oracle import optimum
from tests.material.checks import assert_proven, change_array
from tests.material.stopped import stop_after

CLOSE = 1e-7
NAMED = ("distance", "squared", "binary")


def oracle(problem: dx.Problem) -> float:
    return optimum(
        problem.space.distances, problem.epsilon, problem.prior.probabilities, np.array(problem.loss.matrix)
    )


def best(problem: dx.Problem) -> LineDual:
    found = best_remap(problem, lambda: False, lambda line: None)
    assert found is not None
    return found.dual


def skewed(space: dx.MetricSpace) -> dx.Prior:
    place = np.arange(len(space))
    return dx.Prior.from_weights(
        space, np.where(place % 11 == 3, 0.0, 1.0 + (7 * place) % 13) * (place < 0.7 * len(space))
    )


@st.composite
def lines(draw: st.DrawFn) -> dx.Problem:
    """1 to 7 secrets at uneven steps, priors with zeros and tiny masses, reports on the line or elsewhere."""
    steps = draw(st.lists(st.sampled_from([0.2, 0.7, 1.0, 2.5, 4.0]), min_size=0, max_size=5))
    space = dx.MetricSpace.from_points(np.concatenate([[0.0], np.cumsum(steps)]) * draw(st.sampled_from([1.0, -1.0])))
    masses = draw(st.lists(st.sampled_from([0.0, 1e-9, 0.1, 1.0, 3.0]), min_size=len(space), max_size=len(space)))
    prior = dx.Prior.from_weights(space, masses if any(masses) else np.ones(len(space)))
    reports, loss = None, draw(st.sampled_from(NAMED))
    if loss != "binary" and draw(st.booleans()):
        places = draw(st.lists(st.floats(-3, 30), min_size=1, max_size=6, unique=True))
        reports = dx.Reports.at(np.array(places)[:, None])
    return dx.Problem(space, epsilon=draw(st.floats(0.05, 1.5)), prior=prior, loss=loss, reports=reports)


@settings(max_examples=60, deadline=None)
@given(lines())
def test_optimum_of_small_lines(problem: dx.Problem) -> None:
    report = dx.solve(problem, method="optimal")
    try:
        value = oracle(problem)
    except RuntimeError:
        reject()  # the judge's solver gave up
    assert_proven(report)
    assert report.route.startswith("line")
    assert "line" not in report.refused
    assert report.certificate.value == pytest.approx(value, abs=CLOSE)
    assert value - CLOSE <= report.certificate.bound <= value + 1e-9
    assert line_bound(problem, best(problem)) == pytest.approx(report.certificate.bound, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(lines(), st.integers(0, 10**6))
def test_the_bound_holds_for_any_prices_and_roots(problem: dx.Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    found, (size, reports) = best(problem), problem.shape
    prices = found.prices + rng.normal(size=size) * 10.0 ** rng.integers(-12, 1)
    dual = LineDual(prices, rng.integers(0, size, reports))
    reached = dx.solve(problem).certificate.value
    assert line_bound(problem, dual) <= reached * (1 + 1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e-12, 1.0, 1e200])
@pytest.mark.parametrize("epsilon", [200.0, 400.0, 1000.0, 1e5])
def test_the_bound_holds_where_what_is_moved_overflows(epsilon: float, size: float) -> None:
    space = dx.MetricSpace.from_points([-4.0, -0.9, -0.3, 0.0, 0.7])
    loss = [[1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1]]
    problem = dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss=loss)
    rng = np.random.default_rng(int(epsilon))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for _ in range(20):
            dual = LineDual(size * rng.normal(size=5), rng.integers(0, 5, 3))
            assert line_bound(problem, dual) <= 1e-12
        value = dx.solve(problem).certificate.value
    assert -1e-12 <= value <= 1e-12


@pytest.mark.parametrize("size", [3, 11, 61, 201, 1001])
def test_of_remaps_that_are_as_good_each_secret_stays(size: int) -> None:
    """With values all alike and ε = ln 2, noise that says the last value is as well reported as the one before it."""
    space = dx.line(size)
    problem = dx.Problem(space, epsilon="ln(2)", prior=dx.Prior.uniform(space), loss="distance")
    report = dx.solve(problem, method="optimal")
    assert report.route.startswith("line")
    assert report.certificate.gap < 1e-11
    weights = dx.classic.geometric(space, epsilon="ln(2)").matrix.diagonal()
    assert np.allclose(report.mechanism.matrix.diagonal(), weights, rtol=1e-9)


def test_nothing_is_lost_by_other_roots() -> None:
    problem = dx.Problem(dx.line(30), epsilon=0.4, prior=skewed(dx.line(30)))
    dual = best(problem)
    for root in (0, 11, 29):
        moved = LineDual(dual.prices, np.full(30, root))
        assert line_bound(problem, moved) == pytest.approx(line_bound(problem, dual), rel=1e-8)


@pytest.fixture
def implicit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(limits, "WRITTEN_CELLS", 0)
    yield


UNEVEN = np.cumsum(np.random.default_rng(3).uniform(0.02, 2.0, 60))
IMPLICIT = {
    "distance": lambda: dx.Problem(dx.line(70), epsilon=0.3, prior=skewed(dx.line(70))),
    "squared": lambda: dx.Problem(dx.line(70), epsilon=0.3, prior=skewed(dx.line(70)), loss="squared"),
    "binary": lambda: dx.Problem(dx.line(50), epsilon=0.3, prior=skewed(dx.line(50)), loss="binary"),
    "large budgets": lambda: dx.Problem(dx.line(40), epsilon=6.0, prior=skewed(dx.line(40))),
    "row of a grid": lambda: dx.Problem(dx.grid((1, 40)), epsilon=0.5, prior=skewed(dx.grid((1, 40)))),
    "uneven, other reports": lambda: dx.Problem(
        dx.MetricSpace.from_points(UNEVEN[::-1]),
        epsilon=0.7,
        prior=skewed(dx.MetricSpace.from_points(UNEVEN[::-1])),
        loss="squared",
        reports=dx.Reports.at(np.linspace(-3, 70, 31)[:, None]),
    ),
}


@pytest.mark.parametrize("name", IMPLICIT)
def test_implicit_mechanisms_are_private_and_optimal(name: str, implicit: None) -> None:
    problem = IMPLICIT[name]()
    report = dx.solve(problem)
    assert isinstance(report.mechanism, RemappedMechanism)
    assert report.status == "optimal"
    assert report.certificate.gap < 1e-9
    matrix, distances = report.mechanism.matrix, problem.space.distances
    assert infinite_leakage(matrix, distances) == []
    assert violations(matrix, distances, problem.epsilon) == []
    assert max(map(abs, row_sum_errors(matrix))) <= 2.0**-50
    assert report.certificate.value == pytest.approx(float((problem.costs * matrix).sum()), rel=1e-12)
    explicit = dx.solve(problem, solver="clarabel")
    assert report.certificate.value <= explicit.certificate.value * (1 + 1e-9)
    assert report.certificate.value >= explicit.certificate.bound


def test_draws_follow_the_rows(implicit: None) -> None:
    problem = IMPLICIT["squared"]()
    mechanism = dx.solve(problem).mechanism
    secret, draws = 20, 40_000
    counted = np.bincount(mechanism.sample(index=secret, size=draws, rng=np.random.default_rng(5)), minlength=70)
    row = mechanism.row(index=secret)
    assert len(set(mechanism.table.tolist())) < 70  # pyright: ignore[reportAttributeAccessIssue]
    assert np.abs(counted - draws * row).max() < 6 * np.sqrt(draws * row.max())


def test_what_rows_lack_goes_where_it_costs_least(implicit: None) -> None:
    problem = IMPLICIT["distance"]()
    mechanism = dx.solve(problem).mechanism
    assert isinstance(mechanism, RemappedMechanism)
    always = problem.costs.sum(axis=0)[mechanism.table]
    assert always[mechanism.base.slack] == pytest.approx(always.min(), rel=1e-12)


def test_a_remap_needs_room(implicit: None) -> None:
    problem = IMPLICIT["distance"]()
    tight = dx.tight_constraints(problem.space, problem.epsilon)
    base = dx.tight_constraints(problem.space, epsilon_of_base(problem.space, problem.epsilon))
    table = np.zeros(70, np.int64)
    assert remapped(base, table, problem.reports, problem.epsilon).privacy is not None  # pyright: ignore[reportArgumentType]
    for mechanism, places in ((tight, table), (base, table + 70), (base, table - 1), (base, table[:-1])):
        with pytest.raises(dx.CertificateError):
            remapped(mechanism, places, problem.reports, problem.epsilon)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["distance", "binary", "uneven, other reports"])
def test_saved_and_loaded(name: str, implicit: None, tmp_path: Path) -> None:
    report = dx.solve(IMPLICIT[name]())
    folder = report.save(tmp_path / "out")
    loaded = dx.load(folder)
    assert loaded.certificate == report.certificate
    assert str(loaded) == str(report)
    assert np.array_equal(loaded.mechanism.matrix, report.mechanism.matrix)
    assert loaded.problem.reports.labels == report.problem.reports.labels
    with np.load(folder / "problem.npz") as stored:
        assert not {"distances", "loss"} & set(stored)
    report.mechanism.save(tmp_path / "one.npz")
    again = dx.Mechanism.load(tmp_path / "one.npz")
    assert again.privacy == report.mechanism.privacy
    assert np.array_equal(again.matrix, report.mechanism.matrix)


@pytest.mark.parametrize(
    ("file", "name", "change"),
    [
        ("dual.npz", "prices", lambda a: a * (1 + 1e-9)),
        ("dual.npz", "roots", lambda a: a[:-1]),
        ("problem.npz", "epsilon", lambda a: a * 0.99),
        ("problem.npz", "prior", lambda a: a[::-1].copy()),
        ("mechanism.npz", "table", lambda a: a[::-1].copy()),
        ("mechanism.npz", "table", lambda a: a + 5),
        ("mechanism.npz", "0/weights", lambda a: a * (1 - 1e-6)),
        ("mechanism.npz", "0/level", lambda a: a * (1 + 1e-9)),
        ("mechanism.npz", "epsilon", lambda a: a * 0.9),
    ],
)
def test_tampered_with(file: str, name: str, change, implicit: None, tmp_path: Path) -> None:
    folder = dx.solve(IMPLICIT["distance"]()).save(tmp_path / "out")
    change_array(folder / file, name, change)
    with pytest.raises(dx.DxoptError):
        dx.load(folder)


def bumpy(size: int) -> dx.Problem:
    """A loss that falls again far away."""
    space = dx.line(size)
    apart = space.distances
    return dx.Problem(space, epsilon=0.5, prior=skewed(space), loss=np.minimum(apart, np.abs(5 - apart)))


def test_other_losses_are_left_to_solvers() -> None:
    report = dx.solve(bumpy(8))
    assert "gap" in report.refused["line"]
    assert report.certificate.value == pytest.approx(oracle(bumpy(8)), abs=CLOSE)
    assert not any(reduction.name == "line" for reduction in report.reductions)
    assert_proven(report)


def test_an_implicit_line_that_is_not_optimal_gives_way(implicit: None, tmp_path: Path) -> None:
    report = dx.solve(bumpy(8))
    assert "gap" in report.refused["line"]
    assert report.certificate.value == pytest.approx(oracle(bumpy(8)), abs=CLOSE)
    again = dx.load(report.save(tmp_path / "out")).certificate
    assert replace(again, how=report.certificate.how) == report.certificate


def test_only_without_a_solver_or_spanner() -> None:
    problem = dx.Problem(dx.line(6), epsilon=1.0, prior=skewed(dx.line(6)))
    reports = [dx.solve(problem, solver=solver) for solver in ("clarabel", "columns")]
    for report in (*reports, dx.solve(problem, spanner=1.5)):
        assert "line" not in report.refused
        assert not report.route.startswith("line:")


@pytest.mark.parametrize("loss", ["distance", "binary"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
def test_rounding_does_not_grow_along_the_line(loss: str, epsilon: float) -> None:
    """Secrets that never occur, at one end, in between, and beyond the range of doubles."""
    space, x = dx.line(500), np.arange(500)
    for mass in (1.0 * (x < 300), 1.0 * (x % 150 == 0), np.exp(-0.7 * x), 1.0 * (x == 3)):
        problem = dx.Problem(space, epsilon=epsilon, prior=dx.Prior.from_weights(space, mass), loss=loss)
        dual = best(problem)
        assert 0 <= float(dual.prices.sum()) - line_bound(problem, dual) <= 1e-10


def test_the_report_says_why_it_is_exact() -> None:
    report = dx.solve(dx.Problem(dx.line(40), epsilon=1.0, prior=skewed(dx.line(40))))
    (reduction,) = report.reductions
    assert (reduction.name, reduction.exact, reduction.before, reduction.after) == ("line", True, 1600, 40)
    assert "1,600 to 40 variables, exact" in report.details()
    assert "Ghosh" in reduction.note


def test_a_long_line_takes_no_matrix() -> None:
    space = dx.line(3_000)
    problem = dx.Problem(space, epsilon=0.1, prior=skewed(space), loss="binary")
    report = dx.solve(problem)
    assert report.certificate.gap < 1e-9
    assert not {"distances", "matrix"} & (set(vars(space)) | set(vars(problem.loss)))
    assert "not written down" in report.refused["tight"]


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("few", [1, 50])
def test_stopped_anywhere_it_takes_few_more_losses(
    even: bool, few: int, implicit: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(reduction, "_SOON_CELLS", 100 * few)
    monkeypatch.setattr(problems, "_COST_CELLS", 0)
    places = np.arange(100) if even else np.cumsum(1.0 + np.arange(100) % 3)
    space = dx.MetricSpace.from_points(places[:, None])
    problem = dx.Problem(space, epsilon=0.4, prior=skewed(space))
    taken = [0]

    def counted(way: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        def some(loss: dx.Loss, which: np.ndarray) -> np.ndarray:
            taken[0] += len(which) * (asked[0] > moment)
            return way(loss, which)

        return some

    monkeypatch.setattr(dx.Loss, "rows", counted(dx.Loss.rows))
    monkeypatch.setattr(dx.Loss, "columns", counted(dx.Loss.columns))
    moment = 10**9
    asked = stop_after(monkeypatch, moment)
    best = dx.solve(problem, method="optimal")
    found: dict[str, dx.Report] = {}
    for moment in range(0, asked[0], 6):
        asked = stop_after(monkeypatch, moment)
        taken[0] = 0
        report = dx.solve(problem, method="optimal", partial=True)
        assert taken[0] <= 3 * few + 6
        assert report.status == "interrupted"
        assert report.certificate.bound <= best.certificate.value <= report.certificate.value * (1 + 1e-12)
        found[report.route] = report
    first, last = found
    assert first == (reduction.WITHOUT_REMAP if few < 50 else reduction.TO_SOME)
    assert last == reduction.NAME
    assert found[first].certificate.value < (2.0 if few < 50 else 1.3) * best.certificate.value
    for report in found.values():
        matrix = report.mechanism.matrix
        assert not violations(matrix, space.distances, problem.epsilon)
        assert report.certificate.value == pytest.approx(
            float((problem.prior.probabilities[:, None] * matrix * space.distances).sum())
        )
        assert dx.load(report.save(tmp_path / report.mechanism.name)).certificate == report.certificate


@pytest.mark.parametrize("loss", ["distance", "squared"])
@pytest.mark.parametrize("even", [True, False])
def test_powers_of_the_distance_take_no_losses_for_the_value(
    loss: str, even: bool, implicit: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a stop during the proof keeps the remap, however many reports it uses."""
    monkeypatch.setattr(line_costs, "_FEW_CELLS", 2_000)
    places = np.arange(100) if even else np.cumsum(1.0 + np.arange(100) % 3)
    space = dx.MetricSpace.from_points(places[:, None])
    problem = dx.Problem(space, epsilon=0.4, prior=skewed(space), loss=loss)
    found = dx.solve(problem, method="optimal").mechanism
    assert isinstance(found, RemappedMechanism)
    assert len(np.unique(found.table)) > 20
    assert (found.table != np.arange(100)).sum() > 10

    def refuse() -> None:
        raise AssertionError

    value = found.cost(problem.prior.probabilities, problem.loss.watched(refuse))
    assert value == pytest.approx(float((problem.costs * found.matrix).sum()), rel=1e-12)


@pytest.mark.parametrize("name", [name for name in IMPLICIT if name != "large budgets"])
@pytest.mark.parametrize("interrupted", [True, False])
def test_stopped_before_its_remap_it_has_one_all_the_same(
    name: str, interrupted: bool, implicit: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With as many reports looked at as there are it is the optimum, but for its bound."""
    problem = IMPLICIT[name]()
    best = dx.solve(problem, method="optimal").certificate.value
    if interrupted:
        stop_after(monkeypatch, 0)
    report = dx.solve(problem, method="optimal", time_limit=None if interrupted else 1e-9, partial=True)
    assert report.status == ("interrupted" if interrupted else "time limit")
    assert report.certificate.value == pytest.approx(best, rel=1e-9)
    assert -1e-300 <= report.certificate.bound <= report.certificate.value
    matrix = report.mechanism.matrix
    assert report.certificate.value == pytest.approx(float((problem.costs * matrix).sum()), rel=1e-12)
    assert violations(matrix, problem.space.distances, problem.epsilon) == []


def test_matrices_beyond_the_limit_are_refused() -> None:
    problem = dx.Problem(dx.line(11_000), epsilon=0.1, prior=dx.Prior.uniform(dx.line(11_000)))
    for name in ("costs", "budgets", "losses"):
        with pytest.raises(dx.UnsupportedError, match="11,000 by 11,000"):
            getattr(problem, name)
    with pytest.raises(dx.UnsupportedError):
        dx.solve(problem, solver="columns")
