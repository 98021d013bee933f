"""The claims of a certificate about a channel that follows from less than a matrix; see `kernels` and `channels`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from dxopt.verify.bounds.dual import Asked, bound, factor_duals, line_dual, line_dual_bound
from dxopt.verify.bounds.line import rough_line_bound
from dxopt.verify.bounds.multipliers import joined, marginals, prior_missed, widened
from dxopt.verify.claims import require_bound, require_value
from dxopt.verify.files import Arrays, number, numbers, part
from dxopt.verify.folder import Result
from dxopt.verify.implicit.channels import Mechanism, read_channel
from dxopt.verify.implicit.kernels import MOST_CELLS, NAMED, LineKernel, Losses
from dxopt.verify.implicit.spaces import PAIRED_POINTS, Space
from dxopt.verify.privacy import Levels, bound_pairs
from dxopt.verify.values import AGREEMENT, LEAST, Enclosed
from dxopt.verify.verdict import Broken, Unproved

_INTEGER_CELLS = 1_200_000


def check_distances(result: Result) -> str:
    """Those of the points: norms obey the triangle inequality."""
    space = Space.read(result.mechanism)
    if len(space) != result.size:
        raise Broken(f"mechanism.npz: {len(space)} points, but there are {result.size} probabilities")
    if space.line is None and len(space.axes) < 2:
        return f"{space.distances.size:,} of {space.metric or space.kind} points"
    return f"{len(space):,} points on {'a line' if space.line is not None else f'{len(space.axes)} axes'}"


def check_losses(result: Result) -> str:
    """Finite numbers, as their name defines them by points where the reports are the secrets."""
    losses = _losses(result)
    if losses.matrix is not None and losses.name in NAMED and result.secrets:
        named = Losses(losses.space, losses.name)
        for x, row in enumerate(losses.matrix):
            off = np.flatnonzero(~(np.abs(row - named.row(x)) <= 1e-12 * named.row(x)))
            if len(off):
                z = int(off[0])
                raise Broken(
                    f"loss: it is {row[z]:.17g} in secret {x} and report {z}, but {losses.name} is otherwise"
                )
    if losses.matrix is not None:
        return f"{result.size:,} by {losses.reports:,} finite numbers, as they were given"
    return f"{losses.name} of {result.size:,} by {losses.reports:,} points"


def check_rows(result: Result) -> str:
    """No row of what is assumed of the entries is more than 1; what it is short of 1 goes to one report."""
    channel = _channel(result)
    channel.check_rows("mechanism.npz")
    return f"for {channel.about}"


def check_privacy(result: Result) -> str:
    """Private at the certificate's ε, and at that of each part of mechanism.npz."""
    if result.certificate.get("private") is not True or not result.private:
        raise Broken(f"{result.source}: private is {result.certificate.get('private')}")
    epsilon = result.claimed("epsilon")
    delta = result.claimed("delta")
    inner = result.mechanism
    if not 0 <= epsilon <= result.epsilon:
        raise Broken(f"{result.source}: epsilon is {epsilon:.17g}, but {result.epsilon:.17g} was asked for")
    if delta or result.delta or any(number(inner, key) for key in inner if key.rsplit("/")[-1] == "delta"):
        raise Broken(f"{result.source} or mechanism.npz: delta is not 0")
    channel = _channel(result)
    channel.check_rows("mechanism.npz")
    own = number(inner, "epsilon") if "epsilon" in inner else epsilon
    channel.check_private(min(Fraction(epsilon), Fraction(own)), "mechanism.npz")
    # A remapped kernel claims a level of its own before the remap: "…table" next to "…0/epsilon".
    for key in sorted(key for key in inner if key.endswith("0/epsilon") and f"{key[:-9]}table" in inner):
        _base(inner, key.removesuffix("/epsilon")).check_private(Fraction(number(inner, key)), key)
    return f"for {channel.about}; epsilon {epsilon:.10g}"


def check_value(result: Result) -> str:
    """Return the expected loss, to 1e-12 of the size of its terms."""
    _require_expected(result)
    return f"expected loss {require_value(result, expected_loss(result)):.12g}"


def expected_loss(result: Result) -> Enclosed:
    """Return the expected loss under the prior."""
    return _channel(result).cost(result.prior, _losses(result))


def check_bound(result: Result) -> str:
    """Check that the certificate claims no more than the dual proves, up to 1e-12 relative."""
    _require_expected(result)
    claimed = result.claimed("bound")
    losses = _losses(result)
    wanted = claimed - float(AGREEMENT) * abs(claimed)
    if "which" in result.dual:
        proven, how = _of_product(result, losses)
    else:
        proven, how = _of_axis(result.epsilon, result.prior, losses, result.dual, wanted)
    return require_bound(result, proven, how, LEAST)


CLAIMS: Mapping[str, Callable[[Result], str]] = {
    "distances": check_distances,
    "loss": check_losses,
    "rows": check_rows,
    "privacy": check_privacy,
    "value": check_value,
    "bound": check_bound,
}
"""By the names of the checks of a result."""


def _losses(result: Result) -> Losses:
    arrays = result.mechanism
    space = Space.read(arrays)
    if result.named.get("loss_by_distance") is not True:
        matrix = numbers(result.problem, "losses", result.size, None)
        return Losses(space, str(result.named.get("loss")), matrix=matrix)
    if len(space) != result.size:
        raise Broken(f"mechanism.npz: {len(space)} points, but there are {result.size} probabilities")
    if not result.secrets and "report_points" not in arrays:
        raise Unproved("where the reports lie is not in the files")
    answers = None if result.secrets else numbers(arrays, "report_points", None, None)
    return Losses(space, str(result.named.get("loss")), answers)


def _channel(result: Result) -> Mechanism:
    return read_channel(result.mechanism, _losses(result).reports)


def _base(arrays: Arrays, name: str) -> LineKernel:
    """Return a kernel before its remap, which reports each index as itself."""
    base = part(arrays, name)
    size = len(Space.read(base))
    return LineKernel.read({**base, "table": np.arange(size)}, base, size)


def _require_expected(result: Result) -> None:
    if result.objective != "expected_loss":
        raise Unproved(f"{result.objective} of a channel that is not written down")


def _of_axis(epsilon: float, prior: np.ndarray, losses: Losses, dual: Arrays, wanted: float) -> tuple[Fraction, str]:
    """Return a lower bound on an axis: along a line from its coordinates, elsewhere from all distances."""
    space = losses.space
    cells = len(space) * losses.reports
    # 1. A line with row prices and roots: in integers, or in doubles where these would take too long.
    if "roots" in dual and space.line is not None:
        steps = [Fraction(epsilon) * Fraction(step) for step in np.abs(np.diff(space.line)).tolist()]
        prices, roots = line_dual(dual, len(space), losses.reports)
        if cells > MOST_CELLS:
            raise Unproved(f"{cells:,} losses are over the limit of {MOST_CELLS:,}")
        if cells > _INTEGER_CELLS:
            found = rough_line_bound(prior, losses.row, prices, roots, steps, wanted)
            return found, "weak duality along the line, in doubles with every rounding counted"
        return line_dual_bound(prior, losses.dense, prices, roots, steps, steps)
    # 2. No multipliers: the least that each secret pays.
    if "multiplier" in dual and not dual["multiplier"].size:
        least = [Fraction(weight) * Fraction(float(losses.row(x).min())) for x, weight in enumerate(prior.tolist())]
        return sum(least, Fraction(0)), "no dual needed"
    # 3. Multipliers of any pairs, for which all distances are made.
    if max(len(space), losses.reports) > PAIRED_POINTS:
        raise Unproved(f"a dual of {len(space):,} points off a line is over the limit of {PAIRED_POINTS:,}")
    levels = Levels.of(space.distances, bound_pairs(space.distances, "all"), Fraction(epsilon))
    return bound(Asked("expected_loss", losses.dense, prior, levels, Fraction(0)), dual)


def _of_product(result: Result, losses: Losses) -> tuple[Fraction, str]:
    """Bound by the factors, see `bounds.multipliers`."""
    inner, missed = losses.by_axes()
    shape = tuple(len(loss.space) for loss in inner)
    parts = marginals(result.prior, shape)
    off = prior_missed(result.prior, parts, [loss.largest for loss in inner])
    off += widened(float((result.prior * missed).sum()))
    known: dict[tuple[object, ...], Fraction] = {}
    bounds = []
    hows = []
    for marginal, loss, dual in zip(parts, inner, factor_duals(result.dual, len(shape)), strict=True):
        # Axes with the same prior, dual and points have the same bound, which is found once.
        stored = sorted((name, array.dtype.str, array.tobytes()) for name, array in dual.items())
        key = (marginal.tobytes(), *stored, loss.space.identity)
        if key not in known or loss.matrix is not None:
            known[key], how = _of_axis(result.epsilon, marginal, loss, dual, float("inf"))
            hows.append(how)
        bounds.append(known[key])
    found = joined(bounds, parts) - off
    return found, f"{len(shape)} factors, less {float(off):.1e}; {'; '.join(dict.fromkeys(hows))}"
