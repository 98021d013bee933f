"""Rows of a comparison that have the name of a mechanism must have its channel: for those of words and roads."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import networkx as nx
import pytest

import dxopt as dx
from dxopt.results.folder import write_digests
from dxopt.verify import Outcome, verify
from tests.judges.result import read_json

NAMES = ("exponential", "truncated_exponential", "graph_exponential")
SAME = ("exponential", "graph_exponential")
"""The exponential mechanism is that of the paper, with the rate ε/2."""
PAIRS = [*(pair for pair in permutations(NAMES, 2) if pair != SAME), ("slow", "graph_exponential")]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Streets so long that the truncated mechanism cuts some of them off."""
    streets = nx.Graph()
    streets.add_edges_from(nx.balanced_tree(2, 3).edges, length=6.0)
    space = dx.MetricSpace.from_graph(streets, "length")
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
    report = dx.solve(problem)
    slow = dx.classic.graph_exponential(space, epsilon=1.0, rate=0.3)
    compared = dx.compare(problem, [*NAMES, ("slow", slow)], reference=report)
    return replace(report, comparison=compared).save(tmp_path_factory.mktemp("named") / "out")


def test_names_hold(saved: Path) -> None:
    verdict = verify(saved)
    assert verdict.outcome is Outcome.HOLDS
    for name in NAMES:
        assert f"it is {name}" in verdict.of(f"comparison: {name}").detail


@pytest.mark.parametrize(("true", "claimed"), PAIRS)
def test_other_names_do_not(saved: Path, tmp_path: Path, true: str, claimed: str) -> None:
    folder = Path(shutil.copytree(saved, tmp_path / "out"))
    content = read_json(folder, "claims")
    rows = {row["name"]: row for row in content["comparison"]["rows"]}
    rows[true]["name"], rows[claimed]["name"] = claimed, true
    (folder / "claims.json").write_text(json.dumps(content), encoding="utf-8")
    write_digests(folder)
    check = verify(folder).of(f"comparison: {claimed}")
    assert check.status is Outcome.NOT_REPROVED
    assert check.detail.startswith(f"it is called {claimed}, but is not that for secret ")
