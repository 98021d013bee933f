"""HiGHS on the whole program, with what does best here: its interior-point methods without crossover."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

import dxopt as dx
from benchmarks.candidates.peers import Peer
from benchmarks.contract import CANDIDATES, Instance, Matrix, NoAnswer
from benchmarks.program import Program


@CANDIDATES.register("highspy")
class HighspyIpx(Peer):
    """Its older interior-point method, IPX."""

    package = "highspy"
    method: ClassVar[tuple[str, ...]] = ("ipx", "ipm")
    """Names of the method; the first that this HiGHS knows. `ipm` is IPX in those that do not know `ipx`."""

    def answer(self, program: Program) -> Matrix:
        import highspy

        triples, size = program.everywhere, len(program.costs)
        highs: Any = highspy.Highs()
        highs.silent()
        if not any(highs.setOptionValue("solver", name) == highspy.HighsStatus.kOk for name in self.method):
            raise NoAnswer(f"this HiGHS has no {self.method[0]}")
        highs.setOptionValue("run_crossover", "off")
        inequalities = program.rows(triples)
        matrix = sp.csc_array(sp.vstack([program.totals, inequalities], format="csc"))
        infinity, rows = highspy.kHighsInf, np.concatenate([np.ones(size), np.zeros(len(triples))])
        model: Any = highspy.HighsLp()
        model.num_col_, model.num_row_ = program.costs.size, len(rows)
        model.col_cost_ = program.costs.T.ravel()
        model.col_lower_, model.col_upper_ = np.zeros(program.costs.size), np.full(program.costs.size, infinity)
        model.row_lower_ = rows
        model.row_upper_ = np.where(rows > 0, rows, infinity)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
        model.a_matrix_.value_ = matrix.data
        highs.passModel(model)
        highs.run()
        found = highs.getSolution()
        if not found.value_valid:
            raise NoAnswer(f"ended with {highs.modelStatusToString(highs.getModelStatus())}")
        duals = np.array(found.row_dual)
        return Matrix(program.channel(np.array(found.col_value)), program.dual(duals[:size], triples, duals[size:]))


@CANDIDATES.register("highspy-hipo")
class HighspyHipo(HighspyIpx):
    """Its newer one, HiPO, whose parts are a package of their own."""

    method = ("hipo",)

    def refuses(self, instance: Instance[dx.Problem], question: dx.Problem) -> str | None:
        if find_spec("highspy_extras") is None:
            return "highspy-extras is not installed"
        return super().refuses(instance, question)
