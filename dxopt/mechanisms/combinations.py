"""Combine mechanisms: independent releases as one mechanism, and a random choice among several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dxopt.analysis.arguments import channel_of, in_levels
from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.loss import Reports
from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.model.privacy import level_to_prove
from dxopt.model.sampling import Sampler, required_mechanism
from dxopt.numerics.coerce import as_flag, as_numbers
from dxopt.proofs.user_channel import certify
from dxopt.spaces.labels import Tuples

MOST_CELLS = 5_000_000
"""The most probabilities of all tuples."""


def together(mechanisms: Sequence[Sampler]) -> Mechanism:
    """Make one mechanism of independent reports of several about one secret, with tuples as reports.

    P[(z_1, …, z_k) | x] = K_1[x, z_1] … K_k[x, z_k]. It is proven at the sum of their levels, Σ ε_j, and of their δ_j
    (ECP14 §2: levels of independent releases add up); where rounding of products broke that, entries are raised by
    about as much. `compose` says what the releases give away at other levels, without writing tuples down. A product
    of mechanisms over the coordinates of a secret is another thing: see `dx.product`.

    Parameters
    ----------
    mechanisms : sequence of k Mechanism or IntegerTable
        About the same n secrets, each proven private. Name one twice where it is used twice. Where they are so for
        different metrics, all of them together are for the metric Σ ε_j d_j at ε = 1.

    Returns
    -------
    Mechanism
        Reports are all tuples, the last report fastest.

    Raises
    ------
    SpecError
        If mechanisms are about different secrets, or not proven private.
    UnsupportedError
        If there are too many tuples: 5 million probabilities in all.

    Examples
    --------
    >>> import dxopt as dx
    >>> line = dx.line(3)
    >>> both = dx.together([dx.classic.geometric(line, epsilon=0.5), dx.classic.geometric(line, epsilon=1.0)])
    >>> print(both.matrix.shape, both.reports.labels[:2], round(both.privacy.epsilon, 6))
    (3, 9) ('(0, 0)', '(0, 1)') 1.5
    """
    levels = _levels_of(mechanisms)
    space, epsilon = in_levels([one.space for one in mechanisms], [level.epsilon for level in levels], add=True)
    _require_few_cells(len(space) * math.prod(len(one.reports) for one in mechanisms))
    delta = math.fsum(level.delta for level in levels)
    if delta >= 1:
        raise SpecError("mechanisms", f"have delta {delta:g} together", "take fewer, or dx.compose")
    # The products of entries of each row, `(n, m)` and `(n, w)` to `(n, mw)`, from one mechanism to the next.
    rows = np.ones((len(space), 1))
    for one in mechanisms:
        rows = (rows[:, :, None] * channel_of(one)[:, None, :]).reshape(len(rows), -1)
    labels = Tuples(tuple(tuple(one.reports.labels) for one in mechanisms))
    name = " and ".join(getattr(one, "name", "mechanism") for one in mechanisms)
    level = _level_to_prove(epsilon, delta, levels)
    return certify(rows, space, reports=Reports(labels), repair=True, name=name, **level)


def _level_to_prove(epsilon: float, delta: float, levels: Sequence[Privacy]) -> dict[str, Any]:
    """Return ε, δ rounded up, and the pairs for `certify` to prove what is made of mechanisms of these levels."""
    # Where one of them has a δ for adjacent pairs alone, nothing is known of other pairs at that δ.
    pairs = "adjacent" if any(level.delta and level.pairs == "adjacent" for level in levels) else "all"
    above = math.nextafter(delta, 1.0) if delta else 0.0
    return {"epsilon": level_to_prove(epsilon), "delta": above, "pairs": pairs}


def _require_few_cells(cells: int) -> None:
    """Raise UnsupportedError where a matrix would have too many probabilities."""
    if cells > MOST_CELLS:
        wrong = f"have {cells:,} probabilities together"
        raise UnsupportedError("mechanisms", wrong, f"take fewer than {MOST_CELLS:,}, or dx.compose")


def _levels_of(mechanisms: Sequence[Sampler]) -> list[Privacy]:
    """Return what is proven of each mechanism; SpecError unless all are private."""
    if not isinstance(mechanisms, Sequence) or not mechanisms:
        raise SpecError("mechanisms", "are no list of mechanisms", "give a list, such as [mechanism, mechanism]")
    for one in mechanisms:
        required_mechanism(one)
    levels = []
    for one in mechanisms:
        if not isinstance(one, Mechanism):
            channel_of(one)  # refuses what is not a table of integers either
            table: Any = one
            levels.append(Privacy(table.epsilon, "integers", table.delta, table.pairs))
        elif one.privacy is None:
            fix = "prove it with dx.certify(mechanism, space, epsilon)"
            raise SpecError("mechanisms", f"are not all proven private: {one.name} is not", fix)
        else:
            levels.append(one.privacy)
    if any(math.isinf(level.epsilon) for level in levels):
        raise SpecError("mechanisms", "are private at no epsilon, one of them", "take private ones")
    return levels


def choice(mechanisms: Sequence[Sampler], weights: ArrayLike | None = None, *, visible: bool = True) -> Mechanism:
    """Make one mechanism of several about one secret, of which one is drawn with given probabilities.

    A visible choice tells which one was drawn: "0: a" is the report a of the first mechanism. A hidden one does not:
    P[z | x] = Σ_j w_j K_j[x, z]. The visible one refines the hidden one. The draw does not depend on the secret, so
    that both are private at the largest of the levels, and at the average of their δ: proven. Of different metrics
    that is the metric max ε_j d_j, at ε = 1.

    Parameters
    ----------
    mechanisms : sequence of k Mechanism or IntegerTable
        About the same n secrets, each proven private; for a hidden choice with the same reports.
    weights : (k,) array, optional
        How likely each is, of any positive sum; all alike by default.
    visible : bool

    Raises
    ------
    SpecError
        If mechanisms are about different secrets, or not proven private, or their reports differ and the choice is
        hidden, or weights do not fit.
    UnsupportedError
        If there are over 5 million probabilities.

    Examples
    --------
    >>> import dxopt as dx
    >>> line = dx.line(3)
    >>> weak, strong = dx.classic.geometric(line, epsilon=1.0), dx.classic.geometric(line, epsilon=0.5)
    >>> mixed = dx.choice([strong, weak], [3, 1])
    >>> print(mixed.reports.labels[:4], round(mixed.privacy.epsilon, 6))
    ('0: 0', '0: 1', '0: 2', '1: 0') 1.0
    """
    levels = _levels_of(mechanisms)
    size = len(mechanisms)
    given = np.ones(size) if weights is None else as_numbers(weights, "weights", "give how likely each mechanism is")
    if given.shape != (size,) or not (np.isfinite(given) & (given >= 0)).all() or not given.sum() > 0:
        raise SpecError("weights", "do not fit", f"give {size} numbers of 0 or more that are not all 0")
    shares = (given / given.sum()).tolist()
    first = mechanisms[0]
    space, epsilon = in_levels([one.space for one in mechanisms], [level.epsilon for level in levels], add=False)
    _require_few_cells(len(space) * sum(len(one.reports) for one in mechanisms))
    delta = math.fsum(share * level.delta for share, level in zip(shares, levels, strict=True))
    rows = [share * channel_of(one) for share, one in zip(shares, mechanisms, strict=True)]
    if as_flag(visible, "visible"):
        labels = [f"{number}: {label}" for number, one in enumerate(mechanisms) for label in one.reports.labels]
        matrix, reports = np.concatenate(rows, axis=1), Reports(tuple(labels))
    else:
        if any(tuple(one.reports.labels) != tuple(first.reports.labels) for one in mechanisms):
            raise SpecError("mechanisms", "have different reports", "write visible=True, or take the same reports")
        matrix, reports = np.sum(rows, axis=0), first.reports
    names = " or ".join(getattr(one, "name", "mechanism") for one in mechanisms)
    level = _level_to_prove(epsilon, delta, levels)
    name = f"{names}, {'seen' if visible else 'unseen'}"
    return certify(matrix, space, reports=reports, repair=True, name=name, **level)
