"""The server of docs/guides/serving.md, run as it stands there and asked by a real client."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from tests.material.documents import DOCS, ROOT

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
POINTS = [[45.76, 4.83], [45.77, 4.85], [45.75, 4.84]]
STEP = 0.5
HERE, THERE = {"lat": 45.761, "lon": 4.832}, {"lat": 45.7698, "lon": 4.8497}


class Client:
    """Asks a server for reports."""

    def __init__(self, port: int, log: Path) -> None:
        self.port = port
        self.log = log

    def ask(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status and the content of an answer."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/report",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a server with two workers, where each person may spend two reports."""
    folder = tmp_path_factory.mktemp("server")
    text = (DOCS / "guides" / "serving.md").read_text(encoding="utf-8")
    program = re.findall(r"^```py\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)[0]
    (folder / "server.py").write_text(program, encoding="utf-8")
    town = dx.MetricSpace.from_points(POINTS, "haversine", labels=["hall", "park", "port"])
    table = dx.integer_table(dx.classic.exponential(town, epsilon=STEP))
    table.save(folder / "town.dxt")
    dx.Budgets.open(folder / "people.sqlite", create=True, unit="per km", default=2 * table.epsilon).close()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    known = {"TABLE": "town.dxt", "LEDGER": "people.sqlite", "RELEASE": "test", "DXOPT_KEY": "ab" * 32}
    command = [sys.executable, "-m", "uvicorn", "server:app", "--port", str(port), "--workers", "2"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **known, "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=log,
        )
    try:
        asked = Client(port, folder / "log")
        for _ in range(300):
            try:
                asked.ask({})
                break
            except OSError:
                assert server.poll() is None, (folder / "log").read_text()
                time.sleep(0.1)
        yield asked
    finally:
        server.terminate()
        server.wait(timeout=30)


def test_a_report_is_one_of_the_table_and_is_repeated(client: Client) -> None:
    answers = [client.ask({"person": "ann", **HERE}) for _ in range(5)]
    assert answers == [answers[0]] * 5
    status, found = answers[0]
    assert status == 200
    assert found["report"] in ("hall", "park", "port")
    assert [found["lat"], found["lon"]] in POINTS
    assert found["coordinateUncertaintyInMeters"] > 0
    assert set(found) == {"lat", "lon", "report", "epsilon", "coordinateUncertaintyInMeters", "dataGeneralizations"}


def test_who_moves_pays_until_nothing_is_left(client: Client) -> None:
    moves = [HERE, THERE, {"lat": 45.7502, "lon": 4.8401}]
    assert [client.ask({"person": "bob", **place})[0] for place in moves] == [200, 200, 429]
    assert client.ask({"person": "bob", **HERE})[0] == 200
    assert client.ask({"person": "bob", **moves[2]})[1] == {"detail": "no privacy budget left for this"}
    assert "budget: " in client.log.read_text() and "bob" not in client.log.read_text()


def test_many_at_once(client: Client) -> None:
    bodies = [{"person": f"person {i % 8}", **place} for i in range(16) for place in (HERE, THERE)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(client.ask, bodies))
    assert {status for status, _ in answers} == {200}
    seen = {}
    for body, (_, found) in zip(bodies, answers, strict=True):
        assert seen.setdefault((body["person"], body["lat"]), found) == found


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"person": "cem", "lat": 4.832, "lon": 45.761}, 422),
        ({"person": "cem", "lat": 48.85, "lon": 2.35}, 422),
        ({"person": "cem", "lat": "here", "lon": 4.8}, 422),
        ({"lat": 45.761, "lon": 4.832}, 422),
    ],
)
def test_bad_input(client: Client, body: dict[str, Any], status: int) -> None:
    found = client.ask(body)
    assert found[0] == status
    if body.get("lat") == 48.85:
        assert "48.85" not in json.dumps(found[1])
