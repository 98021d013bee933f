"""The schema of claims.json and notes.json, and of the small files of answers that rest on parts.

What is claimed is what `dxopt verify` proves again; everything else stands in notes.json, which nobody verifies.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from dxopt.errors import CertificateError, SpecError
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.candidate import Claim
from dxopt.results.folder import DUAL, MECHANISM, PROBLEM, TABLE
from dxopt.results.measures import Beliefs
from dxopt.runtime.archive import DAMAGED
from dxopt.runtime.plugins import Plugin
from dxopt.runtime.reading import read_json
from dxopt.spaces.units import checked_unit

FORMAT = 2
_OF_MECHANISM = ("private", "epsilon", "delta", "belief_level", "value")
RESTS_ON = {
    "problem": [PROBLEM, MECHANISM],
    **{f"certificate.{name}": [PROBLEM, MECHANISM] for name in _OF_MECHANISM},
    "certificate.bound": [PROBLEM, MECHANISM, DUAL],
    "certificate.gap": ["certificate.value", "certificate.bound"],
    "status": ["certificate.gap", "tolerance"],
    "table": [PROBLEM, MECHANISM, TABLE],
    "evaluation": [PROBLEM, MECHANISM],
}
"""Proof of each claim: files of the folder, or other claims."""
UNVERIFIED = "Nobody verifies what this file says: it tells how the result was found, and what was shown then."
Finite = Annotated[float, Field(allow_inf_nan=False)]
Unit = Annotated[str, AfterValidator(checked_unit)]
Model = TypeVar("Model", bound=BaseModel)
_AGAIN = "solve the problem again"
"""Advice where a file is missing or damaged; `_CHANGED` where its numbers are not proven by its arrays."""
_CHANGED = "it was changed after it was saved: solve the problem again, or get the result again"


class Typed(BaseModel):
    """Model of a file of a result: these entries, of these types, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class WithinRadius(Typed):
    """The level and the radius that ε was asked for by."""

    level: Annotated[Finite, Field(gt=0)]
    radius: Annotated[Finite, Field(gt=0)]
    positions: bool


class Posed(Typed):
    """Problem beside its arrays: names, the objective, and which pairs are bound."""

    name: str
    objective: str
    pairs: Literal["all", "adjacent"]
    prior: str
    loss: str
    loss_by_distance: bool
    units: dict[Literal["distance", "loss", "value"], Unit]
    """Empty where they are not known; they convert nothing."""
    within: WithinRadius | None


class Proof(Typed):
    """The numbers of a certificate; a null level is infinite, as where no privacy was asked for."""

    private: bool
    epsilon: Finite | None
    delta: Finite
    value: Finite
    bound: Finite
    gap: Finite
    belief_level: Finite | None


class Found(Typed):
    """Method, solver and spanner asked for, and the promise of theory for the route that was taken."""

    claim: Claim
    method: str
    solver: str
    spanner: Finite | None


class Claims(Typed):
    """The contents of claims.json."""

    format: Literal[2]
    problem: Posed
    certificate: Proof
    status: Literal["optimal", "feasible", "interrupted", "time limit"]
    tolerance: Annotated[Finite, Field(ge=0, lt=1)]
    found: Found
    table: str | None
    evaluation: dict[str, float]
    beliefs: tuple[Beliefs, ...]
    rests_on: dict[str, list[str]]


class WarningNote(Typed):
    """A plausibility warning as it was shown."""

    kind: str
    field: str
    seen: str
    fix: str


class Notes(Typed):
    """The contents of notes.json, which nobody verifies."""

    format: Literal[2]
    unverified: str
    route: str
    seconds: Finite
    refused: dict[str, str]
    reductions: tuple[AppliedReduction, ...]
    warnings: list[WarningNote]
    plugins: tuple[Plugin, ...]
    held_out: list[dict[str, float | None] | None]
    """The losses between positions and reports on data that are not in the folder; null is infinite or unknown."""


class _Solves(Typed):
    """The contents of a file about many solves."""

    format: Literal[2]
    problem: str
    status: Literal["optimal", "feasible", "interrupted", "time limit"]


class LevelFile(_Solves):
    """The contents of level.json."""

    max_loss: Finite
    accuracy: Finite
    epsilon: Finite | None
    below: Finite
    resolution: Finite | None


class SweepFile(_Solves):
    """The contents of sweep.json."""

    asked: list[Finite]
    epsilons: list[Finite]


class FrontierFile(_Solves):
    """The contents of frontier.json: values and bounds, null where infinite, at levels of privacy or loss budgets."""

    objective: Literal["expected_loss", "worst_loss", "worst_expected_loss", "adversary_error"]
    wanted: Finite
    resolution: Finite | None
    values: list[Finite | None]
    bounds: list[Finite | None]
    epsilons: list[Finite] = []
    budgets: list[Finite] = []
    prices: list[Finite | None] = []
    breakpoints: list[Finite] = []

    @model_validator(mode="after")
    def _require_equal_lengths(self) -> Self:
        # a frontier is along levels or along budgets: the other of the two lists is empty
        if {len(self.values), len(self.bounds)} != {len(self.epsilons) + len(self.budgets)} or not self.values:
            raise ValueError("its lists are not as long as each other")
        return self


def read_typed(file: Path, kind: type[Model]) -> Model:
    """Read a JSON file of a result folder and check it against the model of its schema.

    Raises
    ------
    SpecError
        If the file is missing, is not JSON, has another format version, or an entry does not fit the model; the field
        of the error is then the name of the file with that of the entry.
    """
    with undamaged(file.parent):
        read = read_json(file)
        if isinstance(read, dict) and read.get("format") != FORMAT:
            given = textwrap.shorten(repr(read.get("format")), 40)
            raise ValueError(f"{file.name}: version {given} is not {FORMAT}; use a matching dxopt")
        try:
            # validated as JSON, in which lists may stand for tuples although the model is strict
            return kind.model_validate_json(json.dumps(read))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise SpecError(f"{file.name}: {where}" if where else file.name, first["msg"], _AGAIN) from None


@contextmanager
def undamaged(folder: Path) -> Iterator[None]:
    """Convert low-level errors of reading a folder, such as KeyError, into a SpecError that names the folder.

    CertificateErrors stay such, with the folder and an advice added.
    """
    try:
        yield
    except SpecError:
        raise
    except CertificateError as error:
        raise CertificateError(f"{folder}: {error}; {_CHANGED}") from None
    except FileNotFoundError as error:
        missing = Path(error.filename or "").name
        raise SpecError("folder", f"{folder} is damaged: {missing} is missing", _AGAIN) from None
    except DAMAGED as error:
        # on one line, without the dumps that some libraries append
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise SpecError("folder", f"{folder} is damaged ({reason})", _AGAIN) from None
