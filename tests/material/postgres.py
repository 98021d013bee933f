"""A PostgreSQL server of the test's own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """The folder with the programs of a server, if one is installed."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


class Server:
    """A server that listens on a socket in a folder alone."""

    def __init__(self, folder: Path, owner: str | None) -> None:
        self.folder = folder
        self.owner = owner

    def ask(self, script: str) -> list[list[str]]:
        """The rows that a script returns, as text; AssertionError with what the server says where it fails."""
        done = self.run(script)
        assert done.returncode == 0, done.stderr
        return [line.split("\x1f") for line in done.stdout.splitlines()]

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """The script, by psql, up to its first error."""
        options = ["-h", str(self.folder), "-U", "tester", "-d", "postgres", "-qAt", "-F", "\x1f"]
        command = ["psql", "-X", "-v", "ON_ERROR_STOP=1", *options]
        return subprocess.run(command, input=script, capture_output=True, text=True, check=False)


@contextmanager
def server(folder: Path) -> Iterator[Server]:
    """A server whose files are in a new folder; as another user where this is root, whom PostgreSQL refuses."""
    binaries = programs()
    assert binaries is not None
    owner = None
    if os.getuid() == 0:
        names = {entry.pw_name for entry in pwd.getpwall()}
        owner = "postgres" if "postgres" in names else "nobody"
        shutil.chown(folder, owner)
        for parent in folder.parents:
            if parent == Path("/tmp"):
                break
            parent.chmod(parent.stat().st_mode | 0o055)
    data = folder / "data"

    def call(*command: str) -> None:
        subprocess.run(command, user=owner, cwd=folder, check=True, capture_output=True, text=True)

    call(str(binaries / "initdb"), "-D", str(data), "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
    settings = f"-k {folder} -c listen_addresses='' -c fsync=off"
    call(str(binaries / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log"), "-o", settings, "start")
    try:
        yield Server(folder, owner)
    finally:
        call(str(binaries / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop")
