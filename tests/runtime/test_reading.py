"""Files without end, and archives that claim more than they have."""

from __future__ import annotations

import io
import os
import stat
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dxopt.runtime import reading
from dxopt.runtime.reading import content, is_file, is_folder, open_file, read_arrays
from tests.material.endless import boasting, endless, pipe


def test_a_plain_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "plain"
    file.write_bytes(b"four")
    assert content(file, 4) == b"four"
    with pytest.raises(reading.TooLarge, match="it has 4 bytes, more than 3"):
        content(file, 3)
    linked = tmp_path / "linked"
    linked.symlink_to(file)
    assert content(linked, 4) == b"four"


def test_what_is_no_plain_file_is_not_opened(tmp_path: Path) -> None:
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    for damage in (endless, pipe):
        damage(tmp_path / "odd")
        with pytest.raises(ValueError, match="no plain file"):
            open_file(tmp_path / "odd", 100)
    with pytest.raises(IsADirectoryError):
        open_file(tmp_path, 100)
    with pytest.raises(FileNotFoundError):
        open_file(tmp_path / "missing", 100)
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before


def test_a_name_too_long_names_nothing(tmp_path: Path) -> None:
    assert not is_file(tmp_path / ("a" * 5000))
    assert not is_folder(tmp_path / ("a" * 5000))
    assert is_folder(tmp_path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_all_kinds_that_are_written(tmp_path: Path, save: Callable[..., None]) -> None:
    arrays = {"numbers": np.eye(3), "none": np.zeros((0, 4)), "text": np.array(["a", ""]), "one": np.array("")}
    arrays["columns"] = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    arrays["long"] = np.arange(reading.MOST_DIRECTORY // 4) // 100_000
    save(tmp_path / "good.npz", **arrays)
    found = read_arrays(tmp_path / "good.npz")
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())


def test_claims_are_checked_before_anything_is_inflated(tmp_path: Path) -> None:
    boasting(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="not the size of its shape"):
        read_arrays(tmp_path / "a.npz")


def test_an_array_that_ends_early(tmp_path: Path) -> None:
    content = io.BytesIO()
    np.save(content, np.arange(2000.0))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as stored:
        stored.writestr("short.npy", content.getvalue()[:-1])
        stored.infolist()[0].file_size += 1
    with pytest.raises(ValueError, match=r"short\.npy ends early"):
        read_arrays(tmp_path / "a.npz")


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "a.npz", zeros=np.zeros(1 << 14))
    monkeypatch.setattr(reading, "MOST_ARRAYS", 1 << 16)
    with pytest.raises(reading.TooLarge, match="its arrays have"):
        read_arrays(tmp_path / "a.npz")
    monkeypatch.setattr(reading, "MOST_ARRAYS", 1 << 20)
    assert read_arrays(tmp_path / "a.npz")["zeros"].size == 1 << 14
    monkeypatch.setattr(reading, "MOST_MEMBERS", 0)
    with pytest.raises(reading.TooLarge, match="it has 1 arrays"):
        read_arrays(tmp_path / "a.npz")


def test_neither_objects_nor_empty_entries_nor_a_bare_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", odd=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="no array of numbers or text"):
        read_arrays(tmp_path / "objects.npz")
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "|V0", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(tmp_path / "empty.npz", "w") as stored:
        stored.writestr("odd.npy", head.getvalue())
    with pytest.raises(ValueError, match="no array of numbers or text"):
        read_arrays(tmp_path / "empty.npz")
    with (tmp_path / "bare.npz").open("wb") as stream:
        np.save(stream, np.eye(2))
    with pytest.raises(zipfile.BadZipFile):
        read_arrays(tmp_path / "bare.npz")


@pytest.mark.parametrize("size", [0, 1, 1_000, 9_000_000])
def test_a_small_file_takes_little_memory_whatever_is_allowed(tmp_path: Path, size: int) -> None:
    file = tmp_path / "some"
    file.write_bytes(bytes(size))
    tracemalloc.start()
    try:
        assert content(file, 1 << 40) == bytes(size)
        assert tracemalloc.get_traced_memory()[1] < 2 * size + 2**25
    finally:
        tracemalloc.stop()


def test_a_file_that_grows_is_read_up_to_what_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "some"
    file.write_bytes(b"abcdef")
    monkeypatch.setattr(reading.os, "fstat", lambda number: os.stat_result((stat.S_IFREG, *[0] * 9)))
    assert content(file, 6) == b"abcdef"
    with pytest.raises(reading.TooLarge):
        content(file, 5)
