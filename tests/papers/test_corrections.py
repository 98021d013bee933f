"""docs/theory/corrections.md: what it names exists, and each counterexample contradicts the statement as printed."""

from __future__ import annotations

import ast
import itertools
import math
import re

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import laplace

import dxopt as dx
from dxopt.spec import load
from problems.ecp14 import leakage, settings
from tests.judges.exact import violations
from tests.material.files import PROBLEMS

ROOT = PROBLEMS.parent
PAGE = (ROOT / "docs" / "theory" / "corrections.md").read_text(encoding="utf-8")
FIELDS = ["Printed", "Wrong", "Instead", "Counterexample", "Found", "Test"]
PARTS = [part.split("\n## ")[0].partition("\n") for part in PAGE.split("\n### ")[1:]]
FIELD = re.compile(r"- \*\*(\w+):\*\* ((?:(?!\n- ).)+)", re.DOTALL)
ENTRIES = {name: {field: " ".join(said.split()) for field, said in FIELD.findall(text)} for name, _, text in PARTS}
SHOWN = sorted(set(re.findall(r"`([\w-]+\.yaml)`", PAGE)))


def problems(name: str) -> list[dx.Problem]:
    return [task.problem for task in load(PROBLEMS / f"{name}.yaml")]


def statuses(name: str) -> list[str]:
    """Of the prior of each problem of a file."""
    return [dx.regularity.verdict(one.prior, one.space, float(one.epsilon)).status for one in problems(name)]  # pyright: ignore


def tight_exists(problem: dx.Problem) -> bool:
    try:
        dx.tight_constraints(problem.space, float(problem.epsilon))  # pyright: ignore
    except dx.NoTightMechanism:
        return False
    return True


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_whole(name: str) -> None:
    """All six fields, problem files that are there, and tests that are there; its own test among them."""
    entry = ENTRIES[name]
    assert list(entry) == FIELDS
    for file in re.findall(r"`([^`]+\.yaml)`", entry["Counterexample"]):
        assert (PROBLEMS / file).is_file(), file
    assert re.search(r"`[^`]+\.yaml`|^none\b|`dx\.", entry["Counterexample"])
    assert re.match(r"here\b|known\b", entry["Found"])
    tests = re.findall(r"`([\w/]+\.py)::(\w+)`", entry["Test"])
    if not tests:
        assert entry["Test"].startswith("none: ")
        return
    for file, function in tests:
        tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, function
    own = "test_" + re.sub(r"\W+", "_", name.lower())
    assert own in {function for _, function in tests}


def test_the_table_has_every_entry() -> None:
    rows = re.findall(r"^\| \[([^\]]+)\]\(#([^)]+)\) \| (\w[\w ]*) \| [^|]+ \| ?([^|]*) \|$", PAGE, re.MULTILINE)
    assert [name for name, *_ in rows] == list(ENTRIES)
    for name, anchor, kind, files in rows:
        assert anchor == name.lower().replace(" ", "-")
        assert kind in {"false", "number", "sign", "misprint", "loose", "not sharp"}
        for file in re.findall(r"`([^`]+)`", files):
            assert f"`{file}`" in ENTRIES[name]["Counterexample"]
    assert {file.name for file in PROBLEMS.glob("corrections-*.yaml")} <= set(SHOWN)


def test_the_tables_of_the_papers_lead_here() -> None:
    """What a table calls printed otherwise, false or missing is an entry of this page, linked from there."""
    for key in ("cabp13", "cha13", "ecp14", "hlm14"):
        text = (ROOT / "docs" / "theory" / "papers" / f"{key}.md").read_text(encoding="utf-8")
        linked = set(re.findall(r"\(\.\./corrections\.md#([^)]+)\)", text))
        assert linked <= {name.lower().replace(" ", "-") for name in ENTRIES}
        assert linked or key in ("cabp13", "hlm14")


def test_cabp13_theorems_11_to_13() -> None:
    universe = dx.Universe.databases([0, 1], 2, absent=True, empty=False)
    average = dx.queries.average(universe)
    for metric, delta in (("normalised_manhattan", 1), ("manhattan", 1), ("chebyshev", 1)):
        found = dx.queries.sensitivity(average, universe.space(metric), average.space())
        assert (found.delta, found.uniform, found.apart) == (delta, False, (0.0, 0.5))
    alone = dx.Universe.databases([0, 1], 1)
    assert dx.queries.sensitivity(dx.queries.average(alone), alone.space("manhattan"), dx.line(2)).uniform
    (problem,) = problems("corrections-cabp13-average")
    assert problem.space.distances == pytest.approx(1 - np.eye(3))
    assert dx.solve(problem).certificate.value == pytest.approx(0.5, abs=1e-9)
    geometric = dx.classic.geometric(average.space(), epsilon=math.log(2))
    assert dx.evaluate.smallest_epsilon(geometric) <= math.log(2) * (1 + 1e-12)
    lost = 1 - dx.evaluate.utility(geometric, problem.prior)
    assert lost == pytest.approx(4 / (3 + 3 * math.sqrt(2)), abs=1e-9)
    assert lost > 0.55


def test_cabp13_definition_7() -> None:
    two = dx.line(2)
    uniform = dx.Prior.uniform(two)
    geometric = dx.classic.geometric(two, epsilon=1.0)
    constant = dx.Mechanism.from_matrix(two, [[1.0, 0.0], [1.0, 0.0]])
    losses = [1 - dx.evaluate.utility(one, uniform) for one in (geometric, constant)]
    assert losses == pytest.approx([1 / (1 + math.e), 0.5])
    assert losses[0] < losses[1], "with ≥ the constant report would be optimal"
    for problem in problems("cabp13-theorem-8-count-hamming"):
        loss = dx.evaluate.adversary_error(
            dx.classic.geometric(problem.space, epsilon=problem.epsilon), problem.prior
        )  # pyright: ignore
        worse = dx.evaluate.adversary_error(
            dx.Mechanism.from_matrix(problem.space, np.full((4, 4), 0.25)), problem.prior
        )
        assert loss == pytest.approx(dx.solve(problem).certificate.value, abs=1e-6)
        assert loss < worse


def test_cabp13_theorem_10() -> None:
    bit = dx.Universe.databases([0, 1], 1)
    identity = dx.queries.total(bit)
    found = dx.queries.sensitivity(identity, bit.space("manhattan"), identity.space())
    assert (found.delta, found.uniform) == (1.0, True)
    geometric = dx.classic.geometric(identity.space(), epsilon=2.0).matrix
    assert violations(geometric, bit.space("manhattan").distances, 1.0) != []
    assert violations(geometric, bit.space("manhattan").distances, 2.0) == []
    (problem,) = problems("cabp13-theorem-12-sum-manhattan")
    remapped = dx.evaluate.adversary_error(dx.classic.geometric(problem.space, epsilon=1.0), problem.prior)
    assert remapped == pytest.approx(dx.solve(problem).certificate.value, abs=1e-7)


def test_cabp13_figure_2() -> None:
    def row_sums(base: float, epsilon: float, q: float, k: int) -> np.ndarray:
        power = base ** (q * epsilon)
        scale = np.array([power, *[power - 1] * (k - 1), power]) / (power + 1)
        at = q * np.arange(k + 1)
        return (scale * np.exp(-epsilon * np.abs(at[:, None] - at))).sum(axis=1)

    assert row_sums(1.0, 1.0, 1.0, 2)[0] == pytest.approx((1 + math.exp(-2)) / 2)
    for epsilon, q, k in ((1.0, 1.0, 2), (0.3, 2.0, 5)):
        assert np.abs(row_sums(epsilon, epsilon, q, k) - 1).max() > 0.1
        assert row_sums(math.e, epsilon, q, k) == pytest.approx(1.0, abs=1e-14)
    for problem in problems("ecp14-count-query"):
        power = math.exp(float(problem.epsilon))  # pyright: ignore
        diagonal = dx.solve(problem, method="tight").mechanism.matrix.diagonal()
        assert diagonal[[0, 1]] == pytest.approx([power / (power + 1), (power - 1) / (power + 1)], abs=1e-9)


def test_cabp13_sum_query() -> None:
    for q, k in ((1, 2), (0.5, 3)):
        universe = dx.Universe.databases([q * i for i in range(k + 1)], 2, absent=True, empty=False)
        total = dx.queries.total(universe)
        assert dx.queries.sensitivity(total, universe.space("hamming"), total.space()).delta == pytest.approx(q * k)
    (problem,) = problems("cabp13-theorem-9-sum-hamming")
    assert (problem.space.distances[0, 1:3] == 1).all()
    assert problem.space.distances[0, 3] == 2


def test_cabp13_maximum_metric() -> None:
    def obeys(metric: np.ndarray, delta: float, single: np.ndarray) -> bool:
        return np.array_equal(metric <= delta, single <= delta)

    values = np.arange(3)
    single = np.abs(values[:, None] - values).astype(float)
    other = np.minimum(single, 1.5)
    assert not np.array_equal(single, other)
    assert all(other[x, z] <= other[x, y] + other[y, z] for x, y, z in itertools.product(values, repeat=3))
    assert obeys(other, 1.0, single)
    assert not all(obeys(other, delta, single) for delta in (0.5, 1.0, 1.5, 2.0))
    assert all(obeys(single, delta, single) for delta in (0.5, 1.0, 1.5, 2.0))


def test_cabp13_example_2() -> None:
    hidden = {epsilon: dx.traces.on_line().error_quantile(0.5, epsilon) for epsilon in (0.1, 0.5)}
    assert hidden[0.1] == pytest.approx(5 * hidden[0.5])
    assert [laplace(scale=1 / epsilon).expect(abs) for epsilon in (0.1, 0.5)] == pytest.approx([10, 2], rel=1e-6)
    for epsilon, together in ((0.1, 3), (0.5, 15)):
        run = dx.traces.IndependentNoise(dx.traces.on_line(), epsilon).run(np.zeros(30), np.random.default_rng(0))
        assert run.spent == pytest.approx(together)


def test_cabp13_removal() -> None:
    (problem,) = problems("corrections-cabp13-removal")
    record = dx.Universe.databases([0, 1], 1, absent=True)
    removal, hamming = (space.distances for space in (problem.space, record.space("hamming")))
    assert np.array_equal(removal, dx.neighbours(record, "unbounded").distances)
    assert (removal / 2 <= hamming).all()
    assert (hamming <= removal).all()
    level = math.log(2)
    best = dx.solve(problem, method="tight").mechanism.matrix
    under_hamming = dx.Mechanism.from_matrix(record.space("hamming"), best)
    assert dx.evaluate.smallest_epsilon(under_hamming) == pytest.approx(2 * level), "this way ε is doubled"
    private = dx.tight_constraints(record.space("hamming"), level).matrix
    assert violations(private, hamming, level * (1 + 1e-12)) == []
    assert violations(private, removal, level * (1 + 1e-12)) == [], "this way it is not"


def test_cha13_zero_utility() -> None:
    (problem, *_) = problems("ecp14-example-2")
    size, grown = len(problem.space), math.exp(float(problem.epsilon) * problem.space.distances.max())  # pyright: ignore
    right = 1 - dx.solve(problem).certificate.value
    assert right == pytest.approx(grown / (size - 1 + grown), abs=1e-6)
    assert 1 / size < right <= 1 / size + (grown - 1) / size


def test_ecp14_example_1() -> None:
    for name in ("corrections-ecp14-example-1", "corrections-ecp14-example-1-volume"):
        levels = [float(one.epsilon) for one in problems(name)]  # pyright: ignore
        assert levels == sorted(levels)
        assert statuses(name) == ["regular", "not regular", "regular"], "the region does not expand"
    six = problems("corrections-ecp14-example-1-volume")
    volumes = [abs(np.linalg.det(dx.regularity.phi(one.space, one.epsilon))) for one in six]  # pyright: ignore
    assert volumes[1] < 1e-15 < 0.01 < min(volumes[0], volumes[2])


def test_ecp14_example_3() -> None:
    (problem,) = problems("ecp14-example-3-counterexample")
    assert statuses("ecp14-example-3-counterexample") == ["not regular"]
    one = dx.solve(problem).certificate
    leaked = 5 * math.log2((1 - one.value) / 0.3)
    assert leaked > 1.344 > 1.25 > settings.PRINTED.example_3_bound
    assert leaked <= leakage.proven_bound(0.5) + 1e-7
    found = dx.regularity.threshold(problem.space, problem.prior)
    assert found.value == pytest.approx(math.log(2), abs=1e-6)


def test_ecp14_proposition_3() -> None:
    problem = problems("ecp14-example-1-line")[0]
    assert problem.epsilon == 0.7
    phi = dx.regularity.phi(problem.space, 0.7)
    found = dx.regularity.verdict(problem.prior, problem.space, 0.7)
    assert found.mu is not None
    assert found.gamma is not None
    prior = np.full(3, 1 / 3)
    assert found.gamma == pytest.approx(found.mu * phi.sum(axis=1))
    # as printed, and as it should be
    assert found.gamma @ phi != pytest.approx(prior, rel=0.1)
    assert (found.gamma @ phi).sum() == pytest.approx(1.7991, abs=1e-4)
    corners = np.array([one.probabilities for one in dx.regularity.corner_priors(problem.space, 0.7)])
    assert found.gamma @ corners == pytest.approx(prior, abs=1e-12)
    assert found.mu @ phi == pytest.approx(prior, abs=1e-12)
    assert found.gamma.sum() == pytest.approx((found.mu @ phi).sum()) == pytest.approx(1.0, abs=1e-12)


def test_ecp14_hamming_threshold() -> None:
    for problem in problems("corrections-ecp14-section-6-1"):
        assert tight_exists(problem)
    for values, records in ((2, 4), (4, 2)):
        databases = dx.Universe.databases(range(values), records).space("hamming")
        for level in (1e-3, 0.05, 1.0):
            assert dx.regularity.verdict("uniform", databases, level).status == "regular"
    # of answers there is a threshold
    answers = dx.queries.induced_sums(range(6), 2)
    assert [dx.regularity.verdict("uniform", answers, level).status for level in (0.8, 1.3)] == [
        "not regular",
        "regular",
    ]


def test_ecp14_corollary_3() -> None:
    (problem,) = problems("corrections-ecp14-corollary-3")
    assert tight_exists(problem)
    report = dx.solve(problem, method="optimal")
    assert report.certificate.gap <= 1e-9
    tight = dx.tight_constraints(problem.space, 1.0)
    assert dx.evaluate.utility(tight, problem.prior) == pytest.approx(0.25, abs=1e-9)
    assert 1 - report.certificate.value == pytest.approx(0.25, abs=1e-9)
    found = dx.regularity.is_optimal_on_region(report.mechanism, 1.0)
    assert found.status == "not optimal"
    assert found.shortfall > 1e-3


def test_ecp14_proposition_9() -> None:
    problem = problems("ecp14-example-1-circle")[0]
    distances, total = 0.7 * problem.space.distances, np.exp(-0.7 * problem.space.distances).sum(axis=1)[0]
    assert (np.exp(distances) / total).sum(axis=1) == pytest.approx([2.5224] * 3, abs=1e-4)
    found = dx.solve(problem).mechanism.matrix
    assert found == pytest.approx(np.exp(-distances) / total, abs=1e-12)
    assert found.sum(axis=1) == pytest.approx(1.0, abs=1e-14)


def test_ecp14_thresholds() -> None:
    for name, printed in (
        ("corrections-ecp14-section-7-1-sum", settings.PRINTED.sum_threshold),
        ("corrections-ecp14-section-7-1-two-counts", settings.PRINTED.counts_threshold),
    ):
        below, above = problems(name)
        assert below.epsilon == printed
        assert statuses(name) == ["not regular", "regular"]
        assert not tight_exists(below)
        assert tight_exists(above)


def test_ecp14_minimum_level() -> None:
    found = problems("corrections-ecp14-section-7-1")
    assert [one.epsilon for one in found] == [0.3, 0.5, 0.7]
    assert statuses("corrections-ecp14-section-7-1") == ["regular", "not regular", "regular"]
    assert [tight_exists(one) for one in found] == [True, False, True]


def test_ecp14_figure_7() -> None:
    below, above = problems("corrections-ecp14-figure-7")
    assert below.epsilon == settings.PRINTED.locations_from
    assert [tight_exists(one) for one in (below, above)] == [False, True]
    places = settings.locations()
    assert dx.regularity.verdict(dx.Prior.uniform(places), places, 0.4).status == "not regular"


def test_hlm14_theorem_4() -> None:
    (problem,) = problems("corrections-hlm14-theorem-4")
    matrix = dx.solve(problem, method="tight").mechanism.matrix
    level = float(problem.epsilon)  # pyright: ignore
    assert matrix == pytest.approx(np.array([[3, 1], [1, 3]]) / 4)
    assert violations(matrix, problem.space.distances, level * (1 + 1e-12)) == []
    for x, event in itertools.product(range(2), ([0], [1], [0, 1])):
        chance, other = (matrix[secret, event].sum() for secret in (x, 1 - x))
        assert chance <= math.exp(level) * other + 1e-12
    assert matrix[0, 0] > matrix[1, 0] + 0.4, "without the factor it is false"


def test_hlm14_balls() -> None:
    (problem,) = problems("corrections-hlm14-section-6")
    loss = np.array([[0.5, 1.5], [1.5, 0.5]])
    report = dx.solve(problem)
    matrix, error = report.mechanism.matrix, report.certificate.value
    assert error == pytest.approx(0.75, abs=1e-7)
    assert dx.evaluate.worst_loss(report.mechanism, loss) == pytest.approx(error, abs=1e-9)
    diameter = problem.space.distances.max()
    t = diameter / (2 * error)
    assert 1 - 1 / t == pytest.approx(0.25, abs=1e-6)
    # no report is one of the places: the ball in D catches none of them, the ball in U the nearer one
    in_d, in_u = 0.0, matrix[0, loss[0] < t * error].sum()
    assert in_d < 1 - 1 / t, "equation 17 with balls in D"
    assert in_u == pytest.approx(0.75, abs=1e-6)
    assert in_u >= 1 - 1 / t, "equation 17 with balls in U"
    assert error >= diameter / (2 * (1 + 3)), "Theorem 6"
    for seed in range(5):
        rng = np.random.default_rng(seed)
        places = rng.normal(size=(7, 2))
        apart = np.linalg.norm(places[:3, None] - places[None], axis=2)
        elsewhere = dx.Reports(tuple(map(str, range(7))))
        drawn = dx.Mechanism.from_matrix(dx.line(3), rng.dirichlet(np.full(7, 0.4), size=3), elsewhere)
        error = dx.evaluate.worst_loss(drawn, apart)
        for t in (1.1, 1.5, 3.0):
            caught = (drawn.matrix * (apart < t * error)).sum(axis=1)
            assert (caught >= 1 - 1 / t - 1e-12).all(), "equation 17 with balls in U, of any mechanism"


def test_hlm14_lemma_4() -> None:
    one = dx.Mechanism.from_matrix(dx.MetricSpace.from_points([[0.0]]), [[1.0]])
    assert dx.evaluate.worst_loss(one, "distance") == 0
    two = dx.line(2)
    for delta in (0.0, 0.5, 0.9):
        problem = dx.Problem(two, epsilon=0.5, delta=delta, loss="distance", objective="worst_loss")
        assert dx.solve(problem).certificate.bound > 0.01


def test_hlm14_example_5() -> None:
    for epsilon, delta in ((1.0, 0.2), (0.5, 0.05)):
        printed, exact = (
            dx.sanitisation.laplace_scale(1.0, epsilon=epsilon, delta=delta, exact=e) for e in (False, True)
        )
        assert printed == pytest.approx(1 / (epsilon - math.log(1 - delta)))
        assert exact == pytest.approx(1 / (epsilon - 2 * math.log(1 - delta)))
        assert exact < printed
    both = [dx.sanitisation.laplace_scale(1.0, epsilon=1.0, exact=exact) for exact in (False, True)]
    assert both[0] == pytest.approx(both[1])


def test_hlm14_theorem_7() -> None:
    (problem,) = problems("corrections-hlm14-theorem-7")
    kappa, places = problem.space.distances[0, 1], len(problem.space)
    least = kappa * (places - 1) / (places - 1 + math.exp(0.2))
    assert least == pytest.approx(1.2417, abs=1e-4)
    assert (problem.budgets[~np.eye(3, dtype=bool)]) == pytest.approx(0.2)
    found = dx.solve(problem).certificate
    assert found.value == pytest.approx(1.0, abs=1e-7)
    assert found.value < least - 0.2, "a report outside of D beats the printed bound"
    apart = np.block([[problem.space.distances, np.ones((3, 1))], [np.ones((1, 3)), np.zeros((1, 1))]])
    assert all(apart[x, z] <= apart[x, y] + apart[y, z] for x, y, z in itertools.product(range(4), repeat=3))
    inside = dx.solve(problem.but(reports=dx.Reports.of(problem.space), loss="distance")).certificate
    assert inside.bound == pytest.approx(least, abs=1e-6)


def test_two_points_obey_hlm14_theorem_7_wherever_reports_are() -> None:
    """A report at a and 2 - a or further from two places 2 apart: the least worst loss is never below the bound."""
    grown = math.exp(0.2)
    least = 2 / (1 + grown)
    for a in np.linspace(0.0, 1.0, 5):
        losses = np.array([[0, 2, a], [2, 0, 2 - a]])
        rows = [[*losses[0], 0, 0, 0, -1], [0, 0, 0, *losses[1], -1]]
        private = [[*-grown * np.eye(3)[z], *np.eye(3)[z], 0] for z in range(3)]
        private += [[*np.eye(3)[z], *-grown * np.eye(3)[z], 0] for z in range(3)]
        sums = [[1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0]]
        found = linprog([0] * 6 + [1], A_ub=[*rows, *private], b_ub=np.zeros(8), A_eq=sums, b_eq=[1, 1])
        assert found.fun >= least - 1e-9
