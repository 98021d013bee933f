"""Results of other problems: none is replaced without being asked, and commands do not touch each other's."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt import batch
from dxopt.batch.jobs import KEY, Job, jobs_of, keep_key
from dxopt.cli.application import app
from tests.material.batches import SMALL, write

TOWN = "name: town\nspace: {kind: line, size: 4}\nepsilon: 1.0\n"


def call(folder: Path, command: str, text: str, *options: str) -> Any:
    (folder / "town.yaml").write_text(text, encoding="utf-8")
    return CliRunner().invoke(app, [command, str(folder / "town.yaml"), "-o", str(folder / "out"), *options])


def saved(folder: Path, name: str = "town") -> bytes:
    return (folder / "out" / name / "mechanism.npz").read_bytes()


def test_solve_compare_and_sweep_have_folders_of_their_own(tmp_path: Path) -> None:
    assert call(tmp_path, "compare", TOWN).exit_code == 0
    compared = saved(tmp_path, "town-compare")
    assert call(tmp_path, "sweep", TOWN, "--epsilon", "0.5,1", "--method", "tight").exit_code == 0
    assert call(tmp_path, "solve", TOWN).exit_code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["town", "town-compare", "town-sweep"]
    assert saved(tmp_path, "town-compare") == compared
    assert dx.load(tmp_path / "out" / "town-compare").comparison is not None
    assert dx.load(tmp_path / "out" / "town").comparison is None
    assert dx.EpsilonSweep.load(tmp_path / "out" / "town-sweep").epsilons.tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        (("epsilon: 1.0", "epsilon: 2.0"), "epsilon differs"),
        (("size: 4", "size: 5"), "space differs"),
        (("epsilon: 1.0", "epsilon: 1.0\nloss: binary\nmethod: exponential"), "loss, method differ"),
        (("epsilon: 1.0", "epsilon: {from: 0.5, to: 1, resolution: 0.2}"), "epsilon differs"),
    ],
)
def test_a_changed_problem_replaces_nothing_unasked(tmp_path: Path, change: tuple[str, str], keys: str) -> None:
    assert call(tmp_path, "solve", TOWN).exit_code == 0
    before = saved(tmp_path)
    for command in ("solve", "batch"):
        done = call(tmp_path, command, TOWN.replace(*change))
        assert done.exit_code == 2
        folder = tmp_path / "out" / "town"
        assert done.stderr.splitlines()[-1] == (
            f"output: {folder} holds the result of another problem ({keys}); "
            "name another folder, or replace it with --force"
        )
        assert saved(tmp_path) == before
    assert call(tmp_path, "solve", TOWN.replace(*change), "--force").exit_code == 0
    folder = tmp_path / "out" / "town"
    assert (folder / "frontier.json").exists() or saved(tmp_path) != before


def test_a_level_between_positions_is_another_one(tmp_path: Path) -> None:
    box = "kind: bounding_box, south: 45.5, west: -73.6, north: 45.52, east: -73.57, shape: [2, 2]"
    town = f"name: town\nspace: {{{box}}}\nprivacy: {{level: 1, radius: 3, for: places}}\n"
    assert call(tmp_path, "solve", town).exit_code == 0
    before = saved(tmp_path)
    assert call(tmp_path, "solve", town.replace("places", "positions")).exit_code == 2
    assert saved(tmp_path) == before


def test_sweeps_at_other_levels_and_comparisons_of_changed_files(tmp_path: Path) -> None:
    levels = ("--method", "tight", "--epsilon")
    for command, options in (("sweep", (*levels, "1,2")), ("compare", ())):
        assert call(tmp_path, command, TOWN, *options).exit_code == 0
    done = call(tmp_path, "sweep", TOWN, *levels, "1,3")
    assert (done.exit_code, "another problem (epsilon differs)" in done.stderr) == (2, True)
    done = call(tmp_path, "compare", TOWN.replace("1.0", "2.0"))
    assert (done.exit_code, "another problem (epsilon differs)" in done.stderr) == (2, True)
    assert call(tmp_path, "sweep", TOWN, *levels, "1,2").exit_code == 0
    assert call(tmp_path, "sweep", TOWN, *levels, "1,3", "--force").exit_code == 0


def test_the_same_problem_replaces_its_result(tmp_path: Path) -> None:
    same = [
        TOWN,
        "# a remark\n" + TOWN.replace("1.0", "1") + "loss: distance\n",
        TOWN + "tolerance: 1e-4\nsolver: highs\ntime_limit: 60\n",
        TOWN.replace("epsilon: 1.0", "privacy: {level: 2, radius: 2}"),
        TOWN + "expect: {value: 7, source: nowhere}\n",
        TOWN + "evaluate: [worst_loss]\ncompare: [exponential]\n",
    ]
    for text in same:
        assert call(tmp_path, "solve", text).exit_code in (0, 1), text
    # what has a comparison is not replaced by what has none
    done = call(tmp_path, "solve", TOWN)
    assert (done.exit_code, "another problem (compare, evaluate differ)" in done.stderr) == (2, True)


def test_a_level_more_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    family = TOWN.replace("1.0", "[1, 2]")
    assert call(tmp_path, "solve", family).exit_code == 0
    assert call(tmp_path, "solve", family.replace("2]", "2, 3]")).exit_code == 0
    assert len(list((tmp_path / "out").iterdir())) == 3


def test_data_files_count_and_their_names_do_not(tmp_path: Path) -> None:
    points = "name: town\nspace: {kind: points, file: a.csv, columns: [x]}\nepsilon: 1\n"
    (tmp_path / "a.csv").write_text("x\n0\n1\n", encoding="utf-8")
    assert call(tmp_path, "solve", points).exit_code == 0
    (tmp_path / "a.csv").write_text("x\n0\n2\n", encoding="utf-8")
    done = call(tmp_path, "solve", points)
    assert (done.exit_code, "another problem (data differs)" in done.stderr) == (2, True)


def test_a_result_of_python_is_not_replaced(tmp_path: Path) -> None:
    space = dx.line(4)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
    dx.solve(problem).save(tmp_path / "out" / "town")
    done = call(tmp_path, "solve", TOWN)
    assert (done.exit_code, "another problem (it does not say of which)" in done.stderr) == (2, True)
    assert call(tmp_path, "solve", TOWN, "--force").exit_code == 0


def test_one_that_is_refused_leaves_the_others(tmp_path: Path) -> None:
    files = write(tmp_path, a=SMALL, b=SMALL)
    batch.run_apart(files, tmp_path / "out")
    write(tmp_path, a=SMALL.replace("1.0", "2.0"))
    outcome = batch.run_apart(files, tmp_path / "out", workers=2)
    assert [line.status for line in outcome.lines] == ["bad input", "optimal"]
    outcome = batch.run_apart(files, tmp_path / "out", resume=True)
    assert [line.status for line in outcome.lines] == ["optimal", "optimal"]
    assert outcome.notes == [
        "1 of 2 were finished before",
        "1 earlier results are of problems that have changed since, and are replaced",
    ]
    assert batch.run_apart(files, tmp_path / "out", force=True).exit_code == 0


FILES = {
    "space": "space: {kind: points, file: a.csv, columns: [x]}\n",
    "prior": "space: {kind: line, size: 3}\nprior: {kind: column, file: a.csv, column: weight}\n",
    "evaluate": "space: {kind: line, size: 3}\nevaluate: {file: a.csv, label: x, name: seen}\n",
}


@pytest.mark.parametrize("named", FILES)
def test_whoever_has_a_guess_of_a_data_file_cannot_confirm_it(named: str, tmp_path: Path) -> None:
    """Another person in a column that nobody uses is nothing that a record shows to who has no key of the folder."""
    write(tmp_path, town="epsilon: 1\n" + FILES[named])

    def records(output: str, person: str) -> list[str]:
        text = f"x,weight,person\n0,2,{person}\n1,3,bob\n2,4,carl\n"
        (tmp_path / "a.csv").write_text(text, encoding="utf-8")
        jobs = [job for job, _ in jobs_of([tmp_path], tmp_path / output, batch.Overrides()) if isinstance(job, Job)]
        (tmp_path / output).mkdir(exist_ok=True)
        keep_key(jobs[0])
        return [jobs[0].digest, *(f"{key} {digest}" for key, digest in sorted(jobs[0].question.items()))]

    truth, again, guessed, other = (
        records("out", "ann"),
        records("out", "ann"),
        records("x", "ann"),
        records("x", "eve"),
    )
    assert truth == again != records("out", "eve")
    pairs = zip(truth, guessed, other, strict=True)
    assert [said for said, guess, wrong in pairs if said == guess != wrong] == []
    assert stat.S_IMODE((tmp_path / "out" / KEY).stat().st_mode) == 0o600 or os.name == "nt"


def test_without_its_key_a_folder_is_solved_again_when_asked(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n0\n1\n", encoding="utf-8")
    files = write(tmp_path, town="epsilon: 1\n" + FILES["space"], other=SMALL)
    for damage in (lambda key: key.unlink(), lambda key: key.write_bytes(b"")):
        batch.run_apart(files, tmp_path / "out", resume=True)
        assert batch.run_apart(files, tmp_path / "out", resume=True).notes == ["2 of 2 were finished before"]
        damage(tmp_path / "out" / KEY)
        assert [line.status for line in batch.run_apart(files, tmp_path / "out").lines] == ["optimal", "bad input"]
        assert batch.run_apart(files, tmp_path / "out", resume=True).notes[0] == "1 of 2 were finished before"
