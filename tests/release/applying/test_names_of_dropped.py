"""Names of properties that only features have which are left out: neither the output nor its sidecar has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from dxopt.verify import verify_published
from tests.material.people import counts

PROPERTIES = [{"id": 7, "beds": 1}, {"beds": 2, "ward": "a"}, {"beds": 99, "hidden": 1, "ward": "b"}, {"beds": 3}]


@pytest.mark.parametrize("keep", [None, ["ward"], ["ward", "hidden"], []])
@pytest.mark.parametrize("policy", ["outside", "budget"])
def test_names_that_only_left_out_features_have_do_not_leave(
    tmp_path: Path, keep: list[str] | None, policy: str
) -> None:
    rows: list[dict[str, Any]] = [{**one, "person": str(number)} for number, one in enumerate(PROPERTIES)]
    options: dict[str, Any] = {"outside": "drop"}
    if policy == "budget":
        rows[2] |= {"beds": 4, "person": "1"}
        ledger = dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=0.7)
        options = {"person": "person", "ledger": ledger, "over_budget": "drop"}
    features = [{"type": "Feature", "properties": row, "geometry": None} for row in rows]
    counts().save(tmp_path / "t.dxt")
    file, output = tmp_path / "data.geojson", tmp_path / "out.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    columns = dx.Columns(keep=keep, drop=["person"] if keep is None else ())
    dx.apply(counts(), file, output, column="beds", columns=columns, within=0.5, **options)
    beside = output.with_name(f"{output.name}.dxopt.json")
    sidecar = beside.read_text(encoding="utf-8")
    assert "hidden" not in output.read_text(encoding="utf-8") + sidecar
    assert set(json.loads(sidecar)["columns"]["kept"]) == ({"id", "ward"} if keep is None else {*keep} - {"hidden"})
    assert verify_published(output, tmp_path / "t.dxt").outcome != "fails"
    said = json.loads(sidecar)
    said["columns"]["kept"].append("hidden")
    beside.write_text(json.dumps(said), encoding="utf-8")
    assert verify_published(output, tmp_path / "t.dxt").outcome == "fails"
