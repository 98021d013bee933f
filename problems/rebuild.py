"""Rebuild the data files of this folder from the public packages that carry them.

    pip install 'dxopt[data]' && python problems/rebuild.py

montreal-carshare.csv   plotly's `data.carshare()` (MIT licence): the centre of each of 249 zones of Montreal and the
                        car-hours of a car-sharing service there, in the order of the package.
doctor-visits.csv       statsmodels' `randhie` (public domain; RAND Health Insurance Experiment): for each number of
                        outpatient visits to a doctor, from 0 to the largest one seen, the people who made as many.
doctor-visits-300.csv   300 of these people, drawn with a fixed seed, and doctor-visits-rest.csv all others: a small
                        survey that a prior is made of, and people that it is tried on.
montreal-30.csv         30 of the zones, drawn likewise, and montreal-219.csv the other 219.
italy.geojson           the outline of Italy at 1:110 million by Natural Earth (public domain), which pyogrio carries.
italy-people.csv        400 made-up people: most near one of 16 cities, the others anywhere; all of
                        them in cells of H3 whose centre is on land.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20261122
CITIES = (
    (41.89, 12.48, 2.8),
    (45.46, 9.19, 2.0),
    (40.85, 14.27, 1.5),
    (45.07, 7.69, 1.1),
    (38.12, 13.36, 0.8),
    (44.41, 8.93, 0.6),
    (44.49, 11.34, 0.5),
    (43.77, 11.26, 0.5),
    (41.12, 16.87, 0.5),
    (37.50, 15.09, 0.5),
    (45.44, 11.9, 0.7),
    (39.22, 9.12, 0.3),
    (40.73, 8.56, 0.2),
    (43.6, 13.4, 0.2),
    (42.46, 14.2, 0.2),
    (38.1, 15.7, 0.2),
)
"""Latitude, longitude and about how many million people live there."""
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


def italy() -> None:
    """Write the outline as one feature, to two decimals, and 400 rows: person, lat, lon."""
    import h3
    import pyogrio
    import shapely

    carried = Path(pyogrio.__file__).parent / "tests" / "fixtures" / "naturalearth_lowres"
    country: Any = pyogrio.read_dataframe(carried, where="name = 'Italy'").geometry.iloc[0]
    outline = shapely.set_precision(country, 0.01)
    feature = {"type": "Feature", "properties": {"name": "Italy"}, "geometry": shapely.geometry.mapping(outline)}
    (HERE / "italy.geojson").write_text(json.dumps(feature) + "\n", encoding="utf-8")
    chance = np.random.default_rng(SEED)
    weights = np.array([weight for _, _, weight in CITIES])
    south, west, north, east = 36.6, 6.6, 47.1, 18.5
    people: list[tuple[str, str, str]] = []
    while len(people) < 400:
        lat, lon, _ = CITIES[chance.choice(len(CITIES), p=weights / weights.sum())]
        if chance.random() < 0.3:
            lat, lon = chance.uniform(south, north), chance.uniform(west, east)
        lat, lon = chance.normal(lat, 0.12), chance.normal(lon, 0.16)
        middle = h3.cell_to_latlng(h3.latlng_to_cell(lat, lon, 4))
        if shapely.contains_xy(outline, lon, lat) and shapely.contains_xy(outline, *middle[::-1]):
            people.append((f"p{len(people):03}", f"{lat:.4f}", f"{lon:.4f}"))
    write("italy-people.csv", ("person", "lat", "lon"), people)


if __name__ == "__main__":
    montreal_carshare()
    doctor_visits()
    doctor_visits_split()
    montreal_split()
    italy()
