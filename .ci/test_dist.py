"""Whether what is built works as users install it: away from the repository, and without a compiler.

The wheel is installed in an environment of its own with all that solves, and the source distribution in another with
no extra, which applies a table. Either solves one problem file, proves and draws its result, and applies it: the
source distribution in the place of the wheel, with what that brought. Run it as `python .ci/test_dist.py dist`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

PROBLEM = """\
name: town
space: {kind: line, size: 12}
epsilon: 0.8
prior: {kind: explicit, values: [0.1, 0.05, 0.05, 0.1, 0.1, 0.2, 0.1, 0.05, 0.05, 0.1, 0.05, 0.05]}
loss: distance
method: optimal
solver: highs
"""
EXAMPLE = Path(__file__).resolve().parent.parent / "docs" / "examples" / "dxopt-example-plugin"
PEOPLE = "person,value\n" + "".join(f"p{number},{number % 12}\n" for number in range(40))
LIGHT = """
import dxopt as dx
from dxopt.verify import verify_table

assert verify_table("table.dxt").exit_code == 0
table = dx.IntegerTable.load("table.dxt")
assert len(table.sample(index=0, size=5)) == 5
assert len(table.sample_for(["ann"], index=[0], key=dx.Key.new(), release="first")) == 1
done = dx.apply(table, "people.csv", "light.csv", columns=dx.Columns(label="value"))
assert done.record.rows.out == 40
try:
    dx.solve
except dx.UnsupportedError as error:
    assert "dxopt[solve]" in str(error)
else:
    raise AssertionError("a light installation solves")
"""
PRIVATE = (".ci", ".git", ".github", "tests", "benchmarks", "docs", "results", "shared", ".venv", "build", "dist")
"""Folders that no source distribution has."""
NEEDED = ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "dxopt/py.typed")


def without_compiler(folder: Path) -> dict[str, str]:
    """Return the variables of this process, with no program on the path but those of the environment in a folder."""
    inside = folder / ("Scripts" if os.name == "nt" else "bin")
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    windows = os.environ.get("SYSTEMROOT")
    path = [str(inside), *([f"{windows}\\System32"] if windows else [])]
    return {**kept, "PATH": os.pathsep.join(path), "CC": "false", "CXX": "false", "PYTHONNOUSERSITE": "1"}


class Environment:
    """A fresh environment, and what runs in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "problem.yaml").write_text(PROBLEM, encoding="utf-8", newline="\n")
        (folder / "people.csv").write_text(PEOPLE, encoding="utf-8", newline="\n")
        venv.create(folder / "environment", with_pip=True)
        self._variables = without_compiler(folder / "environment")
        self._inside = Path(self._variables["PATH"].split(os.pathsep)[0])

    def run(self, program: str, *arguments: str, code: int = 0) -> str:
        """Return the output of a program; raise SystemExit where it ends with another code."""
        command = [str(self._inside / program), *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self._variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            encoding="utf-8", errors="replace",
        )  # fmt: skip
        if done.returncode != code:
            raise SystemExit(
                f"test-dist: {' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done.stdout + done.stderr

    def install(self, what: str, *options: str) -> None:
        """Install with pip."""
        self.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options, what)


def require(holds: bool, wrong: str) -> None:
    """SystemExit where something does not hold."""
    if not holds:
        raise SystemExit(f"test-dist: {wrong}")


def check_contents(wheel: Path, source: Path) -> None:
    """Whether the source distribution has what it needs and nothing private, and the wheel the same modules."""
    with tarfile.open(source) as packed:
        inside = {name.partition("/")[2] for name in packed.getnames() if "/" in name}
    for name in NEEDED:
        require(name in inside, f"{source.name} lacks {name}")
    strangers = sorted(name for name in inside if name.split("/")[0] in PRIVATE or name.endswith(".pyc"))
    require(not strangers, f"{source.name} has {strangers[:3]}")
    with zipfile.ZipFile(wheel) as zipped:
        modules = {name for name in zipped.namelist() if name.startswith("dxopt/")}
    require(modules == {name for name in inside if name.startswith("dxopt/") and "." in name}, "their modules differ")


def smoke(here: Environment, distribution: Path) -> None:
    """Use what a distribution that is installed has."""
    installed = here.run("python", "-c", "import dxopt; print(dxopt.__path__[0])").strip()
    require(Path(installed).is_relative_to(here.folder / "environment"), f"dxopt was imported from {installed}")
    require((Path(installed) / "py.typed").is_file(), "py.typed is not installed")
    version = here.run("dxopt", "--version").split()[-1]
    require(distribution.name.startswith(f"dxopt-{version}"), f"dxopt --version printed {version}")
    here.run("dxopt", "solve", "problem.yaml", "-o", "results", "--force")
    here.run("dxopt", "verify", "results")
    here.run("dxopt", "report", "results")
    require((here.folder / "results" / "report.html").stat().st_size > 10_000, "there is no page")
    here.run("dxopt", "apply", "results/town", "people.csv", "-o", "public.csv", "--column", "value", "--force")
    lines = (here.folder / "public.csv").read_text(encoding="utf-8").splitlines()
    require(len(lines) == 41, f"of 40 rows {len(lines) - 1} are left")


def try_plugin(here: Environment) -> None:
    """Install a package that has plug-ins, and solve with them."""
    shutil.copytree(EXAMPLE, here.folder / "example")
    here.install("./example", "--no-deps")
    here.run("dxopt", "plugins")
    here.run("dxopt", "solve", "example/words.yaml", "-o", "plugged")
    said = (here.folder / "plugged" / "words-by-letters" / "notes.json").read_text(encoding="utf-8")
    require('"package": "dxopt-example-plugin"' in said, "no plug-in is recorded")


def try_light(folder: Path, distribution: Path, table: Path) -> None:
    """Install a distribution without extras and apply a table; then with the command line, and without solvers."""
    here = Environment(folder)
    (folder / "table.dxt").write_bytes(table.read_bytes())
    here.install(str(distribution))
    frozen = here.run("python", "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check").split()
    others = {line.partition("==")[0] for line in frozen} - {"dxopt", "numpy", "pip", "setuptools", "wheel"}
    require(others <= {"filelock"}, f"a light installation has {others}")
    here.run("python", "-c", LIGHT)
    said = here.run("dxopt", "--version", code=2)
    require("install dxopt[cli]" in said, f"a light installation says: {said}")
    here.install(f"{distribution}[cli]")
    here.run("dxopt", "verify", "table.dxt")
    here.run("dxopt", "export", "table.dxt", "--to", "js", "-o", "table.js")
    for command in ("solve", "explain"):
        said = here.run("dxopt", command, "problem.yaml", code=2)
        require(said.strip().endswith("install dxopt[solve]") and said.count("\n") == 1, f"{command} says: {said}")


def main(dist: str) -> None:
    """Try the wheel with all that solves, the source distribution in its place, and that one without extras."""
    [wheel] = Path(dist).resolve().glob("*.whl")
    [source] = Path(dist).resolve().glob("*.tar.gz")
    check_contents(wheel, source)
    with tempfile.TemporaryDirectory() as work:
        here = Environment(Path(work).resolve() / "full")
        here.install(f"{wheel}[solve]")
        smoke(here, wheel)
        here.run("dxopt", "export", "results/town", "--to", "dxt", "-o", "table.dxt")
        try_plugin(here)
        here.install(str(source), "--force-reinstall", "--no-deps")
        smoke(here, source)
        try_light(Path(work).resolve() / "light", source, here.folder / "table.dxt")
    print(f"test-dist: {wheel.name} and {source.name} solved, verified, reported and applied")


if __name__ == "__main__":
    main(*sys.argv[1:])
