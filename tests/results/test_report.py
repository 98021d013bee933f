"""Reports: saved, loaded and proven again; tampered with; shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from rich.console import Console

import dxopt as dx
from dxopt.proofs.duals import Dual
from dxopt.results.folder import Contents, save_contents
from tests.material.checks import assert_proven, change_array, change_claims

FILES = {"problem.yaml", "problem.npz", "mechanism.npz", "dual.npz", "claims.json", "notes.json"}


def asymmetric() -> dx.Problem:
    space = dx.MetricSpace.from_distances([[0, 1, 0], [2, 0, 2], [0.5, 1, 0]], labels=["a", "b", "ç"])
    prior = dx.Prior.from_weights(space, [0, 1, 1e-300])
    return dx.Problem(space, epsilon=0.7, prior=prior, loss=[[1, 2.0], [2, -1], [0, 1]], name="asymmetric")


def points() -> dx.Problem:
    space = dx.grid((3, 3))
    return dx.Problem(space, epsilon=0.8, prior=dx.Prior.from_weights(space, range(1, 10)), name="points")


def graph() -> dx.Problem:
    space = dx.MetricSpace.from_graph(nx.cycle_graph(5))
    return dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary", name="graph")


def words() -> dx.Problem:
    space = dx.MetricSpace.from_points([["x", "u"], ["x", "v"], ["y", "v"]], "hamming")
    return dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), name="words")


MAKERS = [asymmetric, points, graph, words]


@pytest.fixture
def report() -> dx.Report:
    return dx.solve(points())


@pytest.fixture
def folder(report: dx.Report, tmp_path: Path) -> Path:
    return report.save(tmp_path / "out")


def test_an_answer_has_what_people_ask_of_it(report: dx.Report, tmp_path: Path) -> None:
    proof, mechanism = report.certificate, report.mechanism
    assert (report.value, report.bound, report.gap, report.epsilon) == (
        proof.value,
        proof.bound,
        proof.gap,
        proof.epsilon,
    )
    assert report.epsilon <= report.problem.epsilon
    assert report.matrix is mechanism.matrix
    assert np.array_equal(report.row(index=4), mechanism.matrix[4])
    drawn = report.sample(index=[0, 8], size=3, rng=np.random.default_rng(1))
    assert np.array_equal(drawn, mechanism.sample(index=[0, 8], size=3, rng=np.random.default_rng(1)))

    # a map where there are places, and the channel where there are none
    assert len(report.plot(tmp_path / "new" / "map.svg").axes) == 3
    assert (tmp_path / "new" / "map.svg").is_file()
    assert [axes.get_ylabel() for axes in dx.solve(graph()).plot().axes] == ["secret", "probability"]


@pytest.mark.parametrize(
    ("option", "name", "meant"),
    [("solver", "colums", "columns"), ("method", "optiml", "optimal"), ("solver", "highz", "highs")],
)
def test_a_name_close_to_a_known_one_is_answered_with_it(option: str, name: str, meant: str) -> None:
    with pytest.raises(dx.SpecError) as caught:
        dx.solve(points(), **{option: name})  # pyright: ignore[reportArgumentType]
    assert caught.value.field == option
    assert f"{meant}?" in caught.value.fix


ROUTES = [(maker, "auto") for maker in MAKERS] + [
    (maker, "exponential") for maker in MAKERS if maker is not asymmetric
]


def numbers(report: dx.Report) -> list[float | None]:
    proof = report.certificate
    return [proof.value, proof.bound, proof.gap, proof.epsilon, proof.delta, proof.belief_level]


@pytest.mark.parametrize(("maker", "method"), ROUTES)
def test_round_trip(maker, method: str, tmp_path: Path) -> None:
    report = dx.solve(maker(), method=method)
    saved = report.save(tmp_path / "a" / "b")
    assert {path.name for path in saved.iterdir()} >= FILES
    loaded = dx.load(saved)
    assert_proven(loaded)
    assert numbers(loaded) == numbers(report)
    assert np.array_equal(loaded.mechanism.matrix, report.mechanism.matrix)
    assert np.array_equal(loaded.problem.space.distances, report.problem.space.distances)
    assert np.array_equal(loaded.problem.prior.probabilities, report.problem.prior.probabilities)
    assert np.array_equal(loaded.problem.losses, report.problem.losses)
    assert loaded.problem.space.labels == report.problem.space.labels
    assert loaded.problem.reports.labels == report.problem.reports.labels
    for name in ("status", "claim", "route", "refused", "reductions", "tolerance", "seconds", "evaluation"):
        assert getattr(loaded, name) == getattr(report, name)
    assert str(loaded) == str(report)
    again = dx.load(loaded.save(tmp_path / "c"))
    assert numbers(again) == numbers(report)


@pytest.mark.parametrize("name", ["value", "bound", "epsilon", "gap"])
@pytest.mark.parametrize("factor", [1 + 1e-9, 0.9, float("nan")])
def test_tampered_certificate(folder: Path, report: dx.Report, name: str, factor: float) -> None:
    number = getattr(report.certificate, name)
    change_claims(folder, **{name: number * factor if name != "gap" else number + 1e-3 * factor})
    with pytest.raises(dx.DxoptError, match=name):
        dx.load(folder)


def test_tampered_verdict(folder: Path) -> None:
    change_claims(folder, private=False)
    with pytest.raises(dx.DxoptError):
        dx.load(folder)


def test_tampered_matrix(folder: Path, report: dx.Report) -> None:
    matrix = report.mechanism.matrix.copy()
    largest = int(matrix[0].argmax())
    matrix[0, largest] -= 1e-9
    matrix[0, 8 if largest < 8 else 0] += 1e-9
    change_array(folder / "mechanism.npz", "matrix", lambda _: matrix)
    with pytest.raises(dx.CertificateError):
        dx.load(folder)


@pytest.mark.parametrize("matrix", [np.eye(9), np.full((9, 9), 0.2), -np.eye(9), np.ones((9, 8)) / 8])
def test_another_matrix(folder: Path, matrix: np.ndarray) -> None:
    change_array(folder / "mechanism.npz", "matrix", lambda _: matrix)
    with pytest.raises(dx.DxoptError):
        dx.load(folder)


def test_tampered_dual(folder: Path, report: dx.Report) -> None:
    assert isinstance(report.dual, Dual)
    multiplier = report.dual.multiplier.copy()
    multiplier[multiplier.argmax()] *= 1.01
    change_array(folder / "dual.npz", "multiplier", lambda _: multiplier)
    with pytest.raises(dx.CertificateError, match="bound"):
        dx.load(folder)


@pytest.mark.parametrize("factor", [0.99, 1.01, 2.0])
def test_tampered_level(folder: Path, report: dx.Report, factor: float) -> None:
    change_array(folder / "problem.npz", "epsilon", lambda _: np.array(factor * report.problem.epsilon))
    with pytest.raises(dx.CertificateError):
        dx.load(folder)


def test_tampered_distances_and_prior(folder: Path, report: dx.Report) -> None:
    problem = report.problem
    for name, array in (
        ("distances", problem.space.distances * 0.99),
        ("prior", problem.prior.probabilities[::-1].copy()),
    ):
        with np.load(folder / "problem.npz") as stored:
            original = stored[name]
        change_array(folder / "problem.npz", name, lambda _, to=array: to)
        with pytest.raises(dx.CertificateError):
            dx.load(folder)
        change_array(folder / "problem.npz", name, lambda _, to=original: to)
    assert_proven(dx.load(folder))


def test_status_must_fit_the_gap(tmp_path: Path) -> None:
    report = dx.solve(points(), method="exponential")
    folder = report.save(tmp_path / "out")
    change_claims(folder, status="optimal")
    with pytest.raises(dx.DxoptError):
        dx.load(folder)


@pytest.mark.parametrize("name", sorted(FILES - {"problem.yaml"}))
def test_missing_and_damaged_files(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(dx.SpecError, match="folder"):
        dx.load(folder)
    (folder / name).unlink()
    with pytest.raises(dx.SpecError, match="folder"):
        dx.load(folder)


def test_other_format(folder: Path, tmp_path: Path) -> None:
    change_claims(folder, format=99)
    with pytest.raises(dx.SpecError, match="99"):
        dx.load(folder)
    with pytest.raises(dx.SpecError, match="no result"):
        dx.load(tmp_path / "nowhere")


def test_saving_over_something_else_is_refused(report: dx.Report, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(dx.SpecError, match="no result folder"):
        report.save(precious)
    with pytest.raises(dx.SpecError, match="no result folder"):
        report.save(precious / "thesis.tex")
    assert (precious / "thesis.tex").read_text(encoding="utf-8") == "years of work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious"]


def test_saving_again_replaces_the_result_and_nothing_else(report: dx.Report, folder: Path) -> None:
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    other = dx.solve(graph())
    other.save(folder)
    assert numbers(dx.load(folder)) == numbers(other)
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name]


def test_saving_into_an_empty_folder(report: dx.Report, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert_proven(dx.load(report.save(tmp_path / "empty")))


def test_shown_as_text_html_and_in_colour(report: dx.Report) -> None:
    proof = report.certificate
    console = Console(width=200, record=True, force_terminal=False)
    with console.capture() as capture:
        console.print(report)
    for text in (str(report), report._repr_html_(), capture.get()):
        for figure in (f"{proof.value:.3g}", f"{proof.gap:.1e}", "optimal", "private", "points"):
            assert figure in text
        assert f"{proof.value:.8g}" not in text
    for figure in (f"{proof.value:.8g}", f"{proof.bound:.8g}", f"{proof.gap:.2e}", report.route):
        assert figure in report.details()
    assert f"{proof.value:.6g}" in repr(report)


def test_what_is_wanted_and_what_was_proven_of_it_are_lines() -> None:
    report = dx.solve(points().but(objective="worst_loss", delta=0.05))
    lines = dict(report.lines())
    assert lines["problem"] == "points: 9 secrets; least worst loss (distance)"
    assert lines["value"].startswith("Whatever the secret, a report is ")
    assert lines["private"].startswith("ε proven 0.8 per unit of distance (asked 0.8), δ proven 0.0")
    assert "δ proven 0.05 (asked 0.05)" in report.details() and "expected loss  " not in report.details()
    report = dx.solve(points().but(objective=dx.AdversaryError(0.7, "binary"), epsilon=None))
    lines = dict(report.lines())
    assert lines["problem"].endswith("; largest adversary's error (distance)")
    assert lines["private"] == "not asked for"
    assert "while reports cost 0.7 on average (at most 0.7 was allowed)" in lines["value"]
    assert "of at most 0.7" in report.details()


def test_the_short_form_is_ten_lines(report: dx.Report) -> None:
    more = replace(report, evaluation={"worst_loss": 1.5, "utility": 0.25})
    assert dict(more.lines())["measures"] == "worst loss 1.5; utility 0.25"
    beliefs = dx.BeliefPairs.markov("ab", 2, [[0.5, 0.5], [0.5, 0.5]], [1.0, 0.0])
    longest = dx.solve(dx.Problem(dx.line(4), epsilon=1.0, prior=[1, 0, 0, 0], beliefs=beliefs.at(1.0)))
    assert len(longest.lines()) <= 10 < len(longest.details().splitlines())
    assert {"problem", "status", "private", "value", "beliefs"} <= {*dict(longest.lines())}


def test_names_are_not_markup() -> None:
    space = dx.line(2)
    for name in ("a [/] b", "[bold]x", "<b>y</b> & z"):
        problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), name=name)
        report = dx.solve(problem)
        console = Console(width=200, force_terminal=False)
        with console.capture() as capture:
            console.print(report)
        assert name in capture.get()
        assert name in str(report)
        assert "<b>" not in report._repr_html_()


def test_the_table_is_computed_once_and_before_anything_is_written(
    report: dx.Report, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fails(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("dxopt.release.tables.integer_table", fails)
        report.save(folder.with_name("again"))
        with pytest.raises(ZeroDivisionError):
            dx.load(folder).save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert {path.name for path in folder.parent.iterdir()} == {"out", "again"}
    assert isinstance(report.table, dx.IntegerTable)
    free = points().but(objective=dx.AdversaryError(0.7, "binary"), epsilon=None)
    with pytest.raises(dx.UnsupportedError) as caught:
        _ = dx.solve(free).table
    assert caught.value.field == "table"


def test_the_files_of_a_folder_are_its_contents_and_their_digests(report: dx.Report, tmp_path: Path) -> None:
    contents: Contents = {**report.contents(), "parts/000": {"a.txt": "ä\n", "b.bin": b"\0"}}
    assert {path.name for path in save_contents(tmp_path / "out", contents).iterdir()} == {
        *report.contents(),
        "parts",
        "digests.json",
    }
    part = tmp_path / "out" / "parts" / "000"
    assert {path.name: path.read_bytes() for path in part.iterdir() if path.name != "digests.json"} == {
        "a.txt": "ä\n".encode(),
        "b.bin": b"\0",
    }
    digests = json.loads((tmp_path / "out" / "digests.json").read_text(encoding="utf-8"))["sha256"]
    assert set(digests) == {*report.contents(), "parts/000/digests.json"}
