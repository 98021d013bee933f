"""What a result says of its space is what follows from the arrays: unit, metric, points, parameters, labels."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import dxopt as dx
from dxopt.verify import verify_all
from tests.material.tables import SPACES
from tests.verify.changes import changes
from tests.verify.forging import redigest

FILES = {
    "mechanism.npz": r"space\..*|secrets|reports|report_points",
    "claims.json": r"problem\.units.*",
    "table.dxt": r"space\..*|metric|unit|labels|points|report_points",
}
"""What says something of a space: entries of the files."""
UNDERIVED = ("own metric",)
"""Kinds whose points have distances that no verifier derives."""


class Harmless(NamedTuple):
    """Entries and changes, as regular expressions, that `dx.load` or `verify` takes, and why."""

    entry: str
    change: str
    why: str
    readers: str = "load"
    kinds: str = ".*"


REASONS = (
    Harmless("secrets", "missing|as text", "reports are the secrets unless something else is said", "verify|load"),
    Harmless(r"space\.edges", ".*", "the same edges, of one length", "verify|load", "tree"),
    Harmless(r"space\.0\.edges", ".*along 0", "the same edges, of one length"),
    Harmless(r"problem\.units\..*", "space", "blanks after a unit are stripped"),
    Harmless(r"space\.(\d\.)?labels", ".*", "names are given"),
    Harmless(r"space\.\d\.unit", "missing", "a unit that is not said claims nothing"),
    Harmless(r"space\.1\.unit", "first .*", "units off the Earth are words, as given", kinds="product of trees"),
    Harmless(r"space\.(\d\.)?kind", "first (lattice|torus)", "a torus of 2 along each axis"),
    Harmless(r"space\.(\d\.)?metric", "first (chebyshev|manhattan)", "norms are the same on a line"),
    Harmless(r"space\.\d\.metric", "first (hamming|discrete)", "two points at distance 1"),
    Harmless(r"space\.(\d\.)?points", "all negative|reversed.*|first two.*|entry 1 negative", "the same distances"),
    Harmless(r"space\.points", ".*", "they count what differs, or distances are given", kinds="own metric|discrete"),
    Harmless(r"space\.points", "(all|entry|first|as) .*", "they count what differs", kinds="hamming|words"),
    Harmless(r"space\.distances", "entry .*|transposed", "distances are given", kinds="distances"),
    Harmless(r"space\.positions\.(outlines|streets)", ".*", "areas and streets are given"),
    Harmless(r"space\.positions\.degrees", ".*", "ways along roads are given", kinds="roads"),
)


def _reason(kind: str, reader: str, entry: str, change: str) -> str | None:
    for one in REASONS:
        pairs = ((one.entry, entry), (one.change, change), (one.readers, reader), (one.kinds, kind))
        if all(re.fullmatch(pattern, text) for pattern, text in pairs):
            return one.why
    return None


def _loads(folder: Path) -> bool:
    try:
        dx.load(folder)
    except (dx.SpecError, dx.CertificateError):
        return False
    return True


def _saved(space: dx.MetricSpace, folder: Path) -> Path:
    """At the largest level that keeps a factor of e between all secrets, so that no longer distances keep it."""
    finite = np.isfinite(space.distances)
    weights = 1 + (11 * np.arange(len(space))) % 7
    prior = dx.Prior.from_weights(space, weights)
    loss = "distance" if finite.all() else "binary"
    asked = dx.Problem(space, epsilon=1 / float(space.distances[finite].max()), prior=prior, loss=loss)
    return dx.solve(asked, method="exponential").save(folder)


def _unexplained(kind: str, base: Path, every: int) -> list[str]:
    """Changes that a reader takes without a reason; one of `every` is tried, others by kind."""
    honest = _saved(SPACES[kind](), base / "honest")
    codes = (0, 3) if kind in UNDERIVED else (0,)
    readers: dict[str, Callable[[Path], bool]] = {
        "verify": lambda folder: verify_all(folder).exit_code in codes,
        "load": _loads,
    }
    assert all(takes(honest) for takes in readers.values())
    forged = Path(shutil.copytree(honest, base / "forged"))
    found = []
    tried = [
        (name, *change)
        for name, entries in FILES.items()
        for change in changes(honest / name)
        if re.fullmatch(entries, change[0])
    ]
    for name, entry, change, content in tried[list(SPACES).index(kind) % every :: every]:
        (forged / name).write_bytes(content())
        redigest(forged)
        asked = readers if name != "table.dxt" else {"verify": readers["verify"]}
        taken = [reader for reader, takes in asked.items() if takes(forged)]
        found += [f"{kind}, {r}: {entry}, {change}" for r in taken if _reason(kind, r, entry, change) is None]
        shutil.copyfile(honest / name, forged / name)
    return found


@pytest.mark.parametrize("kind", SPACES)
def test_no_reader_takes_another_space(kind: str, tmp_path: Path) -> None:
    assert _unexplained(kind, tmp_path, 40) == []


@pytest.mark.full
@pytest.mark.parametrize("kind", SPACES)
def test_no_reader_takes_another_space_in_full(kind: str, tmp_path: Path) -> None:
    assert _unexplained(kind, tmp_path, 1) == []


def test_units_of_losses_are_those_that_were_given(tmp_path: Path) -> None:
    space = dx.line(4, unit="people")
    asked = dx.Problem(space, epsilon=1.0, prior="uniform", loss=dx.Loss.of(space.distances, space, unit="EUR"))
    folder = dx.solve(asked).save(tmp_path / "out")
    assert dx.load(folder).problem.loss.unit == "EUR"
    assert verify_all(folder).exit_code == 0
