"""Files without end, and archives that claim more than they have."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from pathlib import Path

import numpy as np


def endless(file: Path) -> None:
    """Put a link to an endless device in the place of a file."""
    file.unlink(missing_ok=True)
    file.symlink_to("/dev/zero")


def pipe(file: Path) -> None:
    """Put a pipe that nobody writes to in the place of a file."""
    file.unlink(missing_ok=True)
    os.mkfifo(file)


def boasting(file: Path) -> None:
    """Let every array of an archive claim 10^12 numbers, and have three."""
    names = ["odd.npy"]
    if file.is_file():
        with zipfile.ZipFile(file) as stored:
            names = stored.namelist()
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(file, "w") as stored:
        for name in names:
            stored.writestr(name, head.getvalue() + bytes(24))


def bomb(file: Path, size: int) -> None:
    """Let an archive have one array of zeros of so many bytes, a thousandth of that on disk, and a wrong checksum."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (size // 8,)})
    packing = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    start = packing.compress(head.getvalue()) + packing.flush(zlib.Z_FULL_FLUSH)
    zeros = packing.compress(bytes(1 << 20)) + packing.flush(zlib.Z_FULL_FLUSH)  # the same, wherever it stands
    with zipfile.ZipFile(file, "w") as stored:
        stored.writestr("odd.npy", start + zeros * (size >> 20) + packing.flush())
        (member,) = stored.infolist()
        member.compress_type, member.file_size = zipfile.ZIP_DEFLATED, len(head.getvalue()) + size
