"""Pages that show what the report states, escape what they are given, and need nothing but themselves."""

from __future__ import annotations

import base64
import re
from dataclasses import replace

import numpy as np
import pytest

import dxopt as dx
from dxopt.results.claims import FrontierFile
from dxopt.results.page import Entry, page, page_of_batch
from dxopt.results.page.channels import CELLS, as_base64
from dxopt.results.page.markup import number
from dxopt.runtime.stopping import Status
from tests.material.pages import EVIL, Parsed, grid


def test_a_page_is_well_formed_and_fetches_nothing() -> None:
    for text in (page(grid()), page_of_batch([grid(0.5), grid(1.0)])):
        parsed = Parsed(text)
        assert not parsed.open
        assert not re.search(r"https?:|//[a-z]|url\((?!#)|@import|fetch\(|XMLHttp", text)
        named = [a.get("src") or a.get("href") for _, a in parsed.elements if "src" in a or "href" in a]
        assert named and all(link and (link == "data:," or link.startswith("#")) for link in named)
        policies = [a["content"] for a in parsed.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
        assert len(policies) == 1 and str(policies[0]).startswith("default-src 'none'")


def test_every_name_is_escaped() -> None:
    report = replace(grid(), route=EVIL, refused={EVIL: EVIL}, problem=grid().problem.but(name=EVIL))
    parsed = Parsed(page_of_batch([report, Entry(EVIL, failure=EVIL, reason=EVIL)], title=EVIL))
    assert not parsed.open
    assert len(parsed.all("script")) == 2
    assert parsed.texts["title"][0] == EVIL
    assert any(str(canvas["aria-label"]).startswith(f"Map of {EVIL}: arrow") for canvas in parsed.all("canvas"))
    assert parsed.channels["result-1"]["secrets"][0] == EVIL


def test_numbers_are_those_of_the_report() -> None:
    report = grid()
    proof = report.certificate
    parsed = Parsed(page(grid()))
    for sentence in (
        f"ε proven {proof.epsilon:.10g} per unit",
        "at most eεd times",
        report.route,
        "NumPy's exp and log",
    ):
        assert sentence in parsed.words
    exact = {float(str(data["value"])) for data in parsed.all("data")}
    assert {proof.value, proof.bound, proof.gap} <= exact
    assert all(data["title"] == data["value"] for data in parsed.all("data"))
    keys = [float(str(cell["data-key"])) for cell in parsed.all("td") if "data-key" in cell]
    assert report.comparison is not None
    for row in report.comparison.rows:
        for figure in (row.value, row.excess, row.remapped, row.leakage, *row.under.values()):
            assert figure is not None and figure in keys
    assert report.evaluation["worst_loss"] in keys


def test_the_words_fit_what_was_not_proven() -> None:
    feasible = replace(grid(), status=Status.FEASIBLE)
    words = Parsed(page(feasible)).words
    assert "Proven private, but not optimal (feasible)" in words
    space = dx.MetricSpace.from_points([0.0, 1.0, 2.0])
    free = dx.Problem(space, epsilon=None, prior=dx.Prior.uniform(space), objective=dx.AdversaryError(max_loss=0.5))
    words = Parsed(page(dx.solve(free))).words
    assert "None was asked for" in words and "at most 0.5" in words


def test_a_relaxed_level_says_what_delta_is() -> None:
    report = dx.solve(grid().problem.but(delta=0.05))
    words = Parsed(page(report)).words
    assert f"δ proven {report.certificate.delta:.6g} (asked 0.05)" in words


def test_the_channel_prior_and_losses_are_those_of_the_report() -> None:
    report = grid()
    content = Parsed(page(report)).channels["result-1"]
    matrix = np.frombuffer(base64.b64decode(content["channel"]), "<f4").reshape(6, 6)
    np.testing.assert_allclose(matrix, report.mechanism.matrix, rtol=1e-7, atol=1e-37)
    assert content["prior"] == report.problem.prior.probabilities.tolist()
    assert content["reports"] is None
    np.testing.assert_allclose(content["losses"], (report.mechanism.matrix * report.problem.losses).sum(axis=1))


def test_what_is_positive_stays_so_in_32_bits() -> None:
    matrix = np.frombuffer(base64.b64decode(as_base64(np.array([[1e-300, 0.0], [5e-324, 1.0]]))), "<f4")
    assert (matrix > 0).tolist() == [True, False, True, True]


def test_infinite_losses_of_reports_that_never_come_cost_nothing() -> None:
    space = dx.MetricSpace.from_points([0.0, 1.0])
    report = dx.solve(
        dx.Problem(space, epsilon=1.0, prior=dx.Prior.from_weights(space, [1, 0]), loss=[[0, 1], [np.inf, 0]])
    )
    never = replace(report, mechanism=dx.Mechanism.from_matrix(space, [[1, 0], [0, 1]]))
    assert never.mechanism.losses(never.problem.loss).tolist() == [0.0, 0.0]
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
    points = plane["size"] * np.array(plane["secrets"])
    apart = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    assert plane["unit"] == "km"
    np.testing.assert_allclose(apart, towns.distances, rtol=3e-3, atol=1e-3)
    assert points[1, 0] > points[0, 0] and points[2, 1] > points[1, 1]


def test_numbers_have_three_digits_and_all_of_them_on_demand() -> None:
    assert number(2.345678, "km") == '<data value="2.345678" title="2.345678">2.35</data> km'
    assert number(3.0, "<b>") == "3 &lt;b&gt;" and number(np.inf) == "infinite"


def test_plain_words_come_first() -> None:
    report = grid()
    parsed = Parsed(page(report))
    (_, promise), *others = report.explanation.sentences
    assert promise in parsed.words and parsed.words.index(promise) == 0
    assert all(text in parsed.words for _, text in others)
    assert {topic for topic, _ in others} <= set(parsed.texts["dt"])


def test_caveats_stand_where_they_apply() -> None:
    space = dx.torus((5, 5))
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)), method="tight")
    assert "Fourier" not in Parsed(page(report)).words
    kernel = dx.tight_constraints(space, 1.0)
    assert "Fourier" in Parsed(page(replace(report, mechanism=kernel))).words


def test_published_counts_are_drawn_against_true_ones() -> None:
    space = dx.line(4)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
    rows = [[0.9, 0.1, 0, 0], [0.3, 0.3, 0.4, 0], [0, 0, 1, 0], [0.03, 0.22, 0.25, 0.5]]
    report = replace(dx.solve(problem), mechanism=dx.Mechanism.from_matrix(space, rows))
    parsed = Parsed(page(report))
    (told,) = (str(image["aria-label"]) for image in parsed.all("svg"))
    assert told.startswith("What is published of each true value")
    assert "median goes from 0 at 0 to 2 at 3; mean" in told and "goes from 0 at 0 to -1 at 3" in told
    keys = [float(str(cell["data-key"])) for cell in parsed.all("td") if "data-key" in cell]
    mean = 3 * 0.5 + 2 * 0.25 + 0.22
    assert [mean, 2.0, 1.0, 3.0, 0.0, 3.0] == pytest.approx(keys[18:24])


def test_a_line_has_charts_and_a_heat_map_and_no_map() -> None:
    space = dx.MetricSpace.from_points([0.0, 1.0, 2.0])
    parsed = Parsed(page(dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)))))
    assert [a["class"] for a in parsed.all("figure")] == ["chart", "heat"]
    assert parsed.channels["result-1"]["plane"] is None


def test_controls_have_names() -> None:
    parsed = Parsed(page_of_batch([grid(0.5), grid(1.0)]))
    for canvas in parsed.all("canvas"):
        assert canvas["aria-label"] and canvas["tabindex"] == "0"
        assert canvas["aria-describedby"] in {attributes.get("id") for _, attributes in parsed.elements}
    assert all(text.strip() for text in parsed.texts["button"])
    heads = [attributes for attributes in parsed.all("th") if attributes.get("scope") == "col"]
    assert heads and all(head["aria-sort"] == "none" for head in heads)
    assert all(a.get("role") == "img" and a.get("aria-label") for a in parsed.all("svg"))


def test_figures_follow_the_colours_of_the_page_and_share_no_names() -> None:
    parsed = Parsed(page_of_batch([grid(0.5), grid(1.0), grid(0.5)]))
    assert len(parsed.all("svg")) >= 4
    styles = " ".join(str(a.get("style", "")) for _, a in parsed.elements)
    assert {f"var(--{name})" for name in ("c0", "c4", "c5", "ink")} <= set(re.findall(r"var\(--\w+\)", styles))
    assert not re.search("#(0072b2|000000|ffffff)", styles)
    names = [str(a["id"]) for _, a in parsed.elements if "id" in a]
    assert len(names) == len({*names})
    used = {
        found for _, a in parsed.elements for text in a.values() for found in re.findall(r"#([\w-]+)", text or "")
    }
    assert used <= {*names}


def test_large_channels_are_left_out_of_a_page_and_it_says_so() -> None:
    space = dx.MetricSpace.from_points(np.arange(801.0))
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)))
    assert len(report.mechanism.space) ** 2 > CELLS
    text = page_of_batch([report, grid()])
    assert "matrix" not in vars(report.mechanism) and len(text) < 200_000
    parsed = Parsed(text)
    assert list(parsed.channels) == ["result-2"]
    assert "801 secrets and 801 reports is too large" in parsed.words


def test_channels_of_a_batch_share_the_room_of_one() -> None:
    space = dx.MetricSpace.from_points(np.arange(601.0))
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)))
    text = page_of_batch([report, report, grid()])
    assert list(Parsed(text).channels) == ["result-1", "result-3"] and len(text.encode()) < 5_000_000


def test_what_is_infinite_is_left_out_of_charts_and_is_no_key() -> None:
    found = FrontierFile(
        format=2,
        problem="a",
        objective="expected_loss",
        status="feasible",
        wanted=0.1,
        resolution=None,
        epsilons=[1.0, 2.0, 3.0],
        values=[3.0, 2.0, 1.0],
        bounds=[2.0, None, 0.5],
    )
    parsed = Parsed(page(Entry("a", frontier=found)))
    (described,) = (str(drawn["aria-label"]) for drawn in parsed.all("svg"))
    assert "possible goes from 3 at 1 to 1 at 3; bound: proven goes from 2 at 1 to 0.5 at 3" in described
    unbounded = replace(grid().certificate, bound=-np.inf, gap=np.inf)
    texts = page_of_batch([replace(grid(), certificate=unbounded), grid(2.0)])
    assert 'data-key="inf"' not in texts and 'data-key="-inf"' not in texts and "nan" not in texts.split("<script")[0]
