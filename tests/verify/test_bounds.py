"""Bounds that the verifier derives from duals: never more than a channel attains, and no less than was claimed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dxopt.results.folder import write_digests
from dxopt.verify import verify
from dxopt.verify.bounds.dual import bound
from dxopt.verify.folder import Result
from tests.material.checks import change_array
from tests.material.verified import KINDS, failing


def random_dual(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Multipliers of any quality near those of a dual."""
    found = {}
    for key, array in arrays.items():
        if array.dtype.kind in "iu":
            found[key] = rng.permutation(array) if rng.random() < 0.3 else array
        else:
            found[key] = array * (1 + 10 ** rng.uniform(-9, 0) * rng.standard_normal(array.shape))
    return found


@pytest.mark.parametrize(
    "kind",
    [
        "program",
        "delta",
        "worst loss",
        "worst loss, delta",
        "hull",
        "regret",
        "ball",
        "ball, delta",
        "box",
        "adversary, private",
        "line",
        "one way, infinite",
    ],
)
def test_no_dual_proves_more_than_a_channel_attains(kind: str, tmp_path: Path) -> None:
    folder = KINDS[kind]().save(tmp_path / "out")
    result = Result.read(folder)
    rng = np.random.default_rng(7)
    value = Fraction(result.claimed("value"))
    sign = -1 if kind.startswith("adversary") else 1
    best = sign * (bound(result.asked, result.dual)[0] - value) / value
    assert -Fraction(1, 10**6) < best <= 0
    for _ in range(40):
        proven, _ = bound(result.asked, random_dual(dict(result.dual), rng))
        assert sign * (proven - value) <= Fraction(1, 10**15)


@pytest.mark.parametrize("kind", ["line", "line, binary"])
def test_prices_that_prove_less_are_seen(kind: str, tmp_path: Path) -> None:
    folder = KINDS[kind]().save(tmp_path / "out")
    prices = np.load(folder / "dual.npz")["prices"]
    for index in range(len(prices)):
        for step in (0.01, -0.01):
            change_array(
                folder / "dual.npz", "prices", lambda _, p=index, s=step: prices + s * np.eye(len(prices))[p]
            )
            write_digests(folder)
            assert set(failing(verify(folder))) == {"bound"}, (index, step)


def test_multipliers_below_0_do_not_count(tmp_path: Path) -> None:
    result = Result.read(KINDS["program"]().save(tmp_path / "out"))
    reports = np.arange(9)
    negative = {"report": reports, "first": 0 * reports, "second": 0 * reports + 1, "multiplier": -np.ones(9)}
    dual = {key: np.concatenate([result.dual[key], array]) for key, array in negative.items()}
    assert bound(result.asked, dual)[0] == bound(result.asked, result.dual)[0]
