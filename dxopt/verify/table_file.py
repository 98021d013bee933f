"""Table files `*.dxt`, proven from their bytes alone (docs/reference/table-file.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.files import DAMAGED, Arrays, once, plain_file
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.metrics import AGREEMENT, Measured, parameters_of, require_measured, require_triangles
from dxopt.verify.privacy import Channel, Levels, bound_pairs, excess, violation
from dxopt.verify.verdict import Broken

Array = NDArray[np.float64]
SUFFIX = ".dxt"
MAGIC = b"dxtable1"
_DIGEST = 32
_BITS = (64, 128, 192, 256)
_SECTIONS = ("starts", "reports", "steps", "distances")
_SUM = 1e-9


@dataclass(frozen=True, eq=False)
class TableFile:
    """Contents of a table file, of the right shapes, with nothing proven.

    Attributes
    ----------
    head : dict
    distances : (n, n) array
    rows : list of lists
        For each secret the indices of its reports.
    steps : list of lists
        The sums of counts between these.
    prior : (n,) array or None
    """

    head: dict[str, Any]
    distances: Array
    rows: list[list[int]]
    steps: list[list[int]]
    prior: Array | None

    @classmethod
    def of(cls, written: bytes) -> TableFile:
        """The contents of the bytes; Broken where they are no table."""
        if written[:8] != MAGIC:
            raise Broken("it does not begin as a table file does")
        length = int.from_bytes(written[8:16], "little")
        head = json.loads(written[16 : 16 + length].decode("utf-8"), object_pairs_hook=once)
        if head.get("format") != "dxopt table" or head.get("version") != 1 or head.get("bits") not in _BITS:
            raise Broken(f"it is {head.get('format')!r} {head.get('version')!r} out of 2^{head.get('bits')}")
        body = written[16 + length : -_DIGEST]
        _require_sections(head["sections"], len(body))
        first = {name: body[place : place + size] for name, (place, size) in head["sections"].items()}
        size = len(head["secrets"])
        starts = np.frombuffer(first["starts"], dtype="<u8").astype(np.int64).tolist()
        reports = np.frombuffer(first["reports"], dtype="<u4").astype(np.int64).tolist()
        if len(starts) != size + 1 or starts[0] or starts[-1] != len(reports) or any(np.diff(starts) < 1):
            raise Broken("starts do not divide the reports into one row for each secret")
        width = head["bits"] // 8
        if len(first["steps"]) != width * (len(reports) - size):
            raise Broken("there is not one step fewer than reports in each row")
        every = [int.from_bytes(first["steps"][k : k + width], "big") for k in range(0, len(first["steps"]), width)]
        rows = [reports[a:b] for a, b in pairwise(starts)]
        steps = [every[starts[x] - x : starts[x + 1] - x - 1] for x in range(size)]
        distances = np.frombuffer(first["distances"], dtype="<f8").astype(np.float64).reshape(size, size)
        prior = np.frombuffer(first["prior"], dtype="<f8").astype(np.float64) if "prior" in first else None
        return cls(head, distances, rows, steps, prior)

    @property
    def total(self) -> int:
        """T, which every row sums to."""
        return 1 << int(self.head["bits"])

    def secret(self, x: int) -> str:
        """The label of a secret, for messages."""
        return str(self.head["secrets"][x])

    def level(self, name: str) -> Fraction:
        """ε or δ; Broken where it is no finite number from 0."""
        value = self.head[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise Broken(f"its {name} is {value!r}")
        return Fraction(value)


def table_checks(file: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """The claims of a table file by name, each to be called; Broken where the file is no table."""
    written = plain_file(file.parent, file.name).read_bytes()
    yield "digest", partial(_check_digest, written)
    try:
        table = TableFile.of(written)
    except (Broken, *DAMAGED) as error:
        reason = str(error)
        yield "file", partial(_fail, f"it is damaged: {reason or type(error).__name__}")
        return
    yield "names", partial(_check_names, table)
    yield "distances", partial(_check_distances, table)
    yield "rows", partial(_check_rows, table)
    yield "privacy", partial(_check_private, table)
    if table.prior is not None:
        yield "prior", partial(_check_prior, table.prior, len(table.rows))


def _fail(reason: str) -> str:
    raise Broken(reason)


def _require_sections(sections: dict[str, Any], room: int) -> None:
    """Broken unless sections follow each other, each at a multiple of 8 bytes, and fill the room."""
    if not set(_SECTIONS) <= set(sections) <= {*_SECTIONS, "prior"}:
        raise Broken(f"its sections are {', '.join(sections)}")
    end = 0
    for name, (place, size) in sorted(sections.items(), key=lambda entry: entry[1]):
        if type(place) is not int or type(size) is not int or place != end or size < 0:
            raise Broken(f"section {name} is not where the one before it ends")
        end = place + size + -size % 8
    if end != room:
        raise Broken(f"its sections take {end:,} bytes, and there are {room:,}")


def _check_digest(written: bytes) -> str:
    found = sha256(written[:-_DIGEST]).digest()
    if found != written[-_DIGEST:]:
        raise Broken("the file was changed or cut off since it was written")
    return f"SHA-256 {found.hex()}"


def _check_names(table: TableFile) -> str:
    head = table.head
    for key in ("secrets", "reports"):
        if not all(isinstance(label, str) for label in head[key]):
            raise Broken(f"{key} are not all text")
    if head["secrets_are_reports"] and head["secrets"] != head["reports"]:
        raise Broken("reports are said to be the secrets, but have other names")
    for key, size in (("secret_points", len(head["secrets"])), ("report_points", len(head["reports"]))):
        if head[key] is not None and np.asarray(head[key], dtype=float).shape[0] != size:
            raise Broken(f"{key} are not one for each of {size}")
    if head["secrets_are_reports"] and head["secret_points"] != head["report_points"]:
        raise Broken("reports are said to be the secrets, but are elsewhere")
    labels = head["space"].get("labels")
    if labels is not None and [str(label) for label in labels] != head["secrets"]:
        raise Broken("its space has other names of the secrets")
    return f"{len(head['secrets']):,} secrets, {len(head['reports']):,} reports"


def _check_distances(table: TableFile) -> str:
    """Distances obey the triangle inequality, and are those of the points or the space that the head describes."""
    distances = table.distances
    require_triangles(distances, table.secret)
    arrays = {f"space.{key}": np.asarray(value) for key, value in table.head["space"].items()}
    kind = str(arrays["space.kind"])
    if kind == "distances":
        return "given distances, which obey the triangle inequality"
    points = _points(arrays)
    claimed = table.head["secret_points"]
    if points is not None and claimed is not None and not np.array_equal(points, np.asarray(claimed)):
        raise Broken("secret_points are not the points of its space")
    if kind == "points" and points is not None:
        metric = str(arrays["space.metric"])
        if metric != table.head["metric"]:
            raise Broken(f"the metric is {table.head['metric']!r}, that of its space {metric!r}")
        measured = Measured(metric, parameters_of(arrays), points, points)
        require_measured(measured, distances, table.secret, lambda x: f"secret {table.secret(x)}")
        return f"the {metric} ones of the points"
    derived = Space.read(arrays).distances
    if derived.shape != distances.shape or not np.allclose(derived, distances, rtol=AGREEMENT, atol=0.0):
        raise Broken("they are not those of its space")
    return f"those of the {kind}"


def _points(arrays: Arrays) -> NDArray[Any] | None:
    """The points of a space that has some: numbers, or values under a metric that only tells them apart."""
    kind = str(arrays["space.kind"])
    if kind == "points":
        return arrays["space.points"]
    return Space.read(arrays).points if kind in ("lattice", "torus") else None


def _check_rows(table: TableFile) -> str:
    many = len(table.head["reports"])
    for x, (row, steps) in enumerate(zip(table.rows, table.steps, strict=True)):
        if len(set(row)) < len(row) or not all(0 <= report < many for report in row):
            raise Broken(f"the reports of secret {table.secret(x)} are not different ones of {many}")
        if any(low >= high for low, high in zip([0, *steps], [*steps, table.total], strict=True)):
            raise Broken(f"the steps of secret {table.secret(x)} do not rise from 0 to 2^{table.head['bits']}")
    return f"steps rise from 0 to 2^{table.head['bits']} in every row"


def _check_private(table: TableFile) -> str:
    """The counts are private at ε and δ, in integers."""
    _check_rows(table)
    counts = [[0] * len(table.head["reports"]) for _ in table.rows]
    for row, steps, whole in zip(table.rows, table.steps, counts, strict=True):
        for report, low, high in zip(row, [0, *steps], [*steps, table.total], strict=True):
            whole[report] = high - low
    epsilon = table.level("epsilon")
    delta = table.level("delta")
    pairs = table.head["pairs"]
    if pairs not in ("all", "adjacent"):
        raise Broken(f"its pairs are {pairs!r}")
    bound = bound_pairs(table.distances, pairs if delta else "all")
    levels = Levels.of(table.distances, bound, epsilon)
    require_private(counts, table.head["bits"], levels, delta, table.secret, table.head["reports"].__getitem__)
    return f"epsilon {float(epsilon):g}" + (f", delta {float(delta):g}" if delta else "") + ", in integers"


def require_private(
    counts: list[list[int]],
    bits: int,
    levels: Levels,
    delta: Fraction,
    secret: Callable[[int], str],
    report: Callable[[int], str],
) -> None:
    """Check in integers that counts out of 2^bits are private; Broken names the secrets and the report."""
    channel = Channel.integers(counts, 1 << bits)
    violated = excess(channel, levels, delta)[1] if delta else violation(channel, levels)
    if violated is not None:
        x, other, z = violated
        raise Broken(
            f"secrets {secret(x)} and {secret(other)} are told apart by report {report(z)}: "
            f"{counts[x][z]} against {counts[other][z]} out of 2^{bits}"
        )


def _check_prior(prior: Array, size: int) -> str:
    if prior.shape != (size,) or not (prior >= 0).all() or not abs(math.fsum(prior) - 1) <= _SUM:
        raise Broken(f"it is not {size} probabilities that sum to 1")
    return "probabilities that sum to 1"
