"""Mechanisms in one file: what is read back, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.tight import tight_constraints

SPACES = {
    "line": dx.line(7, step=0.1),
    "uneven line": dx.MetricSpace.from_points([0.0, 1.0, 2.5, 2.75]),
    "grid": dx.grid((4, 5), spacing=1.5),
    "torus": dx.torus((4, 3), metric="manhattan"),
    "product": dx.product(dx.line(3), dx.MetricSpace.from_points(["a", "b", "c"], "discrete"), dx.grid((2, 2))),
    "tuples": dx.MetricSpace.from_points([[0, 0], [0, 1], [1, 0], [1, 1]], "hamming", labels="pqrs"),
    "tree": dx.MetricSpace.from_graph(nx.path_graph(["a", "b", "c"])),
    "distances": dx.MetricSpace.from_distances([[0, 1, 2], [1, 0, 1], [2, 1, 0]], labels=["x", "y", "z"]),
    "points": dx.MetricSpace.from_points([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]], "chebyshev", labels="abc"),
}


@pytest.mark.parametrize("name", SPACES)
def test_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    space = SPACES[name]
    made = tight_constraints(space, 2.0)
    read = dx.Mechanism.load(made.save(tmp_path / "mechanism.npz"))
    assert np.array_equal(read.matrix, made.matrix)
    assert list(read.space.labels) == list(space.labels)
    assert np.array_equal(read.space.distances, space.distances)
    assert read.name == made.name
    assert read.privacy is not None
    assert read.privacy.epsilon == pytest.approx(2.0, rel=1e-9)
    assert read.privacy.epsilon <= 2.0


def test_an_unproven_matrix_stays_unproven(tmp_path: Path) -> None:
    reports = dx.Reports(("p", "q", "r"))
    made = dx.Mechanism.from_matrix(dx.line(2), [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]], reports, name="handmade")
    read = dx.Mechanism.load(made.save(tmp_path / "handmade.npz"))
    assert read.privacy is None
    assert np.array_equal(read.matrix, made.matrix)
    assert tuple(read.reports.labels) == reports.labels
    assert not read.reports.secrets


def _changed(file: Path, **changes: object) -> Path:
    with np.load(file) as stored:
        arrays = {**stored, **changes}
    changed: dict[str, Any] = {key: np.asarray(value) for key, value in arrays.items()}
    np.savez(file, **changed)
    return file


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"level": 2.0}, "no room for rounding"),
        ({"epsilon": 1.9}, "no room for rounding"),
        ({"weights": np.r_[0.9, np.full(6, 0.09)]}, "what they lack"),
        ({"weights": np.r_[-0.1, np.full(6, 0.2)]}, "0 or more"),
        ({"weights": np.r_[np.nan, np.full(6, 0.2)]}, "0 or more"),
    ],
)
def test_a_changed_kernel_is_refused(changes: dict[str, object], said: str, tmp_path: Path) -> None:
    file = tight_constraints(dx.line(7), 2.0).save(tmp_path / "kernel.npz")
    with pytest.raises(dx.CertificateError, match=said):
        dx.Mechanism.load(_changed(file, **changes))


def test_a_changed_matrix_is_refused(tmp_path: Path) -> None:
    made = tight_constraints(SPACES["distances"], 1.0)
    matrix = made.matrix.copy()
    matrix[0, 0] += 1e-6
    matrix[0, 1] -= 1e-6
    with pytest.raises(dx.CertificateError, match="told apart"):
        dx.Mechanism.load(_changed(made.save(tmp_path / "matrix.npz"), matrix=matrix))


def test_other_files_are_refused(tmp_path: Path) -> None:
    made = tight_constraints(dx.line(3), 1.0)
    with pytest.raises(dx.SpecError, match="no ending"):
        made.save(tmp_path / "mechanism.txt")
    with pytest.raises(dx.SpecError, match="cannot be written"):
        made.save(tmp_path / "nowhere" / "mechanism.npz")
    file = made.save(tmp_path / "mechanism.npz")
    with pytest.raises(dx.SpecError, match="version 7"):
        dx.Mechanism.load(_changed(file, format=7))
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(dx.SpecError, match="no saved mechanism, or damaged"):
        dx.Mechanism.load(file)
    with pytest.raises(dx.SpecError, match=r"^file: "):
        dx.Mechanism.load(tmp_path / "missing.npz")


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
def test_relaxed_privacy_is_proven_again(pairs: str, tmp_path: Path) -> None:
    space = dx.line(5)
    problem = dx.Problem(space, epsilon=0.7, prior=dx.Prior.uniform(space), delta=0.05, pairs=pairs)
    made = dx.solve(problem).mechanism
    file = made.save(tmp_path / "relaxed.npz")
    assert dx.Mechanism.load(file).privacy == made.privacy
    assert made.privacy is not None
    assert made.privacy.pairs == pairs
    with np.load(file) as stored:
        arrays = dict(stored)
    np.savez_compressed(file, **{**arrays, "delta": 0.5 * arrays["delta"]})
    with pytest.raises(dx.CertificateError, match="told apart by delta"):
        dx.Mechanism.load(file)


def test_a_mechanism_that_says_nothing_is_read_back(tmp_path: Path) -> None:
    alone = dx.classic.geometric(dx.line(1), epsilon=1.0)
    assert alone.privacy is not None
    assert alone.privacy.epsilon == 0.0
    again = dx.Mechanism.load(alone.save(tmp_path / "alone.npz"))
    assert again.privacy is not None
    assert again.privacy.epsilon == 0.0


def test_a_byte_gone_wrong_anywhere_is_one_line(tmp_path: Path) -> None:
    whole = dx.classic.exponential(dx.line(3), epsilon=1.0).save(tmp_path / "whole.npz").read_bytes()
    generator, damaged = np.random.default_rng(4), tmp_path / "damaged.npz"
    refused = 0
    for place in generator.choice(len(whole), 400, replace=False):
        content = bytearray(whole)
        content[place] ^= int(generator.integers(1, 256))
        damaged.write_bytes(bytes(content))
        try:
            dx.Mechanism.load(damaged)
        except (dx.SpecError, dx.CertificateError) as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 100


def test_noise_on_a_large_grid_is_made_again(tmp_path: Path) -> None:
    noise = dx.classic.planar_laplace(dx.grid((25, 20), spacing=0.5), epsilon=1.5)
    file = noise.save(tmp_path / "noise.npz")
    assert file.stat().st_size < 10_000
    again = dx.Mechanism.load(file)
    assert again.privacy is not None
    assert (again.name, again.privacy.epsilon) == (noise.name, 1.5)
    assert again.row(index=37) == pytest.approx(noise.row(index=37), abs=0)
