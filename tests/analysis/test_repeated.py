"""The averaging attack: against all sequences of reports, and intervals against what they have to hold."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import dxopt as dx
from dxopt.analysis import averaging_attack as module
from tests.material.checks import weights

SPACE = dx.line(4)
MECHANISM = dx.classic.geometric(SPACE, epsilon=0.7)


def by_sequences(channel: np.ndarray, prior: np.ndarray, losses: np.ndarray, number: int) -> tuple[float, float]:
    named = error = 0.0
    for reports in product(range(channel.shape[1]), repeat=number):
        joint = prior * np.prod([channel[:, z] for z in reports], axis=0)
        named += joint.max()
        error += (joint @ losses).min()
    return named, error


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("loss", ["distance", "squared"])
def test_multisets_count_what_sequences_do(loss: str, zeros: bool) -> None:
    channel = MECHANISM.matrix.copy()
    if zeros:
        channel[np.abs(np.subtract.outer(range(4), range(4))) > 1] = 0.0
        channel /= channel.sum(axis=1, keepdims=True)
    mechanism = dx.Mechanism.from_matrix(SPACE, channel)
    prior = np.array([0.5, 0.0, 0.2, 0.3]) if zeros else weights(SPACE).probabilities
    found = dx.inference.repeated(mechanism, dx.Prior(prior, space=SPACE), [1, 2, 5], loss=loss)
    losses = dx.Loss.of(loss, SPACE).matrix
    for attack in found.attacks:
        assert attack.exact
        assert (attack.named, attack.error) == pytest.approx(by_sequences(channel, prior, losses, attack.reports))
    assert found.named_before == prior.max()
    assert found.error_before == pytest.approx((prior @ losses).min())


def test_one_report_is_what_evaluate_says() -> None:
    prior = weights(SPACE)
    (one,) = dx.inference.repeated(MECHANISM, prior, 1).attacks
    assert one.named == pytest.approx(dx.evaluate.utility(MECHANISM, prior))
    assert one.error == pytest.approx(dx.evaluate.adversary_error(MECHANISM, prior))
    (table,) = dx.inference.repeated(dx.integer_table(MECHANISM), prior, 1).attacks
    assert (table.named, table.error) == pytest.approx((one.named, one.error))


def test_intervals_hold_what_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    prior = weights(SPACE)
    numbers = [1, 3, 9]
    exact = dx.inference.repeated(MECHANISM, prior, numbers).attacks
    monkeypatch.setattr(module, "MOST_MULTISETS", 0)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        drawn = dx.inference.repeated(MECHANISM, prior, numbers, runs=2000, rng=rng).attacks
        for truth, one in zip(exact, drawn, strict=True):
            assert not one.exact
            assert 0 < one.named_within < 0.05 and 0 < one.error_within < 0.1
            assert abs(one.named - truth.named) <= one.named_within
            assert abs(one.error - truth.error) <= one.error_within
    drawn = dx.inference.repeated(MECHANISM, prior, numbers, runs=2000, rng=np.random.default_rng(19)).attacks
    again = dx.inference.repeated(MECHANISM, prior, numbers, runs=2000, rng=np.random.default_rng(19)).attacks
    assert again == drawn


def test_more_reports_give_more_away_in_the_order_asked_for() -> None:
    found = dx.inference.repeated(MECHANISM, dx.Prior.uniform(SPACE), [8, 1, 64, 400])
    named = {one.reports: one.named for one in found.attacks}
    assert list(named) == [8, 1, 64, 400]
    assert found.named_before <= named[1] < named[8] < named[64] < named[400] <= 1
    assert named[400] > 0.999


@pytest.mark.parametrize(
    "given, field",
    [
        ({"reports": 0}, "reports"),
        ({"reports": []}, "reports"),
        ({"reports": [1.5]}, "reports"),
        ({"reports": 2.5}, "reports"),
        ({"reports": None}, "reports"),
        ({"reports": 10**6}, "reports"),
        ({"runs": 3}, "runs"),
        ({"runs": 10**9}, "runs"),
        ({"loss": np.full((4, 4), np.inf)}, "loss"),
        ({"prior": dx.Prior.uniform(dx.line(5))}, "prior"),
        ({"mechanism": MECHANISM.matrix}, "mechanism"),
        ({"rng": 5, "reports": 5000}, "rng"),
    ],
)
def test_bad_input_is_refused_in_one_line(given: dict, field: str) -> None:
    call = {"mechanism": MECHANISM, "prior": dx.Prior.uniform(SPACE)} | given
    with pytest.raises((dx.SpecError, dx.UnsupportedError), match=f"^{field}") as caught:
        dx.inference.repeated(**call)
    assert "\n" not in str(caught.value)
