"""Plan of an application, made before any row is read, and the payments from a ledger for it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import BudgetExceeded, Option, SpecError, required, required_choice
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior
from dxopt.release.applying.column_mapping import (
    OUTSIDE,
    Layout,
    Radii,
    Snapper,
    Where,
    columns_of_reports,
    radii,
)
from dxopt.release.applying.formulas import POLICIES
from dxopt.release.applying.persons import Persons
from dxopt.release.applying.place_like import Beside, is_code, looks_like_place
from dxopt.release.applying.row_checks import Tally
from dxopt.release.budgets.affording import Level, Pair
from dxopt.release.budgets.ledger_file import Tags
from dxopt.release.budgets.periods import ALWAYS
from dxopt.release.tables.table import IntegerTable
from dxopt.runtime.column_names import no_header, no_such_column, require_header
from dxopt.runtime.identity import identity
from dxopt.runtime.reading import read_json
from dxopt.words.published import generalization, only_near

if TYPE_CHECKING:
    from dxopt.model.prior import PriorLike
    from dxopt.release.budgets.budgets import Budgets


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """The columns of data and output besides `lat`, `lon` and `column` of `dx.apply`.

    Attributes
    ----------
    x, y : str or None
        The columns of two coordinates in a plane.
    label : str or None
        The column of labels of secrets.
    keep, drop : sequence of str
        Other columns that are kept, all by default, and those that are not, such as `frame.columns[3:]`.
    worst : bool
        True to add the radius for the worst secret.
    lean : bool
        True to add radii alone: without the label of the report where its coordinates or value stand, and without
        what is the same in every row and stands in the sidecar (the level, and what was done).
    prior : Prior, str or array, or None
        Prior of the radii; that of the table where it has one, else uniform.
    delimiter, decimal, encoding : str or None
        How a file of CSV is written, such as ";", "," and "cp1252"; otherwise they are guessed, and the guess checked
        by the columns and the first lines. `decimal` is also that of text in other data, of persons and of labels,
        where it is not guessed: numbers with a comma are refused there unless it is given.
    formulas : {"keep", "refuse", "neutralise"}
        Treatment of cells of CSV that a spreadsheet would run, as they begin with =, +, - or @ and are no numbers:
        they are kept, an error, or written with an apostrophe before them.
    header : bool or None
        True if the names of columns are names though they look like data, such as 2024; False if a file of CSV has
        no header, so that its columns are column_1, column_2, and so on.

    Examples
    --------
    >>> import dxopt as dx
    >>> import pandas as pd
    >>> beds = dx.classic.geometric(dx.line(50), epsilon=0.5)
    >>> frame = pd.DataFrame({"unit": ["A", "B"], "beds": [12, 30], "phone": [1, 2]})
    >>> columns = dx.Columns(drop=["phone"], lean=True)
    >>> print(dx.apply(beds, frame, column="beds", within=0, columns=columns).columns.tolist())
    ['unit', 'beds', 'uncertainty']
    """

    x: str | None = None
    y: str | None = None
    label: str | None = None
    keep: Sequence[str] | None = None
    drop: Sequence[str] = ()
    worst: bool = False
    lean: bool = False
    prior: PriorLike | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    formulas: Literal["keep", "refuse", "neutralise"] = "keep"
    header: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", None if self.keep is None else _names("keep", self.keep))
        required_choice("formulas", self.formulas, POLICIES)
        object.__setattr__(self, "drop", () if self.drop is None else _names("drop", self.drop))


def _names(field: str, given: Any) -> tuple[str, ...]:
    """Return the names of columns, once, as an iterator has them no second time; SpecError unless all are text."""
    if isinstance(given, str | bytes):
        raise SpecError(field, f"is the text {given!r}", f"give a list: [{given!r}]")
    required(field, given, Iterable, "give a list of columns")
    names = tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise SpecError(field, f"has something of type {type(name).__name__}", "give names of columns, as text")
    return names


@dataclass(frozen=True, eq=False)
class Settled:
    """The rows that are kept, before anything is drawn, of data that may still be refused by `tally.require`.

    `kept` is a mask `(k,)` of all rows. `secrets` and `persons` `(j,)` are those of the kept rows alone; a person is
    "" where the row names nobody, and the list is empty if the plan has no column of persons. So is that of `periods`
    without budgets by period.
    """

    kept: NDArray[np.bool_]
    secrets: NDArray[np.int64]
    persons: list[str]
    periods: list[str]

    @property
    def of_rows(self) -> NDArray[np.int64]:
        """The secrets of all rows `(k,)`, -1 of those that are left out."""
        found = np.full(len(self.kept), -1, dtype=np.int64)
        found[self.kept] = self.secrets
        return found

    @property
    def pairs(self) -> list[Pair]:
        """Persons and periods of the rows."""
        return list(zip(self.persons, self.periods or [ALWAYS] * len(self.persons), strict=True))


@dataclass(frozen=True, eq=False)
class Plan:
    """Plan of `dx.apply` for each chunk of rows: the table, the columns that have the secrets, and the options.

    `snapper` finds the secret of a row. `radii` are those that the output states. `radius` is the distance within
    which the level was asked for, None where that is unknown.
    """

    table: IntegerTable
    prior: Prior
    where: Where
    snapper: Snapper
    radii: Radii | None
    columns: Columns
    radius: float | None
    outside: Literal["refuse", "nearest", "drop"]
    unusable: Literal["refuse", "drop"]
    over_budget: Literal["refuse", "drop"]
    persons: Persons | None

    @classmethod
    def of(
        cls,
        table: IntegerTable,
        prior: Prior,
        where: Where,
        columns: Columns,
        radius: float | None,
        *,
        within: float | None,
        **options: Any,
    ) -> Plan:
        """Return the plan for these columns; `options` are other fields. SpecError if they do not suit the table."""
        required_choice("outside", options["outside"], ("refuse", "nearest", "drop"))
        required_choice("unusable", options["unusable"], ("refuse", "drop"))
        snapper = Snapper.of(table.space, where, within)
        found = radii(table, prior.probabilities, snapper)
        if columns.worst and found is None:
            raise SpecError("worst", "there are no distances between secrets and reports", "leave it out")
        return cls(table, prior, where, snapper, found, columns, radius, **options)

    def require_columns(self, names: Sequence[str], *, named: bool) -> None:
        """Raise SpecError unless the data has the columns of secrets and persons, with names that are no data.

        They are names beyond doubt where the data are `named`.
        """
        header, where = self.columns.header, self.where
        asked = [*where.names, *([] if self.persons is None else self.persons.columns)]
        require_header(names, asked, header, proven=named)
        labelled = where.kind == "label" and self.table.space.naming.with_label(where.names[0]) is not None
        if labelled and header is None:
            raise no_header("has a label of a secret")
        if header is None and any(looks_like_place(name) or is_code(name) for name in names):
            raise no_header("has a place among its names")
        known = {*names}
        wanted = {
            "columns": () if where.geometry else where.names,
            "person": () if self.persons is None or self.persons.column is None else (self.persons.column,),
            "time": () if self.persons is None or self.persons.time is None else (self.persons.time,),
            "keep": self.columns.keep or (),
            "drop": self.columns.drop,
        }
        for option, columns in wanted.items():
            missing = next((name for name in columns if name not in known), None)
            if missing is not None:
                raise no_such_column(option, missing, names if named else None, header)

    @property
    def cost(self) -> Level:
        """The level of a row, and its unit."""
        return Level.of(self.table, self.table.space.unit)

    def unnamed(self, names: Sequence[str], hidden: Sequence[str]) -> list[str]:
        """Return the columns of the data that are kept without being named."""
        away = {*self.where.names, *hidden, *self.columns.drop}
        return [] if self.columns.keep is not None else [name for name in names if name not in away]

    def beside(self) -> Beside:
        """Return a new record of columns that are kept without being named."""
        return Beside(() if self.persons is None else self.persons.columns)

    def look(
        self, beside: Beside, columns: Iterable[tuple[str, Any]], values: Sequence[Any], settled: Settled
    ) -> None:
        """Look at columns beside those that have the secrets, whose `values` are given.

        They are compared with these, and with the points that labels stand for.
        """
        points = self.table.space.points
        known, drawn_for = [*values], settled.of_rows
        if self.where.kind == "label" and points is not None and points.dtype.kind in "fiu":
            known += [np.where(drawn_for < 0, np.nan, axis[drawn_for]) for axis in points.T]
        beside.look(columns, known, drawn_for)

    def kept(self, names: Sequence[str], hidden: Sequence[str]) -> list[str]:
        """Return the columns of the data that the output keeps."""
        away = {*self.where.names, *hidden, *self.columns.drop}
        wanted = {*(names if self.columns.keep is None else self.columns.keep)} - away
        return [name for name in names if name in wanted]

    def tally(self, noun: str) -> Tally:
        """Return a new counter of rows under the policy for those outside; `noun` is what its errors call a row."""
        return Tally(self.snapper, self.outside, self.unusable, noun)

    def settle(
        self, values: Sequence[Any], persons: Any, times: Any, lines: NDArray[np.int64], tally: Tally
    ) -> Settled:
        """Return the secrets, persons and periods of the rows that are kept, and count all rows in the tally.

        Only a row without a usable time is refused here, not even one that names nobody: the caller calls
        `tally.require` once all rows are counted. `lines` are the numbers of the rows for errors; `persons` and
        `times` are None if the plan has no such columns.
        """
        snapped = self.snapper.snap(values)
        kept = tally.add(lines, list(values), snapped)
        if persons is None and self.persons is not None:
            persons = [self.persons.account] * len(kept)
        if persons is None:
            return Settled(kept, snapped.index[kept], [], [])
        decimal = self.columns.decimal
        texts = [identity(person, decimal=decimal) for person, one in zip(persons, kept.tolist(), strict=True) if one]
        periods = self._periods(times, kept, lines, tally)
        timed = np.array([period is not None for period in periods] or True)
        usable = np.array([*map(bool, texts)], dtype=bool) & timed
        if not tally.drops_unusable:
            tally.add_nameless(lines[kept][~usable].tolist())
        elif not usable.all():
            tally.leave_out(lines[kept][~usable].tolist(), int((snapped.code[kept][~usable] == OUTSIDE).sum()))
            kept[kept] = usable
            texts, periods = (list(compress(several, usable.tolist())) for several in (texts, periods))
        return Settled(kept, snapped.index[kept], texts, [period for period in periods if period is not None])

    def _periods(
        self, times: Any, kept: NDArray[np.bool_], lines: NDArray[np.int64], tally: Tally
    ) -> list[str | None]:
        """Return the periods of the rows that are kept; none without budgets by period, None where a row has no time.

        SpecError names a row without a usable time, unless such rows are left out.
        """
        limit = None if self.persons is None else self.persons.limit
        if limit is None or times is None:
            return []
        periods: list[str | None] = []
        for line, time in compress(zip(lines.tolist(), times, strict=True), kept.tolist()):
            try:
                periods.append(limit.name(time))
            except SpecError as error:
                if not tally.drops_unusable:
                    fix = ("mend it, or leave such rows out: ", Option("unusable", "drop"))
                    raise SpecError("time", f"of {tally.noun} {line:,} {error.wrong}", *fix) from None
                periods.append(None)
        return periods

    def drawn(self, settled: Settled) -> NDArray[np.int64]:
        """Draw one report for each secret, with the table's exact probabilities; with a key the same each time."""
        asked = self.persons
        if asked is None or asked.key is None:
            return self.table.sample(index=settled.secrets)[:, 0]
        return self.table.sample_for(settled.persons, index=settled.secrets, key=asked.key, release=asked.release)

    def layout(self, names: Sequence[str], hidden: Sequence[str], placed: Where | None = None) -> Layout:
        """Return the columns of the output for data with columns `names`, of which `hidden` tell true positions.

        Reports are in the columns of secrets, or in others, `placed`.
        """
        columns, table = self.columns, self.table
        placed = placed or self.where
        said = generalization(
            self.where.noun,
            len(table.reports),
            radii=self.radii is not None,
            only=only_near(self.where.noun, self.outside, self.snapper.within, self.snapper.unit),
            epsilon=table.epsilon,
            delta=table.delta,
            unit=table.space.unit,
        )
        made = columns_of_reports(table, placed, self.radii, said, worst=columns.worst, lean=columns.lean)
        return Layout.of(names, self.where, made, placed.names, keep=columns.keep, drop=columns.drop, hidden=hidden)


class Needed:
    """Counter of what is to be paid for: `rows` of persons in periods, or with a key `draws`, these by their tags."""

    def __init__(self, plan: Plan) -> None:
        self.rows: Counter[Pair] = Counter()
        self.draws: dict[bytes, Pair] = {}
        self._plan = plan

    def add(self, settled: Settled) -> None:
        """Count the rows that are kept."""
        persons = self._plan.persons
        if persons is not None and persons.ledger is not None and persons.key is not None:
            tags = persons.tags(self._plan.table, settled.secrets, settled.persons)
            for tag, pair in zip(tags or (), settled.pairs, strict=True):
                self.draws.setdefault(tag, pair)  # the first row of a draw is the one that pays
        else:
            self.rows.update(settled.pairs)


@dataclass(eq=False)
class Payment:
    """The run of a ledger that pays for the rows of a plan, one chunk after another.

    `name` is that by which a run that was stopped is found again. `rest` is how many rows of each person are still to
    be kept, in all and in each period, if rows may be left out. `run` is the token of the ledger, and `row` the
    number of the next row: those that are left out have numbers too, which no other row has whatever is left when the
    run goes on. `charged` counts the others. `stage` says what is left of a run that is stopped: one that goes on,
    one to publish, or none.
    """

    plan: Plan
    persons: Persons
    ledger: Budgets
    name: str
    rest: dict[Pair, int] = field(default_factory=dict)
    run: str = ""
    row: int = 0
    charged: int = 0
    stage: Literal["drawing", "written", "given up"] = "drawing"

    @classmethod
    def of(cls, plan: Plan, needed: Needed, name: str, tally: Tally) -> Payment | None:
        """Begin the run, or go on with the one of this name that was stopped; None without a ledger.

        The tally counts the rows of those `needed` that cannot be paid for.

        Raises
        ------
        SpecError
            If the ledger is in another unit, somebody has too little left and is not to lose rows, or nobody has
            enough for a single one.
        """
        persons = plan.persons
        if persons is None or persons.ledger is None:
            return None
        payment = cls(plan, persons, persons.ledger, name)
        persons.require_names({person for person, _ in (*needed.rows, *needed.draws.values())})
        if needed.rows:
            payment.rest = payment._affordable(needed.rows)
        if needed.draws:
            payment.ledger._require_affordable(needed.draws, plan.cost)
        if payment.dropping:
            rows = Counter(person for (person, _), many in needed.rows.items() for _ in range(many))
            rest = {person: payment.rest[person, ALWAYS] for person in rows}
            tally.add_unpaid([many - rest[person] for person, many in rows.items() if many > rest[person]])
        # the name has a digest of the data, which no ledger keeps once the run is finished
        release = persons.release or f"{payment.name.rpartition(' ')[0]} {token_hex(16)}"
        payment.run = payment.ledger.begin(payment.name, release=release)
        return payment

    def _affordable(self, needed: Counter[Pair]) -> dict[Pair, int]:
        """Return how many of the rows `needed` each person can afford, in all and in each period."""
        cost = self.plan.cost
        try:
            found = self.ledger._affordable(needed, cost, self.name, drop=self.dropping)
            if not any(found[person, ALWAYS] for person, _ in needed):
                self.ledger._affordable(needed, cost, self.name, drop=False)  # refuses, where any row was needed
        except BudgetExceeded as error:
            drop = Option("over_budget", "drop")
            fix = ("set larger budgets, or take a smaller epsilon: ", drop, " would leave no row")
            if not self.dropping:
                each = " of each person" if self.persons.account is None else ""
                fix = (f"keep the first rows{each} that the budget pays for: ", drop, ", or ", *error.parts)
            raise BudgetExceeded(error.person, error.asked, error.left, error.wrong, *fix) from None
        return found

    @property
    def dropping(self) -> bool:
        """True if rows that cannot be paid for are left out."""
        return self.plan.over_budget == "drop"

    def charge(self, settled: Settled) -> Settled:
        """Pay for the next rows, and return those that are kept; after BudgetExceeded the run is given up."""
        paid = self._payable(settled) if self.dropping else settled
        numbers = (self.row + np.flatnonzero(paid.kept[settled.kept])).tolist()
        tags = self.persons.tags(self.plan.table, paid.secrets, paid.persons)
        drawn = Tags.of(tags, self.persons.key, len(paid.persons))
        try:
            if paid.persons:
                periods = None if self.persons.limit is None else paid.periods
                self.ledger._charge(self.run, numbers, paid.persons, self.plan.cost, drawn, periods)
        except BudgetExceeded:
            self.give_up()
            raise
        self.row += len(settled.persons)
        self.charged += len(paid.persons)
        return paid

    def finish(self) -> None:
        """End the run, all of which is written, before it is published."""
        self.stage = "written"  # before: whoever is interrupted does not know whether the ledger has it already
        self.ledger.finish(self.run)

    def give_up(self) -> None:
        """End the run, and give back what it paid, but for draws with a key: the next run finds those paid."""
        self.ledger.give_up(self.run, refund=self.persons.key is None, seen=False)
        self.stage = "given up"

    def told(self, error: SpecError, again: str) -> SpecError:
        """Return an error of the ledger that says what stays charged, and what `again` says of the same call."""
        # the ledger may have charged the rows after these, and not have been able to say so
        charged = f"at least {self.charged:,} rows are charged and stay so: " if self.charged else ""
        return SpecError(error.field, error.wrong, *error.parts, f"; {charged}the same call again {again}")

    def _payable(self, settled: Settled) -> Settled:
        """Return the first rows of each person, as many as can be paid for."""
        payable = np.zeros(len(settled.persons), dtype=bool)
        for row, (person, period) in enumerate(settled.pairs):
            budgets = {(person, ALWAYS), (person, period)}
            if all(self.rest.get(budget, 0) for budget in budgets):
                payable[row] = True
                for budget in budgets:
                    self.rest[budget] -= 1
        kept = settled.kept.copy()
        kept[kept] = payable  # of the rows kept so far, those that are paid for
        persons, periods = (
            list(compress(several, payable.tolist())) for several in (settled.persons, settled.periods)
        )
        return Settled(kept, settled.secrets[payable], persons, periods)


def table_and_prior(given: Any, prior: PriorLike | None) -> tuple[IntegerTable, Prior]:
    """Return the table that stands behind what was given, and the prior of its radii: uniform where none is known.

    Raises
    ------
    SpecError
        If it is no table, no report, and no mechanism with a proof; or the prior does not fit.
    UnsupportedError
        If no table can be made of it.
    """
    believed: Any = prior
    problem = getattr(given, "problem", None)
    if believed is None and problem is not None:
        believed = problem.prior
    if isinstance(given, str | Path):
        table = IntegerTable.load(given)
    elif isinstance(given, Mechanism):
        # imported here only: making tables loads modules that applying one does without
        from dxopt.release.tables.making import integer_table

        table = integer_table(given, prior=prior)
    elif callable(make := getattr(given, "make_table", None)):  # a report
        table = make()
    else:
        table = given
    if not isinstance(table, IntegerTable):
        raise SpecError("table", f"is of type {type(given).__name__}", "give one of dx.integer_table, or a Mechanism")
    return table, _believed(table, believed)


def asked_radius(given: Any) -> float | None:
    """Return the radius by which a report, or a result folder, was asked for its level; None if it is unknown."""
    if not isinstance(given, str | Path):
        within = getattr(getattr(given, "problem", None), "within", None)
        return None if within is None else within.radius
    try:
        radius = read_json(Path(given) / "claims.json")["problem"]["within"]["radius"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return radius if isinstance(radius, int | float) and 0 < radius < math.inf else None


def _believed(table: IntegerTable, given: PriorLike | None) -> Prior:
    """Return the prior given, or else that of the table, or else the uniform one; radii are about it."""
    if given is not None:
        return Prior.of(given, table.space)
    if table.prior is not None and np.ptp(table.prior) > 0:  # one that is uniform is called so
        return Prior(table.prior, "of the table")
    return Prior.uniform(table.space)
