"""The problem files that ship: the data is what the sources say. Their values are in `tests/golden`."""

from __future__ import annotations

import csv

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.analysis.held_out import worth_on
from dxopt.batch.answering import task_warnings
from dxopt.solving.solve import solve
from dxopt.spec import Task, load
from tests.judges.oracle import optimum
from tests.material.files import PROBLEMS

pytestmark = pytest.mark.filterwarnings("error::dxopt.PlausibilityWarning")
TASKS = [task for file in sorted(PROBLEMS.glob("*.yaml")) for task in load(file)]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.problem.name)
def test_no_problem_is_warned_of(task: Task) -> None:
    assert task_warnings(task) == ()


def test_every_published_or_real_problem_is_there() -> None:
    names = {task.origin.path.stem for task in TASKS}
    assert {"montreal-60", "montreal-249", "doctor-visits", "ecp14-count-query", "ecp14-example-2"} <= names
    assert {"cha13-frontier", "cha13-budget-frontier", "hlm14-theorem-7-smallest-epsilon"} <= names
    assert {"words", "nauru", "town-roads"} <= names
    assert {"cha13-optimal-adversary-error", "hlm14-example-7", "des20-one-sided", "cabp13-risk-averse"} <= names


def test_data_files() -> None:
    def rows(name: str) -> list[dict[str, str]]:
        with (PROBLEMS / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    zones, visits = rows("montreal-carshare.csv"), rows("doctor-visits.csv")
    assert len(zones) == 249
    assert sum(float(zone["weight"]) for zone in zones) == pytest.approx(272039.6666666, rel=1e-9)
    assert [int(row["visits"]) for row in visits] == list(range(78))
    assert sum(int(row["people"]) for row in visits) == 20190
    parts = [row for name in ("montreal-30.csv", "montreal-219.csv") for row in rows(name)]
    assert sorted(map(str, parts)) == sorted(map(str, zones))
    some, others = ([int(row["people"]) for row in rows(f"doctor-visits-{name}.csv")] for name in ("300", "rest"))
    assert sum(some) == 300
    assert [few + rest for few, rest in zip(some, others, strict=True)] == [int(row["people"]) for row in visits]


def test_words_and_junctions_are_those_of_their_tables() -> None:
    """Of both real problems: every place has its row, and the distances are those of the source."""
    (words,) = [task.problem for task in TASKS if task.problem.name == "words"]
    (island,) = [task.problem for task in TASKS if task.problem.name == "nauru"]
    assert (len(words.space), len(island.space)) == (150, 106)
    assert list(words.space.labels[:3]) == ["that", "with", "this"]
    for problem, file, name, value in (
        (words, "word-frequencies.csv", "word", "per_million"),
        (island, "nauru-streets.csv", "node", "metres"),
    ):
        with (PROBLEMS / file).open(newline="", encoding="utf-8") as rows:
            found = {row[name]: float(row[value]) for row in csv.DictReader(rows)}
        weights = np.array([found[label] for label in problem.space.labels])
        assert problem.prior.probabilities == pytest.approx(weights / weights.sum(), rel=1e-12)
    # Ways are never shorter than the crow flies, one-way streets make them longer one way, and nobody is cut off.
    network = nx.read_graphml(PROBLEMS / "nauru.graphml")
    ways = dict(nx.all_pairs_dijkstra_path_length(network, weight=lambda _, __, street: float(street["length"])))
    expected = [[ways[start][end] / 1000 for end in island.space.labels] for start in island.space.labels]
    assert island.space.distances == pytest.approx(np.array(expected), abs=1e-9)
    assert np.abs(island.space.distances - island.space.distances.T).max() == pytest.approx(0.058494)
    found = dx.geo.positions(island.space)
    assert (island.space.distances >= dx.geo.points(found.degrees).distances * (1 - 1e-9)).all()


@pytest.mark.parametrize("name", ["words", "nauru"])
def test_some_words_and_junctions_agree_with_a_dense_program(name: str) -> None:
    """The first 14 of each, by HiGHS on all pairs; the whole files are too large for that."""
    (whole,) = [task.problem for task in TASKS if task.problem.name == name]
    some = whole.space.distances[:14, :14]
    space = dx.MetricSpace.from_distances(some)
    prior = dx.Prior.from_weights(space, whole.prior.probabilities[:14])
    report = solve(dx.Problem(space, epsilon=whole.epsilon, prior=prior))
    assert report.certificate.private
    assert report.certificate.gap <= 1e-6
    best = optimum(some, whole.epsilon, prior.probabilities, some)
    assert report.certificate.value == pytest.approx(best, rel=1e-6, abs=1e-7)


def test_what_is_usual_for_words_and_roads_loses() -> None:
    """The tables of docs/guides/words.md and locations.md, but for the noise, which takes seconds."""
    (words,) = [task.problem for task in TASKS if task.problem.name == "words"]
    (island,) = [task.problem for task in TASKS if task.problem.name == "nauru"]
    shown = [
        (words, dx.classic.truncated_exponential(words.space, epsilon=2), 2.612, 1.350),
        (words, dx.classic.truncated_exponential(words.space, epsilon=2, radius=3), 3.341, 1.112),
        (words, dx.tight_constraints(words.space, 2), 0.496, 2.0),
        (words, dx.classic.multivariate_laplace(words.space, epsilon=2, rate=2), 4.011, 1.026),
        (island, dx.classic.graph_exponential(island.space, epsilon=island.epsilon), 0.552, island.epsilon),
        (island, dx.classic.exponential(island.space, epsilon=island.epsilon), 0.569, 4.467),
    ]
    for problem, mechanism, loss, level in shown:
        assert mechanism.privacy is not None
        assert mechanism.privacy.epsilon == pytest.approx(level, abs=5.1e-4)
        assert dx.evaluate.expected_loss(mechanism, problem.prior) == pytest.approx(loss, abs=5.1e-4)


def test_what_smoothing_is_worth_on_other_people() -> None:
    """The table of docs/guides/counts.md."""
    tasks = [task for task in TASKS if task.origin.path.stem == "doctor-visits-300"]
    shown = [(1.210, 1.357, 0.007, 25.0), (1.319, 1.312, 0.005, 3.4), (1.309, 1.316, 0.005, 4.3)]
    for task, (promised, loss, error, worst) in zip(tasks, shown, strict=True):
        report = solve(task.problem)
        ((data, _),) = task.held_out
        found = worth_on(data, report.mechanism, task.problem.loss, task.problem.prior.probabilities)
        assert found.data.rows == 19_890
        assert report.certificate.value == pytest.approx(promised, abs=5.1e-4)
        assert found.loss == pytest.approx(loss, abs=5.1e-4)
        assert found.standard_error == pytest.approx(error, abs=5.1e-4)
        assert found.worst == pytest.approx(worst, abs=0.06)
