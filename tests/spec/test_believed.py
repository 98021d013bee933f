"""The key `beliefs` of a problem file: the pairs of each kind, and what is wrong, at its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt import batch
from dxopt.spec import SpecFileError, load

LINE = "space: {kind: line, size: 3}\n"
EVENTS = "secrets: [[[0], [1, 2]], [['0', '1'], [{index: 2}]]]"
DATABASES = "space: {kind: databases, values: [a, b], records: 2, absent: true, metric: hamming}\n"
STREAMS = "space: {kind: streams, values: [0, 1], times: 2, neighbours: event}\n"
CHAIN = "states: [home, work], length: 2, transition: [[0.9, 0.1], [0.2, 0.8]]"
UNIVERSE = dx.Universe.databases(["a", "b"], 2, absent=True)


def pairs_of(text: str, tmp_path: Path) -> dx.BeliefPairs:
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    pairs = load(tmp_path / "a.yaml")[0].problem.beliefs
    assert isinstance(pairs, dx.BeliefPairs)
    return pairs


def _line(*beliefs: list[float] | str) -> dx.BeliefPairs:
    return dx.BeliefPairs.pufferfish(dx.line(3), [([0], [1, 2]), ([0, 1], [2])], list(beliefs))


KINDS = {
    "pufferfish": (
        LINE
        + "prior: {kind: explicit, values: [0.5, 0.25, 0.25]}\nbeliefs: {kind: pufferfish, epsilon: 2, "
        + EVENTS
        + "}\n",
        lambda: _line([0.5, 0.25, 0.25]).at(2.0),
    ),
    "several": (
        LINE + f"beliefs: {{kind: pufferfish, epsilon: 2, {EVENTS}, under: [uniform, {{kind: explicit, "
        "values: [0.5, 0.25, 0.25]}]}\n",
        lambda: _line("uniform", [0.5, 0.25, 0.25]).at(2.0),
    ),
    "bayesian": (
        DATABASES + "beliefs: {kind: bayesian, epsilon: ln(3), known: 0}\n",
        lambda: dx.BeliefPairs.bayesian(UNIVERSE, "uniform", known=0).at("ln(3)"),
    ),
    "coupled_worlds": (
        DATABASES + "beliefs: {kind: coupled_worlds, epsilon: 1}\n",
        lambda: dx.BeliefPairs.coupled_worlds(UNIVERSE, "uniform").at(1.0),
    ),
    "correlated": (
        DATABASES + "beliefs: {kind: correlated, epsilon: 1, observed: [[a, a], [b, ~], [b, b]], smoothing: 0.1}\n",
        lambda: dx.BeliefPairs.correlated(UNIVERSE, [("a", "a"), ("b", None), ("b", "b")], smoothing=0.1).at(1.0),
    ),
    "markov": (
        STREAMS + f"beliefs: {{kind: markov, epsilon: 1, {CHAIN}, start: [0.5, 0.5], times: [1]}}\n",
        lambda: dx.BeliefPairs.markov("hw", 2, [[0.9, 0.1], [0.2, 0.8]], [0.5, 0.5], times=[1]).at(1.0),
    ),
    "pairs": (
        LINE + "beliefs: {kind: pairs, epsilon: 1, pairs: [[[1, 0, 0], [0, 1/2, 1/2]]], distances: [2]}\n",
        lambda: dx.BeliefPairs.of(dx.line(3), [([1, 0, 0], [0, 0.5, 0.5])], distances=[2.0]).at(1.0),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_makes_its_pairs(kind: str, tmp_path: Path) -> None:
    text, make = KINDS[kind]
    found, known = pairs_of(text, tmp_path), make()
    assert np.allclose(found.first, known.first, atol=1e-15)
    assert np.allclose(found.second, known.second, atol=1e-15)
    assert found.distances.tolist() == known.distances.tolist()
    assert found.level == known.level


def test_a_file_is_solved_and_its_folder_solved_again(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(KINDS["markov"][0] + "epsilon: 2.0\n", encoding="utf-8")
    outcome = batch.run([tmp_path / "a.yaml"], tmp_path / "out")
    assert outcome.errors == []
    first = dx.load(tmp_path / "out" / "a")
    assert first.certificate.private
    assert first.certificate.belief_level is not None
    again = batch.run([tmp_path / "out" / "a" / "problem.yaml"], tmp_path / "again")
    assert again.errors == []
    second = dx.load(tmp_path / "again" / "a")
    assert second.certificate.value == pytest.approx(first.certificate.value, abs=1e-9)


SOME = "beliefs: {kind: pairs, epsilon: 1, pairs: [[[1, 0, 0], [0, 1/2, 1/2]]]}\n"
BROKEN = [
    (LINE + SOME + "delta: 0.1\nepsilon: 1\n", "delta: does not go with beliefs; leave out one of the two", 3),
    (LINE + SOME + "method: exponential\n", "method: does not go with beliefs", 3),
    (LINE + SOME + "objective: {kind: adversary_error, max_loss: 1}\n", "beliefs: do not go with adversary_error", 2),
    (LINE + SOME + "epsilon: 1\ncompare: [exponential]\n", "compare: does not go with beliefs", 4),
    (LINE + SOME + "epsilon: 1\nspanner: 2\n", "spanner: does not go with beliefs", 4),
    (LINE + SOME + "epsilon: {from: 1, to: 2, resolution: 0.5}\n", "epsilon: does not go with beliefs", 3),
    (LINE + SOME.replace(", epsilon: 1", ""), "epsilon", 2),
    (LINE + SOME.replace("1/2, 1/2", "1/2, 1/4"), "no probability distribution|sums to 0.75", 2),
    (LINE + SOME.replace("kind: pairs", "kind: pair"), "kind", 2),
    (
        LINE + "beliefs: {kind: bayesian, epsilon: 1}\n",
        "bayesian is about databases; use a space of kind databases",
        2,
    ),
    (LINE + "beliefs: {kind: pufferfish, epsilon: 1, secrets: [[[0], [7]]]}\n", "there is no point 7", 2),
    (LINE + "beliefs: {kind: pufferfish, epsilon: 1, secrets: [[[0], [0]]]}\n", "are no pairs", 2),
    (
        LINE + f"beliefs: {{kind: pufferfish, epsilon: 1, {EVENTS}, under: {{kind: corner, point: 0}}}}\n",
        "beliefs.under: corner depends on the level",
        2,
    ),
    (
        f"{LINE}beliefs: {{kind: pufferfish, epsilon: 1, {EVENTS},\n"
        "  under: [uniform, {kind: corner, point: 0}]}\n",
        "beliefs.under[1]: corner depends on the level",
        3,
    ),
    (STREAMS + f"beliefs: {{kind: markov, epsilon: 1, {CHAIN.replace('0.8', '0.7')}}}\n", "sums to 0.9", 2),
    (STREAMS + f"beliefs: {{kind: markov, epsilon: 1, {CHAIN.replace('length: 2', 'length: 3')}}}\n", "8 secrets", 0),
    (DATABASES + "beliefs: {kind: correlated, epsilon: 1, observed: [[a, c]]}\n", "no database of the universe", 2),
    (DATABASES + "beliefs: {kind: correlated, epsilon: 1, observed: [a]}\n", "observed[0]: is the text 'a'", 2),
]


@pytest.mark.parametrize(("text", "message", "line"), BROKEN)
def test_what_is_wrong_is_said_at_its_line(text: str, message: str, line: int, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SpecFileError) as caught:
        load(file)
    reported = str(caught.value)
    assert any(one in reported for one in message.split("|")), reported
    assert "\n" not in reported
    assert not line or reported.startswith(f"{file}:{line}:"), reported
