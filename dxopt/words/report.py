"""Lines of a report on its problem and its proofs, each a name and a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dxopt.analysis.held_out import HeldOut
from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.model.objective import WorstRegret, losses_of
from dxopt.model.prior_sets import Hull
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import at_most, factor, level_text
from dxopt.proofs.certify import Certificate
from dxopt.runtime.progress import duration
from dxopt.spaces.units import per
from dxopt.words.phrases import amount, counted, listed
from dxopt.words.privacy import pair, proven_level
from dxopt.words.result import Explanation

Lines = list[tuple[str, str]]
_LISTED = 6
IN_LOSSES = ("expected_loss", "worst_loss")
"""Measures in the unit of the losses."""


def named_loss(problem: Problem) -> str:
    """Return the loss with its unit, such as "distance, km"."""
    return ", ".join(filter(None, (problem.loss.name, problem.loss.unit)))


def question_text(problem: Problem, noun: str) -> str:
    """Return the line on what a problem asks for; `noun` names its secrets, such as "places"."""
    secrets, reports = problem.shape
    wanted = f"{'least' if problem.objective.sign > 0 else 'largest'} {problem.objective.title}"
    outputs = "" if problem.reports.secrets else f", {counted(reports, 'outputs')}"
    return f"{problem.name}: {counted(secrets, noun)}{outputs}; {wanted} ({named_loss(problem)})"


def gap_text(gap: float) -> str:
    """Return how much better another mechanism may be, by the gap of the one found."""
    return f"there may be one better by up to {at_most(100 * gap)} %" if gap < 1 else "no useful bound"


def table_to_be_made(seconds: float) -> str:
    """Return how the table of a large result is made, and how long that takes."""
    return f"not made yet: `dxopt table` or report.make_table() makes it, in about {duration(seconds)}"


def no_table_of(secrets: int, reports: int) -> str:
    """Return why a result is too large for a table."""
    return f"none, as its proof would compare {secrets:,}² × {reports:,} entries: use fewer secrets"


def proven_text(problem: Problem, proof: Certificate) -> str:
    """Return the ε and δ that are proven between secrets, with ten digits, beside those asked for."""
    if not problem.private:
        return "not asked for" if problem.beliefs is None else "for pairs of beliefs alone, see there"
    proven, asked = (level_text(epsilon, 10) for epsilon in (proof.epsilon, problem.epsilon))
    level = f"ε proven {proven} {per(problem.space.unit)} (asked {asked})"
    if not problem.delta:
        return level
    return f"{level}, δ proven {level_text(proof.delta, 6)} (asked {level_text(problem.delta, 6)})"


def one_and_several(found: Explanation) -> str:
    """Return the ε and δ that are proven between secrets, and how far one and several reports change the odds."""
    epsilon = found.epsilon or 0.0
    once, often = (factor(times * epsilon * found.between) for times in (1, found.reports))
    delta = f", δ proven {level_text(found.delta)}" if found.delta else ""
    return (
        f"{proven_level(found)}{delta}: one report changes the odds between {pair(found)} by a factor of {once} at "
        f"most, {found.reports} reports by {often}"
    )


def measure_text(problem: Problem, name: str, value: float) -> str:
    """Return a further measure as text: its name without underscores, and the value with its unit."""
    return f"{name.replace('_', ' ')} {amount(value, problem.loss.unit if name in IN_LOSSES else '')}"


def held_out_lines(several: Sequence[HeldOut]) -> Lines:
    """Return the lines on each set of held-out data: the loss on its secrets, and on its positions if known."""
    lines = []
    for found in several:
        lines.append((f"on {found.data.name}", found.of_secrets))
        if found.positions is not None:
            lines.append((f"{found.data.name}, positions", found.of_positions))
    return lines


def belief_lines(problem: Problem, proof: Certificate) -> Lines:
    """Return the lines on what is proven of pairs of beliefs; none where the problem has no such pairs."""
    pairs = problem.beliefs
    if pairs is None or proof.belief_level is None:
        return []
    level = f"ε proven {level_text(proof.belief_level, 10)} (asked {level_text(pairs.level, 10)})"
    lines = [("beliefs", f"{level}, {len(pairs):,} ordered pairs: {pairs.described()}")]
    if pairs.left_out:
        lines.append(("not in beliefs", f"{len(pairs.left_out):,} left out, as {pairs.left_out[0]}"))
    return lines


def promise_of_beliefs(problem: Problem, proof: Certificate) -> str:
    """Return sentences on what is proven against people with one of a pair of beliefs; "" where there are none."""
    pairs = problem.beliefs
    if pairs is None or proof.belief_level is None:
        return ""
    level = proof.belief_level
    one = len(np.unique(pairs.distances)) == 1
    times = factor(level * (float(pairs.distances[0]) if one else 1.0))
    by = f"a factor of {times}" if one else f"e^(εd), which is a factor of {times} at distance 1"
    some = listed(pairs.names, _LISTED, mark="; ", last="; and ")
    out = ""
    if pairs.left_out:
        out = f" Left out are {len(pairs.left_out):,} that nobody deems possible: {pairs.left_out[0]}."
    alone = "" if problem.private else " Nothing is promised against anybody who believes something else."
    return (
        f"Nobody who holds one of these beliefs can change the odds between the two sides of a pair by more than "
        f"{by}, whatever is reported. Proven for {len(pairs):,} ordered pairs with ε = {level_text(level, 10)}, of "
        f"{level_text(pairs.level, 10)} allowed: {some}.{out}{alone}"
    )


def worst_prior_lines(problem: Problem, mechanism: Mechanism) -> Lines:
    """Return the lines on which prior of a set is the worst for a mechanism; none where there is no set."""
    priors = problem.priors
    if priors is None or not isinstance(mechanism, MatrixMechanism):
        return []
    losses = losses_of(problem, mechanism.matrix, priors.reach)
    if isinstance(priors, Hull):
        each = priors.members @ losses
        if isinstance(problem.objective, WorstRegret) and problem.objective.lowest is not None:
            each = each - problem.objective.lowest
        named = [f"{name} {loss:.10g}" for name, loss in zip(priors.names, each.tolist(), strict=True)]
        text = f"{priors.names[int(each.argmax())]}, of {listed(named, _LISTED, last='; ')}"
    else:
        moved = priors.worst(losses) - priors.centre
        most = int(moved.argmax())
        text = (
            f"moves {float(np.abs(moved).sum()) / 2:.4g} of the centre, most of it to {problem.space.labels[most]}, "
            f"which it gives {moved[most]:.4g} more than the centre; under the centre "
            f"{float(priors.centre @ losses):.10g}"
        )
    return [("worst over", priors.name), ("worst prior", text)]
