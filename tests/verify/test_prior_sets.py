"""Sets of priors in result folders: proven from the files alone; a prior outside of the set proves nothing."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.duals import Dual, WorstDual
from dxopt.results.folder import write_digests
from dxopt.verify import verify
from dxopt.verify.bounds.dual import bound
from dxopt.verify.folder import Result
from dxopt.verify.prior_sets import read_priors
from dxopt.verify.verdict import Broken
from tests.material.checks import change_array, change_claims
from tests.material.verified import KINDS, failing

SETS = ("hull", "ball", "box", "fitting")


@cache
def solved(kind: str) -> dx.Report:
    return KINDS[kind]()


@pytest.mark.parametrize("kind", [*SETS, "ball, delta"])
def test_a_folder_is_proven_and_read_again(kind: str, tmp_path: Path) -> None:
    report = solved(kind)
    folder = report.save(tmp_path / "out")
    assert not failing(verify(folder))
    again = dx.load(folder)
    assert again.problem.priors is not None and report.problem.priors is not None
    assert again.problem.priors.name == report.problem.priors.name
    assert again.problem.objective.name == "worst_expected_loss"
    assert again.certificate.value == report.certificate.value
    assert again.certificate.bound == report.certificate.bound
    assert dict(again.lines())["value"].startswith("Under the worst of the priors")


@pytest.mark.parametrize("kind", SETS)
def test_a_larger_bound_or_a_smaller_value_is_seen(kind: str, tmp_path: Path) -> None:
    folder = solved(kind).save(tmp_path / "out")
    proof = dx.load(folder).certificate
    for name, factor in (("bound", 1 + 1e-9), ("value", 1 - 1e-9)):
        change_claims(folder, bound=proof.bound, value=proof.value)
        change_claims(folder, **{name: getattr(proof, name) * factor})
        write_digests(folder)
        assert name in failing(verify(folder))


FORGED = {
    "hull": [
        ("dual", "weights", lambda w: w + np.array([0.0, 0.3]), "bound"),
        ("problem", "prior_set.members", lambda v: v[[0, 0]], "files"),
    ],
    "ball": [
        # all that may be anywhere where most is lost, and more than there may be
        ("dual", "weights", lambda w: np.where(np.arange(len(w)) == 0, w + 1.0, w), "bound"),
        ("problem", "prior_set.radius", lambda r: r * 2, "files"),
        ("problem", "prior", lambda p: p[::-1], "value"),
    ],
    "box": [
        ("dual", "weights", lambda w: w[::-1], "bound"),
        ("problem", "prior_set.upper", lambda u: np.minimum(u * 1.1, 1), "value"),
        ("problem", "prior_set.lower", lambda u: u * 0.5, "value"),
    ],
    "fitting": [
        ("dual", "members", lambda m: np.full(m.shape, 1 / m.shape[1]), "bound"),
        ("dual", "members", lambda m: m * 1.01, "bound"),
        ("problem", "prior_set.low", lambda b: b - 0.01, "value"),
        ("problem", "prior_set.proof", lambda y: y * 1.01, "value"),
        ("problem", "prior_set.within", lambda b: b * 1000, "value"),
    ],
}


@pytest.mark.parametrize("kind", SETS)
def test_another_set_or_a_prior_outside_of_it_is_seen(kind: str, tmp_path: Path) -> None:
    for place, (file, name, change, claim) in enumerate(FORGED[kind]):
        folder = solved(kind).save(tmp_path / f"out-{place}")
        change_array(folder / f"{file}.npz", name, change)
        write_digests(folder)
        found = failing(verify(folder))
        assert found, (kind, name)
        if claim != "files":
            assert claim in found, (kind, name, found)


def test_another_objective_than_that_of_the_set_is_seen(tmp_path: Path) -> None:
    folder = solved("hull").save(tmp_path / "out")
    file = folder / "claims.json"
    file.write_text(file.read_text().replace('"worst_expected_loss"', '"expected_loss"'))
    write_digests(folder)
    assert "claims" in failing(verify(folder))


@pytest.mark.parametrize("kind", ["hull", "ball", "box", "regret"])
def test_bounds_in_doubles_are_no_more_than_the_exact_ones(kind: str, tmp_path: Path) -> None:
    """Whatever the weights are: rounding is counted against the bound, and the margin is of the order of rounding."""
    report = solved(kind)
    result = Result.read(report.save(tmp_path / "out"))
    dual = report.dual
    assert isinstance(dual, WorstDual)
    rng = np.random.default_rng(5)
    for scale in (1e-14, 1e-3, 1.0):
        for _ in range(20):
            weights = np.maximum(dual.weights * (1 + scale * rng.standard_normal(len(dual.weights))), 0.0)
            tried = WorstDual(weights, dual.inner)
            arrays = {**result.dual, "weights": weights}
            exact = bound(result.asked, arrays)[0]
            rounded = Fraction(proven_bound(report.problem, tried)[0])
            assert exact - Fraction(1, 10**12) * (1 + abs(exact)) <= rounded <= exact
    nothing = proven_bound(report.problem, None)[0]
    none = {key: array for key, array in result.dual.items() if key != "weights"} | {"multiplier": np.zeros(0)}
    assert Fraction(nothing) <= bound(result.asked, none)[0] + Fraction(1, 10**15)
    assert isinstance(dual.inner, Dual)


def test_a_regret_rests_on_its_optima(tmp_path: Path) -> None:
    report = solved("regret")
    folder = report.save(tmp_path / "out")
    verdict = verify(folder)
    assert not failing(verdict)
    assert {"parts/000", "parts/001", "optima"} <= {check.name for check in verdict.checks}
    again = dx.load(folder)
    assert again.certificate.value == report.certificate.value and len(again.members) == 2

    # optima that are larger than what is proven of them, in problem.npz alone, and in a part as well
    change_array(folder / "problem.npz", "prior_set.lowest", lambda low: low + 0.01)
    write_digests(folder)
    assert {"value", "optima"} <= set(failing(verify(folder)))
    with pytest.raises(dx.CertificateError):
        dx.load(folder)
    folder = report.save(tmp_path / "second")
    change_array(folder / "problem.npz", "prior_set.highest", lambda high: high - 0.01)
    part = folder / "parts" / "000"
    change_claims(part, value=dx.load(part).certificate.value - 0.01)
    write_digests(folder / "parts" / "000")
    write_digests(folder)
    assert {"parts/000"} <= set(failing(verify(folder)))


def test_the_optima_of_another_problem_are_seen(tmp_path: Path) -> None:
    report = solved("regret")
    folder = report.save(tmp_path / "out")
    (folder / "parts" / "001").rename(folder / "parts" / "aside")
    (folder / "parts" / "000").rename(folder / "parts" / "001")
    (folder / "parts" / "aside").rename(folder / "parts" / "000")
    write_digests(folder)
    assert "optima" in failing(verify(folder))
    other = report.members[0].problem.at(2.0)
    folder = report.save(tmp_path / "second")
    easier = dx.solve(other, solver="clarabel")
    easier.save(folder / "parts" / "000")
    write_digests(folder)
    assert "optima" in failing(verify(folder))

    # also where problem.npz says what such a part proves
    for end, known in (("lowest", easier.certificate.bound), ("highest", easier.certificate.value)):
        change_array(folder / "problem.npz", f"prior_set.{end}", lambda old, new=known: np.array([new, old[1]]))
    write_digests(folder)
    assert "another epsilon" in failing(verify(folder))["optima"]


def test_the_problem_of_a_report_or_a_folder_is_solved_again_with_its_optima(tmp_path: Path) -> None:
    report = solved("regret")
    again = dx.solve(report.problem)
    assert again.members is report.members and not failing(verify(again.save(tmp_path / "again")))
    folder = report.save(tmp_path / "out")
    loaded = dx.load(folder)
    assert not failing(verify(loaded.save(tmp_path / "loaded")))
    found = dx.solve(dx.read(folder / "problem.yaml"))
    assert len(found.members) == 2 and not failing(verify(found.save(tmp_path / "found")))


BOX = {"prior_set": np.array("box"), "prior_set.upper": np.array([0.5, 0.5, 1.0])}
TOTALS = {
    "prior_set": np.array("fitting"),
    "prior_set.low": np.array([0.3]),
    "prior_set.high": np.array([0.6]),
    "prior_set.forms": np.array([[1.0, 1.0, 0.0]]),
    "prior_set.within": np.array(1e-9),
    "prior_set.proof": np.array([2.0, 0.0]),
}


def test_a_box_without_lower_bounds_or_without_room() -> None:
    """Bounds that leave one of its parts no mass: weights of the other one prove what they do."""
    losses = [Fraction(4), Fraction(2), Fraction(1)]
    free = read_priors({**BOX, "prior_set.lower": np.zeros(3)}, np.full(3, 1 / 3))
    assert free.largest(losses) == 3
    assert free.prior_of_weights(np.array([0.25, 0.5, 0.5]))[2:] == (Fraction(5, 4), 0)
    only = np.array([0.25, 0.25, 0.5])
    fixed = read_priors({**BOX, "prior_set.lower": only, "prior_set.upper": only}, only)
    assert fixed.largest(losses) == 2
    assert fixed.prior_of_weights(only)[2:] == (1, 0)


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        *((f"prior_set.{key}", number) for key in ("low", "high", "forms", "proof") for number in (np.inf, -np.inf)),
        *(("prior_set.within", number) for number in (0.0, -1e-9, 1.0, 2.0, np.inf)),
    ],
)
def test_totals_are_numbers_and_their_slack_is_below_1(key: str, wrong: float) -> None:
    prior = np.full(3, 1 / 3)
    assert read_priors(TOTALS, prior).totals is not None
    changed = np.array(TOTALS[key])
    changed.reshape(-1)[0] = wrong
    with pytest.raises(Broken, match="are no numbers"):
        read_priors({**TOTALS, key: changed}, prior)
