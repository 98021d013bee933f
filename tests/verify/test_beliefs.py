"""Results about pairs of beliefs: `verify` proves them from their files, and refuses what is forged."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.results.folder import write_digests
from dxopt.verify import Outcome, verify
from dxopt.verify.bounds.dual import bound
from dxopt.verify.folder import Result
from tests.judges.oracle_beliefs import keeps
from tests.material.believed import believed, trace
from tests.material.checks import change_array, change_claims, there
from tests.material.verified import failing


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dx.solve(trace()).save(tmp_path_factory.mktemp("honest") / "trace")


@pytest.fixture
def forged(honest: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(honest, tmp_path / "forged"))


def refused(folder: Path) -> dict[str, str]:
    """What fails, by `verify`; `load` must refuse it too."""
    write_digests(folder)
    verdict = verify(folder)
    assert verdict.of("digests").status is Outcome.HOLDS
    return failing(verdict)


def test_an_honest_result_holds(honest: Path) -> None:
    verdict = verify(honest)
    assert verdict.exit_code == 0, str(verdict)
    assert verdict.of("beliefs").detail.endswith("for 6 ordered pairs of beliefs in 8 reports")
    assert "multipliers" in verdict.of("bound").detail
    loaded = dx.load(honest)
    pairs = loaded.problem.beliefs
    assert isinstance(pairs, dx.BeliefPairs)
    known = trace().beliefs
    assert known is not None
    assert np.array_equal(pairs.first, known.first)
    assert (pairs.names, pairs.level, pairs.left_out) == (known.names, known.level, known.left_out)
    assert loaded.certificate.belief_level is not None
    level = Fraction(loaded.certificate.belief_level)
    assert keeps(pairs.first, pairs.second, [level] * len(pairs), loaded.mechanism.matrix)


def test_a_channel_that_tells_beliefs_apart(forged: Path) -> None:
    change_array(forged / "mechanism.npz", "matrix", lambda _: np.eye(8))
    found = refused(forged)
    assert "told apart by report" in found["beliefs"]
    with pytest.raises(dx.CertificateError, match="beliefs are told apart"):
        dx.load(forged)


@pytest.mark.parametrize("times", [0.999999, 1.000001, 0.5])
def test_a_level_that_is_not_the_least(forged: Path, times: float) -> None:
    change_claims(forged, belief_level=there(dx.load(forged).certificate.belief_level) * times)
    assert "beliefs" in refused(forged)
    with pytest.raises(dx.CertificateError, match="belief_level"):
        dx.load(forged)


def test_a_lower_level_that_was_asked_for(forged: Path) -> None:
    level = dx.load(forged).certificate.belief_level
    assert level is not None
    change_array(forged / "problem.npz", "belief_epsilon", lambda level: level / 2)
    change_claims(forged, belief_level=level / 2)
    assert "told apart" in refused(forged)["beliefs"]
    with pytest.raises(dx.CertificateError):
        dx.load(forged)


def test_beliefs_that_were_swapped_for_easier_ones(forged: Path) -> None:
    """All beliefs are made alike, which any mechanism keeps together: then level and bound are no longer true."""
    change_array(forged / "problem.npz", "belief_first", lambda first: np.full_like(first, 1 / 8))
    change_array(forged / "problem.npz", "belief_second", lambda second: np.full_like(second, 1 / 8))
    found = refused(forged)
    assert "is not the least" in found["beliefs"]
    assert "bound" in found
    with pytest.raises(dx.CertificateError):
        dx.load(forged)


def test_a_bound_that_is_too_good(forged: Path) -> None:
    change_claims(forged, bound=dx.load(forged).certificate.value, gap=0.0)
    assert set(refused(forged)) == {"bound"}
    with pytest.raises(dx.CertificateError, match="bound"):
        dx.load(forged)


def test_multipliers_of_no_pair(forged: Path) -> None:
    change_array(forged / "dual.npz", "belief", lambda belief: belief + 6)
    assert "of 6" in refused(forged)["bound"]
    with pytest.raises(dx.CertificateError, match="not about 6 pairs"):
        dx.load(forged)


def test_a_promise_without_pairs(forged: Path) -> None:
    """The pairs are taken out, and what is claimed of them is left."""
    with np.load(forged / "problem.npz") as stored:
        arrays = {key: array for key, array in stored.items() if not key.startswith("belief_")}
    np.savez_compressed(forged / "problem.npz", **arrays)
    found = refused(forged)
    assert "there are none in problem.npz" in found["beliefs"]
    assert "holds none of these" in found["bound"]
    with pytest.raises((dx.CertificateError, dx.SpecError)):
        dx.load(forged)


@pytest.mark.parametrize("key", ["first", "names", "left_out", "epsilon"])
def test_pairs_that_lack_an_array(forged: Path, key: str) -> None:
    with np.load(forged / "problem.npz") as stored:
        arrays = {name: array for name, array in stored.items() if name != f"belief_{key}"}
    np.savez_compressed(forged / "problem.npz", **arrays)
    assert "pairs of beliefs have the arrays" in refused(forged)["beliefs"]
    with pytest.raises(dx.SpecError) as caught:
        dx.load(forged)
    assert caught.value.field == "folder"


def test_beliefs_that_are_no_distributions(forged: Path) -> None:
    change_array(forged / "problem.npz", "belief_first", lambda first: first * 2)
    assert "is no distribution" in refused(forged)["beliefs"]
    with pytest.raises(dx.SpecError) as caught:
        dx.load(forged)
    assert caught.value.field == "first"


def test_a_claim_of_privacy_between_secrets(forged: Path) -> None:
    change_claims(forged, private=True)
    assert "privacy" in refused(forged)
    with pytest.raises(dx.CertificateError):
        dx.load(forged)


def test_a_table_of_integers_beside_beliefs(forged: Path, tmp_path: Path) -> None:
    """It may be private between secrets, and is nothing that is proven for beliefs."""
    problem = believed(1, private=True)
    folder = dx.solve(problem).save(tmp_path / "both")
    plain = dx.solve(problem.but(beliefs=None)).save(tmp_path / "plain")
    shutil.copy(plain / "table.dxt", folder / "table.dxt")
    assert "nothing is proven for pairs of beliefs" in refused(folder)["beliefs"]
    assert not (forged / "table.dxt").exists()


@pytest.mark.parametrize("objective", ["expected_loss", "worst_loss"])
@pytest.mark.parametrize("private", [False, True])
def test_other_objectives_and_privacy_hold(objective: str, private: bool, tmp_path: Path) -> None:
    folder = dx.solve(believed(5, private=private, objective=objective)).save(tmp_path / "a")
    verdict = verify(folder)
    assert verdict.exit_code == 0, str(verdict)
    assert dx.load(folder).save(tmp_path / "again").is_dir()
    assert verify(tmp_path / "again").exit_code == 0


@pytest.mark.parametrize("objective", ["expected_loss", "worst_loss"])
def test_no_multipliers_prove_too_much(objective: str, tmp_path: Path) -> None:
    """The honest bound is proven to the last digits, and multipliers of any other size prove less."""
    report = dx.solve(believed(6, objective=objective))
    folder = report.save(tmp_path / "a")
    proof = report.certificate
    with np.load(folder / "dual.npz") as stored:
        honest = dict(stored)
    result = Result.read(folder)
    proven, _ = bound(result.asked, honest)
    assert abs(float(proven) - proof.bound) <= 1e-9
    rng = np.random.default_rng(2)
    for size in (0.0, 0.5, 0.99, 1.01, 2.0, 100.0):
        changed = {**honest, "multiplier": honest["multiplier"] * size}
        assert bound(result.asked, changed)[0] <= proof.value
        changed["multiplier"] = honest["multiplier"] * rng.exponential(size=len(honest["multiplier"]))
        assert bound(result.asked, changed)[0] <= proof.value


def test_a_level_above_the_one_that_was_asked_for(forged: Path) -> None:
    """The channel is as private as claimed, but less so than asked."""
    level = dx.load(forged).certificate.belief_level
    assert level is not None
    change_array(forged / "problem.npz", "belief_epsilon", lambda level: level / 2)
    assert "was asked for" in refused(forged)["beliefs"]
