"""Plug-ins: a package as users install it, and packages that fail in every way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.batch.jobs import Job, jobs_of
from dxopt.batch.overrides import Overrides
from dxopt.batch.resume import finished_before
from dxopt.cli.application import app
from dxopt.runtime.plugins import Found, Plugin
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram, LinearProgram, Rows, Solution
from dxopt.solving.solvers import worker
from dxopt.solving.solvers.base import Settings
from dxopt.solving.solvers.plugged import Plugged
from dxopt.verify import verify
from dxopt.verify.verdict import Outcome
from tests.material.plugged import EXAMPLE, install, installed_example, with_version

WORDS = ["cold", "cord", "card", "ward", "warm"]
LINE = dx.line(4)
PROBLEM = dx.Problem(LINE, epsilon=1.0, prior="uniform")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example."""
    return installed_example(tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="module", autouse=True)
def found_by_solvers(site: Path) -> Iterator[None]:
    """The processes of solvers find the example."""
    worker.end()
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("PYTHONPATH", str(site), prepend=":")
        yield
    worker.end()


@pytest.fixture
def example(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example is installed here as well."""
    monkeypatch.syspath_prepend(site)


def dxopt(*arguments: object) -> tuple[int, str]:
    """The exit code of a command, and what it printed."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return done.exit_code, done.output


def solved_by(function: Callable[..., object], **settings: Any) -> Solution:
    """What becomes of the answer of a plug-in's solver."""
    distances = LINE.distances
    program = ChannelProgram(distances / 4, np.where(distances > 0, distances, 0.0))
    program = LinearProgram.of(program, Rows.everywhere(program))
    return Plugged(Found(Plugin("solver", "mine", "odd", "1.0"), function)).solve(program, Settings(**settings))


@pytest.mark.usefixtures("example")
def test_the_example_in_python(tmp_path: Path) -> None:
    words = dx.MetricSpace.from_points(WORDS, "edit_distance")
    assert words.distances[0].tolist() == [0, 1, 2, 3, 4]
    problem = dx.Problem(words, epsilon=0.7, prior="uniform", loss="at_most_two", name="words")
    assert problem.losses.max() == 2
    report = dx.solve(problem, solver="dual_simplex")
    known = dx.solve(problem.but(loss=np.minimum(words.distances, 2)), solver="clarabel")
    assert report.certificate.value == pytest.approx(known.certificate.value, rel=1e-5)
    assert report.certificate.gap < 1e-6
    assert [str(one) for one in report.plugins] == [
        f"{kind} of dxopt-example-plugin 1.0"
        for kind in ("metric edit_distance", "loss at_most_two", "solver dual_simplex")
    ]
    assert "loss at_most_two of dxopt-example-plugin 1.0" in report.details()
    assert dx.load(report.save(tmp_path / "words")).plugins == report.plugins

    sweep = dx.sweep(problem, [0.5, 1.0], {"halves": "halves", "mine": np.full((5, 5), 0.2)})
    assert sweep.methods == ("optimal", "halves", "mine")
    assert all(row.private for row in sweep.reports[0].comparison.rows)  # pyright: ignore
    assert (sweep.values["halves"] > sweep.values["optimal"]).all()
    clock = dx.MetricSpace.from_points([[23, 50], [0, 10], [12, 0]], "minutes")
    assert clock.distances[0].tolist() == [0, 20, 710]
    late = dx.Loss.of("overshoot", LINE)
    assert (late.matrix[1, 3], late.matrix[3, 1]) == (6, 2)


def test_the_guide_shows_the_whole_file() -> None:
    guide = (EXAMPLE.parents[1] / "guides" / "plug-ins.md").read_text(encoding="utf-8")
    assert f"```toml\n{(EXAMPLE / 'pyproject.toml').read_text(encoding='utf-8')}```" in guide


@pytest.mark.usefixtures("example")
def test_the_example_in_a_problem_file_without_it_and_at_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Path
) -> None:
    file = EXAMPLE / "words.yaml"
    code, printed = dxopt("plugins", "--json")
    assert code == 0
    assert [one["name"] for one in json.loads(printed)] == [
        *("edit_distance", "minutes", "at_most_two", "overshoot", "dual_simplex", "halves")
    ]
    assert dxopt("solve", file, "--output", tmp_path / "results", "--json")[0] == 0
    folder = tmp_path / "results" / "words-by-letters"
    saved = json.loads((folder / "notes.json").read_bytes())
    assert [one["name"] for one in saved["plugins"]] == ["edit_distance", "at_most_two", "dual_simplex"]

    def resumable() -> bool:
        ((job, _),) = jobs_of([file], tmp_path / "results", Overrides())
        assert isinstance(job, Job)
        return finished_before(job) is not None

    assert resumable()
    monkeypatch.syspath_prepend(with_version(site, tmp_path / "newer", "1.1"))
    assert not resumable()

    # no plug-in is needed to prove the result again, nor to load it
    monkeypatch.undo()
    comparison = dx.load(folder).comparison
    assert comparison is not None
    assert str(comparison.plugins[-1]) == "mechanism halves of dxopt-example-plugin 1.0"
    left = {check.name for check in verify(folder).checks if check.status is not Outcome.HOLDS}
    rows = {f"comparison: {row.name}" for row in comparison.rows[1:] if row.private}
    assert left == {"distances", *rows}
    code, printed = dxopt("solve", file, "--output", tmp_path / "again")
    assert code == 2
    assert "words.yaml:4:" in printed
    assert "there is no 'edit_distance'" in printed


def test_packages_that_do_not_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ("metrics", "losses", "solvers", "mechanisms")
    missing = {f"dxopt.{kind}": {f"missing_{kind}": "nothing"} for kind in kinds}
    install(monkeypatch, tmp_path / "empty", missing, "")
    broken = {"dxopt.metrics": {"broken": "f", "euclidean": "f", "no name": "f", "both": "f"}}
    install(monkeypatch, tmp_path / "breaks", broken, "raise SystemExit('first line\\nsecond')")
    install(monkeypatch, tmp_path / "other", {"dxopt.metrics": {"both": "f", "seven": "seven"}}, "f = seven = 7")
    wrong = {one.plugin.name: (one.plugin.where, one.wrong) for one in dx.plugins()}
    assert wrong["broken"] == ("breaks 1.0", "'broken' of breaks 1.0 fails to load (SystemExit: first line second)")
    assert wrong["euclidean"][1] == (
        "'euclidean' of breaks 1.0 has the name of one of dxopt's own, which is taken instead"
    )
    assert wrong["no name"][1] == "'no name' is no name of letters, digits and underscores"
    assert wrong["both"][1] == "'both' is offered by breaks 1.0 and by other 1.0"
    assert wrong["seven"][1] == "'seven' of other 1.0 is no function, nor an object with block, but of type int"
    assert "has no attribute 'nothing'" in wrong["missing_solvers"][1]
    code, printed = dxopt("plugins")
    assert code == 1
    assert "metric both of other 1.0: cannot be used: 'both' is offered by breaks 1.0 and by other 1.0\n" in printed

    # what is broken breaks nothing else, and is one line where it is named
    assert dx.MetricSpace.from_points([0, 1], "euclidean").distances.max() == 1
    named: dict[str, Callable[[], object]] = {
        "empty 1.0 fails to load": lambda: dx.solve(PROBLEM, method="missing_mechanisms"),
        "solver: .*empty 1.0 fails": lambda: dx.solve(PROBLEM, solver="missing_solvers"),
        "loss: .*empty 1.0 fails": lambda: dx.Loss.of("missing_losses", LINE),
        "metric: .*breaks 1.0 fails": lambda: dx.MetricSpace.from_points([0, 1], "broken"),
        "methods?: .*empty 1.0 fails|mechanism: .*empty 1.0 fails": lambda: dx.compare(PROBLEM, "missing_mechanisms"),
    }
    for message, asked in named.items():
        with pytest.raises(dx.SpecError, match=message) as caught:
            asked()
        assert "\n" not in str(caught.value)
    file = tmp_path / "p.yaml"
    file.write_text("space: {kind: points, values: [[0], [1]], metric: both}\nepsilon: 1\n", encoding="utf-8")
    assert "p.yaml:1:51: space.metric: 'both' is offered by" in dxopt("solve", file, "-o", tmp_path / "r")[1]
    file.write_text("space: {kind: points, values: [[0], [1]], metric: broken}\nepsilon: 1\n", encoding="utf-8")
    assert "'broken' of breaks 1.0 fails to load" in dxopt("solve", file, "-o", tmp_path / "r")[1]


NONSENSE = """
import numpy as np

def negative(one, other): return -1.0
def no_triangle(one, other): return abs(one[0] - other[0]) ** 2
def raises(*anything): raise ValueError("not today\\nnor tomorrow")
class Square:
    def block(self, rows, columns): return np.zeros((1, 1))
def word(secret, report): return "much"
class Short:
    def matrix(self, space, reports): return [[0.0, 1.0]]
class Unknown:
    def matrix(self, space, reports): return np.full((4, 4), np.nan)
def truth(problem): return np.eye(4)
def nothing(problem): return None
def too_much(problem): return np.full((4, 4), 0.5)
def minus(problem): return np.array([[2.0, -1.0, 0.0, 0.0]] * 4)
def rounded(problem): return np.round(np.full((4, 4), 0.25) + 1e-13 * np.eye(4), 15)
"""


def test_nothing_that_they_give_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = {
        "dxopt.metrics": ["negative", "no_triangle", "raises", "Square"],
        "dxopt.losses": ["raises", "word", "Short", "Unknown"],
        "dxopt.mechanisms": ["truth", "nothing", "too_much", "minus", "raises", "rounded"],
    }
    points = {group: {name: name for name in names} for group, names in offered.items()}
    install(monkeypatch, tmp_path / "odd", points, NONSENSE)
    for metric, message in {
        "negative": "negative of odd 1.0 gives distances of which entry",
        "no_triangle": r"no_triangle of odd 1.0 gives distances of which d\(0, 2\) = 4 exceeds",
        "raises": r"gives no number for the points .* \(ValueError: not today nor tomorrow\)",
        "Square": r"Square of odd 1.0 gives an array of shape \(1, 1\), not \(4, 4\)",
    }.items():
        with pytest.raises(dx.SpecError, match=message):
            dx.MetricSpace.from_points([0, 1, 2, 5], metric)
    file = tmp_path / "p.yaml"
    file.write_text("space: {kind: points, values: [[0], [1], [2]], metric: no_triangle}\nepsilon: 1\n")
    told = "which d(0, 2) = 4 exceeds d(0, 1) + d(1, 2) = 2"
    assert told in dxopt("solve", file, "-o", tmp_path / "r")[1]
    for loss, message in {
        "raises": r"raises of odd 1.0 gives no number .*not today",
        "word": "word of odd 1.0 gives no number",
        "Short": r"Short of odd 1.0 has shape \(1, 2\)",
        "Unknown": r"Unknown of odd 1.0 entry \[0, 0\] is nan",
    }.items():
        with pytest.raises(dx.SpecError, match=message):
            dx.Problem(LINE, epsilon=1.0, prior="uniform", loss=loss)
    found = {row.name: row for row in dx.compare(PROBLEM, offered["dxopt.mechanisms"]).rows}
    notes = {name: row.note.partition(":")[2] for name, row in found.items() if row.value is None}
    least = "report 0 has probability 1 for 0 and 0 for 1, 1 apart, a factor 1.00000e+6 up to dust where 2.71828 is"
    far = "a repair would change the row of 1 by 1.08 in all, above 0.001"
    assert notes == {
        "truth": f" its matrix is not private at epsilon 1: {least} allowed; {far}",
        "nothing": " its matrix is of type NoneType, not numbers",
        "too_much": " its matrix row 0 sums to 2, off by more than 1e-06",
        "minus": " its matrix entry [0, 1] is -1",
        "raises": " ValueError: not today nor tomorrow",
    }
    assert found["truth"].note.startswith("of odd 1.0:")
    assert found["rounded"].private
    with pytest.raises(dx.UnsupportedError, match="is not private at epsilon 1"):
        dx.solve(PROBLEM, method="truth")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "no solution"),
        ((np.full(16, np.nan), None, None), "its solution is not 16 finite numbers"),
        ((np.zeros(3), None, None), "its solution is not 16 finite numbers"),
        (("x", None, None), "its solution is not 16 finite numbers"),
    ],
)
def test_an_answer_of_a_solver_that_is_none(answer: object, message: str) -> None:
    solution = solved_by(lambda program, settings: answer)
    assert solution.primal is None
    assert solution.status is Status.FAILED
    assert solution.message == f"mine of odd 1.0: {message}"


def test_what_a_solver_says_may_be_wrong_but_never_less_private(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(1)

    def nonsense(program: LinearProgram, settings: Settings) -> object:
        size = len(program.cost)
        return draws.normal(size=size) * 1e3, draws.normal(size=len(program.totals)), draws.normal(size=program.rows)

    def answer(solver: str, program: LinearProgram, *rest: object) -> Solution:
        return Plugged(Found(Plugin("solver", "mine", "odd", "1.0"), nonsense)).solve(program, Settings())

    losses = np.array([[0, 1, 2, 9], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]])
    problem = PROBLEM.but(loss=losses)
    known = dx.solve(problem, solver="clarabel").certificate
    monkeypatch.setattr(worker, "solve", answer)
    found = dx.solve(problem, solver="highs").certificate
    assert found.private
    assert found.epsilon <= 1.0
    assert found.bound <= known.value
    assert found.value >= known.bound
    stopped = solved_by(lambda program, settings: (np.zeros(16), None, None), should_stop=lambda: True)
    assert stopped.status is Status.FEASIBLE
    assert stopped.equality_dual is None
