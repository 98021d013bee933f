"""Rebuild the data files of this folder from the public packages that carry them.

    pip install 'dxopt[data]' && python problems/rebuild.py

montreal-carshare.csv   plotly's `data.carshare()` (MIT licence): the centre of each of 249 zones of Montreal and the
                        car-hours of a car-sharing service there, in the order of the package.
doctor-visits.csv       statsmodels' `randhie` (public domain; RAND Health Insurance Experiment): for each number of
                        outpatient visits to a doctor, from 0 to the largest one seen, the people who made as many.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def write(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write one CSV file beside this script."""
    with (HERE / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def montreal_carshare() -> None:
    """249 rows: lat, lon, weight (car-hours)."""
    from plotly.data import carshare

    zones = carshare()
    columns = [zones[name].tolist() for name in ("centroid_lat", "centroid_lon", "car_hours")]
    write("montreal-carshare.csv", ("lat", "lon", "weight"), zip(*columns, strict=True))


def doctor_visits() -> None:
    """78 rows: visits, people."""
    from statsmodels.datasets import randhie

    people_seen: Any = randhie.load_pandas().data
    visits = people_seen["mdvis"].astype(int)
    people = visits.value_counts()
    rows = [(count, int(people.get(count, 0))) for count in range(int(visits.max()) + 1)]
    write("doctor-visits.csv", ("visits", "people"), rows)


if __name__ == "__main__":
    montreal_carshare()
    doctor_visits()
