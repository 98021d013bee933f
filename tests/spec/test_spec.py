"""Problem files: what good ones give, and where the errors of bad ones point."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dxopt.spec import Expected
from tests.material.broken_specs import GOOD, edited
from tests.material.spec_files import LOSSES, PRIORS, SPACES, refusal, small, task_of, tasks_of


def test_the_good_file(folder: Path) -> None:
    task = task_of(folder, GOOD)
    problem = task.problem
    assert problem.name == "town"
    assert problem.space.labels == ("inn", "church", "mill")  # 30, 30, 10: of equals the earlier row
    assert problem.space.distances[0].tolist() == [0, 5, 5]
    assert problem.epsilon == pytest.approx(math.log(4) / 2, abs=0)
    assert problem.prior.probabilities == pytest.approx([3 / 7, 3 / 7, 1 / 7], abs=1e-15)
    assert problem.losses.tolist() == problem.space.distances.tolist()
    assert (task.method, task.solver, task.spanner) == ("optimal", "highs", 1.5)
    assert (task.tolerance, task.time_limit) == (1e-6, 60)
    assert task.evaluate == ("expected_loss", "utility")
    assert task.expect == Expected(value=0.42647, tolerance=1e-4, source="by hand")
    assert task.origin.path == folder / "problem.yaml"


def test_defaults(folder: Path) -> None:
    task = task_of(folder, small("{kind: line, size: 3}"))
    assert (task.problem.name, task.problem.epsilon) == ("problem", 1)
    assert task.problem.prior.probabilities == pytest.approx([1 / 3] * 3)
    assert task.problem.losses.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert (task.method, task.solver, task.spanner) == ("auto", "auto", None)
    assert (task.tolerance, task.time_limit, task.evaluate, task.expect) == (1e-6, None, (), None)


@pytest.mark.parametrize(("space", "distances"), SPACES)
def test_spaces(folder: Path, space: str, distances: list[list[float]]) -> None:
    problem = task_of(folder, small(space)).problem
    assert problem.space.distances == pytest.approx(np.array(distances), abs=1e-12)


def test_infinite_distances_and_one_way_graphs(folder: Path) -> None:
    loss = "loss: binary"
    given = task_of(folder, small("{kind: distances, file: matrix.csv}", loss)).problem.space
    assert given.distances.tolist() == [[0, 1, math.inf], [1, 0, math.inf], [math.inf, math.inf, 0]]
    inline = task_of(folder, small("{kind: distances, values: [[0, inf], [.inf, 0]]}", loss)).problem.space
    assert inline.distances.tolist() == [[0, math.inf], [math.inf, 0]]
    one_way = task_of(folder, small("{kind: graph, edges: [[1, 2]], directed: true}", loss)).problem.space
    assert (one_way.labels, one_way.distances.tolist()) == (("1", "2"), [[0, 1], [math.inf, 0]])
    rows = task_of(folder, small("{kind: graph, file: roads.csv, directed: true}", loss)).problem.space
    assert rows.distances.tolist() == [[0, 1, 2], [math.inf, 0, 1], [math.inf, math.inf, 0]]


def test_top_takes_the_earlier_of_equal_rows(folder: Path) -> None:
    (folder / "even.csv").write_text("x,w\n" + "".join(f"{row},{row % 2}\n" for row in range(60)))
    space = task_of(folder, small("{kind: points, file: even.csv, columns: [x], top: 35 by w}")).problem.space
    assert space.labels == tuple(str(row) for row in [*range(1, 60, 2), *range(0, 10, 2)])


def test_haversine_units(folder: Path) -> None:
    space = "{{kind: points, values: [[0, 0], [0, 180]], metric: haversine{}}}"
    assert task_of(folder, small(space.format(""))).problem.space.distances[0, 1] == pytest.approx(20015.1, abs=0.1)
    metres = task_of(folder, small(space.format(", unit: m"))).problem.space
    assert metres.distances[0, 1] == pytest.approx(20015115, abs=100)


def test_structures_are_kept(folder: Path) -> None:
    kinds = {"{kind: grid, shape: [2, 3]}": "lattice", "{kind: torus, shape: [3]}": "torus"}
    kinds |= {"{kind: line, size: 4}": "path", "{kind: graph, edges: [[a, b]]}": "tree"}
    for space, kind in kinds.items():
        assert task_of(folder, small(space)).problem.space.structure.kind == kind


@pytest.mark.parametrize(("prior", "probabilities"), PRIORS)
def test_priors(folder: Path, prior: str, probabilities: list[float]) -> None:
    text = edited((GOOD[GOOD.index("prior:") : GOOD.index("loss:")], f"prior: {prior}\n"))
    assert task_of(folder, text).problem.prior.probabilities == pytest.approx(probabilities, abs=1e-15)


def test_samples_by_label(folder: Path) -> None:
    space = "{kind: points, file: town.csv, columns: [place], metric: discrete, label: place}"
    prior = "prior: {kind: samples, file: seen.csv, columns: [place]}"
    probabilities = task_of(folder, small(space, prior)).problem.prior.probabilities
    assert probabilities == pytest.approx([0, 0.75, 0, 0.25])


def test_corner_priors_depend_on_epsilon(folder: Path) -> None:
    text = "space: {kind: line, size: 3}\nepsilon: [ln(2), ln(3)]\nprior: {kind: corner, point: 0}\n"
    two, three = (task.problem.prior.probabilities for task in tasks_of(folder, text))
    assert two == pytest.approx([4 / 7, 2 / 7, 1 / 7], abs=1e-15)
    assert three == pytest.approx([9 / 13, 3 / 13, 1 / 13], abs=1e-15)


def test_corner_by_label(folder: Path) -> None:
    space = "{kind: points, values: [[0], [1], [3]]}"
    text = small(space, "prior: {kind: corner, point: '3'}").replace("epsilon: 1", "epsilon: ln(2)")
    assert task_of(folder, text).problem.prior.probabilities == pytest.approx([1 / 11, 2 / 11, 8 / 11])
    twins = small("{kind: points, values: [[1], [1]]}", "prior: {kind: corner, point: '1'}")
    assert refusal(folder, twins).field == "prior.point"


def test_the_point_of_a_corner_is_a_label(folder: Path) -> None:
    def corner(point: str) -> str:
        return small("{kind: line, size: 31, step: 5}", f"prior: {{kind: corner, point: {point}}}")

    for point, index in (("'10'", 2), ("10", 2), ("150", 30), ("{index: 10}", 10)):
        assert task_of(folder, corner(point)).problem.prior.probabilities.argmax() == index
    error = refusal(folder, corner("3"))
    assert error.field == "prior.point"
    assert "{index: 3}" in error.fix


@pytest.mark.parametrize(("loss", "matrix"), LOSSES)
def test_losses(folder: Path, loss: str, matrix: list[list[float]]) -> None:
    problem = task_of(folder, small("{kind: line, size: 2, step: 2}", f"loss: {loss}")).problem
    assert problem.losses.tolist() == matrix


def test_reports(folder: Path) -> None:
    line = "{kind: line, size: 2}"
    written = task_of(folder, small(line, "reports: {kind: points, values: [[0], [0.5], [3]]}")).problem
    assert written.losses.tolist() == [[0, 0.5, 3], [1, 0.5, 2]]
    read = task_of(folder, small(line, "reports: {kind: points, file: town.csv, columns: [x]}")).problem
    assert read.losses.tolist() == [[0, 3, 9, 0], [1, 2, 8, 1]]
    ring = "{kind: torus, shape: [4]}"
    round_trip = task_of(folder, small(ring, "reports: {kind: points, values: [[11]]}")).problem
    assert round_trip.losses[:, 0].tolist() == [1, 2, 1, 0]
    words = "{kind: points, values: [[a], [b]], metric: hamming}"
    text = task_of(folder, small(words, "reports: {kind: points, values: [[a], [1]]}")).problem
    assert text.losses.tolist() == [[0, 1], [1, 1]]


# families and numbers


@pytest.mark.parametrize(
    ("epsilon", "values"),
    [
        ("[0.5, ln(4), 1/3]", [0.5, math.log(4), 1 / 3]),
        ("[2]", [2]),
        ("{from: 0.1, to: 0.7, step: 0.1}", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        ("{from: 1/3, to: 1, step: 1/3}", [1 / 3, 2 / 3, 1]),
        ("{from: 1, to: 2.2, step: 0.5}", [1, 1.5, 2]),
        ("{from: ln(2), to: ln(2), step: 1}", [math.log(2)]),
    ],
)
def test_families(folder: Path, epsilon: str, values: list[float]) -> None:
    tasks = tasks_of(folder, small("{kind: line, size: 2}").replace("epsilon: 1", f"epsilon: {epsilon}"))
    assert [task.problem.epsilon for task in tasks] == pytest.approx(values, abs=1e-16)
    assert len({task.problem.name for task in tasks}) == len(values)
    assert len({id(task.problem.space) for task in tasks}) == 1


def test_family_names_and_expectations(folder: Path) -> None:
    text = "name: n\nspace: {kind: line, size: 2}\nepsilon: {from: 0.5, to: 1, step: 0.5}\nexpect:\n"
    text += "  - {value: 2, source: a}\n  - {value: 1/4, tolerance: 0, source: b}\n"
    tasks = tasks_of(folder, text)
    assert [task.problem.name for task in tasks] == ["n [epsilon=0.5]", "n [epsilon=1]"]
    assert [task.expect for task in tasks] == [
        Expected(value=2, tolerance=1e-6, source="a"),
        Expected(value=0.25, tolerance=0, source="b"),
    ]


def test_a_range_is_written_in_decimals(folder: Path) -> None:
    tasks = tasks_of(folder, "space: {kind: line, size: 2}\nepsilon: {from: 0.1, to: 30, step: 0.1}\n")
    assert [task.problem.epsilon for task in tasks] == [float(f"{i / 10:.1f}") for i in range(1, 301)]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2", 2.0),
        (".5", 0.5),
        ("1e-3", 1e-3),
        ("+1.5E+1", 15.0),
        ("ln(4)", math.log(4)),
        ("'ln(4)'", math.log(4)),
        ("log2( 8 )", 3.0),
        ("sqrt(.25)", 0.5),
        ("1/3", 1 / 3),
        ("-1 / -.5", 2.0),
    ],
)
def test_numbers(folder: Path, written: str, value: float) -> None:
    text = small("{kind: line, size: 2}").replace("epsilon: 1", f"epsilon: {written}")
    assert task_of(folder, text).problem.epsilon == value


@pytest.mark.parametrize(
    "written", ["1_000", "0x10", "ln 4", "ln(1e1)", "1/2/3", "2*3", "log(4)", "(4)", "-inf", "nan", "9" * 400 + "/1"]
)
def test_not_numbers(folder: Path, written: str) -> None:
    error = refusal(folder, small("{kind: line, size: 2}").replace("epsilon: 1", f"epsilon: {written}"))
    assert (error.line, error.column, error.field) == (2, 10, "epsilon")


def test_whole_numbers_may_have_an_exponent_and_their_cap_is_told(folder: Path) -> None:
    assert len(task_of(folder, small("{kind: line, size: 1e1}")).problem.space) == 10
    for written, wrong in {
        "1e9": "space.size: is the number 1000000000; give a number of at most 1000000",
        "1.5": "space.size: is the number 1.5; give a whole number",
        "1e300": "which is too large; give 9,007,199,254,740,992 at most",
        "9" * 5000: "which is too large; give 9,007,199,254,740,992 at most",
        "-3.0": "space.size: is the number -3; give a number of at least 1",
    }.items():
        assert str(refusal(folder, small(f"{{kind: line, size: {written}}}"))).endswith(wrong)


# bad files
