"""Computation of the fields of an `Explanation` from a problem, its proof and its mechanism."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from dxopt.analysis import evaluate
from dxopt.analysis.arguments import loss_of
from dxopt.analysis.off_prior import OffPrior, off_prior, unreported_ends
from dxopt.analysis.radii import Radii, radii, tails
from dxopt.model.loss import Loss, LossLike
from dxopt.model.mechanism import Mechanism
from dxopt.model.objective import AdversaryError
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.proofs.certify import Certificate
from dxopt.spaces.geo.levels import Level
from dxopt.spaces.geo.points import known
from dxopt.spaces.geo.reach import across, ways
from dxopt.spaces.labels import Coordinates
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.spread import spread_of
from dxopt.words.report import promise_of_beliefs
from dxopt.words.result import Explanation

SHOWN = 8
"""Labels of reports that are never made."""
_MOST_NEAREST = 2_000
"""Infinite distances are looked for up to so many secrets."""


def promise_fields(problem: Problem, proof: Certificate | None = None) -> dict[str, Any]:
    """Return what a problem promises, as fields of an `Explanation`: as proven, or as asked for without a proof."""
    private = problem.private
    level = problem if proof is None else proof  # both have an epsilon and a delta
    return {
        "problem": problem.name,
        "asked": problem.epsilon if private else None,
        "proven": private and proof is not None,
        "delta": level.delta if private else 0.0,
        "title": problem.objective.title,
        "kind": _loss_name(problem),
        "value_unit": problem.unit,
        "loss_unit": problem.loss.unit,
        "budget": problem.objective.max_loss if math.isfinite(problem.objective.max_loss) else None,
        "beliefs": "" if proof is None else promise_of_beliefs(problem, proof),
        "priors": "" if problem.priors is None else problem.priors.name,
        **space_fields(problem.space, level.epsilon if private else None, problem.within),
    }


def _loss_name(problem: Problem) -> str:
    """Return the name of the loss that the value is in: the adversary's own one for the adversary's error."""
    if isinstance(problem.objective, AdversaryError):
        return getattr(problem.objective.adversary_loss, "name", "")
    return "binary" if problem.loss.is_binary else problem.loss.name


def space_fields(space: MetricSpace, epsilon: float | None, within: Level | None = None) -> dict[str, Any]:
    """Return the fields of an `Explanation` about the space and the distance at which factors are told.

    That is the radius of `within`, where the level was asked for by one, and else a telling distance of the space.
    """
    spread = spread_of(space)
    apart = spread.telling if within is None else within.radius
    places = known(space) is not None
    cells = ways(space)
    positive = spread.nearest[spread.nearest > 0]
    least = float(positive.min()) if len(positive) else math.inf
    return {
        "secrets": len(space),
        "noun": "places" if places else "values" if space.structure.kind == "path" else "secrets",
        "unit": space.unit,
        "epsilon": epsilon,
        "apart": apart,
        "across": across(space, apart),
        "for_positions": within is not None and within.positions,
        "one_way": space.given is not None and not space.symmetric,
        "endless": _has_infinite_distance(space),
        "places": places,
        "cell": None if cells is None else cells.furthest,
        "mean_way": None if cells is None else cells.mean,
        "space": space,
        "nearest": least if len(spread.nearest) == len(space) and math.isfinite(least) else None,
    }


def _has_infinite_distance(space: MetricSpace) -> bool:
    """Return True if some pair is infinitely far apart; spaces of over 2,000 secrets are not searched."""
    if space.metric is not None or len(space) > _MOST_NEAREST:  # a metric between points is finite
        return False
    if space.structure.factors:
        return any(_has_infinite_distance(factor) for factor in space.structure.factors)
    return bool(np.isinf(space.distances).any())


def cost_fields(found: OffPrior, far: Radii | None, mechanism: Mechanism) -> dict[str, Any]:
    """Return what a mechanism costs, as fields of an `Explanation`: its losses, radii, and rare reports."""
    labels = mechanism.space.labels
    fields: dict[str, Any] = {"prior_zero": len(found.unlikely), "outputs": len(mechanism.reports)}
    if found.losses is not None and found.worst is not None:
        fields |= {"worst_loss": float(found.losses[found.worst]), "worst_at": str(labels[found.worst])}
        if found.worst_unlikely is not None:
            fields |= {
                "prior_zero_mean": found.mean_unlikely,
                "prior_zero_worst": float(found.losses[found.worst_unlikely]),
                "prior_zero_at": str(labels[found.worst_unlikely]),
            }
    if (named := found.not_reported) is not None:
        first = tuple(str(mechanism.reports.labels[z]) for z in named[:SHOWN].tolist())
        hardly = () if found.hardly is None else found.hardly
        fields |= {"never": len(named), "never_labels": first, "hardly": len(hardly)}
        fields["lowest"], fields["highest"] = unreported_ends(mechanism, named)
    if far is not None:
        fields |= {"radius": far.all, "half": far.half, "worst_radius": far.worst}
        fields |= {"radius_at": str(labels[far.worst_at]), "few": len(far.secrets) < len(mechanism.space)}
    if mechanism.space.structure.kind == "path" and (off := tails(mechanism)) is not None:
        fields |= asdict(off)
    named = (fields.get(key) for key in ("worst_at", "prior_zero_at", "radius_at"))
    return fields | {"where": _positions_by_label(mechanism.space, named)}


def _positions_by_label(space: MetricSpace, named: Iterable[str | None]) -> dict[str, str]:
    """Return the position on the Earth, as text, of each of the named labels that is not such a text itself."""
    found = known(space)
    if found is None:
        return {}
    labels, positions = list(space.labels), Coordinates(found.degrees)
    places = {label: labels.index(label) for label in named if label is not None}
    return {
        label: "{:.4f}, {:.4f}".format(*found.degrees[place])
        for label, place in places.items()
        if positions[place] != label
    }


def explain_problem(problem: Problem) -> Explanation:
    """Explain a problem as it is asked; nothing is solved."""
    return Explanation(**promise_fields(problem))


def explain_mechanism(mechanism: Mechanism, prior: Prior | None, loss: LossLike | Loss) -> Explanation:
    """Explain the promises of a mechanism, as far as they are proven, and its costs."""
    resolved = loss_of(mechanism, loss)
    known = mechanism.privacy
    believed = Prior.uniform(mechanism.space) if prior is None else prior
    found = off_prior(mechanism, believed, resolved)
    expected = None if prior is None else evaluate.expected_loss(mechanism, prior, resolved)
    return Explanation(
        problem=mechanism.name,
        asked=None,
        proven=known is not None,
        unproven=known is None,
        delta=0.0 if known is None else known.delta,
        kind="binary" if resolved.is_binary else resolved.name,
        value_unit=resolved.unit,
        loss_unit=resolved.unit,
        value=expected,
        **space_fields(mechanism.space, None if known is None else known.epsilon),
        **cost_fields(found, radii(mechanism, None if prior is None else prior.probabilities), mechanism),
    )
