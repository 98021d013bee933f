"""Word vectors from text files: what is read, in which order, and every way in which a file can be wrong."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.results.page.channels import Plane
from dxopt.results.page.document import page
from dxopt.spaces import embeddings
from dxopt.verify import Outcome, verify
from tests.judges.oracle import optimum
from tests.material.files import PROBLEMS

GLOVE = "the 1 0 0\nof 0 2 -1e-1\n. . . 3 0 4\nand 0.5 .5 1\n"


def written(folder: Path, content: str | bytes, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        GLOVE,
        "4 3\n" + GLOVE,
        "\ufeff" + GLOVE,
        GLOVE.replace("\n", " \r\n"),
        GLOVE.replace("the ", "the\t") + "\n\n",
        gzip.compress(GLOVE.encode(), mtime=0),
        gzip.compress(("4 3\n" + GLOVE).encode(), mtime=0),
    ],
    ids=["glove", "word2vec", "mark", "fasttext", "tab", "packed", "packed-word2vec"],
)
def test_words_and_vectors_are_read(tmp_path: Path, content: str | bytes) -> None:
    space = dx.embedding(written(tmp_path, content))
    assert list(space.labels) == ["the", "of", ". . .", "and"]
    assert np.array_equal(np.asarray(space.points), [[1, 0, 0], [0, 2, -0.1], [3, 0, 4], [0.5, 0.5, 1]])
    assert space.metric is not None and space.metric.name == "euclidean"


def test_some_words_and_other_metrics(tmp_path: Path) -> None:
    path = written(tmp_path, GLOVE)
    assert list(dx.embedding(path, top=2).labels) == ["the", "of"]
    chosen = dx.embedding(str(path), words=["and", "the"], metric="manhattan")
    assert list(chosen.labels) == ["and", "the"]
    assert chosen.distances[0, 1] == 2.0
    unit = dx.embedding(path, normalise=True)
    assert np.linalg.norm(np.asarray(unit.points), axis=1) == pytest.approx(1.0)
    assert np.asarray(unit.points)[2] == pytest.approx([0.6, 0, 0.8])
    # Chords of normalised vectors are those of the angle: squared, 2 - 2 cos.
    given = np.asarray(dx.embedding(path).points)
    cosine = given[0] @ given[3] / np.linalg.norm(given[0]) / np.linalg.norm(given[3])
    assert unit.distances[0, 3] ** 2 == pytest.approx(2 - 2 * cosine)


def test_no_more_is_read_than_needed(tmp_path: Path) -> None:
    broken = written(tmp_path, GLOVE + "but 1 2\n" + "\xff" * 10)
    assert len(dx.embedding(broken, top=4)) == 4
    assert list(dx.embedding(broken, words=["of"]).labels) == ["of"]
    twice = written(tmp_path, GLOVE + "the 9 9 9\n")
    assert np.asarray(dx.embedding(twice, words=["the"]).points).tolist() == [[1, 0, 0]]


@pytest.mark.parametrize(
    ("content", "options", "wrong"),
    [
        (
            GLOVE + "but 1 2\n",
            {},
            "^file: ",
        ),
        (GLOVE + "but 1 2 3 4\n", {}, "^file: "),
        ("4 5\n" + GLOVE, {}, "^file: "),
        (GLOVE + "but 1 nan 2\n", {}, "^file: "),
        (GLOVE + "but 1 inf 2\n", {}, "^file: "),
        (GLOVE + "but 1 1_0 2\n", {}, "^file: "),
        (GLOVE + "of 1 1 2\n", {}, "^file: "),
        ("the\nof\n", {}, "^file: "),
        ("", {}, "^file: "),
        ("2 3\n", {}, "^file: "),
        (b"2 3\nof \xff\xfe\x00\n", {}, "^file: "),
        (gzip.compress(GLOVE.encode(), mtime=0)[:-12], {}, "^file: "),
        (gzip.compress(GLOVE.encode(), mtime=0)[:12] + b"broken", {}, "^file: "),
        (GLOVE, {"top": 5}, "^top: "),
        (GLOVE, {"top": 0}, "^top: "),
        (GLOVE, {"top": 2.0}, "^top: "),
        (GLOVE, {"top": 1, "words": ["of"]}, "^words: "),
        (
            GLOVE,
            {"words": ["of", "Of"]},
            "^words: ",
        ),
        (GLOVE, {"words": ["of", "of"]}, "^words: "),
        (GLOVE, {"words": []}, "^words: "),
        (GLOVE, {"words": [3]}, "^words: "),
        (GLOVE + "but 0 0 0\n", {"normalise": True}, "^normalise: "),
        (GLOVE, {"metric": "euclid"}, "^metric: "),
        (GLOVE, {"metric": "haversine"}, "^points: "),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, content: str | bytes, options: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(dx.SpecError, match=wrong) as refused:
        dx.embedding(written(tmp_path, content), **options)
    assert "\n" not in str(refused.value)


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(dx.SpecError, match=r"^file: "):
        dx.embedding(tmp_path / "missing.txt")
    with pytest.raises(dx.SpecError, match=r"^file: "):
        dx.embedding(tmp_path)
    with pytest.raises(dx.SpecError, match="no plain file"):
        dx.embedding("/dev/zero")
    monkeypatch.setattr(embeddings, "_LONGEST_LINE", 20)
    with pytest.raises(dx.SpecError, match="line 2 has more than 20 bytes; name a file of word vectors"):
        dx.embedding(written(tmp_path, "a 1\nb " + "1" * 40))
    monkeypatch.setattr(embeddings, "MATRIX_POINTS", 3)
    with pytest.raises(dx.SpecError, match=r"^file: "):
        dx.embedding(written(tmp_path, GLOVE))


def test_vectors_of_the_problem_files() -> None:
    """Distances in 50 dimensions, by decimals from the text of the file."""
    space = dx.embedding(PROBLEMS / "glove-300.txt")
    lines = (PROBLEMS / "glove-300.txt").read_text(encoding="utf-8").splitlines()
    assert np.asarray(space.points).shape == (300, 50)
    drawn = np.random.default_rng(1).integers(300, size=(100, 2)).tolist()
    for x, y in ((0, 1), (17, 250), (299, 3), *drawn):
        first, second = ([Decimal(cell) for cell in lines[i].split()[1:]] for i in (x, y))
        exact = sum(((a - b) ** 2 for a, b in zip(first, second, strict=True)), Decimal(0)).sqrt()
        assert space.distances[x, y] == pytest.approx(float(exact), rel=1e-14)
        assert space.labels[x] == lines[x].split()[0]


@pytest.mark.parametrize("dimensions", [50, 300])
def test_many_dimensions_are_solved_saved_and_verified(tmp_path: Path, dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    lines = [f"w{i} " + " ".join(f"{x:.5f}" for x in rng.normal(size=dimensions)) for i in range(9)]
    space = dx.embedding(written(tmp_path, "\n".join(lines)))
    prior = dx.Prior.from_weights(space, np.arange(1.0, 10.0))
    report = dx.solve(dx.Problem(space, epsilon=4 / space.distances.max(), prior=prior))
    assert report.certificate.gap <= 1e-6
    assert report.certificate.value == pytest.approx(
        optimum(space.distances, report.problem.epsilon, prior.probabilities, space.distances), rel=1e-7
    )
    # `dxopt verify` derives the distances from the vectors again.
    folder = report.save(tmp_path / "out")
    verdict = verify(folder)
    assert verdict.outcome is Outcome.HOLDS
    assert list(dx.load(folder).mechanism.space.labels) == list(space.labels)
    # There is no plane of so many dimensions: the page has the channel alone.
    assert Plane.of(report) is None
    assert "w3" in page(report)
