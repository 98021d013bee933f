"""The command line as a user meets it: real processes, exit codes, one line per error."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.main import get_group
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from tests.material.broken_specs import BROKEN, FILES, GOOD, Broken
from tests.material.files import ROOT

GRID = "space: {kind: grid, shape: [3, 3]}\nepsilon: 0.5\n"


@pytest.fixture
def town(tmp_path: Path) -> Path:
    """A folder with the good file's data."""
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def call(*arguments: str | Path):
    """Run the command line in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_version_is_printed_and_is_that_of_the_citation() -> None:
    done = call("--version")
    assert done.exit_code == 0
    assert done.stdout == f"dxopt {dx.__version__}\n"
    assert f"\nversion: {dx.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", [["--version"], ["solve", "none.yaml"], ["nonsense"]], ids=" ".join)
def test_the_package_runs_as_the_command_does(arguments: list[str], tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("dxopt")
    programs = ([sys.executable, "-m", "dxopt"], [sys.executable, "-m", "dxopt.cli"], [str(command)])
    if not command.exists():
        programs = programs[:2]
    done = [
        subprocess.run([*program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        for program in programs
    ]
    assert len({one.returncode for one in done}) == 1 and done[0].returncode == 2 * (arguments != ["--version"])
    assert len({one.stdout for one in done}) == 1
    assert all("Traceback" not in one.stderr for one in done)


@pytest.mark.parametrize(
    "command", ["solve", "batch", "compare", "sweep", "apply", "map", "report", "verify", "schema"]
)
def test_the_help_of_a_command_has_an_example(command: str) -> None:
    done = call(command, "--help")
    assert done.exit_code == 0
    assert f"Example: dxopt {command}" in " ".join(done.stdout.split())


def test_types_are_part_of_the_package() -> None:
    assert (Path(dx.__path__[0]) / "py.typed").is_file()


def test_the_good_file_gives_0_and_a_result_folder(town: Path) -> None:
    (town / "good.yaml").write_text(GOOD, encoding="utf-8")
    done = call("solve", town / "good.yaml", "-o", town / "out")
    assert done.exit_code == 0, done.output
    files = {path.name for path in (town / "out" / "town").iterdir()}
    assert files == {
        "problem.yaml",
        "problem.npz",
        "mechanism.npz",
        "dual.npz",
        "claims.json",
        "notes.json",
        "table.dxt",
        "digests.json",
        "input.json",
    }
    proof = json.loads((town / "out" / "town" / "claims.json").read_text(encoding="utf-8"))["certificate"]
    assert proof["private"] is True


def test_there_are_40_broken_files() -> None:
    assert len({broken.text for broken in BROKEN}) >= 40


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_file_gives_2_and_one_line(town: Path, broken: Broken) -> None:
    path = town / "broken.yaml"
    path.write_text(broken.text, encoding="utf-8", newline="")
    done = call("solve", path, "-o", town / "out")
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith(f"{path}:{broken.line}:{broken.column}: {broken.field}: ")
    assert not (town / "out").exists()


def test_a_method_that_cannot_be_used_points_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    path.write_text("space: {kind: grid, shape: [4, 4]}\nepsilon: 0.5\nmethod: tight\n", encoding="utf-8")
    done = call("solve", path, "-o", tmp_path / "out")
    assert done.exit_code == 2
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith(f"{path}:3:9: method: no tight-constraints mechanism exists at epsilon = 0.5")
    assert "(1, 1)" in line
    assert "0.68631" in line


ERROR = (
    "space: {kind: grid, shape: [2, 2]}\nobjective: {kind: adversary_error, max_loss: 0.4, adversary_loss: binary}\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ERROR, ["4 secrets", "largest adversary's error", "not asked for", "(at most 0.4 was allowed)"]),
        (GRID + "objective: worst_loss\n", ["least worst loss", "Whatever the secret", "(asked 0.5)"]),
        (
            GRID + "delta: 0.05\n",
            ["least expected loss", "(asked 0.5), δ proven 0.05"],
        ),
    ],
)
def test_other_problems_give_0_and_a_result(tmp_path: Path, text: str, expected: list[str]) -> None:
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    done = call("solve", tmp_path / "a.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    for words in expected:
        assert words in done.stdout
    proof = json.loads((tmp_path / "out" / "a" / "claims.json").read_text(encoding="utf-8"))["certificate"]
    assert proof["private"] is ("epsilon" in text)


def test_a_budget_that_cannot_be_met_points_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("epsilon: 1\n" + ERROR.replace("0.4", "0.1"), encoding="utf-8")
    done = call("solve", tmp_path / "a.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 2
    line = done.stderr.splitlines()[-1]
    assert line.startswith(f"{tmp_path / 'a.yaml'}:3:46: objective.max_loss: is 0.1, below ")
    assert not (tmp_path / "out" / "a").exists()


def test_an_unknown_solver_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GRID, encoding="utf-8")
    done = call("solve", tmp_path / "a.yaml", "-o", tmp_path / "out", "--solver", "cray")
    assert done.exit_code == 2
    assert "there is no 'cray'" in done.stderr
    assert "clarabel" in done.stderr


def test_a_missed_tolerance_gives_1(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GRID, encoding="utf-8")
    done = call("solve", tmp_path / "a.yaml", "-o", tmp_path / "out", "--tolerance", "1e-15")
    assert done.exit_code == 1
    assert "feasible (not certified optimal)" in done.stdout


def test_json_is_all_there_is_on_stdout(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GRID, encoding="utf-8")
    (line,) = json.loads(call("batch", tmp_path, "-o", tmp_path / "out", "--json").stdout)["problems"]
    assert line["problem"] == "a"
    assert line["private"] is True
    assert line["value"] == pytest.approx(1.0729838055, abs=1e-6)


def test_schema_is_json_schema() -> None:
    schema = json.loads(call("schema").stdout)
    assert "2020-12" in schema["$schema"]
    assert "space" in schema["properties"]


def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    for name, size in (("1-small", 3), ("2-big", 28), ("3-never", 3)):
        text = f"space: {{kind: grid, shape: [{size}, {size}]}}\nepsilon: 0.1\n"
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    running = subprocess.Popen(
        [sys.executable, "-m", "dxopt.cli", "batch", str(tmp_path), "-o", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert running.stderr is not None
    while "2-big" not in running.stderr.readline():
        pass
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=60)
    assert running.returncode == 1
    assert (tmp_path / "out" / "1-small" / "claims.json").is_file()
    assert (tmp_path / "out" / "2-big" / "claims.json").is_file()
    assert not (tmp_path / "out" / "3-never").exists()
    assert re.search(r"2-big .* proven +interrupted", stdout)
    assert "3-never: not started" in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize("name", sorted(get_group(app).commands))
def test_ctrl_c_anywhere_in_a_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    group = get_group(app)
    command = group.commands[name]
    command.params, command.callback = [], interrupted
    with pytest.raises(SystemExit) as ended:
        group.main([name])
    assert ended.value.code == 1
    assert capsys.readouterr() == ("", "interrupted\n")


@pytest.mark.parametrize(
    "raised",
    ["KeyboardInterrupt", "ImportError('failed') from KeyboardInterrupt()", "SystemError from KeyboardInterrupt()"],
)
def test_ctrl_c_while_commands_are_loaded(raised: str) -> None:
    """Compiled modules make errors of their own of it."""
    code = f"import dxopt.cli as cli; cli._tolerate_any_letter = lambda: exec({f'raise {raised}'!r}); cli.main()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", "interrupted\n")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_after_the_end_changes_nothing(name: str) -> None:
    code = f"import atexit, signal, dxopt.cli as cli; atexit.register(signal.raise_signal, signal.{name}); cli.main()"
    ended = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert dx.__version__ in ended.stdout


def test_where_results_cannot_go_is_said_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GRID, encoding="utf-8")
    (tmp_path / "out" / "a").mkdir(parents=True)
    (tmp_path / "out" / "a" / "mine.txt").write_text("keep", encoding="utf-8")
    done = call("solve", tmp_path / "a.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert done.stderr == f"output: {tmp_path / 'out' / 'a'} exists and is no result folder; name another folder\n"
    assert (tmp_path / "out" / "a" / "mine.txt").read_text(encoding="utf-8") == "keep"
    assert list((tmp_path / "out").iterdir()) == [tmp_path / "out" / "a"]


@pytest.mark.parametrize(("option", "value"), [("--tolerance", "5"), ("--time-limit", "-1")])
def test_bad_options_are_named(tmp_path: Path, option: str, value: str) -> None:
    (tmp_path / "a.yaml").write_text(GRID, encoding="utf-8")
    done = call("solve", tmp_path / "a.yaml", "-o", tmp_path / "out", option, value)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(option.strip("-").replace("-", "_") + ": is ")


def test_output_that_is_redirected_is_utf8_whatever_the_system_writes(tmp_path: Path) -> None:
    (tmp_path / "town.yaml").write_text(f"name: caf\u00e9\n{GRID}", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "dxopt.cli", "solve", "town.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment, timeout=60)
    assert "caf\u00e9" in done.stdout.decode("utf-8")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("redirected", "code", "expected"),
    [(">&-", 0, "town: optimal"), (">/dev/full", 1, "output: cannot be written: No space left on device")],
)
def test_what_cannot_be_printed_is_one_line_at_most(
    tmp_path: Path, redirected: str, code: int, expected: str
) -> None:
    (tmp_path / "town.yaml").write_text(GRID.replace("0.5", "2"), encoding="utf-8")  # nothing to warn of
    command = f"{sys.executable} -m dxopt.cli batch town.yaml {redirected}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == code
    assert expected in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert (tmp_path / "results" / "town" / "claims.json").is_file()
