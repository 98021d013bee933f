"""Words in problem files: the space of their vectors, and a prior from a table with their names."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.material.spec_files import refusal, task_of

VECTORS = "the 1 0\nof 0 2\nand 3 4\n"
TABLE = "word,often\nand,1\nbut,7\nthe,2\nof,1\n"
GOOD = (
    "space: {kind: embedding, file: vectors.txt%s}\n"
    "epsilon: 1\n"
    "prior: {kind: column, file: often.csv, column: often, label: %s}\n"
)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text(VECTORS, encoding="utf-8")
    (tmp_path / "broken.txt").write_text(VECTORS + "but 1\n", encoding="utf-8")
    (tmp_path / "often.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "twice.csv").write_text(TABLE + "of,3\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "labels", "prior"),
    [
        ("", ["the", "of", "and"], [0.5, 0.25, 0.25]),
        (", top: 2", ["the", "of"], [2 / 3, 1 / 3]),
        (", words: [and, the], metric: manhattan", ["and", "the"], [1 / 3, 2 / 3]),
        (", normalise: true", ["the", "of", "and"], [0.5, 0.25, 0.25]),
    ],
)
def test_words_and_how_often_they_are_written(
    options: str, labels: list[str], prior: list[float], tmp_path: Path
) -> None:
    problem = task_of(tmp_path, GOOD % (options, "word")).problem
    assert list(problem.space.labels) == labels
    assert problem.prior.probabilities == pytest.approx(prior)
    lengths = np.linalg.norm(np.asarray(problem.space.points), axis=1)
    assert ("normalise" in options) is bool(np.allclose(lengths, 1.0))
    if "manhattan" in options:
        assert problem.space.distances[0, 1] == 6.0


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (("vectors.txt", "none.txt"), r"problem.yaml:1:\d+: space.file: there is no file .*; check the name$"),
        (("vectors.txt", "broken.txt"), r"space.file: broken.txt line 4 has 1 numbers where others have 2; give"),
        (
            ("vectors.txt", "vectors.txt, top: 9"),
            r"space.top: asks for 9 words of vectors.txt, which has 3; ask for fewer$",
        ),
        (("vectors.txt", "vectors.txt, top: 5000"), r"space.top: "),
        (
            ("vectors.txt", "vectors.txt, top: 1, words: [of]"),
            r"space.words: are given beside top; keep one of the two$",
        ),
        (("vectors.txt", "vectors.txt, words: [Of]"), r"space.words: vectors.txt has no 'Of'; leave it out"),
        (
            ("vectors.txt", "vectors.txt, metric: haversine"),
            r"space.metric: there is no 'haversine'; choose one of euclidean",
        ),
        (
            ("label: word", "label: name"),
            r"prior.label: often.csv has no column 'name'; choose among word, often$",
        ),
        (("often.csv", "twice.csv"), r"prior.label: twice.csv line 6 names 'of' again; keep one row for each$"),
    ],
)
def test_what_is_wrong_is_said_where_it_is(change: tuple[str, str], wrong: str, tmp_path: Path) -> None:
    found = str(refusal(tmp_path, (GOOD % ("", "word")).replace(*change)))
    assert "\n" not in found
    assert re.search(wrong, found), found


def test_a_word_without_a_row_is_refused(tmp_path: Path) -> None:
    (tmp_path / "often.csv").write_text("word,often\nthe,1\nof,2\n", encoding="utf-8")
    assert "prior.label: often.csv has no row for 'and'; add it" in str(refusal(tmp_path, GOOD % ("", "word")))
