"""The entries of the golden corpus by name: every problem file, and problems of every kind in Python.

Nothing here depends on time, and only the public interface is used: `dx.*` and the command line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

import dxopt as dx
from dxopt.cli import main

ROOT = Path(__file__).parents[2]
ENTRIES: dict[str, Callable[[], Any]] = {}
SLOW = {
    *("file/cabp13-example-1", "file/cha13-budget-frontier", "file/cha13-comparison-grid", "file/cha13-frontier"),
    *("file/cha13-comparison-montreal", "file/ecp14-locations", "file/montreal-249", "file/montreal-249-every-pair"),
    *("file/montreal-30", "file/montreal-grid", "file/nauru", "file/words"),
    *("cli/compare", "exit/commands", "problem/spread", "problem/start"),
}
"""Those that `make test` leaves to `make test-full`."""

LINE, GRID, TORUS = dx.line(7), dx.grid((4, 4)), dx.torus((3, 4))
SMALL = dx.line(5)
PLACES = dx.geo.points([[45.50, -73.57], [45.52, -73.55], [45.53, -73.60], [45.48, -73.58], [45.55, -73.52]])
GRAPH = dx.MetricSpace.from_graph(nx.cycle_graph(6))
TREE = dx.MetricSpace.from_graph(nx.balanced_tree(2, 2))
PRODUCT = dx.product(dx.line(3), dx.grid((2, 2)))
ONE_WAY = dx.MetricSpace.from_distances([[0, 1, np.inf], [2, 0, np.inf], [np.inf, np.inf, 0]])
CUBE = dx.MetricSpace.from_points(np.random.default_rng(5).uniform(0, 3, (6, 3)))
BITS = dx.Universe.databases([0, 1], 3)
ABSENT = dx.Universe.databases([0, 1], 2, absent=True)
SPACES = {
    "line": LINE,
    "grid": GRID,
    "torus": TORUS,
    "places": PLACES,
    "graph": GRAPH,
    "tree": TREE,
    "product": PRODUCT,
    "distances": dx.MetricSpace.from_distances(np.abs(np.subtract.outer([0, 1, 4, 6], [0, 1, 4, 6]))),
    "one way": ONE_WAY,
    "cube": CUBE,
    "hamming": BITS.space(),
    "cells": dx.geo.bounding_grid(45.41, -73.72, 45.61, -73.48, shape=(3, 4), metric="conservative_haversine"),
    "manhattan": dx.grid((4, 5), metric="manhattan"),
}
KEY = dx.Key(bytes(range(32)))


def skewed(space: dx.MetricSpace) -> dx.Prior:
    return dx.Prior.from_weights(space, [1 + k * k % 7 for k in range(len(space))])


def problem(space: dx.MetricSpace = LINE, **changes: Any) -> dx.Problem:
    return dx.Problem(space, **{"epsilon": 0.8, "prior": skewed(space), **changes})


def seeded() -> np.random.Generator:
    return np.random.default_rng(7)


def command(*words: object) -> tuple[int, str]:
    """Run the command line in this process; its exit code and standard output."""
    before, output = sys.argv, StringIO()
    sys.argv = ["dxopt", *map(str, words)]
    try:
        with redirect_stdout(output), redirect_stderr(StringIO()):
            main()
    except SystemExit as ended:
        code = ended.code
    else:
        code = 0
    finally:
        sys.argv = before
    return (code if isinstance(code, int) else 1), output.getvalue()


def solved(file: Path, *options: str, by: str = "solve") -> Any:
    """What a command says of a problem file, and its result folders as they are read again."""
    with TemporaryDirectory() as folder:
        code, said = command(by, file, "-o", folder, "--json", *options)
        lines = json.loads(said)["problems"]
        results = [line | {"result": reread(Path(folder) / line["folder"])} for line in lines]
        names = ("problem", "size", "value", "bound", "resolution", "status", "delivered", "expected", "result")
        return {"exit": code, "problems": [{name: line[name] for name in names} for line in results]}


def reread(folder: Path) -> Any:
    """The report or the sweep of a folder; of a frontier, which has no reader, the reports that it rests on."""
    for load in (dx.load, dx.EpsilonSweep.load):
        try:
            return load(folder)
        except dx.SpecError:
            continue
    return [reread(part) for part in sorted((folder / "parts").iterdir())]


for _file in sorted((ROOT / "problems").glob("*.yaml")):
    ENTRIES[f"file/{_file.stem}"] = lambda file=_file: solved(file)

GOOD = "name: town\nspace: {kind: grid, shape: [3, 3]}\nepsilon: 0.8\nprior: uniform\nloss: distance\n"
BAD = {
    "no file": None,
    "empty": "",
    "a list": "- a\n- b\n",
    "syntax": GOOD.replace("[3, 3]", "[3, 3"),
    "unknown key": GOOD + "los: distance\n",
    "key twice": GOOD + "loss: binary\n",
    "no space": GOOD.replace("space: {kind: grid, shape: [3, 3]}\n", ""),
    "unknown space": GOOD.replace("kind: grid", "kind: gird"),
    "negative epsilon": GOOD.replace("epsilon: 0.8", "epsilon: -1"),
    "no epsilon": GOOD.replace("epsilon: 0.8\n", ""),
    "unknown loss": GOOD.replace("loss: distance", "loss: distances"),
    "prior that is too short": GOOD.replace("prior: uniform", "prior: [0.5, 0.5]"),
    "no tight mechanism": GOOD.replace("0.8", "0.1") + "method: tight\n",
    "expected otherwise": GOOD + "expect: {value: 0.1, tolerance: 1e-6, source: by hand}\n",
    "good": GOOD,
}


def exit_code(text: str | None) -> int:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "town.yaml"
        if text is not None:
            file.write_text(text, encoding="utf-8")
        return command("solve", file, "-o", Path(folder) / "results")[0]


for _name, _text in BAD.items():
    ENTRIES[f"exit/{_name}"] = lambda text=_text: exit_code(text)


def commands() -> dict[str, int]:
    """The exit codes of commands on one result, and on the same result after it was changed."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        file, result = folder / "town.yaml", folder / "results" / "town"
        file.write_text(GOOD, encoding="utf-8")
        people = folder / "people.csv"
        people.write_text("x,y,who\n0,0,a\n1,2,b\n2.2,1.9,a\n", encoding="utf-8")
        far = folder / "far.csv"
        far.write_text("x,y\n0,0\n50,2\n", encoding="utf-8")
        asked: dict[str, tuple[object, ...]] = {
            "solve": ("solve", file, "-o", folder / "results"),
            "verify": ("verify", result),
            "explain": ("explain", result),
            "report": ("report", result, "-o", folder / "page.html"),
            "compare": ("compare", file, "-o", folder / "compared"),
            "batch": ("batch", file, "-o", folder / "batched"),
            "sweep": ("sweep", file, "--epsilon", "0.5:1:0.5", "--method", "tight", "-o", folder / "swept"),
            "verify a sweep": ("verify", folder / "swept" / "town-sweep"),
            "apply": ("apply", result, people, "-o", folder / "public.csv", "--x", "x", "--y", "y"),
            "verify a published file": ("verify", folder / "public.csv", "--result", result),
            "apply outside": ("apply", result, far, "-o", folder / "no.csv", "--x", "x", "--y", "y"),
            "schema": ("schema",),
            "strange option": ("solve", file, "--strange"),
            "no result": ("verify", folder / "nowhere"),
        }
        codes = {name: command(*words)[0] for name, words in asked.items()}
        (folder / "public.csv").write_text("x,y\n0,0\n", encoding="utf-8")
        codes["verify a changed file"] = command("verify", folder / "public.csv", "--result", result)[0]
        (result / "mechanism.npz").unlink()
        return codes | {"verify a damaged result": command("verify", result)[0]}


ENTRIES["exit/commands"] = commands
ENTRIES["cli/sweep"] = lambda: solved(
    ROOT / "problems" / "ecp14-count-query.yaml", "--epsilon", "0.5:1:0.5", "--method", "tight", by="sweep"
)
ENTRIES["cli/compare"] = lambda: solved(ROOT / "problems" / "ecp14-count-query.yaml", by="compare")
ENTRIES["cli/compare at"] = lambda: solved(
    ROOT / "problems" / "cabp13-theorem-4.yaml", "--epsilon", "ln(2)", by="compare"
)


def add(room: str, **entries: Callable[[], Any]) -> None:
    ENTRIES.update({f"{room}/{name}": entry for name, entry in entries.items()})


REFUSED: dict[str, Callable[[], Any]] = {
    "text as epsilon": lambda: problem(epsilon="much"),
    "no epsilon": lambda: problem(epsilon=None),
    "nan": lambda: problem(epsilon=float("nan")),
    "prior of others": lambda: problem(prior=skewed(GRID)),
    "negative prior": lambda: dx.Prior(np.array([0.5, 0.7, -0.2])),
    "no triangle": lambda: dx.MetricSpace.from_distances([[0, 1, 5], [1, 0, 1], [5, 1, 0]]),
    "strange metric": lambda: dx.MetricSpace.from_points([[0.0], [1.0]], "taxi"),
    "delta": lambda: problem(delta=1.5),
    "objective": lambda: problem(objective="best"),
    "method": lambda: dx.solve(problem(), method="best"),
    "solver": lambda: dx.solve(problem(), solver="best"),
    "spanner": lambda: dx.solve(problem(GRID), spanner=0.5),
    "small budget": lambda: dx.solve(problem(SMALL, objective=dx.AdversaryError(max_loss=1e-3))),
    "no tight mechanism": lambda: dx.tight_constraints(GRID, 0.1),
    "large matrix": lambda: dx.tight_constraints(dx.grid((300, 300)), 1).matrix,
    "low above high": lambda: dx.frontier(problem(SMALL), 2, 1),
    "loss that is never": lambda: dx.smallest_epsilon(problem(SMALL), -1),
    "label": lambda: SMALL.index(label="nowhere"),
    "no result": lambda: dx.load("nowhere"),
    "latitude": lambda: dx.geo.points([[120, 3], [10, 3]]),
    "outside": lambda: dx.geo.nearest(TOWN, [[10.0, 10.0]]),
    "table outside": lambda: dx.apply(TABLE, BEDS.assign(beds=99), column="beds"),
    "no column": lambda: dx.apply(TABLE, BEDS, column="rooms"),
    "key without release": lambda: dx.apply(TABLE, BEDS, column="beds", key=KEY, person="hospital"),
    "no mechanism": lambda: dx.integer_table(3),  # pyright: ignore[reportArgumentType]
}
ENTRIES.update({f"refused/{name}": ask for name, ask in REFUSED.items()})

for _name, _space in SPACES.items():
    ENTRIES[f"space/{_name}"] = lambda space=_space: [space.distances, list(space.labels[:9]), space.structure.kind]
    ENTRIES[f"solve/{_name}"] = lambda space=_space: dx.solve(problem(space))
    ENTRIES[f"solve/{_name}, binary"] = lambda space=_space: dx.solve(problem(space, prior="uniform", loss="binary"))
    ENTRIES[f"tight/{_name}"] = lambda space=_space: dx.tight_constraints(space, 1.5)
    ENTRIES[f"exponential/{_name}"] = lambda space=_space: dx.solve(problem(space), method="exponential")

for _method in (
    *("optimal", "tight", "exponential", "geometric", "graph_exponential", "laplace", "multivariate_laplace"),
    *("planar_laplace", "randomised_response", "staircase", "truncated_exponential"),
):
    for _name in ("line", "grid", "graph", "cube"):
        ENTRIES[f"method/{_method}, {_name}"] = lambda method=_method, name=_name: dx.solve(
            problem(SPACES[name], epsilon=1.2), method=method
        )

for _solver in ("clarabel", "highs", "columns"):
    ENTRIES[f"solver/{_solver}"] = lambda solver=_solver: dx.solve(problem(GRID), solver=solver)

BALL = dx.Prior.ball(skewed(GRID), total_variation=0.1)
HULL = dx.Prior.hull([skewed(SMALL), dx.Prior.uniform(SMALL)])
BUDGET = dx.AdversaryError(max_loss=1.5, adversary_loss="binary")
add(
    "problem",
    squared=lambda: dx.solve(problem(GRID, loss="squared")),
    matrix_loss=lambda: dx.solve(problem(SMALL, loss=np.arange(25.0).reshape(5, 5) % 7)),
    function_loss=lambda: dx.solve(problem(SMALL, loss=lambda x, w: max(0.0, w[0] - x[0]))),
    level_as_text=lambda: dx.solve(problem(epsilon="ln(4)")),
    zero_prior=lambda: dx.solve(problem(SMALL, prior=[0.5, 0, 0, 0, 0.5])),
    worst_loss=lambda: dx.solve(problem(GRID, objective="worst_loss")),
    worst_loss_line=lambda: dx.solve(problem(objective="worst_loss", prior=None)),
    adversary_error=lambda: dx.solve(problem(SMALL, objective=BUDGET)),
    adversary_alone=lambda: dx.solve(problem(SMALL, epsilon=None, objective=dx.AdversaryError(max_loss=0.7))),
    delta=lambda: dx.solve(problem(SMALL, delta=0.01)),
    delta_adjacent=lambda: dx.solve(problem(SMALL, delta=0.01, pairs="adjacent")),
    delta_worst=lambda: dx.solve(problem(SMALL, delta=0.05, objective="worst_loss")),
    hull=lambda: dx.solve(problem(SMALL, prior=HULL)),
    ball=lambda: dx.solve(problem(GRID, prior=BALL)),
    box=lambda: dx.solve(problem(SMALL, prior=dx.Prior.box(around=skewed(SMALL), ratio=2))),
    fitting=lambda: dx.solve(
        problem(dx.grid((3, 3)), prior=dx.Prior.fitting(dx.grid((3, 3)), marginals=[[0.2, 0.3, 0.5], None]))
    ),
    totals=lambda: dx.solve(problem(SMALL, prior=dx.Prior.fitting(SMALL, totals=[([0, 1, 2, 3, 4], 1.5, 2)]))),
    regret=lambda: dx.solve(problem(SMALL, prior=HULL, objective="regret")),
    ball_delta=lambda: dx.solve(problem(SMALL, prior=dx.Prior.ball(skewed(SMALL), total_variation=0.2), delta=0.01)),
    spanner=lambda: dx.solve(problem(GRID), spanner=1.3),
    tolerance=lambda: dx.solve(problem(GRID), tolerance=0.01),
    start=lambda: dx.solve(problem(GRID, epsilon=0.82), solver="columns", start=dx.solve(problem(GRID))),
    reports_within=lambda: dx.solve(problem(SMALL, reports=dx.Reports.at([[0.5], [2.0], [3.5]]))),
    smoothed=lambda: dx.Prior.from_samples(
        GRID, [[0, 1], [3, 3], [3, 3]], smoothing=dx.Smoothing(kernel="gaussian", bandwidth=1)
    ),
    pseudo_counts=lambda: dx.Prior.from_check_ins(PLACES, [[45.5, -73.57], [45.53, -73.6]], within=3, smoothing=0.5),
    large_product=lambda: dx.solve(problem(dx.grid((30, 40), metric="manhattan"), prior="uniform")),
    large_tight=lambda: dx.tight_constraints(dx.grid((60, 50)), 0.8),
    spread=lambda: dx.solve(problem(dx.line(301), epsilon=0.05)),
)

TOGETHER = [0.4 if people in ((0, 0, 0), (1, 1, 1)) else 0.2 / 6 for people in BITS.secrets]
BAYES = dx.BeliefPairs.bayesian(BITS, TOGETHER, known=0).at(0.5)
STEP = dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=["home", "work"])
WALK = dx.BeliefPairs.markov(STEP, 3, [[0.8, 0.2], [0.2, 0.8]])
HALVES = dx.BeliefPairs.pufferfish(SMALL, [([0], [1, 2, 3, 4]), ([0, 1, 2], [3, 4])], [dx.Prior.uniform(SMALL)])
add(
    "beliefs",
    alone=lambda: dx.solve(problem(BITS.space(), epsilon=None, beliefs=BAYES, prior=TOGETHER)),
    beside=lambda: dx.solve(problem(BITS.space(), epsilon=1.0, beliefs=BAYES, prior=TOGETHER)),
    worst=lambda: dx.solve(problem(BITS.space(), epsilon=None, beliefs=BAYES, objective="worst_loss")),
    pufferfish=lambda: dx.evaluate.belief_level(dx.classic.geometric(SMALL, epsilon=1.0), HALVES).epsilon,
    markov=lambda: [WALK.first, WALK.second, WALK.distances],
    coupled=lambda: dx.BeliefPairs.coupled_worlds(ABSENT, "uniform").first,
    correlated=lambda: dx.BeliefPairs.correlated(BITS, [(0, 0, 0), (1, 1, 1), (0, 0, 1)], smoothing=0.5).first,
)

_RELATIONS: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("bounded", "both", "free_lunch", "attribute", "unbounded")},
    "individual": {"at": (0, 1, 0)},
    "one_sided": {"sensitive": [1]},
    "group": {"size": 2},
    "event": {},
    "user": {},
    "edge": {},
    "node": {},
    "edit": {},
    "substitution": {},
}
_UNIVERSES = {
    "event": dx.Universe.streams([0, 1], 3),
    "user": dx.Universe.streams([0, 1], 2, users=2),
    "edge": dx.Universe.graphs(3),
    "node": dx.Universe.graphs(3),
    "edit": dx.Universe.words("ab", 3, shortest=1),
    "substitution": dx.Universe.words("ab", 3),
    "unbounded": ABSENT,
}
for _name, _parameters in _RELATIONS.items():
    ENTRIES[f"neighbours/{_name}"] = lambda name=_name, parameters=_parameters: (
        dx.neighbours(_UNIVERSES.get(name, BITS), name, **parameters).distances
    )

GEOMETRIC, EXPONENTIAL = dx.classic.geometric(SMALL, epsilon=0.7), dx.classic.exponential(SMALL, epsilon=0.7)
PRIOR, OTHER = skewed(SMALL), dx.Prior.uniform(SMALL)
RESPONSE = dx.classic.randomised_response(SMALL, epsilon=0.5, delta=0.01)
add(
    "classic",
    cloaking=lambda: dx.classic.cloaking(GRID, side=2),
    exponential_of_score=lambda: dx.classic.exponential(SMALL, epsilon=1, score=lambda x, z: -abs(x[0] - z[0])),
    graph_rate=lambda: dx.classic.graph_exponential(TREE, epsilon=1, rate=0.5),
    moved=lambda: dx.classic.moved_to_nearest(dx.classic.geometric(SMALL, epsilon=1), dx.Reports.at([[0.0], [3.0]])),
    planar=lambda: dx.classic.planar_laplace(PLACES, epsilon=1.4),
    planar_large=lambda: dx.classic.planar_laplace(dx.grid((25, 25)), epsilon=0.5),
    remapped=lambda: dx.classic.remapped(dx.classic.planar_laplace(PLACES, epsilon=1.4), skewed(PLACES)),
    remapped_worst=lambda: dx.classic.remapped(GEOMETRIC, loss="distance", objective="worst_loss"),
    response=lambda: RESPONSE,
    staircase=lambda: dx.classic.staircase(LINE, epsilon=1, sensitivity=2, share=0.3),
    truncated=lambda: dx.classic.truncated_exponential(GRID, epsilon=1, radius=2),
    together=lambda: dx.together([GEOMETRIC, EXPONENTIAL]),
    choice=lambda: [dx.choice([GEOMETRIC, EXPONENTIAL], [0.3, 0.7], visible=seen) for seen in (True, False)],
    composed=lambda: GEOMETRIC.remap([0, 0, 2, 4, 4]),
    sampled=lambda: [GEOMETRIC.sample([0, 2, 4], 8, seeded()), EXPONENTIAL.sample("2", 8, seeded(), returns="label")],
)
add(
    "geo",
    level=lambda: [float(dx.geo.level(np.log(4), 2)), float(dx.geo.level(np.log(4), 2, space=TOWN))],
    nearest=lambda: dx.geo.nearest(TOWN, [[45.701, 4.812], [45.733, 4.777], [46.5, 4.8]], within=1),
    hexagons=lambda: dx.geo.h3_cells(6, box=(45.6, 4.7, 45.8, 4.9)).distances,
    inside=lambda: dx.geo.inside(
        TOWN, {"type": "Polygon", "coordinates": [[[4.7, 45.6], [4.9, 45.6], [4.7, 45.8], [4.7, 45.6]]]}
    ),
    geodesic=lambda: (
        dx.geo.points([[-0.18, -78.47], [-0.17, -78.47], [-0.18, -78.46]], metric="geodesic", unit="m").distances
    ),
    roads=lambda: dx.geo.roads(ROOT / "problems" / "town.graphml", largest=True).distances,
)
add(
    "certify",
    own=lambda: dx.certify(EXPONENTIAL.matrix, SMALL, 0.7),
    refused=lambda: dx.certify(EXPONENTIAL.matrix, SMALL, 0.1),
    least=lambda: dx.certify(EXPONENTIAL.matrix, SMALL),
    repaired=lambda: dx.certify(EXPONENTIAL.matrix * (1 + 1e-8), SMALL, repair=True),
    beyond_repair=lambda: dx.certify(EXPONENTIAL.matrix, SMALL, 0.3, repair=True),
    relaxed=lambda: dx.certify(RESPONSE.matrix, SMALL, 0.5, delta=0.01),
    no_rows=lambda: dx.certify(np.full((5, 5), 0.3), SMALL, 1),
)
add(
    "study",
    level=lambda: dx.smallest_epsilon(problem(GRID), 0.9, accuracy=1e-3),
    level_line=lambda: dx.smallest_epsilon(problem(), 0.5),
    frontier=lambda: dx.frontier(problem(SMALL), 0.5, 2.0, resolution=0.1),
    budget_frontier=lambda: dx.budget_frontier(problem(SMALL, objective=BUDGET), 0.7, 1.5, resolution=0.01),
    sweep=lambda: dx.sweep(problem(GRID), [0.5, 1, 2], ["tight", "exponential"]),
    sweep_all=lambda: dx.sweep(problem(SMALL), [0.3, 1]),
    compare=lambda: dx.compare(problem(GRID, epsilon=1.2)),
    compare_own=lambda: dx.compare(problem(SMALL), ["geometric", ("mine", EXPONENTIAL.matrix), RESPONSE]),
    compare_priors=lambda: dx.compare(problem(SMALL), ["tight", "exponential"], priors={"even": OTHER}),
    compare_worst=lambda: dx.compare(problem(SMALL, objective="worst_loss"), ["exponential", "geometric"]),
    compare_delta=lambda: dx.compare(problem(SMALL, delta=0.01), ["randomised_response", "geometric"]),
    compare_ball=lambda: dx.compare(problem(GRID, prior=BALL), ["exponential", "planar_laplace"]),
    compare_places=lambda: dx.compare(problem(PLACES)),
    explain=lambda: explained(dx.explain(dx.solve(problem(GRID)))),
    explain_places=lambda: explained(dx.explain(dx.solve(problem(PLACES)), distance=2, reports=10)),
)


def explained(found: dx.Explanation) -> dict[str, Any]:
    """The numbers of an explanation that are no texts."""
    return {name: value for name, value in found.content().items() if isinstance(value, bool | int | float)}


GAIN = (SMALL.distances <= 1).astype(float)
add(
    "evaluate",
    losses=lambda: [
        dx.evaluate.expected_loss(GEOMETRIC, PRIOR),
        dx.evaluate.expected_loss(GEOMETRIC, PRIOR, "squared"),
        dx.evaluate.worst_loss(GEOMETRIC),
        dx.evaluate.utility(GEOMETRIC, PRIOR),
        dx.evaluate.adversary_error(GEOMETRIC, PRIOR),
        dx.evaluate.adversary_error(GEOMETRIC, PRIOR, "binary"),
    ],
    leakage=lambda: [
        dx.evaluate.min_entropy_leakage(EXPONENTIAL, PRIOR),
        dx.evaluate.capacity(EXPONENTIAL),
        dx.evaluate.additive_capacity(EXPONENTIAL),
        dx.evaluate.additive_capacity(EXPONENTIAL, PRIOR, gains="spanning"),
    ],
    g_leakage=lambda: fields(dx.evaluate.g_leakage(GEOMETRIC, PRIOR, GAIN), "before", "after", "additive", "bits"),
    refines=lambda: [
        fields(dx.evaluate.refines(better, worse), "holds", "verdict", "low", "high")
        for better, worse in ((GEOMETRIC, EXPONENTIAL), (EXPONENTIAL, GEOMETRIC))
    ],
    privacy=lambda: [
        dx.evaluate.smallest_epsilon(EXPONENTIAL),
        dx.evaluate.smallest_epsilon(RESPONSE, 0.02),
        dx.evaluate.smallest_delta(RESPONSE, 0.3),
        dx.evaluate.smallest_delta(RESPONSE, 0.3, pairs="adjacent"),
        dx.evaluate.privacy_profile(GEOMETRIC, [0.1, 0.3, 0.7]),
    ],
    divergence=lambda: [
        dx.evaluate.divergence(EXPONENTIAL, kind, order=2 if kind == "renyi" else None)
        for kind in ("max", "kullback_leibler", "total_variation", "chi_squared", "hellinger", "renyi")
    ],
    remap=lambda: [
        dx.evaluate.optimal_remap(GEOMETRIC, PRIOR),
        dx.evaluate.optimal_remap(GEOMETRIC, PRIOR, "binary"),
    ],
    random_remap=lambda: fields(dx.evaluate.optimal_random_remap(GEOMETRIC), "value", "bound"),
    usefulness=lambda: [
        dx.evaluate.usefulness(GEOMETRIC, 1),
        dx.evaluate.usefulness_curve(GEOMETRIC, [0, 1, 2, 3]),
        dx.evaluate.smallest_alpha(GEOMETRIC, 0.05),
    ],
    off_prior=lambda: fields(
        dx.evaluate.off_prior(GEOMETRIC, dx.Prior(np.array([0.5, 0.5, 0, 0, 0]))),
        *("losses", "unlikely", "never", "hardly", "worst", "worst_unlikely", "mean_unlikely", "not_reported"),
    ),
    on=lambda: fields(
        dx.evaluate.on(GEOMETRIC, index=[0, 0, 2, 3, 3, 4], loss="distance", prior=PRIOR),
        *("loss", "standard_error", "worst", "worst_at", "prior_zero", "outside"),
    ),
)
add(
    "characterise",
    posterior=lambda: dx.characterise.posterior(GEOMETRIC, PRIOR, [0, 1]),
    after_hiding=lambda: fields(
        dx.characterise.after_hiding(GEOMETRIC, PRIOR, [0, 0, 2, 3, 4], epsilon=0.7), "gain", "limit", "bound"
    ),
    within=lambda: fields(dx.characterise.within(GEOMETRIC, PRIOR, [1, 2, 3], epsilon=0.7), "gain", "limit", "bound"),
    distances=lambda: [
        dx.characterise.diameter(GRID, [0, 1, 6]),
        dx.characterise.hiding_distance(SMALL, [0, 0, 2, 3, 4]),
        dx.characterise.multiplicative_distance([0.5, 0.5], [0.25, 0.75]),
        dx.characterise.hiding_tightness(SMALL, [[0, 0, 2, 3, 4]]).holds,
        dx.characterise.neighbourhood_tightness(SMALL, [[0, 1], [1, 2], [2, 3], [3, 4]]).holds,
    ],
)
add(
    "regularity",
    verdicts=lambda: [
        [
            fields(dx.regularity.verdict(prior, space, 0.8), "status", "gamma", "error")
            for prior in (skewed(space), "uniform")
        ]
        for space in (LINE, GRID, GRAPH)
    ],
    thresholds=lambda: [
        fields(dx.regularity.threshold(space), "value", "low", "high", "proven", "sampled")
        for space in (SMALL, GRID, GRAPH, PRODUCT)
    ],
    bounds=lambda: [
        dx.regularity.utility_bound(OTHER, SMALL, 1.0),
        dx.regularity.binary_utility_bound(PRIOR, SMALL, 0.7),
        dx.regularity.leakage_bound(OTHER, SMALL, 0.7),
        dx.regularity.database_leakage_bound(3, 4, 0.5),
        dx.regularity.corner_prior(SMALL, 0.7, index=0),
    ],
    phi=lambda: dx.regularity.phi(GRID, 0.8),
    region=lambda: [
        fields(dx.regularity.is_optimal_on_region(found, 0.7), "status", "shortfall")
        for found in (dx.tight_constraints(SMALL, 0.7), EXPONENTIAL)
    ],
)
add(
    "compose",
    season=lambda: [
        [season.epsilon(1e-6), season.delta(5.0), season.pure, season.curve([1, 3])]
        for season in [dx.compose(dx.classic.geometric(SMALL, epsilon=0.1), 100)]
    ],
    mixed=lambda: dx.compose([GEOMETRIC, dx.integer_table(EXPONENTIAL), RESPONSE], [10, 2, 1]).epsilon(0.02),
    adjacent=lambda: dx.compose([EXPONENTIAL], [5], pairs="adjacent").delta(0.5),
)
add(
    "inference",
    repeated=lambda: [
        [one.reports, one.named, one.error, one.exact]
        for one in dx.inference.repeated(EXPONENTIAL, PRIOR, (1, 4, 64), runs=200, rng=seeded()).attacks
    ],
    update=lambda: fields(
        dx.inference.iterative_update(GEOMETRIC, [50, 20, 10, 10, 30]), "prior", "log_likelihood", "gap", "status"
    ),
    rate=lambda: fields(
        dx.inference.rate_distortion(SMALL, PRIOR, slope=1.0), "mechanism", "rate", "bound", "loss", "status"
    ),
)
add(
    "noise",
    quantiles=lambda: [
        [noise.error_quantile(0.5), noise.error_quantile(0.95), noise.mean_error]
        for noise in (
            *(dx.noise.Laplace(0.5), dx.noise.PlanarLaplace(0.5), dx.noise.ManhattanLaplace(0.5)),
            *(dx.noise.MultivariateLaplace(0.5), dx.noise.Staircase(0.5), dx.noise.Geometric(0.5)),
        )
    ],
    draws=lambda: [
        dx.noise.Laplace(0.5).sample(np.zeros(4), rng=seeded()),
        dx.noise.PlanarLaplace(0.5).sample(np.zeros((3, 2)), rng=seeded()),
        dx.noise.Staircase(0.5).sample(np.zeros(4), rng=seeded()),
        dx.noise.Geometric(0.5).sample(np.array([7, 7, 12, 3]), rng=seeded()),
    ],
)
VALUES = dx.Universe.databases([0, 1, 2], 2)
COUNT = dx.queries.count(VALUES, lambda value: value > 0)
add(
    "queries",
    sensitivity=lambda: [
        fields(dx.queries.sensitivity(query, VALUES.space(), query.induced(VALUES.space())), "delta", "uniform")
        for query in (COUNT, dx.queries.total(VALUES), dx.queries.average(VALUES), dx.queries.percentile(VALUES, 50))
    ],
    optimality=lambda: [
        dx.queries.optimality(query, VALUES.space()).status for query in (COUNT, dx.queries.total(VALUES))
    ],
    family=lambda: [
        dx.queries.family_c(query).member for query in (COUNT, dx.queries.total(VALUES), dx.queries.average(VALUES))
    ],
    graph=lambda: sorted(map(str, dx.queries.induced_graph(COUNT, VALUES.space()).edges)),
    lift_loss=lambda: dx.lift_loss(COUNT).matrix,
    lift=lambda: dx.lift(COUNT, dx.classic.geometric(COUNT.induced(VALUES.space()), epsilon=1), VALUES.space()),
)
add(
    "sanitisation",
    bounds=lambda: [
        fields(dx.sanitisation.error_bounds(BITS.space(), epsilon=0.5, delta=delta), "best", "diameter", "packing")
        for delta in (0.0, 0.01)
    ],
    scale=lambda: [dx.sanitisation.laplace_scale(4, epsilon=1, delta=delta) for delta in (0.0, 0.1)],
    product=lambda: [found.expected_error(PRIOR) for found in [dx.sanitisation.product_sanitisation(RESPONSE, 3)]],
)

WALKED = np.array([[0.0, 0.0], [0.1, 0.0], [0.1, 0.1], [2.0, 1.0], [2.0, 1.1], [2.1, 1.1]])
ON_LINE = dx.traces.Finite(SMALL, lambda level: dx.classic.geometric(SMALL, epsilon=level))


def run_of(run: dx.traces.Run) -> list[Any]:
    return [
        [str(kind) for kind in run.kinds],
        [np.asarray(report).tolist() for report in run.reports],
        float(run.spent),
    ]


add(
    "traces",
    utility=lambda: run_of(
        dx.traces.PredictiveMechanism(dx.traces.on_plane(), dx.traces.FixedUtility(total=200, error=0.3)).run(
            WALKED, seeded()
        )
    ),
    rate=lambda: run_of(
        dx.traces.PredictiveMechanism(dx.traces.on_plane(), dx.traces.FixedRate(total=60, steps=6)).run(
            WALKED, seeded()
        )
    ),
    independent=lambda: run_of(dx.traces.IndependentNoise(ON_LINE, 0.5).run([0, 1, 1, 2, 4], seeded())),
    evaluation=lambda: fields(
        dx.traces.evaluate(
            dx.traces.IndependentNoise(ON_LINE, 0.5), [[0, 1, 1], [4, 4, 3]], repetitions=5, rng=seeded()
        ),
        *("mean_error", "standard_error", "error_quantiles", "spent", "most_spent", "runs"),
    ),
)

TABLE = dx.integer_table(dx.certify(GEOMETRIC.matrix, SMALL, 0.7, name="t"))
BEDS = pd.DataFrame({"hospital": ["a", "b", "a", "c"], "beds": [3, 1, 3, 0]})
TOWN = dx.geo.bounding_grid(45.68, 4.76, 45.74, 4.84, shape=(3, 3))
ENVOYS = pd.DataFrame({"person": ["ann", "bob", "cem"], "lat": [45.701, 45.733, 45.69], "lon": [4.812, 4.777, 4.83]})


def applied() -> list[Any]:
    """What is published of two frames under a key, without the sentences."""
    town = dx.integer_table(dx.certify(dx.classic.exponential(TOWN, epsilon=1).matrix, TOWN, 1, name="town"))
    beds = dx.apply(TABLE, BEDS, column="beds", within=0, key=KEY, person="hospital", release="autumn")
    given = {"key": KEY, "person": "person", "release": "autumn"}
    people = dx.apply(town, ENVOYS, lat="lat", lon="lon", columns=dx.Columns(worst=True), **given)
    return [
        [list(shown.columns), *shown.values.tolist()]
        for shown in (frame.drop(columns="dataGeneralizations") for frame in (beds, people))
    ]


def budgeted() -> list[Any]:
    """What a ledger knows after a release in which one person has too little left."""
    with (
        TemporaryDirectory() as folder,
        dx.Budgets.open(Path(folder) / "ledger", create=True, unit="per bed", default=2) as budgets,
    ):
        given = {"column": "beds", "within": 0, "person": "hospital", "release": "autumn", "ledger": budgets}
        space = dx.line(5, unit="bed")
        table = dx.integer_table(dx.classic.geometric(space, epsilon=0.75))
        rows = [len(dx.apply(table, BEDS, over_budget="drop", **given)) for _ in range(2)]
        return [rows, [str(left) for left in budgets.left(["a", "b", "c", "d"])]]


def exported() -> dict[str, int]:
    with TemporaryDirectory() as folder:
        for to in ("js", "sql", "duckdb", "json", "dxt"):
            dx.export(TABLE, to, Path(folder) / f"table.{to}")
        return {file.suffix: file.stat().st_size > 0 for file in sorted(Path(folder).iterdir())}


add(
    "release",
    table=lambda: [TABLE, TABLE.digest, dx.integer_table(dx.classic.planar_laplace(PLACES, epsilon=1.4))],
    table_delta=lambda: dx.integer_table(RESPONSE, prior=PRIOR, loss="distance"),
    draws=lambda: TABLE.sample([0, 2, 4], 8, seeded()),
    keyed=lambda: TABLE.sample_for(["ann", "bob"], [0, 3], key=KEY, release="spring"),
    probability=lambda: [str(Fraction(TABLE.probability(0, 1, by="index")))],
    fingerprint=lambda: [KEY.fingerprint, KEY.digest("a", "b").hex()],
    apply=applied,
    budgets=budgeted,
    export=exported,
    frame=lambda: dx.to_frame(GEOMETRIC).to_numpy(),
    saved=lambda: saved_again(),
    geojson=lambda: [
        one["properties"] for one in dx.geojson(dx.solve(problem(PLACES)), secret=PLACES.labels[0])["features"]
    ],
)


def saved_again() -> list[Any]:
    """Mechanisms, tables and reports as they are after they were saved and read."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for at, found in enumerate(
            (GEOMETRIC, dx.tight_constraints(GRID, 1.5), dx.classic.planar_laplace(PLACES, epsilon=1))
        ):
            found.save(folder / f"{at}.npz")
        TABLE.save(folder / "table.dxt")
        reports = [
            dx.load(dx.solve(asked).save(folder / f"report-{at}"))
            for at, asked in enumerate(
                (problem(), problem(SMALL, delta=0.01), problem(SMALL, prior=HULL, objective="regret"))
            )
        ]
        sweep = dx.EpsilonSweep.load(dx.sweep(problem(SMALL), [0.5, 1], ["tight"]).save(folder / "sweep"))
        mechanisms = [dx.Mechanism.load(folder / f"{at}.npz") for at in range(3)]
        return [*mechanisms, dx.IntegerTable.load(folder / "table.dxt"), *reports, sweep]


def fields(found: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(found, name) for name in names}
