"""Rows without a usable secret, person or time: refused, or left out, whatever becomes of those outside."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from dxopt.verify import verify_published

pd = pytest.importorskip("pandas")
HEADER = "person,lat,lon,when\n"
GOOD = "ann,45.70,4.80,2026-03-01\n"
FAR = "bob,48.85,2.35,2026-03-01\n"
BAD = {
    "an empty cell": "bob,,4.80,2026-03-01\n",
    "no number": "bob,north,4.80,2026-03-01\n",
    "no degrees": "bob,845.7,4.80,2026-03-01\n",
    "nobody": " ,45.70,4.80,2026-03-01\n",
    "nobody outside": ",48.85,2.35,2026-03-01\n",
    "no time": "bob,45.70,4.80,\n",
    "another time": "bob,45.70,4.80,tomorrow\n",
}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    space = dx.geo.bounding_grid(45.68, 4.76, 45.74, 4.84, shape=(3, 4))
    problem = dx.Problem(space, epsilon=0.5, prior="uniform")
    return dx.solve(problem, method="exponential").save(tmp_path_factory.mktemp("results") / "town")


def asked(ledger: dx.Budgets) -> dict[str, Any]:
    return {"lat": "lat", "lon": "lon", "person": "person", "ledger": ledger, "time": "when", "columns": None}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("outside", ["refuse", "nearest", "drop"])
def test_they_are_refused_or_left_out(town: Path, tmp_path: Path, bad: str, outside: Any) -> None:
    data = tmp_path / "data.csv"
    far = FAR if outside != "refuse" else ""
    data.write_text(HEADER + GOOD + BAD[bad] + far + GOOD, encoding="utf-8")
    with dx.Budgets.open(tmp_path / "b.sqlite", create=True, unit="per km", default=5) as ledger:
        ledger.set_per("day", 5)
        if bad == "nobody outside" and outside == "refuse":
            with pytest.raises(dx.SpecError):  # it is outside as well
                dx.apply(town, data, tmp_path / "out.csv", unusable="drop", **asked(ledger))
            return
        dropped_anyway = outside == "drop" and bad in ("an empty cell", "no number", "no degrees", "nobody outside")
        if not dropped_anyway:
            with pytest.raises(dx.SpecError) as caught:
                dx.apply(town, data, tmp_path / "refused.csv", outside=outside, **asked(ledger))
            assert caught.value.field in ("data", "person", "time")
            assert ledger.totals().rows == 0
        done = dx.apply(town, data, tmp_path / "out.csv", outside=outside, unusable="drop", **asked(ledger))
        rows = list(csv.DictReader((tmp_path / "out.csv").open(encoding="utf-8")))
        assert [row["person"] for row in rows] == ["ann", *(["bob"] if outside == "nearest" else []), "ann"]
        assert done.dropped == [3, *([4] if outside == "drop" else [])]
        assert done.record.secret.unusable == "drop"
        assert ledger.totals().rows == len(rows)
        assert verify_published(tmp_path / "out.csv", town).exit_code == 0


def test_a_frame_without_persons(town: Path) -> None:
    frame = pd.DataFrame({"lat": [45.7, None, 45.71], "lon": [4.8, 4.8, 4.79], "note": ["a", "b", "c"]})
    done = dx.apply(town, frame, lat="lat", lon="lon", unusable="drop", columns=dx.Columns(keep=["note"]))
    assert done["note"].tolist() == ["a", "c"]


def test_what_is_no_policy_is_refused(town: Path) -> None:
    frame = pd.DataFrame({"lat": [45.7], "lon": [4.8]})
    with pytest.raises(dx.SpecError) as caught:
        dx.apply(town, frame, lat="lat", lon="lon", unusable="nearest")  # pyright: ignore[reportArgumentType]
    assert caught.value.field == "unusable"
