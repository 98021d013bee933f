"""The files of a result folder, read without trusting them: JSON and arrays of numbers.

A file is damaged if it is no plain one, larger than any that is written or than it claims, or JSON with an entry
twice.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dxopt.verify.verdict import Broken, Unproved

CLAIMS = "claims.json"
PROOF = (CLAIMS, "mechanism.npz")
DESCRIPTION = "problem.yaml"
NEEDED = (*PROOF, "problem.npz", "dual.npz", DESCRIPTION)
FORMAT = 2
NOTES = "notes.json"
TABLE = "table.dxt"
HELD_OUT = "held_out.npz"
LEVEL = "level.json"
FRONTIER = "frontier.json"
SWEEP = "sweep.json"
QUESTIONS = (LEVEL, FRONTIER, SWEEP)
PARTS = "parts"
DIGESTS = "digests.json"
_CLAIMS = (*NEEDED, TABLE, HELD_OUT, *QUESTIONS)
_PART = re.compile(rf"{PARTS}/[^/]+/{re.escape(DIGESTS)}")
_LARGEST = 3_500_000_000
_LARGEST_DIRECTORY = 8_000_000
_LARGEST_JSON = 20_000_000
_LONGEST_TEXT = 1_000_000
_LOCAL, _CENTRAL, _END = struct.Struct("<4s22xHH"), 46, 22
"""Sizes of headers in a zip file: the local one ends with the lengths of a name and of what is added to it."""
_MOST_ARRAYS = 20_000
_POINTS = ("points", "report_points")
"""Arrays in which NaN is a null value."""
_TYPES = {
    name: kind
    for kind, names in {
        "U0": "name how noise pairs kind metric parameters unit prior_set",
        "U1": "reports labels names priors belief_names belief_left_out",
        "b0": "secrets",
        "i0": "format slack factors",
        "i1": "which table belief report first second roots shape",
        "i2": "edges",
        "f0": "epsilon delta level doubt held price spacing max_loss radius within belief_epsilon",
        "f1": "prior weights prices multiplier lengths lower upper lowest highest low high proof belief_distances",
        "f2": "matrix distances losses adversary_loss guesses members forms belief_first belief_second degrees "
        "points report_points probabilities gains channel",
        "f3": "outlines streets",
    }.items()
    for name in names.split()
}
"""The type and the number of axes of an array, by the last part of its name."""
Arrays = Mapping[str, NDArray[Any]]


def holds_result(folder: Path) -> bool:
    """Return whether a folder has a file of a result."""
    return any(is_file(folder / name) for name in (*PROOF, *QUESTIONS))


def is_file(path: Path) -> bool:
    """Return whether there is such a file; a name that is too long is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Return whether there is such a folder; a name that is too long is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def plain_file(folder: Path, name: str, largest: int = _LARGEST) -> Path:
    """Return a path; FileNotFoundError where there is no file, ValueError where it is no plain one, or larger."""
    path = folder / name
    if not path.exists():
        raise FileNotFoundError("it is missing")
    if not path.is_file():
        raise ValueError("it is no plain file")
    if path.stat().st_size > largest:
        raise ValueError(f"it has more than {largest:,} bytes")
    return path


def unique_entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON from its entries; ValueError where one is there twice, as readers would differ."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an entry is there twice")
    return found


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Return the object in a JSON file; Broken where it is none."""
    try:
        content = json.loads(
            plain_file(folder, name, _LARGEST_JSON).read_text(encoding="utf-8"), object_pairs_hook=unique_entries
        )
    except Exception as error:  # what a damaged file raises is up to its readers
        raise unreadable(name, error) from None
    if not isinstance(content, dict):
        raise Broken(f"{name} holds no object")
    return content


def require_format(name: str, content: Mapping[str, Any]) -> None:
    """Broken unless a file is of the format that is derived here."""
    if repr(content.get("format")) != str(FORMAT):
        raise Broken(f"{name}: the format is {content.get('format')!r}, not {FORMAT}")


def unclaimed_files(folder: Path) -> list[str]:
    """Return the names of files that claim nothing, for the note of a verdict: notes, tables for people, pictures."""
    known = {*_CLAIMS, DIGESTS, PARTS} - {HELD_OUT}
    return sorted(path.name for path in folder.iterdir() if path.name not in known)


def read_arrays(folder: Path, name: str, most: int | None = None) -> Arrays:
    """Return the arrays of a file `*.npz`; Broken where one cannot be read.

    With `most`, arrays of more bytes are not unpacked: zeros of the same shape, which take no memory, stand for them.
    """
    try:
        with _SmallReads(plain_file(folder, name)) as stream, zipfile.ZipFile(stream) as stored:
            members = {member.filename.removesuffix(".npy"): member for member in stored.infolist()}
            if len(members) > _MOST_ARRAYS or len(members) < len(stored.infolist()):
                raise ValueError(f"an array is there twice, or it has more than {_MOST_ARRAYS:,}")
            if sum(member.file_size for member in members.values()) > _LARGEST:
                raise ValueError(f"its arrays have more than {_LARGEST:,} bytes")
            _require_bare(stream, stored)
            found = {key: _read_array(stored, member, most) for key, member in members.items()}
            if most is None:
                require_typed(found)
            return found
    except Exception as error:
        raise unreadable(name, error) from None


def require_typed(arrays: Arrays) -> None:
    """ValueError where an array is not of the type and the number of axes that its name has, or has a NaN."""
    for key, array in arrays.items():
        name = re.split("[/.]", key)[-1]
        kinds = "fU" if name == "points" else _TYPES.get(name, "")[:1]
        if name in _TYPES and (array.dtype.kind not in kinds or array.ndim != int(_TYPES[name][1])):
            raise ValueError(f"{key:.40} is an array {array.shape} of {array.dtype}")
        if array.dtype.kind == "f" and name not in _POINTS and (wrong := np.isnan(array)).any():
            raise ValueError(f"{key:.40}{np.argwhere(wrong)[0].tolist()} is no number")


def _require_bare(stream: IO[bytes], stored: zipfile.ZipFile) -> None:
    """ValueError where a zip file has bytes or comments beside its members, which follow each other."""
    place = directory = 0
    for member in stored.infolist():
        stream.seek(member.header_offset)
        _, name, added = _LOCAL.unpack(stream.read(_LOCAL.size))
        if member.header_offset != place or member.comment or member.extra or member.filename != member.orig_filename:
            raise ValueError(f"{member.filename} has more than an array")
        place += _LOCAL.size + name + added + member.compress_size
        directory += _CENTRAL + name
    if stored.comment or place != stored.start_dir or stream.seek(0, io.SEEK_END) != place + directory + _END:
        raise ValueError("it has more than its arrays")


def unreadable(name: str, error: Exception) -> Broken:
    """Return the error to raise for a file that cannot be read, with the reason."""
    if isinstance(error, FileNotFoundError):
        return Broken(f"{name} is missing")
    return Broken(f"{name} is damaged ({' '.join(str(error).split())})")


class _SmallReads(io.FileIO):
    """A file read in small pieces, as `ZipFile` would read a directory that claims gigabytes in one."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read at most `size` bytes; ValueError where that is more than any directory has."""
        wanted = -1 if size is None else size
        found = super().read(wanted if 0 <= wanted <= _LARGEST_DIRECTORY else _LARGEST_DIRECTORY + 1)
        if len(found) > _LARGEST_DIRECTORY:
            raise ValueError(f"its directory has more than {_LARGEST_DIRECTORY:,} bytes")
        return found


def _read_array(stored: zipfile.ZipFile, member: zipfile.ZipInfo, most: int | None) -> NDArray[Any]:
    """Return one array; ValueError, before it is made, where it claims another size than is stored; no objects."""
    with stored.open(member) as stream:
        shape, dtype, length = _read_header(stream)
    size = math.prod(shape) * dtype.itemsize
    if dtype.kind == "U" and dtype.itemsize > 4 * _LONGEST_TEXT:
        raise ValueError(f"{member.filename} has texts of more than {_LONGEST_TEXT:,} letters")
    if size + length != member.file_size:
        raise ValueError(f"{member.filename} has not the size of its shape {shape}")
    if most is not None and size > most:
        return np.broadcast_to(np.zeros((), dtype), shape)
    with stored.open(member) as stream:
        return npy.read_array(stream, allow_pickle=False)


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return shape, type and length of a header; ValueError where NumPy writes another, as any text may be in it."""
    header = stream.read(npy.MAGIC_LEN + 2)
    header += stream.read(int.from_bytes(header[npy.MAGIC_LEN :], "little"))
    shape, by_columns, dtype = npy.read_array_header_1_0(io.BytesIO(header[npy.MAGIC_LEN :]))
    written = io.BytesIO()
    content = {"descr": npy.dtype_to_descr(dtype), "fortran_order": by_columns, "shape": shape}
    npy.write_array_header_1_0(written, content)
    if written.getvalue() != header:
        raise ValueError("the header of an array is another than NumPy writes")
    return shape, dtype, len(header)


def numbers(arrays: Arrays, key: str, *shape: int | None) -> NDArray[np.float64]:
    """Return the doubles of one array, of a shape in which None is any size; Broken where they are not that."""
    if key not in arrays:
        raise Broken(f"there is no array {key}")
    array = arrays[key]
    fits = len(shape) == array.ndim and all(
        asked in (None, size) for asked, size in zip(shape, array.shape, strict=True)
    )
    if array.dtype.kind not in "fiu" or not fits:
        raise Broken(f"{key} is an array {array.shape} of {array.dtype}")
    found = array.astype(np.float64)
    if np.isnan(found).any():
        raise Broken(f"{key}{np.argwhere(np.isnan(found))[0].tolist()} is no number")
    return found


def indices(arrays: Arrays, key: str, size: int, *shape: int) -> NDArray[np.int64]:
    """Return an array as indices from 0 to size - 1; Broken where one is none."""
    found = numbers(arrays, key, *shape)
    wrong = found[(found < 0) | (found >= size) | (found != np.floor(found))]
    if len(wrong):
        raise Broken(f"{key} has {wrong[0]:g}, which is no index of {size}")
    return found.astype(np.int64)


def are_alike(array: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether two arrays are equal, with NaN equal to NaN, as coordinates of null values are."""
    return np.array_equal(array, other, equal_nan=array.dtype.kind == other.dtype.kind == "f")


def part(arrays: Arrays, name: str) -> Arrays:
    """Return the arrays whose keys begin with "name/", without that beginning: those of a part or factor."""
    start = f"{name}/"
    return {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}


def number(arrays: Arrays, key: str) -> float:
    """Return the double of an array without axes; Broken where it is none."""
    return float(numbers(arrays, key))


def _is_inside(name: str) -> bool:
    """Return whether a name is that of a file in the folder itself, or of the digests of a part, not outside it."""
    return Path(name).name == name or (_PART.fullmatch(name) is not None and ".." not in Path(name).parts)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_digests(folder: Path) -> str:
    """Compare the files with digests.json; Broken names those that are not as they were written."""
    if not (folder / DIGESTS).is_file():
        raise Unproved(f"there is no {DIGESTS}")
    # 1. The file itself, and all that it names.
    content = read_json(folder, DIGESTS)
    claimed = content.get("sha256")
    if content.get("format") != 1 or not isinstance(claimed, dict):
        raise Broken(f"{DIGESTS} is of no known format")
    missing = [name for name in claimed if not _is_inside(name) or not (folder / name).is_file()]
    if missing:
        raise Broken(f"missing: {', '.join(missing)}")
    # 2. Nothing that a claim may rest on is without a digest.
    there = [name for name in _CLAIMS if (folder / name).is_file()]
    there += sorted(f"{PARTS}/{path.name}/{DIGESTS}" for path in folder.glob(f"{PARTS}/*"))
    added = [name for name in there if name not in claimed]
    if added:
        raise Broken(f"without a digest: {', '.join(added)}")
    # 3. The digests, and that the file has them and nothing else, byte by byte.
    found = {name: digest(plain_file(folder, name)) for name in sorted(claimed)}
    changed = [name for name, digest in found.items() if claimed[name] != digest]
    if changed:
        raise Broken(f"changed since they were written: {', '.join(changed)}")
    written = json.dumps({"format": 1, "sha256": found}, indent=2, ensure_ascii=False) + "\n"
    if (folder / DIGESTS).read_bytes() != written.encode():
        raise Broken(f"{DIGESTS} is not as it was written")
    return f"{len(found)} files are as they were written"
