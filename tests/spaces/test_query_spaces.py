"""The answers to queries in problem files, and the files that illustrate CABP13."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.spec import Task, load
from tests.judges.brute_force import QUERIES, answers_of, databases, distance, induced, remapped, truncated_geometric
from tests.judges.oracle import optimum
from tests.material.files import PROBLEMS
from tests.material.spec_files import assert_space, assert_space_refused

q = dx.queries
RECORDS = "{kind: databases, values: [0, 1, 2], records: 2, absent: true, empty: false"
NUMBERS = dx.Universe.databases([0, 1, 2], 2, absent=True, empty=False)
FULL = dx.Universe.databases([0, 1, 2], 2)
PAIRS = dx.Universe.databases([(0, "a"), (1, "a"), (1, "b")], 2)
MANHATTAN = f"universe: {RECORDS}, metric: manhattan}}"
GOOD = {
    f"{{kind: answers, query: sum, {MANHATTAN}}}": q.total(NUMBERS).induced(NUMBERS.space("manhattan")),
    f"{{kind: answers, query: average, {MANHATTAN}, metric: induced}}": q.average(NUMBERS).induced(
        NUMBERS.space("manhattan")
    ),
    f"{{kind: answers, query: minimum, {MANHATTAN}}}": q.percentile(NUMBERS, 0).induced(NUMBERS.space("manhattan")),
    f"{{kind: answers, query: median, {MANHATTAN}}}": q.percentile(NUMBERS, 50).induced(NUMBERS.space("manhattan")),
    "{kind: answers, query: percentile, percentile: 51, universe: {kind: databases, values: [0, 1, 2], records: 2, "
    "neighbours: one_sided, sensitive: [2]}}": q.percentile(FULL, 100).induced(
        dx.neighbours(FULL, "one_sided", sensitive=[2])
    ),
    f"{{kind: answers, query: count, of: [0, 2], universe: {RECORDS}, neighbours: bounded}}}}": q.count(
        NUMBERS, lambda value: value != 1
    ).induced(dx.neighbours(NUMBERS, "bounded")),
    f"{{kind: answers, query: counts, of: [[0, 2], [1]], universe: {RECORDS}, metric: hamming}}}}": q.counts(
        NUMBERS, lambda value: value != 1, lambda value: value == 1
    ).induced(NUMBERS.space("hamming")),
    "{kind: answers, query: count, of: [[1, a]], universe: {kind: databases, values: [[0, a], [1, a], [1, b]], "
    "records: 2, neighbours: attribute}}": q.count(PAIRS, lambda value: value == (1, "a")).induced(
        dx.neighbours(PAIRS, "attribute")
    ),
    f"{{kind: answers, query: identity, universe: {RECORDS}, neighbours: one_sided, sensitive: [2]}}}}": q.identity(
        NUMBERS
    ).induced(dx.neighbours(NUMBERS, "one_sided", sensitive=[2])),
    f"{{kind: answers, query: average, universe: {RECORDS}}}, metric: euclidean}}": q.average(NUMBERS).space(),
    f"{{kind: answers, query: counts, of: [[0], [1]], universe: {RECORDS}}}, metric: manhattan}}": q.counts(
        NUMBERS, lambda value: value == 0, lambda value: value == 1
    ).space("manhattan"),
}
SUM = "{kind: answers, query: sum, "
BAD = {
    f"{{kind: answers, {MANHATTAN}}}": ("", "space.query: is missing; add query"),
    f"{SUM}metric: induced}}": ("", "space.universe: is missing"),
    f"{{kind: answers, query: total, {MANHATTAN}}}": (
        "total",
        "space.query: there is no 'total'; choose one of count",
    ),
    f"{SUM}universe: {RECORDS}}}}}": ("universe", "space.universe.neighbours: are missing"),
    f"{SUM}universe: {RECORDS}, metric: hamming, neighbours: both}}}}": (
        "both",
        "space.universe.neighbours: does not go with a metric",
    ),
    f"{SUM}universe: {RECORDS}, metric: l1}}}}": ("l1", "space.universe.metric: there is no 'l1'"),
    f"{SUM}universe: {RECORDS}, neighbours: group}}}}": ("group", "space.universe.neighbours: group needs size"),
    f"{SUM}universe: {RECORDS}, neighbours: edge}}}}": ("edge", "space.universe.neighbours: are about graphs"),
    f"{SUM}universe: {RECORDS}, records_: 2}}}}": ("records_", "space.universe.records_: is no known key"),
    f"{SUM}universe: 3}}": ("3", "space.universe: is the number 3; give a mapping"),
    f"{SUM}universe: {{kind: graphs, nodes: 3}}}}": ("graphs", "space.universe.kind: is the text 'graphs'"),
    f"{SUM}universe: {{kind: databases, values: [0, 0], records: 2, metric: hamming}}}}": (
        "values",
        "space.universe.values: contain the same twice",
    ),
    f"{SUM}universe: {{kind: databases, values: [0, 1], records: 99, metric: hamming}}}}": (
        "values",
        "space.universe.values: has over ",
    ),
    f"{SUM}{MANHATTAN}, metric: euclidean}}": (
        "manhattan",
        "space.universe.metric: does not go with metric: euclidean; leave it out",
    ),
    f"{SUM}universe: {RECORDS}, neighbours: both}}, metric: euclidean}}": (
        "both",
        "space.universe.neighbours: does not go with metric: euclidean",
    ),
    f"{SUM}{MANHATTAN}, metric: haversine}}": ("haversine", "space.metric: there is no 'haversine'"),
    f"{SUM}{MANHATTAN}, of: [1]}}": ("of", "space.of: does not go with query: sum"),
    f"{SUM}{MANHATTAN}, percentile: 5}}": ("5}", "space.percentile: does not go with query: sum"),
    f"{{kind: answers, query: count, {MANHATTAN}}}": ("count", "space.query: count needs of; add of"),
    f"{{kind: answers, query: percentile, {MANHATTAN}}}": ("percentile", "space.query: percentile needs percentile"),
    f"{{kind: answers, query: percentile, percentile: 101, {MANHATTAN}}}": (
        "101",
        "space.percentile: is the number 101; give a number of at most 100",
    ),
    f"{{kind: answers, query: percentile, percentile: -1, {MANHATTAN}}}": (
        "-1",
        "space.percentile: is the number -1; give a number of at least 0",
    ),
    f"{{kind: answers, query: count, of: [0, 3], {MANHATTAN}}}": (
        "3",
        r"space.of\[1\]: is the number 3, which no record can be; choose from 0, 1, 2",
    ),
    f"{{kind: answers, query: count, of: [true], {MANHATTAN}}}": ("true", r"space.of\[0\]: is true, which no record"),
    f"{{kind: answers, query: count, of: [], {MANHATTAN}}}": ("of", "space.of: has 0 entries; give at least 1"),
    f"{{kind: answers, query: counts, of: [1, 2], {MANHATTAN}}}": ("1, 2", r"space.of\[0\]: is the number 1; write"),
    f"{{kind: answers, query: counts, of: [[1], [2, a]], {MANHATTAN}}}": (
        "a]],",
        r"space.of\[1\]\[1\]: is the text 'a', which no record can be",
    ),
    f"{SUM}universe: {{kind: databases, values: [a, b], records: 2, metric: hamming}}}}": (
        "sum",
        "space.query: is about numbers, not 'a'; give records that are finite numbers",
    ),
    "{kind: answers, query: median, universe: {kind: databases, values: [a, 1], records: 2, metric: hamming}}": (
        "median",
        "space.query: is about numbers, not 'a'",
    ),
    "{kind: answers, query: average, universe: {kind: databases, values: [0, 1], records: 2, absent: true, "
    "metric: hamming}}": ("average", "space.query: average of the empty database is not defined; set empty to false"),
    "{kind: answers, query: identity, universe: {kind: databases, values: [a, b], records: 2}, metric: euclidean}": (
        "euclidean",
        "space.metric: is for answers that are numbers; take the induced one",
    ),
}


@pytest.mark.parametrize("text", list(GOOD))
def test_spaces_are_those_of_the_library(tmp_path: Path, text: str) -> None:
    assert_space(tmp_path, text, GOOD[text])


@pytest.mark.parametrize("text", list(BAD))
def test_what_is_wrong_is_named(tmp_path: Path, text: str) -> None:
    assert_space_refused(tmp_path, text, *BAD[text])


NAMED = re.compile(r"cabp13-theorem-(\d+)-(sum|average|median)-(.*)")
METRICS = {"9": "hamming", "11": "normalised_manhattan", "12": "manhattan", "13": "chebyshev"}
SENSITIVITY = {"9": 2.0, "11": 2.0, "12": 1.0, "13": 1.0}
TASKS = [task for file in sorted(PROBLEMS.glob("cabp13-theorem-*.yaml")) for task in load(file)]
JUDGED = [(task, found) for task in TASKS if (found := NAMED.fullmatch(task.problem.name))]


@pytest.mark.parametrize(("task", "found"), JUDGED, ids=lambda given: getattr(given, "string", ""))
def test_problems_of_the_paper(task: Task, found: re.Match[str]) -> None:
    """The distances and the value of each file from all pairs of databases; the geometric mechanism as it is claimed.

    Averages do not obey Thms 11 to 13, and for sums and medians under the Hamming distance Thm 9 leaves no mechanism
    that is the best under every prior; there the geometric one loses, by more than 1e-3.
    """
    theorem, name, _ = found.groups()
    values, secrets = [0, 1, 2], databases([0, 1, 2], 3)
    between = np.array([[distance(METRICS[theorem], values, x, other) for other in secrets] for x in secrets])
    answers, indices = answers_of(QUERIES[name], secrets)
    apart = induced(between, indices)
    assert task.problem.space.distances == pytest.approx(apart, rel=1e-15)
    assert [float(label) for label in task.problem.space.labels] == [float(answer) for answer in answers]
    prior = np.full(len(answers), 1 / len(answers))
    losses = np.array([[float(abs(y - z)) for z in answers] for y in answers])
    if theorem in ("11", "12", "13") and name != "average":
        losses = apart
    if (theorem, name) == ("9", "median"):
        losses = 1 - np.eye(len(answers))
    best = optimum(apart, task.problem.epsilon, prior, losses)
    assert task.expect is not None
    assert task.expect.value == pytest.approx(best, abs=1e-9)
    grid = [Fraction(sixths, 6) for sixths in range(13)] if name == "average" else answers
    noisy = truncated_geometric([float(value) for value in grid], task.problem.epsilon / SENSITIVITY[theorem])
    noise = remapped(noisy[[grid.index(answer) for answer in answers]], prior, losses)
    if "equal to the truncated geometric" in task.expect.source:
        assert noise == pytest.approx(best, abs=1e-9)
    else:
        assert noise > best + 1e-3


def test_every_theorem_has_its_problems() -> None:
    assert {(found[1], found[2]) for _, found in JUDGED} == {
        *((theorem, name) for theorem in ("9", "11", "12") for name in ("sum", "average", "median")),
        *(("13", name) for name in ("average", "median")),
    }
    optimal = [task.problem.name for task, _ in JUDGED if task.expect and "equal to" in task.expect.source]
    assert len(optimal) == 5


def test_counts_of_the_paper() -> None:
    """CABP13 Thm 8, from the closed form of the geometric mechanism."""
    for task in (task for task in TASKS if "theorem-8" in task.problem.name):
        line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
        assert task.problem.space.distances.tolist() == line.tolist()
        noise = remapped(truncated_geometric(range(4), task.problem.epsilon), np.full(4, 0.25), line)
        assert task.expect is not None
        assert task.expect.value == pytest.approx(noise, abs=1e-12)


def test_figure_1() -> None:
    """4/9 for secrets on a line; 1/2 where all answers are 1 apart: the former is not for the latter."""
    (task,) = load(PROBLEMS / "cabp13-figure-1.yaml")
    binary, prior = 1 - np.eye(3), np.full(3, 1 / 3)
    assert task.problem.space.distances.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert task.expect is not None
    assert task.expect.value == pytest.approx(
        optimum(task.problem.space.distances, np.log(2), prior, binary), abs=1e-9
    )
    assert optimum(binary, np.log(2), prior, binary) == pytest.approx(1 / 2, abs=1e-9)
