"""What a sidecar of `dxopt apply` claims, computed again from the table, the output and the prior.

Imports nothing from the package it judges: integers and rationals, and decimals of 60 digits for e^t.
"""

from __future__ import annotations

import hashlib
import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tests.judges.table_file import Reader

RADIUS = 6371.0088
"""Kilometres."""
LONGEST = Fraction(10045, 10000)
SHARE = Fraction(95, 100)


class Table:
    """The table of a file *.dxt of places on the Earth, under great circles in kilometres."""

    def __init__(self, file: Path) -> None:
        written = file.read_bytes()
        reader = Reader(written)
        self.digest = written[-32:].hex()
        self.total = 2 ** reader.head["bits"]
        self.epsilon: float = reader.head["epsilon"]
        self.reports: list[str] = reader.head["reports"]
        self.places: list[list[float]] = reader.head["secret_points"]
        self.report_places: list[list[float]] = reader.head["report_points"]
        self.counts = [[0] * len(self.reports) for _ in self.places]
        for row, reports, steps in zip(self.counts, reader.reports, reader.steps, strict=True):
            ends = [0, *(int.from_bytes(step, "big") for step in steps), self.total]
            for z, low, high in zip(reports, ends[:-1], ends[1:], strict=True):
                row[z] = high - low

    def apart(self, x: int, z: int) -> float:
        """The great-circle distance of a secret and a report."""
        return great_circle(self.places[x], self.report_places[z])

    def leaks(self) -> list[tuple[int, int, int]]:
        """Pairs of secrets and reports whose probabilities are further apart than e^{εd}, up to 1e-12 of εd."""
        found = []
        with localcontext() as context:
            context.prec = 60
            for x, row in enumerate(self.counts):
                for other, alike in enumerate(self.counts):
                    apart = great_circle(self.places[x], self.places[other])
                    most = (Decimal(self.epsilon) * Decimal(apart) * (1 + Decimal("1e-12"))).exp()
                    found += [(x, other, z) for z in range(len(row)) if row[z] > most * alike[z]]
        return found

    def metres(self, report: int, prior: list[Fraction], within: float) -> int:
        """The radius about a report, given what is believed of the secret behind it, in whole metres."""
        weights = [believed * row[report] for believed, row in zip(prior, self.counts, strict=True)]
        return metres([self.apart(x, report) for x in range(len(self.places))], weights, within)

    def worst(self, within: float) -> int:
        """The radius that holds the report of any secret."""
        rows = ([self.apart(x, z) for z in range(len(self.reports))] for x in range(len(self.places)))
        weights = ([Fraction(count) for count in row] for row in self.counts)
        return max(metres(apart, row, within) for apart, row in zip(rows, weights, strict=True))


def great_circle(one: list[float], other: list[float]) -> float:
    """Kilometres between two places (latitude, longitude), from the angle between their unit vectors."""
    a, b = (
        np.array([math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)])
        for lat, lon in (map(math.radians, place) for place in (one, other))
    )
    return RADIUS * math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b))


def metres(apart: list[float], weights: list[Fraction], within: float) -> int:
    """The smallest distance in kilometres that holds 95 % of the weights, and `within`, in whole metres of WGS 84."""
    reached = Fraction(0)
    for distance, weight in sorted(zip(apart, weights, strict=True)):
        reached += weight
        if reached >= SHARE * sum(weights):
            return math.ceil((distance + within) * 1000 * float(LONGEST) - 1e-6)
    raise AssertionError


def judged(table_file: Path, output: Path, sidecar: Path, rows: list[dict[str, Any]]) -> list[str]:
    """What a sidecar claims that does not hold of an output with columns lat and lon, under a uniform prior."""
    said = json.loads(sidecar.read_text(encoding="utf-8"))
    table = Table(table_file)
    size = len(table.places)
    uniform = np.full(size, 1 / size)
    within = said["secret"]["within"]
    prior = [Fraction(1, size)] * size
    radii = [table.metres(z, prior, within) for z in range(len(table.reports))]
    claims = {
        "digest of the table": (said["mechanism"]["table_sha256"], table.digest),
        "digest of the output": (said["output"]["sha256"], hashlib.sha256(output.read_bytes()).hexdigest()),
        "digest of the prior": (said["prior"]["sha256"], hashlib.sha256(uniform.astype("<f8").tobytes()).hexdigest()),
        "bytes": (said["output"]["bytes"], output.stat().st_size),
        "rows": (said["rows"]["out"], len(rows)),
        "rows and dropped": (said["rows"]["given"], len(rows) + len(said["rows"]["dropped"])),
        "epsilon": (said["privacy"]["epsilon"], table.epsilon),
        "sums of rows": ({sum(row) for row in table.counts}, {table.total}),
        "privacy": (table.leaks(), []),
        "worst radius": (said["radius"]["worst"], table.worst(within)),
    }
    wrong = [name for name, (claimed, found) in claims.items() if claimed != found]
    places = {label: z for z, label in enumerate(table.reports)}
    for number, row in enumerate(rows):
        z = places[row["report"]]
        if [float(row["lat"]), float(row["lon"])] != table.report_places[z]:
            wrong.append(f"row {number}: coordinates")
        if int(row["coordinateUncertaintyInMeters"]) != radii[z]:
            wrong.append(f"row {number}: radius {row['coordinateUncertaintyInMeters']}, not {radii[z]}")
        if float(row["epsilon"]) != table.epsilon:
            wrong.append(f"row {number}: epsilon")
    return wrong
