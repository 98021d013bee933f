"""Table files: read back as they were, proven from their bytes alone, and refused where they were changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.verify import Outcome, verify_all, verify_table
from tests.material.vectors import tables

POSITIONS = [[45.76, 4.83], [45.77, 4.85], [45.75, 4.84]]
SPACES: dict[str, Callable[[], dx.MetricSpace]] = {
    "line": lambda: dx.line(5),
    "grid": lambda: dx.grid((3, 4), spacing=0.5),
    "torus": lambda: dx.torus((4, 4)),
    "product": lambda: dx.product(dx.line(3), dx.line(2)),
    "distances": lambda: dx.MetricSpace.from_distances([[0, 1.5, np.inf], [1.5, 0, np.inf], [np.inf, np.inf, 0]]),
    "globe": lambda: dx.MetricSpace.from_points(POSITIONS, "haversine", labels=["hall", "pårk", "port"]),
    "chebyshev": lambda: dx.MetricSpace.from_points([[0.0, 1.0], [2.0, 2.5]], "chebyshev"),
    "tree": lambda: dx.MetricSpace.from_graph(nx.star_graph(3)),
    "names": lambda: dx.MetricSpace.from_points([["a", "x"], ["b", "x"], ["b", "y"]], "hamming"),
}


def made(name: str) -> dx.IntegerTable:
    space = SPACES[name]()
    mechanism = dx.classic.exponential(space, epsilon=0.7)
    weights = np.arange(1.0, len(space) + 1)
    return dx.integer_table(mechanism, prior=dx.Prior.from_weights(space, weights))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return made("globe").save(tmp_path / "table.dxt")


@pytest.mark.parametrize("name", SPACES)
def test_is_read_back_and_proven_from_its_bytes(name: str, tmp_path: Path) -> None:
    table = made(name)
    file = table.save(tmp_path / "table.dxt")
    read = dx.IntegerTable.load(file)
    assert read.counts.tolist() == table.counts.tolist()
    fields = ("bits", "epsilon", "delta", "pairs", "cost", "variation", "name", "digest", "head")
    assert all(getattr(read, field) == getattr(table, field) for field in fields)
    assert read.space.structure.kind == ("general" if name == "tree" else table.space.structure.kind)
    assert np.array_equal(read.space.distances, table.space.distances)
    assert read.prior is not None
    assert table.prior is not None
    assert read.prior.tolist() == table.prior.tolist()
    assert read.save(tmp_path / "again.dxt").read_bytes() == file.read_bytes()
    verdict = verify_table(file)
    assert verdict.outcome is Outcome.HOLDS, str(verdict)
    assert [check.name for check in verdict.checks] == [
        "digest", "names", "distances", "rows", "privacy", "prior",
    ]  # fmt: skip


def test_delta_and_wide_numbers(tmp_path: Path) -> None:
    table = tables()["wide"]
    file = table.save(tmp_path / "wide.dxt")
    assert verify_table(file).outcome is Outcome.HOLDS
    read = dx.IntegerTable.load(file)
    assert (read.bits, read.delta, read.counts.tolist()) == (128, 2.0**-100, table.counts.tolist())
    assert np.isnan(read.cost)
    assert read.prior is None


def test_a_unit_that_the_file_does_not_say_leaves_the_digest(tmp_path: Path) -> None:
    space = dx.MetricSpace.from_distances([[0, 1, 2], [1, 0, 1], [2, 1, 0]], unit="people")
    table = dx.integer_table(dx.classic.exponential(space, epsilon=0.5))
    table.save(tmp_path / "a.dxt")
    assert dx.IntegerTable.load(tmp_path / "a.dxt").digest == table.digest


def test_a_result_folder_has_one(tmp_path: Path) -> None:
    report = dx.solve(dx.Problem(dx.line(4), epsilon=1.0, prior=[0.1, 0.2, 0.3, 0.4]))
    table = dx.IntegerTable.load(report.save(tmp_path / "result"))
    assert table.prior is not None
    assert table.prior.tolist() == [0.1, 0.2, 0.3, 0.4]
    (tmp_path / "result" / "table.dxt").unlink()
    with pytest.raises(dx.SpecError, match=r"table: .*result has none: "):
        dx.IntegerTable.load(tmp_path / "result")
    said = tmp_path / "result" / "claims.json"
    content = json.loads(said.read_text(encoding="utf-8"))
    said.write_text(json.dumps(content | {"table": "n²·m is over 50,000,000"}), encoding="utf-8")
    with pytest.raises(dx.SpecError, match=r"make it by `dxopt table .*make_table"):
        dx.IntegerTable.load(tmp_path / "result")
    with pytest.raises(dx.SpecError, match="has none: it is no result folder"):
        dx.IntegerTable.load(tmp_path)


Change = Callable[[dict[str, Any], bytearray], object]


def rewritten(file: Path, change: Change) -> Path:
    """The file with a changed head or body, and the digest that belongs to it."""
    written = file.read_bytes()
    length = int.from_bytes(written[8:16], "little")
    head = json.loads(written[16 : 16 + length])
    body = bytearray(written[16 + length : -32])
    change(head, body)
    text = json.dumps(head, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    changed = written[:8] + len(text).to_bytes(8, "little") + text + body
    file.write_bytes(changed + hashlib.sha256(changed).digest())
    return file


def _less_private(head: dict[str, Any], body: bytearray) -> None:
    head["epsilon"] *= 0.9


def _nearer(head: dict[str, Any], body: bytearray) -> None:
    first, size = head["sections"]["distances"]
    body[first : first + size] = (np.frombuffer(body[first : first + size]) * 0.99).tobytes()


def _moved(head: dict[str, Any], body: bytearray) -> None:
    head["secret_points"][0][0] += 0.1
    head["report_points"][0][0] += 0.1


def _step(head: dict[str, Any], body: bytearray) -> None:
    first, _ = head["sections"]["steps"]
    body[first] ^= 0x40


def _falling(head: dict[str, Any], body: bytearray) -> None:
    first, _ = head["sections"]["steps"]
    body[first : first + 8], body[first + 8 : first + 16] = body[first + 8 : first + 16], body[first : first + 8]


def _twice(head: dict[str, Any], body: bytearray) -> None:
    first, _ = head["sections"]["reports"]
    body[first : first + 4] = body[first + 4 : first + 8]


def _prior(head: dict[str, Any], body: bytearray) -> None:
    first, _ = head["sections"]["prior"]
    body[first : first + 8] = np.array([0.9]).tobytes()


def _renamed(head: dict[str, Any], body: bytearray) -> None:
    head["secrets"][0] = head["reports"][0] = "elsewhere"


def _reports(head: dict[str, Any], body: bytearray) -> None:
    head["reports"][0] = "elsewhere"


def _overlapping(head: dict[str, Any], body: bytearray) -> None:
    head["sections"]["prior"] = head["sections"]["distances"]


def _metric(head: dict[str, Any], body: bytearray) -> None:
    head["metric"] = "euclidean"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (_less_private, "privacy"),
        (_nearer, "distances"),
        (_moved, "names"),
        (_step, "privacy"),
        (_falling, "rows"),
        (_twice, "rows"),
        (_prior, "prior"),
        (_renamed, "names"),
        (_reports, "names"),
        (_overlapping, "file"),
        (_metric, "names"),
        (lambda head, body: head.update(unit="m"), "names"),
        (lambda head, body: head.update(extra=1), "file"),
        (lambda head, body: head.update(version=2), "file"),
        (lambda head, body: head.update(bits=72), "file"),
        (lambda head, body: head.pop("space"), "file"),
        (lambda head, body: head.update(delta=-1.0), "privacy"),
        (lambda head, body: head.update(delta=1.5), "privacy"),
        (lambda head, body: head.update(pairs="none"), "privacy"),
        (lambda head, body: body.extend(bytes(8)), "file"),
    ],
)
def test_a_forged_file_is_found_out(file: Path, change: Change, name: str) -> None:
    verdict = verify_all(rewritten(file, change))
    assert verdict.exit_code == 1
    assert name in [check.name for check in verdict.checks if check.status is Outcome.FAILS], str(verdict)  # pyright: ignore


def test_every_changed_byte_is_found(file: Path) -> None:
    written = file.read_bytes()
    for place in range(0, len(written), 7):
        changed = bytearray(written)
        changed[place] ^= 0x10
        file.write_bytes(changed)
        assert verify_table(file).exit_code == 1
        with pytest.raises(dx.SpecError):
            dx.IntegerTable.load(file)


@pytest.mark.parametrize("length", [0, 5, 40, 300, -1])
def test_a_file_that_was_cut_off(file: Path, length: int) -> None:
    file.write_bytes(file.read_bytes()[:length])
    assert verify_table(file).exit_code == 1
    with pytest.raises(dx.SpecError, match="table: "):
        dx.IntegerTable.load(file)


def test_a_table_that_is_not_private_is_not_loaded(file: Path) -> None:
    with pytest.raises(dx.CertificateError, match="told apart"):
        dx.IntegerTable.load(rewritten(file, _less_private))


@pytest.mark.parametrize(
    "change",
    [
        lambda head, body: head.update(delta=-1.0),
        lambda head, body: head.update(delta=1.5),
        lambda head, body: head.update(epsilon=1e999),
        lambda head, body: head.update(bits=72),
        lambda head, body: head.update(bits=128),
        lambda head, body: head.update(version=2),
        lambda head, body: head["reports"].pop(),
        lambda head, body: head.pop("space"),
        _falling,
    ],
)
def test_a_forged_file_is_not_loaded(file: Path, change: Change) -> None:
    with pytest.raises(dx.SpecError):
        dx.IntegerTable.load(rewritten(file, change))


def test_a_delta_of_less_is_not_loaded(tmp_path: Path) -> None:
    delta = 2.0**-10
    claim = dx.Privacy(1e-3, "by hand", delta)
    matrix = [[1 - delta, delta, 0.0], [1 - delta, 0.0, delta]]
    mechanism = dx.Mechanism.from_matrix(dx.line(2), matrix, dx.Reports.at([[0.0], [0.5], [1.0]]), privacy=claim)
    file = dx.integer_table(mechanism).save(tmp_path / "table.dxt")
    assert dx.IntegerTable.load(file).delta == delta
    with pytest.raises(dx.CertificateError):
        dx.IntegerTable.load(rewritten(file, lambda head, body: head.update(delta=head["delta"] / 1.01)))


@pytest.mark.parametrize("name", ["file/table.dxt", f"{'x' * 300}.dxt", "missing/table.dxt", "table.txt"])
def test_files_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(dx.SpecError) as refused:
        tables()["wide"].save(tmp_path / name)
    assert refused.value.field == "file"


def test_the_copy_in_a_script_only_draws(file: Path) -> None:
    file.write_bytes(made("globe").encoded(small=True))
    with pytest.raises(dx.SpecError, match="source is another file"):
        dx.IntegerTable.load(file)
    assert verify_table(file).exit_code == 1


def test_the_commands(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call = CliRunner().invoke
    for to, ending in (("js", "js"), ("sql", "sql"), ("duckdb", "duckdb.sql"), ("json", "json"), ("dxt", "dxt")):
        done = call(app, ["export", "table.dxt", "--to", to])
        assert (done.exit_code, done.stdout) == (0, f"exponential-mechanism.{ending}\n"), done.output
    assert (tmp_path / "exponential-mechanism.dxt").read_bytes() == file.read_bytes()
    content = json.loads((tmp_path / "exponential-mechanism.json").read_text())
    table = dx.IntegerTable.load(file)
    assert content["sha256"] == table.digest
    firsts = [int(first, 16) for first in content["rows"][1]["from"]]
    assert np.diff([*firsts, table.total]).tolist() == table.counts[1].tolist()
    again = call(app, ["export", "table.dxt", "--to", "js"])
    assert (again.exit_code, "is there already" in again.stderr) == (2, True)
    assert call(app, ["export", "table.dxt", "--to", "js", "--force"]).exit_code == 0
    for arguments, message in (
        (["export", "table.dxt", "--to", "perl"], "to: is 'perl'; choose one of js"),
        (["export", "nowhere.dxt", "--to", "js"], "nowhere.dxt does not exist; check the name"),
        (["export", "nowhere", "--to", "js"], "nowhere"),
        (["export", "table.dxt", "--to", "js", "-o", "no/folder.js"], "output: there is no folder no"),
        (["verify", "nowhere.dxt"], "table: nowhere.dxt is no file"),
    ):
        done = call(app, arguments)
        assert done.exit_code == 2
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "no").exists()
    assert call(app, ["verify", "table.dxt"]).exit_code == 0
    assert call(app, ["verify", str(rewritten(file, _less_private))]).exit_code == 1
