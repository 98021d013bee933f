"""Table files `*.dxt`, proven from their bytes alone (docs/reference/table-file.md)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.described import require_described, require_distances
from dxopt.verify.entries import NUMBER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, require_types
from dxopt.verify.files import plain_file, require_typed, unreadable
from dxopt.verify.folder import label
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.metrics import parameters_of
from dxopt.verify.privacy import Channel, Levels, bound_pairs, excess, violation
from dxopt.verify.verdict import Broken

Array = NDArray[np.float64]
SUFFIX = ".dxt"
MAGIC = b"dxtable1"
_DIGEST = 32
_BITS = (64, 128, 192, 256)
_SUM = 1e-9
_LABELS = ("secrets", "reports")
_POINTS = ("secret_points", "report_points")
_NUMBERS = ("epsilon", "delta", "cost", "variation")
_HEAD = {
    "format": TEXT, "version": (int,), "name": TEXT, "bits": (int,), "epsilon": NUMBER, "delta": NUMBER,
    "cost": NUMBER_OR_NULL, "variation": NUMBER_OR_NULL, "pairs": TEXT, "metric": TEXT_OR_NULL, "unit": TEXT_OR_NULL,
    "secrets": (list,), "reports": (list,), "secrets_are_reports": (bool,), "secret_points": (list, NoneType),
    "report_points": (list, NoneType), "space": (dict,), "sections": (dict,),
}  # fmt: skip
"""The types of the entries of the head, in the order in which they are written."""
_PARTS, _OF_DISTANCES, _OF_FACTOR = "parts", "points of distances", "points of a factor"
_SPACE = (
    *("kind", "factors", _PARTS, "shape", "spacing", "edges", "lengths", "points", "distances", "metric", "labels"),
    *("parameters", _OF_FACTOR, "unit", _OF_DISTANCES),
    *("positions.degrees", "positions.outlines", "positions.streets", "positions.unit"),
)
"""The entries of a space in the order in which they are written, with those of factors, and of points by the kind."""
_PLACES = re.compile(r"points|positions[.](degrees|outlines|streets)")


@dataclass(frozen=True, eq=False)
class TableFile:
    """Contents of a table file, of the right shapes, with nothing proven.

    `rows` has for each secret the indices of its reports, `steps` the sums of their counts up to each of these
    reports but the last one, where the sum is the total.
    """

    head: dict[str, Any]
    distances: Array
    rows: list[list[int]]
    steps: list[list[int]]
    prior: Array | None

    @classmethod
    def of(cls, written: bytes) -> TableFile:
        """Read the bytes; Broken where they are no table."""
        if written[:8] != MAGIC:
            raise Broken("it does not begin as a table file does")
        length = int.from_bytes(written[8:16], "little")
        head = json.loads(written[16 : 16 + length].decode("utf-8"))
        require_types("its head", head, _HEAD)
        if (head["format"], head["version"]) != ("dxopt table", 1) or head["bits"] not in _BITS:
            raise Broken(f"it is {head['format']!r:.40} {head['version']} out of 2^{head['bits']}")
        body = written[16 + length : -_DIGEST]
        stored = {name: body[place : place + size] for name, (place, size) in head["sections"].items()}
        size = len(head["secrets"])
        starts = np.frombuffer(stored["starts"], dtype="<u8").astype(np.int64).tolist()
        reports = np.frombuffer(stored["reports"], dtype="<u4").astype(np.int64).tolist()
        if len(starts) != size + 1 or starts[0] or starts[-1] != len(reports) or any(np.diff(starts) < 1):
            raise Broken("starts do not divide the reports into one row for each secret")
        width = head["bits"] // 8
        if len(stored["steps"]) != width * (len(reports) - size):
            raise Broken("there is not one step fewer than reports in each row")
        every = [int.from_bytes(stored["steps"][k : k + width], "big") for k in range(0, len(stored["steps"]), width)]
        rows = [reports[a:b] for a, b in pairwise(starts)]
        # each row before x has one step fewer than reports
        steps = [every[starts[x] - x : starts[x + 1] - x - 1] for x in range(size)]
        distances = np.frombuffer(stored["distances"], dtype="<f8").astype(np.float64).reshape(size, size)
        prior = np.frombuffer(stored["prior"], dtype="<f8").astype(np.float64) if "prior" in stored else None
        if written[:-_DIGEST] != _written(head, stored, distances, prior):
            raise Broken("it is not as it is written")
        return cls(head, distances, rows, steps, prior)

    @cached_property
    def counts(self) -> list[list[int]]:
        """Counts N of reports, `(n, m)`, whose rows sum to the total T; of rows that were checked."""
        counts = [[0] * len(self.head["reports"]) for _ in self.rows]
        for row, steps, whole in zip(self.rows, self.steps, counts, strict=True):
            for report, low, high in zip(row, [0, *steps], [*steps, self.total], strict=True):
                whole[report] = high - low
        return counts

    @cached_property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its space, as the arrays of mechanism.npz; given distances, and their points, are elsewhere in the file."""
        found = {f"space.{key}": _array(key, value) for key, value in self.head["space"].items()}
        for key, value in self.head["space"].items():
            if _text(listed(found[f"space.{key}"])) != _text(value):
                raise Broken(f"its space.{key} is no array as it is written")
        require_typed(found)
        if self.head["space"]["kind"] == "distances":
            if "space.distances" in found:
                raise Broken("the distances are there twice")
            found["space.distances"] = self.distances
            if self.head["secret_points"] is not None:
                if "space.points" in found:
                    raise Broken("the points are there twice")
                found["space.points"] = np.asarray(self.head["secret_points"], dtype=float)
        return found

    @property
    def total(self) -> int:
        """T, the sum of the counts of every row."""
        return 1 << int(self.head["bits"])

    def secret(self, x: int) -> str:
        """Return the label of a secret, for messages."""
        return str(self.head["secrets"][x])

    def number(self, name: str) -> Fraction:
        """Return a number of the head; Broken where it is null."""
        if (found := self.head[name]) is None:
            raise Broken(f"its {name} is not said")
        return Fraction(found)

    def level(self, name: str) -> Fraction:
        """Return ε, δ or the variation; Broken where it is negative, or none but ε is above 1."""
        if (found := self.number(name)) < 0 or (name != "epsilon" and found > 1):
            raise Broken(f"its {name} is {float(found)}")
        return found


def bytes_of(file: Path) -> bytes:
    """Read a file; Broken where it is no plain one, too large, or cannot be read."""
    try:
        return plain_file(file.parent, file.name).read_bytes()
    except (OSError, ValueError, MemoryError) as error:
        raise unreadable(file.name, error) from None


def table_checks(file: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the claims of a table file by name, each to be called; an error where it cannot be read."""
    written = bytes_of(file)
    yield "digest", partial(check_digest, written)
    table = TableFile.of(written)
    yield "names", partial(check_names, table)
    yield "distances", lambda: require_distances(table.arrays, table.distances, table.secret)
    yield "rows", partial(_check_rows, table)
    yield "privacy", partial(check_private, table)
    if table.prior is not None:
        yield "prior", partial(_check_prior, table.prior, len(table.rows))


def _written(head: dict[str, Any], stored: dict[str, bytes], distances: Array, prior: Array | None) -> bytes:
    """Return the bytes of a table before its digest, with all entries, numbers and sections as they are written."""
    sections = {name: stored[name] for name in ("starts", "reports", "steps")}
    sections["distances"] = (distances + 0.0).tobytes()
    if prior is not None:
        sections["prior"] = (prior + 0.0).tobytes()
    places: dict[str, list[int]] = {}
    body = b""
    for name, section in sections.items():
        places[name] = [len(body), len(section)]
        body += section + bytes(-len(section) % 8)
    numbers = {name: None if head[name] is None else float(head[name]) + 0.0 for name in _NUMBERS}
    space = {key: head["space"][key] for key in sorted(head["space"], key=partial(_place, head["space"]))}
    space |= {
        key: _positive(entry) for key, entry in space.items() if not _PLACES.fullmatch(key.lstrip("0123456789."))
    }
    said = {key: head[key] for key in _HEAD} | numbers | {"space": space, "sections": places}
    text = json.dumps(said, ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (-len(text) % 8)
    return MAGIC + len(text).to_bytes(8, "little") + text + body


def _place(space: dict[str, Any], key: str) -> list[tuple[int, int]]:
    """Return where an entry of a space is written: behind others with which lists of these pairs begin less."""
    *factors, name = key.split(".", key.count(".") - ("positions." in key))
    if name == "points" and space[f"{key.removesuffix('points')}kind"] == "distances":
        name = _OF_FACTOR if factors else _OF_DISTANCES
    return [*((_SPACE.index(_PARTS), int(factor)) for factor in factors), (_SPACE.index(name), 0)]


def _positive(entry: object) -> object:
    """Return an entry without negative zeros."""
    return (
        list(map(_positive, entry)) if isinstance(entry, list) else entry + 0.0 if isinstance(entry, float) else entry
    )


def check_digest(written: bytes) -> str:
    """Compare the bytes with the digest at their end."""
    found = sha256(written[:-_DIGEST]).digest()
    if found != written[-_DIGEST:]:
        raise Broken("the file was changed or cut off since it was written")
    return f"SHA-256 {found.hex()}"


def check_names(table: TableFile) -> str:
    """Check that labels, coordinates, metric and unit are those of the space, and that nothing else is said."""
    head = table.head
    if head["space"]["kind"] == "tree":
        raise Broken("its space is a tree, which a table has by its distances")
    for key, points in zip(_LABELS, _POINTS, strict=True):
        if not all(isinstance(label, str) for label in head[key]):
            raise Broken(f"{key} are not all text")
        located = None if head[points] is None else np.asarray(head[points], dtype=float)
        fits = located is None or (located.ndim == 2 and len(located) == len(head[key]))
        if not fits or _text(coordinates_in_head(located)) != _text(head[points]):
            raise Broken(f"{points} are not one for each of {len(head[key])}, as they are written")
    if head["secrets_are_reports"] and head["secrets"] != head["reports"]:
        raise Broken("reports are said to be the secrets, but have other names")
    if head["secrets_are_reports"] and _text(head["secret_points"]) != _text(head["report_points"]):
        raise Broken("reports are said to be the secrets, but are elsewhere")
    require_described(table.arrays)
    if [label(table.arrays, x) for x in range(len(head["secrets"]))] != head["secrets"]:
        raise Broken("its space has other names of the secrets")
    kind = head["space"]["kind"]
    points = table.arrays.get("space.points")
    if kind not in ("points", "distances"):
        points = Space.read(table.arrays).places
    if _text(head["secret_points"]) != _text(coordinates_in_head(points)):
        raise Broken("secret_points are not the points of its space")
    if [head["metric"], head["unit"]] != _metric_of(table):
        raise Broken(f"the metric is {head['metric']!r} in {head['unit']!r}, which its space has not")
    return f"{len(head['secrets']):,} secrets, {len(head['reports']):,} reports"


def _text(content: object) -> str:
    """Return JSON, in which 0.0, -0.0, 0 and false are not the same."""
    return json.dumps(content)


def coordinates_in_head(points: NDArray[Any] | None) -> list[Any] | None:
    """Return coordinates as the head has them; None where there are none, or they are texts."""
    return None if points is None or points.dtype.kind != "f" else listed(points)


def listed(array: NDArray[Any]) -> Any:
    """Return an array as the head has it, None for an infinite distance, and for coordinates of a missing point."""
    found = array.astype(object)
    if array.dtype.kind == "f":
        found[~np.isfinite(array)] = None
    return found.tolist()


def _array(key: str, entry: Any) -> NDArray[Any]:
    """Return an entry of the space as an array; null among distances is infinity."""
    if not key.endswith("distances"):
        return np.asarray(entry)
    found = np.asarray(entry, dtype=float)
    return np.where(np.isnan(found), np.inf, found)


def _metric_of(table: TableFile) -> list[str | None]:
    """Return the name of the metric that the space has, and its unit, each None where there is none."""
    kind = table.head["space"]["kind"]
    if kind == "torus":
        return ["wrapped", None]
    if kind not in ("points", "lattice"):
        return [None, None]
    return [str(table.arrays["space.metric"]), parameters_of(table.arrays).get("unit")]


def _check_rows(table: TableFile) -> str:
    """Check that each row has different reports, and steps that rise, so that all counts are positive."""
    many = len(table.head["reports"])
    for x, (row, steps) in enumerate(zip(table.rows, table.steps, strict=True)):
        if len(set(row)) < len(row) or not all(0 <= report < many for report in row):
            raise Broken(f"the reports of secret {table.secret(x)} are not different ones of {many}")
        if any(low >= high for low, high in zip([0, *steps], [*steps, table.total], strict=True)):
            raise Broken(f"the steps of secret {table.secret(x)} do not rise from 0 to 2^{table.head['bits']}")
    return f"steps rise from 0 to 2^{table.head['bits']} in every row"


def check_private(table: TableFile) -> str:
    """Check in integers that the counts are private at ε and δ; Broken names the secrets and the report."""
    _check_rows(table)
    epsilon, delta = table.level("epsilon"), table.level("delta")
    if table.head["variation"] is not None:
        table.level("variation")
    pairs = table.head["pairs"]
    if pairs not in ("all", "adjacent"):
        raise Broken(f"its pairs are {pairs!r}")
    bound = bound_pairs(table.distances, pairs if delta else "all")
    levels = Levels.of(table.distances, bound, epsilon)
    channel = Channel.integers(table.counts, table.total)
    violated = excess(channel, levels, delta)[1] if delta else violation(channel, levels)
    if violated is not None:
        x, other, z = violated
        report = table.head["reports"][z]
        raise Broken(
            f"secrets {table.secret(x)} and {table.secret(other)} are told apart by report {report}: "
            f"{table.counts[x][z]} against {table.counts[other][z]} out of 2^{table.head['bits']}"
        )
    return f"epsilon {float(epsilon)!r}" + (f", delta {float(delta)!r}" if delta else "") + ", in integers"


def _check_prior(prior: Array, size: int) -> str:
    if prior.shape != (size,) or not (prior >= 0).all() or not abs(math.fsum(prior) - 1) <= _SUM:
        raise Broken(f"it is not {size} probabilities that sum to 1")
    return "probabilities that sum to 1"
