"""The head of a table says what follows from its arrays, for every kind of space: whoever reads it checks that."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import dxopt as dx
from dxopt.verify import Outcome, verify_table
from tests.material.tables import (
    DEGREES,
    NODE,
    SPACES,
    forgeries,
    parts_of,
    table_of,
    taken_by_javascript,
    written_of,
)

READERS = ("load", "verify", *(["javascript"] if NODE else []))
UNDERIVED = ("own metric",)
"""Kinds whose points have distances that no verifier derives."""


class Harmless(NamedTuple):
    """Entries and changes, as regular expressions, that some readers take, and why."""

    entry: str
    change: str
    why: str
    readers: str = ".*"
    kinds: str = ".*"


_GIVEN = "own metric|roads|tree|graph|distances|neighbours"
_SAME = "(own metric|product.*|databases)"
REASONS = (
    Harmless("name", "upper case", "what a mechanism is called"),
    Harmless("cost|variation", "times 2|a little less|to null", "of the mechanism, which a result has"),
    Harmless("cost", "to (-1|1e308)", "of the mechanism, which a result has"),
    Harmless("cost|variation", "as text|to true", "no draw needs it", "javascript"),
    Harmless("epsilon", "times 2|to 1e308", "a weaker level"),
    Harmless("epsilon", "a little less", "draws prove no level", "javascript"),
    Harmless("pairs", "to 'adjacent'", "without δ all pairs are bound"),
    Harmless("secrets_are_reports", "the other one", "reports may be as good as secrets"),
    Harmless("distances", ".*times.*", "given distances have any scale", kinds=_GIVEN),
    Harmless("distances", "of given ones.*", "they are called by no metric", kinds=f"{_GIVEN}|{_SAME}"),
    Harmless(r"space\.(\d\.)?unit", "to '(km|m|mi|people)'|upper case", "units off the Earth are words, as given"),
    Harmless(r"space\.(\d\.)?unit", "missing", "a unit that is not said claims nothing"),
    Harmless(r"space\.\d\.unit", "to (''|None)", "no unit, in other words", "javascript"),
    # other points with the same distances
    Harmless(r"space\.(\d\.)?metric", "to '(chebyshev|manhattan)'", "norms are the same on a line", kinds=".*"),
    Harmless(r"space\.\d\.metric", "to 'hamming'", "two points at distance 1"),
    Harmless(r"space\.\d\.kind", "to 'lattice'", "a torus of 2 by 2"),
    Harmless(r"space\.\d\.points", "reversed", "the same distances"),
    Harmless(r"space\.points", "first first upper case|reversed", "the same values differ", kinds="words"),
    Harmless(r"space\.\d\.edges", "(first )?reversed", "the same edges"),
    # where places are on the Earth
    Harmless(r"space\.positions\.(outlines|streets)", "missing", "areas and streets are given"),
    Harmless(r"space\.positions\.(outlines|streets)", "(first )+(a little less|reversed)", "they are given"),
    Harmless(r"space\.positions\.(outlines|streets)", "first first first to true", "read as 1 degree", "verify"),
    Harmless(r"space\.positions\.streets", "one (more|less)|reversed", "streets are given"),
    Harmless(r"space\.positions\.degrees", "first first a little less|(first )?reversed", "are given", kinds="roads"),
    Harmless(r"space\.positions\.degrees", "first first to true", "read as 1 degree", "verify", "roads"),
    # what a script knows no nearest secret by
    Harmless(
        "distances", ".*", "it knows no nearest secret", "javascript", "discrete|norm.*|hamming|words|torus|ring"
    ),
    Harmless("distances", ".*", "it knows no nearest secret", "javascript", f"{_SAME}"),
    Harmless("distances", "times 1.000001.*", "ellipsoid: compared with great circles", "javascript", "geodesic"),
    Harmless(r"space\.metric", ".*", "it knows no nearest secret", "javascript", "torus|ring"),
    Harmless(r"space\.parameters", "to '{\"diameter.*", "it knows no nearest secret", "javascript"),
    Harmless(r"space\.points", ".*", "it knows no nearest secret", "javascript", "words|own metric|roads"),
    Harmless(
        r"space\.(\d\.(distances|edges|lengths|metric|points|spacing|shape)|factors)",
        ".*",
        "it knows no nearest secret of a product",
        "javascript",
    ),
)


def _reason(kind: str, reader: str, entry: str, change: str) -> str | None:
    for one in REASONS:
        pairs = ((one.entry, entry), (one.change, change), (one.readers, reader), (one.kinds, kind))
        if all(re.fullmatch(pattern, text) for pattern, text in pairs):
            return one.why
    return None


def _loads(file: Path) -> bool:
    try:
        dx.IntegerTable.load(file)
    except (dx.SpecError, dx.CertificateError):
        return False
    return True


def _readers_of(folder: Path, kind: str) -> dict[str, set[str]]:
    """The names of the table files that each reader takes."""
    codes = (0, 3) if kind in UNDERIVED else (0,)
    files = sorted(folder.glob("*.dxt"))
    return {
        "load": {file.name for file in files if _loads(file)},
        "verify": {file.name for file in files if verify_table(file).exit_code in codes},
        "javascript": taken_by_javascript(folder) if NODE else set(),
    }


def _unexplained(kind: str, folder: Path, every: int) -> list[str]:
    """Forgeries that a reader takes without a reason; one of `every` is tried, others by kind."""
    honest = table_of(SPACES[kind]()).encoded()
    (folder / "honest.dxt").write_bytes(honest)
    found = [*forgeries(honest)][list(SPACES).index(kind) % every :: every]
    for number, forged in enumerate(found):
        (folder / f"{number}.dxt").write_bytes(forged.written)
    taken = _readers_of(folder, kind)
    assert [reader for reader in READERS if "honest.dxt" not in taken[reader]] == []
    return [
        f"{kind}, {reader}: {forged}"
        for number, forged in enumerate(found)
        for reader in READERS
        if f"{number}.dxt" in taken[reader] and _reason(kind, reader, forged.path, forged.change) is None
    ]


@pytest.mark.parametrize("kind", SPACES)
def test_no_reader_takes_another_head(kind: str, tmp_path: Path) -> None:
    assert _unexplained(kind, tmp_path, 5) == []


@pytest.mark.full
@pytest.mark.parametrize("kind", SPACES)
def test_no_reader_takes_another_head_in_full(kind: str, tmp_path: Path) -> None:
    assert _unexplained(kind, tmp_path, 1) == []


@pytest.mark.parametrize("kind", SPACES)
def test_a_table_of_every_kind_is_read_as_it_was_written(kind: str, tmp_path: Path) -> None:
    table = table_of(SPACES[kind]())
    file = table.save(tmp_path / "table.dxt")
    assert dx.IntegerTable.load(file).encoded() == file.read_bytes()
    expected = Outcome.NOT_REPROVED if kind in UNDERIVED else Outcome.HOLDS
    assert verify_table(file).outcome is expected, str(verify_table(file))


def test_distances_that_other_libraries_round_otherwise_keep_the_name_of_the_table(tmp_path: Path) -> None:
    """The digest, by which keyed draws are made, is that of the file, whatever sine reads its degrees."""
    head, body = parts_of(table_of(SPACES["haversine"]()).encoded())
    first, size = head["sections"]["distances"]
    distances = np.nextafter(np.frombuffer(body[first : first + size]), np.inf) * (1 - np.eye(len(DEGREES))).ravel()
    written = written_of(head, body[:first] + distances.tobytes() + body[first + size :])
    (tmp_path / "table.dxt").write_bytes(written)
    assert dx.IntegerTable.load(tmp_path / "table.dxt").digest == written[-32:].hex()


@pytest.mark.parametrize("points", [[[0.0], [1.0], [2.0]], [[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]])
def test_distances_that_break_the_triangle_inequality_are_not_loaded(points: list[Any], tmp_path: Path) -> None:
    head, body = parts_of(table_of(dx.MetricSpace.from_points(points)).encoded())
    first, size = head["sections"]["distances"]
    distances = np.frombuffer(body[first : first + size]).reshape(3, 3) * (1 + 1e-10 * np.eye(3)[::-1])
    written = written_of(head, body[:first] + distances.tobytes() + body[first + size :])
    (tmp_path / "table.dxt").write_bytes(written)
    assert not _loads(tmp_path / "table.dxt") and verify_table(tmp_path / "table.dxt").exit_code == 1


OF_REPORTS: dict[str, Any] = {
    "no points": {"report_points": []},
    "a point too few": {"report_points": [[0.5]]},
    "a point too many": {"report_points": [[0.5], [1.5], [2.5]]},
    "points without axes": {"report_points": [0.5, 1.5]},
    "points of different axes": {"report_points": [[0.5], [1.5, 2.0]]},
    "points of points": {"report_points": [[[0.5]], [[1.5]]]},
    "a point of text": {"report_points": [[0.5], ["1.5"]]},
    **{f"points {one!r}": {"report_points": one} for one in (1.0, "x", {}, True, False, 0.0, "")},
    "a label too few": {"reports": ["low"], "report_points": None},
    "a label too few, with its point": {"reports": ["low"], "report_points": [[0.5]]},
}


@pytest.mark.parametrize("what", OF_REPORTS)
def test_no_reader_takes_reports_without_a_label_or_point(what: str, tmp_path: Path) -> None:
    reports = dx.Reports.at([[0.5], [1.5]], ["low", "high"])
    made = dx.classic.geometric(dx.line(4), epsilon=1.0).compose([[1, 0], [0, 1], [0, 1], [0.5, 0.5]], reports)
    honest = dx.integer_table(made).encoded()
    head, body = parts_of(honest)
    (tmp_path / "honest.dxt").write_bytes(honest)
    (tmp_path / "unplaced.dxt").write_bytes(written_of({**head, "report_points": None}, body))
    (tmp_path / "forged.dxt").write_bytes(written_of(head | OF_REPORTS[what], body))
    for taken in _readers_of(tmp_path, "line").values():
        assert taken == {"honest.dxt", "unplaced.dxt"}


@pytest.mark.parametrize(
    "change",
    [{"delta": 1.5}, *({"space": unit} for unit in ("km ", " km", "\xa0km", "k\nm", "k\u200bm", "2 km", "k" * 25))],
    ids=str,
)
def test_readers_have_one_rule_for_units_and_levels(change: dict[str, Any], tmp_path: Path) -> None:
    honest = table_of(dx.line(4, unit="k" * 24)).encoded()
    head, body = parts_of(honest)
    if "space" in change:
        change = {"space": {**head["space"], "unit": change["space"]}}
    (tmp_path / "honest.dxt").write_bytes(honest)
    (tmp_path / "forged.dxt").write_bytes(written_of(head | change, body))
    for reader, taken in _readers_of(tmp_path, "line").items():
        assert (reader in READERS) == ("honest.dxt" in taken) and "forged.dxt" not in taken
