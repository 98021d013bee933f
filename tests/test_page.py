"""Pages that say what the report says, escape what they are given, and need nothing but themselves."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli import app
from dxopt.program import Status
from dxopt.report.page import Entry, page, page_of_batch, read, save_page
from dxopt.report.page.channels import CELLS, expected_losses, packed
from dxopt.report.page.curves import stairs

EVIL = "<script>alert('&\"')</script>"
VOID = {"meta", "link", "input", "br"}


class Parsed(HTMLParser):
    """Elements with attributes, their text, and whether all of them were closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self) -> str:
        return " ".join(self.texts["main"][0].split())

    @property
    def channels(self) -> dict[str, Any]:
        (place,) = (k for k, a in enumerate(self.all("script")) if a.get("id") == "channels")
        return json.loads(self.texts["script"][place])


@cache
def grid(epsilon: float = 1.0, name: str = "grid") -> dx.Report:
    points = [[i, j] for i in range(3) for j in range(2)]
    space = dx.MetricSpace.from_points(points, "manhattan", labels=[EVIL, *"bcdef"])
    prior = dx.Prior.from_weights(space, [1, 2, 3, 4, 5, 6])
    problem = dx.Problem(space, epsilon=epsilon, prior=prior, name=name)
    report = dx.solve(problem)
    compared = dx.compare(problem, ["exponential"], priors={EVIL: dx.Prior.uniform(space)}, reference=report)
    worst = dx.evaluate.worst_loss(report.mechanism, problem.loss)
    return replace(report, comparison=compared, evaluation={"worst_loss": worst})


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    for level in (0.5, 1.0, 2.0):
        grid(level, f"grid {level}").save(tmp_path / "batch" / f"grid-{level}")
    return tmp_path / "batch"


def test_a_page_is_well_formed_and_fetches_nothing() -> None:
    for text in (page(grid()), page_of_batch([grid(0.5), grid(1.0)])):
        parsed = Parsed(text)
        assert not parsed.open
        assert not re.search(r"https?:|//[a-z]|url\(|@import|fetch\(|XMLHttp", text)
        named = [a.get("src") or a.get("href") for _, a in parsed.elements if "src" in a or "href" in a]
        assert named and all(link and (link == "data:," or link.startswith("#")) for link in named)
        policies = [a["content"] for a in parsed.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
        assert len(policies) == 1 and str(policies[0]).startswith("default-src 'none'")


def test_every_name_is_escaped() -> None:
    report = replace(grid(), route=EVIL, refused={EVIL: EVIL}, problem=grid().problem.but(name=EVIL))
    parsed = Parsed(page_of_batch([report, Entry(EVIL, failure=EVIL, reason=EVIL)], title=EVIL))
    assert not parsed.open
    assert len(parsed.all("script")) == 2
    assert parsed.texts["title"] == [EVIL]
    assert any(str(canvas["aria-label"]).startswith(f"Map of {EVIL}: arrow") for canvas in parsed.all("canvas"))
    assert parsed.channels["result-1"]["secrets"][0] == EVIL


def test_numbers_are_those_of_the_report() -> None:
    report = grid()
    proof, parsed = report.certificate, Parsed(page(grid()))
    for said in (
        f"The expected loss is {proof.value:.10g}",
        f"smaller expected loss than {proof.bound:.10g}",
        f"differ by {proof.gap:.2e}",
        f"ε = {proof.epsilon:.10g} per unit",
        "at most eεd times",
        report.route,
        "NumPy's exp and log",
        "SciPy's Fourier",
    ):
        assert said in parsed.words
    keys = [float(str(cell["data-key"])) for cell in parsed.all("td") if "data-key" in cell]
    assert report.comparison is not None
    for row in report.comparison.rows:
        for number in (row.value, row.excess, row.remapped, row.leakage, *row.under.values()):
            assert number is not None and number in keys
    assert report.evaluation["worst_loss"] in keys


def test_the_words_fit_what_was_not_proven() -> None:
    feasible = replace(grid(), status=Status.FEASIBLE)
    words = Parsed(page(feasible)).words
    assert "Proven private, but not optimal (feasible)" in words and "a better one may exist" in words
    space = dx.MetricSpace.from_points([0.0, 1.0, 2.0])
    free = dx.Problem(space, epsilon=None, prior=dx.Prior.uniform(space), objective=dx.AdversaryError(max_loss=0.5))
    words = Parsed(page(dx.solve(free))).words
    assert "None was asked for" in words and "larger adversary's error than" in words and "at most 0.5" in words


def test_a_relaxed_level_says_what_delta_is() -> None:
    report = dx.solve(grid().problem.but(delta=0.05))
    words = Parsed(page(report)).words
    assert f"δ = {report.certificate.delta:.6g}; a δ of 0.05 was allowed" in words


def test_the_channel_prior_and_losses_are_those_of_the_report() -> None:
    report = grid()
    content = Parsed(page(report)).channels["result-1"]
    matrix = np.frombuffer(base64.b64decode(content["channel"]), "<f4").reshape(6, 6)
    np.testing.assert_allclose(matrix, report.mechanism.matrix, rtol=1e-7, atol=1e-37)
    assert content["prior"] == report.problem.prior.probabilities.tolist()
    assert content["reports"] is None
    np.testing.assert_allclose(content["losses"], (report.mechanism.matrix * report.problem.losses).sum(axis=1))


def test_what_is_positive_stays_so_in_32_bits() -> None:
    matrix = np.frombuffer(base64.b64decode(packed(np.array([[1e-300, 0.0], [5e-324, 1.0]]))), "<f4")
    assert (matrix > 0).tolist() == [True, False, True, True]


def test_infinite_losses_of_reports_that_never_come_cost_nothing() -> None:
    space = dx.MetricSpace.from_points([0.0, 1.0])
    report = dx.solve(
        dx.Problem(space, epsilon=1.0, prior=dx.Prior.from_weights(space, [1, 0]), loss=[[0, 1], [np.inf, 0]])
    )
    never = replace(report, mechanism=dx.Mechanism.from_matrix(space, [[1, 0], [0, 1]]))
    assert expected_losses(never) == [0.0, 0.0]
    assert Parsed(page(replace(report, mechanism=dx.Mechanism.from_matrix(space, [[1, 0], [1, 0]])))).channels[
        "result-1"
    ]["losses"] == [0.0, None]


def test_maps_are_true_to_scale() -> None:
    plane = Parsed(page(grid())).channels["result-1"]["plane"]
    assert plane["unit"] == "" and plane["size"] == 2.0
    assert plane["secrets"] == [[i / 2, j / 2] for i in range(3) for j in range(2)]
    towns = dx.MetricSpace.from_points([[45.0, 179.9], [45.0, -179.9], [45.2, -179.9]], "haversine")
    found = Parsed(page(dx.solve(dx.Problem(towns, epsilon=0.1, prior=dx.Prior.uniform(towns)))))
    plane = found.channels["result-1"]["plane"]
    places = plane["size"] * np.array(plane["secrets"])
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    assert plane["unit"] == "km"
    np.testing.assert_allclose(apart, towns.distances, rtol=3e-3, atol=1e-3)
    assert places[1, 0] > places[0, 0] and places[2, 1] > places[1, 1]


def test_a_line_has_a_heat_map_and_no_map() -> None:
    space = dx.MetricSpace.from_points([0.0, 1.0, 2.0])
    parsed = Parsed(page(dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)))))
    assert [a["class"] for a in parsed.all("figure")] == ["heat"]
    assert parsed.channels["result-1"]["plane"] is None


def test_controls_have_names() -> None:
    parsed = Parsed(page_of_batch([grid(0.5), grid(1.0)]))
    for canvas in parsed.all("canvas"):
        assert canvas["aria-label"] and canvas["tabindex"] == "0"
        assert canvas["aria-describedby"] in {attributes.get("id") for _, attributes in parsed.elements}
    assert all(text.strip() for text in parsed.texts["button"])
    heads = [attributes for attributes in parsed.all("th") if attributes.get("scope") == "col"]
    assert heads and all(head["aria-sort"] == "none" for head in heads)
    assert all(
        a.get("role") == "img" and a.get("aria-label") for a in parsed.all("svg") if a.get("class") != "swatch"
    )


def test_large_channels_are_left_out_of_a_page_and_it_says_so() -> None:
    space = dx.MetricSpace.from_points(np.arange(801.0))
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)))
    assert len(report.mechanism.space) ** 2 > CELLS
    text = page_of_batch([report, grid()])
    assert "matrix" not in vars(report.mechanism) and len(text) < 100_000
    parsed = Parsed(text)
    assert list(parsed.channels) == ["result-2"]
    assert "801 secrets and 801 reports is too large" in parsed.words


def test_channels_of_a_batch_share_the_room_of_one() -> None:
    space = dx.MetricSpace.from_points(np.arange(601.0))
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)))
    text = page_of_batch([report, report, grid()])
    assert list(Parsed(text).channels) == ["result-1", "result-3"] and len(text.encode()) < 5_000_000


def test_what_is_infinite_is_left_out_of_charts_and_is_no_key() -> None:
    shown = {"objective": "expected_loss", "status": "feasible", "resolution": None, "epsilons": [1.0, 2.0, 3.0]}
    entry = Entry("a", frontier={**shown, "values": [3.0, 2.0, 1.0], "bounds": [2.0, None, 0.5]})
    parsed = Parsed(page(entry))
    (told,) = (str(drawn["aria-label"]) for drawn in parsed.all("svg") if "aria-label" in drawn)
    assert "possible goes from 3 at 1 to 1 at 3; bound: proven goes from 2 at 1 to 0.5 at 3" in told
    assert not parsed.all("polygon")
    assert "polygon" in page(Entry("a", frontier={**shown, "values": [3.0, 2.0, 1.0], "bounds": [2.0, 1.0, 0.5]}))
    unbounded = replace(grid().certificate, bound=-np.inf, gap=np.inf)
    texts = page_of_batch([replace(grid(), certificate=unbounded), grid(2.0)])
    assert 'data-key="inf"' not in texts and 'data-key="-inf"' not in texts and "nan" not in texts.split("<script")[0]


def test_a_batch_links_each_result_and_draws_the_family(batch: Path) -> None:
    parsed = Parsed(page_of_batch(read(batch)))
    names = {attributes.get("id") for attributes in parsed.all("details")}
    links = [str(attributes["href"]) for attributes in parsed.all("a")]
    assert links == ["#result-1", "#result-2", "#result-3"] and {link[1:] for link in links} <= names
    told = [text for text in parsed.texts["title"] if text.startswith("optimal: ")]
    assert told == [f"optimal: {grid(e, f'grid {e}').certificate.value:.7g} at {e:.6g}" for e in (0.5, 1.0, 2.0)]
    assert any(text.startswith("exponential: ") for text in parsed.texts["title"])


def test_problems_of_other_priors_are_no_family() -> None:
    other = dx.solve(grid().problem.but(prior=dx.Prior.uniform(grid().problem.space), epsilon=2.0))
    assert "Against ε" not in page_of_batch([grid(), other])
    assert "Against ε" in page_of_batch([grid(), grid(2.0)])


def test_a_result_that_does_not_hold_says_so_and_the_others_are_there(batch: Path) -> None:
    file = batch / "grid-1.0" / "certificate.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**content, "value": content["value"] - 0.01}), encoding="utf-8")
    entries = read(batch)
    assert [entry.status for entry in entries] == ["optimal", "not proven", "optimal"]
    words = Parsed(page_of_batch(entries)).words
    assert "Not proven: value is" in words
    with pytest.raises(dx.CertificateError):
        read(batch / "grid-1.0")


def test_problems_that_failed_are_listed(batch: Path) -> None:
    lines = [{"problem": "bad", "folder": "", "status": "failed"}, {"problem": "grid", "folder": "g", "status": "x"}]
    summary = {"problems": lines, "errors": ["bad: out of memory"]}
    (batch / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    entry = read(batch)[-1]
    assert (entry.name, entry.status, entry.reason) == ("bad", "failed", "bad: out of memory")


def test_frontiers_and_levels_are_shown(tmp_path: Path) -> None:
    problem = grid().problem
    dx.frontier(problem, 0.5, 2.0, resolution=0.3).save(tmp_path / "a-frontier")
    level = dx.smallest_epsilon(problem, 0.8, accuracy=1e-3)
    level.save(tmp_path / "b-level")
    frontier, found = read(tmp_path)
    parsed = Parsed(page_of_batch([frontier, found]))
    assert f"At ε = {level.epsilon:.10g} a loss of at most 0.8 is possible" in parsed.words
    assert len([a for a in parsed.all("figure") if a["class"] == "chart"]) == 1
    assert "0.5 to 2" in parsed.words and "lies within the shaded band: proven" in parsed.words
    keys = [cell.get("data-key") for cell in parsed.all("td")]
    assert all(repr(value) in keys for value in frontier.frontier["values"])


def test_stairs_hold_the_value_before_or_the_bound_after() -> None:
    assert stairs([1, 2, 3], [9, 8, 7], ahead=False) == ([1, 2, 2, 3], [9, 9, 8, 8])
    assert stairs([1, 2, 3], [9, 8, 7], ahead=True) == ([1, 2, 2, 3], [8, 8, 7, 7])


def test_the_command_writes_the_page_and_figures(batch: Path, tmp_path: Path) -> None:
    ran = CliRunner().invoke(app, ["report", str(batch)])
    assert ran.exit_code == 0 and ran.output.strip() == str(batch / "report.html")
    assert (batch / "report.html").read_text(encoding="utf-8") == page_of_batch(read(batch), title="batch")
    page_file = tmp_path / "new" / "one.html"
    ran = CliRunner().invoke(app, ["report", str(batch / "grid-1.0"), "-o", str(page_file), "--figures"])
    assert ran.exit_code == 0
    assert page_file.read_text(encoding="utf-8") == page(read(batch / "grid-1.0")[0])
    assert sorted(path.name for path in (tmp_path / "new" / "figures").iterdir()) == [
        "grid-1.0-channel.png",
        "grid-1.0-channel.svg",
    ]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["figures", "one.html"]


def test_the_family_is_a_figure_for_papers(batch: Path) -> None:
    written = save_page(batch, batch / "report.html", figures=True)
    assert {"against-epsilon-1.svg", "against-epsilon-1.png"} <= {path.name for path in written}


def test_what_cannot_be_shown_or_written_is_one_line(batch: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments in (["nowhere"], ["empty"], ["batch", "-o", "batch/grid-1.0"]):
        given = [part if part.startswith("-") else str(tmp_path / part) for part in arguments]
        ran = CliRunner().invoke(app, ["report", *given])
        assert ran.exit_code == 2 and len(ran.output.splitlines()) == 1
    assert not [path for path in batch.iterdir() if path.name.startswith(".")]
