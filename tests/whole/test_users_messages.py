"""Mistakes that new users made: each works, or is one line that names the field and says what to write."""

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
    "rows of a list": lambda: own().rows([0, 4]),  # pyright: ignore[reportArgumentType]
    "a written level": lambda: dx.solve(problem(epsilon="ln(4)")),
    "written levels": lambda: dx.sweep(problem(), ["1/2", "ln(4)"]),
    "a written level of a classic": lambda: dx.classic.planar_laplace(GRID, epsilon="ln(4)"),
    "a written level of a noise": lambda: dx.noise.Laplace("ln(4)").sample([0.0]),  # pyright: ignore
    "a list of tuples": lambda: dx.classic.planar_laplace(GRID, epsilon=1.0).sample([(0, 0), (1, 2)]),
    "counts with a gap": lambda: dx.prior_from_frame(LINE, WEIGHTS, missing=0),
    "the worst loss without a prior": lambda: dx.solve(dx.Problem(LINE, epsilon=1.0, objective="worst_loss")),
    "the worst loss of a mechanism": lambda: dx.evaluate.worst_loss(own()),
    "a table of a matrix of one's own": lambda: dx.integer_table(dx.certify(np.full((5, 5), 0.2), LINE, 1.0)),
}

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a file to solve": (
        lambda: dx.solve("x.yaml"),  # pyright: ignore[reportArgumentType]
        "problem: is the name of a file, 'x.yaml'; read it with dx.read('x.yaml'), or run `dxopt solve` on it",
    ),
    "a path to compare": (
        lambda: dx.compare(Path("x.yaml")),  # pyright: ignore[reportArgumentType]
        "problem: is the name of a file, 'x.yaml'; read it with dx.read('x.yaml'), or run `dxopt solve` on it",
    ),
    "a file to sweep": (lambda: dx.sweep("x.yaml", [1.0]), "problem: is the name of a file"),  # pyright: ignore
    "a file for a frontier": (lambda: dx.frontier("x", 1, 2), "problem: is the name of a file"),  # pyright: ignore
    "a file for a level": (lambda: dx.smallest_epsilon("x", 1), "problem: is the name of a file"),  # pyright: ignore
    "a file for budgets": (lambda: dx.budget_frontier("x", 1, 2), "problem: is the name of a file"),  # pyright: ignore
    "a space to solve": (lambda: dx.solve(LINE), "problem: is of type MetricSpace; give a dx.Problem"),  # pyright: ignore
    "no prior": (
        lambda: dx.Problem(LINE, epsilon=1.0),
        'prior: is missing, which expected_loss needs; give one, such as prior="uniform"',
    ),
    "a short list as prior": (
        lambda: problem(prior=[0.5, 0.5]),
        "prior: has 2 entries for 5 points; give one probability per point, in their order",
    ),
    "weights as prior": (
        lambda: problem(prior=[1, 2, 3, 2, 1]),
        "prior: sums to 9; give probabilities that sum to 1, or use dx.Prior.from_weights(space, weights)",
    ),
    "another name of a prior": (lambda: problem(prior="normal"), "prior: there is no 'normal'; give \"uniform\""),
    "a mapping as prior": (
        lambda: problem(prior={"0": 1.0}),
        "prior: is a dict, which has labels of its own; use dx.prior_from_frame(space, series)",
    ),
    "a series as prior": (lambda: problem(prior=WEIGHTS), "prior: is a Series, which has labels of its own; use dx."),
    "negative prior": (lambda: problem(prior=[1, 1, -1, 0, 0]), "prior: entry 2 is -1; give probabilities"),
    "another object as prior": (lambda: problem(prior=object()), "prior: is of type object, not numbers; give one"),
    "a bad function as metric": (
        lambda: dx.MetricSpace.from_points([0, 1, 2], lambda a, b: (a - b) ** 2),
        "metric: gives distances of which d(0, 2) = 4 exceeds d(0, 1) + d(1, 2) = 2; mend the metric",
    ),
    "a metric that fails": (
        lambda: dx.MetricSpace.from_points([0, 1], lambda a, b: 1 / 0),
        "metric: gives no number for the points 0.0 and 0.0 (ZeroDivisionError: division by zero); give a function",
    ),
    "a function for too many points": (
        lambda: dx.MetricSpace.from_points(np.arange(3000), lambda a, b: abs(a - b)),
        "metric: is a function, to be called for 9,000,000 pairs of points; 4,000,000 at most; give a matrix",
    ),
    "a function as metric of a grid": (
        lambda: dx.grid((3, 3), metric=math.dist),  # pyright: ignore[reportArgumentType]
        "metric: is a function, which makes no regular grid; choose one of euclidean, manhattan, chebyshev, or use",
    ),
    "a function of numbers as loss of a grid": (
        lambda: problem(GRID, loss=lambda a, b: abs(a - b)),
        "loss: gives no number for the secret [0. 0.] and the report [0. 0.] (",
    ),
    "a function of numbers as loss of words": (
        lambda: problem(dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=["a", "b"]), loss=lambda a, b: a - b),
        "loss: gives no number for the secret a and the report a (TypeError: unsupported operand type(s) for -: "
        "'str' and 'str'); give a function of a secret and a report that returns one number; it gets each as its",
    ),
    "a function of numbers as metric of the plane": (
        lambda: dx.MetricSpace.from_points([[0, 1], [1, 5]], lambda a, b: abs(a - b)),
        "metric: gives no number for the points [0. 1.] and [0. 1.] (",
    ),
    "a line of nothing": (lambda: dx.line(0), "size: is 0; give a whole number of points, 1 or more"),
    "a line of half a point": (lambda: dx.line(2.5), "size: is 2.5; give a whole"),  # pyright: ignore
    "a grid of nothing": (lambda: dx.grid((0, 3)), "shape: is (0, 3); give positive whole numbers, such as (4, 3)"),
    "labels that are alike": (
        lambda: dx.MetricSpace.from_points([0, 1, 2], labels=["a", "b", "a"]),
        "labels: points 0 and 2 are both 'a'; give each point a label of its own",
    ),
    "a number and a text as the same label": (
        lambda: dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=[1, "1"]),
        "labels: points 0 and 1 are both '1'; give",
    ),
    "places that are called alike": (
        lambda: dx.geo.points([[45.0, 4.0], [45.1, 4.0]], labels=["a", "a"]),
        "labels: points 0 and 1 are both 'a'; give",
    ),
    "a row that there is not": (
        lambda: own().rows(np.array([9])),
        "secrets: have the index 9; indices run from 0 to 4",
    ),
    "a row from the end": (lambda: own().rows(np.array([-1])), "secrets: have the index -1; indices run from 0 to 4"),
    "a row of a compact mechanism": (
        lambda: dx.tight_constraints(dx.line(9), 1.0).rows(np.array([0, 9])),
        "secrets: have the index 9; indices run from 0 to 8",
    ),
    "half a row": (
        lambda: own().rows(np.array([1.5])),  # pyright: ignore[reportArgumentType]
        "secrets: are no list of indices; give whole numbers; `row` takes labels as well",
    ),
    "an undecided refinement as a condition": (
        lambda: bool(Refinement(0.0, 1.0, 1e-8, np.eye(5))),
        "refinement: is undecided: the shortfall is between 0 and 1; ask `holds is True`, or give a larger tolerance",
    ),
    "an undecided verdict as a condition": (
        lambda: bool(Verdict("undecided", None, None, None, "too near")),
        "verdict: is undecided: too near; look at its status",
    ),
    "a word for progress": (
        lambda: dx.solve(problem(), progress="bar"),  # pyright: ignore[reportArgumentType]
        "progress: is of type str; give True for a bar, or a function that is given lines, such as print",
    ),
    "a number for a picture": (
        lambda: dx.compare(problem(), []).plot(save=3),  # pyright: ignore[reportArgumentType]
        "save: is of type int; give the name of a file to write",
    ),
    "a number as metric": (lambda: dx.MetricSpace.from_points([0], 3), "metric: is of type int; choose"),  # pyright: ignore
    "twelve lines": (
        lambda: dx.product(*[dx.line(31)] * 12),
        "factors: make 7.88e+17 points; at most 16,666,666 fit in memory; solve one problem for each factor",
    ),
    "a grid of as many": (lambda: dx.grid((31,) * 12), "shape: makes 7.88e+17 points; at most 16,666,666 fit"),
    "a line without end": (lambda: dx.line(10**12), "size: makes 1.00e+12 points; at most 200,000,000 fit in memory"),
    "a misspelt method": (
        lambda: dx.compare(problem(), "geometrc"),
        "methods: there is no 'geometrc'; choose one",
    ),
    "a row to compare": (
        lambda: dx.compare(problem(), [0.2] * 5),  # pyright: ignore[reportArgumentType]
        "methods: something of type float is no mechanism; give names, mechanisms, matrices of probabilities, or",
    ),
    "other priors without names": (
        lambda: dx.compare(problem(), [], priors=["uniform"]),  # pyright: ignore[reportArgumentType]
        "priors: are of type list, not named; give a mapping of names to priors, as {",
    ),
    "letters for a matrix": (
        lambda: dx.certify([["a"] * 5] * 5, LINE, 1.0),  # pyright: ignore[reportArgumentType]
        "matrix: entry [0, 0] is 'a', which is no real number; give an array of probabilities, or a mechanism",
    ),
    "complex numbers for a matrix": (
        lambda: dx.certify(np.full((5, 5), 0.2 + 0j), LINE, 1.0),
        "matrix: entry [0, 0] is (0.2+0j), which is no real number; give an array",
    ),
    "nothing for a matrix": (lambda: dx.certify(None, LINE, 1.0), "matrix: is of type NoneType, not"),  # pyright: ignore
    "rows of different lengths": (
        lambda: dx.certify([[0.2] * 5] * 4 + [[1.0]], LINE, 1.0),
        "matrix: has rows of different lengths: row 0 has length 5, row 4 has length 1; give an array",
    ),
    "points of different lengths": (
        lambda: dx.MetricSpace.from_points([[0], [1, 2]]),
        "points: have rows of different lengths: row 0 has length 1, row 1 has length 2; give each point as many",
    ),
    "edges for a graph": (
        lambda: dx.MetricSpace.from_graph([(1, 2)]),  # pyright: ignore[reportArgumentType]
        "graph: is of type list; give a graph of networkx, as nx.Graph(edges)",
    ),
    "two nodes with one name": (
        lambda: dx.MetricSpace.from_graph(nx.Graph([("1", 1)])),
        "labels: points 0 and 1 are both '1'; give each point a label of its own",
    ),
    "nothing for a space": (
        lambda: dx.Problem(None, epsilon=1.0),  # pyright: ignore[reportArgumentType]
        "space: is of type NoneType; give a dx.MetricSpace, such as dx.line(5)",
    ),
    "a matrix for a mechanism": (
        lambda: dx.evaluate.capacity(np.eye(2)),  # pyright: ignore[reportArgumentType]
        "mechanism: is of type ndarray; give a mechanism: dx.certify(matrix, space, epsilon) makes one",
    ),
    "a number for a file": (lambda: dx.IntegerTable.load(3), "file: is of type int; give the name of a"),  # pyright: ignore
    "a number for a folder": (lambda: dx.load(3), "folder: is of type int; give the name of a folder"),  # pyright: ignore
    "text for a key": (
        lambda: TABLE.sample_for(["a"], label=["1"], key="abc", release="r"),  # pyright: ignore[reportArgumentType]
        "key: is of type str; give dx.Key.new(), or dx.Key.load(file)",
    ),
    "a release without a name": (
        lambda: TABLE.sample_for(["a"], label=["1"], key=dx.Key(bytes(32)), release=""),
        "release: is ''; give it a name, as text",
    ),
    "yes for a level": (lambda: problem(epsilon=True), "epsilon: True is not a number; give a positive number"),
    "a level below all normal doubles": (
        lambda: problem(epsilon=1e-320),
        "epsilon: is 9.99989e-321, too small for doubles; give 1e-300 or more",
    ),
    "a level that overflows": (
        lambda: dx.tight_constraints(dx.grid((2, 2)), 1e308),
        "epsilon: is 1e+308, too large for doubles; give 1e+306 or less",
    ),
    "a level of a sweep that overflows": (
        lambda: dx.sweep(problem(), [1.0, 1e308]),
        "epsilons: is 1e+308, too large for doubles; give 1e+306 or less",
    ),
    "a word for a tolerance": (
        lambda: dx.solve(problem(), tolerance="a"),  # pyright: ignore[reportArgumentType]
        "tolerance: 'a' is not a number; give a number between 0 and 1",
    ),
    "a word for the tolerance of a search": (
        lambda: dx.smallest_epsilon(problem(), 0.5, tolerance="a"),  # pyright: ignore[reportArgumentType]
        "tolerance: 'a' is not a number; give a number between 0 and 1",
    ),
    "a word for a time limit": (
        lambda: dx.solve(problem(), time_limit="a"),  # pyright: ignore[reportArgumentType]
        "time_limit: is 'a'; give a positive number of seconds",
    ),
    "a word for the time limit of a sweep": (
        lambda: dx.sweep(problem(), [1.0], time_limit="a"),  # pyright: ignore[reportArgumentType]
        "time_limit: is 'a'; give a positive number of seconds",
    ),
    "a word for a spanner": (
        lambda: dx.solve(problem(), spanner="a"),  # pyright: ignore[reportArgumentType]
        "spanner: 'a' is not a number; give a dilation of 1 or more",
    ),
    "a list of solvers": (
        lambda: dx.solve(problem(), solver=["columns"]),  # pyright: ignore[reportArgumentType]
        "solver: is of type list; give the name of one, or auto",
    ),
    "a number to start from": (
        lambda: dx.solve(problem(), start=3),  # pyright: ignore[reportArgumentType]
        "start: is of type int; give a report of dx.solve",
    ),
    "bytes for a level": (lambda: problem(epsilon=b"1"), "epsilon: b'1' is not a number; give a positive number"),
    "a number to compare": (lambda: dx.compare(problem(), 3), "methods: are of type int; give a list"),  # pyright: ignore
    "a name that is taken": (
        lambda: dx.compare(problem(), {"tight": own()}),
        "methods: the name 'tight' is taken; give one of your own",
    ),
    "a table of an unproven mechanism": (
        lambda: dx.integer_table(own()),
        "mechanism: has no proof of privacy; give one of dx.solve or dx.classic, or dx.certify(mechanism, space, eps",
    ),
    "a table of a matrix": (
        lambda: dx.integer_table(np.eye(5)),  # pyright: ignore[reportArgumentType]
        "mechanism: is of type ndarray; give one of dx.solve or dx.classic, or dx.certify(mechanism, space, epsilon)",
    ),
    "a remap of an unproven mechanism": (
        lambda: dx.classic.remapped(own(), "uniform"),
        "mechanism: mechanism has no proof of privacy; give dx.certify(mechanism, space, epsilon), or use",
    ),
    "a test too coarse": (
        lambda: dx.traces.PredictiveMechanism(
            dx.traces.on_plane(), dx.traces.FixedUtility(10.0, 1.0, dx.traces.Balance(0.9, 1.0, 0.2))
        ),
        "share: 0.2 of each step for the test is too little: its error is 1.932, but a report may be off by 1 only; "
        "raise tolerance to 1.94, or share, or lower probability, in the Balance",
    ),
    "planar Laplace without places": (
        lambda: dx.classic.planar_laplace(dx.MetricSpace.from_distances([[0, 1], [1, 0]]), epsilon=1.0),
        "space: planar_laplace needs a grid or other places in the plane, with Euclidean distances, or places on the "
        "globe, not distances without places; use exponential, or dx.solve",
    ),
    "rows of coordinates as secrets": (
        lambda: dx.classic.planar_laplace(GRID, epsilon=1.0).sample([[0, 0], [1, 2]]),
        "secret: is no list of labels: number 0 is a list; give a label, an index as index=, or coordinates as",
    ),
    "a level that is no number": (
        lambda: problem(epsilon="four"),
        "epsilon: is the text 'four'; give a number, plain or written ln(a), log2(a), sqrt(a), a/b or ln(a)/b",
    ),
    "a level below 0": (
        lambda: problem(epsilon="ln(1/2)"),
        "epsilon: is the text 'ln(1/2)'; give a number, plain or",
    ),
    "a level that is not real": (lambda: problem(epsilon="ln(-1)"), "epsilon: ln(-1) is not a real number; give an"),
    "a level of 0": (lambda: problem(epsilon="ln(1)"), "epsilon: is 0; give a positive finite number"),
    "counts with a gap": (
        lambda: dx.prior_from_frame(LINE, WEIGHTS),
        "index: lacks label '2' and 1 more; write missing=0 to give weight 0 to what it lacks, or add them",
    ),
    "H3 too fine": (
        lambda: dx.geo.h3_cells(13, box=(45.70, 4.77, 45.81, 4.90)),
        "resolution: 13 makes about 2,812,049 cells, more than 1,000,000; give 12 or less (about 401,721 cells), or",
    ),
    "a file that is none": (lambda: dx.read(3), "file: is of type int; give the name of a YAML file"),  # pyright: ignore
}


@pytest.mark.parametrize("name", WORKS)
def test_it_works(name: str) -> None:
    assert WORKS[name]() is not None


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_one_line_that_says_what_to_write(name: str) -> None:
    attempt, message = REFUSED[name]
    with pytest.raises(dx.SpecError) as refused:
        attempt()
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
    assert refused.value.fix


SEMICOLONS = "place_id;latitude;longitude\n1;45.7;4.8\n2;45.8;4.9\n"
DECIMAL_COMMAS = "place_id;latitude;longitude\n1;45,7;4,8\n2;45,8;4,9\n"
PLACES = "space: {kind: points, file: places.csv, columns: [latitude, longitude], metric: haversine}\nepsilon: 1\n"
DISTANCES = "space: {kind: distances, file: places.csv}\nepsilon: 1\n"
FILES: dict[str, tuple[str, str, str]] = {
    "3 values for 39 points": (
        "space: {kind: line, size: 39}\nepsilon: 1\nprior: {kind: explicit, values: [1, 2, 3]}\n",
        "",
        ":3:25: prior.values: has 3 values for 39 points; give one probability for each, in their order",
    ),
    "values that are weights": (
        "space: {kind: line, size: 3}\nepsilon: 1\nprior: {kind: explicit, values: [1, 2, 3]}\n",
        "",
        ":3:25: prior.values: sum to 6; give probabilities that sum to 1: divide each by 6",
    ),
    "numbers as prior": (
        "space: {kind: line, size: 2}\nepsilon: 1\nprior: [0.5, 0.5]\n",
        "",
        ":3:1: prior: is a list of numbers; write prior: {kind: explicit, values: [...]} for probabilities",
    ),
    "one method to compare": (
        "space: {kind: line, size: 2}\nepsilon: 1\ncompare: geometric\n",
        "",
        ":3:10: compare: is the text 'geometric'; write a list, here [geometric]",
    ),
    "a classic above the budget": (
        "space: {kind: line, size: 5}\nepsilon: 0.1\nmethod: geometric\n"
        "objective: {kind: adversary_error, max_loss: 0.5}\n",
        "",
        ":3:9: method: geometric has an expected loss of 1.727706, above the budget of 0.5; raise max_loss, or use",
    ),
    "H3 too fine": (
        "space: {kind: h3, south: 45.70, west: 4.77, north: 45.81, east: 4.90, resolution: 11}\nepsilon: 1\n",
        "",
        ":1:83: space.resolution: makes 57,389 cells or so (limit 4,000); give 9 or less "
        "(about 1,171 cells), or a smaller box",
    ),
    "semicolons": (
        PLACES,
        SEMICOLONS,
        ":1:51: space.columns[0]: places.csv has no column 'latitude', nor commas between its cells: they are "
        "separated by ';'; save it with commas, as by pandas.read_csv('places.csv', sep=';')"
        ".to_csv('places-commas.csv', index=False)",
    ),
    "tabs": (
        PLACES,
        SEMICOLONS.replace(";", "\t"),
        ":1:51: space.columns[0]: places.csv has no column 'latitude', nor commas between its cells: they are "
        "separated by tabs; save it with commas, as by pandas.read_csv('places.csv', sep='\\t')",
    ),
    "decimal commas": (
        PLACES,
        DECIMAL_COMMAS,
        ":1:29: space.file: places.csv has no commas between its cells: they are separated by ';'; save it with "
        "commas, as by pandas.read_csv('places.csv', sep=';', decimal=',').to_csv(",
    ),
    "a matrix with semicolons": (
        DISTANCES,
        "0;1\n1;0\n",
        ":1:32: space.file: places.csv has no commas between its cells: they are separated by ';'; save it with "
        "commas, as by pandas.read_csv('places.csv', sep=';', header=None).to_csv('places-commas.csv', index=False, "
        "header=False)",
    ),
    "a line indented too far": (
        "space:\n  kind: line\n   size: 5\nepsilon: 1\n",
        "",
        ":3:8: syntax: ",
    ),
    "a line indented too little": (
        "space:\n    kind: line\n  size: 5\nepsilon: 1\n",
        "",
        ":3:3: syntax: ",
    ),
    "a tab": ("space:\n\tkind: line\n", "", ":2:1: syntax: "),
    "a bracket left open": (
        "space: {kind: line, size: 5}\nepsilon: [1, 2\nprior: uniform\n",
        "",
        ":3:6: syntax: ",
    ),
    "no colon": (
        "space: {kind: line, size: 5}\nepsilon 1\n",
        "",
        ":2:1: syntax: ",
    ),
    "two colons": (
        "name: a: b\nspace: {kind: line, size: 5}\nepsilon: 1\n",
        "",
        ":1:8: syntax: ",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_refused_in_one_located_line(name: str, tmp_path: Path) -> None:
    text, table, message = FILES[name]
    file = tmp_path / "x.yaml"
    file.write_text(text, encoding="utf-8")
    (tmp_path / "places.csv").write_text(table, encoding="utf-8")
    result = CliRunner().invoke(app, ["solve", str(file), "-o", str(tmp_path / "out")])
    lines = [line for line in result.output.splitlines() if str(file) in line]
    assert result.exit_code == 2
    assert len(lines) == 1
    assert lines[0].removeprefix(str(file)).startswith(message)


@pytest.mark.parametrize(
    ("command", "level", "epsilon"), [("solve", "2", 2.0), ("solve", "ln(4)", math.log(4)), ("compare", "1/2", 0.5)]
)
@pytest.mark.parametrize("written", ["", "epsilon: 1\n", "privacy: {level: ln(2), radius: 2}\n", "epsilon: [1, 3]\n"])
def test_a_level_on_the_command_line(command: str, level: str, epsilon: float, written: str, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(f"space: {{kind: line, size: 4}}\n{written}", encoding="utf-8")
    result = CliRunner().invoke(app, [command, str(file), "--epsilon", level, "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    report = dx.load(tmp_path / ("x-compare" if command == "compare" else "x"))
    assert report.problem.epsilon == epsilon
    assert report.certificate.private


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ("-1", "epsilon: is -1; give a number above 0"),
        ("four", "epsilon: is the text 'four'; give a number, plain or written"),
        ("1,2", "epsilon: has 2 levels; give one, or use dxopt sweep, which takes several"),
    ],
)
def test_a_bad_level_on_the_command_line(level: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("space: {kind: line, size: 4}\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["solve", str(file), f"--epsilon={level}", "-o", str(tmp_path)])
    assert result.exit_code == 2
    assert result.output.startswith(message)


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
