"""qif (libqif): `min_loss_given_d` with the linear solver that it picks. It gives no multipliers."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.candidates.peers import Peer
from benchmarks.contract import CANDIDATES, Matrix, NoAnswer
from benchmarks.program import Program


@CANDIDATES.register("qif")
class QifDefault(Peer):
    """Pairs that are implied are left out in the way it has for that (`d_priv_ch`)."""

    package = "qif"

    def answer(self, program: Program) -> Matrix:
        library: Any = import_module("qif")
        implied = np.ones(program.budgets.shape, dtype=bool)
        implied[program.first, program.second] = False
        # the prior is part of the costs, so that any problem can be posed
        size, reports = program.costs.shape
        channel = library.mechanism.d_privacy.min_loss_given_d(
            np.full(size, 1 / size),
            reports,
            lambda x, other: float(program.budgets[x, other]),
            lambda x, report: float(size * program.costs[x, report]),
            d_priv_ch=lambda x, other: bool(implied[x, other]),
        )
        if channel.size == 0:
            raise NoAnswer("ended without a channel")
        return Matrix(np.asarray(channel))
