"""What a problem file asks besides: an adversary's beliefs, databases record by record, relations that are listed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt import batch
from dxopt.spec import SpecFileError, load

LINE = "space: {kind: line, size: 3}\nepsilon: 1.0\n"
DATABASES = "space:\n  kind: databases\n  values: [0, 1]\n  records: 2\n  neighbours: listed\n"
PAIRS = "  joined: [[[0, 0], [0, 1]], [[0, 1], [1, 1]]]\n"


def solved(text: str, tmp_path: Path) -> dx.Report:
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    outcome = batch.run([tmp_path / "a.yaml"], tmp_path / "out")
    assert outcome.errors == []
    return dx.load(tmp_path / "out" / "a")


def test_beliefs(tmp_path: Path) -> None:
    prior = "prior: {kind: explicit, values: [0.5, 0.3, 0.2]}\n"
    report = solved(LINE + prior + "learns:\n  within: [[0, 1], ['0', '2']]\n  hiding: [{0: 1, '1': 2}]\n", tmp_path)
    prior, reported = report.problem.prior, report.evaluation
    for number, members in enumerate(([0, 1], [0, 2])):
        known = dx.characterise.within(report.mechanism, prior, members)
        assert reported[f"learns.within[{number}]"] == known.gain
        assert reported[f"learns.within[{number}], at most"] == known.bound
        assert known.gain <= known.bound
    hidden = dx.characterise.after_hiding(report.mechanism, prior, [1, 2, 2])
    assert reported["learns.hiding[0]"] == hidden.limit
    assert hidden.gain <= hidden.limit <= hidden.bound
    assert reported["learns.hiding[0], at most"] == pytest.approx(2.0)


def test_records(tmp_path: Path) -> None:
    report = solved(LINE + "delta: 0.05\nrecords: 1000\n", tmp_path)
    reported, value = report.evaluation, report.certificate.value
    assert reported["expected loss of 1000 records"] == pytest.approx(1000 * value, rel=1e-9)
    assert reported["epsilon of one record"] == pytest.approx(2.0)
    assert reported["delta of one record"] == pytest.approx(0.05)


@pytest.mark.parametrize(("neighbours", "back"), [("listed", 1.0), ("listed_one_way", np.inf)])
def test_relations_that_are_listed(neighbours: str, back: float, tmp_path: Path) -> None:
    text = DATABASES.replace("listed", neighbours) + PAIRS + "epsilon: 1.0\nloss: binary\n"
    space = solved(text, tmp_path).problem.space
    first, second, _, last = range(4)
    assert space.distances[first, second] == 1.0
    assert space.distances[second, first] == back
    assert space.distances[first, last] == 2.0
    assert math.isinf(space.distances[first, 2])


@pytest.mark.parametrize(
    ("text", "field", "line"),
    [
        (LINE + "learns: {within: [[0, 7]]}\n", "learns.within[0]", 3),
        (LINE + "learns: {within: [[]]}\n", "learns.within[0]", 3),
        (LINE + "learns: {hiding: [{0: nowhere}]}\n", "learns.hiding[0]", 3),
        (LINE + "delta: 0.1\nlearns: {within: [[0, 1]]}\n", "learns", 4),
        (LINE + "delta: 0.1\npairs: adjacent\nrecords: 5\n", "records", 5),
        (LINE + "records: 0\n", "records", 3),
        (
            "space: {kind: line, size: 3}\nobjective: {kind: adversary_error, max_loss: 0.5}\nrecords: 5\n",
            "records",
            3,
        ),
        (
            "space: {kind: distances, values: [[0, 1], [2, 0]]}\nepsilon: 1\nlearns: {within: [[0, 1]]}\n",
            "learns",
            3,
        ),
        (
            "space: {kind: line, size: 3}\nepsilon: {from: 1, to: 2, resolution: 0.5}\nrecords: 5\n",
            "records",
            3,
        ),
        (DATABASES + "epsilon: 1\n", "space.neighbours", 5),
        (DATABASES + "  joined: [[[0, 0], [0, 5]]]\nepsilon: 1\n", "space.joined[0][1]", 6),
        (DATABASES + "  joined: [[0, 1]]\nepsilon: 1\n", "space.joined[0][0]", 6),
        (DATABASES.replace("listed", "bounded") + PAIRS + "epsilon: 1\n", "space.joined", 6),
    ],
)
def test_what_is_wrong_is_said_at_its_line(text: str, field: str, line: int, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SpecFileError) as caught:
        load(file)
    assert (caught.value.field, caught.value.line) == (field, line)
    assert "\n" not in str(caught.value)


def test_delta_bounds_no_beliefs() -> None:
    space = dx.line(3)
    mechanism = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), delta=0.1)).mechanism
    with pytest.raises(dx.SpecError, match="private only up to delta, which bounds no beliefs"):
        dx.characterise.within(mechanism, dx.Prior.uniform(space), [0, 1])
    assert dx.characterise.within(mechanism, dx.Prior.uniform(space), [0, 1], epsilon=1.0).bound == 1.0
