"""The whole of a problem file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator

from dxopt.model.objective import ExpectedLoss, WorstLoss, WorstRegret
from dxopt.model.privacy import LARGEST, LEAST
from dxopt.numerics.hockey_stick import PAIRS
from dxopt.results.measures import MEASURES_OF_EPSILON
from dxopt.solving.routes.choice import COMPARABLE_NAMES, METHOD_NAMES, SPANNER_METHODS
from dxopt.spec import fields as f
from dxopt.spec.belief_pairs import Beliefs
from dxopt.spec.fields import bad
from dxopt.spec.levels import Epsilon, Frontier, OfPrivacy, Range, Smallest
from dxopt.spec.objectives import AdversaryError, Budgets, Evaluate, HeldOut, Learns, Loss, Objective, placed_entries
from dxopt.spec.priors import Believed, Prior, PriorSection, depends_on_level
from dxopt.spec.spaces import Reports, Space
from dxopt.studies.questions import SmallestEpsilon, Sweep

_FIRST = 1.0
"""Level at which the search for one begins."""
_ADD = "add epsilon, or leave it out"
_ONE = "leave out one of the two"
_OUT = "leave it out"
Exclusion = tuple[str, bool, str, str]


class Expected(f.Section):
    """A value that is known."""

    value: f.Number = Field(description="The expected value.")
    tolerance: f.NonNegative = Field(1e-6, description="How far off, absolutely, the value may be.")
    source: f.Text = Field(description="Where the value is from.")


Expectation = Annotated[list[Expected] | Expected, f.Shapes()]


class Sheet(f.Section):
    """A problem file of dxopt: which secrets to protect, how well, and at what loss."""

    name: f.Title | None = Field(None, description="Name of the problem; the name of the file by default.")
    space: Space = Field(description="What is protected, and the distances.")
    privacy: OfPrivacy | None = Field(
        None, description="Privacy as a level within a radius, or of each place; instead of `epsilon`."
    )
    epsilon: Epsilon | None = Field(
        None,
        description="Privacy per unit of distance; a list or {from, to, step} makes a family of problems, "
        "{from, to, resolution} a frontier; {max_loss: ...} asks for the smallest.",
    )
    delta: f.Share = Field(0.0, description="What a set of reports may exceed the level by in probability.")
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
    max_loss: f.Number | None = Field(None, description="What no report may cost more than, whatever the secret.")
    reports: Reports | None = Field(None, description="What may be reported; the points of the space by default.")
    method: Annotated[str, f.OneOf(METHOD_NAMES)] = Field(
        "auto", description="How to find a mechanism; a list makes a family."
    )
    solver: f.Identifier = Field(
        "auto", description="Solver to use: auto, highs, clarabel, or a solver of cvxpy or of a plug-in."
    )
    spanner: f.AtLeastOne | None = Field(
        None, description="Dilation of the spanner that replaces the constraints; method auto or optimal."
    )
    tolerance: f.Fraction = Field(1e-6, description="Largest relative gap between value and bound.")
    time_limit: f.Positive | None = Field(None, description="Seconds that solving may take.")
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
    def _require_consistent(self) -> Self:
        """Refuse keys that do not go together: raise the first conflict, placed at one of the keys."""
        self._require_one_level()
        for key, refused, wrong, fix in (*self._exclusions(), *self._exclusions_of_sweeps(), *self._expectations()):
            if refused:
                raise bad(wrong, fix, key)
        titles: set[str] = set()  # results of held-out data are told apart by these
        for where, entry in placed_entries(self.evaluate):
            if isinstance(entry, str) and entry in MEASURES_OF_EPSILON and not self.asks_privacy:
                raise bad(f"{entry} needs an epsilon", _ADD, "evaluate", *where)
            if isinstance(entry, HeldOut):
                if entry.title in titles:
                    raise bad(f"is called {entry.title!r}, as another", "add a name", "evaluate", *where)
                titles.add(entry.title)
        return self

    def _require_one_level(self) -> None:
        """Refuse a level that is given twice, by radius out of range, or more than once in a list."""
        if self.privacy is not None and self.epsilon is not None:
            raise bad("is given beside privacy", "keep one of the two", "epsilon")
        if self.privacy is not None and not LEAST <= (level := self.privacy.epsilon) <= LARGEST:
            raise bad(f"level / radius is {level:g}", "give a level and a radius less far apart", "privacy")
        epsilons = self.epsilons()
        for index, epsilon in enumerate(epsilons):
            if epsilon in epsilons[:index]:
                raise bad(f"{epsilon:g} is given twice", "keep one", "epsilon", index)

    def _exclusions(self) -> Iterator[Exclusion]:
        """Yield (key, whether it is refused beside the others, what is wrong then, what would be right)."""
        private, wanted, method = self.asks_privacy, self.wanted, self.method
        expected, worst = wanted == ExpectedLoss.name, wanted == WorstLoss.name
        several, optimal = isinstance(self.prior, PriorSection), method in SPANNER_METHODS
        protected = private or self.beliefs or isinstance(self.objective, AdversaryError)
        yield "epsilon", not protected, "is missing", "add epsilon, or privacy with a level and a radius"
        pairs = "pairs" in self.model_fields_set and not self.delta
        yield "pairs", pairs, "go with a positive delta only", "add delta, or leave them out"
        beside_beliefs = {
            "method": not optimal,
            "spanner": self.spanner is not None,
            "compare": self.compare,
            "priors": self.priors,
            "epsilon": self.sweep,
        }
        for key, given in beside_beliefs.items():
            yield key, self.beliefs is not None and bool(given), "does not go with beliefs", _ONE
        yield "method", not (optimal or private), f"{method} needs an epsilon", "add epsilon, or use method: optimal"
        tight = method == "tight" and self.delta > 0
        yield "method", tight, "tight does not go with delta", "use method: optimal, or leave out delta"
        for key in ("learns", "records"):
            yield key, getattr(self, key) is not None and not private, "needs an epsilon", _ADD
        unbounded = self.learns is not None and self.delta > 0
        yield "learns", unbounded, "does not go with delta, which bounds no beliefs", _ONE
        adjacent = self.records is not None and self.pairs != "all"
        yield "records", adjacent, "go with pairs: all only, as records change in any way", _ONE
        without = bool(self.priors) and worst
        yield "priors", without, "do not matter for the worst loss", "leave them out, or ask for expected_loss"
        regret = wanted == WorstRegret.name
        swept = regret and self.sweep is not None
        yield "objective", swept, f"regret does not go with the {self.sweep}", "give one epsilon, or a list"
        spanner = self.spanner is not None
        yield "spanner", spanner and not optimal, f"does not go with method: {method}", "use method auto or optimal"
        others = {"delta": self.delta > 0, "a set of priors": several, f"objective: {wanted}": not expected}
        for other, given in others.items():
            yield "spanner", spanner and given, f"does not go with {other}", _OUT

    def _exclusions_of_sweeps(self) -> Iterator[Exclusion]:
        """Yield such exclusions for keys about one mechanism, where a sweep looks for many."""
        sweep = self.sweep
        if sweep is None:
            return
        wrong = f"does not go with the {sweep}"
        yield "method", self.method not in SPANNER_METHODS, f"{self.method} {wrong}", "use method auto or optimal"
        if isinstance(self.epsilon, Smallest | Frontier):
            fix = "give one epsilon, or ask for expected_loss or worst_loss"
            yield "objective", isinstance(self.objective, AdversaryError), f"{self.wanted} {wrong}", fix
            fix = "give one epsilon, or another prior"
            yield "prior", depends_on_level(self.prior), f"corner {wrong}", fix
        for key in ("spanner", "compare", "priors"):
            yield key, bool(getattr(self, key)), wrong, _OUT
        for key in ("evaluate", "learns", "records", "expect"):
            yield key, bool(getattr(self, key)) and not isinstance(sweep, SmallestEpsilon), wrong, _OUT

    def _expectations(self) -> Iterator[Exclusion]:
        """Yield such exclusions for `expect`, which has as many values as the file has levels."""
        size, several = len(self.epsilons()), isinstance(self.expect, list)
        one = self.is_family and isinstance(self.expect, Expected)
        yield "expect", one, f"is one value for a family of {size}", "give a list of one per epsilon"
        yield "expect", several and not self.is_family, "is a list where there is one epsilon", "give one value"
        given = len(self.expect) if isinstance(self.expect, list) else size
        yield "expect", given != size, f"has {given} entries for a family of {size}", "give one per epsilon"

    @property
    def sweep(self) -> Sweep | None:
        """The question that takes many solves to answer; None where the file asks for one mechanism per problem."""
        if isinstance(self.objective, AdversaryError) and isinstance(self.objective.max_loss, Budgets):
            return self.objective.max_loss.sweep
        return self.epsilon.sweep if isinstance(self.epsilon, Smallest | Frontier) else None

    @property
    def gap(self) -> float:
        """The tolerance of each solve; in a search, by default, a tenth of the accuracy asked of the level."""
        if "tolerance" in self.model_fields_set or not isinstance(self.epsilon, Smallest):
            return self.tolerance
        return self.epsilon.accuracy / 10

    @property
    def is_family(self) -> bool:
        """Tell whether the file makes one problem per level; only then do names of problems have the level."""
        return isinstance(self.epsilon, list | Range)

    @property
    def asks_privacy(self) -> bool:
        """Return whether a level is given; without one, only the adversary's error protects the secrets."""
        return self.privacy is not None or self.epsilon is not None

    @property
    def wanted(self) -> str:
        """The name of the objective, whether it is written alone or as the kind of a mapping."""
        return self.objective if isinstance(self.objective, str) else self.objective.kind

    def epsilons(self) -> Sequence[float | None]:
        """Return the privacy levels per unit of distance that are asked for, or begun with; None without privacy."""
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
