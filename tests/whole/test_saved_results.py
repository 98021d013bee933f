"""Results that were saved once, see tests/material/saved_results.py: they load, verify and report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dxopt as dx
from dxopt.results.page import save_page
from dxopt.verify import Outcome, verify_all
from dxopt.verify.verdict import Verdicts
from tests.material.files import ROOT
from tests.material.saved_results import RESULTS as MADE

SAVED = ROOT / "tests" / "material" / "saved"
RESULTS = sorted(path for path in (SAVED / "results").iterdir() if path.is_dir())
REPORTS = [path for path in RESULTS if (path / "claims.json").is_file()]


def test_there_is_one_of_each_kind() -> None:
    kinds = {file.name for folder in RESULTS for file in folder.rglob("*")}
    assert {
        "claims.json",
        "notes.json",
        "frontier.json",
        "sweep.json",
        "comparison.json",
        "comparison.npz",
        "table.dxt",
        "dual.npz",
    } <= kinds
    assert {folder.name for folder in RESULTS} == {*MADE}


@pytest.mark.parametrize("folder", REPORTS, ids=lambda folder: folder.name)
def test_reports_load_with_what_was_proven(folder: Path) -> None:
    report = dx.load(folder)
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    proof = claims["certificate"]
    assert report.certificate.value == pytest.approx(proof["value"], rel=1e-12)
    assert report.certificate.bound == pytest.approx(proof["bound"], rel=1e-12)
    assert report.certificate.private is proof["private"]
    assert str(report.status) == claims["status"]


def test_sweeps_load() -> None:
    sweep = dx.EpsilonSweep.load(SAVED / "results" / "sweep")
    assert [report.problem.epsilon for report in sweep.reports] == [0.5, 1.0]


def test_all_of_them_verify() -> None:
    found = verify_all(SAVED / "results")
    assert isinstance(found, Verdicts)
    assert len(found.results) == len(RESULTS)
    assert found.outcome is Outcome.HOLDS, str(found)


def test_a_page_shows_them_all(tmp_path: Path) -> None:
    (page,) = save_page(SAVED / "results", tmp_path / "page.html")
    words = page.read_text(encoding="utf-8")
    assert [folder.name for folder in RESULTS if folder.name not in words] == []


@pytest.mark.parametrize("name", ["kernel", "matrix", "planar_laplace"])
def test_mechanisms_load(name: str) -> None:
    mechanism = dx.Mechanism.load(SAVED / "mechanisms" / f"{name}.npz")
    assert (mechanism.privacy is None) is (name == "matrix")
    assert mechanism.row(index=0).sum() == pytest.approx(1.0, abs=1e-12)


def test_integer_tables_load() -> None:
    table = dx.IntegerTable.load(SAVED / "mechanisms" / "table.dxt")
    assert table.epsilon == pytest.approx(1.0, rel=1e-6)
