"""The whole of a problem file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import Discriminator, Field, Tag, model_validator

from dxopt.model.levels import LARGEST, LEAST
from dxopt.model.objective import ExpectedLoss, WorstLoss, WorstRegret
from dxopt.numerics.excess import PAIRS
from dxopt.results.measures import OF_LEVELS
from dxopt.solving.routes.choice import COMPARABLE_NAMES, METHOD_NAMES, SPANNER_METHODS
from dxopt.spec import fields as f
from dxopt.spec import quantities as q
from dxopt.spec.beliefs import Learns
from dxopt.spec.believed import Beliefs
from dxopt.spec.held_out import Evaluate, HeldOut, listed
from dxopt.spec.levels import Epsilon, Frontier, Privacy, Range, Smallest
from dxopt.spec.objectives import AdversaryError, Budgets, Loss, Objective
from dxopt.spec.prior_sets import Believed, HullPriors, PriorSection, depends_on_level
from dxopt.spec.priors import Prior
from dxopt.spec.quantities import bad
from dxopt.spec.spaces import Reports, Space
from dxopt.studies.questions import SmallestEpsilon, Sweep

_FIRST = 1.0
"""Where the search for a level begins."""


class Expected(f.Section):
    """A value that is known."""

    value: q.Number = Field(description="The expected value.")
    tolerance: q.NonNegative = Field(1e-6, description="How far off, absolutely, the value may be.")
    source: f.Text = Field(description="Where the value is from.")


def _expect_kind(value: Any) -> str:
    return "list" if isinstance(value, list) else "one"


Expectation = Annotated[
    Annotated[Expected, Tag("one")] | Annotated[list[Expected], Tag("list")], Discriminator(_expect_kind)
]


class Sheet(f.Section):
    """A problem file of dxopt: which secrets to protect, how well, and at what loss."""

    name: f.Title | None = Field(None, description="Name of the problem; the name of the file by default.")
    space: Space = Field(description="What is protected, and the distances.")
    privacy: Privacy | None = Field(None, description="Privacy as a level within a radius; instead of `epsilon`.")
    epsilon: Epsilon | None = Field(
        None,
        description="Privacy per unit of distance; a list or {from, to, step} makes a family of problems, "
        "{from, to, resolution} a frontier; {max_loss: ...} asks for the smallest.",
    )
    delta: q.Share = Field(0.0, description="What a set of reports may exceed the level by in probability.")
    pairs: Annotated[str, f.OneOf(PAIRS)] = Field(
        "all", description="Which pairs of secrets a positive delta binds: all, or only adjacent ones."
    )
    beliefs: Beliefs | None = Field(
        None, description="Pairs of beliefs that reports must not tell apart, at a level of their own."
    )
    objective: Objective = Field("expected_loss", description="What is wanted.")
    prior: Believed = Field(
        "uniform", description="What is believed before a report is seen, or a set of that; a list makes a family."
    )
    loss: Loss = Field("distance", description="What a report costs.")
    reports: Reports | None = Field(None, description="What may be reported; the points of the space by default.")
    method: Annotated[str, f.OneOf(METHOD_NAMES)] = Field(
        "auto", description="How to find a mechanism; a list makes a family."
    )
    solver: f.Identifier = Field(
        "auto", description="Solver to use: auto, highs, clarabel, or a solver of cvxpy or of a plug-in."
    )
    spanner: q.AtLeastOne | None = Field(
        None, description="Dilation of the spanner that replaces the constraints; method auto or optimal."
    )
    tolerance: q.Fraction = Field(1e-6, description="Largest relative gap between value and bound.")
    time_limit: q.Positive | None = Field(None, description="Seconds that solving may take.")
    evaluate: Evaluate = Field([], description="What to evaluate besides: measures, and data {file, columns}.")
    compare: list[Annotated[str, f.OneOf(COMPARABLE_NAMES)]] = Field([], description="Mechanisms to compare with.")
    priors: dict[f.Text, Prior] = Field(
        {}, description="Others that may be the true one, by name, to evaluate the mechanisms under besides."
    )
    learns: Learns | None = Field(None, description="What to say of an adversary's beliefs besides.")
    records: f.Count | None = Field(
        None, description="Evaluate databases of so many records besides, each perturbed on its own."
    )
    expect: Expectation | None = Field(None, description="Known value; for a family, a list of one per epsilon.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self._one_level()
        self._pairs_of_delta()
        self._suited_to_beliefs()
        self._suited()
        self._suited_to_sweep()
        self._expect_each(len(self.epsilons()))
        return self

    def _one_level(self) -> None:
        if self.privacy is not None and self.epsilon is not None:
            raise bad("is given beside privacy", "keep one of the two", "epsilon")
        if not (self.asks_privacy or self.beliefs or isinstance(self.objective, AdversaryError)):
            raise bad("is missing", "add epsilon, or privacy with a level and a radius", "epsilon")
        if self.privacy is not None and not LEAST <= (level := self.privacy.epsilon) <= LARGEST:
            raise bad(f"level / radius is {level:g}", "give a level and a radius less far apart", "privacy")
        epsilons = self.epsilons()
        first = {epsilon: index for index, epsilon in reversed(list(enumerate(epsilons)))}
        for index, epsilon in enumerate(epsilons):
            if first[epsilon] != index:
                raise bad(f"{epsilon:g} is given twice", "keep one", "epsilon", index)

    def _pairs_of_delta(self) -> None:
        if "pairs" in self.model_fields_set and not self.delta:
            raise bad("go with a positive delta only", "add delta, or leave them out", "pairs")
        if self.delta and not self.asks_privacy:
            raise bad(f"is {self.delta:g} without an epsilon to relax", "add epsilon, or privacy", "delta")

    def _suited(self) -> None:
        """Refuse ways of solving, and measures, that are not about such a problem."""
        if self.method not in SPANNER_METHODS and not self.asks_privacy:
            raise bad(f"{self.method} needs an epsilon", "add epsilon, or use method: optimal", "method")
        if self.method == "tight" and self.delta:
            raise bad("tight does not go with delta", "use method: optimal, or leave out delta", "method")
        for where, measure in listed(self.evaluate):
            if measure in OF_LEVELS and not self.asks_privacy:
                raise bad(f"{measure} needs an epsilon", "add epsilon, or leave it out", "evaluate", *where)
        self._named_once()
        for name in ("learns", "records"):
            if getattr(self, name) is not None and not self.asks_privacy:
                raise bad("needs an epsilon", "add epsilon, or leave it out", name)
        if self.learns is not None and self.delta:
            raise bad("does not go with delta, which bounds no beliefs", "leave out one of the two", "learns")
        if self.records is not None and self.pairs != "all":
            raise bad("go with pairs: all only, as records change in any way", "leave out one of the two", "records")
        if self.priors and self.wanted == WorstLoss.name:
            raise bad("do not matter for the worst loss", "leave them out, or ask for expected_loss", "priors")
        self._suited_to_priors()
        if self.spanner is None:
            return
        if self.method not in SPANNER_METHODS:
            raise bad(f"does not go with method: {self.method}", "use method auto or optimal", "spanner")
        several = isinstance(self.prior, PriorSection)
        if self.delta or self.wanted != ExpectedLoss.name or several:
            other = "delta" if self.delta else "a set of priors" if several else f"objective: {self.wanted}"
            raise bad(f"does not go with {other}", "leave it out", "spanner")

    def _suited_to_beliefs(self) -> None:
        """Refuse what is not proven for pairs of beliefs."""
        if self.beliefs is None:
            return
        unsuited = {
            "delta": self.delta > 0,
            "objective": self.wanted not in (ExpectedLoss.name, WorstLoss.name),
            "method": self.method not in SPANNER_METHODS,
            "spanner": self.spanner is not None,
            "compare": bool(self.compare),
            "priors": bool(self.priors),
            "epsilon": self.sweep is not None,
        }
        for name, given in unsuited.items():
            if given:
                raise bad("does not go with beliefs", "leave out one of the two", name)

    def _suited_to_priors(self) -> None:
        """Refuse objectives that are not about one prior, or not about several."""
        several = isinstance(self.prior, PriorSection)
        if several and self.wanted not in (ExpectedLoss.name, WorstRegret.name):
            raise bad(
                f"{self.wanted} does not go with a set of priors", "ask for expected_loss or regret", "objective"
            )
        if self.wanted == WorstRegret.name and not isinstance(self.prior, HullPriors):
            raise bad("regret needs a hull of priors", "give prior: {kind: hull, priors: [...]}", "objective")
        if self.wanted == WorstRegret.name and self.sweep is not None:
            raise bad(f"regret does not go with the {self.sweep}", "give one epsilon, or a list", "objective")

    def _named_once(self) -> None:
        """Refuse two sets of data of one name."""
        titles: set[str] = set()
        for where, entry in listed(self.evaluate):
            if isinstance(entry, HeldOut) and entry.title in titles:
                raise bad(f"is called {entry.title!r}, as another", "add a name", "evaluate", *where)
            titles |= {entry.title} if isinstance(entry, HeldOut) else set()

    @property
    def measures(self) -> list[str]:
        """The measures that are asked for, by name."""
        return [entry for _, entry in listed(self.evaluate) if isinstance(entry, str)]

    def _suited_to_sweep(self) -> None:
        """Refuse what is about one mechanism where many are looked for."""
        sweep = self.sweep
        if sweep is None:
            return
        if self.method not in SPANNER_METHODS:
            raise bad(f"{self.method} does not go with the {sweep}", "use method auto or optimal", "method")
        if isinstance(self.epsilon, Smallest | Frontier):
            if isinstance(self.objective, AdversaryError):
                fix = "give one epsilon, or ask for expected_loss or worst_loss"
                raise bad(f"{self.wanted} does not go with the {sweep}", fix, "objective")
            if depends_on_level(self.prior):
                raise bad(f"corner does not go with the {sweep}", "give one epsilon, or another prior", "prior")
        single = isinstance(sweep, SmallestEpsilon)
        unsuited = {
            "spanner": self.spanner is not None,
            "compare": bool(self.compare),
            "priors": bool(self.priors),
            "evaluate": bool(self.evaluate) and not single,
            "learns": self.learns is not None and not single,
            "records": self.records is not None and not single,
            "expect": self.expect is not None and not single,
        }
        for name, given in unsuited.items():
            if given:
                raise bad(f"does not go with the {sweep}", "leave it out", name)

    def _expect_each(self, size: int) -> None:
        if self.is_family and isinstance(self.expect, Expected):
            raise bad(f"is one value for a family of {size}", "give a list of one per epsilon", "expect")
        if isinstance(self.expect, list) and not self.is_family:
            raise bad("is a list where there is one epsilon", "give one value", "expect")
        if isinstance(self.expect, list) and len(self.expect) != size:
            wrong = f"has {len(self.expect)} entries for a family of {size}"
            raise bad(wrong, "give one per epsilon", "expect")

    @property
    def sweep(self) -> Sweep | None:
        """What is asked where one solve does not answer it."""
        if isinstance(self.objective, AdversaryError) and isinstance(self.objective.max_loss, Budgets):
            return self.objective.max_loss.sweep
        return self.epsilon.sweep if isinstance(self.epsilon, Smallest | Frontier) else None

    @property
    def gap(self) -> float:
        """The tolerance; by default a tenth of the accuracy that a level is to have, so that it can be told apart."""
        if "tolerance" in self.model_fields_set or not isinstance(self.epsilon, Smallest):
            return self.tolerance
        return self.epsilon.accuracy / 10

    @property
    def is_family(self) -> bool:
        """Whether the file makes one problem per epsilon of several."""
        return isinstance(self.epsilon, list | Range)

    @property
    def asks_privacy(self) -> bool:
        """Whether a level is given; without one, only the adversary's error protects the secrets."""
        return self.privacy is not None or self.epsilon is not None

    @property
    def wanted(self) -> str:
        """The name of the objective."""
        return self.objective if isinstance(self.objective, str) else self.objective.kind

    def epsilons(self) -> Sequence[float | None]:
        """The privacy levels per unit of distance that are asked for, or begun with; None where no privacy is."""
        match self.epsilon:
            case None:
                return [self.privacy and self.privacy.epsilon]
            case Range():
                return self.epsilon.values()
            case list():
                return self.epsilon
            case Frontier():
                return [self.epsilon.start]
            case Smallest():
                return [_FIRST]
            case _:
                return [self.epsilon]
