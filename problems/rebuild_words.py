"""Rebuild the words of this folder, their vectors and how frequent they are.

    pip install 'dxopt[data]' && python problems/rebuild_words.py glove.6B.50d.txt

glove-300.txt         lines of `glove.6B.50d.txt` (GloVe: Pennington, Socher and Manning 2014, trained on Wikipedia
                      2014 and Gigaword 5; Public Domain Dedication and License 1.0), which is at
                      nlp.stanford.edu/projects/glove: the 300 most frequent English words of four letters or more
                      among its first 2,400 lines.
word-frequencies.csv  how often each of them is written, in parts per million, by the Python package wordfreq (Speer
                      2022, data under CC BY-SA 4.0).
"""

from __future__ import annotations

import csv
import sys
from itertools import islice
from pathlib import Path

HERE = Path(__file__).parent
WORDS = 300
SHORTEST = 4
LINES = 2_400


def main(vectors: Path) -> None:
    """Write both files."""
    from wordfreq import top_n_list, word_frequency  # pyright: ignore[reportMissingImports]

    # Lines as they are: bytes, as a word may be in any alphabet.
    with vectors.open("rb") as file:
        lines = {line.split(b" ", 1)[0]: line.rstrip() for line in islice(file, LINES)}
    frequent = [word for word in top_n_list("en", 10 * LINES) if word.isascii() and word.isalpha()]
    words = [word for word in frequent if len(word) >= SHORTEST and word.encode() in lines][:WORDS]
    (HERE / f"glove-{WORDS}.txt").write_bytes(b"".join(lines[word.encode()] + b"\n" for word in words))
    with (HERE / "word-frequencies.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("word", "per_million"))
        writer.writerows((word, f"{1e6 * word_frequency(word, 'en'):.6g}") for word in words)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
