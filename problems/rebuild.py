"""Rebuild the data files of this folder from the public packages that carry them.

    pip install 'dxopt[data]' && python problems/rebuild.py

montreal-carshare.csv   plotly's `data.carshare()` (MIT licence): the centre of each of 249 zones of Montreal and the
                        car-hours of a car-sharing service there, in the order of the package.
doctor-visits.csv       statsmodels' `randhie` (public domain; RAND Health Insurance Experiment): for each number of
                        outpatient visits to a doctor, from 0 to the largest one seen, the people who made as many.
doctor-visits-300.csv   300 of these people, drawn with a fixed seed, and doctor-visits-rest.csv all others: a small
                        survey that a prior is made of, and people that it is tried on.
montreal-30.csv         30 of the zones, drawn likewise, and montreal-219.csv the other 219.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20261122
HERE = Path(__file__).parent


def write(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write one CSV file beside this script."""
    with (HERE / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def read(name: str) -> list[tuple[str, ...]]:
    """Return the columns of a CSV file beside this script, without its header."""
    with (HERE / name).open(newline="", encoding="utf-8") as file:
        return list(zip(*list(csv.reader(file))[1:], strict=True))


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


def doctor_visits_split() -> None:
    """78 rows each: visits, people."""
    visits, people = read("doctor-visits.csv")
    some = np.random.default_rng(SEED).multivariate_hypergeometric([int(many) for many in people], 300)
    others = [int(many) - few for many, few in zip(people, some.tolist(), strict=True)]
    for name, counts in (("300", some.tolist()), ("rest", others)):
        write(f"doctor-visits-{name}.csv", ("visits", "people"), zip(visits, counts, strict=True))


def montreal_split() -> None:
    """30 and 219 rows: lat, lon, weight."""
    rows = list(zip(*read("montreal-carshare.csv"), strict=True))
    order = np.random.default_rng(SEED).permutation(len(rows)).tolist()
    for chosen in (order[:30], order[30:]):
        write(f"montreal-{len(chosen)}.csv", ("lat", "lon", "weight"), [rows[row] for row in sorted(chosen)])


if __name__ == "__main__":
    montreal_carshare()
    doctor_visits()
    doctor_visits_split()
    montreal_split()
