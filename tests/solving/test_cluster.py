"""One solve on a cluster: the same answer as here, whoever dies on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import dxopt as dx
from dxopt.errors import SpecError
from dxopt.results.report import Report
from dxopt.runtime.cluster import open_client, using
from dxopt.solving.solvers.columns.forest import Forest
from dxopt.solving.solvers.columns.pricing_backend import OnWorkers
from tests.material.batches import below, gone
from tests.material.clusters import cluster
from tests.material.studies import studies

pytest.importorskip("distributed")
pytest.importorskip("cryptography")


def town(size: int, **how: object) -> dx.Problem:
    """Random places, of which few have most of the weight."""
    generator = np.random.default_rng(7)
    space = dx.MetricSpace.from_points(generator.uniform(0, 5, (size, 2)), "euclidean")
    prior = dx.Prior.from_weights(space, generator.pareto(1.2, size) + 0.01)
    return dx.Problem(space, epsilon=1.0, prior=prior, loss="distance", **how)  # type: ignore[arg-type]


def same(one: Report, other: Report) -> bool:
    """Bit for bit."""
    mechanisms = one.mechanism.matrix.tobytes() == other.mechanism.matrix.tobytes()
    return mechanisms and one.certificate == other.certificate and one.route == other.route


@pytest.mark.full
def test_the_answer_is_the_same_and_workers_that_die_lose_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = [town(12), town(8, objective="worst_loss")]
    small = town(8)
    columns: dict[str, Any] = {"solver": "columns", "tolerance": 1e-3}
    with cluster(tmp_path) as (address, _, workers):
        # 1. an address for each solve, or for whatever is solved meanwhile
        for problem in problems:
            assert same(dx.solve(problem, **columns), dx.solve(problem, **columns, cluster=address))
        with using(address):
            there = dx.sweep(small, [1.0], solver="columns", tolerance=1e-3)
        assert same(there.reports[0], dx.solve(small, **columns))

        # 2. one worker is killed in the middle of a solve, and later the other one
        monkeypatch.setattr("dxopt.solving.solvers.columns.pricing_backend._QUIET", 0.3)
        lines: list[str] = []

        def told(line: str) -> None:
            lines.append(line)
            for number, worker in enumerate(workers):
                if f"column generation, round {3 + 4 * number}:" in line:
                    os.kill(worker.pid, signal.SIGKILL)

        larger = town(30)
        found = dx.solve(larger, **columns, cluster=address, progress=told)
        assert same(found, dx.solve(larger, **columns))
        lost = lines.index("the cluster is lost; reports are priced here")
        assert any("column generation, round 4:" in line for line in lines[:lost])

        # 3. a scheduler without workers is of no use
        monkeypatch.setattr("dxopt.runtime.cluster.FIRST_WORKER", 0.3)
        with pytest.raises(SpecError, match="has too few workers; start"):
            dx.solve(small, solver="columns", cluster=address)


@pytest.mark.full
def test_a_cluster_here_stops_when_asked(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    rows = [
        f"{x},{y},{w}" for x, y, w in zip(*generator.uniform(0, 9, (2, 200)), generator.pareto(1.2, 200), strict=True)
    ]
    (tmp_path / "places.csv").write_text("\n".join(["x,y,weight", *rows]), encoding="utf-8")
    (tmp_path / "town.yaml").write_text(
        "space: {kind: points, file: places.csv, columns: [x, y], metric: euclidean}\nepsilon: 1\n"
        "prior: {kind: column, column: weight}\nsolver: columns\ntolerance: 1.0e-9\n",
        encoding="utf-8",
    )
    running = subprocess.Popen(
        [sys.executable, "-m", "dxopt.cli", "solve", "town.yaml", "--cluster", "local:2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stderr is not None
    assert any("looking for symmetry" in line or "column generation" in line for line in running.stderr)
    until = time.monotonic() + 30
    while len(processes := below(running.pid)) < 2 and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(2)
    os.killpg(running.pid, signal.SIGINT)
    began = time.monotonic()
    stdout, stderr = running.communicate(timeout=60)
    assert time.monotonic() - began < 15
    assert running.returncode == 1
    assert "interrupted" in stdout
    assert "Traceback" not in stderr
    assert gone(processes)


@pytest.mark.parametrize("address", ["local:none", "local:0", "here", "", 3])
def test_a_bad_address_is_named(address: str) -> None:
    with pytest.raises(SpecError, match=r"^cluster: "):
        dx.solve(town(5), cluster=address)


def test_all_that_solve_take_a_cluster() -> None:
    for ask in studies(town(5)):
        with pytest.raises(SpecError, match=r"^cluster: "):
            ask({"cluster": "here"})


def test_a_scheduler_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dxopt.runtime.cluster.TIMEOUT", 0.3)
    with pytest.raises(SpecError, match=r"^cluster: "):
        dx.solve(town(5), solver="columns", cluster="127.0.0.1:1")


def test_a_worker_here_that_dies_is_replaced() -> None:
    problem = town(10)
    with open_client("local:1") as client:
        first = client.run(os.getpid)
        # whoever reaches a worker may let it run anything: nobody from elsewhere does
        listening = [
            one.laddr.ip
            for process in (os.getpid(), *first.values())
            for one in psutil.Process(process).net_connections("inet")
            if one.status == psutil.CONN_LISTEN
        ]
        assert len(listening) >= 2 and set(listening) == {"127.0.0.1"}
        os.kill(next(iter(first.values())), signal.SIGKILL)
        workers = OnWorkers(client)
        trees = Forest.of(np.ascontiguousarray(problem.costs.T), np.exp(-problem.budgets))
        workers.price(trees, np.zeros(10), 10, lambda: False)  # by nobody
        until = time.monotonic() + 30
        while not set(client.nthreads()) - set(first) and time.monotonic() < until:
            time.sleep(0.1)
        assert len(set(client.nthreads()) - set(first)) == 1
        process = next(iter(client.run(os.getpid).values()))
    assert gone([process])


@pytest.mark.full
def test_who_has_not_the_key_of_a_cluster_here_cannot_connect() -> None:
    """Neither to the scheduler nor to a worker, in the clear or with a key of their own."""
    from distributed import Security
    from distributed.comm.core import connect

    async def reached(address: str, security: Security) -> bool:
        try:
            comm = await connect(address, timeout=2, **security.get_connection_args("client"))
        except OSError:
            return False
        await comm.close()
        return True

    with open_client("local:1") as client:
        places = [client.scheduler.address, *client.scheduler_info()["workers"]]
        for place in places:
            assert place.startswith("tls://127.0.0.1:")
            assert not client.sync(reached, place, Security.temporary())
            assert not client.sync(reached, place.replace("tls:", "tcp:"), Security())
            assert client.sync(reached, place, client.security)
        assert client.submit(sum, [1, 2]).result() == 3
