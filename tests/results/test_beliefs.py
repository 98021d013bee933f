"""What a report and its page say of pairs of beliefs, and do not say."""

from __future__ import annotations

from pathlib import Path

import dxopt as dx
from dxopt.results.page.document import save_page
from dxopt.results.page.words import certificate_section, headline
from tests.material.believed import believed, trace


def test_a_report_says_for_which_beliefs() -> None:
    text = str(dx.solve(trace()))
    assert "for pairs of beliefs alone, see there" in text
    assert "ε proven 1.098612289 (asked 1.098612289), 6 ordered pairs: at home against at work, time 0" in text
    assert "proven, epsilon inf" not in text


def test_the_page_promises_what_was_proven_and_no_more() -> None:
    report = dx.solve(trace())
    words = str(certificate_section(report))
    assert headline(report).startswith("Proven private for 6 pairs of beliefs and optimal")
    assert "For the pairs of beliefs below, and for nothing else." in words
    assert "Nobody who holds one of these beliefs can change the odds" in words
    assert "a factor of 3," in words
    assert "Nothing is promised against anybody who believes something else." in words
    assert "For any two secrets" not in words


def test_both_promises_beside_each_other() -> None:
    report = dx.solve(believed(1, private=True))
    words = str(certificate_section(report))
    assert "For any two secrets" in words
    assert "e^(εd), which is a factor of" in words
    assert "Nothing is promised" not in words


def test_what_was_left_out_is_told() -> None:
    pairs = dx.BeliefPairs.markov("ab", 2, [[0.5, 0.5], [0.5, 0.5]], [1.0, 0.0])
    space = dx.line(4)
    report = dx.solve(dx.Problem(space, epsilon=None, prior="uniform", beliefs=pairs.at(1.0)))
    assert "1 left out, as at a against at b, time 0: at b has probability 0" in report.details()
    assert "Left out are 1 that nobody deems possible: at a against at b, time 0" in str(certificate_section(report))


def test_the_page_shows_the_level(tmp_path: Path) -> None:
    folder = dx.solve(trace()).save(tmp_path / "trace")
    save_page(folder, folder / "report.html")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "ε proven for beliefs" in page
    assert "for 6 ordered pairs of beliefs" in page
