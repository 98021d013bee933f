"""Who somebody is, and which secret a label names, is the same in every format, library and type of column."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any
from uuid import UUID

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dxopt as dx
from dxopt.runtime.identity import identity
from tests.material.carriers import (
    COLUMNS,
    FLOATS,
    NANOSECONDS,
    NARROW,
    TEXT,
    TIMES,
    WHOLE,
    Carrier,
    pandas_of,
    parquet_of,
    polars_of,
)
from tests.material.people import counts
from tests.material.vectors import PERSONS, RELEASES, ROUNDED

BEDS = [1.0, 2.0, 3.0, 4.0]
FEW = ("csv", "geojson", "parquet", "pandas object")
"""Carriers of text, one of each way to read it."""


def paid(carrier: Carrier, persons: list[Any], folder: Path, beds: list[Any] = BEDS) -> Counter[str]:
    """How many rows each person of a ledger has paid for, after the rows were applied in this form."""
    data = carrier(folder, {"person": persons, "beds": beds})
    output = folder / f"out{data.suffix}" if isinstance(data, Path) else None
    with dx.Budgets.open(folder / "ledger.sqlite", create=True, default=100) as ledger:
        dx.apply(counts(), data, output, column="beds", person="person", ledger=ledger, within=0.5, outside="drop")
        level = Fraction(counts().epsilon)
        return Counter({account.person: int(account.spent / level) for account in ledger.accounts()})


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers(name: str, tmp_path: Path) -> None:
    assert paid(WHOLE[name], [7, 8, 7, 120], tmp_path) == {"7": 2, "8": 1, "120": 1}


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("gap", [False, True])
def test_floats(name: str, gap: bool, tmp_path: Path) -> None:
    """Nobody is in a row that is left out, so that a missing person there is none."""
    persons, beds = [7.0, 8.0, 7.0, 120.0], list[Any](BEDS)
    if gap:
        persons, beds = [*persons, None], [*beds, None]
    assert paid(FLOATS[name], persons, tmp_path, beds) == {"7": 2, "8": 1, "120": 1}


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("gap", [False, True])
def test_narrow_floats(name: str, gap: bool, tmp_path: Path) -> None:
    persons = [1234567.0, 0.1, 1234567.0, 16777215.0, 1000000.5, 0.0001, *[None] * gap]
    found = paid(NARROW[name], persons, tmp_path, [*BEDS, 1.0, 2.0, *[None] * gap])
    assert found == {"1234567": 2, "0.1": 1, "16777215": 1, "1000000.5": 1, "0.0001": 1}


@pytest.mark.parametrize("name", TIMES)
def test_times(name: str, tmp_path: Path) -> None:
    persons = [datetime(2024, 1, 2), datetime(2024, 1, 2, 3), datetime(2024, 1, 2), datetime(2024, 1, 2, 3)]
    assert paid(TIMES[name], persons, tmp_path) == {"2024-01-02": 2, "2024-01-02 03:00:00": 2}


ZONED: dict[str, Carrier] = {
    "parquet": parquet_of(pa.timestamp("us", "UTC")),
    "pandas": pandas_of("datetime64[ns, UTC]"),
    "polars": polars_of(pl.Datetime("ms", "UTC")),
    **{name: TIMES[name] for name in ("csv", "pandas object")},
}


@pytest.mark.parametrize("name", ZONED)
def test_times_with_a_zone_are_those_of_their_text(name: str, tmp_path: Path) -> None:
    persons = [datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 2, 3, 0, 0, 500_000, tzinfo=UTC)] * 2
    known = {identity(text): 2 for text in ("2024-01-02T00:00:00Z", "2024-01-02T03:00:00.50+0000")}
    assert paid(ZONED[name], persons, tmp_path) == known


@pytest.mark.parametrize("name", NANOSECONDS)
def test_times_to_the_nanosecond(name: str, tmp_path: Path) -> None:
    spelt = ["2024-01-02 03:00:00.123456789", "2024-01-02 03:00:00.123456", "2024-01-02"]
    moments = [*map(pd.Timestamp, spelt), pd.Timestamp(spelt[0])]
    assert paid(NANOSECONDS[name], moments, tmp_path) == {spelt[0]: 2, spelt[1]: 1, spelt[2]: 1}
    space = dx.MetricSpace.from_points([[0.0], [1.0], [2.0]], labels=spelt)
    (folder := tmp_path / "labels").mkdir()
    data = NANOSECONDS[name](folder, {"person": moments[:3], "beds": BEDS[:3]})
    table = dx.integer_table(dx.classic.exponential(space, epsilon=60.0))
    output = folder / f"out{data.suffix}" if isinstance(data, Path) else None
    dx.apply(table, data, output, columns=dx.Columns(label="person", keep=[]))


ARRAYS = {
    "narrow": (np.array([0.1, 1000000.5, 0.0001, 7], dtype="float32"), ["0.1", "1000000.5", "0.0001", "7"]),
    "half": (np.array([0.1, 1000.5], dtype="float16"), ["0.1", "1000.5"]),
    "whole": (np.array([2**60 + 1, 7]), [str(2**60 + 1), "7"]),
    "floats": (np.array([7.0, 7.5]), ["7", "7.5"]),
    "nanoseconds": (
        np.array(["2024-01-02T03:00:00.123456789", "2024-01-02"], dtype="M8[ns]"),
        ["2024-01-02 03:00:00.123456789", "2024-01-02"],
    ),
    "seconds": (
        np.array(["2024-01-02T03:00:00", "2024-01-02"], dtype="M8[s]"),
        ["2024-01-02 03:00:00", "2024-01-02"],
    ),
}


@pytest.mark.parametrize(("name", "kind"), list(product(COLUMNS, ARRAYS)))
def test_columns_that_are_given_as_persons_or_labels(name: str, kind: str, tmp_path: Path) -> None:
    array, known = ARRAYS[kind]
    if kind == "half" and ("index" in name or "categor" in name):
        pytest.skip("pandas has no such index")
    given = COLUMNS[name](array)
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=100) as ledger:
        ledger.charge(ledger.begin("run"), 0, given, 1, unit="per unit")
        assert [account.person for account in ledger.accounts()] == sorted(known)
        assert ledger.left(given) == [99] * len(known)
    options: dict[str, Any] = {"key": dx.Key(bytes(32)), "release": "r"}
    for index in range(7):
        drawn = counts().sample_for(given, index=[index] * len(known), **options)
        assert drawn.tolist() == counts().sample_for(known, index=[index] * len(known), **options).tolist()
    space = dx.MetricSpace.from_points([*map(float, range(len(known)))], labels=given)
    assert [*map(space.index, known)] == space.naming.find(known).tolist() == [*range(len(known))]
    renamed = dx.MetricSpace.from_points([*map(float, range(len(known)))], labels=known)
    assert renamed.naming.find(given).tolist() == [*range(len(known))]
    if kind != "half":
        weights = pd.Series(range(1, len(known) + 1), index=pd.Index(given))
        found = dx.prior_from_frame(renamed, weights).probabilities
        assert np.allclose(found * found.sum() / found[0], range(1, len(known) + 1))


ALONE: list[Any] = ["ann", b"ann", 7, 7.5, None, pd.Timestamp(0), np.datetime64(0, "s"), pd.DataFrame({"a": [1]})]
ALONE += [np.array([["ann"]]), np.array("ann")]


@pytest.mark.parametrize("given", ALONE, ids=range(len(ALONE)))
def test_one_value_is_no_list_of_persons(given: Any, tmp_path: Path) -> None:
    with pytest.raises(dx.SpecError) as caught:
        counts().sample_for(given, index=[1], key=dx.Key(bytes(32)), release="r")
    assert caught.value.field == "persons"
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=1) as ledger, pytest.raises(dx.SpecError):
        ledger.left(given)


def test_decimals_of_thousands(tmp_path: Path) -> None:
    """Arrow has decimals with fewer digits than whole numbers, which narwhals has not."""
    kind = pd.ArrowDtype(pa.decimal128(5, -3))
    frame = pd.DataFrame({"person": pd.Series([Decimal(7000), Decimal(8000)], dtype=kind), "beds": [1, 2]})
    assert paid(lambda folder, rows: frame, [], tmp_path) == {"7000": 1, "8000": 1}
    assert paid(lambda folder, rows: frame.assign(person=["7", "8"], other=frame.person), [], tmp_path)["7"] == 1


OUT_OF_YEARS = {
    "pandas": pd.Series(np.array(["12024-01-02"], dtype="M8[s]")),
    "before": pd.Series(np.array(["-001-01-02"], dtype="M8[s]")),
    "pandas Arrow": pd.Series(pd.array(pa.array([4_000_000], pa.date32()), dtype=pd.ArrowDtype(pa.date32()))),
    "object": pd.Series([np.timedelta64(26, "h")], dtype=object),
    "dates": pl.Series([4_000_000]).cast(pl.Date),
    "moments": pl.Series([10**15]).cast(pl.Datetime("ms")),
    "zoned": pl.Series([10**15]).cast(pl.Datetime("ms", "UTC")),
}


@pytest.mark.parametrize("name", OUT_OF_YEARS)
def test_times_that_programs_do_not_write_alike_are_refused(name: str, tmp_path: Path) -> None:
    column = OUT_OF_YEARS[name]
    frame = (pd if isinstance(column, pd.Series) else pl).DataFrame({"person": column, "beds": [1]})
    with pytest.raises(dx.SpecError) as caught:
        paid(lambda folder, rows: frame, [], tmp_path)
    assert caught.value.field == "person"


LARGE = [(FLOATS[name], 2.0**53) for name in FLOATS if name != "pandas float32"]
LARGE += [(carrier, float(large)) for carrier in NARROW.values() for large in (2**24, 123456790)]


@pytest.mark.parametrize(("carrier", "large"), LARGE)
def test_floats_that_stand_for_several_whole_numbers_are_refused(
    carrier: Carrier, large: float, tmp_path: Path
) -> None:
    with pytest.raises(dx.SpecError) as caught:
        paid(carrier, [7.0, 8.0, 7.0, large], tmp_path)
    assert caught.value.field == "person"


@pytest.mark.parametrize("name", FEW)
def test_texts_of_floats_without_all_digits_are_refused(name: str, tmp_path: Path) -> None:
    for place, spelt in enumerate(ROUNDED):
        (folder := tmp_path / str(place)).mkdir()
        with pytest.raises(dx.SpecError) as caught:
            paid(TEXT[name], ["x", spelt, "x", "y"], folder)
        assert caught.value.field == "person"


COMMAS = {"7,0": "7", "7,50": "7.5", "-3,25": "-3.25", "12.10": "12.1", "7,": "7", "1,2,3": "1,2,3", "a,5": "a,5"}


def with_commas(carrier: Carrier, persons: list[Any], folder: Path, **said: Any) -> list[str]:
    """Who has paid, where text has decimal commas."""
    data = carrier(folder, {"person": persons, "beds": [1] * len(persons)})
    output = folder / f"out{data.suffix}" if isinstance(data, Path) else None
    with dx.Budgets.open(folder / "ledger.sqlite", create=True, default=100) as ledger:
        options = {"column": "beds", "person": "person", "ledger": ledger, "within": 0.5}
        dx.apply(counts(), data, output, columns=dx.Columns(**said), **options)
        return [account.person for account in ledger.accounts()]


@pytest.mark.parametrize("name", TEXT)
def test_decimal_commas(name: str, tmp_path: Path) -> None:
    assert {*with_commas(TEXT[name], [*COMMAS], tmp_path, decimal=",")} == {*COMMAS.values()}
    (folder := tmp_path / "points").mkdir()
    assert {*with_commas(TEXT[name], [*COMMAS], folder, decimal=".")} == {*map(identity, COMMAS)}
    (folder := tmp_path / "unsaid").mkdir()
    for spelt in ("7,0", "1,000,000", "-1,000.5", "1.000,5"):
        with pytest.raises(dx.SpecError) as caught:
            with_commas(TEXT[name], ["x", spelt], folder)
        assert (caught.value.field, caught.value.options) == ("person", {"decimal"})


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("spelt", ["1.000", "-12.000.000", "1.000,5", "9,22e+18", "1,000,000", "-1,000.5"])
def test_numbers_that_decimal_commas_leave_open_are_refused(name: str, spelt: str, tmp_path: Path) -> None:
    with pytest.raises(dx.SpecError) as caught:
        with_commas(TEXT[name], [spelt], tmp_path, decimal=",")
    assert caught.value.field == "person"


@pytest.mark.parametrize("field", ["person", "data"])
@pytest.mark.parametrize("row", ["7,0;3", "12,345;1,0", "12,345;1", "7,0;1.5"])
def test_decimal_commas_of_persons_and_labels_do_not_hang_on_other_columns(
    row: str, field: str, tmp_path: Path
) -> None:
    (tmp_path / "data.csv").write_text(f"person;beds\n{row}\n")
    space = dx.MetricSpace.from_points([[0.0], [1.0]], labels=["7", "12.345"])
    labelled = dx.integer_table(dx.classic.exponential(space, epsilon=1.0))
    with pytest.raises(dx.SpecError) as caught:
        if field == "person":
            with_commas(lambda folder, rows: folder / "data.csv", [], tmp_path)
        else:
            dx.apply(labelled, tmp_path / "data.csv", tmp_path / "out.csv", columns=dx.Columns(label="person"))
    assert (caught.value.field, caught.value.options) == (field, {"decimal"})


@pytest.mark.parametrize("name", TEXT)
def test_labels_with_decimal_commas(name: str, tmp_path: Path) -> None:
    space = dx.MetricSpace.from_points([[0.0], [1.0], [2.0]], labels=["1.5", "2,5", "7"])
    table = dx.integer_table(dx.classic.exponential(space, epsilon=60.0))
    data = TEXT[name](tmp_path, {"person": ["1,5", "1.5", "2,5", "7,0"], "beds": BEDS})
    output = tmp_path / f"out{data.suffix}" if isinstance(data, Path) else None
    found = dx.apply(table, data, output, columns=dx.Columns(label="person", keep=[], decimal=",", lean=True))
    # at this level reports are the secrets
    if output is None:
        native = found.reset_index() if hasattr(found, "reset_index") else found
        assert nw.from_native(native)["person"].to_list() == ["1.5", "1.5", "2,5", "7"]
    else:
        assert found.record.rows.out == 4


@pytest.mark.parametrize(("name", "spelt"), list(product(TEXT, PERSONS)), ids=ascii)
def test_texts(name: str, spelt: str, tmp_path: Path) -> None:
    assert paid(TEXT[name], ["x", spelt, "x", spelt], tmp_path) == Counter(["x", PERSONS[spelt]] * 2)


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("nobody", ["", "   ", "\u00a0", "\u200b\u2060", None], ids=ascii)
def test_nobody_pays_for_no_row(name: str, nobody: str | None, tmp_path: Path) -> None:
    with pytest.raises(dx.SpecError) as caught:
        paid(TEXT[name], ["x", nobody, "y", "z"], tmp_path)
    assert caught.value.field == "person"


def test_names_of_every_call_are_identities(tmp_path: Path) -> None:
    key = dx.Key(bytes(32))
    for spelt, known in PERSONS.items():
        with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=100) as ledger:
            before = ledger.account(known).spent
            assert ledger.pay(spelt, 1, unit="per unit", release="r")
            assert ledger.account(known).spent == ledger.account(spelt).spent == before + 1
            assert len(ledger.history(spelt)) == len(ledger.history(known))
        drawn = counts().sample_for([spelt, known] * 20, index=[*range(7)] * 5 + [3] * 5, key=key, release="r")
        again = counts().sample_for([known] * 40, index=[*range(7)] * 5 + [3] * 5, key=key, release="r")
        assert drawn.tolist() == again.tolist()


DOUBTFUL = [float("inf"), 2.0**60, [1], {"a": 1}, "\ud800", b"\xff", 10**5000, 2.0**53, np.float16(2048)]
DOUBTFUL += [
    np.float32(2**24),
    b"ab\0\1",
    UUID(int=1).bytes,
    b"1.2E+11",
    b"9007199254740993.0",
    np.timedelta64(26, "h"),
    np.datetime64("12024-01-02", "s"),
    *map(Decimal, ("Infinity", "1E+99999999", "1E-99999999")),
    *map(np.array, ([1, 2], [], ["ann"])),
]


@pytest.mark.parametrize("person", DOUBTFUL, ids=range(len(DOUBTFUL)))
def test_what_names_nobody_beyond_doubt_is_refused(person: Any, tmp_path: Path) -> None:
    with pytest.raises(dx.SpecError) as caught:
        identity(person)
    assert caught.value.field == "person"
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=1) as ledger, pytest.raises(dx.SpecError):
        ledger.pay(person, 1, unit="per km", release="r")


def test_large_numbers_beside_a_gap_are_not_rounded(tmp_path: Path) -> None:
    persons = [2**60 + 1, 2**60, None, 7]
    for name in ("parquet", "pandas Int64", "polars", "geojson"):
        (folder := tmp_path / name).mkdir()
        found = paid(WHOLE[name], persons, folder, [1.0, 2.0, None, 3.0])
        assert found == {str(2**60 + 1): 1, str(2**60): 1, "7": 1}


@pytest.mark.parametrize("many", ["123456789.123456789123", "-0.333333333333333333333", "12345678901234567.25"])
def test_numbers_of_many_digits_are_as_many_persons_in_json_as_in_csv(many: str, tmp_path: Path) -> None:
    others = [f"{many[:-1]}{digit}" for digit in "123"]
    rows = [f'{{"person": {one}, "beds": 1}}' for one in others]
    features = [f'{{"type": "Feature", "geometry": null, "properties": {row}}}' for row in rows]
    file = tmp_path / "data.geojson"
    file.write_text(f'{{"type": "FeatureCollection", "features": [{", ".join(features)}]}}', encoding="utf-8")
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=1) as ledger:
        dx.apply(counts(), file, tmp_path / "out.geojson", column="beds", person="person", ledger=ledger, within=0.5)
        assert [ledger.account(one).spent > 0 for one in [*others, many[:-1]]] == [True, True, True, False]


LABELS = {
    "7": [7, 7.0, "7.0", " 7", "7\u200b"],
    "böb": ["bo\u0308b", "böb\u00a0"],
    "007": ["007"],
    "7.50": [7.5, "7.5"],
    "1.2E+11": ["1.2E+11"],
    "9007199254740993.0": ["9007199254740993.0"],
}


@pytest.mark.parametrize("label", LABELS)
def test_labels_are_found_by_their_identity(label: str, tmp_path: Path) -> None:
    space = dx.MetricSpace.from_points(np.arange(len(LABELS))[:, None], labels=[*LABELS])
    table = dx.integer_table(dx.classic.exponential(space, epsilon=1.0))
    for given in LABELS[label]:
        assert space.index(given) == [*LABELS].index(label)
        for name, carrier in {int: WHOLE, float: FLOATS, str: TEXT}[type(given)].items():
            (folder := tmp_path / f"{name} {given!a}").mkdir()
            data = carrier(folder, {"person": [given] * 3, "beds": [1.0, 2.0, 3.0]})
            output = folder / f"out{data.suffix}" if isinstance(data, Path) else None
            dx.apply(table, data, output, columns=dx.Columns(label="person", keep=[]))


@pytest.mark.parametrize("release", [*RELEASES, "\ud800", 7, None])
def test_a_release_has_one_spelling(release: Any) -> None:
    key = dx.Key(bytes(32))
    frame = pd.DataFrame({"person": ["ann"], "beds": [1]})
    for draw in (
        lambda: counts().sample_for(["ann"], index=[1], key=key, release=release),
        lambda: dx.apply(counts(), frame, column="beds", person="person", key=key, release=release),
    ):
        with pytest.raises(dx.SpecError) as caught:
            draw()
        assert caught.value.field == "release"


ALIKE = [("mill", "mill "), ("7", "7.0"), ("0", "-0"), ("a", "a\u200b"), ("jos\u00e9", "jose\u0301"), ("a b", "a\tb")]
ALIKE += [("881f1d4887fffff", "881F1D4887FFFFF"), ("881f1d4887fffff", str(0x881F1D4887FFFFF))]


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("labels", ALIKE, ids=ascii)
def test_labels_that_are_one_are_refused_in_data(name: str, labels: tuple[str, str], tmp_path: Path) -> None:
    space = dx.MetricSpace.from_points([[0.0], [1.0], [2.0]], labels=[*labels, "other"])
    assert space.index(labels[1]) == 1
    table = dx.integer_table(dx.classic.exponential(space, epsilon=60.0))
    data = TEXT[name](tmp_path, {"person": ["other"], "beds": [1]})
    output = tmp_path / f"out{data.suffix}" if isinstance(data, Path) else None
    with pytest.raises(dx.SpecError) as caught:
        dx.apply(table, data, output, columns=dx.Columns(label="person", keep=[]))
    assert caught.value.field == "labels"


@pytest.mark.parametrize("name", NARROW)
def test_labels_of_narrow_floats(name: str, tmp_path: Path) -> None:
    space = dx.MetricSpace.from_points([[0.0], [1.0]], labels=["0.1", "1234567"])
    table = dx.integer_table(dx.classic.exponential(space, epsilon=60.0))
    data = NARROW[name](tmp_path, {"person": [0.1, 1234567.0], "beds": [1.0, 2.0]})
    output = tmp_path / f"out{data.suffix}" if isinstance(data, Path) else None
    dx.apply(table, data, output, columns=dx.Columns(label="person", keep=[]))
    assert space.naming.find(np.array([0.1, 1234567], dtype="float32")).tolist() == [0, 1]


@pytest.mark.parametrize("name", ["csv", "parquet", "geojson", "polars", "pandas Float64"])
@pytest.mark.parametrize("outside", ["refuse", "drop"])
def test_cells_as_floats_are_refused_whatever_the_policy(name: str, outside: Any, tmp_path: Path) -> None:
    cells = ["872baa456ffffff", "872baa472ffffff"]
    table = dx.integer_table(dx.classic.exponential(dx.geo.h3_cells(cells=cells), epsilon=1.0))
    data = FLOATS[name](tmp_path, {"person": [float(int(cell, 16)) for cell in cells], "beds": [1.0, 2.0]})
    output = tmp_path / f"out{data.suffix}" if isinstance(data, Path) else None
    with pytest.raises(dx.SpecError) as caught:
        dx.apply(table, data, output, columns=dx.Columns(label="person", keep=[]), outside=outside)
    assert "digits" in caught.value.wrong


def test_a_label_that_two_secrets_may_have_is_refused() -> None:
    space = dx.MetricSpace.from_points([[0.0], [1.0]], labels=["a b", "a  b"])
    assert space.index("a  b") == 1
    with pytest.raises(dx.SpecError):
        space.index("a\u00a0b")
