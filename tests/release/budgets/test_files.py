"""The file of a ledger: what is none, what is damaged, who else uses it, and what the disk does."""

from __future__ import annotations

import errno
import multiprocessing
import os
import re
import shlex
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import dxopt as dx
from dxopt.release.budgets.ledger_file import TABLES, LedgerFile
from tests.release.budgets.reader import overspent

KM = "per km"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    file = tmp_path / "budget.sqlite"
    with dx.Budgets.open(file, create=True, unit=KM, default=3) as budgets:
        budgets.pay("anna", 0.5, unit=KM, release="r")
    return file


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A program in another process, which prints the one line of a SpecError."""
    whole = "import sys, os\nimport dxopt as dx\ntry:\n" + textwrap.indent(textwrap.dedent(code), "    ")
    whole += "\nexcept dx.SpecError as error:\n    print(error)"
    return subprocess.run(
        [sys.executable, "-c", whole, *map(str, arguments)], capture_output=True, text=True, check=True
    )


def spoil_middle(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096 : len(content) - 4096] = os.urandom(len(content) - 8192)
    file.write_bytes(content)


def spoil_sum(file: Path) -> None:
    db = sqlite3.connect(file)
    db.execute("UPDATE persons SET spent_epsilon = '0'")
    db.commit()


def spoil_amount(file: Path) -> None:
    db = sqlite3.connect(file)
    db.execute("UPDATE persons SET spent_epsilon = 'much'")
    db.commit()


def change(statement: str) -> Callable[[Path], None]:
    def spoil(file: Path) -> None:
        db = sqlite3.connect(file)
        db.execute(statement)
        db.commit()

    return spoil


NOTHING = "AFTER INSERT ON payments BEGIN DELETE FROM payments; END"


def another(file: Path) -> None:
    file.unlink()
    sqlite3.connect(file).execute("CREATE TABLE persons (id INTEGER)")


def spy_of(file: Path) -> Path:
    spy = file.with_name("spy")
    spy.touch(0o600)
    return spy


DAMAGES: dict[str, Callable[[Path], object]] = {
    "is not there; make it": lambda file: file.unlink(),
    "is no ledger; name a file": lambda file: file.write_text("person,budget\n" * 99),
    "is empty; make it": lambda file: file.write_bytes(b""),
    "is the database of another program": another,
    "was made by a later dxopt .format 5.; update dxopt": change("PRAGMA user_version = 5"),
    "is damaged; take a copy": spoil_middle,
    "budget.sqlite is damaged": change("DROP TABLE tags"),
    "is damaged; take": change("CREATE TRIGGER free AFTER INSERT ON payments BEGIN DELETE FROM payments; END"),
    "spent 0, but the payments say otherwise; it was altered": spoil_sum,
    "has the amount 'much'; it was altered": spoil_amount,
    "says that 'anna' has overspent": change("UPDATE settings SET value = '1/4' WHERE name = 'epsilon'"),
    "has rows of a run that do not match": change("INSERT INTO rows VALUES (1, 7, 1, 1, NULL, '')"),
    "has the amount '2/4'": change("UPDATE levels SET epsilon = '2/4'"),
    "has the amount '03'": change("UPDATE settings SET value = '03' WHERE name = 'epsilon'"),
    "has another name": lambda file: file.with_name("h.sqlite").hardlink_to(file),
    "-journal is there": lambda file: os.mkfifo(f"{file}-journal"),
    "journal is there, which": lambda file: Path(f"{file}-journal").symlink_to("elsewhere"),
    "journal is there, which dxopt": lambda file: Path(f"{file}-journal").touch(0o644),
    "journal is there, which dxopt has": lambda file: Path(f"{file}-journal").hardlink_to(spy_of(file)),
    "-wal is there": lambda file: Path(f"{file}-wal").touch(0o600),
    "-shm is there": lambda file: Path(f"{file}-shm").touch(0o600),
    "has draws with a key that do not match their tags": change("UPDATE payments SET key = '9e39bbe0'"),
    "a key that do not match their tags": change("INSERT INTO tags VALUES (1, 1, x'00')"),
}


@pytest.mark.parametrize("message", list(DAMAGES))
def test_what_is_no_sound_ledger_is_one_line(ledger: Path, message: str) -> None:
    DAMAGES[message](ledger)
    with pytest.raises(dx.SpecError, match=f"ledger: .*{message}") as caught:
        dx.Budgets.open(ledger).check()
    assert "\n" not in str(caught.value)


def test_payments_in_a_write_ahead_log_are_kept_by_the_fix(ledger: Path) -> None:
    """A program that was killed has left them there."""
    code = """
        import sqlite3
        db = sqlite3.connect(sys.argv[1])
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("UPDATE persons SET spent_epsilon = '1'")
        db.execute("UPDATE payments SET rows = 2")
        db.commit()
        os.kill(os.getpid(), 9)
    """
    subprocess.run([sys.executable, "-c", "import os, sys\n" + textwrap.dedent(code), ledger], check=False)
    with pytest.raises(dx.SpecError) as caught:
        dx.Budgets.open(ledger)
    assert caught.value.field == "ledger"
    [command] = re.findall('sqlite3 (.*) "(PRAGMA .*)"', caught.value.fix)
    db = sqlite3.connect(shlex.split(command[0])[0])
    db.execute(command[1])
    db.close()
    with dx.Budgets.open(ledger) as budgets:
        assert budgets.account("anna").spent == 1
        budgets.check()


PLANTED: dict[str, Callable[[Path, Path], object]] = {
    "a link": lambda beside, file: beside.symlink_to(spy_of(file)),
    "with another name": lambda beside, file: beside.hardlink_to(spy_of(file)),
    "open to others": lambda beside, file: (beside.write_bytes(b"payments"), beside.chmod(0o644)),
    "of no ledger": lambda beside, file: (beside.write_bytes(b"payments"), beside.chmod(0o600), file.unlink()),
}


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes")
@pytest.mark.parametrize("ending", ["-journal", "-wal"])
@pytest.mark.parametrize("how", PLANTED)
def test_what_may_have_payments_is_kept(ledger: Path, how: str, ending: str) -> None:
    PLANTED[how](Path(f"{ledger}{ending}"), ledger)
    with pytest.raises(dx.SpecError) as caught:
        dx.Budgets.open(ledger, create=True)
    assert caught.value.field == "ledger" and "or remove" not in caught.value.fix


SPELLINGS = ["anna ", "7.0", "\u200banna", "anna\u0308", "1e+20", "", "9007199254740992.0", "2026-01-31 00:00:00"]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("key", [None, dx.Key(bytes(range(32)))])
def test_a_person_in_another_spelling_is_found(key: dx.Key | None, spelling: str, tmp_path: Path) -> None:
    file = tmp_path / "budget.sqlite"
    with dx.Budgets.open(file, create=True, unit=KM, default=3, key=key) as budgets:
        for person in ("anna", "7", "007", "2026-01-31", "a b", f"{10**20}", "Ünal"):
            budgets.pay(person, 0.5, unit=KM, release="r")
        budgets.check()
        db = sqlite3.connect(file)
        db.execute("INSERT INTO persons (person) VALUES (?)", (spelling,))
        db.commit()
        with pytest.raises(dx.SpecError, match=r"^ledger: has .*, which is no person as they are stored; it was alt"):
            budgets.check()


@pytest.mark.parametrize("name", [*(name for _, name in sorted(TABLES)), "payments_again"])
@pytest.mark.parametrize("planted", ["TRIGGER {} " + NOTHING, "VIEW {} AS SELECT 1"])
def test_nothing_planted_under_the_name_of_a_table_is_opened(ledger: Path, planted: str, name: str) -> None:
    """A trigger may have the name of a table that stays; a view takes the place of one."""
    db = sqlite3.connect(ledger)
    if planted.startswith("VIEW"):
        db.execute(f"DROP TABLE IF EXISTS {name}")
    db.execute(f"CREATE {planted.format(name)}")
    db.commit()
    with pytest.raises(dx.SpecError) as caught:
        dx.Budgets.open(ledger)
    assert caught.value.field == "ledger"


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602, 0o660])
def test_a_ledger_that_others_may_read_or_write_is_refused(ledger: Path, mode: int) -> None:
    ledger.chmod(mode)
    before = ledger.read_bytes()
    for create in (False, True):
        with pytest.raises(dx.SpecError) as caught:
            dx.Budgets.open(ledger, create=create)
        assert caught.value.field == "ledger" and f"chmod 600 {ledger}" in caught.value.fix
    assert ledger.read_bytes() == before
    ledger.chmod(0o600)
    dx.Budgets.open(ledger).close()
    (empty := ledger.with_name("empty.sqlite")).touch()
    empty.chmod(mode)
    with pytest.raises(dx.SpecError) as caught:
        dx.Budgets.open(empty, create=True)
    assert caught.value.field == "ledger" and empty.read_bytes() == b""


def test_a_file_of_something_else_is_never_made_a_ledger(tmp_path: Path) -> None:
    sqlite3.connect(ledger := tmp_path / "app.sqlite").execute("CREATE TABLE notes (text TEXT)")
    before = ledger.read_bytes()
    with pytest.raises(dx.SpecError, match="another program"):
        dx.Budgets.open(ledger, create=True)
    assert ledger.read_bytes() == before
    with pytest.raises(dx.SpecError, match="is no file"):
        dx.Budgets.open(tmp_path, create=True)
    with pytest.raises(dx.SpecError, match="cannot be opened"):
        dx.Budgets.open(tmp_path / "no such folder" / "a.sqlite", create=True)


def test_a_creation_that_was_killed_is_made_again(tmp_path: Path) -> None:
    (file := tmp_path / "budget.sqlite").touch(0o600)
    with dx.Budgets.open(file, create=True, unit=KM, default=1) as budgets:
        assert budgets.left(["anna"]) == [1]


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes")
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_ledger_is_made_private_where_nobody_may_set_modes(
    tmp_path: Path, mask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*given: object, **options: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", refused)
    before = os.umask(mask)
    try:
        dx.Budgets.open(file := tmp_path / "budget.sqlite", create=True, default=1).close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    dx.Budgets.open(file).close()


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes")
def test_a_drive_with_one_mode_for_all_files_has_no_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, before = os.open, os.umask(0o022)
    monkeypatch.setattr(os, "open", lambda path, flags, mode=0o777: real(path, flags, 0o666))
    try:
        with pytest.raises(dx.SpecError) as caught:
            dx.Budgets.open(tmp_path / "budget.sqlite", create=True, default=1)
    finally:
        os.umask(before)
    assert caught.value.field == "ledger" and "chmod" not in caught.value.fix
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="links need a privilege")
def test_a_link_that_leads_nowhere_makes_no_ledger(tmp_path: Path) -> None:
    (link := tmp_path / "budget.sqlite").symlink_to(tmp_path / "elsewhere.sqlite")
    with pytest.raises(dx.SpecError) as caught:
        dx.Budgets.open(link, create=True, default=1)
    assert caught.value.field == "ledger"
    assert list(tmp_path.iterdir()) == [link] and link.is_symlink()
    dx.Budgets.open(tmp_path / "elsewhere.sqlite", create=True, default=1).close()
    with dx.Budgets.open(link, create=True) as budgets:
        assert budgets.default == 1


@pytest.mark.skipif(os.name != "posix", reason="there are no such limits")
@pytest.mark.parametrize("size", [0, 1_000, 8_192, 40_000])
def test_a_creation_that_fails_leaves_nothing(tmp_path: Path, size: int) -> None:
    code = """
        import resource
        import dxopt.release.budgets
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
        dx.Budgets.open(sys.argv[1], create=True, unit="per km", default=3)
    """
    assert python(code, tmp_path / "budget.sqlite", size).stdout.startswith("ledger: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("filled", [False, True])
def test_a_creation_that_is_interrupted_removes_only_what_is_empty(
    tmp_path: Path, filled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may have made a ledger of the file meanwhile, and have paid from it."""
    file = tmp_path / "budget.sqlite"

    def interrupted(*given: object) -> None:
        monkeypatch.undo()
        if filled:
            with dx.Budgets.open(file, create=True, unit=KM, default=3) as budgets:
                budgets.pay("anna", 0.5, unit=KM, release="r")
        raise KeyboardInterrupt

    monkeypatch.setattr(LedgerFile, "_make", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dx.Budgets.open(file, create=True)
    assert file.exists() == filled
    if filled:
        with dx.Budgets.open(file) as budgets:
            assert budgets.totals().rows == 1


def test_a_ledger_is_one_private_file(ledger: Path) -> None:
    assert [file.name for file in ledger.parent.iterdir()] == ["budget.sqlite"]
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600
    with dx.Budgets.open(ledger) as budgets:
        budgets.pay("anna", 0.5, unit=KM, release="r")
        assert [file.name for file in ledger.parent.iterdir()] == ["budget.sqlite"]


def test_a_lock_is_waited_for_and_not_for_ever(ledger: Path) -> None:
    other = sqlite3.connect(ledger, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with dx.Budgets.open(ledger, wait=0.1) as budgets:
        assert budgets.left(["anna"]) == [Fraction(5, 2)]  # reading goes on
        with pytest.raises(dx.SpecError, match="is locked by another process; wait until it ends"):
            budgets.pay("anna", 0.5, unit=KM, release="r")
        other.execute("ROLLBACK")
        budgets.pay("anna", 0.5, unit=KM, release="r")


def test_a_ledger_that_may_not_be_written_is_read(ledger: Path) -> None:
    code = """
        import dxopt.release.budgets
        if os.getuid() == 0:
            os.setuid(65534)
        budgets = dx.Budgets.open(sys.argv[1])
        print(budgets.left(["anna"])[0])
        budgets.pay("anna", 0.5, unit="per km", release="r")
    """
    with tempfile.TemporaryDirectory() as folder:  # that of pytest may be closed to other users
        file = Path(shutil.copy(ledger, folder))
        file.chmod(0o400)
        if os.getuid() == 0:
            os.chown(file, 65534, -1)
        file.parent.chmod(0o555)
        printed = python(code, file).stdout.splitlines()
    assert printed == ["5/2", f"ledger: {file} cannot be written; allow writing to it and to its folder"]


def test_a_full_disk_charges_nothing(ledger: Path) -> None:
    # files may not grow any more, as for a quota: SQLite sees a failed write
    code = """
        import resource
        budgets = dx.Budgets.open(sys.argv[1])
        size = os.path.getsize(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 4096, size + 4096))
        budgets.set(9)
        run = budgets.begin("big")
        budgets.charge(run, 0, [f"person {i}" for i in range(20_000)], 0.5, unit="per km")
    """
    assert python(code, ledger).stdout.startswith("ledger: ")
    with dx.Budgets.open(ledger) as budgets:
        budgets.check()
        assert budgets.totals().rows == 1


def test_the_limit_of_a_database_is_a_full_disk(ledger: Path) -> None:
    with dx.Budgets.open(ledger) as budgets:
        budgets._file._db.execute("PRAGMA max_page_count = 1")  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(dx.SpecError, match="the disk is full; make room") as caught:
            budgets.charge(budgets.begin("r"), 0, [f"{i}" for i in range(9_000)], 0.1, unit=KM)
        assert caught.value.field == "ledger"
        budgets.check()
        assert budgets.totals().rows == 1


def test_a_ledger_that_was_moved_is_not_written(ledger: Path) -> None:
    with dx.Budgets.open(ledger) as budgets:
        ledger.rename(ledger.with_name("elsewhere.sqlite"))
        with pytest.raises(dx.SpecError, match="was moved or deleted since it was opened; open it where it is now"):
            budgets.pay("anna", 0.5, unit=KM, release="r")


@pytest.mark.parametrize("wait", [-1, float("nan"), "long"])
def test_how_long_to_wait_is_a_number(ledger: Path, wait: float) -> None:
    with pytest.raises(dx.SpecError, match=r"^wait: "):
        dx.Budgets.open(ledger, wait=wait)


def test_a_closed_ledger_and_a_forked_one_say_so(ledger: Path) -> None:
    budgets = dx.Budgets.open(ledger)
    budgets.close()
    budgets.close()
    with pytest.raises(dx.SpecError, match="is closed; open it again"):
        budgets.left(["anna"])
    code = """
        budgets = dx.Budgets.open(sys.argv[1])
        if os.fork() == 0:
            budgets.left(["anna"])
        else:
            os.wait()
    """
    assert "was opened by another process; open it anew in each process" in python(code, ledger).stdout


def pay_often(ledger: Path, paid: str) -> None:
    with dx.Budgets.open(ledger) as budgets:
        run = budgets.begin(f"of {os.getpid()}")
        for row in range(100):
            try:
                budgets.charge(run, 2 * row, ["bob", "anna"], 0.125, unit=KM)
                with Path(paid).open("a") as file:
                    file.write("x")
            except dx.BudgetExceeded:
                pass


def test_two_processes_at_once_spend_a_budget_once(ledger: Path, tmp_path: Path) -> None:
    with dx.Budgets.open(ledger) as budgets:
        budgets.set(5)
    processes = [
        multiprocessing.get_context("spawn").Process(target=pay_often, args=(ledger, str(tmp_path / "paid")))
        for _ in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    # anna had spent 0.5 before; both have 36 more rows of 1/8, whoever asked
    assert len((tmp_path / "paid").read_text()) == 36
    with dx.Budgets.open(ledger) as budgets:
        assert budgets.left(["anna", "bob"]) == [0, Fraction(1, 2)]
        budgets.check()
    assert overspent(ledger) == []


def test_it_needs_numpy_alone() -> None:
    code = """
        import dxopt.release.budgets
        heavy = {"scipy", "numba", "pandas", "pydantic", "typer", "rich", "cvxpy", "matplotlib"}
        print(sorted(heavy & set(sys.modules)))
    """
    assert python(code).stdout == "[]\n"
