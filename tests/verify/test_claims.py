"""Claims of certificates that are false by a little: what is a little less than proven, and a little more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxopt.results.measures import of_records
from dxopt.verify.claims import (
    check_bound,
    check_gap,
    check_prior,
    check_privacy,
    check_rows,
    check_value,
)
from dxopt.verify.folder import Result
from dxopt.verify.measures import check_measure
from dxopt.verify.verdict import Broken
from tests.material.verified import KINDS

KINDS_HERE = ("program", "delta", "worst loss", "adversary, private")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    folder = tmp_path_factory.mktemp("claims")
    return {kind: Result.read(KINDS[kind]().save(folder / kind.replace(", ", "-"))) for kind in KINDS_HERE}


def claiming(result: Result, **claims: Any) -> Result:
    """The result with other claims in its certificate."""
    return replace(result, certificate={**result.certificate, **claims})


def with_arrays(result: Result, part: str, **arrays: np.ndarray) -> Result:
    """The result with other arrays in one of its files."""
    return replace(result, **{part: {**getattr(result, part), **arrays}})


@pytest.mark.parametrize("kind", KINDS_HERE)
def test_what_was_proven_holds(results: dict[str, Result], kind: str) -> None:
    for check in (check_prior, check_rows, check_privacy, check_value, check_bound, check_gap):
        check(results[kind])


def test_delta_is_enough_and_the_least(results: dict[str, Result]) -> None:
    result = results["delta"]
    delta = result.claimed("delta")
    for share in (0.5, 1 - 1e-9):
        with pytest.raises(Broken, match=r"told apart .* by more than delta"):
            check_privacy(claiming(result, delta=share * delta))
    asked = with_arrays(result, "problem", delta=np.array(0.5))
    with pytest.raises(Broken, match="is not the least"):
        check_privacy(claiming(asked, delta=delta + 1.5e-11))
    check_privacy(claiming(asked, delta=delta + 0.5e-11))
    with pytest.raises(Broken, match="was asked for"):
        check_privacy(claiming(result, delta=0.05 + 1e-12))
    with pytest.raises(Broken, match="was asked for"):
        check_privacy(claiming(result, epsilon=result.epsilon * (1 - 1e-9)))


def test_epsilon_is_enough_and_the_least(results: dict[str, Result]) -> None:
    result = results["program"]
    epsilon = result.claimed("epsilon")
    with pytest.raises(Broken, match="told apart"):
        check_privacy(claiming(result, epsilon=epsilon * (1 - 1e-11)))
    asked = with_arrays(result, "problem", epsilon=np.array(2 * result.epsilon))
    with pytest.raises(Broken, match="is not the least"):
        check_privacy(claiming(asked, epsilon=epsilon * (1 + 1e-10)))
    for least in (-1e-9, -0.5, -2.0):
        with pytest.raises(Broken, match="was asked for"):
            check_privacy(claiming(result, epsilon=least))
    for wrong in (False, None):
        with pytest.raises(Broken, match="private is"):
            check_privacy(claiming(result, private=wrong))


@pytest.mark.parametrize("kind", KINDS_HERE)
@pytest.mark.parametrize(("name", "check"), [("value", check_value), ("bound", check_bound), ("gap", check_gap)])
def test_numbers_that_are_off_by_a_little(
    results: dict[str, Result], kind: str, name: str, check: Callable[[Result], str]
) -> None:
    """A bound may claim less than is proven, never more."""
    result = results[kind]
    number = result.claimed(name)
    for side in (1, -1):
        check(claiming(result, **{name: number * (1 + side * 1e-14)}))
        off = claiming(result, **{name: number + side * 1e-9 * max(abs(number), result.claimed("value"))})
        if name == "bound" and side * result.sign < 0:
            check(off)
        else:
            with pytest.raises(Broken, match=f"{name} is"):
                check(off)


@pytest.mark.parametrize("kind", KINDS_HERE)
def test_a_value_better_than_its_bound(results: dict[str, Result], kind: str) -> None:
    result = results[kind]
    value = result.claimed("value")
    beyond = value * (1 + result.sign * 1e-11)
    with pytest.raises(Broken, match="is better than the bound"):
        check_gap(claiming(result, bound=beyond, gap=abs(value - beyond) / value))


def test_rows_and_priors_are_probabilities(results: dict[str, Result]) -> None:
    result = results["program"]
    matrix = np.array(result.matrix)
    for more in (2.0**-49, -(2.0**-49)):
        changed = matrix.copy()
        changed[0, int(changed[0].argmax())] += more
        with pytest.raises(Broken, match="sums to 1"):
            check_rows(with_arrays(result, "mechanism", matrix=changed))
    prior = np.array(result.prior)
    for wrong in (-1e-300, -0.1, np.inf):
        changed = prior.copy()
        changed[1] = wrong
        with pytest.raises(Broken, match=r"has probability|is no number"):
            check_prior(with_arrays(result, "problem", prior=changed))
    with pytest.raises(Broken, match="it sums to 1"):
        check_prior(with_arrays(result, "problem", prior=prior * (1 + 2e-9)))
    check_prior(with_arrays(result, "problem", prior=prior * (1 + 0.5e-9)))


def test_a_budget_is_kept_exactly(results: dict[str, Result], tmp_path: Path) -> None:
    result = results["adversary, private"]
    check_value(result)
    spent = float(result.worth.expected_loss(result.losses).high)
    for share, kept in ((1 - 1e-15, False), (1 + 1e-15, True)):
        other = with_arrays(result, "problem", max_loss=np.array(spent * share))
        if kept:
            check_value(other)
        else:
            with pytest.raises(Broken, match="over its budget"):
                check_value(other)


@pytest.mark.parametrize("kind", ["program", "delta", "delta, adjacent"])
def test_the_level_of_one_record(kind: str, tmp_path: Path) -> None:
    """Where not all pairs are bound, it is not ε times the largest distance."""
    report = KINDS[kind]()
    result = Result.read(report.save(tmp_path / "out"))
    name = "epsilon of one record"
    number = of_records(report.mechanism, report.problem, 10)[name]
    check_measure(result, name, number)
    plain = kind != "delta, adjacent"
    for other in (number * (1 - 1e-6), number * (1 + 1e-6)):
        with pytest.raises(Broken):
            check_measure(result, name, other)
    farthest = float(result.distances.max())
    assert plain == (number == pytest.approx(report.certificate.epsilon * farthest))


@pytest.mark.parametrize("name", ["value", "bound", "gap"])
@pytest.mark.parametrize("number", [None, np.inf, -np.inf])
def test_figures_without_end_are_none(results: dict[str, Result], name: str, number: float | None) -> None:
    with pytest.raises(Broken):
        check_gap(claiming(results["program"], **{name: number}))


def test_one_record_without_privacy(tmp_path: Path) -> None:
    """No δ is asked for, and so none is allowed for the level."""
    report = KINDS["adversary"]()
    result = Result.read(report.save(tmp_path / "out"))
    assert not result.private
    check_measure(result, "delta of one record", 0.0)
    check_measure(result, "epsilon of one record", np.inf)
    for name, number in (
        ("delta of one record", 1.0),
        ("epsilon of one record", 0.0),
        ("epsilon of one record", 5.0),
    ):
        with pytest.raises(Broken):
            check_measure(result, name, number)
