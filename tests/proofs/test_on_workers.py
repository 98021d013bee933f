"""Products and closures by workers: the same bits as here, whoever dies on the way."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxopt.errors import CertificateError
from dxopt.numerics import tropical
from dxopt.proofs import on_workers
from dxopt.runtime.cluster import current, using
from tests.material.batches import gone
from tests.material.clusters import cluster

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

WIDTH = 5


@pytest.fixture
def returned(monkeypatch: pytest.MonkeyPatch) -> list[slice]:
    """The blocks that workers return: of few columns, from one product on."""
    monkeypatch.setattr(on_workers, "_FROM", 1)
    monkeypatch.setattr(on_workers, "_WIDTH", WIDTH)
    blocks: list[slice] = []
    collected = on_workers._from_workers

    def noted(*arguments: Any) -> Iterator[tuple[slice, Any]]:
        for block, made in collected(*arguments):
            blocks.append(block)
            yield block, made

    monkeypatch.setattr(on_workers, "_from_workers", noted)
    return blocks


def matrices() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two factors, and the second one closed under distances of a line, which are the third."""
    generator = np.random.default_rng(3)
    factors = np.exp(-np.abs(np.subtract.outer(np.arange(23.0), np.arange(23.0))))
    return generator.random((23, 23)), generator.random((23, 17)), factors


def test_blocks_come_from_workers_and_what_dies_with_them_is_made_here(tmp_path: Path, returned: list[slice]) -> None:
    left, right, factors = matrices()
    product, closed = tropical.product(left, right), tropical.close(right, factors)
    assert on_workers.product(left, right).tobytes() == product.tobytes()
    assert not returned  # without a cluster
    with cluster(tmp_path) as (address, _, workers), using(address):
        opened = current()
        assert opened is not None
        assert on_workers.product(left, right).tobytes() == product.tobytes()
        assert not returned  # as nobody has opened it
        client = opened.client()
        assert on_workers.product(left, right).tobytes() == product.tobytes()
        assert sorted(block.start for block in returned) == [0, 5, 10, 15]
        returned.clear()
        assert on_workers.close(right, factors).tobytes() == closed.tobytes()
        assert len(returned) == 4

        # what a worker cannot do is an error here
        with pytest.raises(CertificateError):
            on_workers.close(np.ones((2, 9)), np.array([[1.0, 1.1], [1.1, 1.0]]))

        returned.clear()
        for worker in workers:
            os.kill(worker.pid, signal.SIGKILL)
        assert gone([worker.pid for worker in workers])
        assert on_workers.product(left, right).tobytes() == product.tobytes()
        assert client.status == "running"
        assert not returned
