"""Published files tied to their mechanism: what is honest holds, and each forgery is refused in one line.

A forger writes the digest and the size of the file in the sidecar anew.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.verify import Outcome, Verdict, verify_published
from dxopt.verify.published.sidecar import read_sidecar
from dxopt.words.published import sentences
from tests.material.people import WithLedger, counts, people, plane, town, write_geojson

ROWS = "ward,cases\nNorth,1\nMill,0\nPark,6\nHill,3\nPort,3\n"
COLUMNS = {"lat": "lat", "lon": "lon"}
NAMES = ["result", "file", "table", "privacy", "columns", "reports", "rows", "promise", "radii"]


def solved(folder: Path, size: int = 7, epsilon: float = 0.7) -> Path:
    line = dx.line(size, unit="people")
    return dx.solve(dx.Problem(line, epsilon=epsilon, prior="uniform")).save(folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a result, a published file and its sidecar."""
    folder = tmp_path_factory.mktemp("published")
    solved(folder / "wards")
    (folder / "cases.csv").write_text(ROWS, encoding="utf-8")
    dx.apply(dx.IntegerTable.load(folder / "wards"), folder / "cases.csv", folder / "public.csv", column="cases")
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


def said_of(file: Path) -> dict[str, Any]:
    return json.loads(file.with_name(f"{file.name}.dxopt.json").read_text(encoding="utf-8"))


def say(file: Path, said: dict[str, Any]) -> None:
    """Write a sidecar with the digest and the size of the file."""
    written = file.read_bytes()
    said["output"] |= {"sha256": hashlib.sha256(written).hexdigest(), "bytes": len(written)}
    file.with_name(f"{file.name}.dxopt.json").write_text(json.dumps(said), encoding="utf-8")


def failing(verdict: Verdict) -> dict[str, str]:
    assert verdict.exit_code == 1
    assert verdict.note == ""
    return {check.name: check.detail for check in verdict.checks if check.status is Outcome.FAILS}


def call(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["verify", *map(str, arguments)])


def test_an_honest_file_holds(made: Path) -> None:
    done = call(made / "public.csv", "--result", made / "wards")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines[1 : len(NAMES) + 1]] == [[name, "holds"] for name in NAMES]
    assert "reports in 'cases', 'report'; made of them: 'uncertainty', " in done.stdout
    assert "; kept as given, and not protected: 'ward'" in done.stdout
    assert "epsilon 0.7 for each report (distances in people)" in done.stdout
    assert "that they were drawn from it honestly cannot be proven from a file" in lines[len(NAMES) + 1]
    assert lines[len(NAMES) + 2].startswith("not proven again: columns that were kept, ")
    promised = sentences(read_sidecar(made / "public.csv.dxopt.json"))
    assert lines[len(NAMES) + 3 :] == [f"{topic}: {text}" for topic, text in promised]
    explained = CliRunner().invoke(app, ["explain", str(made / "public.csv")]).stdout.splitlines()
    assert explained[1:-1] == lines[len(NAMES) + 3 :]
    told = json.loads(call(made / "public.csv", "--result", made / "wards", "--json").stdout)
    assert (told["outcome"], told["note"]) == ("holds", "\n".join(lines[len(NAMES) + 1 : len(NAMES) + 3]))
    assert told["sentences"] == [list(pair) for pair in promised]


def test_a_table_file_serves_as_well_as_the_folder(copy: Path) -> None:
    table = dx.IntegerTable.load(copy / "wards").save(copy / "wards.dxt")
    assert verify_published(copy / "public.csv", table).exit_code == 0


@pytest.mark.parametrize("name", ["csv", "tsv", "parquet", "geojson", "geoparquet"])
def test_positions_in_every_format(name: str, tmp_path: Path) -> None:
    data, output = tmp_path / f"people.{name}", tmp_path / f"out.{name}"
    columns: dict[str, Any] = COLUMNS
    if name == "geojson":
        write_geojson(data, people(6))
        columns = {}
    else:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(people(6))
        if name == "geoparquet":
            geopandas = pytest.importorskip("geopandas")
            points = geopandas.points_from_xy(frame["lon"], frame["lat"], crs=4326)
            geopandas.GeoDataFrame(frame[["person"]], geometry=points).to_parquet(data)
            columns = {}
        elif name == "parquet":
            frame.to_parquet(data)
        else:
            frame.to_csv(data, index=False, sep="\t" if name == "tsv" else ";", lineterminator="\r\n")
    dx.apply(town(), data, output, columns=dx.Columns(worst=True), **columns)
    table = town().save(tmp_path / "town.dxt")
    verdict = verify_published(output, table)
    assert verdict.exit_code == 0, str(verdict)
    other = dx.integer_table(dx.classic.exponential(town().space, epsilon=1.3)).save(tmp_path / "other.dxt")
    assert set(failing(verify_published(output, other))) == {*("table", "privacy", "reports", "promise")}


@pytest.mark.parametrize(
    "options", [{"x": "a", "y": "b"}, {"x": "a", "y": "b", "lean": True}, {"label": "who", "lean": True}]
)
def test_planes_and_labels(options: dict[str, Any], tmp_path: Path) -> None:
    data = tmp_path / "places.csv"
    data.write_text('who,a,b\n"(0, 1)",0,1\n"(2, 3)",2,3\n', encoding="utf-8")
    dx.apply(plane(), data, tmp_path / "out.csv", columns=dx.Columns(**options))
    verdict = verify_published(tmp_path / "out.csv", plane().save(tmp_path / "plane.dxt"))
    assert verdict.exit_code == 0, str(verdict)


def test_draws_with_a_key_name_it(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(ROWS, encoding="utf-8")
    key = dx.Key(bytes(range(32)))
    asked: dict[str, Any] = {"column": "cases", "key": key, "person": "ward", "release": "May"}
    dx.apply(counts(), tmp_path / "cases.csv", tmp_path / "out.csv", **asked)
    verdict = verify_published(tmp_path / "out.csv", counts().save(tmp_path / "counts.dxt"))
    assert verdict.exit_code == 0, str(verdict)
    assert f"whoever has key {key.fingerprint} and the secrets can draw them again" in verdict.note


class TestLedger(WithLedger):
    """A file that was paid for."""

    def test_rows_that_were_not_paid_for_are_counted(self, tmp_path: Path) -> None:
        self.ledger.set(2 * self.level)
        self.apply(over_budget="drop", outside="drop")
        table = town().save(tmp_path / "town.dxt")
        verdict = verify_published(self.output, table)
        assert verdict.exit_code == 0, str(verdict)
        assert verdict.of("rows").detail == "19, as the sidecar says; left out 1 not paid for"
        assert verdict.note.splitlines()[0].endswith("what was paid for them is in the ledger alone")
        said = said_of(self.output)
        said["budgets"] |= {"rows_left_out": 0, "persons_left_out": 0}
        say(self.output, said)
        assert failing(verify_published(self.output, table)) == {
            "rows": "there are 19 rows, but of 20 in the sidecar 0 and 0 were left out"
        }


def _replace(old: str, new: str) -> Callable[[Path, dict[str, Any]], None]:
    def change(file: Path, said: dict[str, Any]) -> None:
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def _said(group: str, name: str, value: Any) -> Callable[[Path, dict[str, Any]], None]:
    def change(file: Path, said: dict[str, Any]) -> None:
        said[group][name] = value

    return change


def moved(folder: Path, table: dx.IntegerTable | None = None, **options: Any) -> tuple[Path, Path]:
    """A published file of people in the town, and the file of its table."""
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(people(6)).to_csv(folder / "people.csv", index=False)
    given = table or town()
    columns = dx.Columns(worst=True, **{name: options.pop(name) for name in ("lean", "prior") if name in options})
    asked: dict[str, Any] = {**COLUMNS, "columns": columns, **options}
    dx.apply(given, folder / "people.csv", folder / "out.csv", **asked)
    return folder / "out.csv", given.save(folder / "town.dxt")


SHAPES: dict[str, Callable[[], dx.MetricSpace]] = {
    "hexagons": lambda: dx.geo.h3_cells(8, box=(45.68, 4.76, 45.74, 4.84)),
    "geodesic": lambda: dx.geo.bounding_grid(45.68, 4.76, 45.74, 4.84, shape=(4, 5), metric="geodesic"),
    "points": lambda: dx.geo.points([[45.69, 4.77], [45.69, 4.83], [45.73, 4.77], [45.73, 4.83]], unit="m"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_promises_of_other_spaces_hold(shape: str, tmp_path: Path) -> None:
    space = SHAPES[shape]()
    level = 0.001 if space.unit == "m" else 1.0
    table = dx.integer_table(dx.classic.exponential(space, epsilon=level))
    verdict = verify_published(*moved(tmp_path, table, outside="nearest"))
    assert verdict.exit_code == 0, str(verdict)


@pytest.mark.parametrize(
    "options",
    [
        {"outside": "drop", "lean": True},
        {"outside": "nearest", "within": 5.0},
        {"prior": [1.0] + 19 * [0.0]},
        {"key": dx.Key(bytes(range(32))), "person": "person", "release": "May"},
    ],
)
def test_promises_with_options_hold(options: dict[str, Any], tmp_path: Path) -> None:
    verdict = verify_published(*moved(tmp_path, **dict(options)))
    assert verdict.exit_code == (3 if "prior" in options else 0), str(verdict)
    told = {check.name: check.detail for check in verdict.checks}
    assert ("not proven again: secret.within 5, which was given" in told["promise"]) == ("within" in options)
    assert (verdict.of("radii").status is Outcome.NOT_REPROVED) == ("prior" in options)


@pytest.mark.parametrize("options", [{"within": 0}, {"within": 0, "outside": "nearest"}, {"outside": "nearest"}])
def test_promises_of_values_hold(options: dict[str, Any], copy: Path) -> None:
    table = dx.IntegerTable.load(copy / "wards")
    dx.apply(table, copy / "cases.csv", copy / "other.csv", column="cases", **options)
    verdict = verify_published(copy / "other.csv", copy / "wards")
    assert verdict.exit_code == 0, str(verdict)


def test_positions_that_were_said_to_be_near_prove_no_factor(tmp_path: Path) -> None:
    file, table = moved(tmp_path, within=0.8, outside="nearest")
    verdict = verify_published(file, table)
    assert verdict.exit_code == 3
    assert "takes that all were within 0.8 of their secrets" in verdict.of("promise").detail


@pytest.mark.parametrize("default", [0.1, 1 / 3, 1.0, 1.2])
def test_what_a_budget_pays_for_follows_from_it(default: float, tmp_path: Path) -> None:
    for many in (1, 3, 7):
        folder = tmp_path / str(many)
        folder.mkdir()
        table = dx.integer_table(dx.classic.exponential(town().space, epsilon=default))
        with dx.Budgets.open(folder / "l.sqlite", create=True, default=many * Fraction(table.epsilon)) as ledger:
            verdict = verify_published(*moved(folder, table, ledger=ledger, person="person"))
        assert verdict.exit_code == 0, str(verdict)


def _promised(**numbers: float) -> Callable[[Path, dict[str, Any]], None]:
    """Better numbers."""

    def change(file: Path, said: dict[str, Any]) -> None:
        said["privacy"]["near"] |= numbers

    return change


def _dropped(file: Path, said: dict[str, Any]) -> None:
    said["rows"]["dropped"] = [99]
    said["rows"]["given"] += 1


def _nearer(file: Path, said: dict[str, Any]) -> None:
    said["secret"]["within"] = 0.1


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        (_promised(factor=2.0), "promise", "^the sidecar promises a factor of 2.0 .* proves no less than 5.31"),
        (_promised(apart=0.1), "promise", r"privacy.near.apart 0.1: .* within 1 may be 2.07995\d+ apart$"),
        (_promised(radius=5.0), "promise", r"within 5 may be \d\.\d+ apart$"),
        (_nearer, "promise", r"says secret.within 0.1, the space gives 1.0400\d+$"),
        (_said("secret", "within_unit", "m"), "promise", "within_unit 'm', the space gives 'km'$"),
        (_said("secret", "within", -1.0), "promise", "negative distance"),
        (_dropped, "rows", "secret.outside 'refuse' and secret.unusable 'refuse' do not allow"),
        (_said("radius", "columns", []), "radii", r"radius.columns \(\), not"),
        (lambda file, said: said.update(radius=None), "radii", "the sidecar says nothing of the radii in"),
        (_said("radius", "worst", 2000.0), "radii", r"^the radius 2000.0 for every secret .* with \d+\.\d+% only$"),
        (_said("radius", "share", 0.99), "radii", "says radius.share 0.99, not 0.95$"),
        (
            _replace("epsilon 0.803445149", "epsilon 0.1"),
            "reports",
            "dataGeneralizations",
        ),
    ],
)
def test_false_promises_are_refused(
    tmp_path: Path, change: Callable[[Path, dict[str, Any]], None], name: str, words: str
) -> None:
    file, table = moved(tmp_path)
    said = said_of(file)
    change(file, said)
    say(file, said)
    found = failing(verify_published(file, table))
    assert re.search(words, found[name]), found
    assert "\n" not in found[name]


def test_a_smaller_radius_about_a_report_is_refused(tmp_path: Path) -> None:
    file, table = moved(tmp_path)
    head, *rows = file.read_text(encoding="utf-8").splitlines()
    place = head.split(",").index("coordinateUncertaintyInMeters")
    said = said_of(file)
    changed = re.sub(r",(\d{4}),(\d{4}),", r",2000,\2,", "\n".join(rows))
    assert place and changed != "\n".join(rows)
    file.write_text(f"{head}\n{changed}\n", encoding="utf-8")
    say(file, said)
    found = failing(verify_published(file, table))
    assert re.search(r"^the radius 2000.0 about report \(\d, \d\) holds the secret with .*% only$", found["radii"])


def test_less_may_be_promised(tmp_path: Path) -> None:
    file, table = moved(tmp_path)
    said = said_of(file)
    said["privacy"]["near"]["factor"] = 6.0
    say(file, said)
    assert verify_published(file, table).exit_code == 0


def _first_row(column: int, value: str) -> Callable[[Path, dict[str, Any]], None]:
    def change(file: Path, said: dict[str, Any]) -> None:
        lines = file.read_text(encoding="utf-8").splitlines()
        row = lines[1].split(",")
        row[column] = value
        file.write_text("\n".join([lines[0], ",".join(row), *lines[2:]]) + "\n", encoding="utf-8")

    return change


def _one_fewer(file: Path, said: dict[str, Any]) -> None:
    file.write_text("".join(file.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")


def _secret_beside(file: Path, said: dict[str, Any]) -> None:
    """A radius that depends on the secret, in a file whose reports are all the same."""
    head, first, *_ = file.read_text(encoding="utf-8").splitlines()
    row = first.split(",")
    other = [*row[:4], "9.75", *row[5:]]
    file.write_text("\n".join([head, *[first] * 4, ",".join(other)]) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        (_first_row(1, "9"), "reports", r"^line 2: cases '9', report '\d' is no report that the mechanism can give$"),
        (_first_row(1, "0.5"), "reports", "^line 2: cases '0.5'"),
        (_first_row(1, "many"), "reports", "^line 2: cases 'many'"),
        (_first_row(1, "0_0"), "reports", "^line 2: cases '0_0'"),
        (_first_row(2, "North"), "reports", "report 'North' is no report"),
        (_first_row(3, "0.1"), "reports", "^line 2: epsilon is '0.1', that of the table 0.7"),
        (_secret_beside, "reports", "^lines 2 and 6 have the same report, but another uncertainty"),
        (_one_fewer, "rows", "^there are 4 rows, by the sidecar 5$"),
        (_said("rows", "given", 6), "rows", "^there are 5 rows, but of 6 in the sidecar 0 and 0 were left out$"),
        (
            _said("mechanism", "table_sha256", "0" * 64),
            "table",
            "names table 0000000000000000…, and that of .*wards is",
        ),
        (_said("mechanism", "name", "best"), "table", "says mechanism.name 'best', the table of .*wards 'line: "),
        (_said("mechanism", "secrets", 700), "table", "mechanism.secrets 700, the table of .* 7$"),
        (_said("privacy", "epsilon", 0.07), "privacy", "says privacy.epsilon 0.07, the table of .*wards 0.7$"),
        (_said("privacy", "unit", "wards"), "privacy", "says privacy.unit 'wards', .* 'people'$"),
        (_said("privacy", "metric", "hamming"), "privacy", "says privacy.metric 'hamming'"),
        (_said("secret", "kind", "earth"), "columns", "kind 'earth', which the reports of the table are not"),
        (_said("columns", "made", ["report"]), "columns", "^column 'cases' had what is protected, and is there"),
        (_said("columns", "made", ["deaths"]), "columns", "^there is no column 'deaths', which the sidecar says"),
        (_said("columns", "left_out", ["ward"]), "columns", "^column 'ward' is there, which the sidecar says"),
        (
            _said("secret", "columns", ["deaths"]),
            "columns",
            "^column 'cases' is said to be made, and is none that is",
        ),
        (_replace("North,", "North,x,"), "reports", "^line 2 has 7 fields, and the first 6$"),
        (_replace("ward,", "cases,"), "columns", "^the file has two columns of one name$"),
    ],
)
def test_forgeries_are_refused(
    copy: Path, change: Callable[[Path, dict[str, Any]], None], name: str, words: str
) -> None:
    file = copy / "public.csv"
    said = said_of(file)
    change(file, said)
    say(file, said)
    found = failing(verify_published(file, copy / "wards"))
    assert name in found
    assert re.search(words, found[name]), found[name]
    assert "\n" not in found[name]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (_said("privacy", "statement", ["Nobody can tell anything."]), "privacy.statement"),
        (lambda file, said: said.update(promise="perfect"), "promise"),
        (lambda file, said: said.pop("rows"), "rows"),
        (_said("columns", "made", "cases"), "columns.made"),
        (_said("privacy", "epsilon", True), "privacy.epsilon"),
        (_said("privacy", "epsilon", "0.7"), "privacy.epsilon"),
        (_said("secret", "outside", "kept"), "secret.outside"),
        (_said("rows", "noun", "cats"), "rows.noun"),
        (_said("radius", "worst", math.nan), "radius.worst"),
    ],
)
def test_fields_that_no_sidecar_has_are_refused(
    copy: Path, change: Callable[[Path, dict[str, Any]], None], field: str
) -> None:
    file = copy / "public.csv"
    said = said_of(file)
    change(file, said)
    say(file, said)
    assert failing(verify_published(file, copy / "wards"))["sidecar"].startswith(f"public.csv.dxopt.json: {field}: ")


NO_CLAIMS = {
    *("version", "command", "prior.name", "secret.within_from_space", "columns.left_out"),
    *("output.name", "budgets.default"),
}
"""What a sidecar says and nobody proves: `verify` lists it, or what rests on it, as not proven again."""
WEAKER = {
    *(("radius.worst", "more"), ("columns.made", "less"), ("budgets.default_rows", "less")),
    *(("privacy.near.factor", "more"), ("privacy.near.apart", "more"), ("privacy.near.radius", "less")),
}
"""A larger radius; a column that is said to be kept; a budget up to its rounding; a weaker promise."""


def leaves(content: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(content, dict):
        for name, entry in content.items():
            yield from leaves(entry, (*path, name))
    else:
        yield path


def changed(entry: Any, how: str) -> Any:
    match entry:
        case bool():
            return not entry
        case int() | float():
            return entry + 1 if how == "more" else max(entry - 1, 0) if entry else 5
        case str():
            return f"{entry}x"
        case list():
            return [*entry, entry[0] if entry else 1] if how == "more" else entry[:-1]
    return 1


@pytest.mark.parametrize("how", ["more", "less"])
def test_no_field_says_what_is_not_so(how: str, tmp_path: Path) -> None:
    """Every field of a sidecar with a ledger and rows left out is changed alone."""
    (tmp_path / "cases.csv").write_text(f"{ROWS}North,99\nNorth,2\nNorth,2\n", encoding="utf-8")
    table = counts().save(tmp_path / "counts.dxt")
    file = tmp_path / "out.csv"
    options: dict[str, Any] = {"within": 0, "outside": "drop", "over_budget": "drop", "person": "ward"}
    with dx.Budgets.open(tmp_path / "l.sqlite", create=True, default=2 * Fraction(counts().epsilon)) as ledger:
        columns = dx.Columns(worst=True)
        dx.apply(counts(), tmp_path / "cases.csv", file, column="cases", columns=columns, ledger=ledger, **options)
    honest = said_of(file)
    assert (honest["rows"]["dropped"], honest["budgets"]["rows_left_out"]) == ([7], 1)
    assert verify_published(file, table).exit_code == 0
    holds = set()
    for path in leaves(honest):
        said = copied = json.loads(json.dumps(honest))
        for name in path[:-1]:
            copied = copied[name]
        copied[path[-1]] = changed(copied[path[-1]], how)
        if path[0] == "output":
            file.with_name(f"{file.name}.dxopt.json").write_text(json.dumps(said), encoding="utf-8")
        else:
            say(file, said)
        if said != honest and verify_published(file, table).exit_code == 0:
            holds.add(".".join(path))
    assert holds - NO_CLAIMS <= {name for name, side in WEAKER if side == how}


@pytest.mark.parametrize("rows", [0, 3, None])
def test_a_budget_pays_for_what_it_is_worth(tmp_path: Path, rows: int | None) -> None:
    with dx.Budgets.open(tmp_path / "l.sqlite", create=True, default=2 * Fraction(town().epsilon)) as ledger:
        file, table = moved(tmp_path, ledger=ledger, person="person")
    said = said_of(file)
    said["budgets"]["default_rows"] = rows
    say(file, said)
    assert "does not pay for" in failing(verify_published(file, table))["rows"]


def test_a_file_that_was_changed_is_refused(copy: Path) -> None:
    file = copy / "public.csv"
    file.write_text(file.read_text(encoding="utf-8").replace("North", "South"), encoding="utf-8")
    done = call(file, "--result", copy / "wards")
    assert done.exit_code == 1
    assert [line for line in done.stdout.splitlines() if "fails" in line and line.startswith("file")]


@pytest.mark.parametrize(("size", "epsilon"), [(7, 0.6), (8, 0.7)])
def test_another_problem_is_refused(copy: Path, size: int, epsilon: float) -> None:
    other = solved(copy / "other", size, epsilon)
    found = failing(verify_published(copy / "public.csv", other))
    assert "the file is not of this mechanism" in found["table"]


def test_a_forged_result_proves_nothing(copy: Path) -> None:
    certificate = copy / "wards" / "claims.json"
    certificate.write_text(certificate.read_text(encoding="utf-8").replace("0.7", "0.07"), encoding="utf-8")
    found = failing(verify_published(copy / "public.csv", copy / "wards"))
    assert "digests: changed since they were written: claims.json" in found["result"]


def test_a_result_without_a_table_is_refused(copy: Path) -> None:
    (copy / "wards" / "table.dxt").unlink()
    assert (
        "so that nothing can have been drawn"
        in failing(verify_published(copy / "public.csv", copy / "wards"))["table"]
    )


def test_the_sidecar_of_a_frame_names_no_file(copy: Path) -> None:
    said = said_of(copy / "public.csv")
    said["output"] = None
    (copy / "public.csv.dxopt.json").write_text(json.dumps(said), encoding="utf-8")
    done = call(copy / "public.csv", "--result", copy / "wards")
    assert done.exit_code == 3
    assert "the sidecar is of a frame and names no file" in done.stdout
    assert "proven:" not in done.stdout


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is damaged"),
        ("[]", "holds no object"),
        ('{"format": 1}', "the format is 1, not 2"),
        ('{"format": 2.0}', "the format is 2.0, not 2"),
    ],
)
def test_a_broken_sidecar_is_refused(copy: Path, content: str, words: str) -> None:
    (copy / "public.csv.dxopt.json").write_text(content, encoding="utf-8")
    assert words in failing(verify_published(copy / "public.csv", copy / "wards"))["sidecar"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cases.csv", "--result", "wards"], "cases.csv.dxopt.json is missing; put it there"),
        (["none.csv", "--result", "wards"], "none.csv is no file; name one that dxopt apply wrote"),
        (["a" * 5000, "--result", "wards"], "is no file; name one that dxopt apply wrote"),
        (["public.csv", "--result", "a" * 5000], "is no result folder"),
        (["wards", "--result", "wards"], "wards is no file; name one that dxopt apply wrote"),
        (["public.csv"], "public.csv is a file; name a result folder or a table *.dxt"),
        (["public.csv", "--result", "none"], "none is no result folder"),
        (["public.csv", "--result", "none.dxt"], "none.dxt is no file"),
        (["notes.doc", "--result", "wards"], "notes.doc has the ending '.doc'; give one of .csv, "),
    ],
)
def test_bad_input_is_one_line(copy: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str) -> None:
    (copy / "notes.doc").touch()
    monkeypatch.chdir(copy)
    done = call(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "content"), [("out.geojson", b"{"), ("out.parquet", b"PAR1"), ("out.csv", b"\xff\n")]
)
def test_files_that_are_none_are_refused(copy: Path, name: str, content: bytes) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    said = said_of(copy / "public.csv")
    (copy / name).write_bytes(content)
    say(copy / name, said)
    assert {"columns", "reports", "rows"} <= set(failing(verify_published(copy / name, copy / "wards")))
