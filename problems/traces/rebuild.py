"""Rebuild the data of this folder from the public package that carries it.

    pip install 'dxopt[data]' && python problems/traces/rebuild.py

cycling.csv   bokeh-sampledata's `cycling` (CC0, a personal cycling workout): seconds since the start and the position
              in degrees, every 30 seconds. The package gives positions in semicircles, of 180/2^31 degrees.
"""

from __future__ import annotations

import csv
from pathlib import Path

HERE = Path(__file__).parent
DEGREES = 180 / 2**31
EVERY_S = 30


def cycling() -> None:
    """147 rows: time_s, lat, lon."""
    from bokeh_sampledata.cycling import cycling as ride

    times = ride["time"].dt.total_seconds().astype(int).tolist()
    places = zip(times, ride["position_lat"].tolist(), ride["position_long"].tolist(), strict=True)
    seen: dict[int, tuple[int, str, str]] = {}
    for time, latitude, longitude in places:
        seen.setdefault(time // EVERY_S, (time, f"{latitude * DEGREES:.6f}", f"{longitude * DEGREES:.6f}"))
    with (HERE / "cycling.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("time_s", "lat", "lon"))
        writer.writerows(seen.values())


if __name__ == "__main__":
    cycling()
