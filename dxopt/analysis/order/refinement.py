"""Compare two mechanisms for every prior and every loss: refinement, proven either way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.channels import channel_of
from dxopt.analysis.composition.composing import require_same
from dxopt.analysis.order import searching
from dxopt.analysis.order.evidence import exact_channel, shortfall_above, shortfall_below
from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.required import required_mechanism
from dxopt.model.sampling import Sampler
from dxopt.runtime.shown import Shown

Array = NDArray[np.float64]
TOLERANCE = 1e-8
MOST_CELLS = 64_000_000
"""The most n·a·b of mechanisms that are compared: 400 secrets with 400 reports each."""
_NEARLY = 1e-6
_PROGRAM_CELLS = 250_000
_SOON_CELLS = 30_000
_QUICK_CELLS = 4_000
"""Linear programs: where nothing else decides, to know the least shortfall, and where many pairs are asked about."""


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
        """Return True if A refines B up to the tolerance; None where that is not decided."""
        return {"refines": True, "does not refine": False}.get(self.verdict)

    def __bool__(self) -> bool:
        if self.holds is None:
            raise SpecError("refinement", f"is {self}", "ask `holds is True`, or give a larger tolerance")
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return f"refines: for no prior and gain from 0 to 1 is it worse by more than {self.high:.2g}"
        if self.holds is None:
            return f"undecided: the shortfall is between {self.low:.2g} and {self.high:.2g}"
        some = f"worse by {self.low:.6g} for some prior and gain from 0 to 1"
        return f"does not refine: {some}, by {self.high:.6g} at most"


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

    Returns
    -------
    Refinement
        With R, or with a prior and a gain for which B is better.

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
    if not 0 <= tolerance < 1:
        raise SpecError("tolerance", f"is {tolerance:g}", "give a number from 0 to below 1")
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
    return _by_program(found, one, other)


def compared(better: Array, worse: Array, tolerance: float = TOLERANCE, *, quick: bool = True) -> Refinement:
    """Compare two channels `(n, a)` and `(n, b)` without a large linear program.

    Parameters
    ----------
    quick : bool
        For many pairs: a linear program where it is tiny, and no more than what decides.
    """
    # 1. gains about two secrets alone, which most often tell mechanisms apart
    found = Refinement(0.0, 1.0, tolerance, _blind(better, worse))
    found = _better_of(found, found.remap, None, better, worse)
    for gains in searching.pairs_told_apart(better, worse):
        found = _better_of(found, None, gains, better, worse)
        if quick and found.holds is not None:
            return found
    # 2. the only remap that there can be, where the columns are independent
    if found.holds is None:
        found = _better_of(found, *searching.by_algebra(better, worse), better, worse)
    # 3. a linear program, or columns that no remap can make
    if found.holds is None and quick and better.size * worse.shape[1] <= _QUICK_CELLS:
        found = _by_program(found, better, worse)
    if found.holds is None:
        for gains in searching.columns_outside(better, worse):
            found = _better_of(found, None, gains, better, worse)
            if found.holds is not None:
                break
    return found


def _by_program(found: Refinement, better: Array, worse: Array) -> Refinement:
    """Decide by the answer of a linear program, improved where it is nearly a refinement."""
    rough, gains = searching.by_program(better, worse)
    found = _better_of(found, rough, gains, better, worse)
    if found.holds is None and rough is not None and found.high <= _NEARLY:
        found = _better_of(found, searching.polished(better, worse, rough), None, better, worse)
    return found


def _blind(better: Array, worse: Array) -> Array:
    """The remap that reports what B does on average, whatever A reports."""
    return exact_channel(np.tile(worse.mean(axis=0), (better.shape[1], 1)))


def _better_of(
    found: Refinement, rough: Array | None, gains: Array | None, better: Array, worse: Array
) -> Refinement:
    """Return a verdict strengthened by a remap or by gains where these prove more."""
    low, high, remap, witness = found.low, found.high, found.remap, found.witness
    if rough is not None:
        made = exact_channel(rough)
        above = shortfall_above(better, worse, made)
        if above < high or high == 1.0:
            high, remap = above, made
    if gains is not None:
        short = searching.written_short(gains)
        below = shortfall_below(better, worse, short) if short.size else 0.0
        if below > low:
            low, witness = below, Witness(short, below)
    return Refinement(low, high, found.tolerance, remap, witness)
