"""The benchmarks give a time only to answers that hold, and keep what was done."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import benchmarks.run as running
import dxopt as dx
from benchmarks.candidates.dense import constraints
from benchmarks.contract import (
    CANDIDATES,
    INSTANCES,
    Answer,
    Candidate,
    Draws,
    DrawsInstance,
    Instance,
    Matrix,
    TightInstance,
    Weights,
)
from benchmarks.instances.euclidean import square
from benchmarks.once import Outcome, once
from benchmarks.run import Run, apart, run
from benchmarks.table import table
from dxopt.tight import tight_constraints

ROOT = Path(__file__).parent.parent


def by_hand(space: dx.MetricSpace, epsilon: float) -> np.ndarray:
    """The weights, from the distances that dxopt has."""
    return np.linalg.solve(np.exp(-epsilon * space.distances), np.ones(len(space)))


def small(instance: Instance) -> Instance:
    """The same question about the small space of the family."""
    value = float(by_hand(instance.family(instance.small), instance.epsilon).mean())
    return replace(instance, size=instance.small, value=value)


def tight(side: int, epsilon: float = 0.8) -> Instance:
    return small(TightInstance("test", square, size=side, small=side, epsilon=epsilon, value=np.nan))


class Says(Candidate):
    """Answers what it is told to."""

    def __init__(self, answer: Callable[[dx.MetricSpace], Any]) -> None:
        self.says = answer

    def refuses(self, instance: Instance, points: int) -> str | None:
        return None

    def prepare(self, instance: Instance, space: dx.MetricSpace) -> Callable[[], Answer]:
        return lambda: self.says(space)


@pytest.mark.parametrize("name", [*INSTANCES])
def test_every_candidate_answers_or_refuses_the_small_size(name: str) -> None:
    instance = small(INSTANCES.get(name))
    for candidate in CANDIDATES:
        outcome = once(instance, CANDIDATES.get(candidate)())
        if isinstance(instance, DrawsInstance) and candidate != "dxopt":
            assert outcome.refused == "it does not draw"
            continue
        assert outcome.failure is None, candidate
        assert outcome.seconds is not None
        assert outcome.utility == pytest.approx(instance.value, rel=1e-9)
        assert outcome.proven or candidate != "dxopt"


@pytest.mark.parametrize("name", [*INSTANCES])
def test_what_is_written_by_hand_is_the_matrix_of_the_space(name: str) -> None:
    instance = INSTANCES.get(name)
    space = instance.family(instance.small)
    expected = np.exp(-instance.epsilon * space.distances)
    assert constraints(space, instance.epsilon) == pytest.approx(expected, rel=1e-12)


def channel(space: dx.MetricSpace, epsilon: float) -> np.ndarray:
    return np.exp(-epsilon * space.distances) * by_hand(space, epsilon)


def leaking(space: dx.MetricSpace) -> np.ndarray:
    """One entry is 0 where those of its neighbours are not; it is far below the slack of 1e-9."""
    matrix = channel(space, 0.8)
    last = len(space) - 1
    matrix[0, 0] += matrix[0, last]
    matrix[0, last] = 0.0
    return matrix


def filled(matrix: np.ndarray) -> np.ndarray:
    """Rows that sum to 1 within an ulp."""
    for place, row in enumerate(matrix):
        row[place] += math.fsum([1.0, *(-row)])
    return matrix


def forged(space: dx.MetricSpace, matrix: np.ndarray) -> dx.Mechanism:
    return dx.Mechanism.from_matrix(space, matrix, privacy=dx.Privacy(0.8, "take my word for it"))


CHEATS: dict[str, tuple[int, float, Callable[[dx.MetricSpace], Any], str]] = {
    "negative weights": (4, 0.5, lambda s: Weights(by_hand(s, 0.5)), "4 weights of 16 are negative"),
    "weights that are no numbers": (4, 0.8, lambda s: Weights(np.full(16, np.nan)), "no numbers"),
    "too few weights": (4, 0.8, lambda s: Weights(np.ones(3)), "weights"),
    "weights that are too large": (4, 0.8, lambda s: Weights(by_hand(s, 0.8) * (1 + 1e-8)), "sums to 1 only"),
    "weights of another level": (4, 0.8, lambda s: Weights(by_hand(s, 0.801)), "sums to 1 only"),
    "a channel of another level": (4, 0.8, lambda s: Matrix(channel(s, 0.80001)), "told apart"),
    "a large channel of another level": (23, 0.8, lambda s: Matrix(channel(s, 0.80001)), "told apart"),
    "a channel with a 0": (23, 0.8, lambda s: Matrix(leaking(s)), "told apart"),
    "a channel with negative entries": (4, 0.5, lambda s: Matrix(channel(s, 0.5)), "negative"),
    "rows that do not sum to 1": (4, 0.8, lambda s: Matrix(channel(s, 0.8) * (1 - 1e-8)), "sums to 1 only"),
    "a channel of another shape": (4, 0.8, lambda s: Matrix(np.ones((16, 1))), "shape"),
    "a private channel that is worth little": (4, 0.8, lambda s: Matrix(np.full((16, 16), 1 / 16)), "utility"),
    "a mechanism without proof": (4, 0.8, lambda s: dx.Mechanism.from_matrix(s, channel(s, 0.8)), "no proof"),
    "a proof at a higher level": (4, 0.8, lambda s: tight_constraints(s, 0.9), "no proof"),
    "a forged proof": (4, 0.8, lambda s: forged(s, channel(s, 0.80001)), "told apart"),
    "a large forged proof": (23, 0.8, lambda s: forged(s, filled(channel(s, 0.80001))), "told apart"),
    "a large forged proof, rows short by little": (
        23,
        0.8,
        lambda s: forged(s, channel(s, 0.8) * (1 - 1e-14)),
        "sums to",
    ),
    "another space": (4, 0.8, lambda s: tight_constraints(square(5), 0.8), "25 secrets"),
    "no answer": (4, 0.8, lambda s: None, "AttributeError"),
    "a crash": (4, 0.8, lambda s: np.linalg.solve(np.zeros((2, 2)), np.ones(2)), "LinAlgError: Singular"),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_gets_no_time(name: str) -> None:
    side, epsilon, answer, why = CHEATS[name]
    outcome = once(tight(side, epsilon), Says(answer))
    assert outcome.seconds is None
    assert outcome.failure is not None
    assert why in outcome.failure
    assert "\n" not in outcome.failure


def test_a_0_is_seen_where_products_vanish() -> None:
    far = TightInstance("test", lambda size: dx.line(size, step=1000.0), size=3, small=2, epsilon=1.0, value=1 / 3)
    matrix = np.array([[0.5, 0.5, 1e-25], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    outcome = once(far, Says(lambda space: Matrix(matrix)))
    assert outcome.failure is not None
    assert "told apart" in outcome.failure


def draws(secrets: np.ndarray, reports: Callable[[dx.Mechanism], np.ndarray]) -> Outcome:
    """What comes of some reports for some secrets of a 10 × 10 grid."""
    mechanism = tight_constraints(square(10), 0.8)
    return once(tight(10), Says(lambda space: Draws(mechanism, secrets, reports(mechanism))))


def test_draws_have_to_follow_the_mechanism() -> None:
    generator = np.random.default_rng(5)
    everyone, one = np.arange(100), np.array([44])
    assert draws(one, lambda m: m.sample(one, 20_000, generator)).failure is None
    assert draws(everyone, lambda m: m.sample(everyone, 500, generator)).failure is None
    other = tight_constraints(square(10), 0.9)
    for failure in (
        draws(one, lambda m: other.sample(one, 20_000, generator)).failure,
        draws(one, lambda m: m.sample(np.array([45]), 20_000, generator)).failure,
        draws(everyone, lambda m: np.repeat(everyone[:, None], 500, axis=1)).failure,
        draws(one, lambda m: np.full((1, 5), 100)).failure,
        draws(one, lambda m: m.sample(everyone, 5, generator)).failure,
    ):
        assert failure is not None
        assert "draws" in failure


def test_every_secret_once_is_judged_by_all_of_its_draws() -> None:
    """A sampler that errs only for secrets whose rows are not looked at."""
    everyone = np.arange(256)
    mechanism = tight_constraints(square(16), 0.8)
    drawn = mechanism.sample(everyone, 1, np.random.default_rng(1))
    looked_at = np.random.default_rng(256).permutation(256)[:16]
    lying = np.where(np.isin(everyone, looked_at)[:, None], drawn, everyone[:, None])
    outcome = once(tight(16), Says(lambda space: Draws(mechanism, everyone, lying)))
    assert outcome.failure is not None
    assert "standard deviations" in outcome.failure


def test_what_does_not_fit_in_memory_is_refused() -> None:
    reason = CANDIDATES.get("dense")().refuses(tight(4), 10**6)
    assert reason is not None
    assert "8,000 GB" in reason


def outcomes(monkeypatch: pytest.MonkeyPatch, *planned: Outcome | None) -> None:
    """Let runs come out as planned; None is Ctrl-C."""
    coming = iter(planned)

    def planned_run(instance: str, candidate: str, limit: float) -> Outcome:
        outcome = next(coming)
        if outcome is None:
            raise KeyboardInterrupt
        return outcome

    monkeypatch.setattr(running, "apart", planned_run)


def run_both(repeat: int) -> tuple[list[Run], bool, list[dict[str, Any]]]:
    file = io.StringIO()
    runs, interrupted = run(["i"], ["dense", "dxopt"], repeat=repeat, limit=9.0, output=file, tell=lambda line: None)
    return runs, interrupted, [json.loads(line) for line in file.getvalue().splitlines()]


def test_candidates_take_turns_and_the_slow_and_the_failed_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, slow, failed = Outcome(seconds=0.1, utility=0.5), Outcome(seconds=2.5, utility=0.5), Outcome(failure="no")
    outcomes(monkeypatch, fast, fast, slow, fast, failed)
    runs, interrupted, lines = run_both(4)
    assert [(r.candidate, r.repeat) for r in runs] == [
        ("dense", 1), ("dxopt", 1), ("dense", 2), ("dxopt", 2), ("dxopt", 3),
    ]  # fmt: skip
    assert not interrupted
    assert [line["seconds"] for line in lines] == [0.1, 0.1, 2.5, 0.1, None]


def test_ctrl_c_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes(monkeypatch, Outcome(seconds=0.1), Outcome(seconds=0.2), None)
    runs, interrupted, lines = run_both(2)
    assert interrupted
    assert len(runs) == len(lines) == 2
    assert {"cores", "numpy", "load", "started"} <= lines[0].keys()


def test_the_table_shows_medians_and_ratios_of_what_holds() -> None:
    def of(candidate: str, *outcomes: Outcome) -> list[Run]:
        return [Run("i", candidate, turn, outcome) for turn, outcome in enumerate(outcomes, start=1)]

    def took(*seconds: float) -> list[Outcome]:
        return [Outcome(9, seconds=s, cpu=2 * s, proven=True, utility=0.5) for s in seconds]

    runs = of("dxopt", *took(1.0, 9.0, 2.0)) + of("slow", *took(500.0))
    runs += of("wrong", *took(1.0), Outcome(9, failure="a reason")) + of("big", Outcome(9, refused="too big"))
    lines = {line.split()[1 if "points" in line else 2]: line for line in table(runs).splitlines()}
    assert lines["dxopt"].split()[3:7] == ["2.0000", "1", "4.0000", "3"]
    assert lines["slow"].split()[3:7] == ["500.0000", "250", "1000.0000", "1"]
    assert lines["wrong"].endswith("FAILED: a reason")
    assert "1.0000" not in lines["wrong"]
    assert lines["big"].endswith("refused: too big")


def test_a_run_that_takes_too_long_is_ended() -> None:
    assert apart("euclidean-grid-10", "dense", 0.01).failure == "not done within 0.01 seconds"


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments], capture_output=True, text=True, cwd=ROOT, check=False
    )


def test_the_command_writes_lines_and_a_table(tmp_path: Path) -> None:
    file = tmp_path / "new" / "lines.jsonl"
    chosen = ("--instance", "euclidean-grid-10", "--candidate", "dense", "--candidate", "dxopt")
    done = command(*chosen, "--repeat", "1", "--output", str(file))
    assert done.returncode == 0
    assert "dense, run 1" in done.stderr
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["candidate"] for line in lines] == ["dense", "dxopt"]
    assert all(line["seconds"] > 0 and line["points"] == 100 for line in lines)
    assert lines[1]["proven"]
    assert "euclidean-grid-10" in done.stdout


@pytest.mark.parametrize("option", ["instance", "candidate"])
def test_a_bad_name_is_one_line(option: str, tmp_path: Path) -> None:
    done = command(f"--{option}", "nonesuch", "--output", str(tmp_path / "lines.jsonl"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"{option}: there is no 'nonesuch'; choose one of")
    assert not (tmp_path / "lines.jsonl").exists()


def test_a_folder_is_no_output(tmp_path: Path) -> None:
    done = command("--output", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("output: ")
