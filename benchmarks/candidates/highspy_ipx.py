"""HiGHS on the whole program, with what does best here: its interior-point method without crossover."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.candidates.peers import Peer
from benchmarks.contract import CANDIDATES, Matrix, NoAnswer
from benchmarks.program import Program


@CANDIDATES.register("highspy")
class HighspyIpx(Peer):
    package = "highspy"

    def answer(self, program: Program) -> Matrix:
        import highspy

        triples, size = program.everywhere, len(program.costs)
        highs: Any = highspy.Highs()
        highs.silent()
        highs.setOptionValue("solver", "ipm")
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
