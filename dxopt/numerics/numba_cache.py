"""Cache of machine code: Numba's own, or one read from an installation that cannot be written.

Numba compiles a kernel again when its source file has changed. Here the kernels that it calls count as well, that lie
in files of the same folder: they are compiled into it.

Numba uses no folder that it cannot write. So whoever runs dxopt in a container or on a shared machine would not see
what was compiled when it was installed, under another user or before the file system became read-only.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core import caching


def compile_lazily(function: Callable[..., Any]) -> Any:
    """Compile a function lazily, and keep the machine code on disk where a folder can be written."""
    dispatcher: Any
    try:
        dispatcher = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        # Numba found no folder that can be written.
        dispatcher = numba.njit(nogil=True)(function)
    if hasattr(dispatcher, "_cache"):  # not where Numba is disabled, and functions stay as they are
        own = _stamped(dispatcher._cache, function)
        installed = _stamped(_installed(function), function)
        if installed is not None and installed.cache_path != own.cache_path:
            dispatcher._cache = Layers(own, installed)
    return dispatcher


class Layers:
    """A cache of Numba's, `own`, behind an `installed` one that is only read."""

    def __init__(self, own: Any, installed: Any) -> None:
        self.own = own
        self.installed = installed
        self.found = False

    @property
    def cache_path(self) -> str | None:
        """The folder in which code was found, or else that in which it is kept."""
        return self.installed.cache_path if self.found else self.own.cache_path

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code compiled for these argument types, or None."""
        found = None
        with suppress(OSError, EOFError):  # of another user, or broken
            found = self.installed.load_overload(signature, target)
        self.found = found is not None
        return found if self.found else self.own.load_overload(signature, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


def _stamped(kept_in: Any, function: Callable[..., Any]) -> Any:
    """Return the same cache, which now forgets code if any source file with kernels in the folder has changed."""
    file = getattr(kept_in, "_cache_file", None)
    if file is not None:
        file._source_stamp = (file._source_stamp, _digest(Path(function.__code__.co_filename).parent))
    return kept_in


@cache
def _digest(folder: Path) -> str:
    """Digest the source files with kernels in a folder."""
    sources = [file.read_bytes() for file in sorted(folder.glob("*.py"))]
    return sha256(b"".join(source for source in sources if b"@kernel(" in source)).hexdigest()


def _installed(function: Callable[..., Any]) -> Any:
    """Return Numba's cache in the folder that NUMBA_CACHE_DIR names, or beside the source file, for reading only.

    None where there is no such folder.
    """
    try:
        named, beside = map(_readable, caching.CompileResultCacheImpl._locator_classes[:2])
        folders = type("Folders", (caching.CompileResultCacheImpl,), {"_locator_classes": [named, beside]})
        return type("Installed", (caching.FunctionCache,), {"_impl_class": folders})(function)
    except (AttributeError, RuntimeError):
        # There is no such folder, or this Numba is made in another way.
        return None


def _readable(locator: Any) -> Any:
    """Return one of Numba's locators of cache folders, but one that takes a folder that cannot be written, too."""

    def ensure_cache_path(self: Any) -> None:
        if not Path(self.get_cache_path()).is_dir():
            raise FileNotFoundError(self.get_cache_path())

    return type("Readable", (locator,), {"ensure_cache_path": ensure_cache_path})
