"""Result folders proven again from their files alone: untouched ones of many kinds, and claims that are false."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.results.folder import write_digests
from dxopt.results.measures import MEASURES
from dxopt.verify import Outcome, verify
from tests.material.checks import change_array, change_claims
from tests.material.verified import KINDS, adversary, failing, points


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dx.solve(points()).save(tmp_path_factory.mktemp("verify") / "out")


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(saved, tmp_path / "out"))


@pytest.mark.parametrize("kind", KINDS)
def test_untouched_results_hold(kind: str, tmp_path: Path) -> None:
    from dataclasses import replace

    report = KINDS[kind]()
    names = [
        name for name in MEASURES if name != "error_bound" and (report.problem.private or name != "smallest_delta")
    ]
    names = names if np.isfinite(report.problem.space.distances).all() else ["expected_loss", "utility"]
    verdict = verify(
        replace(report, evaluation={name: MEASURES[name](report.mechanism, report.problem) for name in names}).save(
            tmp_path / "a"
        )
    )
    assert verdict.outcome is Outcome.HOLDS, str(verdict)
    assert verdict.exit_code == 0
    assert [check.name for check in verdict.checks].count("digests") == 1
    parts = len(report.members) + bool(report.members)  # of a regret, and that they are its optima
    assert len(verdict.checks) == 11 + len(names) + parts + (report.problem.beliefs is not None)


def test_table_is_saved_and_proven(folder: Path) -> None:
    table = dx.IntegerTable.load(folder / "table.dxt")
    report = dx.load(folder)
    assert table.epsilon == report.certificate.epsilon
    assert "2^64" in verify(folder).of("table").detail
    assert json.loads((folder / "claims.json").read_text(encoding="utf-8"))["table"] is None


def test_folders_without_table_or_digests(folder: Path, tmp_path: Path) -> None:
    for name in ("table.dxt", "digests.json"):
        (folder / name).unlink()
    dx.load(folder)
    verdict = verify(folder)
    assert verdict.of("digests").status is Outcome.NOT_REPROVED
    assert verdict.of("table").status is Outcome.FAILS
    free = dx.solve(adversary(None)).save(tmp_path / "free")
    assert not (free / "table.dxt").exists()
    assert verify(free).of("table").detail == "none was claimed: no privacy was asked for"


def test_an_earlier_table_does_not_stay(folder: Path) -> None:
    dx.solve(adversary(None)).save(folder)
    assert not (folder / "table.dxt").exists()
    assert verify(folder).outcome is Outcome.HOLDS


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
def test_a_delta_that_is_larger_than_the_least_is_false(pairs: str, tmp_path: Path) -> None:
    """The mechanism is private with it as well, but the smallest is claimed, as a measure and as certified."""
    from dataclasses import replace

    problem = points().but(delta=0.05, pairs=pairs)
    report = dx.solve(problem)
    least = MEASURES["smallest_delta"](report.mechanism, problem)
    assert 0 < least <= 0.05
    saved = replace(report, evaluation={"smallest_delta": least}).save(tmp_path / "out")
    assert verify(saved).outcome is Outcome.HOLDS
    content = json.loads((saved / "claims.json").read_text(encoding="utf-8"))
    for claimed in (least + 1e-9, least + 1e-3, least + 0.2, least - 1e-9):
        content["evaluation"]["smallest_delta"] = claimed
        (saved / "claims.json").write_text(json.dumps(content), encoding="utf-8")
        assert "measure: smallest_delta" in failing(verify(saved)), claimed
    careful = dx.solve(problem, method="exponential").save(tmp_path / "careful")
    certified = dx.load(careful).certificate.delta
    assert certified < 0.04
    for more in (1e-9, 0.01):
        change_claims(careful, delta=certified + more)
        assert "is not the least" in str(failing(verify(careful))), more


def test_noise_that_is_not_written_down_is_left_open(tmp_path: Path) -> None:
    from dataclasses import replace

    from dxopt.mechanisms.classic.planar_laplace import OnGrid
    from dxopt.proofs.candidate import Candidate
    from dxopt.proofs.certify import certify

    space = dx.grid((20, 21))
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
    noise = OnGrid.of(space, 1.0)
    report = replace(dx.solve(problem, method="planar_laplace"), mechanism=noise, dual=None)
    report = replace(report, certificate=certify(problem, Candidate(noise)).certificate)
    verdict = verify(report.save(tmp_path / "out"))
    assert verdict.outcome is Outcome.NOT_REPROVED
    for name in ("rows", "privacy", "value"):
        assert verdict.of(name).status is Outcome.NOT_REPROVED
    for name in ("digests", "prior", "distances", "loss", "bound", "gap", "claims"):
        assert verdict.of(name).status is Outcome.HOLDS, str(verdict)


def test_errors_name_secrets_and_reports(folder: Path) -> None:
    matrix = dx.load(folder).mechanism.matrix.copy()
    matrix[4, 0] *= 3
    matrix[4, 4] -= matrix[4].sum() - 1
    change_array(folder / "mechanism.npz", "matrix", lambda _: matrix)
    write_digests(folder)
    labels = dx.grid((3, 3)).labels
    detail = failing(verify(folder))["privacy"]
    assert f"secrets {labels[4]} and " in detail or f" and {labels[4]} are" in detail
    matrix[4, 0] += 1e-6
    change_array(folder / "mechanism.npz", "matrix", lambda _: matrix)
    assert f"the row of secret {labels[4]} sums to 1 +1e-06" in failing(verify(folder))["rows"]
    matrix[4, 0] = -1e-6
    change_array(folder / "mechanism.npz", "matrix", lambda _: matrix)
    assert f"secret {labels[4]}, report {labels[0]}: -1e-06" in failing(verify(folder))["rows"]


def test_a_violation_below_the_precision_of_doubles_is_seen(folder: Path) -> None:
    report = dx.load(folder)
    matrix = report.mechanism.matrix
    distances = report.problem.space.distances
    shrunk = report.certificate.epsilon
    while not failing(verify(folder)):
        shrunk = float(np.nextafter(shrunk, 0.0))
        change_claims(folder, epsilon=shrunk, table="none")
        (folder / "table.dxt").unlink(missing_ok=True)
        write_digests(folder)
    assert set(failing(verify(folder))) == {"privacy"}
    assert shrunk > report.certificate.epsilon * (1 - 1e-9)
    from tests.judges.exact import violations

    assert violations(matrix, distances, shrunk)


@pytest.mark.parametrize("step", [1e-6, -1e-6])
def test_realised_levels_are_the_least(tmp_path: Path, step: float) -> None:
    pure = KINDS["exponential"]().save(tmp_path / "pure")
    epsilon = dx.load(pure).certificate.epsilon
    assert epsilon < 0.79
    change_claims(pure, epsilon=epsilon + step)
    assert ("not the least" if step > 0 else "told apart by report") in failing(verify(pure))["privacy"]
    relaxed = KINDS["delta"]()
    saved = relaxed.save(tmp_path / "relaxed")
    change_array(saved / "problem.npz", "delta", lambda delta: delta + 0.01)
    change_claims(saved, delta=relaxed.certificate.delta + step)
    assert ("not the least" if step > 0 else "by more than delta") in failing(verify(saved))["privacy"]


def test_tables_that_do_not_hold(folder: Path) -> None:
    def moved(steps: np.ndarray) -> np.ndarray:
        first, second, *others = steps.view(">u8").tolist()
        return np.array([first // 2 + second // 2, second, *others], dtype=">u8").view("u1")

    change_array(folder / "table.dxt", "steps", moved)
    assert "are told apart by report" in failing(verify(folder))["table"]


def test_detours(tmp_path: Path) -> None:
    folder = KINDS["merged points"]().save(tmp_path / "out")
    change_array(
        folder / "mechanism.npz", "space.distances", lambda d: np.where((d == 3) & np.eye(4, k=3, dtype=bool), 4, d)
    )
    assert "from secret 0 to 3 it is 4, but 3 by way of 1" in failing(verify(folder))["distances"]


def test_missing_damaged_and_other_folders(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(dx.SpecError, match="no result folder"):
        verify(tmp_path / "nowhere")
    for name in ("mechanism.npz", "problem.npz", "dual.npz", "claims.json", "problem.yaml"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])
        verdict = verify(folder)
        assert name in failing(verdict)["digests"]
        assert any(name in detail for key, detail in failing(verdict).items() if key != "digests")
        (folder / name).unlink()
        verdict = verify(folder)
        assert verdict.outcome is Outcome.FAILS
        assert not any("damaged" in detail for detail in failing(verdict).values())
        assert any(f"{name} is missing" in detail for detail in failing(verdict).values())
        (folder / name).write_bytes(content)
    assert verify(folder).outcome is Outcome.HOLDS


def test_command_line(folder: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    held = run(app, ["verify", str(folder)])
    assert held.exit_code == 0
    assert "privacy" in held.output
    content = json.loads(run(app, ["verify", str(folder), "--json"]).output)
    assert content["outcome"] == "holds"
    assert {check["status"] for check in content["checks"]} == {"holds"}
    change_array(folder / "problem.npz", "prior", lambda prior: prior[::-1].copy())
    assert run(app, ["verify", str(folder)]).exit_code == 1
    assert run(app, ["verify", str(tmp_path / "nowhere")]).exit_code == 2


def test_nothing_else_is_imported(folder: Path) -> None:
    code = (
        "import sys; from dxopt.verify import verify; verify(sys.argv[1]); "
        "print([name for name in sys.modules if name.startswith('dxopt.')], 'scipy' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    names, scipy = found.stdout.strip().rsplit(" ", 1)
    others = [name for name in names.strip("[]").replace("'", "").split(", ") if not name.startswith("dxopt.verify")]
    assert (others, scipy) == (["dxopt.errors"], "False")


def test_a_long_check_is_told_each_second_until_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = dx.solve(dx.Problem(dx.line(3), epsilon=1.0, prior="uniform")).save(tmp_path / "out")
    lines: list[str] = []

    def slow(result: object) -> str:
        while lines.count(lines[-1]) < 3:
            time.sleep(0.01)
        return "proven"

    monkeypatch.setattr("dxopt.verify.proving._AGAIN", 0.02)
    checks = (("privacy", slow), ("gap", lambda result: "proven"))
    monkeypatch.setattr("dxopt.verify.proving._CLAIMS", checks)
    assert verify(folder, tell=lines.append).of("privacy").detail == "proven"
    assert len(set(lines)) == 2
