"""Arguments of all public functions and methods: values of any type are taken, or refused by a DxoptError.

Every parameter is given every value of `THINGS`. The signatures say which are numbers and paths: these are given
those of `NUMBERS` and `PATHS` as well, beside sound arguments for the others. `GIVEN` has these by name, and `OWN`
those of one function.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dxopt as dx


class Wild:
    """An object whose conversions all fail."""

    def __float__(self) -> float:
        raise RuntimeError("wild")

    def __repr__(self) -> str:
        raise RuntimeError("wild")


NUMBERS: dict[str, Any] = {
    "truth": True,
    "zero": 0,
    "negative": -1,
    "nan": math.nan,
    "infinite": math.inf,
    "least": 5e-324,
    "largest": 1.7e308,
    "long": 10**30,
    "huge": 10**400,
    "minus huge": -(10**400),
    "third": Fraction(1, 3),
    "huge fraction": Fraction(10**400),
    "decimal": Decimal("0.5"),
    "decimal nan": Decimal("sNaN"),
    "decimal overflow": Decimal("1e999999"),
    "complex": 1j,
    "float32": np.float32(0.5),
    "int64": np.int64(2),
    "array": np.array(0.5),
    "arrays": np.ones(3),
    "huge arrays": np.full(3, 1e308),
    "date": np.datetime64("2020-01-01"),
    "empty": "",
    "letters": "x",
    "overflow": "1e999",
    "digits": "9" * 5000,
    "surrogate": "\ud800",
    "bytes": b"1",
    "list": [],
    "missing": pd.NA,
    "object": object(),
    "wild": Wild(),
}
PATHS: dict[str, Any] = {
    "empty": "",
    "letters": "no",
    "long": "a" * 300,
    "surrogate": "\ud800",
    "raw": "o\udc80.csv",
    "zero": "\0",
    "bytes": b"x",
    "number": 3,
    "below a file": "/dev/null/x",
    "folder": ".",
    "object": object(),
}

LINE = dx.line(3)
TOWN = dx.geo.bounding_grid(45.68, 4.76, 45.74, 4.84, shape=(2, 3))
UNIVERSE = dx.Universe.databases([0, 1], 2)
NOISE = dx.classic.geometric(LINE, epsilon=1.0)
TABLE = dx.integer_table(NOISE)
PROBLEM = dx.Problem(LINE, epsilon=1.0, prior="uniform")
ADVERSARY = PROBLEM.but(objective=dx.AdversaryError(0.5))
MARKOV = dx.BeliefPairs.markov(["h", "w"], 2, [[0.9, 0.1], [0.2, 0.8]])
WALK = dx.traces.on_line()
MOVES = np.full((3, 3), 1 / 3)
TEST = dx.traces.LaplaceTest()
OVERLAPPING = [([0.5, 0.5, 0], [0, 0.5, 0.5])]
TRIANGLE = {"type": "Polygon", "coordinates": [[[4.7, 45.6], [4.9, 45.6], [4.9, 45.8], [4.7, 45.6]]]}
SUMS = dx.sanitisation.product_sanitisation(NOISE, 2)
PLANE = dx.grid((2, 2))

TOTAL = dx.queries.total(UNIVERSE)
NOISE_OF_TOWN = dx.classic.planar_laplace(TOWN, epsilon=1.0)
NOISE_OF_TOTAL = dx.classic.geometric(TOTAL.space(), epsilon=1.0)
THINGS: dict[str, Any] = {
    "none": None,
    "true": True,
    "number": 2,
    "real": 0.5,
    "letters": "x",
    "missing": pd.NA,
    "array": np.array([0.5, 0.5]),
    "array of texts": np.array(["all", "uniform"]),
    "array of one": np.array(["all"]),
    "series": pd.Series([1, 2]),
    "frame": pd.DataFrame({"a": [1, 2]}),
    "list": [[0], [1]],
    "list of nothing": [[]],
    "mapping": {"kind": "x"},
    "set": {1},
    "object": object(),
    "table": TABLE,
    "mechanism": NOISE,
    "mechanism of others": dx.classic.exponential(PLANE, epsilon=1.0),
    "space": LINE,
    "space of others": PLANE,
    "prior": dx.Prior.uniform(LINE),
    "priors": [dx.Prior.uniform(LINE), None],
    "problem": PROBLEM,
    "reports": NOISE.reports,
}

GIVEN: dict[str, Any] = {
    "alphabet": "ab", "around": dx.Prior.uniform(LINE), "better": NOISE, "beliefs": "uniform", "counts": [1, 2, 3],
    "data": ["0", "1"], "database": [0, 1], "delta": 0.1, "diameter": 1.0, "distance": 1.0, "east": 4.1,
    "epsilon": 1.0, "epsilons": [0.5, 1.0], "error": 0.5, "evaluations": 20, "factor": NOISE, "failure": 0.01,
    "file": "no", "folder": "no", "found": NOISE, "high": 1.0, "hiding": [0, 1], "index": 0, "individuals": 3,
    "kind": "renyi", "level": 1.0, "longest": 2, "low": 0.5, "max_loss": 0.5, "mechanism": NOISE, "members": [0, 1],
    "mechanisms": [NOISE, NOISE], "most": 1.0, "nodes": 3, "noise": WALK, "noise_level": 0.5, "north": 45.1,
    "observed": [(0, 0), (1, 1)], "p": 50, "places": [[45.7, 4.8]], "plan": dx.traces.Plan(0.5, 0.5, 1.0),
    "points": [[0], [1]], "prior": dx.Prior.uniform(LINE), "probability": 0.5, "problem": PROBLEM, "radius": 0.5,
    "records": 2, "release": "r", "resolution": 0.1, "secret": "1", "series": pd.Series([1.0, 2.0], ["0", "1"]),
    "size": 3, "south": 45.0, "space": LINE, "spacing": 1.0, "shape": (2, 2), "states": ["h", "w"], "steps": 10,
    "subject": NOISE, "test": TEST, "test_level": 0.5, "threshold": 1.0, "time_limit": 5.0, "times": 2,
    "tolerance": 1e-3, "total": 10, "total_variation": 0.1, "traces": [[0.0, 1.0]], "values": 2, "worse": NOISE,
    "transition": [[0.9, 0.1], [0.2, 0.8]], "universe": UNIVERSE, "weights": [1, 2, 3], "west": 4.0,
    "columns": [0], "count": 2, "levels": [1, 1, 1], "people": 2, "rows": [0, 2], "targets": [[0.5]],
}  # fmt: skip
"""Sound arguments by the names of parameters."""
OWN: dict[str, dict[str, Any]] = {
    "dx.BeliefPairs.coupled_worlds": {"universe": dx.Universe.databases([0, 1], 2, absent=True)},
    "dx.BeliefPairs.pufferfish": {"secrets": [([0], [1])]},
    "dx.IntegerTable.probability": {"report": "0"},
    "dx.IntegerTable.sample_for": {"persons": ["a"], "key": dx.Key.new(), "secret": "1"},
    "dx.Loss.of": {"loss": "distance"},
    "dx.MetricSpace.from_graph": {"graph": nx.path_graph(3)},
    "dx.Prior.from_private_counts": {"counts": dx.PrivateCounts(np.array([1, 2, 3]), 1.0, 1, ("0", "1", "2"))},
    "dx.Prior.private": {"persons": ["a", "b"], "per_person": 1},
    "dx.PrivateCounts": {"per_person": 1, "labels": ("0", "1", "2")},
    "dx.Prior.hull": {"priors": [GIVEN["prior"]]},
    "dx.Reports.within": {"space": TOWN, "area": TRIANGLE},
    "dx.classic.remapped": {"prior": "uniform"},
    "dx.draw_map": {"answer": NOISE_OF_TOWN},
    "dx.geo.positions": {"space": TOWN},
    "dx.geojson": {"answer": NOISE_OF_TOWN},
    "dx.lift": {
        "mechanism": dx.classic.geometric(TOTAL.space(), epsilon=1.0),
        "query": TOTAL,
        "secrets": UNIVERSE.space(),
    },
    "dx.lift_loss": {"query": TOTAL},
    "dx.mechanism_from_frame": {"frame": dx.to_frame(NOISE)},
    "dx.neighbours": {"relation": "attribute"},
    "dx.queries.Query.of": {"function": sum},
    "dx.queries.count": {"holds": bool},
    "dx.queries.family_c": {"query": TOTAL},
    "dx.queries.induced_graph": {"query": TOTAL, "secrets": UNIVERSE.space()},
    "dx.queries.optimality": {"query": TOTAL, "secrets": UNIVERSE.space()},
    "dx.queries.sensitivity": {"query": TOTAL, "secrets": UNIVERSE.space(), "answers": TOTAL.space()},
    "dx.sanitisation.ProductSanitisation.log_probability": {"sanitised": [0, 1]},
    "dx.sanitisation.ProductSanitisation.probability": {"sanitised": [0, 1]},
    "dx.to_frame": {"answer": NOISE},
    "dx.to_geodataframe": {"answer": NOISE_OF_TOWN},
    "dx.traces.PredictiveMechanism": {"manager": dx.traces.FixedRate(total=100, steps=10)},
    "dx.BeliefPairs": {"first": [[0.5, 0.5, 0]], "second": [[0, 0.5, 0.5]]},
    "dx.BeliefPairs.of": {"pairs": OVERLAPPING},
    "dx.BeliefPairs.markov": {"length": 2},
    "dx.Budgets.open": {"create": True, "unit": "per unit"},
    "dx.IntegerTable.sample": {"secret": "1"},
    "dx.Loss.column": {"report": 0},
    "dx.Prior.box": {"around": GIVEN["prior"], "ratio": 2.0},
    "dx.Prior.fitting": {"totals": [([1, 0, 0], 0.1, 0.5)]},
    "dx.Problem": {"prior": "uniform"},
    "dx.Smoothing": {"add": 0.5, "kernel": "gaussian", "bandwidth": 1.0},
    "dx.Smoothing.of": {"smoothing": 0.5},
    "dx.Universe.databases": {"values": [0, 1]},
    "dx.Universe.streams": {"values": [0, 1]},
    "dx.apply": {"table": TABLE, "data": pd.DataFrame({"n": [1, 2]}), "column": "n"},
    "dx.budget_frontier": {"problem": ADVERSARY, "low": 0.5, "high": 0.8},
    "dx.classic.cloaking": {"side": 1.0},
    "dx.MetricSpace.from_distances": {"distances": [[0, 1], [1, 0]]},
    "dx.characterise.after_hiding": {"hiding": [0, 0, 1]},
    "dx.characterise.hiding_distance": {"hiding": [0, 0, 1]},
    "dx.characterise.hiding_tightness": {"hidings": [[0, 0, 1]]},
    "dx.characterise.multiplicative_distance": {"first": [0.5, 0.5], "second": [0.2, 0.8]},
    "dx.characterise.neighbourhood_tightness": {"neighbourhoods": [[0, 1]]},
    "dx.characterise.posterior": {"reports": [0]},
    "dx.evaluate.belief_level": {"pairs": dx.BeliefPairs.of(LINE, OVERLAPPING)},
    "dx.evaluate.usefulness_curve": {"alphas": [0.5]},
    "dx.geo.inside": {"area": TRIANGLE},
    "dx.geo.points": {"degrees": [[45, 4]]},
    "dx.geo.roads": {"graph": "no"},
    "dx.classic.graph_exponential": {"space": dx.MetricSpace.from_graph(nx.path_graph(3))},
    "dx.classic.multivariate_laplace": {"space": dx.grid((2, 2, 2))},
    "dx.classic.planar_laplace": {"space": PLANE},
    "dx.compare": {"methods": ["exponential"]},
    "dx.embedding": {"file": "vectors.txt"},
    "dx.evaluate.divergence": {"order": 2.0},
    "dx.evaluate.usefulness": {"alpha": 1.0},
    "dx.evaluate.on": {"data": None, "point": [[0], [1]], "weights": [1, 2]},
    "dx.export": {"table": TABLE, "to": "js"},
    "dx.frontier": {"time_limit": 0.1, "resolution": 0.5},
    "dx.geo.bounding_grid": {"spacing": 5.0},
    "dx.geo.h3_cells": {"resolution": 5, "box": dx.geo.Box(45.0, 4.0, 45.1, 4.1)},
    "dx.geo.nearest": {"space": TOWN},
    "dx.inference.rate_distortion": {"max_loss": 0.3, "limit": 100},
    "dx.prior_from_frame": {"missing": 1.0},
    "dx.regularity.corner_prior": {"point": 0},
    "dx.sanitisation.ProductSanitisation.answer": {"function": max},
    "dx.smallest_epsilon": {"accuracy": 0.01},
    "dx.sweep": {"methods": ["geometric"]},
    "dx.traces.Continuous": {"dimension": 1},
    "dx.traces.Finite": {"family": lambda level: NOISE},
    "dx.traces.Plan": {"test": 0.5, "noise": 0.5},
    "dx.flow.kantorovich": {"first": dx.flow.hyper(NOISE, "uniform"), "second": dx.flow.hyper(NOISE, "uniform")},
    "dx.queries.induced_sums": {"values": [0, 1]},
    "dx.notions.distance_based": {"distance": max, "limit": 1},
    "dx.notions.edge_labelled": {"labels": [1]},
    "dx.notions.individual_record": {"record": 0},
    "dx.notions.k_edges": {"most": 2},
    "dx.notions.phenotypic": {"phenotype": max, "genotype": max},
    "dx.notions.protected": {"nodes": [0]},
    "dx.notions.query_within": {"query": sum, "limit": 1},
    "dx.notions.refinement": {"transformation": tuple},
    "dx.notions.sensitive": {"is_sensitive": bool},
    "dx.notions.anomaly_restricted": {"is_outlier": bool},
    "dx.notions.substitutions_within": {"most": 1},
    "dx.notions.weighted": {"limit": 1},
    "dx.notions.within": {"distance": max, "limit": 1},
    "dx.notions.words_within": {"most": 1},
    "dx.traces.Tracker": {"transition": MOVES},
    "dx.traces.Tracker.step": {"report": 0},
    "dx.traces.tracking_error": {"transition": MOVES, "steps": 2},
    "dx.traces.whole_trace": {"transition": MOVES, "steps": 2},
    "dx.traces.evaluate": {"mechanism": dx.traces.IndependentNoise(WALK, 1.0)},
}
"""Those of one function, in place of those by name."""
RECEIVERS: dict[str, Any] = {
    "dx.AdversaryError": dx.AdversaryError(0.5), "dx.BeliefPairs": MARKOV, "dx.Composition": dx.compose(NOISE),
    "dx.IntegerTable": TABLE, "dx.Key": dx.Key.new(), "dx.Loss": dx.Loss.of("distance", LINE), "dx.Mechanism": NOISE,
    "dx.flow.Hyper": dx.flow.hyper(NOISE, "uniform"), "dx.Odometer": dx.Odometer(0.1),
    "dx.traces.Tracker": dx.traces.Tracker(NOISE, MOVES),
    "dx.MetricSpace": LINE, "dx.Report": dx.solve(PROBLEM), "dx.traces.Ledger": dx.traces.Ledger(Fraction(2)),
    "dx.Problem": PROBLEM, "dx.geo.Box": dx.geo.Box(45.0, 4.0, 45.1, 4.1),
    "dx.sanitisation.ProductSanitisation": SUMS,
    "dx.Universe": UNIVERSE, "dx.queries.Query": TOTAL, "dx.Prior": GIVEN["prior"],
}  # fmt: skip
"""An object of each class whose methods users call; those of noises are called with what was checked."""
ANSWERS = {
    *("Applied", "BudgetExceeded", "BudgetFrontier", "Comparison", "Composed", "Composition", "EpsilonSweep"),
    *("Explanation", "Frontier", "IntegerTable", "Level", "Loss", "NoTightMechanism", "Privacy", "Report", "Tie"),
    *("Learned", "Tightness", "BeliefLevel", "Attack", "RateDistortion", "Recovered", "Repeated", "Sensitivity"),
    *("RegionVerdict", "Threshold", "ErrorBounds", "ProductSanitisation", "Run", "Step", "TraceEvaluation"),
    *("Hyper", "Region", "TrackingError"),
}
"""Classes that dxopt makes itself, as answers."""
PARTS = {"dx.traces.extrapolate", "dx.traces.repeat", "dx.to_opendp"}
"""Functions that mechanisms call with what they made, and one that a library of others refuses first."""
KINDS = re.compile(r"\b(float|int|Written|Amount|Fraction|ArrayLike)\b")
FILES = re.compile(r"\bPath\b")
ANY = re.compile("")


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions, classes that users make, and methods of objects at hand."""
    for name in dx.__all__:
        value = getattr(dx, name)
        inside = value.__all__ if isinstance(value, ModuleType) else ()
        for label, one in [(f"dx.{name}", value), *((f"dx.{name}.{part}", getattr(value, part)) for part in inside)]:
            if inspect.isfunction(one):
                yield label, one
            elif isinstance(one, type) and not inspect.isabstract(one) and not issubclass(one, Exception):
                if one.__name__ not in ANSWERS:
                    yield label, one
                on = RECEIVERS.get(label, one)
                for member in dir(one):
                    found = inspect.getattr_static(one, member)
                    of_class = isinstance(found, classmethod | staticmethod)
                    if not member.startswith("_") and (of_class or (on is not one and inspect.isfunction(found))):
                        yield f"{label}.{member}", getattr(on, member)


def parameters(call: Callable[..., Any], kind: re.Pattern[str]) -> list[str]:
    """Return the parameters of a kind."""
    return [
        one.name
        for one in inspect.signature(call).parameters.values()
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and kind.search(str(one.annotation))
    ]


def arguments(name: str, call: Callable[..., Any]) -> dict[str, Any]:
    """Return sound arguments for the parameters that need one."""
    own = OWN.get(name, {})
    known = inspect.signature(call).parameters
    needed = {one for one in known if known[one].default is inspect.Parameter.empty or one in ("time_limit",)}
    return {one: GIVEN[one] for one in needed if one in GIVEN and one not in own} | own


def is_complete(name: str, call: Callable[..., Any]) -> bool:
    """Return whether there are arguments for all that a function needs; not so for what dxopt makes itself."""
    bound = inspect.signature(call).bind_partial(**arguments(name, call))
    return not [
        one
        for one in inspect.signature(call).parameters.values()
        if one.name not in bound.arguments and one.default is one.empty and one.kind is not one.VAR_POSITIONAL
    ]


def cases(kind: re.Pattern[str]) -> list[Any]:
    found = [(name, call, one) for name, call in public() for one in parameters(call, kind)]
    return [pytest.param(*case, id=f"{case[0]}({case[2]})") for case in found]


def refused(
    call: Callable[..., Any], given: dict[str, Any], parameter: str, values: dict[str, Any]
) -> dict[str, str]:
    """Return the errors that are none of dxopt's, by the names of the values that raised them."""
    raised = {}
    for name, value in values.items():
        try:
            call(**given | {parameter: value})
        except dx.DxoptError as error:
            str(error).encode()
        except Exception as error:
            raised[name] = f"{type(error).__name__}: {error}"
    return raised


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vectors.txt").write_text("cat 1 0\ndog 0.8 0.6\n", encoding="utf-8")
    return tmp_path


@pytest.mark.filterwarnings("error", "ignore::dxopt.PlausibilityWarning")
@pytest.mark.parametrize(("name", "call", "parameter"), cases(KINDS))
def test_numbers_of_any_type(name: str, call: Callable[..., Any], parameter: str, folder: Path) -> None:
    given = arguments(name, call)
    call(**given)
    assert refused(call, given, parameter, NUMBERS) == {}


@pytest.mark.parametrize(("name", "call", "parameter"), cases(FILES))
def test_paths_of_any_type(name: str, call: Callable[..., Any], parameter: str, folder: Path) -> None:
    assert refused(call, arguments(name, call), parameter, PATHS) == {}


@pytest.mark.filterwarnings("error", "ignore::dxopt.PlausibilityWarning")
@pytest.mark.parametrize(
    ("name", "call", "parameter"),
    [one for one in cases(ANY) if one.values[0] not in PARTS and is_complete(*one.values[:2])],
)
def test_things_of_any_type(name: str, call: Callable[..., Any], parameter: str, folder: Path) -> None:
    assert refused(call, arguments(name, call), parameter, THINGS) == {}
