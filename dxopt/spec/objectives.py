"""The keys `objective` and `loss`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dxopt.model.losses import LOSS_NAMES
from dxopt.model.objective import ExpectedLoss, WorstLoss, WorstRegret
from dxopt.spec import fields as f
from dxopt.spec import quantities as q
from dxopt.spec.levels import RisingRange
from dxopt.studies.questions import LossFrontier

_PLAIN = (ExpectedLoss.name, WorstLoss.name, WorstRegret.name)

_UNIT = "What the losses are in, such as EUR; for texts alone."


class MatrixFile(f.Section):
    """A matrix of losses from a file."""

    kind: Literal["matrix"] = Field(description="A matrix of losses.")
    file: f.File = Field(description="CSV file without a header: a row per secret, a column per report or guess.")
    unit: f.Unit | None = Field(None, description=_UNIT)


class MatrixValues(f.Section):
    """A matrix of losses written out."""

    kind: Literal["matrix"] = Field(description="A matrix of losses.")
    values: f.Rows[q.Extended] = Field(
        description="A row per secret, a column per report or guess; `inf` is allowed where a loss may be infinite."
    )
    unit: f.Unit | None = Field(None, description=_UNIT)


class Beyond(f.Section):
    """A miss: 1 where a report is further from the secret than a distance, and 0 otherwise."""

    kind: Literal["beyond"] = Field(description="Whether the report is further away than a distance.")
    distance: q.NonNegative = Field(
        description="α, in the unit of the space: the loss is 1 beyond it, and the expected one a probability."
    )


Loss = Annotated[
    Annotated[str, f.OneOf(LOSS_NAMES, " or give a mapping with kind: matrix")] | Beyond | MatrixFile | MatrixValues,
    f.Kinds(),
]


class LeastLoss(f.Section):
    """Little loss, as expected or in the worst case, or little regret."""

    kind: Literal["expected_loss", "worst_loss", "regret"] = Field(
        description="Which loss is to be least; the regret is about a hull of priors."
    )


class Budgets(RisingRange):
    """The largest error at every loss budget of a range."""

    start: q.Number = Field(alias="from", description="Smallest budget.")
    to: q.Number = Field(description="Largest budget.")
    resolution: q.Fraction = Field(description="How closely the error is proven, as a share of its whole rise.")

    @property
    def sweep(self) -> LossFrontier:
        """Return the question for many solves."""
        return LossFrontier(self.start, self.to, self.resolution)


Budget = Annotated[
    q.Number | Budgets,
    f.Shapes(),
]


class AdversaryError(f.Section):
    """An adversary who errs much, where the expected loss is bounded."""

    kind: Literal["adversary_error"] = Field(
        description="The expected error of an adversary who knows the prior is to be largest."
    )
    max_loss: Budget = Field(
        description="The most that the expected loss may be; {from, to, resolution} asks for a frontier."
    )
    adversary_loss: Loss = Field("distance", description="What a guess costs the adversary.")

    @property
    def budget(self) -> float:
        """The loss budget, or the smallest one."""
        return self.max_loss.start if isinstance(self.max_loss, Budgets) else self.max_loss


Objective = Annotated[
    Annotated[str, f.OneOf(_PLAIN, ", or give {kind: adversary_error, max_loss: ...}")] | LeastLoss | AdversaryError,
    f.Kinds(),
]
