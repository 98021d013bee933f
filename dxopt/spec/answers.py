"""The answers to a query on databases, as a problem file describes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from dxopt.spaces import queries
from dxopt.spaces.queries import Query
from dxopt.spaces.universes import Universe
from dxopt.spec import fields as f
from dxopt.spec import quantities as q
from dxopt.spec import universes as u
from dxopt.spec.quantities import bad, shown

INDUCED = "induced"
_SIMPLE: dict[str, Callable[[Universe], Query]] = {**queries.QUERIES, "identity": queries.identity}
_QUERIES = ("count", "counts", "percentile", *_SIMPLE)
_METRICS = (INDUCED, "euclidean", "manhattan", "chebyshev")
_NEEDS = {"count": "of", "counts": "of", "percentile": "percentile"}
_LIST = "write the values that are counted, such as [1, 2]"


class Records(u.Databases):
    """Databases that a query is about; which of them must look alike matters only where it induces a metric."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
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
    percentile: Annotated[float, Field(ge=0, le=100), q.Written()] | None = Field(
        None, description="percentile: the least record that is no less than so many % of those present."
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
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
    def _distances_once(self) -> Self:
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
        """Refuse what is no list of values that a record may have."""
        if not isinstance(listed, list) or not listed:
            raise bad(f"is {shown(listed)}", _LIST, *at)
        for index, value in enumerate(listed):
            if isinstance(value, bool) or _plain(value) not in self.universe.values:
                known = ", ".join(str(one) for one in self.universe.values)
                raise bad(f"is {shown(value)}, which no record can be", f"choose from {known}", *at, index)

    @property
    def induced(self) -> bool:
        """Return whether the distances are those that the databases induce."""
        return self.metric == INDUCED

    def asked(self, universe: Universe) -> Query:
        """Return the query on the universe."""
        match self.query:
            case "count":
                return queries.count(universe, _among(self.of or []))
            case "counts":
                return queries.counts(universe, *map(_among, self.of or []))
            case "percentile":
                return queries.percentile(universe, self.percentile or 0.0)
            case name:
                return _SIMPLE[name](universe)


def _plain(value: Any) -> Any:
    """Return a value as the universe has it: a list of attributes as a tuple."""
    return tuple(value) if isinstance(value, list) else value


def _among(values: list[Any]) -> Callable[[Any], bool]:
    """Return the test whether a record is one of the values."""
    return list(map(_plain, values)).__contains__
