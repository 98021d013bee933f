"""One of several mechanisms, drawn at random: seen or not, the visible and hidden choice of libqif."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dxopt.analysis.channels import channel_of
from dxopt.errors import SpecError, UnsupportedError
from dxopt.mechanisms.together import MOST_CELLS, levels_of, proven
from dxopt.model.loss import Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.sampling import Sampler


def choice(mechanisms: Sequence[Sampler], weights: ArrayLike | None = None, *, visible: bool = True) -> Mechanism:
    """One of several mechanisms about one secret, drawn with given probabilities, as one mechanism.

    A visible choice tells which one was drawn: "0: a" is the report a of the first mechanism. A hidden one does not:
    P[z | x] = Σ_j w_j K_j[x, z]. The visible one refines the hidden one. The draw does not depend on the secret, so
    that both are private at the largest of the levels, and at the average of their δ: proven.

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
    levels = levels_of(mechanisms)
    shares = _shares(weights, len(mechanisms))
    first = mechanisms[0]
    cells = len(first.space) * sum(len(one.reports) for one in mechanisms)
    if cells > MOST_CELLS:
        raise UnsupportedError("mechanisms", f"have {cells:,} probabilities", f"take fewer than {MOST_CELLS:,}")
    epsilon = max(level.epsilon for level in levels)
    delta = math.fsum(share * level.delta for share, level in zip(shares, levels, strict=True))
    rows = [share * channel_of(one) for share, one in zip(shares, mechanisms, strict=True)]
    if visible:
        labels = [f"{number}: {label}" for number, one in enumerate(mechanisms) for label in one.reports.labels]
        matrix, reports = np.concatenate(rows, axis=1), Reports(tuple(labels))
    else:
        if any(tuple(one.reports.labels) != tuple(first.reports.labels) for one in mechanisms):
            raise SpecError("mechanisms", "have different reports", "write visible=True, or take the same reports")
        matrix, reports = np.sum(rows, axis=0), first.reports
    names = " or ".join(getattr(one, "name", "mechanism") for one in mechanisms)
    return proven(matrix, first.space, epsilon, delta, levels, reports, f"{names}, {'seen' if visible else 'unseen'}")


def _shares(weights: ArrayLike | None, size: int) -> list[float]:
    """Check the weights of the mechanisms; SpecError unless there is one for each."""
    try:
        given = np.ones(size) if weights is None else np.array(weights, dtype=float)
    except (TypeError, ValueError):
        raise SpecError("weights", "are not all numbers", "give how likely each mechanism is") from None
    if given.shape != (size,) or not (np.isfinite(given) & (given >= 0)).all() or not given.sum() > 0:
        raise SpecError("weights", "do not fit", f"give {size} numbers of 0 or more that are not all 0")
    return (given / given.sum()).tolist()
