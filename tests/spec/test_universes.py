"""Databases, graphs, streams and words in problem files."""

from __future__ import annotations

from pathlib import Path

import pytest

import dxopt as dx
from tests.material.spec_files import assert_space, assert_space_refused

DATABASES = "{kind: databases, values: [0, 1, 2], records: 2"
NUMBERS = dx.Universe.databases([0, 1, 2], 2)
GOOD = {
    DATABASES + ", neighbours: bounded}": dx.neighbours(NUMBERS, "bounded"),
    DATABASES + ", absent: true, neighbours: both}": dx.neighbours(
        dx.Universe.databases([0, 1, 2], 2, absent=True), "both"
    ),
    DATABASES + ", absent: true, empty: false, metric: manhattan}": dx.Universe.databases(
        [0, 1, 2], 2, absent=True, empty=False
    ).space("manhattan"),
    DATABASES + ", neighbours: group, size: 2}": dx.neighbours(NUMBERS, "group", size=2),
    DATABASES + ", neighbours: one_sided, sensitive: [2]}": dx.neighbours(NUMBERS, "one_sided", sensitive=[2]),
    DATABASES + ", neighbours: blowfish, policy: [[0, 1], [1, 2]]}": dx.neighbours(
        NUMBERS, "blowfish", policy=[(0, 1), (1, 2)]
    ),
    DATABASES + ", neighbours: dependent, related: [[1], []], size: 2}": dx.neighbours(
        NUMBERS, "dependent", related=[[1], []], size=2
    ),
    DATABASES + ", neighbours: individual, at: [0, 1]}": dx.neighbours(NUMBERS, "individual", at=(0, 1)),
    DATABASES + ", absent: true, neighbours: individual, at: [0, null]}": dx.neighbours(
        dx.Universe.databases([0, 1, 2], 2, absent=True), "individual", at=(0, None)
    ),
    "{kind: databases, values: [[0, a], [1, a], [1, b]], records: 1, neighbours: attribute}": dx.neighbours(
        dx.Universe.databases([(0, "a"), (1, "a"), (1, "b")], 1), "attribute"
    ),
    "{kind: graphs, nodes: 3, neighbours: node}": dx.neighbours(dx.Universe.graphs(3), "node"),
    "{kind: streams, values: [0, 1], times: 3, neighbours: w_event, window: 2}": dx.neighbours(
        dx.Universe.streams([0, 1], 3), "w_event", window=2
    ),
    "{kind: words, alphabet: [a, b], longest: 2, shortest: 0, neighbours: edit}": dx.neighbours(
        dx.Universe.words("ab", 2, shortest=0), "edit"
    ),
}
BAD = {
    DATABASES + "}": ("", "space.neighbours: are missing"),
    DATABASES + ", metric: hamming, neighbours: both}": ("both}", "space.neighbours: are given beside a metric"),
    DATABASES + ", metric: euclidean}": ("euclidean", "space.metric: there is no 'euclidean'"),
    DATABASES + ", metric: hamming, size: 4}": ("4", "space.size: goes with neighbours only"),
    DATABASES + ", neighbours: group}": ("group", "space.neighbours: group needs size; give it"),
    DATABASES + ", neighbours: both, size: 4}": ("4", "space.size: does not go with neighbours: both"),
    DATABASES + ", neighbours: generic}": ("generic", "space.neighbours: there is no 'generic'"),
    DATABASES + ", neighbours: unbounded}": ("unbounded", "space.neighbours: are none among these secrets"),
    DATABASES + ", neighbours: edge}": ("edge", "space.neighbours: are about graphs, not databases"),
    DATABASES + ", neighbours: blowfish, policy: [[3]]}": ("[3]", r"space.policy\[0\]: has 1 entries"),
    DATABASES + ", neighbours: blowfish, policy: [[0, 1], [1, 3]]}": ("3]]", r"space.policy\[1\]\[1\]: "),
    DATABASES + ", neighbours: one_sided, sensitive: [1, '2']}": ("'2'", r"space.sensitive\[1\]: "),
    DATABASES + ", neighbours: individual, at: [0, 7]}": ("7", r"space.at\[1\]: "),
    DATABASES + ", neighbours: individual, at: [0, 1, 1]}": ("at:", "space.at: "),
    DATABASES + ", neighbours: listed, joined: [[[0, 0], [0, 7]]]}": ("[0, 7]", r"space.joined\[0\]\[1\]: "),
    DATABASES + ", neighbours: dependent, related: [[7], []], size: 2}": ("related:", "space.related: "),
    "{kind: answers, query: sum, universe: " + DATABASES + ", neighbours: one_sided, sensitive: [5]}}": (
        "5",
        r"space.universe.sensitive\[0\]: ",
    ),
    "{kind: databases, values: [0, true], records: 2, metric: hamming}": ("true", r"space.values\[1\]: is true"),
    "{kind: databases, values: [0, null], records: 2, metric: hamming}": ("null", r"space.values\[1\]: is empty"),
    "{kind: databases, values: [0, 0], records: 2, metric: hamming}": (
        "values",
        "space.values: contain the same twice",
    ),
    "{kind: databases, values: [0, 1], records: 40, metric: hamming}": (
        "values",
        "space.values: has over 10\\^12 sec",
    ),
    "{kind: databases, values: [a, b], records: 2, metric: manhattan}": ("values", "space.values: are no numbers"),
    "{kind: graphs, nodes: 100000000000000000000000, neighbours: edge}": (
        "1000",
        "space.nodes: .* 9,007,199,254,740,992",
    ),
    "{kind: graphs, nodes: 3}": ("", "space.neighbours: is missing"),
    "{kind: graphs, nodes: 3, neighbours: edge, window: 2}": ("window", "space.window: is no known key here"),
    "{kind: words, alphabet: [a], longest: 2, shortest: 5, neighbours: edit}": ("5", "space.shortest: is 5"),
}


@pytest.mark.parametrize("text", list(GOOD))
def test_spaces_are_those_of_the_library(tmp_path: Path, text: str) -> None:
    assert_space(tmp_path, text, GOOD[text])


@pytest.mark.parametrize("text", list(BAD))
def test_what_is_wrong_is_named(tmp_path: Path, text: str) -> None:
    assert_space_refused(tmp_path, text, *BAD[text])
