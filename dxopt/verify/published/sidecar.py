"""The sidecar of a published file: its fields, written once, for the writer, the verifier and whoever explains it.

It holds data alone. The sentences that follow are made where somebody reads them, by `dxopt.words.published`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from zoneinfo import available_timezones

from dxopt.errors import UnsupportedError
from dxopt.verify.files import read_json
from dxopt.verify.verdict import Broken

ENDING = ".dxopt.json"
FORMAT = 2
"""The version of sidecars."""
GENERALIZATIONS = "dataGeneralizations"
"""The column with one sentence that is the same in every row (a term of Darwin Core)."""
BY_REPORT = ("coordinateUncertaintyInMeters", "uncertainty")
"""Columns of radii about a report that hold the secret, given the prior."""
WORST = ("worstCaseUncertaintyInMeters", "worst_case_uncertainty")
"""Columns of the radius that holds the report for every secret, whatever the prior."""
SHARE = 0.95
"""The probability with which a radius holds the true position."""

Kind = Literal["earth", "plane", "value", "label"]
GEOMETRY = "geometry"
PLACES = ("lat", "lon")
"""The column of points, and those of positions, of files in another format than the data had them in."""
Noun = Literal["line", "row", "feature"]


class _Strict:
    """Makes pydantic refuse fields of other names and values of other types."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}


@dataclass(frozen=True)
class Mechanism(_Strict):
    """The table that reports were drawn from."""

    name: str
    secrets: int
    reports: int
    bits: int
    table_sha256: str


@dataclass(frozen=True)
class Near(_Strict):
    """Promise on two positions or secrets within a radius of each other, all in the unit of distances.

    The radius is the one within which a level was asked for, else a usual distance. It is `between` positions on the
    Earth where it is known how far the secrets of two of them may be `apart`, and else between secrets, which are no
    further apart than the radius. One report changes the odds between the two by at most `factor`.
    """

    between: Literal["positions", "secrets"]
    radius: float
    apart: float
    factor: float


@dataclass(frozen=True)
class Privacy(_Strict):
    """The levels of the table, the metric that they are about, and what follows for two that are near."""

    epsilon: float
    delta: float
    pairs: str
    metric: str
    unit: str
    near: Near


@dataclass(frozen=True)
class PriorOfRadii(_Strict):
    """The prior under which radii about a report hold the secret: its name, and the digest of its doubles."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Secret(_Strict):
    """The replaced columns, how far (`within`) their entries are from a secret, and what happens to other rows."""

    columns: tuple[str, ...]
    kind: Kind
    within: float
    within_unit: str
    within_from_space: bool
    outside: Literal["refuse", "nearest", "drop"]
    unusable: Literal["refuse", "drop"]

    @property
    def noun(self) -> str:
        """The word for what a row has in these columns: a position, a value or a label."""
        return self.kind if self.kind in ("value", "label") else "position"

    def placed(self, made: Sequence[str], *, converted: bool) -> tuple[str, ...]:
        """Return the columns, of those `made`, that have reports instead: the same ones, unless `converted`.

        Only another format than that of the data may have others.
        """
        if not converted or self.kind != "earth" or not {*made}.isdisjoint(self.columns):
            return self.columns
        return next((names for names in ((GEOMETRY,), PLACES) if {*names} <= {*made}), self.columns)


@dataclass(frozen=True)
class Radius(_Strict):
    """The radii in the output; `worst` is None where no radius holds that much."""

    share: float
    columns: tuple[str, ...]
    unit: str
    worst: float | None


@dataclass(frozen=True)
class RowCounts(_Strict):
    """Numbers of rows given and written, and the lines, rows or features of the data, counted from 1, left out.

    `outside` and `unusable` are how many were left out for that reason. Where those outside were taken for the
    nearest secret, `outside` is None: their number would tell more of them than their reports do.
    """

    given: int
    out: int
    outside: int | None
    unusable: int
    dropped: tuple[int, ...]
    noun: Noun


@dataclass(frozen=True)
class Columns(_Strict):
    """The columns that were made, and those of the input that were kept and left out."""

    made: tuple[str, ...]
    kept: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Draws(_Strict):
    """Source of the random bits: the fingerprint of a key, the release, and the column of persons."""

    keyed: bool
    key: str | None
    release: str | None
    person: str | None


@dataclass(frozen=True)
class PaidInPeriod(_Strict):
    """Budget of each person in each period.

    Attributes
    ----------
    time : str
        The column.
    period : {"day", "week", "month", "year"}
    zone : str
        Time zone of the calendar.
    budget : float
    rows : int or None
        The number of rows that it pays for; None where they cost nothing.
    """

    time: str
    period: Literal["day", "week", "month", "year"]
    zone: str
    budget: float
    rows: int | None


@dataclass(frozen=True)
class Paid(_Strict):
    """Budgets that rows were paid from.

    Attributes
    ----------
    person : str or None
        The column; None where all rows were paid from one account.
    account : str or None
        The name of that account in the ledger.
    over_budget : {"refuse", "drop"}
    default : float or None
        The budget of each person or account for whom none is given; None if there is no such budget.
    default_rows : int or None
        The number of rows that it pays for.
    in_period : PaidInPeriod or None
        The budget in each period, of a ledger that has one.
    rows_left_out, persons_left_out : int
        How many rows, of how many persons, were left out for want of budget.
    run : tuple of str, or None
        A digest of name and token of the run that paid, under the secret of the ledger, and the token.
    """

    person: str | None
    account: str | None
    over_budget: Literal["refuse", "drop"]
    default: float | None
    default_rows: int | None
    in_period: PaidInPeriod | None
    rows_left_out: int
    persons_left_out: int
    run: tuple[str, ...] | None


@dataclass(frozen=True)
class Output(_Strict):
    """The published file."""

    name: str
    bytes: int
    sha256: str


_GROUPS = {
    "mechanism": Mechanism, "privacy": Privacy, "prior": PriorOfRadii, "secret": Secret, "radius": Radius,
    "rows": RowCounts, "columns": Columns, "draws": Draws, "budgets": Paid, "output": Output,
}  # fmt: skip


@dataclass(frozen=True)
class Sidecar(_Strict):
    """Record of a published file, without keys and without secrets; docs/guides/applying.md explains every field."""

    format: Literal[2]
    version: str
    mechanism: Mechanism
    privacy: Privacy
    prior: PriorOfRadii
    secret: Secret
    radius: Radius | None
    rows: RowCounts
    columns: Columns
    draws: Draws
    budgets: Paid | None
    output: Output | None
    command: tuple[str, ...] | None

    @classmethod
    def of_own(cls, content: Mapping[str, Any]) -> Self:
        """Return the sidecar of what dxopt itself wrote, unvalidated; TypeError or KeyError where fields differ."""
        privacy = {**content["privacy"], "near": Near(**content["privacy"]["near"])}
        whole = {**content, "privacy": privacy}
        if (paid := content["budgets"]) is not None and (within := paid["in_period"]) is not None:
            whole["budgets"] = {**paid, "in_period": PaidInPeriod(**within)}
        grouped = {name: entry for name, entry in whole.items() if name in _GROUPS and entry is not None}
        return cls(**{**whole, **{name: _GROUPS[name](**entry) for name, entry in grouped.items()}})

    def content(self) -> dict[str, Any]:
        """Return the fields, as in JSON."""
        return json.loads(json.dumps(asdict(self), allow_nan=False))


def sidecar_of(file: Path) -> Path:
    """Return the path of the sidecar of a published file."""
    return file.with_name(file.name + ENDING)


def read_sidecar(beside: Path) -> Sidecar:
    """Read a sidecar that nobody vouches for.

    Raises
    ------
    Broken
        If it is damaged, of another format, or has a field that is unknown, missing or of the wrong type.
    UnsupportedError
        If pydantic is missing.
    """
    try:
        from pydantic import TypeAdapter, ValidationError
    except ImportError:
        raise UnsupportedError("pydantic", "is not installed", "install dxopt[solve]") from None
    said = read_json(beside.parent, beside.name)
    if repr(said.get("format")) != str(FORMAT):
        raise Broken(f"{beside.name}: the format is {said.get('format')!r}, not {FORMAT}")
    try:
        # as JSON, where a list may stand for a tuple although types are strict
        found = TypeAdapter(Sidecar).validate_json(json.dumps(said))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(place) for place in first["loc"])
        raise Broken(f"{beside.name}: {field}: {first['msg'][:1].lower()}{first['msg'][1:]}") from None
    if field := _impossible(found):
        raise Broken(f"{beside.name}: {field}: cannot be so beside the other fields")
    return found


def _is_zone(name: str) -> bool:
    """Return whether there is a time zone of this name; True where no zones are installed."""
    known = available_timezones()
    return name in known or not known


def _impossible(said: Sidecar) -> str:
    """Return the field of draws and budgets, whose truth nobody proves, that cannot be so; "" if there is none."""
    draws, paid, columns = said.draws, said.budgets, said.columns
    data = {*said.secret.columns, *columns.kept, *columns.left_out}
    named = (draws.key, draws.release, draws.person)
    release = "" if draws.release is None else draws.release
    plain = " ".join(unicodedata.normalize("NFC", release).split())
    so = {
        "draws": named.count(None) == (0 if draws.keyed else len(named)),
        "draws.key": draws.key is None or re.fullmatch("[0-9a-f]{8}", draws.key),
        "draws.release": draws.release is None or release == plain != "",
        "draws.person": draws.person is None or draws.person in data,
    }
    if paid is not None:
        so |= {
            "budgets.person": (paid.person is None) == (paid.account is not None)
            and (paid.person is None or paid.person in (data if draws.person is None else {draws.person})),
            "budgets.account": paid.account is None or (paid.account.strip() != "" and not draws.keyed),
            "budgets.over_budget": not (draws.keyed and paid.over_budget == "drop"),
            "budgets.default": paid.default is None or paid.default >= 0,
            "budgets.in_period": paid.in_period is None
            or (paid.in_period.time in data and _is_zone(paid.in_period.zone) and paid.in_period.budget >= 0),
            "budgets.persons_left_out": (paid.rows_left_out > 0) <= paid.persons_left_out <= paid.rows_left_out
            and (paid.account is None or paid.persons_left_out <= 1),
            "budgets.run": (paid.run is None) == (said.output is None)
            and (paid.run is None or re.fullmatch("[0-9a-f]{64} [0-9a-f]{32}", " ".join(paid.run))),
        }
    return next((field for field, holds in so.items() if not holds), "")
