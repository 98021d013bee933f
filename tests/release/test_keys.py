"""Keys: where they come from, what they never show, and draws that can be repeated."""

from __future__ import annotations

import hashlib
import hmac
import pickle
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app

KEY = dx.Key(bytes(range(32)))


@pytest.fixture(scope="module")
def table() -> dx.IntegerTable:
    return dx.integer_table(dx.classic.geometric(dx.line(6), epsilon=0.6))


def test_a_key_is_kept_and_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = dx.Key.new()
    file = key.save(tmp_path / "people.key")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert dx.Key.load(file) == key != dx.Key.new()
    monkeypatch.setenv("DXOPT_KEY", file.read_text())
    assert dx.Key.from_environment() == key
    monkeypatch.setenv("OTHER", bytes(range(32)).hex().upper())
    assert dx.Key.from_environment("OTHER") == KEY


def test_a_key_is_shown_nowhere() -> None:
    content = bytes(range(32))
    for text in (repr(KEY), str(KEY), KEY.fingerprint, f"{KEY}"):
        assert content.hex() not in text
        assert len(text) < 20
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(KEY)


@pytest.mark.parametrize("name", [".", "..", "/", "/dev/null", "folder"])
def test_no_folder_and_no_device_becomes_a_key(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    with pytest.raises(dx.SpecError) as caught:
        dx.Key.new().save(name)
    assert caught.value.field == "key" and "Path" not in str(caught.value)
    assert [*tmp_path.iterdir()] == [tmp_path / "folder"]


@pytest.mark.parametrize("digits", ["ab" * 32, "0F" * 31, "0x" + "1e" * 32, "folder/" + "77" * 32])
def test_a_key_given_for_the_name_of_its_file_is_in_no_message(
    digits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for use in (dx.Key.load, dx.Key.new().save):
        with pytest.raises(dx.SpecError) as caught:
            use(digits)
        assert caught.value.field == "key" and digits[-32:] not in str(caught.value)
    done = CliRunner().invoke(app, ["key", digits])
    assert done.exit_code == 2 and digits[-32:] not in done.output
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]
    (data := tmp_path / "data.csv").write_text("beds\n1\n", encoding="utf-8")
    with dx.Budgets.open(ledger := tmp_path / "ledger.sqlite", create=True):
        pass
    apply = ["apply", "table.dxt", str(data), "-o", str(tmp_path / "out.csv"), "--column", "beds"]
    for options in (["--key-file", digits], ["--ledger", str(ledger), "--ledger-key", digits]):
        done = CliRunner().invoke(app, [*apply, *options])
        assert done.exit_code == 2 and digits[-32:] not in done.output
    done = CliRunner().invoke(app, ["budget", str(ledger), "--key-file", digits])
    assert done.exit_code == 2 and digits[-32:] not in done.output


@pytest.mark.parametrize(
    "asked", [{"label": "91.5"}, {"index": 91}, {"index": 91.5}, {"point": 91.5}, {"secret": "91"}]
)
def test_draws_quote_no_secret(asked: dict[str, Any]) -> None:
    table = dx.integer_table(mechanism := dx.classic.geometric(dx.line(5), epsilon=1.0))
    several: dict[str, Any] = {name: ["1" if isinstance(value, str) else 1, value] for name, value in asked.items()}
    for given in (asked, several):
        for draw in (table.sample, mechanism.sample):
            with pytest.raises(dx.SpecError) as caught:
                draw(**given)
            assert "91" not in str(caught.value)
    for name, values in several.items():
        with pytest.raises(dx.SpecError) as caught:
            table.sample_for(["a", "b"], **{name: values}, key=dx.Key(bytes(32)), release="r")
        assert "91" not in str(caught.value)


def test_digests_are_those_of_hmac() -> None:
    message = b"\0\0\0\1a\0\0\0\0\0\0\0\2\xc3\xa9"
    assert KEY.digest("a", "", "é") == hmac.new(bytes(range(32)), message, hashlib.sha256).digest()
    assert KEY.digest("ab", "c") != KEY.digest("a", "bc")
    with pytest.raises(dx.SpecError, match="surrogate"):
        KEY.digest("\ud800")


def test_what_is_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(dx.SpecError, match="key: is not made of 32 bytes"):
        dx.Key(b"short")
    with pytest.raises(dx.SpecError, match=r"key: .*missing.key cannot be read: No such file"):
        dx.Key.load(tmp_path / "missing.key")
    with pytest.raises(dx.SpecError, match=r"key: .* cannot be read"):
        dx.Key.load(tmp_path)
    file = tmp_path / "bad.key"
    file.write_text("secret words")
    file.chmod(0o600)
    with pytest.raises(dx.SpecError, match="holds no key") as error:
        dx.Key.load(file)
    assert "secret words" not in str(error.value)
    file.chmod(0o644)
    with pytest.raises(dx.SpecError, match=r"may be read by others; run chmod 600"):
        dx.Key.load(file)
    with pytest.raises(dx.SpecError, match=r"key: .* is there already"):
        KEY.save(file)
    with pytest.raises(dx.SpecError, match=r"key: .* cannot be written"):
        KEY.save(tmp_path / "no" / "folder.key")
    monkeypatch.delenv("DXOPT_KEY", raising=False)
    with pytest.raises(dx.SpecError, match="key: DXOPT_KEY is not set"):
        dx.Key.from_environment()
    monkeypatch.setenv("DXOPT_KEY", "secret words")
    with pytest.raises(dx.SpecError, match="DXOPT_KEY holds no key") as error:
        dx.Key.from_environment()
    assert "secret words" not in str(error.value)


def drawn(table: dx.IntegerTable, key: dx.Key, release: str, secret: int, persons: int = 400) -> list[int]:
    names = [f"person {i}" for i in range(persons)]
    return table.sample_for(names, index=[secret] * persons, key=key, release=release).tolist()


def test_the_same_again_and_anew_where_key_person_secret_or_release_change(table: dx.IntegerTable) -> None:
    first = drawn(table, KEY, "r", 2)
    assert drawn(table, KEY, "r", 2) == first
    assert (
        drawn(table, KEY, "r", 2)[:3]
        == table.sample_for(["person 0", "person 1", "person 2"], index=[2, 2, 2], key=KEY, release="r").tolist()
    )
    assert drawn(table, dx.Key.new(), "r", 2) != first
    assert drawn(table, KEY, "s", 2) != first
    # neighbouring secrets have nearly the same rows: were the bits the same, so would nearly all reports be
    alike = np.mean(np.array(drawn(table, KEY, "r", 3)) == np.array(first))
    row, next_row = (np.array([float(table.probability(x, z, by="index")) for z in range(6)]) for x in (2, 3))
    assert abs(alike - row @ next_row) < 0.1


def test_draws_of_two_tables_are_independent(table: dx.IntegerTable) -> None:
    other = dx.integer_table(dx.classic.geometric(dx.line(6), epsilon=0.6 * (1 + 1e-9)))
    first, second = (np.array(drawn(one, KEY, "r", 2, 2000)) for one in (table, other))
    row = np.array([float(table.probability(2, z, by="index")) for z in range(6)])
    # the same random numbers would give the same reports to all but a few of 2,000 people
    assert abs(np.mean(first == second) - row @ row) < 0.05


def test_over_people_reports_have_the_probabilities_of_the_table(table: dx.IntegerTable) -> None:
    size = 30_000
    for secret in (0, 3):
        counts = np.bincount(drawn(table, KEY, "r", secret, size), minlength=6)
        expected = np.array([size * float(table.probability(secret, z, by="index")) for z in range(6)])
        # chi-square with 5 degrees of freedom: above 40 once in 7e6; the key is fixed
        assert ((counts - expected) ** 2 / expected).sum() < 40


def test_what_draws_for_persons_refuse(table: dx.IntegerTable) -> None:
    with pytest.raises(dx.SpecError, match="persons: are 1 for 2 secrets"):
        table.sample_for(["ann"], index=[1, 2], key=KEY, release="r")
    for persons in ("ann", [[1]], [" "]):
        with pytest.raises(dx.SpecError) as caught:
            table.sample_for(persons, index=[1], key=KEY, release="r")  # pyright: ignore[reportArgumentType]
        assert caught.value.field == "persons"
    with pytest.raises(dx.SpecError, match="release: is no name"):
        table.sample_for(["ann"], index=[1], key=KEY, release=7)  # pyright: ignore[reportArgumentType]
    with pytest.raises(dx.SpecError, match="returns: is 'name'"):
        table.sample_for(["ann"], index=[1], key=KEY, release="r", returns="name")  # pyright: ignore


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "people.key"
    done = CliRunner().invoke(app, ["key", str(file)])
    key = dx.Key.load(file)
    assert (done.exit_code, done.stdout) == (0, f"{file}: key {key.fingerprint}\n")
    again = CliRunner().invoke(app, ["key", str(file)])
    assert again.exit_code == 2
    assert "is there already" in again.stderr
    assert dx.Key.load(file) == key
