"""What `dx.apply` needs besides NumPy, and what it says where that is not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.material.files import ROOT
from tests.material.people import counts, town

PROGRAM = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in OTHERS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

OTHERS = {
    "cvxpy", "clarabel", "highspy", "numba", "threadpoolctl", "networkx", "matplotlib", "pydantic", "ruamel", "typer",
    "rich", "pandas", "polars", "narwhals", "pyarrow", "shapely", "geopandas", *sys.argv[1:],
}
sys.meta_path.insert(0, Refused())
import dxopt as dx

to = dx.Output("out.csv", force=True)
print(dx.apply("counts.dxt", "beds.csv", to, columns=dx.Columns(label="beds")).record.rows.out)
try:
    print(dx.apply("town.dxt", "people.csv", to, lat="lat", lon="lon").record.rows.out)
except dx.UnsupportedError as error:
    print(error)
"""


def printed(folder: Path, *others: str) -> list[str]:
    """What the program prints where these modules are not there."""
    command = [sys.executable, "-c", PROGRAM, *others]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=folder, env={"PYTHONPATH": str(ROOT)}
    )
    return done.stdout.splitlines()


def test_labels_need_numpy_alone_and_positions_scipy(tmp_path: Path) -> None:
    counts().save(tmp_path / "counts.dxt")
    town().save(tmp_path / "town.dxt")
    (tmp_path / "beds.csv").write_text("ward,beds\na,3\nb,0\n", encoding="utf-8")
    (tmp_path / "people.csv").write_text("lat,lon\n45.7,4.8\n", encoding="utf-8")
    assert printed(tmp_path) == ["2", "1"]
    refused = "scipy: is not installed; install dxopt[geo], or name a column of labels"
    assert printed(tmp_path, "scipy") == ["2", refused]
