"""Compare two mechanisms for every prior and every loss: refinement, proven either way.

A is the channel `better`, and B the one `worse`. What is found is judged by `order.evidence`, so that nothing here
needs to be exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.arguments import channel_of, require_same
from dxopt.analysis.order.evidence import exact_channel, minimised, shortfall_above, shortfall_below
from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.sampling import Sampler, required_mechanism
from dxopt.numerics.coerce import BELOW_1, as_number
from dxopt.numerics.number_syntax import digits_down, digits_up
from dxopt.runtime.display import Shown

Array = NDArray[np.float64]
_RARE = 1e-12
"""Reports that no secret makes more often are left out."""
_NEGATIVE = -1e-7
_DIGITS = 2.0**40
_ROUNDS = 200


def pairs_told_apart(better: Array, worse: Array) -> Iterator[Array]:
    """Yield gains `(n, 2)` about two secrets alone, which B tells apart more than A in one of three senses.

    (x, x') is told apart by Σ_z max(0, K[x, z] - c K[x', z]): for c = 1 that is total variation; for the largest
    ratio of A in that pair it is 0 for A; the square root of that is between them.
    """
    size = len(better)
    # max_z K[x, z] / K[x', z] of A, where 0 / 0 does not count; 1 where it is infinite
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.stack([np.where(row > 0, row / better, 0.0).max(axis=1) for row in better])
    ratios[np.isinf(ratios)] = 1.0
    for power in (0.0, 0.5, 1.0):
        levels = ratios**power
        # over the sum of the gains 1 and c, as the shortfall that they prove is
        ahead = (_told_apart(worse, levels) - _told_apart(better, levels)) / (1 + levels)
        x, other = np.unravel_index(int(ahead.argmax()), ahead.shape)
        if ahead[x, other] > 0:
            found = np.zeros((size, 2))
            found[x, 0] = 1.0
            found[other, 1] = levels[x, other]
            yield found


def _told_apart(channel: Array, level: Array) -> Array:
    """Return by how much each x is told apart from each x': Σ_z max(0, K[x, z] - c[x, x'] K[x', z]), `(n, n)`."""
    return np.stack([np.maximum(row - level[x][:, None] * channel, 0.0).sum(axis=1) for x, row in enumerate(channel)])


def by_algebra(better: Array, worse: Array) -> tuple[Array | None, Array | None]:
    """Solve A·R = B for a remap `(a, b)`, where the columns of A are independent; or find gains `(n, 2)` against it.

    Return (remap, None), (None, gains), or (None, None) where neither is found.

    Where that remap has a negative entry, the column of B is outside of the cone of the columns of A: what is left of
    it after a projection on the cone (Lawson and Hanson 1974) has no positive product with any column of A, and a
    positive one with the column of B.
    """
    # 1. Reports that are multiples of each other say the same, and count as one; hardly any use of a report is none.
    used = np.flatnonzero(better.max(axis=0) > _RARE)
    profiles = np.round(better[:, used] / better[:, used].sum(axis=0), 10)
    kind = np.unique(profiles, axis=1, return_inverse=True)[1].reshape(-1)
    columns = np.zeros((len(better), int(kind.max()) + 1))
    np.add.at(columns.T, kind, better[:, used].T)
    # 2. the only solution
    solved, _, rank, _ = np.linalg.lstsq(columns, worse)
    if rank < columns.shape[1]:
        return None, None
    if solved.min() > _NEGATIVE:
        remap = np.zeros((better.shape[1], worse.shape[1]))
        remap[used] = np.maximum(solved, 0.0)[kind]
        return remap, None
    return None, outside_of_cone(columns, worse[:, solved.min(axis=0).argmin()])


def outside_of_cone(columns: Array, column: Array) -> Array | None:
    """Return gains `(n, 2)` that show a column `(n,)` outside of the cone of others `(n, a)`; None if inside."""
    from scipy.optimize import nnls

    try:
        nearest, distance = nnls(columns, column)
    except RuntimeError:
        return None
    left = column - columns @ nearest
    most = np.abs(left).max()
    if not (distance > 0 and most > 0):
        return None
    left /= most
    # guess 1 gains `left`, guess 2 nothing; both raised by as much as makes them 0 or more
    return np.stack([np.maximum(left, 0.0), np.maximum(-left, 0.0)], axis=1)


def by_program(better: Array, worse: Array) -> tuple[Array | None, Array | None]:
    """Find the remap `(a, b)` of the least shortfall, and gains `(n, k)` that bound it: a program and its dual.

    min t over R ≥ 0, s ≥ 0 with A·R + s ≥ B, Σ_w s[x, w] ≤ t for every secret and Σ_w R[z, w] ≤ 1 for every report;
    the dual of the first rows is Y.
    """
    from scipy import sparse as sp

    secrets, reports = better.shape
    columns = worse.shape[1]
    ones: Any = np.ones((1, columns))
    remapped = sp.kron(sp.eye_array(columns), sp.csr_array(better))
    cells = secrets * columns
    matrix = sp.block_array(
        [
            [-remapped, -sp.eye_array(cells), None],
            [None, sp.kron(ones, sp.eye_array(secrets)), -np.ones((secrets, 1))],
            [sp.kron(ones, sp.eye_array(reports)), None, None],
        ]
    )
    # the variables are R and s, both with w outermost, and then t, which is minimised
    cost = np.zeros(columns * reports + cells + 1)
    cost[-1] = 1.0
    most = np.concatenate([-worse.T.ravel(), np.zeros(secrets), np.ones(reports)])
    found = minimised(cost, matrix, most)
    if found is None:
        return None, None
    remap = found.variables[: columns * reports].reshape(columns, reports).T
    gains = found.multipliers[:cells].reshape(columns, secrets).T
    return remap, gains


def polished_remap(better: Array, worse: Array, remap: Array) -> Array:
    """Improve a remap R `(a, b)` that nearly solves A·R = B, by projections on that, on row sums 1 and on R ≥ 0."""
    inverse = np.linalg.pinv(better, rcond=_RARE)
    for _ in range(_ROUNDS):
        remap = remap + inverse @ (worse - better @ remap)
        # what rows lack is no combination of reports that anybody sees, as A·R and B have the same row sums
        remap = np.maximum(remap + (1 - remap.sum(axis=1, keepdims=True)) / remap.shape[1], 0.0)
    return remap


def rounded_gains(gains: Array) -> Array:
    """Round gains `(n, k)`, scaled to a largest of 1, to 40 binary digits, each guess once; `(n, 0)` if all are 0."""
    largest = gains.max(initial=0.0)
    if not largest > 0:
        return np.zeros((len(gains), 0))
    short = np.rint(np.maximum(gains, 0.0) / largest * _DIGITS) / _DIGITS
    distinct = np.unique(short, axis=1)
    return distinct[:, distinct.max(axis=0) > 0]


TOLERANCE = 1e-8
MOST_CELLS = 64_000_000
"""The most n·a·b of mechanisms that are compared: 400 secrets with 400 reports each."""
_NEARLY = 1e-6
_PROGRAM_CELLS = 250_000
"""Up to this n·a·b a linear program is solved where nothing else decides."""
_SOON_CELLS = 30_000
"""Up to this one also where it is decided that A does not refine B, to know the least shortfall."""
_QUICK_CELLS = 4_000
"""Up to this one where many pairs are asked about."""


@dataclass(frozen=True, eq=False, repr=False)
class Witness(Shown):
    """A prior and a gain for which B is better than A with the best remap of each.

    Attributes
    ----------
    gains : (n, k) array
        Y[x, y] = π_x g(x, y), up to one factor: k guesses.
    advantage : float
        How much more B gains at least, where no gain is above 1 or below 0: proven.
    """

    gains: Array
    advantage: float

    @property
    def prior(self) -> Array:
        """π, `(n,)`."""
        most = self.gains.max(axis=1)
        return most / most.sum()

    @property
    def gain(self) -> Array:
        """g(x, y), `(n, k)`, from 0 to 1: a matrix that `g_leakage` takes; 1 - g is a loss."""
        most = self.gains.max(axis=1, keepdims=True)
        return np.where(most > 0, self.gains / np.where(most > 0, most, 1.0), 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Refinement(Shown):
    """Verdict whether a mechanism A is at least as good as another B for every prior and loss.

    Attributes
    ----------
    low, high : float
        The shortfall of A is between them: proven. It is the most that A, with its best remap, may gain less than B,
        over all priors and all gains from 0 to 1 (Le Cam's deficiency); 0 exactly where B = A·R for a channel R.
    tolerance : float
        What counts as rounding.
    remap : (a, b) array
        R, a channel from the reports of A to those of B: A·R is short of B by at most `high`.
    witness : Witness or None
        What shows that A is worse than B for some prior and loss, where `low` is positive.
    """

    low: float
    high: float
    tolerance: float
    remap: Array
    witness: Witness | None = None

    @property
    def verdict(self) -> str:
        """`refines`, where the shortfall is within the tolerance; `does not refine`; or `undecided`."""
        if self.high <= self.tolerance:
            return "refines"
        return "does not refine" if self.low > self.tolerance else "undecided"

    @property
    def holds(self) -> bool | None:
        """True if A refines B up to the tolerance; None where that is not decided."""
        return {"refines": True, "does not refine": False}.get(self.verdict)

    def __bool__(self) -> bool:
        if self.holds is None:
            raise SpecError("refinement", f"is {self}", "ask `holds is True`, or give a larger tolerance")
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return (
                f"refines: for no prior and gain from 0 to 1 is it worse by more than {digits_up(self.high, 2):.2g}"
            )
        if self.holds is None:
            low, high = digits_down(self.low, 2), digits_up(self.high, 2)
            return f"undecided: the shortfall is between {low:.2g} and {high:.2g}"
        some = f"worse by {digits_down(self.low, 6):.6g} for some prior and gain from 0 to 1"
        return f"does not refine: {some}, by {digits_up(self.high, 6):.6g} at most"


def refines(better: Sampler, worse: Sampler, *, tolerance: float = TOLERANCE) -> Refinement:
    """Decide whether a mechanism A is at least as good as B for every prior and every loss (CABP13 Def 7).

    A refines B if B = A·R for a channel R from reports to reports. Then nobody gains more by B than by A, whatever
    the prior and the gain, user or adversary; and the converse holds as well (Blackwell 1951; McIver et al. 2014). As
    doubles are rounded, the answer is by how much that fails at most and at least, both proven.

    Parameters
    ----------
    better, worse : Mechanism or IntegerTable
        A and B, about the same secrets.
    tolerance : float
        A shortfall up to that counts as rounding.

    Raises
    ------
    SpecError
        If they are about different secrets, or the tolerance is out of range.
    UnsupportedError
        If they are too large: n·a·b over 64 million for n secrets and a, b reports.

    Examples
    --------
    >>> import dxopt as dx
    >>> line = dx.line(3)
    >>> geometric, exponential = dx.classic.geometric(line, epsilon=1.0), dx.classic.exponential(line, epsilon=1.0)
    >>> print([dx.evaluate.refines(*pair).verdict for pair in ((geometric, exponential), (exponential, geometric))])
    ['refines', 'does not refine']
    """
    tolerance = as_number(tolerance, "tolerance", *BELOW_1)
    required_mechanism(better)
    required_mechanism(worse)
    require_same(better.space, worse.space, "give two mechanisms for the same space")
    cells = len(better.space) * len(better.reports) * len(worse.reports)
    if cells > MOST_CELLS:
        wrong = f"have {cells:,} products of entries together"
        raise UnsupportedError("mechanisms", wrong, f"take at most {MOST_CELLS:,}: fewer secrets or reports")
    one, other = channel_of(better), channel_of(worse)
    found = compared(one, other, tolerance, quick=False)
    if found.holds or cells > (_PROGRAM_CELLS if found.holds is None else _SOON_CELLS):
        return found
    return _strengthened_by_program(found, one, other)


def compared(better: Array, worse: Array, tolerance: float = TOLERANCE, *, quick: bool = True) -> Refinement:
    """Compare two channels `(n, a)` and `(n, b)` without a large linear program.

    `quick` is for many pairs: it ends with the first proof that decides, and solves a linear program if it is tiny.
    """
    # 1. a remap that ignores the report, and gains about two secrets alone, which most often tell mechanisms apart
    blind = exact_channel(np.tile(worse.mean(axis=0), (better.shape[1], 1)))
    found = Refinement(0.0, 1.0, tolerance, blind)
    found = _strengthened(found, found.remap, None, better, worse)
    for gains in pairs_told_apart(better, worse):
        found = _strengthened(found, None, gains, better, worse)
        if quick and found.holds is not None:
            return found
    # 2. the only remap that there can be, where the columns are independent
    if found.holds is None:
        found = _strengthened(found, *by_algebra(better, worse), better, worse)
    # 3. a linear program, or columns that no remap can make
    if found.holds is None and quick and better.size * worse.shape[1] <= _QUICK_CELLS:
        found = _strengthened_by_program(found, better, worse)
    if found.holds is None:
        used = better[:, better.max(axis=0) > _RARE]
        for column in worse.T[worse.max(axis=0) > _RARE]:
            found = _strengthened(found, None, outside_of_cone(used, column), better, worse)
            if found.holds is not None:
                break
    return found


def _strengthened_by_program(found: Refinement, better: Array, worse: Array) -> Refinement:
    """Return a verdict strengthened by the answer of a linear program, polished where it is nearly a refinement."""
    rough, gains = by_program(better, worse)
    found = _strengthened(found, rough, gains, better, worse)
    if found.holds is None and rough is not None and found.high <= _NEARLY:
        found = _strengthened(found, polished_remap(better, worse, rough), None, better, worse)
    return found


def _strengthened(
    found: Refinement, rough: Array | None, gains: Array | None, better: Array, worse: Array
) -> Refinement:
    """Return a verdict strengthened by a remap or by gains where these prove more."""
    low, high, remap, witness = found.low, found.high, found.remap, found.witness
    if rough is not None:
        made = exact_channel(rough)
        above = shortfall_above(better, worse, made)
        if above < high or high == 1.0:  # at 1 nothing is known yet, and any remap will do
            high, remap = above, made
    if gains is not None:
        short = rounded_gains(gains)
        below = shortfall_below(better, worse, short) if short.size else 0.0
        if below > low:
            low, witness = below, Witness(short, below)
    return Refinement(low, high, found.tolerance, remap, witness)
