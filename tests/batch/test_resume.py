"""Batches taken up again after a kill, a change, another version or a full disk: nothing finished is lost."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt import batch
from dxopt.batch import perform as performing
from dxopt.batch.jobs import Job, jobs_of
from dxopt.batch.resume import finished_before
from dxopt.cli.application import app
from dxopt.errors import SpecError
from dxopt.runtime.stopping import Status
from dxopt.verify import verify
from tests.material.batches import FAMILY, SMALL, arrays, start, times, told, write


@pytest.mark.full
def test_what_a_kill_left_is_resumed(tmp_path: Path) -> None:
    texts = {f"p{index}": FAMILY.replace("0.5", f"0.{index + 1}") for index in range(6)}
    files = write(tmp_path, **texts)
    whole = batch.run_apart(files, tmp_path / "whole")
    rng = np.random.default_rng(5)
    kept: set[str] = set()
    for _ in range(3):
        running = start(tmp_path, "-j", "2", "--resume")
        time.sleep(2.2 + rng.random())
        running.kill()
        running.communicate()
        folders = {path.name for path in (tmp_path / "out").glob("p*") if (path / "claims.json").is_file()}
        assert kept <= folders
        kept = folders
        for name in folders:
            dx.load(tmp_path / "out" / name)
    before, recorded = times(tmp_path / "out"), {path.parent.name for path in (tmp_path / "out").glob("*/input.json")}
    again = batch.run_apart(files, tmp_path / "out", workers=2, resume=True)
    after = times(tmp_path / "out")
    assert {name for name in before if before[name] == after[name]} == recorded
    assert [line.folder for line in again.lines] == [line.folder for line in whole.lines]
    assert told(tmp_path / "out") == told(tmp_path / "whole")
    assert arrays(tmp_path / "out") == arrays(tmp_path / "whole")
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


def test_what_was_moved_away_is_put_back_and_what_is_half_written_goes(tmp_path: Path) -> None:
    files, out = write(tmp_path, a=SMALL), tmp_path / "out"
    batch.run_apart(files, out)
    before = times(out)
    (out / ".a-abcdef01").mkdir()
    (out / "a").replace(out / ".a-abcdef01" / "old")
    (out / ".a-01234567").mkdir()
    (out / ".a-01234567" / "claims.json").write_text("{", encoding="utf-8")
    (out / ".mine-01234567").mkdir()
    (out / ".a.lock").touch()
    outcome = batch.run_apart(files, out, resume=True)
    assert outcome.notes == ["1 of 1 were finished before"]
    assert times(out) == before
    assert sorted(path.name for path in out.iterdir()) == [".mine-01234567", "a", "summary.json", "summary.md"]


def test_resume_does_again_what_has_changed_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "town.csv").write_text("x\n0\n1\n3\n", encoding="utf-8")
    data = "space: {kind: points, file: town.csv, columns: [x]}\nepsilon: 1\n"
    files = write(tmp_path, a=SMALL, b=data, c=SMALL, d=FAMILY)
    out = tmp_path / "out"

    def redone(**options: Any) -> set[str]:
        before = times(out)
        outcome = batch.run_apart(files, out, resume=True, **options)
        assert outcome.exit_code in (0, 1)
        after = times(out)
        count = sum(before[name] == after[name] for name in before)
        assert outcome.notes[:1] == ([f"{count} of 7 were finished before"] if count else [])
        return {name for name in after if before.get(name) != after[name]}

    assert len(redone()) == 7
    first = told(out)
    assert redone() == set()
    assert told(out) == first
    (tmp_path / "town.csv").write_text("x\n0\n1\n4\n", encoding="utf-8")
    assert redone() == {"b"}
    write(tmp_path, c=SMALL.replace("1.0", "2.0"))
    assert redone() == {"c"}
    assert len(redone(overrides=batch.Overrides(tolerance=1e-5))) == 7
    shutil.rmtree(out / "a")
    assert redone(overrides=batch.Overrides(tolerance=1e-5)) == {"a"}


LEVELS = "space: {kind: line, size: 2}\nepsilon: {from: 1/2, to: 2, resolution: 0.2}\n"
SPOIL: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "other bit": lambda file: file.write_bytes(bytes([file.read_bytes()[0] ^ 1]) + file.read_bytes()[1:]),
}
"""What a crash of the machine, or somebody, does to a file."""


@pytest.mark.parametrize("status", [Status.INTERRUPTED, Status.TIME_LIMIT])
@pytest.mark.parametrize(("gap", "delivered", "stays"), [(0.0, True, True), (0.3, False, True), (0.9, False, False)])
def test_a_stopped_run_keeps_a_finished_result_that_is_as_good(
    gap: float, delivered: bool, stays: bool, status: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, folder = write(tmp_path, a=SMALL), tmp_path / "out" / "a"
    batch.run(paths, tmp_path / "out")
    record = json.loads((folder / "input.json").read_text(encoding="utf-8"))
    record["line"] |= {"gap": gap, "delivered": delivered}
    (folder / "input.json").write_text(json.dumps(record), encoding="utf-8")
    before = (folder / "input.json").read_bytes()
    answer = performing.answer_task

    def stopped(*asked: Any) -> Any:
        report: Any = answer(*asked)
        certificate = replace(report.certificate, bound=report.certificate.value / 2, gap=0.5)
        return replace(report, status=status, certificate=certificate)

    monkeypatch.setattr(performing, "answer_task", stopped)
    outcome = batch.run(paths, tmp_path / "out")
    assert [line.status for line in outcome.lines] == [str(status)]
    assert outcome.exit_code == 1
    assert ((folder / "input.json").read_bytes() == before) == stays
    assert len(outcome.errors) == stays


def test_a_result_that_has_lost_something_is_not_finished(tmp_path: Path) -> None:
    files, out = write(tmp_path, a=SMALL, b=LEVELS), tmp_path / "out"
    batch.run(files, out)
    jobs = [job for job, _ in jobs_of(files, out, batch.Overrides(), force=True) if isinstance(job, Job)]
    assert len(jobs) == 2
    for job in jobs:
        assert finished_before(job) is not None
        names = [path for path in job.folder.rglob("*") if path.is_file()]
        assert {"input.json", "digests.json", "table.dxt"} <= {path.name for path in names}
        for path in names:
            content = path.read_bytes()
            for kind, spoil in SPOIL.items():
                spoil(path)
                assert (finished_before(job) is None) == (kind == "gone" or path.read_bytes() != content), (
                    path,
                    kind,
                )
                path.write_bytes(content)
        (job.folder / "mine.txt").write_text("kept")
        assert finished_before(job) is not None


def test_what_a_crash_of_the_machine_leaves_is_done_again(tmp_path: Path) -> None:
    files, out = write(tmp_path, a=SMALL, b=SMALL), tmp_path / "out"
    batch.run(files, out)
    for name in ("mechanism.npz", "table.dxt", "input.json"):
        (out / "a" / name).write_bytes(b"")
    outcome = batch.run_apart(files, out, resume=True)
    assert (outcome.notes[0], outcome.exit_code) == ("1 of 2 were finished before", 0)
    assert all(verify(out / name).exit_code == 0 for name in "ab")


def test_results_of_another_version_are_told_and_kept_until_there_are_new_ones(tmp_path: Path) -> None:
    files = write(tmp_path, a=SMALL, b=SMALL)
    out = tmp_path / "out"
    batch.run_apart(files, out)
    for name in "ab":
        record = json.loads((out / name / "input.json").read_text(encoding="utf-8"))
        (out / name / "input.json").write_text(json.dumps(record | {"version": "0.0.9"}), encoding="utf-8")
    write(tmp_path, a="space: 7\n")
    before = times(out)
    outcome = batch.run_apart(files, out, resume=True)
    assert outcome.notes == ["1 earlier results are of dxopt 0.0.9, and were asked for again"]
    after = times(out)
    assert before["a"] == after["a"]
    assert before["b"] != after["b"]
    assert dx.load(out / "a").certificate.private


def test_an_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    write(tmp_path, a=SMALL, b=SMALL)
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    done = CliRunner().invoke(app, ["batch", str(tmp_path), "-o", str(tmp_path / "file")])
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line == f"output: {tmp_path / 'file'} cannot be written: File exists; name another folder"
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_a_full_disk_keeps_earlier_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write(tmp_path, a=SMALL, b=SMALL)
    out = tmp_path / "out"
    batch.run(files, out)
    before = times(out)

    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    outcome = batch.run(files, out)
    assert [line.status for line in outcome.lines] == ["failed", "failed"]
    room = "cannot be written: No space left on device; make room or name another"
    assert outcome.errors == [f"{name}: {out / name} {room}" for name in "ab"]
    assert times(out) == before
    assert sorted(path.name for path in out.iterdir()) == ["a", "b"]


@pytest.mark.full
def test_a_disk_that_fills_up_loses_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=320k", "tmpfs", str(out)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        files = write(tmp_path, **{f"p{index:02d}": SMALL for index in range(12)})
        outcome = batch.run_apart(files, out, workers=2)
        saved = set(times(out))
        assert 0 < len(saved) < 12
        assert outcome.exit_code == 1
        full = r"cannot be written: No space left on device; make room or name another"
        assert len(outcome.errors) == 12 - len(saved)
        assert all(re.fullmatch(rf"p\d\d: \S+ {full}", error) for error in outcome.errors)
        with (tmp_path / "out" / "more").open("wb", buffering=0) as more, suppress(OSError):
            while more.write(bytes(4096)):
                pass
        with pytest.raises(SpecError, match=rf"^output: \S+summary.json {full}$"):
            batch.run_apart(files, out, workers=2, resume=True)
        assert set(times(out)) == saved
        for name in saved:
            assert dx.load(out / name).certificate.private
        assert not [path for path in out.iterdir() if path.name.startswith(".")]
        subprocess.run(["mount", "-o", "remount,size=4m", str(out)], check=True)
        outcome = batch.run_apart(files, out, workers=2, resume=True)
        assert outcome.exit_code == 0
        assert len(times(out)) == 12
    finally:
        subprocess.run(["umount", str(out)], check=True)


def test_two_batches_do_not_write_to_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = importlib.import_module("dxopt.batch.run")
    monkeypatch.setattr(batches, "PATIENCE", 0.2)
    files = write(tmp_path, a=SMALL)
    with batches.hold(tmp_path / "out"), pytest.raises(SpecError, match="another batch is writing"):
        batch.run_apart(files, tmp_path / "out")
    assert batch.run_apart(files, tmp_path / "out").exit_code == 0
