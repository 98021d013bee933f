"""Batches on a cluster: a real scheduler, and workers in processes of their own."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from dxopt import batch
from dxopt.errors import SpecError
from tests.material.batches import FAMILY, SMALL, arrays, below, gone, start, told, write
from tests.material.clusters import cluster

pytest.importorskip("distributed")
pytest.importorskip("cryptography")
LONGER = "space: {kind: grid, shape: [12, 12]}\nepsilon: 0.1\nmethod: optimal\n"


@pytest.mark.full
def test_a_worker_that_dies_changes_nothing_and_a_lost_cluster_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write(tmp_path, a=LONGER, b=FAMILY, c="space: 7\n", d=SMALL, e=LONGER.replace("0.1", "0.2"), f=SMALL)
    batch.run_apart(files, tmp_path / "here")
    killed: list[int] = []
    with cluster(tmp_path) as (address, scheduler, workers):

        def settled(line: object, count: int, of: int) -> None:
            busy = [worker for worker in workers if below(worker.pid)]
            if not killed and busy:
                killed.extend([busy[0].pid, *below(busy[0].pid)])
                os.kill(busy[0].pid, signal.SIGKILL)

        outcome = batch.run_apart(files, tmp_path / "there", cluster=address, settled=settled)
        assert len(killed) >= 2
        assert gone(killed[1:])
        monkeypatch.setattr("dxopt.runtime.cluster.TIMEOUT", 0.5)
        two = [tmp_path / "d.yaml", *write(tmp_path, z=LONGER.replace("12, 12", "28, 28"))[-1:]]
        lost = batch.run_apart(
            two, tmp_path / "lost", cluster=address, settled=lambda line, count, of: scheduler.kill()
        )
        assert [line.status for line in lost.lines] == ["optimal", "failed"]
        assert lost.errors == ["z: the cluster was lost"]
    assert outcome.exit_code == 2
    assert told(tmp_path / "there") == told(tmp_path / "here")
    assert arrays(tmp_path / "there") == arrays(tmp_path / "here") != {}
    assert not [path for path in (tmp_path / "there").iterdir() if path.name.startswith(".")]


def test_a_cluster_here_stops_when_asked(tmp_path: Path) -> None:
    for name, text in {"a": SMALL, "b": LONGER.replace("12, 12", "28, 28"), "c": SMALL, "d": SMALL}.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    running = start(tmp_path, "--cluster", "local:1")
    assert running.stderr is not None
    assert any("a: optimal" in line for line in running.stderr)
    time.sleep(3)
    processes = below(running.pid)
    os.killpg(running.pid, signal.SIGINT)
    _, stderr = running.communicate(timeout=60)
    assert running.returncode == 1
    statuses = [line["status"] for line in told(tmp_path / "out")["problems"]]
    assert statuses == ["optimal", "interrupted", "not started", "not started"]
    assert "Traceback" not in stderr
    assert gone(processes)


@pytest.mark.parametrize("address", ["local:none", "local:0", "local:²", "here", "3", ""])
def test_a_bad_address_is_named(tmp_path: Path, address: str) -> None:
    with pytest.raises(SpecError, match=f"cluster: is '{address}'; write local:4, or"):
        batch.run_apart(write(tmp_path, a=SMALL), tmp_path / "out", cluster=address)
