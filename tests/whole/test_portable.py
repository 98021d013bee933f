"""What only some operating systems have stands in one module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.material.imports import PACKAGE

ONLY_SOME = {
    *("fcntl", "resource", "pwd", "grp", "pty", "termios", "msvcrt", "winreg", "_winapi", "ctypes"),
    *("fork", "forkpty", "register_at_fork", "killpg", "setsid", "getuid", "geteuid", "getppid", "uname", "sysconf"),
    *("mkfifo", "sync", "sched_getaffinity", "memfd_create", "O_ASYNC", "O_NONBLOCK", "O_CLOEXEC", "O_NOFOLLOW"),
    *("O_DIRECTORY", "O_BINARY", "SIGKILL", "SIGALRM", "SIGBREAK", "SIGIO", "SIGCHLD", "SIGHUP", "SIGUSR1"),
    *("SIGUSR2", "alarm", "setitimer", "pthread_kill", "CTRL_BREAK_EVENT", "shm_open", "name", "platform"),
    *("symlink_to", "symlink"),
    *("start_new_session", "preexec_fn", "pass_fds", "creationflags", "process_group", "send_signal"),
}
"""Modules, attributes of modules, and keywords."""
OF = {"os", "signal", "sys", "resource", "process"}
READ_OR_WRITE = {"write_text", "read_text", "open", "TextIOWrapper", "fdopen", "NamedTemporaryFile"}
BINARY = {"NamedTemporaryFile", "fdopen"}
"""Where no mode is given."""
NO_FILES = {"_view", "view"}
"""Names of what is opened and is no file."""
FOLDERS = ("/proc", "/dev/", "/tmp", "/etc", "/sys")
PLATFORM = PACKAGE / "runtime" / "platform.py"
SIGNALS = {"runtime/inherited.py"}
"""Signals are sent by the way that Linux has."""


def found(text: str) -> Iterator[str]:
    """What a program has that only some systems have."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (one.name for one in names if one.name in ONLY_SOME - {"platform", "name"})
            case ast.ImportFrom(module=str(module)):
                yield from (f"{module}.{one.name}" for one in node.names if module in OF and one.name in ONLY_SOME)
                yield from [module] if module in ONLY_SOME - {"platform", "name"} else []
            case ast.Attribute(value=ast.Name(id=of) | ast.Attribute(attr=of), attr=name) if of in OF:
                yield from [f"{of}.{name}"] if name in ONLY_SOME else []
            case ast.keyword(arg=str(name)) if name in ONLY_SOME - {"name", "platform"}:
                yield name
            case ast.Constant(value=str(value)) if value.startswith(FOLDERS):
                yield value


def written(text: str) -> Iterator[int]:
    """Lines of a program that write or read text without its encoding, or write it with the line ends of a system."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        method = isinstance(node.func, ast.Attribute)
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = {one.arg for one in node.keywords}
        modes = [one.value for one in node.args[:2] if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        mode = next((one for one in reversed(modes) if set(one) <= set("rwabxt+")), "")
        named = len(node.args) > len(modes)  # of an archive or the like: the first argument of a path's is its mode
        writes = called == "write_text" or bool(set(mode) & set("wax"))
        if called not in READ_OR_WRITE or "b" in mode or (called.endswith("_text") and not method):
            continue
        of = node.func.value if isinstance(node.func, ast.Attribute) else None
        if called == "open" and getattr(of, "attr", getattr(of, "id", "")) in NO_FILES:
            continue
        if (called in BINARY and not mode) or (called == "open" and method and named):
            continue
        if "encoding" not in given or (writes and "newline" not in given):
            yield node.lineno


def programs() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_one_module_knows_the_system() -> None:
    seen = {
        str(file.relative_to(PACKAGE)): names
        for file in programs()
        if file != PLATFORM and (names := list(found(file.read_text(encoding="utf-8"))))
    }
    assert {file: names for file, names in seen.items() if file not in SIGNALS} == {}
    assert all(names == ["process.send_signal"] for names in seen.values())


def test_text_is_written_the_same_everywhere() -> None:
    texts = {str(file.relative_to(PACKAGE)): file.read_text(encoding="utf-8") for file in programs()}
    seen = {name: lines for name, text in texts.items() if (lines := list(written(text)))}
    assert seen == {}


@pytest.mark.parametrize(
    "line",
    [
        "import fcntl",
        "from os import fork",
        "os.register_at_fork(after_in_child=end)",
        "Popen(x, start_new_session=True)",
        "Path('/proc/1/statm')",
        "sys.platform == 'linux'",
        "os.name == 'posix'",
        "f'/dev/{x}'",
    ],
)
def test_the_check_sees(line: str) -> None:
    assert list(found(line))


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("file.write_text(x, encoding='utf-8')", True),
        ("file.write_text(x, newline='')", True),
        ("file.write_text(x, encoding='utf-8', newline='')", False),
        ("file.read_text()", True),
        ("file.read_text(encoding='utf-8')", False),
        ("file.open('w', encoding='utf-8')", True),
        ("file.open('wb')", False),
        ("file.open()", True),
        ("NamedTemporaryFile('w', encoding='utf-8')", True),
        ("NamedTemporaryFile()", False),
    ],
)
def test_the_check_of_text_sees(line: str, wrong: bool) -> None:
    assert bool(list(written(line))) is wrong
