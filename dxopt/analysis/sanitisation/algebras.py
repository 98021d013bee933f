"""Algebras of events: on which sets of reports it suffices that privacy holds (HLM14 Thm 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dxopt.errors import SpecError
from dxopt.model.mechanism import Mechanism
from dxopt.model.reports import Reports
from dxopt.model.sampling import required_mechanism
from dxopt.numerics.coerce import as_list, checked_count


def on_algebra(mechanism: Mechanism, sets: Sequence[Sequence[Any]]) -> Mechanism:
    """Return the mechanism that tells in which atom of the algebra that some sets of reports generate its report is.

    Two reports are in one atom where each set has both of them or neither; the events of the algebra are unions of
    atoms. So K[x, A] ≤ e^{εd} K[x', A] + δ for all events A of the algebra if and only if this mechanism is
    (εd, δ)-private. Where every atom is one report the sets suffice: the algebra has all events (HLM14 Thm 3).

    Parameters
    ----------
    mechanism : Mechanism
        With m reports.
    sets : sequence of sequences of int or str
        Reports by index or label.

    Returns
    -------
    Mechanism
        Its reports are the atoms, with the labels of their reports joined by " or "; its level is proven anew.

    Raises
    ------
    SpecError
        If there is no such report.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(4), epsilon=1.0)
    >>> print(list(dx.sanitisation.on_algebra(mechanism, [["0"], ["0", "1"]]).reports.labels))
    ['0', '1', '2 or 3']
    >>> half_lines = [range(z) for z in range(1, 4)]
    >>> print(len(dx.sanitisation.on_algebra(mechanism, half_lines).reports))  # they suffice
    4
    """
    required_mechanism(mechanism, Mechanism)
    labels = list(mechanism.reports.labels)
    fix = "give sets of reports, by index or label"
    inside = np.zeros((len(labels), 1), dtype=bool)
    for given in as_list(sets, "sets", fix):
        column = np.zeros((len(labels), 1), dtype=bool)
        for report in as_list(given, "sets", fix):
            if isinstance(report, str) and report not in labels:
                raise SpecError("sets", "have a label of no report", fix)
            index = labels.index(report) if isinstance(report, str) else report
            column[checked_count("sets", index, 0, len(labels) - 1)] = True
        inside = np.concatenate([inside, column], axis=1)
    _, first, which = np.unique(inside, axis=0, return_index=True, return_inverse=True)
    # atoms in the order of their first reports
    atom = np.argsort(np.argsort(first))[which.reshape(-1)]
    named = [" or ".join(labels[z] for z in np.flatnonzero(atom == one)) for one in range(len(first))]
    return mechanism.remap(atom, Reports(tuple(named)))
