"""Words and their vectors, from the text files of GloVe, word2vec and fastText, as a space."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.numerics.coerce import as_flag, as_list, checked_count
from dxopt.runtime.reading import MOST_VECTORS, as_path, open_file
from dxopt.spaces.distances import MATRIX_POINTS
from dxopt.spaces.metrics import Metric
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]

_LONGEST_LINE = 200_000
"""Bytes: a word and 8,000 numbers of 24 letters."""
_GZIP = b"\x1f\x8b"


def embedding(
    file: str | Path,
    *,
    top: int | None = None,
    words: Sequence[str] | None = None,
    normalise: bool = False,
    metric: str | Metric = "euclidean",
    unit: str = "",
) -> MetricSpace:
    """Take the words of a file of word vectors as points, with distances between their vectors.

    Files have a line for each word: the word and its numbers, between blanks, as GloVe and fastText are published
    and word2vec is saved as text, packed by gzip or not. A first line with the number of words and of coordinates is
    taken for that. Files are read only as far as needed.

    Parameters
    ----------
    file : str or Path
    top : int, optional
        Only the first so many words; files have the most frequent ones first.
    words : sequence of str, optional
        Only these, in this order. At most one of `top` and `words`.
    normalise : bool
        Divide each vector by its length. Euclidean distances are then chords, which order words as the angle between
        their vectors (cosine similarity) does.
    metric, unit
        As for `MetricSpace.from_points`.

    Raises
    ------
    SpecError
        If there is no such file, or it is no text of this form: lines of different lengths, numbers that are none or
        infinite, a word twice, one that is asked for and not there, or more than 20,000 words.

    Examples
    --------
    >>> import dxopt as dx
    >>> from pathlib import Path
    >>> file = Path("vectors.txt")
    >>> size = file.write_text("cat 1 0\\ndog 0.8 0.6\\ncar 0 1\\n", encoding="utf-8")
    >>> words = dx.embedding(file)
    >>> print(words.labels, words.row(label="cat").round(2).tolist())
    ('cat', 'dog', 'car') [0.0, 0.63, 1.41]
    """
    if top is not None and words is not None:
        raise SpecError("words", "are given beside top", "keep one of the two")
    top = None if top is None else checked_count("top", top, 1, MATRIX_POINTS)
    path = as_path(file, "file")
    found = _chosen(path, words) if words is not None else _first(path, top)
    vectors = np.array(list(found.values()))
    if as_flag(normalise, "normalise"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not lengths.all():
            word = list(found)[int(np.flatnonzero(lengths == 0)[0])]
            raise SpecError("normalise", f"the vector of {word!r} is 0", "leave the word out, or do not normalise")
        vectors /= lengths
    return MetricSpace.from_points(vectors, metric, labels=list(found), unit=unit)


def _first(path: Path, top: int | None) -> dict[str, Array]:
    """Read the first words of a file, or all, with their vectors."""
    found: dict[str, Array] = {}
    for line, word, vector in islice(_vectors(path), top):
        if word in found:
            raise _line_error(path, line, f"has the word {word!r} again", "keep one of the two, or give words")
        if len(found) == MATRIX_POINTS:
            raise SpecError("file", f"{path.name} has more than {MATRIX_POINTS:,} words", "give top or words")
        found[word] = vector
    if top is not None and len(found) < top:
        raise SpecError("top", f"asks for {top} words of {path.name}, which has {len(found)}", "ask for fewer")
    if not found:
        raise SpecError("file", f"{path.name} has no words", "fill it or name another file")
    return found


def _chosen(path: Path, words: Iterable[str]) -> dict[str, Array]:
    """Read some words of a file, in the order in which they are asked for; the first line of each counts."""
    asked = [words] if isinstance(words, str) else as_list(words, "words", "give a list of words")
    if not asked or not all(isinstance(word, str) for word in asked):
        raise SpecError("words", "are no words", "give at least one, as text")
    missing = set(asked)
    if len(missing) < len(asked):
        twice = next(word for word in asked if asked.count(word) > 1)
        raise SpecError("words", f"name {twice!r} twice", "name it once")
    found: dict[str, Array] = {}
    for _, word, vector in _vectors(path, missing):
        missing.discard(word)
        found[word] = vector
        if not missing:
            break
    if missing:
        first = next(word for word in asked if word in missing)
        raise SpecError("words", f"{path.name} has no {first!r}", "leave it out, or write it as the file does")
    return {word: found[word] for word in asked}


def _vectors(path: Path, wanted: set[str] | None = None) -> Iterator[tuple[int, str, Array]]:
    """Yield the number of the line, the word and its vector for each word, or each wanted one."""
    width = None  # numbers in a line, told by the header or by the first word
    with closing(_lines(path)) as lines:
        for number, text in lines:
            parts = text.replace("\t", " ").rstrip().split(" ")
            if number == 1 and len(parts) == 2 and all(part.isdecimal() for part in parts):
                width = int(parts[1])
                continue
            if not text.strip():
                continue
            if width is None:
                width = len(parts) - 1
                if width < 1:
                    raise _line_error(path, number, "has no numbers", "give a word and its numbers between blanks")
            # there are words with blanks in them, but none that ends in a number
            if len(parts) <= width or (len(parts) > width + 1 and _number(parts[-width - 1]) is not None):
                wrong = f"has {len(parts) - 1} numbers where others have {width}"
                raise _line_error(path, number, wrong, "give every word as many")
            word = " ".join(parts[:-width])
            if wanted is None or word in wanted:
                yield number, word, _vector(parts[-width:], path, number)


def _vector(cells: list[str], path: Path, line: int) -> Array:
    """Return the numbers of a line; SpecError names the line where one is none or not finite."""
    numbers = [_number(cell) for cell in cells]
    for cell, number in zip(cells, numbers, strict=True):
        if number is None or not math.isfinite(number):
            raise _line_error(path, line, f"has {cell[:40]!r} for a number", "give finite numbers")
    return np.array(numbers, dtype=float)


def _number(cell: str) -> float | None:
    """Return text as a number, or None where it is none."""
    # Python reads 1_000 as a number, but in these files it is a word
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _lines(path: Path) -> Generator[tuple[int, str]]:
    """Yield the lines of a file, packed or not, with their numbers; SpecError for whatever goes wrong with it."""
    number = 0
    try:
        with open_file(path, MOST_VECTORS) as raw:
            stream = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == _GZIP else raw
            while line := stream.readline(_LONGEST_LINE + 1):
                number += 1
                if len(line) > _LONGEST_LINE:
                    raise _line_error(
                        path, number, f"has more than {_LONGEST_LINE:,} bytes", "name a file of word vectors"
                    )
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        fix = "save binary vectors as text, as by gensim's save_word2vec_format; other text as UTF-8"
        raise _line_error(path, number, "is no text in UTF-8", fix) from None
    except SpecError:
        raise
    except FileNotFoundError:
        raise SpecError("file", f"there is no file {str(path)!r}", "check the name") from None
    except IsADirectoryError:
        raise SpecError("file", f"{str(path)!r} is a folder", "name a file") from None
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise SpecError("file", f"{str(path)!r} cannot be read ({error})", "mend the file or its name") from None


def _line_error(path: Path, line: int, wrong: str, fix: str) -> SpecError:
    return SpecError("file", f"{path.name} line {line} {wrong}", fix)
