"""Mistakes that new users made: each works, or is one line that names the field and says what to write."""

# pyright: reportArgumentType=false
from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.analysis.order.refinement import Refinement
from dxopt.analysis.regularity.verdicts import Verdict
from dxopt.cli.application import app

LINE = dx.line(5)
GRID = dx.grid((3, 3))
TABLE = dx.integer_table(dx.classic.geometric(LINE, epsilon=1.0))
ROOMS = {"dx": dx, "evaluate": dx.evaluate, "regularity": dx.regularity, "classic": dx.classic, "geo": dx.geo}
FUNCTIONS = {
    f"{room}.{name}": getattr(module, name)
    for room, module in ROOMS.items()
    for name in getattr(module, "__all__", dir(module))
    if inspect.isfunction(getattr(module, name)) and name not in {"plugins", "warm_up"}
} | {
    "dx.Problem": dx.Problem,
    "dx.Reports.of": dx.Reports.of,
    "dx.Prior": dx.Prior,
    "dx.Prior.uniform": dx.Prior.uniform,
    "dx.Mechanism.from_matrix": dx.Mechanism.from_matrix,
    **{f"dx.{kind.__name__}.load": kind.load for kind in (dx.Mechanism, dx.IntegerTable, dx.EpsilonSweep, dx.Key)},
    "dx.Budgets.open": dx.Budgets.open,
    **{f"dx.MetricSpace.{name}": getattr(dx.MetricSpace, name) for name in ("from_points", "from_graph")},
    **{f"dx.Prior.{name}": getattr(dx.Prior, name) for name in ("from_samples", "from_check_ins")},
    **{f"dx.Universe.{name}": getattr(dx.Universe, name) for name in ("databases", "graphs", "streams", "words")},
    **{
        f"dx.BeliefPairs.{name}": getattr(dx.BeliefPairs, name)
        for name in ("of", "pufferfish", "bayesian", "correlated", "coupled_worlds", "markov")
    },
}
"""What users call, by name."""
OTHERS = {"epsilon": 1.0, "space": LINE, "prior": "uniform", "epsilons": [1.0], "individuals": 3, "radius": 1.0} | {
    "alpha": 1.0, "alphas": [1.0], "max_loss": 0.5, "low": 0.5, "high": 1.0, "relation": "one_record",
    **dict.fromkeys(("west", "north", "east"), 1.0), "places": [[0.0, 0.0]], "secrets": LINE, "matrix": np.eye(5),
}  # fmt: skip
"""Other parameters that have no default; mechanisms where they are not here."""
WEIGHTS = pd.Series({"0": 3, "1": 1, "3": 4})


def problem(space: dx.MetricSpace = LINE, **other: Any) -> dx.Problem:
    return dx.Problem(space, **({"epsilon": 0.8, "prior": "uniform"} | other))


def own(matrix: Any = None) -> dx.Mechanism:
    return dx.Mechanism.from_matrix(LINE, np.full((5, 5), 0.2) if matrix is None else matrix)


WORKS: dict[str, Callable[[], Any]] = {
    "uniform as prior": lambda: dx.solve(problem(prior="uniform")),
    "a list as prior": lambda: dx.solve(problem(prior=[0.1, 0.2, 0.4, 0.2, 0.1])),
    "an array as prior of a measure": lambda: dx.evaluate.expected_loss(own(), np.full(5, 0.2)),
    "a method as text": lambda: dx.compare(problem(), "geometric"),
    "a method of a sweep as text": lambda: dx.sweep(problem(), [0.5], "geometric"),
    "a matrix to compare": lambda: dx.compare(problem(), [np.full((5, 5), 0.2)]),
    "a mechanism to compare": lambda: dx.compare(problem(), dx.classic.geometric(LINE, epsilon=0.5)),
    "a function as metric": lambda: dx.solve(problem(dx.MetricSpace.from_points([0, 1, 5], lambda a, b: abs(a - b)))),
    "a function as loss on a line": lambda: dx.solve(problem(loss=lambda a, b: abs(a - b))),
    "a refinement as a condition": lambda: bool(dx.evaluate.refines(own(), own())),
    "a verdict as a condition": lambda: bool(dx.regularity.verdict("uniform", LINE, 1.0)),
    "rows of a list": lambda: own().rows([0, 4]),
    "a written level": lambda: dx.solve(problem(epsilon="ln(4)")),
    "written levels": lambda: dx.sweep(problem(), ["1/2", "ln(4)"]),
    "a written level of a classic": lambda: dx.classic.planar_laplace(GRID, epsilon="ln(4)"),
    "a written level of a noise": lambda: dx.noise.Laplace("ln(4)").sample([0.0]),
    "a list of tuples": lambda: dx.classic.planar_laplace(GRID, epsilon=1.0).sample([(0, 0), (1, 2)]),
    "counts with a gap": lambda: dx.prior_from_frame(LINE, WEIGHTS, missing=0),
    "the worst loss without a prior": lambda: dx.solve(dx.Problem(LINE, epsilon=1.0, objective="worst_loss")),
    "the worst loss of a mechanism": lambda: dx.evaluate.worst_loss(own()),
    "a table of a matrix of one's own": lambda: dx.integer_table(dx.certify(np.full((5, 5), 0.2), LINE, 1.0)),
}

PEOPLE = dx.Universe.databases([0, 1, 2], 2)
TOTAL = dx.queries.total(PEOPLE)
FOUR = dx.line(4)
GEOMETRIC = dx.classic.geometric(FOUR, epsilon=1.0)
BOX = dx.geo.Box(45.4, -73.8, 45.6, -73.5)


def broken(*given: Any) -> Any:
    raise RuntimeError("no such person")


def two(*given: Any) -> Any:
    return np.array([True, False])


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a file to solve": (lambda: dx.solve("x.yaml"), "problem"),
    "a path to compare": (lambda: dx.compare(Path("x.yaml")), "problem"),
    "a file to sweep": (lambda: dx.sweep("x.yaml", [1.0]), "problem"),
    "a file for a frontier": (lambda: dx.frontier("x", 1, 2), "problem"),
    "a file for a level": (lambda: dx.smallest_epsilon("x", 1), "problem"),
    "a file for budgets": (lambda: dx.budget_frontier("x", 1, 2), "problem"),
    "a space to solve": (lambda: dx.solve(LINE), "problem"),
    "no prior": (lambda: dx.Problem(LINE, epsilon=1.0), "prior"),
    "a short list as prior": (lambda: problem(prior=[0.5, 0.5]), "prior"),
    "weights as prior": (lambda: problem(prior=[1, 2, 3, 2, 1]), "prior"),
    "another name of a prior": (lambda: problem(prior="normal"), "prior"),
    "a mapping as prior": (lambda: problem(prior={"0": 1.0}), "prior"),
    "a series as prior": (lambda: problem(prior=WEIGHTS), "prior"),
    "negative prior": (lambda: problem(prior=[1, 1, -1, 0, 0]), "prior"),
    "another object as prior": (lambda: problem(prior=object()), "prior"),
    "a bad function as metric": (lambda: dx.MetricSpace.from_points([0, 1, 2], lambda a, b: (a - b) ** 2), "metric"),
    "a metric that fails": (lambda: dx.MetricSpace.from_points([0, 1], lambda a, b: 1 / 0), "metric"),
    "a function for too many points": (
        lambda: dx.MetricSpace.from_points(np.arange(3000), lambda a, b: abs(a - b)),
        "metric",
    ),
    "a function as metric of a grid": (lambda: dx.grid((3, 3), metric=math.dist), "metric"),
    "a function of numbers as loss of a grid": (lambda: problem(GRID, loss=lambda a, b: abs(a - b)), "loss"),
    "a function of numbers as loss of words": (
        lambda: problem(dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=["a", "b"]), loss=lambda a, b: a - b),
        "loss",
    ),
    "a function of numbers as metric of the plane": (
        lambda: dx.MetricSpace.from_points([[0, 1], [1, 5]], lambda a, b: abs(a - b)),
        "metric",
    ),
    "a line of nothing": (lambda: dx.line(0), "size"),
    "a line of half a point": (lambda: dx.line(2.5), "size"),
    "a grid of nothing": (lambda: dx.grid((0, 3)), "shape"),
    "labels that are alike": (lambda: dx.MetricSpace.from_points([0, 1, 2], labels=["a", "b", "a"]), "labels"),
    "a number and a text as the same label": (
        lambda: dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=[1, "1"]),
        "labels",
    ),
    "places that are called alike": (lambda: dx.geo.points([[45.0, 4.0], [45.1, 4.0]], labels=["a", "a"]), "labels"),
    "a row that there is not": (lambda: own().rows(np.array([9])), "secrets"),
    "a row from the end": (lambda: own().rows(np.array([-1])), "secrets"),
    "a row of a compact mechanism": (lambda: dx.tight_constraints(dx.line(9), 1.0).rows(np.array([0, 9])), "secrets"),
    "half a row": (lambda: own().rows(np.array([1.5])), "secrets"),
    "an undecided refinement as a condition": (lambda: bool(Refinement(0.0, 1.0, 1e-8, np.eye(5))), "refinement"),
    "an undecided verdict as a condition": (
        lambda: bool(Verdict("undecided", None, None, None, "too near")),
        "verdict",
    ),
    "a word for progress": (lambda: dx.solve(problem(), progress="bar"), "progress"),
    "a number for a picture": (lambda: dx.compare(problem(), []).plot(save=3), "save"),
    "a number as metric": (lambda: dx.MetricSpace.from_points([0], 3), "metric"),
    "twelve lines": (lambda: dx.product(*[dx.line(31)] * 12), "factors"),
    "a grid of as many": (lambda: dx.grid((31,) * 12), "shape"),
    "a line without end": (lambda: dx.line(10**12), "size"),
    "a misspelt method": (lambda: dx.compare(problem(), "geometrc"), "methods"),
    "a row to compare": (lambda: dx.compare(problem(), [0.2] * 5), "methods"),
    "other priors without names": (lambda: dx.compare(problem(), [], priors=["uniform"]), "priors"),
    "letters for a matrix": (lambda: dx.certify([["a"] * 5] * 5, LINE, 1.0), "matrix"),
    "complex numbers for a matrix": (lambda: dx.certify(np.full((5, 5), 0.2 + 0j), LINE, 1.0), "matrix"),
    "nothing for a matrix": (lambda: dx.certify(None, LINE, 1.0), "matrix"),
    "rows of different lengths": (lambda: dx.certify([[0.2] * 5] * 4 + [[1.0]], LINE, 1.0), "matrix"),
    "points of different lengths": (lambda: dx.MetricSpace.from_points([[0], [1, 2]]), "points"),
    "edges for a graph": (lambda: dx.MetricSpace.from_graph([(1, 2)]), "graph"),
    "two nodes with one name": (lambda: dx.MetricSpace.from_graph(nx.Graph([("1", 1)])), "labels"),
    "nothing for a space": (lambda: dx.Problem(None, epsilon=1.0), "space"),
    "a matrix for a mechanism": (lambda: dx.evaluate.capacity(np.eye(2)), "mechanism"),
    "a number for a file": (lambda: dx.IntegerTable.load(3), "file"),
    "a number for a folder": (lambda: dx.load(3), "folder"),
    "text for a key": (lambda: TABLE.sample_for(["a"], label=["1"], key="abc", release="r"), "key"),
    "a release without a name": (
        lambda: TABLE.sample_for(["a"], label=["1"], key=dx.Key(bytes(32)), release=""),
        "release",
    ),
    "yes for a level": (lambda: problem(epsilon=True), "epsilon"),
    "a level below all normal doubles": (lambda: problem(epsilon=1e-320), "epsilon"),
    "a level that overflows": (lambda: dx.tight_constraints(dx.grid((2, 2)), 1e308), "epsilon"),
    "a level of a sweep that overflows": (lambda: dx.sweep(problem(), [1.0, 1e308]), "epsilons"),
    "a word for a tolerance": (lambda: dx.solve(problem(), tolerance="a"), "tolerance"),
    "a word for the tolerance of a search": (lambda: dx.smallest_epsilon(problem(), 0.5, tolerance="a"), "tolerance"),
    "a word for a time limit": (lambda: dx.solve(problem(), time_limit="a"), "time_limit"),
    "a word for the time limit of a sweep": (lambda: dx.sweep(problem(), [1.0], time_limit="a"), "time_limit"),
    "a word for a spanner": (lambda: dx.solve(problem(), spanner="a"), "spanner"),
    "a list of solvers": (lambda: dx.solve(problem(), solver=["columns"]), "solver"),
    "a number to start from": (lambda: dx.solve(problem(), start=3), "start"),
    "bytes for a level": (lambda: problem(epsilon=b"1"), "epsilon"),
    "a number to compare": (lambda: dx.compare(problem(), 3), "methods"),
    "a name that is taken": (lambda: dx.compare(problem(), {"tight": own()}), "methods"),
    "a table of an unproven mechanism": (lambda: dx.integer_table(own()), "mechanism"),
    "a table of a matrix": (lambda: dx.integer_table(np.eye(5)), "mechanism"),
    "a remap of an unproven mechanism": (lambda: dx.classic.remapped(own(), "uniform"), "mechanism"),
    "a test too coarse": (
        lambda: dx.traces.PredictiveMechanism(
            dx.traces.on_plane(), dx.traces.FixedUtility(10.0, 1.0, dx.traces.Balance(0.9, 1.0, 0.2))
        ),
        "share",
    ),
    "planar Laplace without places": (
        lambda: dx.classic.planar_laplace(dx.MetricSpace.from_distances([[0, 1], [1, 0]]), epsilon=1.0),
        "space",
    ),
    "rows of coordinates as secrets": (
        lambda: dx.classic.planar_laplace(GRID, epsilon=1.0).sample([[0, 0], [1, 2]]),
        "secret",
    ),
    "a level that is no number": (lambda: problem(epsilon="four"), "epsilon"),
    "a level below 0": (lambda: problem(epsilon="ln(1/2)"), "epsilon"),
    "a level that is not real": (lambda: problem(epsilon="ln(-1)"), "epsilon"),
    "a level of 0": (lambda: problem(epsilon="ln(1)"), "epsilon"),
    "counts with a gap": (lambda: dx.prior_from_frame(LINE, WEIGHTS), "index"),
    "H3 too fine": (lambda: dx.geo.h3_cells(13, box=(45.70, 4.77, 45.81, 4.90)), "resolution"),
    "a file that is none": (lambda: dx.read(3), "file"),
    "where raises": (lambda: PEOPLE.where(broken), "holds"),
    "where gives two": (lambda: PEOPLE.where(two), "holds"),
    "event raises": (lambda: dx.BeliefPairs.pufferfish(PEOPLE, [(broken, lambda _: True)], "uniform"), "secrets"),
    "event of labels gives two": (
        lambda: dx.BeliefPairs.pufferfish(FOUR, [(two, lambda _: True)], "uniform"),
        "secrets",
    ),
    "distance raises": (lambda: PEOPLE.space("manhattan", distance=broken), "distance"),
    "distance of tuples": (
        lambda: dx.Universe.databases([("a", 1), ("b", 2)], 1).space("manhattan", distance=broken),
        "distance",
    ),
    "distance gives None": (lambda: PEOPLE.space("manhattan", distance=lambda v, w: None), "distance"),
    "distance is negative": (lambda: PEOPLE.space("manhattan", distance=lambda v, w: float(v - w)), "distance"),
    "distance is infinite": (
        lambda: PEOPLE.space("manhattan", distance=lambda v, w: 0.0 if v == w else np.inf),
        "distance",
    ),
    "no function": (lambda: PEOPLE.space("manhattan", distance=5), "distance"),
    "text without a distance": (lambda: dx.Universe.databases("ab", 2).space("manhattan"), "values"),
    "query raises": (lambda: dx.queries.Query.of(PEOPLE, broken), "query"),
    "query of lists": (lambda: dx.queries.Query.of(PEOPLE, list), "query"),
    "count raises": (lambda: dx.queries.count(PEOPLE, broken), "query"),
    "total of 5": (lambda: dx.queries.total(5), "universe"),
    "percentile x": (lambda: dx.queries.percentile(PEOPLE, "x"), "percentile"),
    "graph of 5": (lambda: dx.queries.induced_graph(TOTAL, 5), "secrets"),
    "swapped": (lambda: dx.queries.induced_graph(PEOPLE.space(), TOTAL), "query"),
    "sensitivity of a space": (lambda: dx.queries.sensitivity(TOTAL, PEOPLE.space(), 5), "answers"),
    "evaluations": (lambda: dx.regularity.threshold(FOUR, evaluations=1.5), "evaluations"),
    "text as tolerance": (lambda: dx.regularity.is_optimal_on_region(GEOMETRIC, 1.0, tolerance="x"), "tolerance"),
    "negative tolerance": (lambda: dx.regularity.is_optimal_on_region(GEOMETRIC, 1.0, tolerance=-1), "tolerance"),
    "too large": (lambda: dx.regularity.database_leakage_bound(2, 10**400, 1.0), "individuals"),
    "latitude": (lambda: dx.geo.Positions(np.array([[91.0, 2.0]])), "points"),
    "nowhere": (lambda: dx.geo.Positions(np.array([[np.nan, 2.0]])), "points"),
    "millimetres": (lambda: dx.geo.Positions(np.zeros((1, 2)), unit="mm"), "unit"),
    "spacing": (lambda: BOX.shape("x"), "spacing"),
    "shape": (lambda: BOX.centres(5), "shape"),
    "cells": (lambda: BOX.centres((10**6, 10**6)), "shape"),
    "negative shape": (lambda: BOX.centres((-1, 2)), "shape"),
    "negative outlines": (lambda: BOX.outlines((-1, 2)), "shape"),
    "square loss": (lambda: dx.Problem(FOUR, epsilon=1, prior="uniform", loss=np.zeros((3, 3))), "loss"),
    "gain": (lambda: dx.evaluate.utility(GEOMETRIC, "uniform", np.full((4, 4), np.nan)), "gain"),
    "refines": (lambda: dx.evaluate.refines(GEOMETRIC, dx.classic.geometric(dx.line(3), epsilon=1.0)), "mechanisms"),
    "a function for a method": (lambda: dx.solve(problem(), method=lambda epsilon: 1), "method"),
}


@pytest.mark.parametrize("name", WORKS)
def test_it_works(name: str) -> None:
    assert WORKS[name]() is not None


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_one_line_that_says_what_to_write(name: str) -> None:
    attempt, field = REFUSED[name]
    with pytest.raises(dx.SpecError) as refused:
        attempt()
    assert refused.value.field == field
    assert "\n" not in str(refused.value)
    assert refused.value.fix


COMMAS = "place_id;latitude;longitude\n1;45,712;4,812\n2;45,833;4,933\n"
PLACES = "space: {kind: points, file: places.csv, columns: [latitude, longitude], metric: haversine}\nepsilon: 1\n"
DISTANCES = "space: {kind: distances, file: places.csv}\nepsilon: 1\n"
FILES: dict[str, tuple[str, str, str]] = {
    "3 values for 39 points": (
        "space: {kind: line, size: 39}\nepsilon: 1\nprior: {kind: explicit, values: [1, 2, 3]}\n",
        "",
        ":3:25: prior.values",
    ),
    "values that are weights": (
        "space: {kind: line, size: 3}\nepsilon: 1\nprior: {kind: explicit, values: [1, 2, 3]}\n",
        "",
        ":3:25: prior.values",
    ),
    "numbers as prior": ("space: {kind: line, size: 2}\nepsilon: 1\nprior: [0.5, 0.5]\n", "", ":3:1: prior"),
    "one method to compare": ("space: {kind: line, size: 2}\nepsilon: 1\ncompare: geometric\n", "", ":3:10: compare"),
    "a classic above the budget": (
        "space: {kind: line, size: 5}\nepsilon: 0.1\nmethod: geometric\n"
        "objective: {kind: adversary_error, max_loss: 0.5}\n",
        "",
        ":3:9: method",
    ),
    "H3 too fine": (
        "space: {kind: h3, south: 45.70, west: 4.77, north: 45.81, east: 4.90, resolution: 11}\nepsilon: 1\n",
        "",
        ":1:83: space.resolution",
    ),
    "commas of what": (PLACES, COMMAS, ":1:51: space.columns[0]"),
    "a matrix of words": (DISTANCES, "a;b\nb;a\n", ":1:32: space.file"),
    "a line indented too far": ("space:\n  kind: line\n   size: 5\nepsilon: 1\n", "", ":3:8: syntax"),
    "a line indented too little": ("space:\n    kind: line\n  size: 5\nepsilon: 1\n", "", ":3:3: syntax"),
    "a tab": ("space:\n\tkind: line\n", "", ":2:1: syntax"),
    "a bracket left open": ("space: {kind: line, size: 5}\nepsilon: [1, 2\nprior: uniform\n", "", ":3:6: syntax"),
    "no colon": ("space: {kind: line, size: 5}\nepsilon 1\n", "", ":2:1: syntax"),
    "two colons": ("name: a: b\nspace: {kind: line, size: 5}\nepsilon: 1\n", "", ":1:8: syntax"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_refused_in_one_located_line(name: str, tmp_path: Path) -> None:
    text, table, place = FILES[name]
    file = tmp_path / "x.yaml"
    file.write_text(text, encoding="utf-8")
    (tmp_path / "places.csv").write_text(table, encoding="utf-8")
    result = CliRunner().invoke(app, ["solve", str(file), "-o", str(tmp_path / "out")])
    lines = [line for line in result.output.splitlines() if str(file) in line]
    assert result.exit_code == 2
    assert len(lines) == 1
    assert lines[0].removeprefix(str(file)).startswith(f"{place}: ")


@pytest.mark.parametrize(
    ("command", "level", "epsilon", "written"),
    [
        ("solve", "2", 2.0, ""),
        ("solve", "ln(4)", math.log(4), "epsilon: 1\n"),
        ("solve", "2", 2.0, "privacy: {level: ln(2), radius: 2}\n"),
        ("compare", "1/2", 0.5, "epsilon: [1, 3]\n"),
    ],
)
def test_a_level_on_the_command_line(command: str, level: str, epsilon: float, written: str, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(f"space: {{kind: line, size: 4}}\n{written}", encoding="utf-8")
    result = CliRunner().invoke(app, [command, str(file), "--epsilon", level, "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    report = dx.load(tmp_path / ("x-compare" if command == "compare" else "x"))
    assert report.problem.epsilon == epsilon
    assert report.certificate.private


@pytest.mark.parametrize("level", ["-1", "four", "1,2"])
def test_a_bad_level_on_the_command_line(level: str, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("space: {kind: line, size: 4}\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["solve", str(file), f"--epsilon={level}", "-o", str(tmp_path)])
    assert result.exit_code == 2
    assert result.output.startswith("epsilon: ")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_of_no_use_is_one_line(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever stands first, a function answers or says in an error of dxopt what is wrong."""
    monkeypatch.chdir(tmp_path)
    function = FUNCTIONS[name]
    first, *others = inspect.signature(function).parameters.values()
    needed = {one.name: OTHERS.get(one.name, own()) for one in others if one.default is one.empty}
    needed = {key: value for key, value in needed.items() if key not in {"options", "kwargs"}}
    for useless in (None, "nonsense", 3.5, np.eye(3)):
        given = () if first.kind is first.KEYWORD_ONLY else (useless,)
        try:
            function(*given, **needed | ({} if given else {first.name: useless}))
        except dx.DxoptError as error:
            assert "\n" not in str(error)


def test_positions_of_a_list_are_an_array() -> None:
    found = dx.geo.Positions([[45.5, -73.6]])  # pyright: ignore[reportArgumentType]
    assert found.degrees.tolist() == [[45.5, -73.6]]
    assert not found.degrees.flags.writeable
