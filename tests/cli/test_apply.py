"""`dxopt apply`: from a result folder or a table to a file of reports; bad input is one line, and leaves nothing."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from tests.judges.releases import metres
from tests.material.checks import change_array
from tests.material.people import people, town

pd = pytest.importorskip("pandas")


def call(*arguments: str | Path):
    """Run the command line in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result folder whose prior is not uniform."""
    space = town().space
    prior = dx.Prior.from_weights(space, np.arange(1, 21), name="counted")
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=prior, loss="distance"), method="exponential")
    return report.save(tmp_path_factory.mktemp("results") / "town")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    pd.DataFrame(people()).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


COLUMNS = ("--lat", "lat", "--lon", "lon")


def test_a_result_folder_is_applied_with_its_prior(result: Path, data: Path) -> None:
    output = data.with_name("out.csv")
    done = call("apply", result, data, "-o", output, *COLUMNS, "--worst", "--drop", "note")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0].startswith(f"{output}: 40 of 40 rows, epsilon ")
    assert done.stderr == ""
    said = json.loads(output.with_name("out.csv.dxopt.json").read_text(encoding="utf-8"))
    assert said["prior"]["name"] == "of the table"
    assert said["columns"]["left_out"] == ["note"]
    assert said["command"][0] == "dxopt"
    table = dx.IntegerTable.load(result / "table.dxt")
    frame = pd.read_csv(output)
    space = table.space
    weights = np.arange(1, 21).tolist()
    for report, radius in zip(frame["report"], frame["coordinateUncertaintyInMeters"], strict=True):
        z = table.reports.labels.index(report)
        behind = [weight * row[z] for weight, row in zip(weights, table.counts.tolist(), strict=True)]
        assert radius == metres(space.distances[:, z].tolist(), behind, said["secret"]["within"])


def test_a_table_is_applied_and_warnings_are_printed(data: Path, tmp_path: Path) -> None:
    town().save(tmp_path / "town.dxt")
    pd.DataFrame({**people(), "address": "x"}).to_csv(data, index=False)
    done = call("apply", tmp_path / "town.dxt", data, "-o", tmp_path / "out.csv", *COLUMNS, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == json.loads((tmp_path / "out.csv.dxopt.json").read_text(encoding="utf-8"))
    assert done.stderr.startswith("warning: data: columns are kept that may locate somebody: 'address'")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--lat", "lat"), "columns: are named by lat"),
        (("--lat", "latitude", "--lon", "lon"), "columns: there is no column 'latitude'"),
        (("--lat", "lon", "--lon", "lat"), "lat: are 'lon' and 'lat', in this order"),
        ((*COLUMNS, "--outside", "ignore"), "outside: is 'ignore'"),
        ((*COLUMNS, "--within", "0.001"), "data: 40 of 40 rows"),
        ((*COLUMNS, "--over-budget", "drop"), "--over-budget: is 'drop', but there is no ledger; give "),
        ((*COLUMNS, "--over-budget", "some"), "--over-budget: is 'some'; choose one of refuse, drop"),
        ((*COLUMNS, "--keep", "who"), "keep: there is no column 'who'"),
        ((*COLUMNS, "--prior", "mine"), "prior: is 'mine'; choose one of uniform"),
        ((), "columns: are not named"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    result: Path, data: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = call("apply", result, data, "-o", data.with_name("out.csv"), *arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith(words)
    assert done.stderr.count("\n") == 1
    assert [path.name for path in data.parent.iterdir()] == ["people.csv"]


def test_rows_are_paid_for_and_drawn_with_a_key(result: Path, data: Path, tmp_path: Path) -> None:
    key = dx.Key.new().save(tmp_path / "people.key")
    hidden = dx.Key.new().save(tmp_path / "ledger.key")
    ledger = tmp_path / "budget.sqlite"
    setting = ("budget", ledger, "--set", "1", "--unit", "per km", "--key-file", hidden)
    assert call(*setting).exit_code == 0
    asked = ("apply", result, data, *COLUMNS, "--person", "person", "--ledger", ledger, "--ledger-key", hidden)
    done = call(*asked, "-o", tmp_path / "a.csv")
    assert done.exit_code == 0, done.output
    again = call(*asked, "-o", tmp_path / "b.csv")
    assert again.exit_code == 2
    assert again.stderr.startswith("budget: 40 persons have too little left; the first has ")
    assert again.stderr.count("\n") == 1
    assert not (tmp_path / "b.csv").exists()
    wrong = call(*asked[:-2], "-o", tmp_path / "b.csv")
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1)
    keyed = ("apply", result, data, *COLUMNS, "--person", "person", "--key-file", key, "--release", "autumn")
    for name in ("c.csv", "d.csv"):
        assert call(*keyed, "-o", tmp_path / name).exit_code == 0
    assert (tmp_path / "c.csv").read_bytes() == (tmp_path / "d.csv").read_bytes()
    no_key = call(*keyed[:-4], "--release", "autumn", "-o", tmp_path / "e.csv")
    words = "release: needs a key; leave --release out, or give --key-file FILE or set DXOPT_KEY\n"
    assert (no_key.exit_code, no_key.stderr) == (2, words)
    assert not (tmp_path / "e.csv").exists()


def test_messages_name_options_as_the_command_line_has_them(result: Path, data: Path, tmp_path: Path) -> None:
    output = ("-o", tmp_path / "out.csv")
    far = call("apply", result, data, *COLUMNS, "--within", "0.001", *output)
    assert far.stderr.endswith("unit, give a larger --within, or --outside nearest or --outside drop\n")
    ledger = tmp_path / "budget.sqlite"
    assert call("budget", ledger, "--set", "0.1", "--unit", "per km").exit_code == 0
    paid = ("--person", "person", "--ledger", ledger)
    short = call("apply", result, data, *COLUMNS, *paid, *output)
    assert "the first rows of each person that the budget pays for: --over-budget drop, or " in short.stderr
    none = call("apply", result, data, *COLUMNS, *paid, *output, "--over-budget", "drop")
    assert none.stderr.endswith("or take a smaller epsilon: --over-budget drop would leave no row\n")
    table = tmp_path / "town.json"
    assert call("export", result, "--to", "json", "-o", table).exit_code == 0
    again = call("export", result, "--to", "json", "-o", table)
    assert again.stderr == f"output: {table} is there already; name another file, or replace it with --force\n"


def test_a_release_without_a_key_is_named_in_the_ledger(result: Path, data: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "budget.sqlite"
    assert call("budget", ledger, "--set", "9", "--unit", "per km").exit_code == 0
    paid = ("--person", "person", "--ledger", ledger, "--release", "autumn", "-o", tmp_path / "a.csv")
    done = call("apply", result, data, *COLUMNS, *paid)
    assert done.exit_code == 0, done.output
    assert not json.loads((tmp_path / "a.csv.dxopt.json").read_text(encoding="utf-8"))["draws"]["keyed"]
    with dx.Budgets.open(ledger) as budgets:
        assert {payment.release for payment in budgets.history("p0")} == {"autumn"}


def test_a_result_without_a_table_gets_one_where_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dxopt.results.report.TABLE_TRIPLES", 100)
    space = dx.line(8)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.from_weights(space, np.arange(1, 9)))
    folder = dx.solve(problem).save(tmp_path / "results" / "beds")
    assert not (folder / "table.dxt").exists()
    data = tmp_path / "beds.csv"
    data.write_text("beds\n1\n7\n3\n", encoding="utf-8")

    # 1. by itself, in a file beside the result
    done = call("table", folder)
    assert done.exit_code == 0, done.output
    table = dx.IntegerTable.load(tmp_path / "results" / "beds.dxt")
    assert call("table", folder).exit_code == 2  # it is there
    assert call("table", tmp_path).exit_code == 2

    # 2. by whoever needs it: the same one
    for given, name in ((folder, "a.csv"), (tmp_path / "results" / "beds.dxt", "b.csv")):
        done = call("apply", given, data, "-o", tmp_path / name, "--column", "beds")
        assert done.exit_code == 0, done.output
        said = json.loads((tmp_path / f"{name}.dxopt.json").read_text(encoding="utf-8"))
        assert said["mechanism"]["table_sha256"] == table.digest
        assert call("verify", tmp_path / name, "--result", folder).exit_code == 0
    assert call("export", folder, "--to", "dxt", "-o", tmp_path / "c.dxt").exit_code == 0
    assert dx.IntegerTable.load(tmp_path / "c.dxt").digest == table.digest
    assert call("verify", folder).exit_code == 0

    # 3. a report that was read makes it as well, unless it is too large
    report = dx.load(folder)
    with pytest.raises(dx.UnsupportedError) as caught:
        report.table.sample("1")
    assert (caught.value.field, report.why_no_table != "") == ("table", True)
    drawn = dx.apply(report, pd.DataFrame({"beds": [1, 7]}), column="beds")
    assert len(drawn) == 2
    assert report.make_table().digest == table.digest
    assert not report.why_no_table and report.table.digest == table.digest
    monkeypatch.setattr("dxopt.release.tables.making.MOST_TRIPLES", 100)
    with pytest.raises(dx.UnsupportedError) as caught:
        dx.load(folder).make_table()
    assert caught.value.field == "mechanism"
    assert call("table", folder, "-o", tmp_path / "d.dxt").exit_code == 2


def test_what_is_no_result_is_refused(result: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.dxt").write_bytes(b"no")
    (tmp_path / "town.yaml").write_text("epsilon: 1\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no\n", encoding="utf-8")
    altered = tmp_path / "altered"
    shutil.copytree(result, altered)
    change_array(altered / "table.dxt", "epsilon", lambda epsilon: epsilon / 2)
    for path, words in {
        "none": "file: .*none does not exist; check the name",
        "empty": "table: .* has none: it is no result folder",
        "broken.dxt": "table: .* is no table file",
        "town.yaml": "table: .*town.yaml is a problem file; run `dxopt solve` on it first, and name its result",
        "notes.txt": "table: .*notes.txt is no result folder, and no table file; name the folder that `dxopt solve`",
        "altered": "table: .* was altered",
    }.items():
        done = call("apply", tmp_path / path, data, "-o", tmp_path / "out.csv", *COLUMNS)
        assert done.exit_code == 2, path
        assert re.match(words, done.stderr), done.stderr
    assert not (tmp_path / "out.csv").exists()


def test_the_program_as_it_is_installed(result: Path, data: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dxopt.cli", "apply", result, data, "-o", tmp_path / "out.csv", *COLUMNS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert (
        again.stderr
        == f"output: {tmp_path}/out.csv is there already; name another file, or replace it with --force\n"
    )
