"""Saved integer tables: read back as they were, and checked again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.release.tables import IntegerTable, integer_table
from tests.material.checks import change_array

DELTA = 2.0**-10


@pytest.fixture
def table() -> IntegerTable:
    """Out of 2^128, with reports of its own and all of its δ used."""
    matrix = [[1 - DELTA, DELTA, 0.0], [1 - DELTA, 0.0, DELTA]]
    space = dx.MetricSpace.from_points([0.0, 1.0], labels=["west", "east"])
    claim = dx.Privacy(1e-3, "by hand", DELTA)
    reports = dx.Reports.at([[0.0], [0.5], [1.0]], labels=["a", "b", "c"])
    made = integer_table(dx.Mechanism.from_matrix(space, matrix, reports, name="made", privacy=claim))
    counts = [[count << 64 for count in row] for row in made.counts.tolist()]
    return IntegerTable(space, reports, np.array(counts, dtype=object), 128, 1e-3, DELTA, "all", 1e-15, 1e-16, "made")


def test_is_read_back(table: IntegerTable, tmp_path: Path) -> None:
    read = IntegerTable.load(table.save(tmp_path / "table.npz"))
    assert read.counts.tolist() == table.counts.tolist()
    names = ("bits", "epsilon", "delta", "pairs", "cost", "variation", "name")
    assert all(getattr(read, name) == getattr(table, name) for name in names)
    assert (read.space.labels, read.reports.labels) == (("west", "east"), ("a", "b", "c"))
    assert read.reports.points is not None
    assert read.reports.points.tolist() == [[0.0], [0.5], [1.0]]
    with pytest.raises(dx.SpecError, match=r"neither .* nor .dxt; name it table.npz, or table.dxt for"):
        table.save(tmp_path / "table.txt")


def test_a_certain_report_on_a_grid_is_read_back(tmp_path: Path) -> None:
    certain = dx.Mechanism.from_matrix(dx.grid((2, 2)), np.eye(4)[[1] * 4], privacy=dx.Privacy(0.0, "constant"))
    read = IntegerTable.load(integer_table(certain).save(tmp_path / "table.npz"))
    assert read.counts.tolist() == [[0, 2**64, 0, 0]] * 4
    assert read.reports.secrets


@pytest.mark.parametrize(
    ("name", "change", "error"),
    [
        ("delta", lambda delta: delta / 1.01, dx.CertificateError),
        ("counts", lambda counts: np.bitwise_xor(counts, 1), dx.SpecError),
        ("counts", lambda counts: np.concatenate([counts[:1, [1, 0, 2]], counts[1:]]), dx.CertificateError),
        ("epsilon", lambda value: -value, dx.SpecError),
        ("epsilon", lambda value: value * np.nan, dx.SpecError),
        ("delta", lambda value: value * np.inf, dx.SpecError),
        ("counts", lambda counts: counts[:1], dx.SpecError),
        ("counts", lambda counts: counts.ravel(), dx.SpecError),
        ("format", lambda number: number + 1, dx.SpecError),
        ("bits", lambda bits: bits + 1, dx.SpecError),
        ("bits", lambda bits: bits + 64, dx.SpecError),
        ("reports", lambda reports: reports[:1], dx.SpecError),
    ],
)
def test_tampering_is_found(
    table: IntegerTable, name: str, change: object, error: type[Exception], tmp_path: Path
) -> None:
    file = table.save(tmp_path / "table.npz")
    change_array(file, name, change)  # pyright: ignore[reportArgumentType]
    with pytest.raises(error):
        IntegerTable.load(file)


def test_damage_is_found(table: IntegerTable, tmp_path: Path) -> None:
    file = table.save(tmp_path / "table.npz")
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(dx.SpecError, match="damaged"):
        IntegerTable.load(file)
    with pytest.raises(dx.SpecError, match=r"^file: .*missing.npz does not exist; check the name$"):
        IntegerTable.load(tmp_path / "missing.npz")
    mechanism = dx.classic.exponential(dx.line(2), epsilon=1.0).save(tmp_path / "mechanism.npz")
    with pytest.raises(dx.SpecError, match="no saved table"):
        IntegerTable.load(mechanism)


def test_any_damage_is_told_in_one_line(table: IntegerTable, tmp_path: Path) -> None:
    whole = table.save(tmp_path / "table.npz").read_bytes()
    rng = np.random.default_rng(0)
    damaged = tmp_path / "damaged.npz"
    refused = 0
    for _ in range(300):
        changed = bytearray(whole)
        changed[rng.integers(len(changed))] = rng.integers(256)
        damaged.write_bytes(changed)
        try:
            read = IntegerTable.load(damaged)
        except (dx.SpecError, dx.CertificateError) as error:
            refused += 1
            assert "\n" not in str(error)
        else:
            assert read.counts.tolist() == table.counts.tolist()
    assert refused > 100


@pytest.mark.parametrize("name", ["file/table.npz", f"{'x' * 300}.npz", "missing/table.npz"])
def test_files_that_cannot_be_written(table: IntegerTable, name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(dx.SpecError, match="cannot be written"):
        table.save(tmp_path / name)
