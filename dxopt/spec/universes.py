"""Databases, graphs, streams and words, and answers to queries on them, as a problem file describes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, WithJsonSchema, model_validator

from dxopt.spaces import queries
from dxopt.spaces.neighbours import RELATIONS, neighbours
from dxopt.spaces.queries import Query
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.universes import RECORD_METRICS, Universe
from dxopt.spec import fields as f
from dxopt.spec.fields import bad, value_in_words

BY_CODE = ("generic", "generic_one_way")
"""Relations of a function of two secrets, which a file cannot have."""
LISTED = ("listed", "listed_one_way")
"""Relations of pairs that are written out, which only databases can have in a file."""
_NAMES = tuple(name for name in RELATIONS if name not in (*BY_CODE, *LISTED))
_ATTRIBUTE = {"type": ["number", "string"]}


def _require_attribute(value: Any) -> Any:
    """Refuse what is neither a number nor text, true and false among them."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise bad(f"is {value_in_words(value)}", "give a number, text, or a list of attributes")
    return value


Attribute = Annotated[Any, PlainValidator(_require_attribute), WithJsonSchema(_ATTRIBUTE)]
Attributes = Annotated[tuple[Attribute, ...], Field(min_length=1), BeforeValidator(tuple)]
Value = Annotated[Attributes | Attribute, f.Shapes()]
Absent = {"anyOf": [_ATTRIBUTE, {"type": "array", "items": _ATTRIBUTE}, {"type": "null"}]}
Record = Annotated[Value | None, WithJsonSchema(Absent)]
Database = Annotated[list[Record], Field(min_length=1), AfterValidator(tuple)]
Pair = Annotated[list[Value], Field(min_length=2, max_length=2), AfterValidator(tuple)]
Joined = Annotated[
    list[Annotated[list[Record], AfterValidator(tuple)]], Field(min_length=2, max_length=2), AfterValidator(tuple)
]
Values = Annotated[list[Value], Field(min_length=1)]
Relation = Annotated[str, f.OneOf(_NAMES, ", or make a graph of what else are neighbours")]
OfDatabases = Annotated[str, f.OneOf((*_NAMES, *LISTED))]


class _Related(f.Measured):
    """A relation with its parameters, side by side with what describes the universe."""

    neighbours: Relation = Field(description="What one step between neighbours is.")
    parameters: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="after")
    def _require_complete(self) -> Self:
        if self.neighbours is None and self.chosen:
            raise bad("goes with neighbours only", "leave it out", next(iter(self.chosen)))
        return self

    @property
    def chosen(self) -> dict[str, Any]:
        """The parameters of the relation that the file gives, by name; others have the library's defaults."""
        return {name: getattr(self, name) for name in self.parameters if name in self.model_fields_set}

    def space(self, universe: Universe) -> MetricSpace:
        """Build the metric space of the universe in which neighbours are one step apart."""
        return neighbours(universe, self.neighbours, unit=self.unit or "", **self.chosen)


class Databases(_Related):
    """All databases of some records, and which are neighbours, or a metric between them."""

    kind: Literal["databases"] = Field(description="Databases V^n, the last record fastest.")
    values: Values = Field(description="What a record may be: numbers, text, or lists of attributes.")
    records: f.Count = Field(description="Number of records.")
    absent: bool = Field(False, description="Whether records may be absent.")
    empty: bool = Field(True, description="Whether all records may be absent at once.")
    neighbours: OfDatabases | None = Field(None, description="What one step between neighbours is.")  # pyright: ignore
    metric: Annotated[str, f.OneOf(RECORD_METRICS)] | None = Field(None, description="Or a metric between databases.")
    size: f.Count | None = Field(None, description="group, dependent: how many records change at most.")
    sensitive: Values | None = Field(None, description="one_sided: the values to be protected.")
    policy: list[Pair] | None = Field(None, description="blowfish: pairs of values that must not be told apart.")
    related: list[list[int]] | None = Field(
        None, description="dependent: for each record those that depend on it, counted from 0."
    )
    at: list[Record] | None = Field(
        None, description="individual: the database that is there; ~ is an absent record."
    )
    joined: Annotated[list[Joined], Field(min_length=1)] | None = Field(
        None, description="listed: pairs of databases that are neighbours, each a list of records."
    )
    parameters: ClassVar[tuple[str, ...]] = ("size", "sensitive", "policy", "related", "at", "joined")

    @model_validator(mode="after")
    def _require_relation_or_metric(self) -> Self:
        if (self.neighbours is None) == (self.metric is None):
            how = "are given beside a metric" if self.metric else "are missing"
            raise bad(how, "give neighbours, or a metric such as manhattan", "neighbours")
        return self

    def universe(self) -> Universe:
        return Universe.databases(self.values, self.records, absent=self.absent, empty=self.empty)

    def space(self, universe: Universe) -> MetricSpace:
        return super().space(universe) if self.metric is None else universe.space(self.metric, unit=self.unit or "")


class Graphs(_Related):
    """All simple graphs on some nodes."""

    kind: Literal["graphs"] = Field(description="All simple graphs on the nodes 0, 1, …")
    nodes: f.Count = Field(description="Number of nodes.")

    def universe(self) -> Universe:
        return Universe.graphs(self.nodes)


class Streams(_Related):
    """All streams of one event for each user at each time."""

    kind: Literal["streams"] = Field(description="Streams of events.")
    values: Values = Field(description="What an event may be.")
    times: f.Count = Field(description="Number of times.")
    users: f.Count = Field(1, description="Number of users.")
    window: f.Count | None = Field(None, description="w_event: how many times in a row.")
    parameters: ClassVar[tuple[str, ...]] = ("window",)

    def universe(self) -> Universe:
        return Universe.streams(self.values, self.times, users=self.users)


class Words(_Related):
    """All words of some lengths."""

    kind: Literal["words"] = Field(description="Words over an alphabet.")
    alphabet: Values = Field(description="The letters.")
    longest: f.Count = Field(description="Letters of the longest words.")
    shortest: Annotated[int, Field(ge=0)] | None = Field(None, description="Of the shortest; all equal without it.")

    def universe(self) -> Universe:
        return Universe.words(self.alphabet, self.longest, shortest=self.shortest)


INDUCED = "induced"
_WITHOUT_KEYS: dict[str, Callable[[Universe], Query]] = {**queries.QUERIES, "identity": queries.identity}
_QUERIES = ("count", "counts", "percentile", *_WITHOUT_KEYS)
_METRICS = (INDUCED, "euclidean", "manhattan", "chebyshev")
_NEEDS = {"count": "of", "counts": "of", "percentile": "percentile"}


class Records(Databases):
    """Databases that a query is about; which of them must look alike matters only where it induces a metric."""

    @model_validator(mode="after")
    def _require_relation_or_metric(self) -> Self:
        """Accept databases with neither, in place of the check of `Databases`; `Answers` checks them itself."""
        return self


class Answers(f.Measured):
    """The answers to a query on databases, and distances between them."""

    kind: Literal["answers"] = Field(description="The answers to a query on databases, in order.")
    query: Annotated[str, f.OneOf(_QUERIES)] = Field(description="What is asked of a database.")
    universe: Records = Field(description="The databases, and what must look alike among them.")
    metric: Annotated[str, f.OneOf(_METRICS)] = Field(
        INDUCED,
        description="Distances between answers: induced, so that a mechanism for answers is private where it is for "
        "the databases; or between numbers, and then the universe has neither neighbours nor a metric.",
    )
    of: Annotated[list[Any], Field(min_length=1)] | None = Field(
        None, description="count: the values that are counted; counts: a list of them for each count."
    )
    percentile: Annotated[float, Field(ge=0, le=100), f.Written()] | None = Field(
        None, description="percentile: the least record that is no less than so many % of those present."
    )

    @model_validator(mode="after")
    def _require_complete(self) -> Self:
        """Refuse a query without the key that it needs, with a key of another query, or about values of no record."""
        needed = _NEEDS.get(self.query)
        for key in ("of", "percentile"):
            if key in self.model_fields_set and key != needed:
                raise bad(f"does not go with query: {self.query}", "leave it out", key)
            if key == needed and key not in self.model_fields_set:
                raise bad(f"{self.query} needs {key}", f"add {key}", "query")
        if self.query == "count":
            self._check_values(self.of, "of")
        for index, listed in enumerate(self.of or [] if self.query == "counts" else []):
            self._check_values(listed, "of", index)
        return self

    @model_validator(mode="after")
    def _require_one_metric(self) -> Self:
        """Refuse distances that are given twice or not at all: between databases, or between answers."""
        given = self.universe.neighbours is not None, self.universe.metric is not None
        if self.induced and not any(given):
            raise bad("are missing", "give neighbours, or a metric such as manhattan", "universe", "neighbours")
        for key, there in zip(("neighbours", "metric"), given, strict=True):
            if there and (all(given) or not self.induced):
                other = "a metric" if self.induced else f"metric: {self.metric}"
                raise bad(f"does not go with {other}", "leave it out", "universe", key)
        if self.universe.unit:
            raise bad("is that of the answers", "write it beside query", "universe", "unit")
        return self

    def _check_values(self, listed: Any, *at: str | int) -> None:
        """Refuse what is not a list of values that a record may have; errors are at the path `at`."""
        if not isinstance(listed, list) or not listed:
            raise bad(f"is {value_in_words(listed)}", "write the values that are counted, such as [1, 2]", *at)
        for index, value in enumerate(listed):
            if isinstance(value, bool) or _as_attribute(value) not in self.universe.values:
                known = ", ".join(str(one) for one in self.universe.values)
                raise bad(f"is {value_in_words(value)}, which no record can be", f"choose from {known}", *at, index)

    @property
    def induced(self) -> bool:
        """Tell whether the distances between answers are those that distances between databases induce."""
        return self.metric == INDUCED

    def query_on(self, universe: Universe) -> Query:
        """Build the query for a universe."""
        match self.query:
            case "count":
                return queries.count(universe, _is_one_of(self.of or []))
            case "counts":
                return queries.counts(universe, *map(_is_one_of, self.of or []))
            case "percentile":
                return queries.percentile(universe, self.percentile or 0.0)
            case name:
                return _WITHOUT_KEYS[name](universe)


def _as_attribute(value: Any) -> Any:
    """Return a value as the universe has it: a list of attributes as a tuple."""
    return tuple(value) if isinstance(value, list) else value


def _is_one_of(values: list[Any]) -> Callable[[Any], bool]:
    """Return a predicate of records: whether a record is one of the values."""
    return list(map(_as_attribute, values)).__contains__
