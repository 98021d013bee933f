"""Private priors of problem files: drawn once by `dxopt prior`, and read by everything else."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.spec import SpecFileError, load
from dxopt.spec.private_priors import draw_private_priors

PRIOR = (
    "{kind: private, file: drawn.json, check_ins: seen.csv, columns: [x], person: who, epsilon: 2, per_person: 3%s}"
)
TEXT = "name: town\nspace: {kind: line, size: 4}\nepsilon: [1, 2]\nprior: %s\n"


def call(*arguments: str | Path):
    """Run the command line in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def town(tmp_path: Path) -> Path:
    (tmp_path / "seen.csv").write_text("who,x\n" + "".join(f"p{row % 30},{row % 3}\n" for row in range(90)))
    return written(tmp_path, PRIOR % "")


def written(folder: Path, prior: str) -> Path:
    file = folder / "town.yaml"
    file.write_text(TEXT % prior)
    return file


def ledger(folder: Path, unit: str = "per person", budget: float = 3) -> Path:
    file = folder / f"{unit}.sqlite"
    with dx.Budgets.open(file, create=True, unit=unit, default=budget):
        return file


def test_a_prior_is_drawn_and_paid_once_and_then_read(town: Path) -> None:
    budgets = ledger(town.parent)
    done = call("prior", town, "--ledger", budgets, "--json")
    assert (done.exit_code, json.loads(done.stdout)) == (
        0,
        [{"file": str(town.parent / "drawn.json"), "epsilon": 2.0, "per_person": 3}],
    )
    drawn = dx.PrivateCounts.load(town.parent / "drawn.json")
    with dx.Budgets.open(budgets) as opened:
        assert {account.spent for account in opened.accounts()} == {Fraction(drawn.epsilon)}
        assert len(opened.accounts()) == 30
        assert [one.release for one in opened.history("p7")] == ["prior of town"]
    (town.parent / "seen.csv").unlink()  # nobody but the command needs the data
    first, second = (task.problem.prior for task in load(town))
    expected = dx.Prior.from_private_counts(dx.line(4), drawn).probabilities.tolist()
    assert first.probabilities.tolist() == second.probabilities.tolist() == expected
    done = call("solve", town, "-o", town.parent / "out")
    assert done.exit_code == 0
    kept = dx.load(town.parent / "out" / "town-epsilon=1").problem.prior
    assert kept.probabilities.tolist() == expected


def test_a_second_draw_is_asked_for_and_paid_for(town: Path) -> None:
    budgets = ledger(town.parent)
    assert call("prior", town, "--ledger", budgets).exit_code == 0
    before = (town.parent / "drawn.json").read_bytes()
    assert call("prior", town, "--ledger", budgets).exit_code == 2
    assert call("prior", town, "--ledger", budgets, "--force").exit_code == 2  # 1 is left of 3
    assert (town.parent / "drawn.json").read_bytes() == before
    with dx.Budgets.open(budgets) as opened:
        assert opened.account("p7").spent == 2
        opened.set(4)
    assert call("prior", town, "--ledger", budgets, "--force").exit_code == 0
    with dx.Budgets.open(budgets) as opened:
        assert opened.account("p7").spent == 4


def test_a_ledger_per_km_pays_for_no_prior(town: Path) -> None:
    assert call("prior", town, "--ledger", ledger(town.parent, "per km")).exit_code == 2
    assert not (town.parent / "drawn.json").exists()


def test_a_ledger_of_hashed_persons_is_opened_with_its_key(town: Path) -> None:
    key = dx.Key.new()
    key.save(town.parent / "k.key")
    with dx.Budgets.open(town.parent / "h.sqlite", create=True, default=2, key=key):
        pass
    given = ["--ledger", town.parent / "h.sqlite", "--ledger-key", town.parent / "k.key", "--release", "spring"]
    assert call("prior", town, *given).exit_code == 0
    with dx.Budgets.open(town.parent / "h.sqlite", key=key) as opened:
        assert [one.release for one in opened.history("p7")] == ["spring"]


@pytest.mark.parametrize(("key", "other"), [("epsilon", "1"), ("per_person", "2")])
def test_the_file_says_what_was_drawn(town: Path, key: str, other: str) -> None:
    draw_private_priors(town)
    changed = (PRIOR % "").replace(f"{key}: {2 if key == 'epsilon' else 3}", f"{key}: {other}")
    with pytest.raises(SpecFileError) as refused:
        load(written(town.parent, changed))
    assert (refused.value.field, refused.value.line) == (f"prior.{key}", 4)


def test_what_was_not_drawn_is_told_at_its_key(town: Path) -> None:
    with pytest.raises(SpecFileError) as refused:
        load(town)
    assert (refused.value.field, refused.value.line) == ("prior.file", 4)
    (town.parent / "drawn.json").write_text("{}")
    with pytest.raises(SpecFileError) as refused:
        load(town)
    assert refused.value.field == "prior.file"


def test_smoothing_needs_no_other_draw(town: Path) -> None:
    draw_private_priors(town)
    assert (load(written(town.parent, PRIOR % ", smoothing: 5"))[0].problem.prior.probabilities > 0).all()


def test_priors_of_a_list_of_sets_and_to_compare_are_drawn(town: Path) -> None:
    other = (PRIOR % "").replace("drawn", "other")
    written(town.parent, f"[uniform, {other}]")
    assert {path.name for path in draw_private_priors(town)} == {"other.json"}
    ball = f"{{kind: ball, around: {PRIOR % ''}, total_variation: 0.1}}"
    third = (PRIOR % "").replace("drawn", "third")
    written(town.parent, f"{ball}\npriors: {{third: {third}}}")
    assert {path.name for path in draw_private_priors(town)} == {"drawn.json", "third.json"}
    hull = written(town.parent, f"{{kind: hull, priors: [uniform, {PRIOR % ''}]}}")
    assert {path.name for path in draw_private_priors(hull, force=True)} == {"drawn.json"}


def test_one_file_is_of_one_draw(town: Path) -> None:
    other = (PRIOR % "").replace("epsilon: 2", "epsilon: 1")
    with pytest.raises(SpecFileError) as refused:
        draw_private_priors(written(town.parent, f"[{PRIOR % ''}, {other}]"))
    assert refused.value.field == "prior[1].file"


def test_bad_data_cost_nothing(town: Path) -> None:
    budgets = ledger(town.parent)
    (town.parent / "seen.csv").write_text("who,x\nann,1\n,2\n")
    with dx.Budgets.open(budgets) as opened:
        with pytest.raises(SpecFileError) as refused:
            draw_private_priors(town, ledger=opened)
        assert refused.value.field == "prior.person"
        (town.parent / "seen.csv").write_text("who,x\nann,a\n")
        with pytest.raises(SpecFileError) as refused:
            draw_private_priors(town, ledger=opened)
        assert refused.value.field == "prior.columns[0]"
        (town.parent / "drawn.json").mkdir()
        (town.parent / "seen.csv").write_text("who,x\nann,1\n")
        with pytest.raises(dx.SpecError):
            draw_private_priors(town, ledger=opened, force=True)
        assert opened.accounts() == []


def test_a_file_without_a_private_prior_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecFileError) as refused:
        draw_private_priors(written(tmp_path, "uniform"))
    assert refused.value.field == "prior"


DRAWN = "person: who, epsilon: 40, per_person: 2, smoothing: 1"
ILL = f"{{kind: private, file: drawn.json, check_ins: ill.csv, %s, {DRAWN}%s}}"
CATEGORIES = "{kind: distances, values: [[0, 1, 2], [1, 0, 1], [2, 1, 0]], labels: [flu, cold, gout]}"


def ward(folder: Path, prior: str, space: str = CATEGORIES) -> Path:
    (folder / "ill.csv").write_text(
        "who,diagnosis\n" + "".join(f"p{row},{'flu' if row % 3 else 'gout'}\n" for row in range(9))
    )
    file = folder / "ward.yaml"
    file.write_text(f"space: {space}\nepsilon: 1\nprior: {prior}\n")
    return file


POINTS = "{kind: points, file: places.csv, columns: [x, y], label: place}"


@pytest.mark.parametrize("space", [CATEGORIES, POINTS])
@pytest.mark.parametrize("column", ["label: diagnosis", "columns: [diagnosis]"])
def test_categories_are_counted_by_label(space: str, column: str, tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("place,x,y\nflu,0,0\ncold,1,0\ngout,2,0\n")
    file, budgets = ward(tmp_path, ILL % (column, ""), space), ledger(tmp_path, budget=40)
    done = call("prior", file, "--ledger", budgets)
    if (space, column) == (POINTS, "columns: [diagnosis]"):  # which are coordinates where there are some
        assert done.exit_code == 2
        return
    assert done.exit_code == 0
    with dx.Budgets.open(budgets) as opened:
        assert [account.spent for account in opened.accounts()] == [40] * 9
    assert dx.PrivateCounts.load(tmp_path / "drawn.json").labels == ("flu", "cold", "gout")
    assert load(file)[0].problem.prior.probabilities.tolist() == pytest.approx([7 / 12, 1 / 12, 4 / 12])


@pytest.mark.parametrize(
    ("keys", "more", "field"),
    [
        ("label: diagnosis, columns: [diagnosis]", "", "prior.label"),
        ("smoothing: 2", "", "prior.columns"),
        ("label: diagnosis", ", within: 1", "prior.within"),
        ("columns: [diagnosis]", ", within: 1", "prior.within"),
        ("label: illness", "", "prior.label"),
        ("label: who", "", "prior.label"),
        ("columns: [who]", "", "prior.columns"),
    ],
)
def test_labels_that_are_none_are_told_at_their_key(keys: str, more: str, field: str, tmp_path: Path) -> None:
    prior = (ILL % (keys, more)).replace("smoothing: 2, ", "")
    with pytest.raises(SpecFileError) as refused:
        draw_private_priors(ward(tmp_path, prior))
    assert refused.value.field == field
    assert not (tmp_path / "drawn.json").exists()


GAPS = "who,x,w\nann,0,a\n\nbob,,\n,2,b\ncarl,2,b\ndora,none,c\n"
"""Its third line is blank; the fourth has neither place nor word, the fifth has nobody."""
WORDS = "{kind: distances, values: [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]], labels: [a, b, c, d]}"


@pytest.mark.parametrize(
    ("columns", "counts"),
    [("columns: [x]", [1, 0, 1, 0]), ("label: w", [1, 1, 1, 0])],
)
def test_rows_with_empty_cells_are_left_out_where_that_is_asked(tmp_path: Path, columns: str, counts: list) -> None:
    (tmp_path / "seen.csv").write_text(GAPS)
    asked = PRIOR.replace("columns: [x]", columns).replace("epsilon: 2", "epsilon: 2000") % ", unusable: drop"
    file = written(tmp_path, asked)
    if columns == "label: w":
        file.write_text(file.read_text().replace("{kind: line, size: 4}", WORDS))
    (found,) = draw_private_priors(file).values()
    assert found.counts.tolist() == counts


@pytest.mark.parametrize(
    ("text", "columns", "field", "line"),
    [
        (GAPS, "columns: [x]", "prior.columns[0]", 4),
        (GAPS, "label: w", "prior.label", 4),
        (GAPS.replace("bob,,\n", ""), "columns: [x]", "prior.person", 4),
        (GAPS.replace("bob,,\n", "").replace("\n,2", "\n\u200b,2"), "columns: [x]", "prior.person", 4),
    ],
)
def test_an_empty_cell_is_refused_with_its_line_and_the_way_on(
    tmp_path: Path, text: str, columns: str, field: str, line: int
) -> None:
    (tmp_path / "seen.csv").write_text(text.replace("none", "3"), encoding="utf-8")
    file = written(tmp_path, PRIOR.replace("columns: [x]", columns) % "")
    with pytest.raises(SpecFileError) as caught:
        draw_private_priors(file)
    assert caught.value.field == field
    assert f"line {line}" in caught.value.wrong and "unusable" in caught.value.fix
