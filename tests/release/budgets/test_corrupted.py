"""Ledgers with bytes changed, and with values that no ledger has: every call works, or gives one line."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dxopt as dx
from dxopt.release.budgets.ledger_file import TABLES
from tests.material.faulty import corrupted
from tests.material.few import few

KM = "per km"
KEY = dx.Key(bytes(range(32)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A ledger with payments, draws with a key, budgets of persons, and a run that goes on."""
    file = tmp_path_factory.mktemp("ledger") / "ledger.sqlite"
    with dx.Budgets.open(file, create=True, unit=KM, default=3) as budgets:
        for person in ("anna", "bob"):
            budgets.pay(person, 0.5, unit=KM, release="r")
        budgets.pay("cid", 0.25, unit=KM, release="k", tag=b"x" * 32, key=KEY)
        budgets.set(9, person="dora", delta="1/1000")
        budgets.charge(budgets.begin("run"), 0, ["anna", "bob"], 0.5, unit=KM)
    return file.read_bytes()


def calls(budgets: dx.Budgets) -> Iterator[Callable[[], object]]:
    """Everything that may be asked of a ledger."""
    yield budgets.check
    yield lambda: [str(account) for account in budgets.accounts()]
    yield lambda: str(budgets.totals()) + str(budgets)
    yield lambda: [str(budgets.history(person)) for person in ("anna", "cid", "dora")]
    yield lambda: budgets.left(["anna", "bob", "zed"])
    yield lambda: (budgets.unit, budgets.default, budgets.default_delta)
    yield lambda: budgets.affordable({"anna": 1, "bob": 2}, 0.5, unit=KM, run="run", drop=True)
    yield lambda: budgets.set(4, person="anna")
    yield lambda: budgets.pay("anna", 0.25, unit=KM, release="s")
    yield lambda: budgets.pay("cid", 0.25, unit=KM, release="k", tag=b"x" * 32, key=KEY)
    yield lambda: budgets.charge(budgets.begin("run"), 0, ["anna", "bob", "x"], 0.5, unit=KM)
    yield lambda: budgets.unset("dora")
    yield lambda: budgets.give_up(budgets.begin("run"), refund=True)
    yield budgets.close_runs
    yield lambda: budgets.set(5)


def require_lines(file: Path) -> None:
    """Every call ends well, or in a SpecError of one line."""
    try:
        with dx.Budgets.open(file) as budgets:
            budgets._file._db.execute("PRAGMA synchronous = OFF")  # pyright: ignore[reportPrivateUsage]
            for call in calls(budgets):
                try:
                    call()
                except dx.SpecError as error:
                    assert str(error).isprintable()
    except dx.SpecError as error:
        assert error.field in ("ledger", "key") and str(error).isprintable()


def _written(folder: Path, content: bytes) -> Path:
    """A ledger that its owner alone may read, as others are not opened at all."""
    file = folder / "ledger.sqlite"
    file.write_bytes(content)
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("seed", few(range(10), 2))
def test_bytes(seed: int, whole: bytes, tmp_path: Path) -> None:
    for content in corrupted(whole, seed, 40):
        require_lines(_written(tmp_path, content))


VALUES = {
    "null": "NULL",
    "bytes": "x'ff00'",
    "no text": "CAST(x'ffd8' AS TEXT)",
    "negative": "-1",
    "large": "9223372036854775807",
    "float": "1.5",
    "empty": "''",
    "no fraction": "'1/0'",
    "many digits": "'1e999999999'",
    "long": f"'{'9' * 5_000}'",
    "nan": "'nan'",
    "beyond doubles": f"'{'9' * 400}'",
}


@pytest.mark.parametrize("name", few(VALUES, 6))
def test_values(name: str, whole: bytes, tmp_path: Path) -> None:
    for _, table in sorted(TABLES):
        file = _written(tmp_path, whole)
        db = sqlite3.connect(file)
        columns = [column for _, column, *_ in db.execute(f"PRAGMA table_info({table})")]
        db.close()
        for column in columns:
            _written(tmp_path, whole)
            db = sqlite3.connect(file)
            try:
                db.execute(f"UPDATE OR IGNORE {table} SET {column} = {VALUES[name]}")
                db.commit()
            except sqlite3.Error:
                continue  # which SQLite itself keeps out
            finally:
                db.close()
            require_lines(file)


ALTERED = {
    **{name: f"UPDATE settings SET name = 'x' WHERE name = '{name}'" for name in ("unit", "epsilon", "delta")},
    "another": "INSERT INTO settings VALUES ('x', '1')",
}


@pytest.mark.parametrize("what", ALTERED)
def test_settings_of_no_ledger_are_found(what: str, whole: bytes, tmp_path: Path) -> None:
    file = _written(tmp_path, whole)
    with dx.Budgets.open(file) as budgets:
        budgets.check()
    db = sqlite3.connect(file)
    assert db.execute(ALTERED[what]).rowcount
    db.commit()
    db.close()
    with pytest.raises(dx.SpecError) as refused, dx.Budgets.open(file) as budgets:
        budgets.check()
    assert refused.value.field == "ledger"
    if what == "unit":
        with pytest.raises(dx.SpecError) as refused, dx.Budgets.open(file) as budgets:
            budgets.pay("anna", 0.25, unit="per m", release="s")
        assert refused.value.field == "ledger"
