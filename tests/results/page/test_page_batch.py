"""Pages of batches, frontiers and levels, figures, and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.batch.outcome import Done, Line, Outcome
from dxopt.cli.application import app
from dxopt.results.comparison_folder import comparable
from dxopt.results.page import Entry, overview, page, page_of_batch, read, save_page
from dxopt.results.page.overview import families, family_figure
from dxopt.runtime.stopping import Status
from dxopt.words.phrases import level_found
from tests.material.checks import change_claims
from tests.material.pages import EVIL, Parsed, grid


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    for level in (0.5, 1.0, 2.0):
        grid(level, f"grid {level}").save(tmp_path / "batch" / f"grid-{level}")
    return tmp_path / "batch"


def test_a_batch_links_each_result_and_draws_the_family(batch: Path) -> None:
    parsed = Parsed(page_of_batch(read(batch)))
    names = {attributes.get("id") for attributes in parsed.all("details")}
    links = [str(attributes["href"]) for attributes in parsed.all("a")]
    assert links == ["#result-1", "#result-2", "#result-3"] and {link[1:] for link in links} <= names
    told = [text.partition(": ") for text in parsed.texts["title"][1:]]
    optimal = [text for name, _, text in told if name == "optimal"]
    assert optimal == [f"{grid(e, f'grid {e}').certificate.value:.7g} at {e:.6g}" for e in (0.5, 1.0, 2.0)]
    assert "exponential" in {name for name, _, _ in told}


def test_values_at_two_levels_are_not_joined(batch: Path) -> None:
    for count, joined in ((2, False), (3, True)):
        (family,) = families(read(batch)[:count])
        lines = family_figure(family).axes[0].lines
        assert {line.get_linestyle() != "None" for line in lines} == {joined}


def test_a_mechanism_at_two_of_three_levels_is_not_joined() -> None:
    group = [grid(0.5), replace(grid(1.0), comparison=None), grid(2.0)]
    lines = {line.get_label(): line.get_linestyle() != "None" for line in family_figure(group).axes[0].lines}
    assert lines.pop(f"optimal for {EVIL}") is False
    assert lines == {"optimal": True, "exponential": False, "bound on every private mechanism": True}


def test_differences_that_are_rounding_are_not_drawn_as_such() -> None:
    """A bound and a value that are 1e-11 apart lie on each other."""
    axes = family_figure([replace(grid(level), comparison=None) for level in (0.5, 0.5 + 1e-12)]).axes[0]
    low, high = axes.get_ylim()
    assert high - low > 0.005 * high


def test_only_amounts_of_the_same_thing_are_side_by_side() -> None:
    line = dx.line(4)
    people = dx.solve(dx.Problem(line, epsilon=1.0, prior="uniform", name="people"))
    half = dx.solve(dx.Problem(line, epsilon=0.5, prior=[0.4, 0.3, 0.2, 0.1], name="half"))
    assert "Side by side" not in page_of_batch([grid(), people])
    parsed = Parsed(page_of_batch([grid(), people, half]))
    (bars,) = (str(a["aria-label"]) for a in parsed.all("svg") if str(a["aria-label"]).startswith("Expected"))
    assert "people " in bars and "half " in bars and "grid" not in bars


def test_values_without_a_unit_are_side_by_side_only_where_the_losses_are_the_same() -> None:
    """Grids of other spacings have the same labels; matrices of one's own have the same name."""
    near, far = dx.grid((2, 2)), dx.grid((2, 2), spacing=2.0)
    posed = [dx.Problem(space, epsilon=1.0, prior="uniform") for space in (near, far)]
    paid = [dx.Problem(near, epsilon=1.0, prior="uniform", loss=factor * posed[0].losses) for factor in (1, 3)]
    guessed = [dx.AdversaryError(max_loss=0.5, adversary_loss=factor * posed[0].losses) for factor in (1, 3)]
    fooled = [dx.Problem(near, epsilon=1.0, prior="uniform", objective=wanted) for wanted in guessed]
    for first, second in (posed, paid, fooled):
        assert not comparable(first, second) and comparable(first, first.but(epsilon=0.5))
    metres = dx.Problem(dx.grid((2, 2), unit="m"), epsilon=1.0, prior="uniform")
    kilometres = dx.Problem(dx.grid((2, 2), unit="km"), epsilon=1.0, prior="uniform")
    assert comparable(metres, dx.Problem(dx.grid((3, 1), unit="m"), epsilon=1.0, prior="uniform"))
    assert not comparable(metres, kilometres)
    assert not comparable(metres, metres.but(objective="worst_loss"))


def test_what_stands_against_epsilon_is_not_shown_twice() -> None:
    words = Parsed(page_of_batch([grid(), grid(2.0)])).words
    assert "Against ε" in words and "Side by side" not in words


def test_problems_in_other_units_or_of_other_losses_are_no_family() -> None:
    square = dx.grid((2, 2), unit="km")
    asked = dx.Problem(square, epsilon=1.0, prior="uniform")
    others = [
        dx.Problem(dx.grid((2, 2), unit="m"), epsilon=2.0, prior="uniform"),
        asked.but(epsilon=2.0, loss=3 * asked.losses),
        asked.but(epsilon=2.0, objective="worst_loss"),
    ]
    for other in others:
        assert families([Entry.of(dx.solve(one)) for one in (asked, other)]) == []
    assert len(families([Entry.of(dx.solve(one)) for one in (asked, asked.but(epsilon=2.0))])) == 1


def test_further_charts_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "MOST_CHARTS", 1)
    priors = ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], "uniform")
    posed = [dx.Problem(dx.line(3), epsilon=level, prior=prior) for prior in priors for level in (0.5, 1.0)]
    parsed = Parsed(page_of_batch([dx.solve(problem) for problem in posed]))
    assert "2 more charts" in parsed.texts["summary"]


def test_the_only_result_is_unfolded() -> None:
    def folds(answers: list[dx.Report]) -> list[bool]:
        parts = Parsed(page_of_batch(answers)).all("details")
        return ["open" in part for part in parts if part.get("class") == "result"]

    assert folds([grid()]) == [True] and folds([grid(), grid(2.0)]) == [False, False]


@pytest.mark.parametrize(
    ("space", "picture"),
    [
        (dx.grid((2, 2)), "map"),
        (dx.line(3), "chart"),
        (dx.MetricSpace.from_distances([[0, 1, 1], [1, 0, 1], [1, 1, 0]]), "heat"),
    ],
)
def test_a_picture_stands_before_the_numbers(space: dx.MetricSpace, picture: str) -> None:
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior="uniform"))
    for text in (page(report), page_of_batch([report])):
        kinds = [str(attributes.get("class")) for tag, attributes in Parsed(text).elements if tag in ("figure", "dl")]
        assert kinds[:2] == [picture, "figures"]


def test_factors_are_never_told_as_less_than_they_are() -> None:
    """e^0.2 is 1.2214, and e^0.7 is 2.0138."""
    words = Parsed(page_of_batch([grid(0.2), grid(0.7)])).words
    assert "1.23" in words and "2.02" in words
    assert "1.22" not in words and "2.01 " not in words
    assert "a factor of 1.23" in Parsed(page(grid(0.2))).words


def test_a_level_and_the_one_below_that_is_too_low_are_told_apart() -> None:
    told = level_found(2.0, 0.37412, 0.37443, "optimal")
    assert "ε 0.3745 per unit" in told and "not at 0.3741" in told


def test_problems_of_other_priors_are_no_family() -> None:
    other = dx.solve(grid().problem.but(prior=dx.Prior.uniform(grid().problem.space), epsilon=2.0))
    assert "Against ε" not in page_of_batch([grid(), other])
    assert "Against ε" in page_of_batch([grid(), grid(2.0)])


def test_a_result_that_does_not_hold_says_so_and_the_others_are_there(batch: Path) -> None:
    value = dx.load(batch / "grid-1.0").certificate.value
    change_claims(batch / "grid-1.0", value=value - 0.01)
    entries = read(batch)
    assert [entry.status for entry in entries] == ["optimal", "not proven", "optimal"]
    words = Parsed(page_of_batch(entries)).words
    assert "Not proven: " in words and "claims.json: certificate.value" in words
    with pytest.raises(dx.CertificateError):
        read(batch / "grid-1.0")


def test_problems_that_failed_are_listed(batch: Path) -> None:
    """Each with its own reason: the name of one may begin that of another."""
    reasons = {"town": "town: out of memory", "town-2": "town-2: too slow\ntwice"}
    lines = {name: Line(name, status="failed", delivered=False) for name in reasons}
    done = [Done(lines[name], reason) for name, reason in reasons.items()]
    Outcome.of([*done, Done(Line("grid", folder="grid-1.0"))]).save(batch)
    found = [(entry.name, entry.status, entry.reason) for entry in read(batch)[-2:]]
    assert found == [("town", "failed", "town: out of memory"), ("town-2", "failed", "town-2: too slow twice")]


def test_a_batch_opens_on_what_failed() -> None:
    stopped = replace(grid(2.0), status=Status.TIME_LIMIT, problem=grid(2.0).problem.but(name="slow"))
    free = grid().problem.but(epsilon=None, objective=dx.AdversaryError(max_loss=0.5), name="free")
    answers = [grid(), stopped, Entry("bad", failure="failed", reason="out of memory"), dx.solve(free)]
    parsed = Parsed(page_of_batch(answers))
    assert parsed.texts["h1"] == ["4 results: 2 optimal, 1 time limit, 1 failed"]
    assert "bad: failed: out of memory" in parsed.texts["li"]
    (slow,) = (text for text in parsed.texts["li"] if text.startswith("slow: time limit"))
    assert "more time may close that gap" in slow
    assert [text for text in parsed.texts["td"] if text in ("proven", "not asked")] == ["proven"] * 2 + ["not asked"]
    assert parsed.texts["figcaption"][:1] == ["grid to slow: expected loss at 2 levels"]
    named = Parsed(page_of_batch(answers, title="Lyon"))
    assert named.texts["h1"] == ["Lyon"] and "4 results: 2 optimal" in named.texts["header"][0]


def test_frontiers_and_levels_are_shown(tmp_path: Path) -> None:
    problem = grid().problem
    dx.frontier(problem, 0.5, 2.0, resolution=0.3).save(tmp_path / "a-frontier")
    level = dx.smallest_epsilon(problem, 0.8, accuracy=1e-3)
    level.save(tmp_path / "b-level")
    frontier, found = read(tmp_path)
    assert frontier.frontier is not None
    parsed = Parsed(page_of_batch([frontier, found]))
    assert str(level) in parsed.words
    assert len([a for a in parsed.all("figure") if a["class"] == "chart"]) == 1
    assert "0.5 to 2" in parsed.words and "lies within the shaded band: proven" in parsed.words
    keys = [cell.get("data-key") for cell in parsed.all("td")]
    assert all(repr(value) in keys for value in frontier.frontier.values)


@pytest.mark.parametrize(
    ("changes", "entry"),
    [
        ({"objective": "least harm"}, ": objective"),
        ({"status": None}, ": status"),
        ({"values": [1.0]}, ""),
        ({"epsilons": ["low", "high"]}, ": epsilons.0"),
    ],
)
def test_a_damaged_frontier_says_where(changes: dict[str, Any], entry: str, tmp_path: Path) -> None:
    shown = {"format": 2, "problem": "a", "objective": "worst_loss", "status": "optimal", "resolution": 0.1}
    shown |= {"wanted": 0.1}
    lists = {"epsilons": [1.0, 2.0], "values": [3.0, 2.0], "bounds": [2.0, 1.0]}
    file = tmp_path / "out" / "frontier.json"
    file.parent.mkdir()
    file.write_text(json.dumps(shown | lists), encoding="utf-8")
    assert "Worst loss against" in page_of_batch(read(file.parent))
    file.write_text(json.dumps(shown | lists | changes), encoding="utf-8")
    with pytest.raises(dx.SpecError) as refused:
        read(file.parent)
    assert refused.value.field == f"frontier.json{entry}"


def test_the_command_writes_the_page_and_figures(batch: Path, tmp_path: Path) -> None:
    ran = CliRunner().invoke(app, ["report", str(batch)])
    assert ran.exit_code == 0 and ran.output.strip() == str(batch / "report.html")
    assert (batch / "report.html").read_text(encoding="utf-8") == page_of_batch(read(batch))
    page_file = tmp_path / "new" / "one.html"
    ran = CliRunner().invoke(app, ["report", str(batch / "grid-1.0"), "-o", str(page_file), "--figures"])
    assert ran.exit_code == 0
    assert page_file.read_text(encoding="utf-8") == page(read(batch / "grid-1.0")[0])
    assert sorted(path.name for path in (tmp_path / "new" / "figures").iterdir()) == [
        "grid-1.0-channel.png",
        "grid-1.0-channel.svg",
        "grid-1.0-comparison.png",
        "grid-1.0-comparison.svg",
        "grid-1.0-map.png",
        "grid-1.0-map.svg",
    ]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["figures", "one.html"]


def test_the_family_is_a_figure_for_papers(batch: Path) -> None:
    written = save_page(batch, batch / "report.html", figures=True)
    assert {"against-epsilon-1.svg", "against-epsilon-1.png"} <= {path.name for path in written}


def test_sweeps_and_comparisons_are_figures_for_papers(tmp_path: Path) -> None:
    problem = dx.Problem(dx.line(3), epsilon=1.0, prior=dx.Prior.uniform(dx.line(3)), name="line")
    dx.sweep(problem, [0.5, 1.0], ["exponential"]).save(tmp_path / "all" / "sweep")
    compared = replace(dx.solve(problem), comparison=dx.compare(problem, ["exponential"]))
    compared.save(tmp_path / "all" / "line")
    written = save_page(tmp_path / "all", tmp_path / "page.html", figures=True)
    names = {path.name for path in written}
    assert {
        f"{name}.{ending}" for name in ("1-line-comparison", "2-line-sweep") for ending in ("svg", "png")
    } <= names


def test_a_page_does_not_outlive_its_result(tmp_path: Path) -> None:
    grid().save(tmp_path / "grid")
    (tmp_path / "grid" / "notes.txt").write_text("mine", encoding="utf-8")
    assert CliRunner().invoke(app, ["report", str(tmp_path / "grid")]).exit_code == 0
    assert (tmp_path / "grid" / "report.html").is_file()
    grid(2.0).save(tmp_path / "grid")
    assert not (tmp_path / "grid" / "report.html").exists()
    assert (tmp_path / "grid" / "notes.txt").is_file()


def test_what_cannot_be_shown_or_written_is_one_line(batch: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments in (["nowhere"], ["empty"], ["batch", "-o", "batch/grid-1.0"]):
        given = [part if part.startswith("-") else str(tmp_path / part) for part in arguments]
        ran = CliRunner().invoke(app, ["report", *given])
        assert ran.exit_code == 2 and len(ran.output.splitlines()) == 1
    assert not [path for path in batch.iterdir() if path.name.startswith(".")]
