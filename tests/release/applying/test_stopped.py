"""Runs that are stopped at every step of writing: nothing half is seen, and the same call pays for no row twice."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from dxopt.release.applying import formats
from dxopt.release.applying.files import digest_of, held
from dxopt.release.budgets import budgets, ledger_file
from tests.material.carriers import TEXT, csv_of
from tests.material.people import counts

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore")

ROWS: dict[str, list[Any]] = {"person": ["ann", "bob", "ann", "cem", "dee"], "beds": [1, 2, 3, 4, 5]}
LEVEL = counts().epsilon
FILES = [form for form in TEXT if form in ("csv", "geojson", "parquet")]
FRAMES = [form for form in TEXT if form not in FILES and not form.startswith("parquet")]
STEPS: dict[str, tuple[Any, str]] = {
    "fsync": (os, "fsync"),
    "replace": (os, "replace"),
    "begin": (dx.Budgets, "begin"),
    "charge": (dx.Budgets, "_charge"),
    "finish": (dx.Budgets, "finish"),
}
"""Functions at whose calls a run is stopped."""
KEY = dx.Key(bytes(range(32)))


class Stops:
    """Stop a run just before or just after the call of this number, of those to the functions above."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int, when: str, how: Callable[[], None]) -> None:
        self.calls: list[str] = []
        for name, (owner, attribute) in STEPS.items():
            patch.setattr(owner, attribute, self._counted(name, getattr(owner, attribute)))
        self._at, self._when, self._how = at, when, how

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.calls.append(name)
            number = len(self.calls) - 1
            if (number, self._when) == (self._at, "before"):
                self._how()
            found = real(*arguments, **options)
            if (number, self._when) == (self._at, "after"):
                self._how()
            return found

        return call


def interrupted() -> None:
    raise KeyboardInterrupt


def full() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def killed() -> None:
    os._exit(9)


@pytest.fixture(autouse=True)
def chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are paid for in twos."""
    monkeypatch.setattr(formats, "ROWS", 2)


def opened(folder: Path) -> dx.Budgets:
    ledger = dx.Budgets.open(folder / "ledger.sqlite", create=True, default=100)
    ledger._file._db.execute("PRAGMA synchronous = OFF")  # pyright: ignore[reportPrivateUsage]
    return ledger


def apply(data: Any, output: Any, ledger: dx.Budgets | None, **options: Any) -> Any:
    person = None if ledger is None else "person"
    return dx.apply(counts(), data, output, column="beds", within=0, person=person, ledger=ledger, **options)


def composed(ledger: dx.Budgets, person: str) -> tuple[int, ...]:
    """How many draws from the table each entry of a person's composition has."""
    return ledger.composed(person, {one.release: counts() for one in ledger.history(person)}).counts


def hidden(folder: Path) -> set[str]:
    """The hidden files of a folder, without the part of their names that tells runs apart."""
    names = (path.name for path in folder.iterdir() if path.name.startswith("."))
    return {re.sub(r"\.[0-9a-f]{12}(?=\.part$)", "", name) for name in names}


def belong(output: Path) -> bool:
    """Whether an output and its sidecar belong together."""
    sidecar = output.with_name(f"{output.name}.dxopt.json")
    return json.loads(sidecar.read_text(encoding="utf-8"))["output"]["sha256"] == digest_of(output)


def stopped(
    folder: Path, form: str, at: int, when: str, how: Callable[[], None], *, pays: bool, older: bool
) -> tuple[str | None, BaseException | None]:
    """Stop a run at a step, judge what it leaves, call it again, and judge that; return the step and the error.

    Return None where there are fewer steps.
    """
    folder.mkdir()
    data = TEXT[form](folder, ROWS)
    output = folder / f"out{data.suffix}"
    sidecar = output.with_name(f"{output.name}.dxopt.json")
    if older:
        apply(data, output, None)
    before = (output.read_bytes(), sidecar.read_bytes()) if older else None

    def run() -> None:
        if not pays:
            apply(data, dx.Output(output, force=older), None)
            return
        with opened(folder) as ledger:
            apply(data, dx.Output(output, force=older), ledger)

    step = error = None
    with pytest.MonkeyPatch.context() as patch:
        stops = Stops(patch, at, when, how)
        if how is killed:
            if not (child := os.fork()):
                run()
                os._exit(0)
            if not os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
                return None, None
            step = str(at)
        else:
            try:
                run()
                return None, None
            except (KeyboardInterrupt, dx.SpecError) as caught:
                step, error = stops.calls[at], caught

    new = output.exists() and (before is None or output.read_bytes() != before[0])
    if new:
        assert belong(output)
    elif older and step != "replace" and how is not killed:
        assert (output.read_bytes(), sidecar.read_bytes()) == before
    if how is not killed:
        assert not hidden(folder) - {f".{output.name}.part", f".{sidecar.name}.part"}
        if not pays:
            assert not hidden(folder)
    if not new:
        run()
    assert belong(output)
    assert not hidden(folder) or (new and how is killed)
    with opened(folder) as ledger:
        if pays:
            assert ledger.account("ann").spent == 2 * LEVEL
            assert ledger.totals().unfinished == ()
            assert composed(ledger, "ann") == (2,)
        ledger.check()
    return step, error


HOW = [interrupted, full, pytest.param(killed, marks=pytest.mark.skipif(sys.platform != "linux", reason="forks"))]


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("how", HOW)
def test_a_run_that_is_stopped_is_paid_for_once(how: Any, when: str, older: bool, tmp_path: Path) -> None:
    at = 0
    while (found := stopped(tmp_path / str(at), "csv", at, when, how, pays=True, older=older))[0]:
        step, error = found
        if how is full and step != "begin":
            # to name another file would be to pay anew
            assert isinstance(error, dx.SpecError) and error.field == "output" and "another" not in error.fix
        at += 1
    assert at >= 8


def unwritable_ledger(*given: Any, **options: Any) -> None:
    raise dx.SpecError("ledger", "cannot be written", "make room")


def charged_by(error: dx.SpecError | None) -> int:
    """The number of rows that an error says are charged; 0 where it has none."""
    assert error is not None and error.field == "ledger"
    return sum(int(number) for number in re.findall(r"\d+", error.fix))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("asked", [{}, {"key": KEY, "release": "autumn"}], ids=["new draws", "key"])
@pytest.mark.parametrize("form", FILES)
def test_a_ledger_that_fails_within_a_run_says_what_is_charged(
    form: str, asked: dict[str, Any], when: str, tmp_path: Path
) -> None:
    """Where it fails after rows were charged, the program cannot know of these."""
    failed: list[str] = []
    for at in range(99):
        (folder := tmp_path / str(at)).mkdir()
        data, error = TEXT[form](folder, ROWS), None
        with opened(folder) as ledger:
            with pytest.MonkeyPatch.context() as patch:
                stops = Stops(patch, at, when, unwritable_ledger)
                try:
                    apply(data, folder / f"out{data.suffix}", ledger, **asked)
                    break
                except dx.SpecError as caught:
                    error = caught
            if (step := stops.calls[at]) in ("charge", "finish"):
                failed.append(step)
                known = {"charge": 2 * failed[1:].count("charge"), "finish": len(ROWS["beds"])}[step]
                assert charged_by(error) == known <= ledger.totals().rows
                assert when == "after" or ledger.totals().rows == known
                apply(data, folder / f"out{data.suffix}", ledger, **asked)
                assert ledger.account("ann").spent == 2 * LEVEL
                assert composed(ledger, "bob") == (1,)
    assert failed == ["charge"] * (1 if form == "parquet" else 3) + ["finish"]


@pytest.mark.parametrize("stuck", [False, True])
@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("step", ["charge", "finish"])
def test_a_ledger_that_fails_for_a_frame_says_what_stays_charged(
    step: str, key: dx.Key | None, stuck: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is `stuck`, nothing can be given back either."""
    asked: dict[str, Any] = {} if key is None else {"key": key, "release": "autumn"}
    with opened(tmp_path) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(*STEPS[step], unwritable_ledger)
            if stuck:
                patch.setattr(dx.Budgets, "give_up", unwritable_ledger)
            with pytest.raises(dx.SpecError) as caught:
                apply(pd.DataFrame(ROWS), None, ledger, **asked)
        stays = step == "finish" and (stuck or key is not None)
        assert charged_by(caught.value) == ledger.totals().rows == (5 if stays else 0)
        apply(pd.DataFrame(ROWS), None, ledger, **asked)
        assert ledger.account("ann").spent == (4 if stays and key is None else 2) * LEVEL


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("pays", [False, True])
def test_every_format(form: str, pays: bool, tmp_path: Path) -> None:
    at = 0
    while stopped(tmp_path / str(at), form, at, "before", interrupted, pays=pays, older=True)[0]:
        at += 1
    assert at >= 4


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("form", FRAMES)
def test_a_frame_that_nobody_sees_is_not_paid_for(
    form: str, key: dx.Key | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = TEXT[form](tmp_path, ROWS)
    asked: dict[str, Any] = {} if key is None else {"key": key, "release": "autumn"}
    with opened(tmp_path) as ledger:
        for at in range(3):
            with monkeypatch.context() as patch:
                Stops(patch, at, "before", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    apply(frame, None, ledger, **asked)
            assert (ledger.account("ann").spent > 0) == (key is not None and at == 2)
        apply(frame, None, ledger, **asked)
        assert ledger.account("ann").spent == 2 * LEVEL
        ledger.check()


@pytest.mark.parametrize("there", ["no/said.json", "said.json"])
def test_a_sidecar_that_may_not_be_written_is_refused_before_a_frame_is_paid_for(there: str, tmp_path: Path) -> None:
    (tmp_path / "said.json").write_text("precious")
    with opened(tmp_path) as ledger:
        with pytest.raises(dx.SpecError) as caught:
            apply(pd.DataFrame(ROWS), dx.Output(sidecar=tmp_path / there), ledger)
        assert (caught.value.field, ledger.totals().rows) == ("output", 0)
        assert (tmp_path / "said.json").read_text() == "precious"
        apply(pd.DataFrame(ROWS), dx.Output(sidecar=tmp_path / "said.json", force=True), ledger)
    assert json.loads((tmp_path / "said.json").read_text())["rows"]["out"] == 5


@pytest.mark.parametrize("stage", ["checking", "drawing"])
@pytest.mark.parametrize("what", ["gone", "changed"])
@pytest.mark.parametrize("form", FILES)
def test_data_that_change_are_named_and_cost_nothing(form: str, what: str, stage: str, tmp_path: Path) -> None:
    """Once all was read; where the reader has the file open, it does not notice."""
    data = TEXT[form](tmp_path, ROWS)

    def change(line: str, share: float) -> None:
        if line.startswith(f"{stage}, 5 ") and data.exists():
            data.unlink()
            if what == "changed":
                TEXT[form](tmp_path, {name: values[:4] for name, values in ROWS.items()})

    with opened(tmp_path) as ledger:
        try:
            apply(data, tmp_path / f"out{data.suffix}", ledger, progress=change)
        except dx.SpecError as error:
            assert error.field == "data"
            assert ledger.totals().rows == 0 and not hidden(tmp_path)
        else:
            assert ledger.account("ann").spent == 2 * LEVEL
        ledger.check()


class TestTwoAtOnce:
    """Two calls with one output."""

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path: Path) -> Iterator[None]:
        self.data, self.output = csv_of(tmp_path, ROWS), tmp_path / "out.csv"
        with opened(tmp_path) as self.ledger:
            yield

    @pytest.mark.parametrize("pays", [False, True])
    @pytest.mark.parametrize("force", [False, True])
    @pytest.mark.parametrize("stage", ["checking", "drawing"])
    def test_the_second_is_refused_while_the_first_works(self, stage: str, force: bool, pays: bool) -> None:
        refused: list[str] = []

        def second(line: str, share: float) -> None:
            if line.startswith(stage):
                with pytest.raises(dx.SpecError) as caught:
                    apply(self.data, dx.Output(self.output, force=force), self.ledger if pays else None)
                refused.append(caught.value.field)

        apply(self.data, self.output, self.ledger if pays else None, progress=second)
        assert set(refused) == {"output"}
        assert belong(self.output)
        assert self.ledger.account("ann").spent == (2 * LEVEL if pays else 0)

    def test_one_that_comes_between_is_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first publishes just before the second holds the output."""
        from dxopt.release.applying import files

        real = files.locked

        def locked(file: Path) -> Any:
            monkeypatch.setattr(files, "locked", real)
            apply(self.data, self.output, self.ledger)
            return real(file)

        monkeypatch.setattr(files, "locked", locked)
        with pytest.raises(dx.SpecError) as caught:
            apply(self.data, self.output, self.ledger)
        assert caught.value.field == "output"
        assert self.ledger.account("ann").spent == 2 * LEVEL
        assert belong(self.output)

    def test_an_output_is_let_go(self) -> None:
        for _ in range(2):
            with held(self.output, self.data, force=False):
                assert hidden(self.output.parent) == {".out.csv.part.lock"}
        assert hidden(self.output.parent) == set()


@pytest.mark.skipif(os.name != "posix", reason="links need a privilege")
@pytest.mark.parametrize("which", [f".out.csv.{12 * '?'}.part", ".out.csv.dxopt.json.*.part"])
def test_a_link_in_the_place_of_what_was_left_is_not_published(
    which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, output = csv_of(tmp_path, ROWS), tmp_path / "out.csv"
    with opened(tmp_path) as ledger:
        with monkeypatch.context() as patch:
            stops = Stops(patch, 7, "before", interrupted)
            with pytest.raises(KeyboardInterrupt):
                apply(data, output, ledger)
        assert stops.calls[-2:] == ["finish", "replace"]
        [left] = tmp_path.glob(which)
        left.rename(tmp_path / "elsewhere")
        left.symlink_to(tmp_path / "elsewhere")
        apply(data, output, ledger)
        assert ledger.account("ann").spent == 4 * LEVEL
    assert belong(output) and not any(path.is_symlink() for path in tmp_path.iterdir())


STRONGER = dx.integer_table(dx.classic.geometric(dx.line(6), epsilon=3.0))
OTHERS: dict[str, dict[str, Any]] = {
    "over budget": {"columns": dx.Columns(worst=True)},
    "over budget with a key": {"key": KEY, "release": "autumn"},
    "nothing left to drop": {"over_budget": "drop", "table": STRONGER},
    "other table": {"table": STRONGER},
    "other unit": {"unit": "per km"},
    "other ledger": {"default": 0},
    "stopped": {"default": 100, "stop": 2},
    "stopped without a ledger": {"person": None, "ledger": None, "stop": 0},
    "disk full": {"default": 100, "stop": 0},
}
"""Other calls to an output, that end without one."""


@pytest.mark.parametrize(("step", "at"), [(6, "after"), (7, "before"), (7, "after"), (8, "before")])
@pytest.mark.parametrize("other", OTHERS)
def test_a_call_that_is_refused_leaves_what_another_one_has_paid_for(
    other: str, step: int, at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = OTHERS[other].copy()
    stop, table = asked.pop("stop", None), asked.pop("table", counts())
    data, output = csv_of(tmp_path, ROWS), tmp_path / "out.csv"
    with opened(tmp_path) as ledger:
        ledger.set(2 * LEVEL)
        with monkeypatch.context() as patch:
            stops = Stops(patch, step, at, interrupted)
            with pytest.raises(KeyboardInterrupt):
                apply(data, output, ledger)
        assert len(stops.calls) == step + 1 and not output.exists()
        files = {path: path.read_bytes() for path in tmp_path.glob("*csv*")}
        options: dict[str, Any] = {"column": "beds", "within": 0, "person": "person", "ledger": ledger}
        if {"default", "unit"} & {*asked}:
            said = {"default": asked.pop("default", 100), "unit": asked.pop("unit", None)}
            options["ledger"] = dx.Budgets.open(tmp_path / "other.sqlite", create=True, **said)
        with monkeypatch.context() as patch, pytest.raises((dx.SpecError, KeyboardInterrupt)):
            if stop is not None:
                Stops(patch, stop, "before", full if other == "disk full" else interrupted)
            dx.apply(table, data, output, **options | asked)
        assert all(path.read_bytes() == content for path, content in files.items())
        apply(data, output, ledger)
        assert ledger.account("ann").spent == 2 * LEVEL
        assert belong(output) and not hidden(tmp_path)


class Interrupts:
    """Interrupt a call as signals do, after so many steps of the ledger's file and of its contexts."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, frame: Any, event: str, argument: object) -> None:
        if event not in ("call", "c_return"):
            return
        file, caller = frame.f_code.co_filename, frame.f_back.f_code.co_filename
        if ledger_file.__file__ in (file, caller) or (file, caller) == (contextlib.__file__, budgets.__file__):
            self.left -= 1
            if self.left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt


def test_an_interrupt_at_any_step_of_a_transaction_leaves_a_frame_unpaid_and_the_ledger_free(tmp_path: Path) -> None:
    frame = pd.DataFrame({"person": ["ann"], "beds": [3]})
    after = 0
    for after in range(1, 1000, 3):
        (folder := tmp_path / str(after)).mkdir()
        with opened(folder) as ledger, dx.Budgets.open(folder / "ledger.sqlite", wait=0) as other:
            sys.setprofile(stop := Interrupts(after))
            try:
                apply(frame, None, ledger)
            except KeyboardInterrupt:
                assert other.account("ann").spent == ledger.account("ann").spent == 0, after
                assert other.pay("ann", LEVEL, unit="per unit", release="r")
            finally:
                sys.setprofile(None)
        if stop.left > 0:
            break
    assert after > 50


@pytest.mark.parametrize("written", [0, 40])
def test_a_sidecar_that_a_kill_left_torn_replaces_none(written: int, tmp_path: Path) -> None:
    """Of a draw with a key, whose output is the same again, beside the sidecar of the run that was published."""
    data, output = csv_of(tmp_path, ROWS), tmp_path / "out.csv"
    with opened(tmp_path) as ledger:
        apply(data, output, ledger, key=KEY, release="autumn")
        spent = ledger.account("ann").spent
        sidecar = output.with_name("out.csv.dxopt.json")
        own = hidden_names(tmp_path, data, output, ledger)
        (tmp_path / f".out.csv.{own}.part").write_bytes(output.read_bytes())
        (tmp_path / f".out.csv.dxopt.json.{own}.part").write_bytes(sidecar.read_bytes()[:written])
        apply(data, dx.Output(output, force=True), ledger, key=KEY, release="autumn")
        assert belong(output)
        assert ledger.account("ann").spent == spent
        assert not hidden(tmp_path)


def hidden_names(folder: Path, data: Path, output: Path, ledger: dx.Budgets) -> str:
    """The part of the names of hidden files that is that of a run, from one that is stopped as it pays."""
    found: list[str] = []

    def looked(line: str, share: float) -> None:
        found.extend(path.name.split(".")[-2] for path in folder.glob(f".out.csv.{12 * '?'}.part"))

    apply(data, dx.Output(output, force=True), ledger, key=KEY, release="autumn", progress=looked)
    assert len({*found}) == 1
    return found[0]
